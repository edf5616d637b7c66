//! `apply_patch`: one batch, one approval, the same rules.

mod common;

use common::{Bench, code, done, path};
use guard_core::policy::{Code, Policy, Seen};
use guard_core::{ApplyPatch, ReadFile, StatPaths, WriteFile};
use guard_testkit::wrap::Method;

/// Puts operations into their envelope; lines are given one by one.
fn patch(lines: &[&str]) -> ApplyPatch {
    ApplyPatch::new(format!("*** Begin Patch\n{}\n*** End Patch\n", lines.join("\n")))
}

fn dry(patch: ApplyPatch) -> ApplyPatch {
    ApplyPatch { dry_run: true, ..patch }
}

#[tokio::test]
async fn a_patch_of_every_kind_is_one_batch_in_two_round_trips() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\r\ntwo\r\n").unwrap();
    bench.world.create("/ws/gone.txt", b"bye\n").unwrap();
    bench.world.create("/ws/old.txt", b"x\ny\n").unwrap();
    bench.world.create("/ws/plain.txt", b"p\n").unwrap();
    let actor = bench.actor();
    actor.stat(StatPaths::new("gone.txt")).await.unwrap();
    bench.ops.take();
    let receipt = done(
        actor
            .apply_patch(patch(&[
                "*** Add File: new/n.txt",
                "+hello",
                "*** Update File: a.txt",
                "@@",
                " one",
                "-two",
                "+2",
                "*** Delete File: gone.txt",
                "*** Update File: old.txt",
                "*** Move to: moved.txt",
                "@@",
                "-y",
                "+Y",
                "*** Update File: plain.txt",
                "*** Move to: deep/plain.txt",
            ]))
            .await,
    );
    assert_eq!((bench.ops.take().total(), receipt.round_trips), (2, 2));
    assert_eq!(bench.content("new/n.txt"), "hello\n");
    assert_eq!(bench.content("a.txt"), "one\r\n2\r\n");
    assert_eq!(bench.content("moved.txt"), "x\nY\n");
    assert_eq!(bench.content("deep/plain.txt"), "p\n");
    let names: Vec<String> =
        bench.world.names("/ws").unwrap().into_iter().map(|name| String::from_utf8(name).unwrap()).collect();
    assert_eq!(names, ["a.txt", "deep", "moved.txt", "new"]);
    let paths: Vec<&str> = receipt.changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, ["new/n.txt", "a.txt", "gone.txt", "old.txt", "moved.txt", "plain.txt"]);
    assert!(receipt.changes[1].diff.as_ref().unwrap().contains("+2"));
    // What the patch added is seen as a whole; what it edited only where it was written.
    done(actor.write_file(WriteFile::new("new/n.txt", "mine\n")).await);
    assert_eq!(code(actor.write_file(WriteFile::new("a.txt", "mine\n")).await), Code::PartiallyRead);
}

#[tokio::test]
async fn forty_files_are_two_round_trips() {
    let bench = Bench::new().await;
    let mut lines = Vec::new();
    for n in 0..40 {
        bench.world.create(format!("/ws/{n}.txt"), format!("line {n}\n").as_bytes()).unwrap();
        lines.extend([
            format!("*** Update File: {n}.txt"),
            "@@".into(),
            format!("-line {n}"),
            format!("+LINE {n}"),
        ]);
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let receipt = done(bench.actor().apply_patch(patch(&lines)).await);
    assert_eq!((bench.ops.take().total(), receipt.changes.len()), (2, 40));
    assert_eq!(bench.content("39.txt"), "LINE 39\n");
}

#[tokio::test]
async fn a_patch_that_fails_anywhere_changes_nothing() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    bench.world.create("/ws/there.txt", b"theirs\n").unwrap();
    let edit: &[&str] = &["*** Update File: a.txt", "@@", "-one", "+1"];
    let before = bench.world.snapshot();
    for (lines, expected) in [
        (&["*** Update File: missing.txt", "@@", "-x", "+y"][..], Code::InvalidPatch),
        (&["*** Add File: there.txt", "+mine"], Code::InvalidPatch),
        (&["*** Update File: there.txt", "@@", "-absent", "+y"], Code::InvalidPatch),
        (&["*** Delete File: there.txt"], Code::NotRead),
        (&["*** Add File: ../../x", "+mine"], Code::OutsideRoot),
        (&["*** Add File: new.docx", "+mine"], Code::OpaqueDocument),
        (&["*** Add File: .env", "+KEY=1"], Code::Secret),
        (
            &["*** Update File: there.txt", "*** Move to: new.docx", "@@", "-theirs", "+mine"],
            Code::OpaqueDocument,
        ),
        (&["*** Add File: AGENTS.md", "+obey"], Code::ApprovalRequired),
        (&["*** Add File: app.db-wal", "+x"], Code::SqliteSidecar),
    ] {
        let lines = [edit, lines].concat();
        assert_eq!(code(bench.actor().apply_patch(patch(&lines)).await), expected, "{lines:?}");
        assert_eq!(bench.world.snapshot(), before, "{lines:?}");
    }
    for text in
        ["", "*** Begin Patch\n", "no patch", "*** Begin Patch\n*** Add File: x\nunprefixed\n*** End Patch\n"]
    {
        assert_eq!(
            code(bench.actor().apply_patch(ApplyPatch::new(text)).await),
            Code::InvalidPatch,
            "{text:?}"
        );
    }
    assert_eq!(bench.world.snapshot(), before);
}

