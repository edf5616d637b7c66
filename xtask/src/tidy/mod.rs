//! `cargo xtask tidy`: the layer invariants and the repository's rules, each as a sentence that is checked.

mod graph;
mod laws;
mod source;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;

use crate::cargo::{BAD, GOOD, Outcome, root};
use graph::Package;
use source::SourceFile;

/// What the laws are about: the packages as cargo resolved them, and the Rust files of the workspace.
pub(crate) struct Tree {
    packages: Vec<Package>,
    files: Vec<SourceFile>,
}

/// A place where a sentence does not hold.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// A manifest, or a file with line.
    place: String,
    /// What stands there.
    what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// A sentence that does not hold.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    sentence: &'static str,
    findings: Vec<Finding>,
}

/// Checks the tree that this tool was built in.
pub(crate) fn run() -> Outcome {
    let broken = check(&read(&root())?);
    for law in &broken {
        anstream::println!("{}broken:{} {}", BAD.render(), BAD.render_reset(), law.sentence);
        for finding in &law.findings {
            anstream::println!("    {finding}");
        }
    }
    if broken.is_empty() {
        let held = laws::LAWS.len();
        anstream::println!("{}tidy:{} {held} sentences hold.", GOOD.render(), GOOD.render_reset());
        return Ok(());
    }
    Err(format!("{} of {} sentences do not hold", broken.len(), laws::LAWS.len()).into())
}

/// Reads what the laws are about from a workspace on disk.
fn read(root: &Path) -> Outcome<Tree> {
    let packages = graph::read(root)?;
    let mut files = Vec::new();
    for package in packages.iter().filter(|package| package.member) {
        files.extend(source::read(root, &package.name)?);
    }
    Ok(Tree { packages, files })
}

/// Returns the sentences that do not hold, in the order of the table.
fn check(tree: &Tree) -> Vec<Broken> {
    let judged = laws::LAWS.iter().map(|law| Broken { sentence: law.sentence, findings: (law.check)(tree) });
    judged.filter(|law| !law.findings.is_empty()).collect()
}
