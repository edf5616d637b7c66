//! Cases that the field's engines get wrong.

use std::collections::BTreeMap;

use guard_patch::{Code, Entry, NoteKind, Options, Snapshot, Tier, parse, plan};

use crate::notation::{check, check_net, patch, run, update};

#[test]
fn context_keeps_its_bytes_and_new_lines_get_the_file_s_indentation() {
    check(&[
        ("⇥if x:⏎⇥⇥a()⏎⇥⇥b()⏎", "@@| if x:|-    a()|+    A()|     b()", "⇥if x:⏎⇥⇥A()⏎⇥⇥b()⏎"),
        ("caf\\xe9⏎b⏎", "@@|-b|+B", "caf\\xe9⏎B⏎"),
        // An NFD line as NFC context.
        ("e\u{301}t\u{e9}⏎b⏎", "@@| \u{e9}t\u{e9}|-b|+B", "e\u{301}t\u{e9}⏎B⏎"),
        ("- a⏎  - b⏎- c⏎", "@@|   - b|+  - b2| - c", "- a⏎  - b⏎  - b2⏎- c⏎"),
    ]);
}

#[test]
fn an_anchor_places_a_chunk() {
    check(&[
        ("fn x() {⏎}⏎z⏎", "@@ fn x() {|+  y", "fn x() {⏎  y⏎}⏎z⏎"),
        ("f(x):⏎  y⏎", "@@ f(x):|-f(x):|+f(x, y):", "f(x, y):⏎  y⏎"),
        (
            "class A:⏎  def m():⏎    v⏎class B:⏎  def m():⏎    v⏎",
            "@@ class B:|@@   def m():|-    v|+    w",
            "class A:⏎  def m():⏎    v⏎class B:⏎  def m():⏎    w⏎",
        ),
        ("P{⏎a⏎⏎b⏎}⏎Q{⏎a⏎b⏎}⏎", "@@ P{ @@| a|(blank)|-b|+c", "P{⏎a⏎⏎c⏎}⏎Q{⏎a⏎b⏎}⏎"),
    ]);
}

#[test]
fn the_end_of_file_flag_admits_only_the_end() {
    check(&[
        ("m⏎end⏎mid⏎", "@@|-m|+M| end|*** End of File", "refused: 3 not-at-end at 1"),
        ("m⏎e⏎k⏎m⏎e⏎", "@@|-m|+M| e|*** End of File", "m⏎e⏎k⏎M⏎e⏎"),
        ("a⏎b⏎", "@@|-b|+B|*** End of File|@@|-a|+A", "refused: 7 out-of-order at 1"),
        ("a⏎b⏎", "@@|-a|+A|@@|-b|+B|*** End of File", "A⏎B⏎"),
    ]);
}

#[test]
fn ends_of_lines_are_kept() {
    check(&[
        ("a⏎b", "@@|-a|+A", "A⏎b"),
        ("a⏎b", "@@|-b|+B1|+B2", "a⏎B1⏎B2"),
        ("a␍⏎b␍⏎", "@@|-b|+B1|+B2", "a␍⏎B1␍⏎B2␍⏎"),
        ("BOMa⏎b⏎", "@@|-a|+A", "BOMA⏎b⏎"),
        ("a⏎⏎", "@@|-a|+A", "A⏎⏎"),
        ("10%␍20%⏎end⏎x⏎", "@@|-end|+END", "10%␍20%⏎END⏎x⏎"),
        ("x␍⏎y⏎z⏎", "@@|-z|+Z", "x␍⏎y⏎Z⏎"),
    ]);
}

#[test]
fn lookalikes_are_ambiguous() {
    check(&[
        // The same lines with other ends are the same lines.
        ("a⏎b⏎x⏎a␍⏎b␍⏎", "@@| a|-b|+B", "refused: 3 ambiguous at 1,4"),
        ("a⏎b⏎⏎q⏎a⏎", "(blank)|@@|-a|+A", "refused: 4 ambiguous at 1,5"),
        ("a⏎x⏎b⏎x⏎c⏎", "@@|-a|+A|@@|-x|+X|@@|-c|+C", "refused: 6 ambiguous at 2,4"),
    ]);
    let problem =
        run(&[("f", "a⏎x⏎b⏎x⏎c⏎")], "*** Update File: f|@@|-a|+A|@@|-x|+X|@@|-c|+C", &Options::default());
    let problem = &problem.unwrap_err().0[0];
    assert_eq!((problem.operation, problem.chunk, problem.line), (Some(1), Some(2), 6));
}

#[test]
fn chunks_may_share_context() {
    check(&[("a⏎k⏎b⏎", "@@|-a|+A| k|@@| k|-b|+B", "A⏎k⏎B⏎")]);
}

#[test]
fn one_brace_is_no_evidence_of_having_been_applied() {
    check(&[("q⏎}⏎", "@@|-foo|+}", "refused: 3 not-found")]);
}

