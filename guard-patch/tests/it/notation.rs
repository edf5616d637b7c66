//! How the tables write files and patches.

use std::collections::BTreeMap;

use guard_patch::{After, Options, Plan, Rejected, parse, plan};

/// A file: `⏎` is LF, `␍` CR, `⇥` a tab, `\xHH` a byte, `BOM` the byte order mark.
pub(crate) fn file(text: &str) -> Vec<u8> {
    let text = text.replace('⏎', "\n").replace('␍', "\r").replace('⇥', "\t").replace("BOM", "\u{feff}");
    let mut parts = text.split("\\x");
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    bytes
}

/// Writes a file as [`file`] reads it.
pub(crate) fn show(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out.replace('\n', "⏎").replace('\r', "␍").replace('\t', "⇥").replace('\u{feff}', "BOM")
}

/// A patch: `|` separates its lines, `(blank)` is an empty one.
pub(crate) fn patch(operations: &str) -> String {
    let lines = operations.split('|').map(|line| if line == "(blank)" { "" } else { line });
    let body: Vec<String> = lines.map(|line| line.replace('⇥', "\t").replace('␍', "\r")).collect();
    format!("*** Begin Patch\n{}\n*** End Patch\n", body.join("\n"))
}

/// Applies operations to files.
pub(crate) fn run(files: &[(&str, &str)], operations: &str, options: &Options) -> Result<Plan, Rejected> {
    let files: BTreeMap<String, Vec<u8>> =
        files.iter().map(|(path, text)| ((*path).to_owned(), file(text))).collect();
    plan(&parse(&patch(operations))?, &files, options)
}

/// Writes the reasons of a refusal: the patch's line, the code, the lines of the file.
pub(crate) fn reasons(rejected: &Rejected) -> String {
    let reasons = rejected.0.iter().map(|problem| {
        let lines: Vec<String> = problem.candidates.iter().map(ToString::to_string).collect();
        let lines = if lines.is_empty() { String::new() } else { format!(" at {}", lines.join(",")) };
        format!("{} {}{lines}", problem.line, problem.code.as_str())
    });
    format!("refused: {}", reasons.collect::<Vec<_>>().join("; "))
}

/// Applies the body of an Update to a file and writes the result, or the reasons; the body's first line is 3.
pub(crate) fn update_with(text: &str, body: &str, options: &Options) -> String {
    match run(&[("f", text)], &format!("*** Update File: f|{body}"), options) {
        Ok(plan) => match &plan.files[0].after {
            After::Bytes(bytes) => show(bytes),
            After::Same => "unchanged".to_owned(),
            After::Absent => "absent".to_owned(),
        },
        Err(rejected) => reasons(&rejected),
    }
}

pub(crate) fn update(text: &str, body: &str) -> String {
    update_with(text, body, &Options::default())
}

/// Checks a table of files, bodies of Updates and results.
pub(crate) fn check(table: &[(&str, &str, &str)]) {
    for (text, body, expected) in table {
        assert_eq!(update(text, body), *expected, "file {text:?}, patch {body:?}");
    }
}

/// Writes what becomes of each path.
pub(crate) fn net(plan: &Plan) -> String {
    let files = plan.files.iter().map(|file| {
        let after = match &file.after {
            After::Absent => "absent".to_owned(),
            After::Same => "same".to_owned(),
            After::Bytes(bytes) => format!("{:?}", show(bytes)),
        };
        let before = format!("{:?}", file.before).to_lowercase();
        let from = file.moved_from.as_ref().map(|from| format!(" from {from}")).unwrap_or_default();
        let to = file.moved_to.as_ref().map(|to| format!(" to {to}")).unwrap_or_default();
        format!("{}: {before} -> {after}{from}{to}", file.path)
    });
    files.collect::<Vec<_>>().join("; ")
}

/// Checks a table of files, operations and net effects.
pub(crate) fn check_net(table: &[(&[(&str, &str)], &str, &str)]) {
    for (files, operations, expected) in table {
        let got = match run(files, operations, &Options::default()) {
            Ok(plan) => net(&plan),
            Err(rejected) => reasons(&rejected),
        };
        assert_eq!(got, *expected, "files {files:?}, patch {operations:?}");
    }
}
