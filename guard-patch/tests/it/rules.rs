//! The rules of an Update, one table each.

use guard_patch::{NoteKind, Options, Outcome, Tier};

use crate::notation::{check, run, update, update_with};

#[test]
fn tiers_are_tried_in_order() {
    check(&[
        // Exact before trailing blanks, which may be several.
        ("a ⏎a⏎", "@@|-a|+b", "a ⏎b⏎"),
        ("a ⏎a⇥⏎", "@@|-a|+b", "refused: 3 ambiguous at 1,2"),
        // The last two tiers need the lines to be there once.
        ("  a⏎x⏎   a⏎", "@@|-a|+b", "refused: 3 ambiguous at 1,3"),
        ("  a⏎x⏎   a⏎", "@@ x|-a|+b", "refused: 3 ambiguous at 1,3"),
        ("“a”⏎x⏎", "@@|-\"a\"|+b", "b⏎x⏎"),
        ("“a”⏎‟a”⏎", "@@|-\"a\"|+b", "refused: 3 ambiguous at 1,2"),
        ("a — b…⏎", "@@|-a - b...|+c", "c⏎"),
        // A last line without an end is not an empty line.
        ("a⏎b", "@@| |+c", "refused: 3 not-found"),
    ]);
    let lower = Options::default().ceiling(Tier::TrailingBlanks);
    assert_eq!(update_with("a ⏎", "@@|-a|+b", &lower), "b⏎");
    assert_eq!(update_with(" a⏎", "@@|-a|+b", &lower), "refused: 3 tier-not-allowed at 1");
    assert_eq!(update_with(" a⏎ b⏎", "@@ a|- b|+b", &lower), "refused: 3 anchor-not-found");
}

#[test]
fn the_indentation_of_new_lines_is_the_file_s_or_refused() {
    check(&[
        ("⇥a⏎⇥⇥b⏎", "@@| a|     b|+    c|+d", "⇥a⏎⇥⇥b⏎⇥⇥c⏎⇥d⏎"),
        ("⇥a⏎⇥⇥b⏎", "@@| a|     b|+        c", "refused: 6 unclear-indentation"),
        ("⇥a⏎⇥⇥b⏎", "@@| a| b|+c", "refused: 6 unclear-indentation"),
        ("⇥a⏎⇥⇥b⏎", "@@| a|     b|+", "⇥a⏎⇥⇥b⏎⏎"),
        // With nothing inserted there is nothing to refuse.
        ("⇥a⏎⇥⇥b⏎", "@@| a|-b", "⇥a⏎"),
        // Not the indentation differs, but a quote.
        ("  ‘a’⏎", "@@|-  'a'|+      b", "      b⏎"),
    ]);
}

#[test]
fn an_anchor_is_a_line_or_the_unique_beginning_of_one() {
    check(&[
        ("class Base:⏎  v⏎class B:⏎  v⏎", "@@ class B|-  v|+  w", "class Base:⏎  v⏎class B:⏎  w⏎"),
        ("class B(x):⏎  v⏎class B(y):⏎  v⏎", "@@ class B|-  v|+  w", "refused: 3 anchor-ambiguous at 1,3"),
        ("class Base:⏎  v⏎", "@@ class B|-  v|+  w", "refused: 3 anchor-not-found"),
        ("  def m(self, x):⏎    v⏎", "@@ def m(self|-    v|+    w", "  def m(self, x):⏎    w⏎"),
        ("def “m”(x):⏎  v⏎", "@@ def \"m\"|-  v|+  w", "def “m”(x):⏎  w⏎"),
        // A whole line is better than a beginning.
        ("a b⏎  v⏎a⏎  v⏎", "@@ a|-  v|+  w", "a b⏎  v⏎a⏎  w⏎"),
        ("a⏎", "@@ b|-a|+c", "refused: 3 anchor-not-found"),
        ("a⏎  x⏎", "@@ b|+c", "refused: 3 anchor-not-found"),
    ]);
}

