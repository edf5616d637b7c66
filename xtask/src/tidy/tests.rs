//! Every sentence is broken once, and the real tree breaks none.

use super::graph::{Dependency, Kind, Package};
use super::source::{SourceFile, mark_test_modules};
use super::{Tree, check, read};
use crate::cargo::root;

/// A dependency of the shipped package.
fn on(name: &str) -> Dependency {
    Dependency { name: name.to_owned(), kind: Kind::Shipped, optional: false, features: Vec::new() }
}

fn package(name: &str, dependencies: &[&str]) -> Package {
    Package {
        name: name.to_owned(),
        member: name.starts_with("guard-"),
        declared: dependencies.iter().copied().map(on).collect(),
        resolved: dependencies.iter().copied().map(str::to_owned).collect(),
        features: Vec::new(),
    }
}

/// A small workspace that keeps every law.
struct Fixture {
    packages: Vec<Package>,
    files: Vec<(&'static str, &'static str, &'static str)>,
}

impl Fixture {
    fn sound() -> Self {
        let mut backends = package("guard-backends", &["guard-core", "rustix", "openssh", "tokio"]);
        backends.declared[2].optional = true;
        backends.declared.push(Dependency { kind: Kind::Development, ..on("guard-testkit") });
        backends.features = vec![
            ("default".to_owned(), vec!["ssh".to_owned()]),
            ("ssh".to_owned(), vec!["dep:openssh".to_owned()]),
        ];
        let mut core = package("guard-core", &["guard-policy", "tokio"]);
        core.declared[1].features = vec!["sync".to_owned()];
        Self {
            packages: vec![
                package("guard-policy", &["sha2"]),
                package("guard-patch", &[]),
                core,
                backends,
                package("guard-testkit", &["guard-core", "guard-backends"]),
                package("sha2", &["libc"]),
                package("tokio", &["mio"]),
                package("openssh", &["tokio"]),
            ],
            files: vec![
                (
                    "guard-policy",
                    "src/lib.rs",
                    "//! Never `std::fs`.\nuse std::time::Duration;\n#[cfg(feature = \"schemars\")] mod schema; #[cfg(doctest)] struct Readme;
                     #[cfg(test)] mod tests { use std::fs; }",
                ),
                ("guard-backends", "src/local/commit/publish.rs", "fn f() { rustix::fs::renameat_with(a, b) }"),
                (
                    "guard-backends",
                    "src/local/sys.rs",
                    "fn hold() { openat(OFlags::PATH) } fn swap() { renameat_with(a, b) } fn retry() { swap() }",
                ),
                ("guard-backends", "src/local/commit/swap.rs", "use super::sys; fn f() { sys::retry() }"),
                ("guard-backends", "src/local/list.rs", "use super::sys; fn f() { sys::hold() }"),
                ("guard-backends", "src/local/lease.rs", "fn f() { unsafe { libc::fcntl(fd, F_SETLEASE) } }"),
                ("guard-backends", "src/local/read.rs", "fn f() { std::thread::sleep(settle); link.rename }"),
                ("guard-backends", "tests/local.rs", "use guard_testkit::Barrier; fn f() { std::fs::write(a, b) }"),
                ("guard-cli", "src/main.rs", "fn f() { std::env::var(\"HOME\") }"),
            ],
        }
    }

    fn file(mut self, package: &'static str, path: &'static str, text: &'static str) -> Self {
        self.files.push((package, path, text));
        self
    }

    fn package(mut self, name: &str, change: impl FnOnce(&mut Package)) -> Self {
        change(self.packages.iter_mut().find(|package| package.name == name).unwrap());
        self
    }

    fn depends(self, name: &str, dependency: &str) -> Self {
        self.package(name, |package| {
            package.declared.push(on(dependency));
            package.resolved.push(dependency.to_owned());
        })
    }