#[test]
fn nothing_is_overwritten_or_half_done() {
    check_net(&[
        (&[("x", "old⏎")], "*** Add File: x|+new", "refused: 2 file-exists"),
        (&[("f", "a⏎")], "*** Update File: f|*** Move to: ./f|@@|-a|+A", "f: file -> \"A⏎\""),
        (&[("f", "a⏎")], "*** Delete File: f|*** Add File: f/x|+x", "refused: 3 path-conflict"),
        (&[], "*** Add File: x|+x|*** Update File: y|@@|-a|+A", "refused: 4 file-missing"),
    ]);
}

#[test]
fn the_wrapper_s_tag_is_any_word() {
    let text = format!("apply_patch <<'PATCH-1'\n{}PATCH-1\n", patch("*** Add File: x|+a"));
    let patch = parse(&text).unwrap();
    assert_eq!(patch.paths(), ["x"]);
    assert!(patch.notes().iter().all(|note| note.kind == NoteKind::Heredoc));
}

#[test]
fn an_add_takes_marker_text_as_content() {
    check_net(&[(&[], "*** Add File: x|+a|+*** End Patch|+b", "x: absent -> \"a⏎*** End Patch⏎b⏎\"")]);
}

/// A path outside is known before a file is read: containment is for the caller, and runs on every header.
#[test]
fn a_path_outside_is_named_before_any_file_is_read() {
    struct Untouched;
    impl Snapshot for Untouched {
        fn entry(&self, path: &str) -> Entry<'_> {
            panic!("{path} was read");
        }
    }
    let patch = parse(&patch("*** Add File: ../../x|+a|*** Add File: |+b"));
    assert_eq!(patch.unwrap_err().0[0].code, Code::EmptyPath);
    let empty = parse("*** Begin Patch\n*** End Patch\n").unwrap();
    assert!(!plan(&empty, &Untouched, &Options::default()).unwrap().changed());
    let outside = parse("*** Begin Patch\n*** Add File: ../../x\n+a\n*** End Patch\n").unwrap();
    assert_eq!(outside.paths(), ["../../x"]);
}

#[test]
fn every_use_beyond_exact_is_reported() {
    for (file, tier) in [
        ("a⏎b⏎", Tier::Exact),
        ("a ⏎b⏎", Tier::TrailingBlanks),
        (" a⏎b⏎", Tier::Indentation),
        ("a⏎b\u{a0}⏎", Tier::Unicode),
    ] {
        let plan = run(&[("f", file)], "*** Update File: f|@@| a|-b", &Options::default()).unwrap();
        assert_eq!(plan.files[0].chunks[0].tier, tier);
        let noted = plan.notes.iter().any(|note| note.kind == NoteKind::LooseMatch && note.line == 3);
        assert_eq!(noted, tier > Tier::Exact);
        let strict = Options::default().ceiling(Tier::Exact);
        let strict = run(&[("f", file)], "*** Update File: f|@@| a|-b", &strict);
        match strict {
            Ok(_) => assert_eq!(tier, Tier::Exact),
            Err(rejected) => assert_eq!(rejected.0[0].code, Code::TierNotAllowed),
        }
    }
}

#[test]
fn a_file_may_be_large_and_its_lines_long() {
    let files: BTreeMap<String, Vec<u8>> = BTreeMap::from([(
        "f".to_owned(),
        (0..2500).map(|line| format!("{line} {}\n", "x".repeat(3000))).collect::<String>().into_bytes(),
    )]);
    let long = "x".repeat(3000);
    let body = format!("*** Update File: f|@@| 1999 {long}|-2000 {long}|+new");
    let plan = plan(&parse(&patch(&body)).unwrap(), &files, &Options::default()).unwrap();
    assert_eq!(plan.files[0].chunks[0].file_line, 2000);
}

#[test]
fn what_would_take_too_long_is_refused() {
    // Every chunk has an anchor that is nowhere, and no line of it is known to be.
    let file: String = (0..20_000).map(|line| format!("line {line}⏎")).collect();
    let body: String = (0..3000).map(|chunk| format!("@@ liné {chunk}|-x|+y|")).collect();
    assert_eq!(update(&file, body.trim_end_matches('|')), "refused: 3 too-much-work");
    // A few of them are looked for.
    let body: String = (0..10).map(|chunk| format!("@@ liné {chunk}|-x|+y|")).collect();
    assert!(
        update(&file, body.trim_end_matches('|'))
            .starts_with("refused: 3 anchor-not-found; 6 anchor-not-found")
    );
}

#[test]
fn ten_thousand_chunks_are_applied() {
    let file: String = (0..20_000).map(|line| format!("{line}⏎")).collect();
    let body: String = (0..10_000).map(|chunk| format!("@@|-{0}|+new {0}|", chunk * 2)).collect();
    let expected: String = (0..20_000)
        .map(|line| if line % 2 == 0 { format!("new {line}⏎") } else { format!("{line}⏎") })
        .collect();
    assert_eq!(update(&file, body.trim_end_matches('|')), expected);
}