#[test]
fn a_chunk_begins_in_its_anchor_s_block() {
    check(&[
        ("a:⏎  x⏎b:⏎  v⏎", "@@ a:|-  v|+  w", "refused: 3 outside-block at 4"),
        ("v⏎a:⏎  x⏎", "@@ a:|-v|+w", "refused: 3 outside-block at 1"),
        // Its context may go on below the block.
        ("a:⏎  v⏎b:⏎  v⏎", "@@ a:|-  v|+  w| b:", "a:⏎  w⏎b:⏎  v⏎"),
        ("f(⏎  a⏎):⏎  v⏎g:⏎  v⏎", "@@ f(|-  v|+  w", "f(⏎  a⏎):⏎  w⏎g:⏎  v⏎"),
        // In flat text it must fit once below the anchor.
        ("v⏎# a⏎x⏎v⏎", "@@ # a|-v|+w", "v⏎# a⏎x⏎w⏎"),
        ("# a⏎x⏎v⏎v⏎", "@@ # a|-v|+w", "refused: 3 ambiguous at 3,4"),
        // Several lines fit the anchor: all their blocks count.
        ("a:⏎  v⏎a:⏎  v⏎", "@@ a:|-  v|+  w", "refused: 3 ambiguous at 2,4"),
        ("a:⏎  u⏎a:⏎  v⏎", "@@ a:|-  v|+  w", "a:⏎  u⏎a:⏎  w⏎"),
        // Each anchor is below the one before, and nothing hides it there.
        (
            "class A:⏎  x⏎class B:⏎  def m():⏎    v⏎",
            "@@ class A:|@@ def m():|-    v|+    w",
            "refused: 4 outside-block at 4",
        ),
        ("class A:⏎  x⏎def m():⏎  v⏎", "@@ class A:|@@ def m():|-  v|+  w", "class A:⏎  x⏎def m():⏎  w⏎"),
        ("b:⏎  v⏎a:⏎  x⏎", "@@ a:|@@ b:|-  v|+  w", "refused: 4 anchor-not-found"),
        ("a:⏎  a:⏎    v⏎", "@@ a:|@@ a:|-    v|+    w", "a:⏎  a:⏎    w⏎"),
    ]);
}

#[test]
fn a_chunk_that_only_adds_says_where() {
    check(&[
        ("a⏎b⏎", "@@|+x", "refused: 3 no-place"),
        ("a⏎b⏎", "@@ -1,0 +2,1 @@|+x", "refused: 3 no-place"),
        ("a⏎b⏎", "@@ a|+x", "a⏎x⏎b⏎"),
        ("a⏎b⏎", "@@|+x|*** End of File", "a⏎b⏎x⏎"),
        ("a⏎b⏎", "@@ a|+x|*** End of File", "a⏎b⏎x⏎"),
        ("a⏎b", "@@|+x|*** End of File", "a⏎b⏎x"),
        ("", "@@|+x|*** End of File", "x⏎"),
        ("a⏎b⏎a⏎", "@@ a|+x", "refused: 3 anchor-ambiguous at 1,3"),
    ]);
}

#[test]
fn chunks_keep_their_order_and_their_distance() {
    check(&[
        // Order decides between lookalikes.
        ("a⏎x⏎b⏎x⏎", "@@|-b|+B|@@|-x|+X", "a⏎x⏎B⏎X⏎"),
        ("x⏎a⏎x⏎", "@@|-x|+1|@@|-x|+2", "1⏎a⏎2⏎"),
        ("x⏎x⏎x⏎", "@@|-x|+1|@@|-x|+2", "refused: 3 ambiguous at 1,2; 6 ambiguous at 2,3"),
        ("a⏎b⏎", "@@|-b|+B|@@|-a|+A", "refused: 6 out-of-order at 1"),
        ("a⏎b⏎c⏎", "@@|-a|-b|+B|@@|-b|-c|+C", "refused: 7 overlap at 2"),
        // Two insertions at one point.
        ("a⏎b⏎", "@@| a|+x|@@|+y| b", "refused: 6 overlap at 2"),
        ("a⏎b⏎", "@@| a|+x|@@|-b|+y", "a⏎x⏎y⏎"),
        ("a⏎b⏎", "@@|-a|+x|@@|+y| b", "x⏎y⏎b⏎"),
        ("a⏎b⏎", "@@|-a|+x|@@| a|+y", "x⏎y⏎b⏎"),
        // Context between two edits belongs to the chunk's span.
        ("a⏎b⏎c⏎", "@@|-a| b|-c|@@|-b|+B", "refused: 7 overlap at 2"),
        // All chunks fit the file as it was before the operation.
        ("a⏎b⏎", "@@|-a|+b|@@|-b|+c", "b⏎c⏎"),
        // A chunk of context only is in order too.
        ("a⏎x⏎b⏎x⏎", "@@| b|@@|-x|+X", "a⏎x⏎b⏎X⏎"),
    ]);
}