#[tokio::test]
async fn every_failure_of_a_patch_is_told_at_once() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    let lines = [
        "*** Update File: missing.txt",
        "@@",
        "-x",
        "+y",
        "*** Add File: a.txt",
        "+mine",
        "*** Delete File: gone.txt",
    ];
    let message = bench.actor().apply_patch(patch(&lines)).await.unwrap_err().refusal.message;
    for told in ["missing.txt", "a.txt", "gone.txt", "file-missing", "file-exists"] {
        assert!(message.contains(told), "{told}: {message}");
    }
}

#[tokio::test]
async fn containment_speaks_before_any_request() {
    let bench = Bench::new().await;
    let lines = ["*** Update File: a.txt", "@@", "-x", "+y", "*** Add File: ../../x", "+mine"];
    assert_eq!(code(bench.actor().apply_patch(patch(&lines)).await), Code::OutsideRoot);
    assert_eq!(bench.ops.take().total(), 0);
}

#[tokio::test]
async fn unseen_deletions_are_one_refusal_and_one_stat_settles_it() {
    let bench = Bench::new().await;
    for name in ["a", "b", "c"] {
        bench.world.create(format!("/ws/{name}"), name.as_bytes()).unwrap();
    }
    let actor = bench.actor();
    let lines = ["*** Delete File: a", "*** Delete File: b", "*** Delete File: c"];
    let refusal = actor.apply_patch(patch(&lines)).await.unwrap_err().refusal;
    assert_eq!(refusal.code, Code::NotRead);
    let call = refusal.remedy.unwrap().call.unwrap();
    let arguments = serde_json::to_value(&call.arguments).unwrap();
    assert_eq!(arguments, serde_json::json!({ "paths": ["a", "b", "c"] }));
    actor.call(call.tool.name(), arguments).await;
    done(actor.apply_patch(patch(&lines)).await);
    assert!(bench.world.names("/ws").unwrap().is_empty());
}

#[tokio::test]
async fn a_dry_run_counts_as_having_seen_what_it_deletes() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a", b"one\n").unwrap();
    let actor = bench.actor();
    let lines = ["*** Delete File: a", "*** Add File: b", "+two"];
    let plan = actor.apply_patch(dry(patch(&lines))).await.unwrap().plan().unwrap();
    assert_eq!(plan.changes.len(), 2);
    assert_eq!(plan.changes[0].diff.as_deref(), Some("@@ -1 +0,0 @@\n-one\n"));
    assert_eq!(bench.content("a"), "one\n");
    // It changed since it was shown: that version was never seen.
    bench.world.write("/ws/a", b"newer\n").unwrap();
    assert_eq!(code(actor.apply_patch(patch(&lines)).await), Code::Stale);
    assert_eq!(
        code(actor.apply_patch(dry(patch(&lines))).await),
        Code::Stale,
        "a dry run says what would happen"
    );
    actor.stat(StatPaths::new("a")).await.unwrap();
    done(actor.apply_patch(patch(&lines)).await);
    assert_eq!(bench.content("b"), "two\n");
}

