//! What several operations do together.

use guard_patch::{Options, Outcome};

use crate::notation::{check_net, net, run};

#[test]
fn the_net_effect_is_one_change_for_each_path() {
    check_net(&[
        (&[("f", "a⏎")], "*** Delete File: f|*** Add File: f|+b", "f: file -> \"b⏎\""),
        (&[("f", "a⏎")], "*** Delete File: f|*** Add File: f|+a", "f: file -> same"),
        (&[], "*** Add File: f|+a|*** Delete File: f", "f: absent -> absent"),
        (&[], "*** Add File: f|+a|*** Update File: f|@@|-a|+b", "f: absent -> \"b⏎\""),
        (
            &[("f", "a⏎b⏎")],
            "*** Update File: f|@@|-a|+A|*** Update File: f|@@| A|-b|+B",
            "f: file -> \"A⏎B⏎\"",
        ),
        (
            &[("f", "a⏎")],
            "*** Update File: f|*** Move to: g",
            "f: file -> absent to g; g: absent -> same from f",
        ),
        (
            &[("f", "a⏎")],
            "*** Update File: f|*** Move to: g|@@|-a|+b",
            "f: file -> absent to g; g: absent -> \"b⏎\" from f",
        ),
        (
            &[("f", "a⏎")],
            "*** Update File: f|*** Move to: g|*** Update File: g|*** Move to: h",
            "f: file -> absent to h; g: absent -> absent; h: absent -> same from f",
        ),
        (
            &[("f", "a⏎")],
            "*** Update File: f|*** Move to: g|*** Update File: g|*** Move to: f",
            "f: file -> same; g: absent -> absent",
        ),
        // A swap is two replacements.
        (
            &[("f", "a⏎"), ("g", "b⏎")],
            "*** Update File: f|*** Move to: t|*** Update File: g|*** Move to: f|*** Update File: t|*** Move to: g",
            "f: file -> \"b⏎\"; t: absent -> absent; g: file -> \"a⏎\"",
        ),
        // What replaces a file is no move; nor is what leaves another file behind.
        (
            &[("f", "a⏎"), ("g", "b⏎")],
            "*** Delete File: g|*** Update File: f|*** Move to: g",
            "g: file -> \"a⏎\"; f: file -> absent",
        ),
        (
            &[("f", "a⏎")],
            "*** Update File: f|*** Move to: g|*** Add File: f|+n",
            "f: file -> \"n⏎\"; g: absent -> \"a⏎\"",
        ),
        (&[("f", "a⏎")], "*** Update File: f|*** Move to: f", "f: file -> same"),
        (&[("f", "a⏎")], "*** Update File: f|@@|-a|+a", "f: file -> same"),
        (&[], "*** Add File: f", "f: absent -> \"\""),
    ]);
}

#[test]
fn what_an_operation_needs_has_to_be_so() {
    check_net(&[
        (&[("f", "a⏎")], "*** Delete File: f|*** Update File: f|@@|-a|+b", "refused: 3 file-missing"),
        (&[("f", "a⏎")], "*** Delete File: f|*** Delete File: f", "refused: 3 file-missing"),
        (&[], "*** Add File: f|+a|*** Add File: f|+b", "refused: 4 file-exists"),
        (&[("f", ""), ("g", "")], "*** Update File: f|*** Move to: g", "refused: 3 file-exists"),
        (
            &[("f", "a⏎")],
            "*** Update File: f|*** Move to: g|*** Update File: f|@@|-a|+b",
            "refused: 4 file-missing",
        ),
        (&[("f", "a⏎")], "*** Update File: f|*** Move to: f/g", "refused: 3 path-conflict"),
        // All in one go, but not what only follows from another failure.
        (
            &[("f", "a⏎")],
            "*** Update File: f|@@|-x|+y|@@|-z|+y|*** Update File: f|@@|-y|*** Delete File: g|*** Add File: f|+a",
            "refused: 3 not-found; 6 not-found; 12 file-missing",
        ),
    ]);
}