#[test]
fn a_line_number_decides_only_where_a_candidate_stands_exactly_there() {
    check(&[
        ("a⏎x⏎a⏎", "@@ -3 +3 @@|-a|+b", "a⏎x⏎b⏎"),
        ("a⏎x⏎a⏎", "@@ -2 +2 @@|-a|+b", "refused: 3 ambiguous at 1,3"),
        ("a⏎x⏎", "@@ -7 +7 @@|-a|+b", "b⏎x⏎"),
        ("# t⏎x⏎v⏎v⏎", "@@ -4 +4 @@ # t|-v|+w", "# t⏎x⏎v⏎w⏎"),
        ("a⏎a⏎a⏎", "@@ -2 +2 @@|-a|+1|@@ -2 +2 @@|-a|+2", "refused: 3 ambiguous at 1,2; 6 ambiguous at 2,3"),
        ("⏎a⏎x⏎⏎a⏎", "@@ -4 +4 @@|(blank)|-a|+b", "⏎a⏎x⏎⏎b⏎"),
    ]);
    let plan = run(&[("f", "a⏎x⏎a⏎")], "*** Update File: f|@@ -3 +3 @@|-a|+b", &Options::default()).unwrap();
    let kinds: Vec<NoteKind> = plan.notes.iter().map(|note| note.kind).collect();
    assert_eq!(kinds, [NoteKind::LineNumbers, NoteKind::LineNumberUsed]);
}

#[test]
fn new_lines_take_the_ends_of_those_they_replace() {
    check(&[
        ("a␍⏎b⏎c␍⏎", "@@|-a|-b|-c|+A|+B|+C", "A␍⏎B⏎C␍⏎"),
        // Else that of the line above, else that of most lines.
        ("a⏎b␍⏎c␍⏎", "@@|-a|+A|+B", "A⏎B⏎b␍⏎c␍⏎"),
        ("a⏎b␍⏎c␍⏎", "@@|+x| a", "x␍⏎a⏎b␍⏎c␍⏎"),
        ("a⏎b␍⏎", "@@|+x| a", "x⏎a⏎b␍⏎"),
        ("a␍⏎b", "@@| b|+c", "a␍⏎b␍⏎c"),
        ("a", "@@| a|+c", "a⏎c"),
        ("a␍b␍", "@@|-a|+A|+C", "A␍C␍b␍"),
        // No end is never inherited by an inner line.
        ("a␍⏎b", "@@|-b|+B1|+B2|+B3", "a␍⏎B1␍⏎B2␍⏎B3"),
        ("a⏎b", "@@|-a|-b|+c", "c"),
        // What is deleted leaves the line above as it is.
        ("a⏎b", "@@| a|-b", "a⏎"),
        ("a⏎b", "@@|-a", "b"),
        ("a", "@@|-a", ""),
        ("BOMa⏎", "@@|-a", "BOM"),
        ("BOMa⏎b⏎", "@@|+x| a", "BOMx⏎a⏎b⏎"),
        ("a⏎b⏎⏎⏎", "@@|-b|+B", "a⏎B⏎⏎⏎"),
        ("a⏎b", "@@|-b|+B|@@| b|+c", "a⏎B⏎c"),
    ]);
}

