//! Texts, and what is read from them.
//!
//! In these tables `|` separates the lines of a text.

use std::fmt::Write as _;

use guard_patch::{Action, Event, LineKind, Parser, Patch, parse};

/// Writes a patch in one line, or its problems as `line code`.
fn read(text: &str) -> String {
    match parse(&text.replace('|', "\n")) {
        Ok(patch) => write(&patch),
        Err(rejected) => {
            let problems =
                rejected.0.iter().map(|problem| format!("{} {}", problem.line, problem.code.as_str()));
            format!("refused: {}", problems.collect::<Vec<_>>().join(", "))
        }
    }
}

fn write(patch: &Patch) -> String {
    let mut out = String::new();
    if let Some(environment) = patch.environment() {
        let _ = write!(out, "[{environment}] ");
    }
    let operations = patch.operations().iter().map(|operation| {
        let named = &operation.path;
        match &operation.action {
            Action::Add { content } => format!("add {named} {content:?}"),
            Action::Delete => format!("delete {named}"),
            Action::Update { move_to, chunks } => {
                let mut out = format!("update {named}");
                if let Some(to) = move_to {
                    let _ = write!(out, " to {}", to.path);
                }
                for chunk in chunks {
                    out.push_str(" {");
                    for anchor in &chunk.anchors {
                        let _ = write!(out, "@{:?} ", anchor.text);
                    }
                    if let Some(hint) = chunk.hint {
                        let _ = write!(out, "#{hint} ");
                    }
                    for line in &chunk.lines {
                        out.push(match line.kind {
                            LineKind::Context => ' ',
                            LineKind::Remove => '-',
                            LineKind::Add => '+',
                        });
                        out.push_str(&line.text);
                        out.push_str(if line.no_newline { "\\|" } else { "|" });
                    }
                    out.push_str(if chunk.end_of_file { "$}" } else { "}" });
                }
                out
            }
        }
    });
    out.push_str(&operations.collect::<Vec<_>>().join("; "));
    let notes: Vec<String> =
        patch.notes().iter().map(|note| format!("{} {}", note.line, note.kind.as_str())).collect();
    if !notes.is_empty() {
        let _ = write!(out, " // {}", notes.join(", "));
    }
    out
}

fn check(table: &[(&str, &str)]) {
    for (text, expected) in table {
        assert_eq!(read(text), *expected, "{text:?}");
    }
}

