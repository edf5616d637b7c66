//! `cargo xtask conformance DIR`: the patch engine over a folder of scenarios.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use guard_patch::{After, Entry, Options, Plan, Rejected, Snapshot, parse, plan};

use crate::cargo::{BAD, GOOD, NOTE, Outcome};

/// Which scenarios to run, and how.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A folder of scenarios: `NAME/{patch.txt,input/,expected/}`.
    dir: PathBuf,
    /// Run them under the default options; otherwise as the reference engine, with what the default does beside it.
    #[arg(long)]
    strict: bool,
}

/// A tree of files: a path with its bytes, or a directory with none.
type Tree = BTreeMap<String, Option<Vec<u8>>>;

/// The files of a scenario.
struct Files(Tree);

impl Snapshot for Files {
    fn entry(&self, path: &str) -> Entry<'_> {
        match self.0.get(path) {
            None => Entry::Absent,
            Some(None) => Entry::Other("a directory"),
            Some(Some(bytes)) => Entry::File(bytes),
        }
    }
}

/// Runs every scenario and fails if one does not end as expected.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut names: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(&args.dir).map_err(|error| format!("{}: {error}", args.dir.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && entry.path().join("patch.txt").try_exists()? {
            names.push(entry.path());
        }
    }
    names.sort();
    if names.is_empty() {
        return Err(format!("{} has no scenario in it", args.dir.display()).into());
    }
    let options = if args.strict { Options::default() } else { Options::danger_codex() };
    let mut failed = 0;
    for scenario in &names {
        let text = fs::read_to_string(scenario.join("patch.txt"))?;
        let (input, expected) = (tree(&scenario.join("input"))?, tree(&scenario.join("expected"))?);
        let (got, said) = apply(&text, &input, &options);
        let right = got == expected;
        failed += usize::from(!right);
        let style = if right { GOOD } else { BAD };
        let name = scenario.file_name().unwrap_or_default().to_string_lossy();
        let verdict = if right { "ok  " } else { "FAIL" };
        anstream::println!("{}{verdict}{} {name}{said}", style.render(), style.render_reset());
        if !args.strict {
            let (strict, said) = apply(&text, &input, &Options::default());
            let same = if strict == got { "the same" } else { "not the same" };
            if strict != got || !said.is_empty() {
                anstream::println!("     {}by default {same}{}{said}", NOTE.render(), NOTE.render_reset());
            }
        }
    }
    anstream::println!("{} of {} scenarios end as expected.", names.len() - failed, names.len());
    if failed == 0 { Ok(()) } else { Err(format!("{failed} scenarios do not end as expected").into()) }
}

/// Applies a patch to a tree; says why it was refused, or why it stopped.
fn apply(text: &str, input: &Tree, options: &Options) -> (Tree, String) {
    let files = Files(input.clone());
    match parse(text).and_then(|patch| plan(&patch, &files, options)) {
        Ok(plan) => {
            let said = plan.stopped.as_ref().map(|stopped| format!(", stopped: {}", codes(stopped)));
            (commit(&plan, input), said.unwrap_or_default())
        }
        Err(rejected) => (input.clone(), format!(", refused: {}", codes(&rejected))),
    }
}

fn codes(rejected: &Rejected) -> String {
    let codes =
        rejected.0.iter().map(|problem| format!("{} at patch line {}", problem.code.as_str(), problem.line));
    codes.collect::<Vec<_>>().join(", ")
}

/// Does to a tree what a plan says.
fn commit(plan: &Plan, input: &Tree) -> Tree {
    let mut tree = input.clone();
    for file in &plan.files {
        match &file.after {
            After::Absent => {
                tree.remove(&file.path);
            }
            After::Bytes(bytes) => put(&mut tree, &file.path, bytes.clone()),
            After::Same => {
                if let Some(Some(bytes)) = file.moved_from.as_ref().and_then(|from| input.get(from)) {
                    put(&mut tree, &file.path, bytes.clone());
                }
            }
        }
    }
    tree
}

fn put(tree: &mut Tree, path: &str, bytes: Vec<u8>) {
    for (slash, _) in path.match_indices('/') {
        tree.entry(path[..slash].to_owned()).or_insert(None);
    }
    tree.insert(path.to_owned(), Some(bytes));
}

/// Reads a tree; one that is not there is empty, since a repository keeps no empty directory.
fn tree(root: &Path) -> Outcome<Tree> {
    let mut tree = Tree::new();
    if root.try_exists()? {
        read(root, "", &mut tree)?;
    }
    Ok(tree)
}

fn read(directory: &Path, prefix: &str, tree: &mut Tree) -> Outcome {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            read(&entry.path(), &format!("{path}/"), tree)?;
            tree.insert(path, None);
        } else {
            tree.insert(path, Some(fs::read(entry.path())?));
        }
    }
    Ok(())
}