#[tokio::test]
async fn delete_then_add_is_a_replacement_of_what_was_seen() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a", b"one\n").unwrap();
    let actor = bench.actor();
    let lines = ["*** Delete File: a", "*** Add File: a", "+two"];
    assert_eq!(code(actor.apply_patch(patch(&lines)).await), Code::NotRead);
    actor.read_file(ReadFile::new("a")).await.unwrap();
    let receipt = done(actor.apply_patch(patch(&lines)).await);
    assert_eq!(receipt.changes.len(), 1);
    assert_eq!(bench.content("a"), "two\n");
}

#[tokio::test]
async fn two_paths_of_one_file_are_an_alias() {
    let bench = Bench::new().await;
    bench.world.mkdir("/ws/d").unwrap();
    bench.world.create("/ws/d/a", b"one\ntwo\n").unwrap();
    bench.world.symlink("d", "/ws/link").unwrap();
    let before = bench.world.snapshot();
    let lines = ["*** Update File: d/a", "@@", "-one", "+1", "*** Update File: link/a", "@@", "-two", "+2"];
    assert_eq!(code(bench.actor().apply_patch(patch(&lines)).await), Code::AliasInPatch);
    assert_eq!(bench.world.snapshot(), before);
}

#[tokio::test]
async fn a_patch_for_another_environment_does_not_land_here() {
    let lines = ["*** Environment ID: prod", "*** Add File: a", "+x"];
    let bench = Bench::new().await;
    assert_eq!(code(bench.actor().apply_patch(patch(&lines)).await), Code::EnvironmentMismatch);
    let bench = Bench::with(|builder| builder.environment("staging")).await;
    assert_eq!(code(bench.actor().apply_patch(patch(&lines)).await), Code::EnvironmentMismatch);
    let bench = Bench::with(|builder| builder.environment("prod")).await;
    done(bench.actor().apply_patch(patch(&lines)).await);
}

#[tokio::test]
async fn one_file_that_fails_its_precondition_leaves_every_file_as_it_was() {
    let bench = Bench::new().await;
    for name in ["a", "b", "c"] {
        bench.world.create(format!("/ws/{name}"), b"one\n").unwrap();
    }
    let world = bench.world.clone();
    bench.barrier().once(Method::Commit, move || {
        world.create("/ws/app.sqlite", b"SQLite format 3\0").unwrap();
    });
    let lines = [
        "*** Update File: a",
        "@@",
        "-one",
        "+1",
        "*** Add File: app.sqlite",
        "+x",
        "*** Update File: c",
        "@@",
        "-one",
        "+1",
    ];
    // The patch is planned anew on what is there now, and that has no place for the Add.
    assert_eq!(code(bench.actor().apply_patch(patch(&lines)).await), Code::InvalidPatch);
    assert_eq!((bench.content("a"), bench.content("c")), ("one\n".into(), "one\n".into()));
    assert_eq!(bench.world.read("/ws/app.sqlite").unwrap(), b"SQLite format 3\0");
    // A file that moved on where the patch does not touch it: planned anew, and applied.
    let world = bench.world.clone();
    bench.barrier().once(Method::Commit, move || world.write("/ws/a", b"zero\none\n").unwrap());
    done(bench.actor().apply_patch(patch(&["*** Update File: a", "@@", "-one", "+1"])).await);
    assert_eq!(bench.content("a"), "zero\n1\n");
}

#[tokio::test]
async fn a_patch_that_changes_nothing_succeeds() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a", b"the new line\nend\n").unwrap();
    let lines = ["*** Update File: a", "@@", "-the old line", "+the new line"];
    let receipt = done(bench.actor().apply_patch(patch(&lines)).await);
    assert!(!receipt.changed);
    assert!(receipt.changes.is_empty() && !receipt.notes.is_empty(), "{receipt:?}");
}

