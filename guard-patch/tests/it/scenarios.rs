//! The folders in `tests/scenarios`: `NAME/{patch.txt,input/,expected/}`, and `refused.txt` with the reasons where the
//! patch is refused.
#![allow(clippy::disallowed_methods, reason = "reads the scenarios of this repository")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use guard_patch::{After, Options, parse, plan};

use crate::notation::reasons;

type Tree = BTreeMap<String, Vec<u8>>;

fn tree(root: &Path, prefix: &str, tree: &mut Tree) {
    // A repository keeps no empty directory.
    let Ok(entries) = fs::read_dir(root) else { return };
    for entry in entries {
        let entry = entry.unwrap();
        let path = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            self::tree(&entry.path(), &format!("{path}/"), tree);
        } else {
            tree.insert(path, fs::read(entry.path()).unwrap());
        }
    }
}

fn read(root: &Path) -> Tree {
    let mut files = Tree::new();
    tree(root, "", &mut files);
    files
}

/// Applies a patch to files; a refusal leaves them as they are.
fn apply(text: &str, files: &Tree) -> (Tree, Option<String>) {
    let planned = parse(text).and_then(|patch| plan(&patch, files, &Options::default()));
    let mut after = files.clone();
    match planned {
        Err(rejected) => (after, Some(reasons(&rejected))),
        Ok(plan) => {
            for file in plan.files {
                let from = file.moved_from.unwrap_or_else(|| file.path.clone());
                match file.after {
                    After::Absent => after.remove(&file.path),
                    After::Bytes(bytes) => after.insert(file.path, bytes),
                    After::Same => files.get(&from).and_then(|bytes| after.insert(file.path, bytes.clone())),
                };
            }
            (after, None)
        }
    }
}

#[test]
fn every_scenario_ends_as_expected() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut count = 0;
    for scenario in fs::read_dir(root).unwrap() {
        let scenario = scenario.unwrap().path();
        if !scenario.is_dir() {
            continue;
        }
        let text = fs::read_to_string(scenario.join("patch.txt")).unwrap();
        let (got, refused) = apply(&text, &read(&scenario.join("input")));
        assert_eq!(got, read(&scenario.join("expected")), "{}", scenario.display());
        let expected = fs::read_to_string(scenario.join("refused.txt")).ok();
        let expected = expected.map(|codes| format!("refused: {}", codes.trim_end().replace('\n', "; ")));
        assert_eq!(refused, expected, "{}", scenario.display());
        count += 1;
    }
    assert!(count >= 35, "only {count} scenarios were found");
}