#[test]
fn the_grammar_is_read() {
    check(&[
        ("*** Begin Patch|*** End Patch", ""),
        ("*** Begin Patch|*** Add File: a|+x|+|*** End Patch|", r#"add a "x\n\n""#),
        ("*** Begin Patch|*** Add File: a|*** End Patch|", r#"add a """#),
        ("*** Begin Patch|*** Delete File: a b|*** End Patch|", "delete a b"),
        ("*** Begin Patch|*** Update File: a|*** Move to: b|*** End Patch", "update a to b"),
        (
            "*** Begin Patch|*** Update File: ./a|*** Move to: b//c|@@| k|-x|+y|*** End Patch",
            "update a to b/c { k|-x|+y|}",
        ),
        ("*** Begin Patch|*** Update File: a|-x|+y|*** End Patch", "update a {-x|+y|}"),
        (
            "*** Begin Patch|*** Update File: a|@@ A|@@   B|@@|-x|*** End Patch",
            r#"update a {@"A" @"  B" -x|}"#,
        ),
        (
            "*** Begin Patch|*** Update File: a|@@ A|-x|@@ B|-y|*** End Patch",
            r#"update a {@"A" -x|} {@"B" -y|}"#,
        ),
        ("*** Begin Patch|*** Environment ID: box-7|*** Delete File: a|*** End Patch", "[box-7] delete a"),
        // Each operation ends where the next begins.
        (
            "*** Begin Patch|*** Add File: a|+x|*** Update File: b|-x|*** Delete File: c|*** End Patch",
            r#"add a "x\n"; update b {-x|}; delete c"#,
        ),
        // The flag belongs to the chunk before it.
        (
            "*** Begin Patch|*** Update File: a|@@|-x|*** End of File|@@|-y|*** End Patch",
            "update a {-x|$} {-y|}",
        ),
        // Marker text behind a prefix is content.
        (
            "*** Begin Patch|*** Add File: a|+*** Begin Patch|+*** End Patch|+x|*** End Patch",
            r#"add a "*** Begin Patch\n*** End Patch\nx\n""#,
        ),
        (
            "*** Begin Patch|*** Update File: a| *** Delete File: b|-x|*** End Patch",
            "update a { *** Delete File: b|-x|}",
        ),
        (
            "*** Begin Patch|*** Update File: a| *** End Patch|-x|*** End Patch",
            "update a { *** End Patch|-x|}",
        ),
        (
            "*** Begin Patch|*** Update File: a| *** End Patch||-x|*** End Patch",
            "update a { *** End Patch| |-x|}",
        ),
        ("*** Begin Patch|*** Update File: a|-@@ x|+*** y|*** End Patch", "update a {-@@ x|+*** y|}"),
        // One CR at the end of a line is dropped.
        ("*** Begin Patch\r|*** Update File: a\r|-x\r|+y\r\r|*** End Patch\r", "update a {-x|+y\r|}"),
    ]);
}

#[test]
fn bare_blank_lines_at_the_edges_of_a_chunk_are_separators() {
    check(&[
        ("*** Begin Patch|*** Update File: a||@@||-x||+y|||*** End Patch", "update a {-x| |+y|}"),
        ("*** Begin Patch|*** Update File: a|-x||@@|-y|*** End Patch", "update a {-x|} {-y|}"),
        ("*** Begin Patch|*** Update File: a|@@ A||@@ B||-y|*** End Patch", r#"update a {@"A" @"B" -y|}"#),
        // Except directly before the End of File mark.
        ("*** Begin Patch|*** Update File: a|-x||*** End of File|*** End Patch", "update a {-x| |$}"),
        // One space is an empty line of context.
        ("*** Begin Patch|*** Update File: a| |-x| |*** End Patch", "update a { |-x| |}"),
        (
            "*** Begin Patch||*** Add File: a|+x|||*** Delete File: b||*** End Patch||",
            r#"add a "x\n"; delete b"#,
        ),
        ("*** Begin Patch|*** Update File: a||*** Move to: b||*** End Patch", "update a to b"),
    ]);
}

#[test]
fn the_mark_for_a_missing_newline_is_read() {
    check(&[
        (
            "*** Begin Patch|*** Update File: a|-x|\\ No newline at end of file|+y|\\ No newline at end of file|*** End Patch",
            "update a {-x\\|+y\\|}",
        ),
        (
            "*** Begin Patch|*** Update File: a| x|\\ Kein Zeilenumbruch|+y|*** End Patch",
            "update a { x\\|+y|}",
        ),
        ("*** Begin Patch|*** Add File: a|+x|\\ No newline at end of file|*** End Patch", r#"add a "x""#),
        (
            "*** Begin Patch|*** Update File: a|+y|\\ No newline| x|*** End Patch",
            "refused: 4 misplaced-no-newline",
        ),
        (
            "*** Begin Patch|*** Update File: a|-y|\\ No newline| x|*** End Patch",
            "refused: 4 misplaced-no-newline",
        ),
        (
            "*** Begin Patch|*** Update File: a|\\ No newline|-x|*** End Patch",
            "refused: 3 misplaced-no-newline",
        ),
        (
            "*** Begin Patch|*** Add File: a|+x|\\ No newline|+y|*** End Patch",
            "refused: 4 misplaced-no-newline",
        ),
        ("*** Begin Patch|*** Add File: a|\\ No newline|*** End Patch", "refused: 3 misplaced-no-newline"),
    ]);
}

#[test]
fn small_deviations_are_accepted_with_a_note() {
    check(&[
        (
            "  *** Begin Patch|\t*** Delete File: a| *** Add File: b|+x|  *** Update File: c|-x|*** End Patch  ",
            r#"delete a; add b "x\n"; update c {-x|} // 1 leading-blanks, 2 leading-blanks, 3 leading-blanks, 5 leading-blanks"#,
        ),
        (
            "*** Begin Patch|*** Update File: a|-x| *** End Patch||```|",
            "update a {-x|} // 4 leading-blanks, 6 fence",
        ),
        (
            "apply_patch <<'PATCH-1'|*** Begin Patch|*** Update File: a|-x| *** End Patch|PATCH-1|",
            "update a {-x|} // 2 heredoc, 5 leading-blanks",
        ),
        ("*** Begin Patch|*** Delete File:a|*** End Patch", "delete a // 2 missing-space"),
        (
            "*** Begin Patch|*** Environment ID:x|*** Update File:a|*** Move to:b|*** End Patch",
            "[x] update a to b // 2 missing-space, 3 missing-space, 4 missing-space",
        ),
        ("```diff|*** Begin Patch|*** Delete File: a|*** End Patch|```", "delete a // 1 fence, 5 fence"),
        (
            "Here it is.|As asked.|*** Begin Patch|*** Delete File: a|*** End Patch|Done.|Bye.",
            "delete a // 1 prose, 6 prose",
        ),
        ("\u{feff}*** Begin Patch|*** Delete File: a|*** End Patch", "delete a // 1 byte-order-mark"),
        (
            "*** Begin Patch|*** Update File: a|@@ def f(): @@|-x|*** End Patch",
            r#"update a {@"def f():" -x|} // 3 anchor-tail"#,
        ),
        (
            "*** Begin Patch|*** Update File: a|@@ -3,2 +3,1 @@ def f():|-x|*** End Patch",
            r#"update a {@"def f():" #3 -x|} // 3 line-numbers"#,
        ),
        (
            "*** Begin Patch|*** Update File: a|@@ -3 +3 @@|-x|*** End Patch",
            "update a {#3 -x|} // 3 line-numbers",
        ),
        ("*** Begin Patch|*** Move File: a -> b|@@|-x|*** End Patch", "update a to b {-x|} // 2 move-file"),
        (
            "cd 'my dir' && apply_patch <<EOF|*** Begin Patch|*** Update File: a|*** Move to: /b|*** End Patch|EOF",
            "update my dir/a to /b // 2 heredoc, 2 directory",
        ),
    ]);
}

#[test]
fn a_quoted_patch_in_prose_does_not_win() {
    let real = "*** Begin Patch|*** Delete File: real|*** End Patch";
    check(&[
        (&format!("It ends with|*** End Patch|{real}"), "delete real // 1 prose"),
        (&format!("> *** Begin Patch|> *** Delete File: x|> *** End Patch|{real}"), "delete real // 1 prose"),
        (&format!("Like `*** Begin Patch`:|{real}"), "delete real // 1 prose"),
        (
            &format!("So:|  *** Begin Patch|  *** Delete File: x|  *** End Patch||{real}"),
            "delete real // 1 prose, 2 quoted",
        ),
        (
            &format!("So:|  *** Begin Patch|  *** Update File: x|  -a|  *** End Patch|and now:|{real}"),
            "delete real // 1 prose, 2 quoted",
        ),
        // Two patches that both count are refused.
        (&format!("{real}|{real}"), "refused: 4 second-envelope"),
        (
            &format!("  *** Begin Patch|*** Delete File: x| *** End Patch|{real}"),
            "refused: 3 misplaced-marker, 4 second-begin",
        ),
    ]);
}

#[test]
fn everything_that_is_wrong_is_refused_in_one_go() {
    check(&[
        ("", "refused: 1 missing-begin"),
        ("Hello.|*** End Patch", "refused: 1 missing-begin"),
        ("*** Begin Patch|*** Delete File: a|", "refused: 2 missing-end"),
        ("*** Begin Patch|*** Add File: a|+x|y|+z|*** End Patch", "refused: 4 unprefixed-line"),
        ("*** Begin Patch|*** Add File: a|+x||+z|*** End Patch", "refused: 4 unprefixed-line"),
        ("*** Begin Patch|*** Update File: a|-x|y|*** End Patch", "refused: 4 unprefixed-line"),
        ("*** Begin Patch|*** Update File: a|-x|\ty|*** End Patch", "refused: 4 unprefixed-line"),
        ("*** Begin Patch|*** Update File: a|@@x|-x|*** End Patch", "refused: 3 anchor-without-blank"),
        // This one ends.
        ("*** Begin Patch|*** Update File: a|@@\t|*** End Patch", "refused: 3 empty-chunk"),
        ("*** Begin Patch|*** Update File: a|@@\t|-x|*** End Patch", "update a {-x|}"),
        ("*** Begin Patch|*** Frobnicate File: a|*** End Patch", "refused: 2 unknown-marker"),
        ("*** Begin Patch|*** Update File: a|-x|*** Move to: b|*** End Patch", "refused: 4 misplaced-marker"),
        ("*** Begin Patch|*** Delete File: a|*** Move to: b|*** End Patch", "refused: 3 misplaced-marker"),
        ("*** Begin Patch|*** Add File: a|+x|*** End of File|*** End Patch", "refused: 4 misplaced-marker"),
        (
            "*** Begin Patch|*** Delete File: a|*** Environment ID: x|*** End Patch",
            "refused: 3 misplaced-marker",
        ),
        ("*** Begin Patch|*** Environment ID:|*** End Patch", "refused: 2 empty-environment"),
        ("*** Begin Patch|*** Update File: a|*** End Patch", "refused: 2 empty-update"),
        ("*** Begin Patch|*** Update File: a|@@ A|*** End Patch", "refused: 3 empty-chunk"),
        ("*** Begin Patch|*** Update File: a|@@|*** End of File|*** End Patch", "refused: 3 empty-chunk"),
        (
            "*** Begin Patch|*** Update File: a|-x|*** End of File|-y|*** End Patch",
            "refused: 5 chunk-without-header",
        ),
        ("*** Begin Patch|*** Delete File:|*** End Patch", "refused: 2 empty-path"),
        ("*** Begin Patch|*** Delete File: a/|*** End Patch", "refused: 2 bad-path"),
        ("*** Begin Patch|*** Update File: a|*** Move to: C:/x|*** End Patch", "refused: 3 bad-path"),
        ("*** Begin Patch|*** Move File: a|-x|*** End Patch", "refused: 2 bad-path"),
        ("*** Begin Patch|*** Move File: a -> b -> c|*** End Patch", "refused: 2 bad-path"),
        ("*** Begin Patch|*** Delete File: a|x|*** End Patch", "refused: 3 stray-line"),
        ("*** Begin Patch|*** Begin Patch|*** Delete File: a|*** End Patch", "refused: 2 second-begin"),
        ("*** Begin Patch|*** End Patch|*** Begin Patch|*** End Patch", "refused: 3 second-envelope"),
        ("cd $X && apply_patch <<EOF|*** Begin Patch|*** End Patch", "refused: 2 unknown-directory"),
        (
            "*** Begin Patch|x|*** Add File: |y|*** Update File: b|*** Foo|@@z|-a",
            "refused: 2 stray-line, 3 empty-path, 4 unprefixed-line, 6 unknown-marker, 7 anchor-without-blank, 8 missing-end",
        ),
    ]);
}

#[test]
fn paths_are_each_named_once_in_order() {
    let text = "*** Begin Patch\n*** Update File: b\n*** Move to: ./c\n*** Delete File: a\n*** Add File: c\n*** Add File: ../../x\n*** End Patch";
    let patch = parse(text).unwrap();
    assert_eq!(patch.paths(), ["b", "c", "a", "../../x"]);
}

#[test]
fn events_come_as_the_text_is_typed() {
    let text = "*** Begin Patch\n*** Environment ID: e\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n@@ k\n-x\n\n+y\n\\ No newline at end of file\n*** End of File\n*** Delete File:d\n*** Oops\n*** End Patch";
    let mut events = Vec::new();
    let mut parser = Parser::new();
    let mut push = |event: Event<'_>| {
        events.push(match event {
            Event::Note(note) => format!("Note {} {}", note.line, note.kind.as_str()),
            Event::Problem(problem) => format!("Problem {} {}", problem.line, problem.code.as_str()),
            event => format!("{event:?}"),
        });
    };
    for piece in text.split_inclusive('\n') {
        parser.push(piece, &mut push);
    }
    let _ = parser.finish(&mut push);
    insta::assert_snapshot!(events.join("\n"));
}