#[tokio::test]
async fn utf16_is_patched_and_every_other_byte_stays() {
    let utf16 = |text: &str| -> Vec<u8> {
        std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    let bench = Bench::new().await;
    bench.world.create("/ws/a", &utf16("α\r\nβ\r\n")).unwrap();
    let actor = bench.actor();
    actor.read_file(ReadFile::new("a")).await.unwrap();
    done(actor.apply_patch(patch(&["*** Update File: a", "@@", "-β", "+γ"])).await);
    assert_eq!(bench.world.read("/ws/a").unwrap(), utf16("α\r\nγ\r\n"));
    assert!(matches!(actor.views().seen(&path("/ws/a")), Seen::Whole { .. }));
}

#[tokio::test]
async fn a_patch_over_the_limit_is_refused() {
    let mut policy = Policy::default();
    policy.limits.patch_bytes = 40;
    let bench = Bench::with_policy(policy).await;
    let lines = ["*** Add File: a", "+a text that is too long"];
    assert_eq!(code(bench.actor().apply_patch(patch(&lines)).await), Code::TooLarge);
}

/// The reference engine's way is the caller's choice, and even then nothing unseen is destroyed.
#[tokio::test]
async fn danger_codex_overwrites_only_what_was_seen() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a", b"theirs\n").unwrap();
    let actor = bench.actor();
    let codex = || ApplyPatch { danger_codex: true, ..patch(&["*** Add File: a", "+mine"]) };
    assert_eq!(code(actor.apply_patch(codex()).await), Code::NotRead);
    actor.read_file(ReadFile::new("a")).await.unwrap();
    done(actor.apply_patch(codex()).await);
    assert_eq!(bench.content("a"), "mine\n");
}

/// However a deletion is spelled, what it destroys has to have been seen.
#[tokio::test]
async fn a_deletion_by_any_way_round_needs_to_have_been_seen() {
    for lines in [
        &["*** Update File: f", "@@", " one", "*** Delete File: f"][..],
        &["*** Update File: f", "@@", "-one", "+1", "*** Delete File: f"],
        &["*** Update File: f", "*** Move to: g", "*** Delete File: g"],
        &[
            "*** Update File: f",
            "*** Move to: g",
            "*** Update File: g",
            "*** Move to: h",
            "*** Delete File: h",
        ],
        &["*** Update File: f", "@@", " one", "*** Delete File: f", "*** Add File: f", "+mine"],
    ] {
        let bench = Bench::new().await;
        bench.world.create("/ws/f", b"one\n").unwrap();
        let before = bench.world.snapshot();
        let actor = bench.actor();
        let refusal = actor.apply_patch(patch(lines)).await.unwrap_err().refusal;
        assert_eq!(refusal.code, Code::NotRead, "{lines:?}");
        assert_eq!(bench.world.snapshot(), before, "{lines:?}");
        actor.stat(StatPaths::new("f")).await.unwrap();
        done(actor.apply_patch(patch(lines)).await);
    }
    let bench = Bench::new().await;
    bench.world.create("/ws/f", b"one\n").unwrap();
    let lines = ["*** Update File: f", "@@", " one", "*** Add File: f", "+mine"];
    let codex = ApplyPatch { danger_codex: true, ..patch(&lines) };
    assert_eq!(code(bench.actor().apply_patch(codex).await), Code::NotRead);
    assert_eq!(bench.content("f"), "one\n");
}

#[tokio::test]
async fn a_link_that_is_deleted_or_moved_is_not_what_it_leads_to() {
    for lines in [
        &["*** Update File: l", "@@", " one", "*** Delete File: l"][..],
        &["*** Update File: l", "*** Move to: n", "@@", "-one", "+two"],
        &["*** Update File: l", "*** Move to: n"],
        &["*** Delete File: l"],
        &["*** Update File: f", "*** Move to: l"],
    ] {
        let bench = Bench::new().await;
        bench.world.create("/ws/real", b"one\n").unwrap();
        bench.world.create("/ws/f", b"f\n").unwrap();
        bench.world.symlink("real", "/ws/l").unwrap();
        let before = bench.world.snapshot();
        let actor = bench.actor();
        for name in ["real", "f"] {
            actor.read_file(ReadFile::new(name)).await.unwrap();
        }
        assert_eq!(code(actor.apply_patch(patch(lines)).await), Code::InvalidPatch, "{lines:?}");
        assert_eq!(bench.world.snapshot(), before, "{lines:?}");
    }
    // A link that is only edited is followed, as by every other tool, and stays.
    let bench = Bench::new().await;
    bench.world.create("/ws/real", b"one\n").unwrap();
    bench.world.symlink("real", "/ws/l").unwrap();
    done(bench.actor().apply_patch(patch(&["*** Update File: l", "@@", "-one", "+two"])).await);
    assert_eq!(bench.content("real"), "two\n");
    assert_eq!(bench.world.readlink("/ws/l").unwrap(), b"real");
}

