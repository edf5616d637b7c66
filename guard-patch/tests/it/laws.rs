//! Laws that hold for every file and every patch.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use guard_patch::{After, Event, LineKind, Options, Parser, Patch, Plan, Rejected, parse, plan};
use proptest::prelude::*;

/// An edit: the lines that go, and the lines that come.
#[derive(Clone, Debug)]
struct Edit {
    at: usize,
    removed: usize,
    added: Vec<String>,
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec!["", "a", "b", "}", "  x", "\ty", "  }", "é", "end", "    deep"])
            .prop_map(ToOwned::to_owned),
        2 => "[ a-z+@*-]{0,6}",
        1 => "[\\PC]{0,4}",
    ]
}

fn lines() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(line(), 0..24)
}

/// Edits in order, at least one line apart.
fn edits(lines: usize) -> impl Strategy<Value = Vec<Edit>> {
    let raw = (0..=lines, 0usize..3, prop::collection::vec(line(), 0..3));
    prop::collection::vec(raw, 1..4).prop_map(move |raw| {
        let mut raw: Vec<_> = raw;
        raw.sort_by_key(|(at, _, _)| *at);
        let mut edits: Vec<Edit> = Vec::new();
        let mut free = 0;
        for (at, removed, added) in raw {
            let at = at.max(free);
            if at > lines {
                break;
            }
            let removed = removed.min(lines - at);
            if removed + added.len() == 0 {
                continue;
            }
            free = at + removed + 1;
            edits.push(Edit { at, removed, added });
        }
        edits
    })
}

fn file_and_edits() -> impl Strategy<Value = (Vec<String>, Vec<Edit>)> {
    lines().prop_flat_map(|lines| {
        let edits = edits(lines.len());
        (Just(lines), edits)
    })
}

/// Applies edits to lines, as a patch is to do it.
fn apply(lines: &[String], edits: &[Edit]) -> Vec<String> {
    let mut out = Vec::new();
    let mut at = 0;
    for edit in edits {
        out.extend_from_slice(&lines[at..edit.at]);
        out.extend_from_slice(&edit.added);
        at = edit.at + edit.removed;
    }
    out.extend_from_slice(&lines[at..]);
    out
}

/// Writes edits as a patch with some lines of context; where a chunk reaches the end of the file it says so.
fn emit(lines: &[String], edits: &[Edit], context: usize) -> String {
    let mut out = "*** Begin Patch\n*** Update File: f\n".to_owned();
    let mut floor = 0;
    for (number, edit) in edits.iter().enumerate() {
        let next = edits.get(number + 1).map_or(lines.len(), |next| next.at);
        let from = edit.at.saturating_sub(context).max(floor);
        let end = edit.at + edit.removed;
        let to = (end + context).min(next);
        out.push_str("@@\n");
        for (kind, texts) in [
            (' ', &lines[from..edit.at]),
            ('-', &lines[edit.at..end]),
            ('+', &edit.added[..]),
            (' ', &lines[end..to]),
        ] {
            for text in texts {
                let _ = writeln!(out, "{kind}{text}");
            }
        }
        if to == lines.len() && context > 0 {
            out.push_str("*** End of File\n");
        }
        floor = end;
    }
    out.push_str("*** End Patch\n");
    out
}