#[test]
fn the_mark_for_a_missing_newline_adds_removes_and_asserts() {
    let mark = "\\ No newline at end of file";
    for (file, body, expected) in [
        ("a⏎b⏎", format!("@@|-b|+B|{mark}"), "a⏎B"),
        ("a⏎b", format!("@@|-b|{mark}|+B"), "a⏎B⏎"),
        ("a⏎b", format!("@@|-b|{mark}|+B|{mark}"), "a⏎B"),
        ("a⏎b", format!("@@|-b|{mark}"), "a⏎"),
        ("a⏎b", format!("@@|-a|+A| b|{mark}"), "A⏎b"),
        ("a⏎b⏎", format!("@@|-a|+A| b|{mark}"), "refused: 3 final-newline at 2"),
        ("b⏎a⏎b", format!("@@|-b|{mark}|+B"), "b⏎a⏎B⏎"),
        ("a⏎b⏎", format!("@@|-a|+A|{mark}"), "refused: 5 final-newline"),
        ("b⏎a⏎", format!("@@|-b|{mark}|+B"), "refused: 3 not-at-end at 1"),
        ("a⏎", format!("@@|+x|{mark}|*** End of File"), "a⏎x"),
    ] {
        assert_eq!(update(file, &body), expected, "{file:?} {body:?}");
    }
}

#[test]
fn what_was_applied_already_is_no_failure() {
    let applied = "a⏎the new line⏎z⏎";
    check(&[
        (applied, "@@|-the old line|+the new line", "unchanged"),
        (applied, "@@| a|-the old line|+the new line| z", "unchanged"),
        // Other chunks still apply.
        (applied, "@@|-the old line|+the new line|@@|-z|+Z", "a⏎the new line⏎Z⏎"),
        // Only if the old lines are nowhere, at any tier.
        (
            "  the old line⏎a⏎the new line⏎",
            "@@ a|-the old line|+the new line",
            "refused: 3 outside-block at 1",
        ),
        // Once, exactly, and with something said.
        ("the new line⏎the new line⏎", "@@|-the old line|+the new line", "refused: 3 not-found"),
        ("the new line ⏎", "@@|-the old line|+the new line", "refused: 3 not-found"),
        ("newline⏎", "@@|-oldline|+newline", "refused: 3 not-found"),
        ("context is long enough⏎⏎", "@@| context is long enough|-x|+", "refused: 3 not-found"),
        ("a:⏎  x⏎b:⏎  the new line⏎", "@@ a:|-  the old line|+  the new line", "refused: 3 not-found at 1"),
        ("the new line⏎x⏎", "@@|-the old line|+the new line|*** End of File", "refused: 3 not-found"),
        // What one chunk has made is not for another to change.
        (applied, "@@|-the old line|+the new line|@@|-the new line|+newer", "refused: 6 overlap at 2"),
    ]);
    let plan =
        run(&[("f", applied)], "*** Update File: f|@@|-the old line|+the new line", &Options::default())
            .unwrap();
    assert_eq!(plan.files[0].chunks[0].outcome, Outcome::AlreadyApplied);
    assert_eq!(plan.notes[0].kind, NoteKind::AlreadyApplied);
}

#[test]
fn an_addition_that_stands_there_already_is_refused() {
    check(&[
        ("a⏎x⏎b⏎", "@@| a|+x", "refused: 3 already-present at 2"),
        ("a⏎x⏎b⏎", "@@|+x| b", "refused: 3 already-present at 2"),
        ("a⏎x⏎b⏎", "@@ a|+x", "refused: 3 already-present at 2"),
        ("a⏎x⏎", "@@|+x|*** End of File", "refused: 3 already-present at 2"),
        // The remedy.
        ("a⏎x⏎b⏎", "@@| a|+x| x", "a⏎x⏎x⏎b⏎"),
        ("a⏎x⏎b⏎", "@@| a|+x|+y", "a⏎x⏎y⏎x⏎b⏎"),
        ("a⏎b⏎", "@@ a|+a", "a⏎a⏎b⏎"),
        // The same once more, with its context: nothing to do.
        ("a⏎a new line⏎b⏎", "@@| a|+a new line| b", "unchanged"),
    ]);
}

/// Each of many equal anchors on closing brackets looks no further than it has to: this ends at once, or never.
#[test]
fn anchors_on_many_closing_brackets_take_one_pass() {
    let file = "}\n".repeat(400_000);
    let patch = "*** Begin Patch\n*** Update File: f\n@@ }\n-x\n+y\n*** End Patch\n";
    let files = std::collections::BTreeMap::from([("f".to_owned(), file.into_bytes())]);
    let plan = guard_patch::plan(&guard_patch::parse(patch).unwrap(), &files, &Options::default());
    assert_eq!(plan.unwrap_err().0[0].code, guard_patch::Code::NotFound);
}
