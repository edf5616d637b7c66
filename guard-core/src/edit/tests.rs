//! The edit engine on bytes: what is replaced, what is refused, what stays.

use guard_policy::classify;
use proptest::prelude::*;

use super::{Count, Edited, Refused, apply};
use crate::Edit;

fn edit(old: &str, new: &str) -> Edit {
    Edit { old: old.to_owned(), new: new.to_owned(), replace_all: false }
}

fn all(old: &str, new: &str) -> Edit {
    Edit { replace_all: true, ..edit(old, new) }
}

fn run(base: &[u8], edits: &[Edit]) -> Result<Edited, Refused> {
    apply(base, classify(base), edits, |text| text.len() as u64).map(|pieces| pieces.finish(0))
}

#[test]
fn replaces_exactly_the_text_and_gives_new_lines_the_files_eol() {
    let cases: &[(&[u8], &[Edit], &[u8])] = &[
        (b"a\nb\nc\n", &[edit("b", "B")], b"a\nB\nc\n"),
        (b"a\nb", &[edit("b", "B1\nB2")], b"a\nB1\nB2"),
        (b"a\nb\n", &[edit("a\nb\n", "")], b""),
        // LF text matches a CRLF file, and its new lines are CRLF.
        (b"a\r\nb\r\nc\r\n", &[edit("a\nb\n", "A\nB\nX\n")], b"A\r\nB\r\nX\r\nc\r\n"),
        (b"a\r\nb\r\n", &[edit("b", "b\nc")], b"a\r\nb\r\nc\r\n"),
        (b"a\r\nb", &[edit("b", "b\nc")], b"a\r\nb\r\nc"),
        // A text that says CRLF is taken as it is.
        (b"a\r\nb\r\n", &[edit("a\r\nb", "x\r\ny")], b"x\r\ny\r\n"),
        // In a mixed file each new line takes the EOL of the line it replaces, further ones the last's.
        (b"a\r\nb\nc\r\n", &[edit("a\nb\nc\n", "A\nB\nC\nD\n")], b"A\r\nB\nC\r\nD\r\n"),
        (b"a\nb\r\nc\n", &[edit("b", "b\nx")], b"a\nb\r\nx\r\nc\n"),
        // A match that begins at a line end takes the whole CRLF.
        (b"a\r\nb\r\n", &[edit("\nb", "\nB")], b"a\r\nB\r\n"),
        (b"a\r\nb\r\n", &[edit("a\n", "")], b"b\r\n"),
        // A lone CR is data.
        (b"10%\r20%\nend\n", &[edit("end", "END")], b"10%\r20%\nEND\n"),
        // Legacy bytes around the edit stay.
        (b"caf\xE9\nb\n", &[edit("b", "B")], b"caf\xE9\nB\n"),
        (b"\xEF\xBB\xBFa\nb\n", &[edit("a", "A")], b"\xEF\xBB\xBFA\nb\n"),
        (b"x x x", &[all("x", "yy")], b"yy yy yy"),
        (b"x", &[all("x", "y")], b"y"),
        // Each edit is made in the result of those before it.
        (b"a b", &[edit("a", "b"), edit("b b", "c")], b"c"),
        (b"one\ntwo\n", &[edit("one", "two\nthree"), edit("three\n", "3\n")], b"two\n3\ntwo\n"),
    ];
    for (base, edits, expected) in cases {
        let edited =
            run(base, edits).unwrap_or_else(|refused| panic!("{}: {refused:?}", base.escape_ascii()));
        assert_eq!(
            edited.bytes.escape_ascii().to_string(),
            expected.escape_ascii().to_string(),
            "{}",
            base.escape_ascii()
        );
    }
}

#[test]
fn refuses_what_is_not_unique_or_not_there() {
    let ambiguous = |lines: &[u64], overlapping| {
        let count = Count::Exactly(lines.len());
        Refused::Ambiguous { edit: None, lines: lines.to_vec(), count, overlapping }
    };
    let cases: &[(&[u8], Edit, Refused)] = &[
        (b"a\nb\na\n", edit("a", "x"), ambiguous(&[1, 3], false)),
        // Occurrences are counted overlapping.
        (b"aaa", edit("aa", "x"), ambiguous(&[1, 1], false)),
        (b"aaa", all("aa", "x"), ambiguous(&[1, 1], true)),
        // A CRLF twin of an LF block does not hide.
        (b"a\nb\nx\na\r\nb\r\n", edit("a\nb", "y"), ambiguous(&[1, 4], false)),
        (b"new\n", edit("old", "new"), Refused::AlreadyApplied { edit: None, line: 1 }),
    ];
    for (base, edit, expected) in cases {
        assert_eq!(
            run(base, std::slice::from_ref(edit)).err().as_ref(),
            Some(expected),
            "{}",
            base.escape_ascii()
        );
    }
    // The second edit of two is named, and nothing of the first is kept: there is no result.
    let refused = run(b"a\nb\nb\n", &[edit("a", "A"), edit("b", "B")]).err();
    assert_eq!(
        refused,
        Some(Refused::Ambiguous {
            edit: Some(2),
            lines: vec![2, 3],
            count: Count::Exactly(2),
            overlapping: false
        })
    );
    // A new text that stands twice says nothing about what was applied.
    assert!(matches!(run(b"new\nnew\n", &[edit("old", "new")]), Err(Refused::NoMatch { .. })));
}