fn bytes(lines: &[String]) -> Vec<u8> {
    lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

fn planned(text: &str, file: &[u8]) -> Result<Plan, Rejected> {
    plan(&parse(text)?, &BTreeMap::from([("f".to_owned(), file.to_vec())]), &Options::default())
}

/// Returns the file after a patch.
fn patched(text: &str, file: &[u8]) -> Result<Vec<u8>, Rejected> {
    Ok(match planned(text, file)?.files.remove(0).after {
        After::Bytes(bytes) => bytes,
        After::Same => file.to_vec(),
        After::Absent => panic!("an Update removes no file"),
    })
}

/// Emits a patch with as little context as the engine takes; with all of it, at the latest.
fn minimal(lines: &[String], edits: &[Edit]) -> Option<(String, Vec<u8>)> {
    let file = bytes(lines);
    (0..=lines.len() + 1).find_map(|context| {
        let text = emit(lines, edits, context);
        patched(&text, &file).ok().map(|after| (text, after))
    })
}

/// Returns the edits that undo edits.
fn inverse(lines: &[String], edits: &[Edit]) -> Vec<Edit> {
    let (mut more, mut fewer) = (0, 0);
    let mut inverse = Vec::new();
    for edit in edits {
        inverse.push(Edit {
            at: edit.at + more - fewer,
            removed: edit.added.len(),
            added: lines[edit.at..edit.at + edit.removed].to_vec(),
        });
        more += edit.added.len();
        fewer += edit.removed;
    }
    inverse
}

/// A change of the file that is not the patch's.
#[derive(Clone, Copy, Debug)]
enum Mutation {
    Crlf,
    MixedEnds,
    NoFinalNewline,
    Bom,
    TrailingBlanks,
    Indent,
    Duplicate,
    BlankLines,
}

const MUTATIONS: [Mutation; 8] = [
    Mutation::Crlf,
    Mutation::MixedEnds,
    Mutation::NoFinalNewline,
    Mutation::Bom,
    Mutation::TrailingBlanks,
    Mutation::Indent,
    Mutation::Duplicate,
    Mutation::BlankLines,
];

/// Mutates the lines of a file: each line with its end, as bytes. Every line keeps its number in `origin`.
fn mutate(lines: &[String], mutation: Mutation, seed: usize) -> (Vec<u8>, Vec<(Option<usize>, Vec<u8>)>) {
    let mut out: Vec<(Option<usize>, Vec<u8>)> = Vec::new();
    let pick = |line: usize| (line * 7 + seed).is_multiple_of(3);
    for (number, line) in lines.iter().enumerate() {
        let end = match mutation {
            Mutation::Crlf => "\r\n",
            Mutation::MixedEnds if pick(number) => "\r\n",
            _ => "\n",
        };
        let text = match mutation {
            Mutation::TrailingBlanks if pick(number) => format!("{line} \t"),
            Mutation::Indent if !line.trim().is_empty() => format!("\t{line}"),
            _ => line.clone(),
        };
        out.push((Some(number), format!("{text}{end}").into_bytes()));
        match mutation {
            Mutation::Duplicate if pick(number) => out.push((None, format!("{text}{end}").into_bytes())),
            Mutation::BlankLines if pick(number) => out.push((None, b"\n".to_vec())),
            _ => {}
        }
    }
    if let (Mutation::NoFinalNewline, Some((_, last))) = (mutation, out.last_mut()) {
        last.pop();
    }
    let head = if let Mutation::Bom = mutation { b"\xef\xbb\xbf".to_vec() } else { Vec::new() };
    (head, out)
}

/// Takes blanks off both ends of each line, and the ends of lines: what the edits mean, whatever the file looks like.
fn loose(file: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file)).into_owned();
    let text = text.strip_suffix('\n').unwrap_or(&text);
    text.split('\n').map(|line| line.trim_matches([' ', '\t', '\r']).to_owned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn edits_written_as_a_patch_with_minimal_context_are_those_edits((lines, edits) in file_and_edits()) {
        if edits.is_empty() {
            return Ok(());
        }
        let Some((text, after)) = minimal(&lines, &edits) else {
            // With all context a patch can only be refused for what it adds.
            let text = emit(&lines, &edits, lines.len() + 1);
            let refused = patched(&text, &bytes(&lines)).unwrap_err();
            let codes: Vec<_> = refused.0.iter().map(|problem| problem.code.as_str()).collect();
            prop_assert!(
                codes.iter().all(|code| ["already-present", "no-place", "overlap", "ambiguous"].contains(code)),
                "{}\n{:?}", text, codes
            );
            return Ok(());
        };
        let expected = bytes(&apply(&lines, &edits));
        prop_assert_eq!(String::from_utf8_lossy(&after), String::from_utf8_lossy(&expected), "{}", text);
    }

    #[test]
    fn the_inverse_restores((lines, edits) in file_and_edits()) {
        let after = apply(&lines, &edits);
        let Some((_, there)) = minimal(&lines, &edits) else { return Ok(()) };
        let Some((text, back)) = minimal(&after, &inverse(&lines, &edits)) else { return Ok(()) };
        prop_assert_eq!(there, bytes(&after));
        prop_assert_eq!(back, bytes(&lines), "{}", text);
    }

    #[test]
    fn a_mutated_file_is_patched_alike_or_refused(
        (lines, edits) in file_and_edits(),
        mutation in prop::sample::select(MUTATIONS.to_vec()),
        seed in 0usize..3,
    ) {
        let Some((text, _)) = minimal(&lines, &edits) else { return Ok(()) };
        let (head, mutated) = mutate(&lines, mutation, seed);
        let file: Vec<u8> = head.iter().copied().chain(mutated.iter().flat_map(|(_, line)| line.clone())).collect();
        let Ok(plan) = planned(&text, &file) else { return Ok(()) };
        let after = match &plan.files[0].after {
            After::Bytes(bytes) => bytes.clone(),
            _ => file.clone(),
        };
        prop_assert!(after.starts_with(&head));
        prop_assert_eq!(follows(&file, &after, &text, &plan), Ok(()), "{}", text);
        // Where lines came or went the places may be others; else the outcome is the same, whatever lines look like.
        if !matches!(mutation, Mutation::Duplicate | Mutation::BlankLines | Mutation::NoFinalNewline) {
            prop_assert_eq!(loose(&after), loose(&bytes(&apply(&lines, &edits))), "{}", text);
        }
    }

    #[test]
    fn a_patch_reads_alike_in_any_pieces(text in patch_text(), cuts in prop::collection::vec(0usize..400, 0..12)) {
        let whole = read(&[&text]);
        let mut at: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        at.retain(|cut| text.is_char_boundary(*cut));
        at.extend([0, text.len()]);
        at.sort_unstable();
        let pieces: Vec<&str> = at.windows(2).map(|cut| &text[cut[0]..cut[1]]).collect();
        prop_assert_eq!(read(&pieces), whole.clone());
        let single: Vec<String> = text.chars().map(String::from).collect();
        let single: Vec<&str> = single.iter().map(String::as_str).collect();
        prop_assert_eq!(read(&single), whole.clone());
        prop_assert_eq!(parse(&text), whole.0);
    }

    #[test]
    fn no_text_makes_the_engine_panic(text in patch_text(), file in prop::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(patch) = parse(&text) {
            let files: BTreeMap<String, Vec<u8>> =
                patch.paths().into_iter().map(|path| (path.to_owned(), file.clone())).collect();
            for options in [Options::default(), Options::danger_codex()] {
                let _ = plan(&patch, &files, &options);
            }
        }
    }
}

