//! The suite and the contracts hold in containers.
#![cfg(all(target_os = "linux", feature = "docker", feature = "contracts"))]

use guard_testkit::conformance;
use guard_testkit::contracts;
use guard_testkit::docker::{DockerContracts, DockerFixture, DockerTarget, Image, Place};
use guard_testkit::skip::{self, Need};

/// The container's files are reached by another route, which only root can.
fn is_skipped(test: &str) -> bool {
    skip::unless(Need::Docker, test) || skip::unless(Need::Root, test)
}

/// The ground is a volume: an engine that stores with `fuse-overlayfs` refuses names over 251 bytes elsewhere.
async fn keeps_every_guarantee(image: Image, skipped: &[&str]) {
    let container = DockerTarget::of(image).user(1000).volume("/data").start().await.expect("a container");
    let report =
        conformance::run(&DockerFixture::new(container).await.expect("its files").below("/data")).await;
    report.assert_passed();
    let names: Vec<&str> = report.skipped().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, skipped, "{report}");
}

async fn keeps_every_contract(image: Image, place: Place) {
    let report = contracts::run(&DockerContracts::of(DockerTarget::of(image), place)).await;
    report.assert_passed();
    assert_eq!(report.skipped(), [], "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_guarantee_is_kept_in_a_container_of_busybox() {
    if !is_skipped("every_guarantee_is_kept_in_a_container_of_busybox") {
        // It has nothing that exchanges two names.
        let of_the_exchange = ["one_of_many_replacements_wins", "many_additions_lose_none"];
        keeps_every_guarantee(Image::BusyBox, &of_the_exchange).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_guarantee_is_kept_in_a_container_of_gnu() {
    if !is_skipped("every_guarantee_is_kept_in_a_container_of_gnu") {
        keeps_every_guarantee(Image::Gnu, &[]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_contract_is_kept_in_a_container_of_busybox() {
    if !is_skipped("every_contract_is_kept_in_a_container_of_busybox") {
        keeps_every_contract(Image::BusyBox, Place::Volume).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_contract_is_kept_in_a_container_of_gnu() {
    if !is_skipped("every_contract_is_kept_in_a_container_of_gnu") {
        keeps_every_contract(Image::Gnu, Place::Container).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_contract_is_kept_in_a_folder_that_is_bound_under_the_path_of_another() {
    if !is_skipped("every_contract_is_kept_in_a_folder_that_is_bound_under_the_path_of_another") {
        keeps_every_contract(Image::Gnu, Place::Bind).await;
    }
}