#[test]
fn a_refusal_names_the_operation_that_made_it_so() {
    let problem = |files: &[(&str, &str)], operations: &str| {
        run(files, operations, &Options::default()).unwrap_err().0[0].message.clone()
    };
    assert_eq!(
        problem(&[("f", "a⏎")], "*** Update File: f|*** Move to: g|*** Delete File: f"),
        "`f` does not exist, since it was moved away at patch line 2, and a Delete needs it"
    );
    assert_eq!(
        problem(&[], "*** Add File: f|+a|*** Add File: f|+a"),
        "`f` exists, since it was added at patch line 2, and an Add needs the path free"
    );
}

#[test]
fn a_plan_that_changes_nothing_succeeds() {
    let plan = run(&[("f", "a⏎")], "*** Update File: f|@@| a", &Options::default()).unwrap();
    assert!(!plan.changed());
    assert_eq!(plan.files[0].chunks[0].outcome, Outcome::ContextOnly);
    assert!(!run(&[], "*** Add File: f|*** Delete File: f", &Options::default()).unwrap().changed());
    assert!(run(&[("f", "")], "*** Update File: f|*** Move to: g", &Options::default()).unwrap().changed());
}

#[test]
fn what_is_no_file_is_refused() {
    use std::collections::BTreeMap;

    use guard_patch::{Entry, Snapshot, parse, plan};

    struct Directory(BTreeMap<String, Vec<u8>>);
    impl Snapshot for Directory {
        fn entry(&self, path: &str) -> Entry<'_> {
            if path == "d" { Entry::Other("a directory") } else { self.0.entry(path) }
        }
    }
    let files = Directory(BTreeMap::new());
    for operation in [
        "*** Delete File: d",
        "*** Add File: d\n+x",
        "*** Update File: d\n-x",
        "*** Update File: d\n*** Move to: e",
    ] {
        let patch = parse(&format!("*** Begin Patch\n{operation}\n*** End Patch")).unwrap();
        for options in [Options::default(), Options::danger_codex()] {
            let rejected = match plan(&patch, &files, &options) {
                Ok(plan) => plan.stopped.unwrap(),
                Err(rejected) => rejected,
            };
            assert_eq!(rejected.0[0].code.as_str(), "not-a-file", "{operation}");
        }
    }
}

#[test]
fn the_reference_engine_s_ways_are_a_choice() {
    let codex = Options::danger_codex();
    for (files, operations, expected) in [
        (&[("x", "old⏎")][..], "*** Add File: x|+new", "x: file -> \"new⏎\""),
        (
            &[("f", "a⏎"), ("g", "b⏎")],
            "*** Update File: f|*** Move to: g|@@|-a|+A",
            "f: file -> absent; g: file -> \"A⏎\"",
        ),
        (&[("f", "a⏎b")], "*** Update File: f|@@|-a|+A", "f: file -> \"A⏎b⏎\""),
        (&[("f", "a⏎")], "*** Update File: f|@@|+b", "f: file -> \"a⏎b⏎\""),
        (&[("f", "a␍b⏎c⏎")], "*** Update File: f|@@|-b|+B", "f: file -> \"a␍B␍c⏎\""),
        (&[("f", "a␍⏎b⏎")], "*** Update File: f|@@|-b|+B", "f: file -> \"a␍⏎B␍⏎\""),
        (&[], "*** Add File: x|+x|*** Update File: y|@@|-a|+A", "x: absent -> \"x⏎\""),
    ] {
        assert_eq!(net(&run(files, operations, &codex).unwrap()), expected, "{operations}");
    }
    let stopped =
        run(&[], "*** Add File: x|+x|*** Delete File: y|*** Delete File: z", &codex).unwrap().stopped;
    let stopped = stopped.unwrap();
    assert_eq!((stopped.0.len(), stopped.0[0].line), (1, 4));
}
