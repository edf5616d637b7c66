//! `guard undo`.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "the test acts as another process does")]

mod bench;

use std::os::unix::fs::PermissionsExt as _;

use bench::{Bench, Run};

/// A workspace with a store beside it, and a command line that uses both.
struct Undoing {
    bench: Bench,
    store: String,
}

impl Undoing {
    fn new() -> Self {
        let bench = Bench::new();
        std::fs::create_dir(bench.path("ws")).unwrap();
        let store = bench.path("kept").to_str().unwrap().to_owned();
        Self { bench, store }
    }

    fn guard(&self, arguments: &[&str], stdin: &str) -> Run {
        let before = ["--root", "ws", "--undo-store", &self.store];
        self.bench.guard_with(&[&before[..], arguments].concat(), stdin.as_bytes())
    }

    /// Makes a change, and puts what it printed where `undo` finds it.
    fn change(&self, arguments: &[&str], stdin: &str) {
        let run = self.guard(&[&["--json"], arguments].concat(), stdin);
        assert_eq!(run.code, 0, "{run:?}");
        self.bench.put("receipt.json", run.out());
    }

    fn content(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.bench.path("ws").join(name)).ok()
    }
}

#[test]
fn a_receipt_that_was_printed_is_undone_and_what_changed_since_is_left_alone() {
    let undoing = Undoing::new();
    undoing.bench.put("ws/a.txt", "one\n");
    undoing.change(&["write", "a.txt", "--danger-unseen"], "two\n");
    // What it would do, first; it changes nothing.
    let plan = undoing.guard(&["--dry-run", "undo", "receipt.json"], "");
    assert!(plan.code == 0 && plan.out().contains("+one"), "{plan:?}");
    assert_eq!(undoing.content("a.txt").unwrap(), "two\n");
    undoing.bench.put("ws/a.txt", "of another\n");
    let refused = undoing.guard(&["undo", "receipt.json"], "");
    assert!(refused.code == 1 && refused.stderr.contains("[stale]"), "{refused:?}");
    assert_eq!(undoing.content("a.txt").unwrap(), "of another\n");
    undoing.bench.put("ws/a.txt", "two\n");
    let undone = undoing.guard(&["undo", "receipt.json"], "");
    assert!(undone.code == 0 && undone.out().contains("put back"), "{undone:?}");
    assert_eq!(undoing.content("a.txt").unwrap(), "one\n");

    // A patch of several files, by standard input, and once more the other way.
    let patch =
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+2\n*** Add File: x/b.txt\n+b\n*** End Patch\n";
    undoing.change(&["patch"], patch);
    let receipt = std::fs::read_to_string(undoing.bench.path("receipt.json")).unwrap();
    let undone = undoing.guard(&["--json", "undo", "-"], &receipt);
    assert_eq!(undone.code, 0, "{undone:?}");
    assert_eq!((undoing.content("a.txt").unwrap().as_str(), undoing.content("x/b.txt")), ("one\n", None));
    assert!(!undoing.bench.path("ws/x").exists());
    assert_eq!(undoing.guard(&["undo", "-"], undone.out()).code, 0);
    assert_eq!(undoing.content("x/b.txt").unwrap(), "b\n");
}

#[test]
fn what_cannot_be_undone_says_so() {
    let undoing = Undoing::new();
    undoing.bench.put("ws/a.txt", "one\n");
    // Kept nowhere.
    let plain =
        undoing.bench.guard_with(&["--root", "ws", "--json", "write", "a.txt", "--danger-unseen"], b"two\n");
    undoing.bench.put("receipt.json", plain.out());
    let refused = undoing.guard(&["undo", "receipt.json"], "");
    assert!(refused.code == 1 && refused.stderr.contains("[cannot-undo]"), "{refused:?}");
    // No receipt.
    for (text, words) in [("", "receipt.json"), ("{}", "missing field"), ("[]", "receipt.json")] {
        undoing.bench.put("receipt.json", text);
        let run = undoing.guard(&["undo", "receipt.json"], "");
        assert!(run.code == 2 && run.stderr.contains(words), "{run:?}");
    }
    assert_eq!(undoing.guard(&["undo", "nowhere.json"], "").code, 2);
    assert_eq!(undoing.content("a.txt").unwrap(), "two\n");
}

#[test]
fn a_store_that_others_can_read_or_that_is_in_a_root_is_an_error() {
    let undoing = Undoing::new();
    let run = undoing.guard(&["ls"], "");
    assert_eq!(run.code, 0, "{run:?}");
    let kept = undoing.bench.path("kept");
    assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    std::fs::set_permissions(&kept, std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = undoing.guard(&["ls"], "");
    assert!(run.code == 2 && run.stderr.contains("mode 0700"), "{run:?}");
    let inside = undoing.bench.guard(&["--root", "ws", "--undo-store", "ws/kept", "ls"]);
    assert!(inside.code == 2 && inside.stderr.contains("is in a root"), "{inside:?}");
}
