//! A workspace, a canary outside it, and what has to be in the workspace after what was said of the calls.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guard_core::Guard;
use guard_core::policy::{Access, Digest, TargetPath};
use guard_core::port::FileOps;
use guard_testkit::conformance::Ground;
use guard_testkit::tree::digest_of_tree;

use crate::swapper::Swap;

/// What the canary directory is called, and what is in its files and nowhere else.
pub(crate) const OUTSIDE: &str = "canary";
/// What the links to it say: for this machine, and for a target that has the folders elsewhere.
const LINK_TO_FILE: &str = "../../canary/f";

/// The paths of this machine, and the guard on the target.
pub(crate) struct Scene {
    pub(crate) here: PathBuf,
    pub(crate) guard: Guard,
    pub(crate) canary: Digest,
    /// What the base is called where the swapper is, if it is not here.
    pub(crate) for_the_swapper: Option<PathBuf>,
    pub(crate) _keep: Box<dyn Any + Send + Sync>,
}

impl Scene {
    /// Makes it of a ground whose paths are those of this machine.
    pub(crate) async fn new(ground: Ground) -> Self {
        let here = PathBuf::from(ground.root.as_str());
        Self::at(here, ground.ops, ground.root, ground.keep).await
    }

    pub(crate) async fn at(
        here: PathBuf,
        ops: Arc<dyn FileOps>,
        root: TargetPath,
        keep: Box<dyn Any + Send + Sync>,
    ) -> Self {
        lay_out(&here);
        let guard = Guard::builder(ops).root(root, Access::ReadWrite).open().await.unwrap();
        let canary = digest_of_tree(&here.parent().unwrap().join(OUTSIDE)).unwrap();
        Self { here, guard, canary, for_the_swapper: None, _keep: keep }
    }

    pub(crate) fn base(&self) -> &Path {
        self.here.parent().unwrap()
    }

    pub(crate) fn assert_canary(&self, what: &str) {
        let canary = digest_of_tree(&self.base().join(OUTSIDE)).unwrap();
        assert_eq!(canary, self.canary, "{what}: the canary was touched");
    }

    /// After a call on the file that is swapped: puts back what the call took away, so that there is a file and a link
    /// again. While one of them is not there, the swapper cannot swap.
    pub(crate) fn restore(&self, ledger: &mut Ledger, round: usize) {
        let names = ["d/f", "d/l"].map(|name| self.here.join(name));
        let there = names.each_ref().map(|path| path.symlink_metadata().ok());
        let (missing, other) = match there {
            [None, Some(other)] => (&names[0], other),
            [Some(other), None] => (&names[1], other),
            [Some(_), Some(_)] => return,
            [None, None] => panic!("both the file and the link are gone"),
        };
        if other.is_symlink() {
            let text = format!("theirs, made in {round}\n");
            std::fs::write(missing, &text).unwrap();
            ledger.f.push(text);
        } else {
            std::os::unix::fs::symlink(LINK_TO_FILE, missing).unwrap();
        }
    }
}

/// Makes everything there is, around a workspace.
pub(crate) fn lay_out(ws: &Path) {
    let base = ws.parent().unwrap();
    for directory in [ws.join("d"), base.join(OUTSIDE), base.join("away")] {
        std::fs::create_dir(directory).unwrap();
    }
    for name in ["f", "inner.txt"] {
        std::fs::write(base.join(OUTSIDE).join(name), format!("{OUTSIDE}, theirs\n")).unwrap();
    }
    std::fs::write(ws.join("d/f"), "theirs\n").unwrap();
    std::os::unix::fs::symlink(format!("../{OUTSIDE}"), ws.join("link")).unwrap();
    std::os::unix::fs::symlink(LINK_TO_FILE, ws.join("d/l")).unwrap();
}

