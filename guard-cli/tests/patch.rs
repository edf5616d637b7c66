//! `guard patch`: letters for what it did, diagnostics for what it refused, one exit code.
#![allow(clippy::disallowed_methods, reason = "tests make files and start the binary")]
#![allow(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

mod bench;

use std::fmt::Write as _;

use bench::Bench;

/// The digest of `one\n`.
const ONE: &str = "sha256:2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806";

const EVERY_KIND: &str = "*** Begin Patch
*** Add File: new/n.txt
+hello
*** Update File: a.txt
@@
-two
+2
*** Update File: old.txt
*** Move to: moved.txt
*** Delete File: gone.txt
*** End Patch
";

fn prepared() -> Bench {
    let bench = Bench::new();
    for (name, text) in [("a.txt", "one\ntwo\n"), ("old.txt", "x\n"), ("gone.txt", "one\n")] {
        std::fs::write(bench.path(name), text).unwrap();
    }
    bench
}

fn shown(bench: &Bench, args: &[&str], patch: &str) -> String {
    let run = bench.guard_with(args, patch.as_bytes());
    let mut text = format!("$ guard {}\n", args.join(" ").replace(ONE, "ONE"));
    text.push_str(&bench.plain(run.out()));
    for line in bench.plain(&run.stderr).lines() {
        writeln!(text, "! {line}").unwrap();
    }
    writeln!(text, "= {}\n", run.code).unwrap();
    text
}

#[test]
fn a_patch_tells_a_person_what_it_did_and_why_it_did_not() {
    let bench = prepared();
    let expect = format!("gone.txt={ONE}");
    let mut text = shown(&bench, &["patch"], EVERY_KIND);
    text.push_str(&shown(&bench, &["--dry-run", "patch", "--expect", &expect], EVERY_KIND));
    text.push_str(&shown(&bench, &["patch", "--expect", &expect], EVERY_KIND));
    text.push_str(&shown(&bench, &["patch"], EVERY_KIND));
    for patch in [
        "",
        "*** Begin Patch\n*** Add File: x\nunprefixed\n",
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-twoo\n+2\n*** End Patch\n",
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-one  \n+1\n*** End Patch\n",
        "*** Begin Patch\n*** Add File: ../x\n+x\n*** End Patch\n",
        "*** Begin Patch\n*** Environment ID: elsewhere\n*** Add File: x\n+x\n*** End Patch\n",
    ] {
        text.push_str(&shown(&bench, &["patch"], patch));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn what_a_patch_deletes_is_named_by_its_version_or_by_a_danger() {
    let patch = "*** Begin Patch\n*** Delete File: gone.txt\n*** End Patch\n";
    for (args, code) in [
        (&["patch"][..], 1),
        (&["patch", "--expect", &format!("gone.txt=sha256:{}", "0".repeat(64))], 1),
        (&["patch", "--expect", "gone.txt=md5:0"], 2),
        (&["patch", "--expect", ONE], 2),
        (&["patch", "--expect", &format!("gone.txt={ONE}")], 0),
        (&["patch", "--danger-delete-unseen"], 0),
    ] {
        let bench = prepared();
        assert_eq!(bench.guard_with(args, patch.as_bytes()).code, code, "{args:?}");
        assert_eq!(std::fs::metadata(bench.path("gone.txt")).is_err(), code == 0, "{args:?}");
    }
}

#[test]
fn the_reference_engines_way_stops_at_a_failure_keeps_what_was_before_and_exits_1() {
    let patch = "*** Begin Patch\n*** Add File: n.txt\n+new\n*** Update File: missing.txt\n@@\n-x\n+y\n*** End Patch\n";
    let bench = prepared();
    assert_eq!(bench.guard_with(&["patch"], patch.as_bytes()).code, 1);
    assert!(std::fs::metadata(bench.path("n.txt")).is_err(), "all of it, or nothing");
    let run = bench.guard_with(&["--json", "patch", "--danger-codex"], patch.as_bytes());
    let reply: serde_json::Value = serde_json::from_str(run.out()).unwrap();
    assert_eq!((run.code, &reply["outcome"]), (1, &serde_json::json!("done")));
    assert!(reply["receipt"]["stopped"].as_str().unwrap().contains("missing.txt"), "{reply}");
    assert_eq!(std::fs::read(bench.path("n.txt")).unwrap(), b"new\n");
}