#[test]
fn a_refusal_shows_the_closest_lines_and_makes_the_difference_visible() {
    let cases: &[(&[u8], &str)] = &[
        (b"fn main() {\n\tcall();\n}\n", "    call();"),
        (b"let a = 1;  \n", "let a = 1;\nlet b = 2;"),
        ("say(\u{201C}hi\u{201D});\n".as_bytes(), "say(\"hi\");"),
        (b"a = 1\nb = 2\nc = 3\n", "a = 1\nb = 5\nc = 3"),
        (b"let total = price * count;\n", "let total = price + count;"),
        (b"nothing of the kind\n", "something_else_entirely(42)"),
        (b"a\rb\n", "a\nb"),
        (b"x\n", "\n\n\n"),
    ];
    let mut shown = String::new();
    for (base, old) in cases {
        let refused = run(base, &[edit(old, "#")]).err().expect("it does not occur");
        shown.push_str(&refused.refusal("src/x.rs").message);
        shown.push_str("\n\n");
    }
    insta::assert_snapshot!(shown);
}

/// Many places, and a text that occurs at every byte, take one pass.
#[test]
fn many_occurrences_are_replaced_or_refused_in_one_pass() {
    let base = "ab\n".repeat(200_000);
    let edited = run(base.as_bytes(), &[all("b", "c"), all("a", "xx")]).unwrap();
    assert_eq!((edited.bytes, edited.splices.len()), ("xxc\n".repeat(200_000).into_bytes(), 200_000));
    let base = "a".repeat(4 << 20);
    let refused = run(base.as_bytes(), &[edit(&"a".repeat(1_000), "b")]).err().unwrap();
    assert!(refused.refusal("f").message.contains("and more than 980 more"), "{refused:?}");
    assert!(matches!(run(base.as_bytes(), &[all(&"a".repeat(1_000), "b")]), Err(Refused::Ambiguous { .. })));
}

/// A message about a large file of lines that are all alike is made in bounded work.
#[test]
fn a_large_file_of_lines_that_are_alike_is_described_in_bounded_work() {
    let line = |n: usize| format!("{:0>200}{}\n", n * 7919, "abcdefghij".repeat(15));
    let base: String = (0..20_000).map(line).collect::<Vec<_>>().concat();
    let old = format!("{}{}", "x".repeat(100), "abcdefghij".repeat(20));
    assert!(matches!(run(base.as_bytes(), &[edit(&old, "#")]), Err(Refused::NoMatch { .. })));
}

proptest! {
    /// The bytes outside the splices are those of the base, in order, and the splices are where the result differs.
    #[test]
    fn untouched_bytes_are_identical(
        base in proptest::collection::vec(prop_oneof![Just(b'a'), Just(b'b'), Just(b'\n'), Just(b'\r'), any::<u8>()], 0..60),
        picks in proptest::collection::vec((0..60_usize, 1..8_usize, "[abc\n]{0,6}", any::<bool>()), 1..4),
    ) {
        let edits: Vec<Edit> = picks.iter().filter_map(|(at, len, new, replace_all)| {
            let piece = base.get(*at..(*at + *len).min(base.len()))?;
            let old = std::str::from_utf8(piece).ok()?.to_owned();
            (!old.is_empty() && old != *new).then(|| Edit { old, new: new.clone(), replace_all: *replace_all })
        }).collect();
        let Ok(edited) = run(&base, &edits) else { return Ok(()) };
        let mut rebuilt = Vec::new();
        let (mut from, mut at) = (0, 0);
        for splice in &edited.splices {
            let (start, end) = (splice.old.start as usize, splice.old.end as usize);
            prop_assert!(start >= from && end >= start && end <= base.len());
            rebuilt.extend_from_slice(&base[from..start]);
            at += start - from;
            let new_end = at + splice.new_len as usize;
            prop_assert!(new_end <= edited.bytes.len());
            rebuilt.extend_from_slice(&edited.bytes[at..new_end]);
            (from, at) = (end, new_end);
        }
        rebuilt.extend_from_slice(&base[from..]);
        prop_assert_eq!(rebuilt, edited.bytes);
    }

    /// A unique text is replaced as a plain splice would.
    #[test]
    fn a_unique_text_is_replaced_as_a_plain_splice_would(
        before in "[ab \n]{0,20}", old in "[xy]{1,5}", after in "[ab \n]{0,20}", new in "[ab]{0,5}",
    ) {
        let base = format!("{before}{old}{after}");
        let edited = run(base.as_bytes(), &[edit(&old, &new)]);
        prop_assert_eq!(edited.map(|edited| edited.bytes), Ok(format!("{before}{new}{after}").into_bytes()));
    }
}