/// A line of what a patch should make.
enum Expected<'a> {
    /// A line of the file with its end.
    Kept(&'a [u8]),
    /// A line of the patch.
    Added(&'a str),
}

/// Checks a plan against its patch without the engine: each chunk's old lines stand where the plan says, at its tier or
/// better; what it adds is added there; every other byte is kept.
fn follows(file: &[u8], after: &[u8], text: &str, plan: &Plan) -> Result<(), String> {
    let body = |bytes: &'_ [u8]| bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).to_vec();
    let (old, new) = (body(file), body(after));
    let old: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
    let new: Vec<&[u8]> = new.split_inclusive(|byte| *byte == b'\n').collect();
    let patch = parse(text).map_err(|rejected| rejected.to_string())?;
    let guard_patch::Action::Update { chunks, .. } = &patch.operations()[0].action else {
        return Err("no Update".to_owned());
    };
    let same = |line: &[u8], text: &str| trimmed(line) == text.trim_matches([' ', '\t', '\r']);
    let mut expected = Vec::new();
    let mut at = 0;
    for applied in &plan.files[0].chunks {
        let mut line = applied.file_line - 1;
        if applied.outcome != guard_patch::Outcome::Applied {
            continue;
        }
        for part in &chunks[applied.chunk - 1].lines {
            if part.kind == LineKind::Add {
                expected.extend(old[at..line].iter().map(|line| Expected::Kept(line)));
                at = line;
                expected.push(Expected::Added(&part.text));
                continue;
            }
            if !old.get(line).is_some_and(|found| same(found, &part.text)) {
                return Err(format!("line {} is not `{}`", line + 1, part.text));
            }
            if part.kind == LineKind::Remove {
                expected.extend(old[at..line].iter().map(|line| Expected::Kept(line)));
                at = line + 1;
            }
            line += 1;
        }
    }
    expected.extend(old[at..].iter().map(|line| Expected::Kept(line)));
    // An empty last line without an end is no line.
    if let (Some(Expected::Added("")), true) = (expected.last(), new.len() + 1 == expected.len()) {
        expected.pop();
    }
    if new.len() != expected.len() {
        return Err(format!("{} lines instead of {}", new.len(), expected.len()));
    }
    for (number, (got, expected)) in new.iter().zip(&expected).enumerate() {
        let right = match expected {
            // Only a line without an end may get one.
            Expected::Kept(kept) => {
                got == kept
                    || (!kept.ends_with(b"\n") && got.starts_with(kept) && trimmed(got) == trimmed(kept))
            }
            Expected::Added(text) => same(got, text),
        };
        if !right {
            return Err(format!("line {} is {:?}", number + 1, String::from_utf8_lossy(got)));
        }
    }
    Ok(())
}

fn trimmed(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim_matches([' ', '\t', '\r', '\n']).to_owned()
}

fn read(pieces: &[&str]) -> (Result<Patch, Rejected>, Vec<String>) {
    let mut events = Vec::new();
    let mut listener = |event: Event<'_>| events.push(format!("{event:?}"));
    let mut parser = Parser::new();
    for piece in pieces {
        parser.push(piece, &mut listener);
    }
    let patch = parser.finish(&mut listener);
    (patch, events)
}

/// Text that is often a patch.
fn patch_text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        3 => prop::sample::select(vec![
            "*** Begin Patch", "*** End Patch", " *** End Patch", "  *** Begin Patch", "*** End of File",
            "*** Update File: f", "*** Add File:g", "*** Delete File: h", "*** Move to: i",
            "*** Move File: j -> k", "*** Environment ID: e", "*** Odd", "@@", "@@ a", "@@ -1,2 +1,2 @@ a",
            "@@x", "```", "apply_patch <<EOF", "cd d && apply_patch <<'EOF'", "EOF", "prose",
            "\\ No newline at end of file", "\u{feff}*** Begin Patch",
        ]).prop_map(ToOwned::to_owned),
        4 => "[ +-][ab]{0,2}",
        1 => Just(String::new()),
        1 => "[\\PC]{0,6}",
    ];
    let end = prop_oneof![9 => Just("\n"), 1 => Just("\r\n")];
    (prop::collection::vec((line, end), 0..14), any::<bool>()).prop_map(|(lines, framed)| {
        let body: String = lines.into_iter().map(|(line, end)| format!("{line}{end}")).collect();
        if framed { format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n") } else { body }
    })
}