    fn broken(self) -> Vec<(&'static str, Vec<String>)> {
        let parsed =
            self.files.into_iter().map(|(name, path, text)| SourceFile::parse(name, path, text).unwrap());
        let tree = Tree { packages: self.packages, files: mark_test_modules(parsed.collect()) };
        let broken = check(&tree).into_iter();
        broken.map(|law| (law.sentence, law.findings.iter().map(ToString::to_string).collect())).collect()
    }
}

#[test]
fn a_sound_workspace_breaks_no_sentence() {
    assert_eq!(Fixture::sound().broken(), []);
}

/// A change that breaks a law, the beginning of the law's sentence, and where it is found broken.
type Row = (fn(Fixture) -> Fixture, &'static str, &'static str);

#[test]
fn each_broken_sentence_is_named_with_its_place() {
    let rows: &[Row] = &[
        (
            |tree| tree.depends("sha2", "tokio"),
            "guard-policy and guard-patch depend on no async runtime",
            "guard-policy/Cargo.toml: reaches tokio",
        ),
        (
            |tree| tree.file("guard-patch", "src/io.rs", "\nfn now() { std::time::Instant::now() }"),
            "guard-policy and guard-patch do no I/O and read no clock",
            "guard-patch/src/io.rs:2: std::time::Instant::now",
        ),
        (
            |tree| tree.depends("guard-policy", "rustix"),
            "guard-policy and guard-patch do no I/O and read no clock",
            "guard-policy/Cargo.toml: depends on rustix",
        ),
        (
            |tree| tree.depends("guard-patch", "guard-policy"),
            "guard-policy and guard-patch do not know each other",
            "guard-patch/Cargo.toml: reaches guard-policy",
        ),
        (
            |tree| tree.depends("guard-core", "openssh"),
            "guard-core knows no backend",
            "guard-core/Cargo.toml: reaches openssh",
        ),
        (
            |tree| tree.package("guard-core", |core| core.declared[1].features.push("process".to_owned())),
            "guard-core takes of tokio only",
            "guard-core/Cargo.toml: tokio with feature process",
        ),
        (
            |tree| tree.file("guard-core", "src/tools.rs", "use std::{fmt, fs::{self, File}};"),
            "Of the crates that ship as libraries, only guard-backends",
            "guard-core/src/tools.rs:1: std::fs",
        ),
        (
            |tree| tree.package("guard-backends", |backends| backends.declared[2].optional = false),
            "openssh and bollard sit behind",
            "guard-backends/Cargo.toml: openssh is not optional",
        ),
        (
            |tree| {
                tree.package("guard-backends", |it| it.features[0].1.push("openssh?/native-mux".to_owned()))
            },
            "openssh and bollard sit behind",
            "guard-backends/Cargo.toml: feature default turns on openssh?/native-mux",
        ),
        (
            |tree| {
                tree.file(
                    "guard-backends",
                    "src/t.rs",
                    "#[cfg(test)] mod tests { use guard_testkit::Memory; }",
                )
            },
            "guard-testkit depends on guard-core and guard-backends",
            "guard-backends/src/t.rs:1: guard_testkit::Memory",
        ),
        (
            |tree| {
                tree.package("guard-backends", |backends| {
                    backends.declared.last_mut().unwrap().kind = Kind::Shipped;
                })
            },
            "guard-testkit depends on guard-core and guard-backends",
            "guard-backends/Cargo.toml: depends on guard-testkit",
        ),
        (
            |tree| {
                tree.file("guard-backends", "src/local/read.rs", "use rustix::fs::{self, unlinkat as gone};")
            },
            "`FileOps::commit` is the only way",
            "guard-backends/src/local/read.rs:1: rustix::fs::unlinkat",
        ),
        (
            |tree| tree.file("guard-backends", "src/local/stat.rs", "fn f() { fs::rename(a, b) }"),
            "`FileOps::commit` is the only way",
            "guard-backends/src/local/stat.rs:1: fs::rename",
        ),
        (
            |tree| {
                tree.file(
                    "guard-backends",
                    "src/local/open.rs",
                    "const F: OFlags = OFlags::RDONLY.union(OFlags::TRUNC);",
                )
            },
            "`FileOps::commit` is the only way",
            "guard-backends/src/local/open.rs:1: OFlags::TRUNC",
        ),
        (
            |tree| tree.file("guard-backends", "src/local/read.rs", "fn f() { super::sys::retry(a, b) }"),
            "`FileOps::commit` is the only way",
            "guard-backends/src/local/read.rs:1: super::sys::retry",
        ),
        (
            |tree| tree.file("guard-backends", "src/local/home.rs", "use std::env;"),
            "Library crates read no environment variable",
            "guard-backends/src/local/home.rs:1: std::env",
        ),
        (
            |tree| tree.depends("guard-core", "dirs"),
            "Library crates read no environment variable",
            "guard-core/Cargo.toml: depends on dirs",
        ),
        (
            |tree| tree.file("guard-core", "src/lock.rs", "fn f() { if cfg!(not(test)) { wait() } }"),
            "No cargo feature and no `cfg(test)`",
            "guard-core/src/lock.rs:1: cfg(not(test))",
        ),
        (
            |tree| tree.file("guard-core", "src/lock.rs", "#[cfg(feature = \"testing\")] fn hook() {}"),
            "No cargo feature and no `cfg(test)`",
            "guard-core/src/lock.rs:1: cfg(feature=\"testing\")",
        ),
        (
            |tree| tree.file("guard-backends", "src/local/resolve.rs", "fn f() { unsafe { libc::open(p) } }"),
            "`unsafe` stands only",
            "guard-backends/src/local/resolve.rs:1: unsafe",
        ),
        (
            |tree| tree.file("guard-core", "tests/slow.rs", "#[test] #[ignore = \"slow\"] fn f() {}"),
            "No test is ignored",
            "guard-core/tests/slow.rs:1: ignore=\"slow\"",
        ),
        (
            |tree| tree.file("guard-cli", "src/doctor.rs", "fn f() { todo!(\"later\") }"),
            "Nothing is left to be done",
            "guard-cli/src/doctor.rs:1: todo",
        ),
        (
            |tree| {
                tree.file(
                    "guard-core",
                    "src/lock.rs",
                    "#[cfg(test)] mod tests { fn f() { thread::sleep(d) } }",
                )
            },
            "No test sleeps",
            "guard-core/src/lock.rs:1: thread::sleep",
        ),
    ];
    for (change, sentence, place) in rows {
        let broken = change(Fixture::sound()).broken();
        let law = broken.iter().find(|(broken, _)| broken.starts_with(sentence));
        let (_, findings) =
            law.unwrap_or_else(|| panic!("{sentence:?} held with {place}; broken: {broken:?}"));
        assert!(findings.iter().any(|found| found == place), "{place} is not among {findings:?}");
    }
    for law in super::laws::LAWS {
        let shown = rows.iter().any(|(_, sentence, _)| law.sentence.starts_with(sentence));
        assert!(shown, "no row breaks {:?}", law.sentence);
    }
}

#[test]
fn this_workspace_breaks_no_sentence() {
    assert_eq!(check(&read(&root()).unwrap()), []);
}