/// What has to be there: what was there first, and what the calls that were done put, moved and removed.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// Files whose name no other file has, wherever their directory is.
    pub(crate) files: BTreeMap<String, String>,
    /// Links of such names.
    pub(crate) links: BTreeSet<String>,
    /// Directories of such names.
    pub(crate) directories: BTreeSet<String>,
    /// What was put in `d/f`, the newest last.
    pub(crate) f: Vec<String>,
    /// What can be in `d/f` besides, of calls that were refused and left something.
    pub(crate) maybe: Vec<String>,
    /// What receipts and refusals say that they left.
    pub(crate) left: Vec<String>,
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self {
            files: BTreeMap::new(),
            links: BTreeSet::new(),
            directories: BTreeSet::new(),
            f: vec!["theirs\n".to_owned()],
            maybe: Vec::new(),
            left: Vec::new(),
        }
    }

    /// Tells whether the file can have this content.
    pub(crate) fn can_be(&self, swap: Swap, content: &String) -> bool {
        match swap {
            Swap::Parent => self.f.last() == Some(content),
            // What is swapped is what calls exchange, so that older versions come back.
            Swap::File => {
                self.f.last() == Some(content)
                    || !self.maybe.is_empty() && (self.f.contains(content) || self.maybe.contains(content))
            }
            // A directory that was moved and made again has a file of its own of that name.
            Swap::Slowly | Swap::MovedOut => self.f.contains(content),
        }
    }

    /// Says in which ways a base is not as it has to be, when nobody works on it any more.
    pub(crate) fn differences(&self, base: &Path, swap: Swap) -> Vec<String> {
        let mut there = There::default();
        for entry in std::fs::read_dir(base).unwrap() {
            let path = entry.unwrap().path();
            match path.file_name().unwrap().to_str().unwrap() {
                "ws" | "away" => there.walk(&path),
                OUTSIDE | "ws-outside" => {}
                other => there.strange.push(format!("{other} is beside the workspace")),
            }
        }
        let mut wrong = std::mem::take(&mut there.strange);
        let has_one_f = matches!(swap, Swap::Parent | Swap::File);
        for content in &there.f {
            if !self.can_be(swap, content) {
                wrong.push(format!("f has {content:?}, not {:?}", self.f.last()));
            }
        }
        if has_one_f && there.f.len() != 1 || there.f.is_empty() {
            wrong.push(format!("there are {} files named f", there.f.len()));
        }
        for (name, content) in &self.files {
            // A move that could not be taken back has its file where it says.
            let is_elsewhere = |(other, has): &(String, String)| {
                has == content && self.left.iter().any(|left| left.contains(other.as_str()))
            };
            let is_there = there.files.contains(&(name.clone(), content.clone()));
            if !is_there && !there.files.iter().any(is_elsewhere) {
                wrong.push(format!("{name} with {content:?} is lost"));
            }
        }
        let is_said = |name: &str| self.left.iter().any(|left| left.contains(name));
        for (name, content) in &there.files {
            let is_done = self.files.get(name) == Some(content);
            if !is_done && !is_said(name) {
                wrong.push(format!("{name} with {content:?} is there, and nobody says so"));
            }
        }
        for name in self.links.symmetric_difference(&there.links) {
            if !is_said(name) {
                wrong.push(format!("the link {name}: {:?} was moved", self.links.get(name)));
            }
        }
        for name in self.directories.symmetric_difference(&there.directories) {
            if !is_said(name) {
                wrong.push(format!("the directory {name}: {:?} was made", self.directories.get(name)));
            }
        }
        wrong
    }
}

/// What is found.
#[derive(Default)]
struct There {
    files: Vec<(String, String)>,
    links: BTreeSet<String>,
    directories: BTreeSet<String>,
    f: Vec<String>,
    strange: Vec<String>,
}

impl There {
    fn walk(&mut self, at: &Path) {
        for entry in std::fs::read_dir(at).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let kind = entry.file_type().unwrap();
            if kind.is_symlink() {
                if !matches!(name.as_str(), "link" | "l" | "d" | "f") {
                    self.links.insert(name);
                }
            } else if kind.is_dir() {
                if name.starts_with("y-") || name.starts_with(".guard-") {
                    self.directories.insert(name);
                } else if !matches!(name.as_str(), "d" | "link" | "x") && !name.starts_with("d-") {
                    self.strange.push(format!("the directory {name} is there"));
                }
                self.walk(&entry.path());
            } else {
                let content = std::fs::read_to_string(entry.path()).unwrap();
                match name.as_str() {
                    "f" | "l" => self.f.push(content),
                    _ => self.files.push((name, content)),
                }
            }
        }
    }
}

/// The controls of the accounts: each kind of difference is found.
#[test]
fn control_what_is_lost_left_or_never_said_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let ws = dir.path().join("ws");
    std::fs::create_dir(&ws).unwrap();
    lay_out(&ws);
    let mut ledger = Ledger::new();
    let found = |ledger: &Ledger| ledger.differences(dir.path(), Swap::Parent);
    assert_eq!(found(&ledger), [""; 0]);
    std::fs::write(ws.join("d/.guard-abc"), "staged").unwrap();
    assert!(found(&ledger)[0].contains("nobody says so"), "{:?}", found(&ledger));
    ledger.left.push("/ws/d/.guard-abc: a staged content".to_owned());
    assert_eq!(found(&ledger), [""; 0]);
    std::fs::create_dir_all(ws.join("d/x/y-1")).unwrap();
    assert!(found(&ledger)[0].contains("the directory y-1"), "{:?}", found(&ledger));
    ledger.directories.insert("y-1".to_owned());
    ledger.files.insert("new-1".to_owned(), "new\n".to_owned());
    assert!(found(&ledger)[0].contains("is lost"), "{:?}", found(&ledger));
    std::fs::write(dir.path().join("away/new-1"), "new\n").unwrap();
    assert_eq!(found(&ledger), [""; 0]);
    std::fs::write(ws.join("d/f"), "of a call that was refused\n").unwrap();
    assert!(found(&ledger)[0].contains("f has"), "{:?}", found(&ledger));
    std::fs::write(ws.join("d/f"), "theirs\n").unwrap();
    std::fs::create_dir(dir.path().join("beside")).unwrap();
    assert!(found(&ledger)[0].contains("beside the workspace"), "{:?}", found(&ledger));
}