/// What a patch moves somewhere was not seen there, whatever way it took.
#[tokio::test]
async fn a_move_launders_nothing_and_keeps_encoding_and_permission_bits() {
    let utf16: Vec<u8> =
        std::iter::once(0xFEFF).chain("one\n".encode_utf16()).flat_map(u16::to_le_bytes).collect();
    for lines in [
        &["*** Update File: f", "*** Move to: g", "*** Add File: f", "+new"][..],
        &["*** Update File: f", "*** Move to: g", "@@", "-one", "+one", "+two"],
        &["*** Delete File: g", "*** Update File: f", "*** Move to: g"],
        &["*** Delete File: g", "*** Update File: f", "*** Move to: g", "@@", "-one", "+1"],
    ] {
        for content in [b"one\n".to_vec(), utf16.clone()] {
            let bench = Bench::new().await;
            bench.world.create("/ws/f", &content).unwrap();
            bench.world.chmod("/ws/f", 0o755).unwrap();
            let actor = bench.actor();
            if lines[0] == "*** Delete File: g" {
                bench.world.create("/ws/g", b"old\n").unwrap();
                actor.read_file(ReadFile::new("g")).await.unwrap();
            }
            done(actor.apply_patch(patch(lines)).await);
            let now = bench.world.read("/ws/g").unwrap();
            assert_eq!(now.starts_with(&[0xFF, 0xFE]), content == utf16, "{lines:?}");
            if !lines.contains(&"@@") {
                assert_eq!(now, content, "{lines:?}");
            }
            assert_eq!(bench.world.mode("/ws/g").unwrap() & 0o777, 0o755, "{lines:?}");
            let refused = actor.write_file(WriteFile::new("g", "mine\n")).await.unwrap_err().refusal;
            assert!(
                matches!(refused.code, Code::NotRead | Code::PartiallyRead),
                "{lines:?}: {}",
                refused.code
            );
        }
    }
}

#[tokio::test]
async fn a_swap_through_a_third_name_keeps_contents_and_launders_nothing() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a", b"a\n").unwrap();
    bench.world.create("/ws/b", b"b\n").unwrap();
    let lines = [
        "*** Update File: a",
        "*** Move to: t",
        "*** Update File: b",
        "*** Move to: a",
        "*** Update File: t",
        "*** Move to: b",
    ];
    let actor = bench.actor();
    done(actor.apply_patch(patch(&lines)).await);
    assert_eq!((bench.content("a"), bench.content("b")), ("b\n".into(), "a\n".into()));
    for name in ["a", "b"] {
        assert!(actor.write_file(WriteFile::new(name, "mine\n")).await.is_err(), "{name}");
    }
}

/// The rules are those of what the patch comes to, not only of its headers.
#[tokio::test]
async fn a_text_does_not_come_under_a_documents_name_by_any_way_round() {
    for lines in [
        &["*** Add File: a", "+x", "*** Update File: a", "*** Move to: b.docx"][..],
        &["*** Update File: f", "@@", "-one", "+1", "*** Update File: f", "*** Move to: f.docx"],
        &["*** Update File: f", "*** Move to: f.docx", "@@", "-one", "+1"],
        &["*** Add File: a", "+x", "*** Update File: a", "*** Move to: x.db-wal"],
    ] {
        let bench = Bench::new().await;
        bench.world.create("/ws/f", b"one\n").unwrap();
        let before = bench.world.snapshot();
        let code = code(bench.actor().apply_patch(patch(lines)).await);
        assert!(matches!(code, Code::OpaqueDocument | Code::SqliteSidecar), "{lines:?}: {code}");
        assert_eq!(bench.world.snapshot(), before);
    }
    // A pure move is not judged by the rules of documents.
    let bench = Bench::new().await;
    bench.world.create("/ws/f", b"one\n").unwrap();
    done(bench.actor().apply_patch(patch(&["*** Update File: f", "*** Move to: f.docx"])).await);
}