/// The laws would hold for an engine that refuses everything: this one does not.
#[test]
fn most_edits_can_be_written_as_a_patch_that_is_taken() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let (mut written, mut mutated) = (0, 0);
    for seed in 0..300 {
        let (lines, edits) = file_and_edits().new_tree(&mut runner).unwrap().current();
        let Some((text, _)) = minimal(&lines, &edits) else { continue };
        written += 1;
        let (head, file) = mutate(&lines, MUTATIONS[seed % MUTATIONS.len()], seed % 3);
        let file: Vec<u8> = head.into_iter().chain(file.into_iter().flat_map(|(_, line)| line)).collect();
        mutated += usize::from(patched(&text, &file).is_ok());
    }
    assert!(
        written > 200 && mutated > 100,
        "{written} of 300 were taken, {mutated} of them in a mutated file"
    );
}

#[test]
fn context_lines_and_kinds_are_those_of_the_text() {
    let patch = parse("*** Begin Patch\n*** Update File: f\n a\n-b\n+c\n*** End Patch\n").unwrap();
    let guard_patch::Action::Update { chunks, .. } = &patch.operations()[0].action else {
        panic!("no Update")
    };
    let kinds: Vec<LineKind> = chunks[0].lines.iter().map(|line| line.kind).collect();
    assert_eq!(kinds, [LineKind::Context, LineKind::Remove, LineKind::Add]);
}
