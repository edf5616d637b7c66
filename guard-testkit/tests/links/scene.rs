//! Random trees of links below a few directories, random requests, and the same on disk.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use guard_core::port::Last;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

/// The directories that are always there: two roots, one in a root, one that is named like a root, and one outside.
pub(crate) const DIRECTORIES: [&str; 5] = ["ws", "ws/inner", "other", "ws-evil", "out"];

/// The roots as they are opened, each with the directory that it is; `alias` is a link.
pub(crate) const ROOTS: [(&str, &str); 4] =
    [("ws", "ws"), ("alias", "ws"), ("other", "other"), ("ws/inner", "ws/inner")];

const NAMES: &[&str] =
    &["a", "b", "c", "d", "ws", "inner", "x y", "-n", "*", "it's", "\\", "new\nline", "..."];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Directory,
    File,
    Link(String),
}

/// What is on disk, by absolute path.
pub(crate) type Tree = BTreeMap<String, Node>;

/// One path below a root.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// The root's index in [`ROOTS`].
    pub(crate) root: usize,
    pub(crate) path: String,
    pub(crate) last: Last,
    /// The roots that are reached; `None` for all.
    pub(crate) roots: Option<Vec<usize>>,
    /// The directories that it is held to, if it is.
    pub(crate) within: Option<Vec<String>>,
}

/// A tree and what is asked of it.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) base: String,
    pub(crate) tree: Tree,
    pub(crate) requests: Vec<Request>,
}

impl Scene {
    pub(crate) fn at(&self, name: &str) -> String {
        format!("{}/{name}", self.base)
    }

    /// Returns the path of the directory that a root is.
    pub(crate) fn root(&self, root: usize) -> String {
        self.at(ROOTS[root].1)
    }
}

/// A name in one of the directories so far.
#[derive(Debug, Clone)]
struct Seed {
    at: Index,
    name: &'static str,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Directory,
    File,
    Link { to: To, more: String },
}

/// How a link's text begins.
#[derive(Debug, Clone)]
enum To {
    Text(String),
    /// Below the base; the base itself if it is empty.
    Absolute(&'static str),
    Directory(Index),
}

fn seeds() -> impl Strategy<Value = Vec<Seed>> {
    let to = prop_oneof![
        6 => select(NAMES).prop_map(|name| To::Text(name.to_owned())),
        4 => select(vec!["..", "../..", "../ws", "../other", "../alias", "../ws-evil", "../out"])
            .prop_map(|text| To::Text(text.to_owned())),
        5 => select(vec!["ws", "alias", "ws/inner", "other", "ws-evil", "out", ""]).prop_map(To::Absolute),
        2 => any::<Index>().prop_map(To::Directory),
    ];
    let part = prop_oneof![4 => select(NAMES), 2 => Just(".."), 1 => Just("."), 1 => Just("../..")];
    let slash = prop_oneof![7 => Just("/"), 1 => Just("//")];
    let more = vec((slash, part), 0..4)
        .prop_map(|parts| parts.into_iter().flat_map(|(slash, part)| [slash, part]).collect());
    let kind = prop_oneof![
        3 => Just(Kind::Directory),
        1 => Just(Kind::File),
        7 => (to, more).prop_map(|(to, more)| Kind::Link { to, more }),
    ];
    let seed = (any::<Index>(), select(NAMES), kind).prop_map(|(at, name, kind)| Seed { at, name, kind });
    vec(seed, 0..80)
}

fn plant(base: &str, seeds: Vec<Seed>) -> Tree {
    let at = |name: &str| format!("{base}/{name}");
    let mut directories: Vec<String> = DIRECTORIES.map(at).into();
    let mut tree: Tree = [(at("ws/inner"), Node::Directory)].into();
    for seed in seeds {
        let path = format!("{}/{}", seed.at.get(&directories), seed.name);
        if tree.contains_key(&path) || path.matches('/').count() > base.matches('/').count() + 5 {
            continue;
        }
        let node = match seed.kind {
            Kind::Directory => {
                directories.push(path.clone());
                Node::Directory
            }
            Kind::File => Node::File,
            Kind::Link { to, more } => {
                let to = match to {
                    To::Text(text) => text,
                    To::Absolute("") => base.to_owned(),
                    To::Absolute(name) => at(name),
                    To::Directory(index) => index.get(&directories).clone(),
                };
                Node::Link(to + &more)
            }
        };
        tree.insert(path, node);
    }
    tree
}

/// A path below a root: often one that is there, with dots and more behind it.
#[derive(Debug, Clone)]
struct Wish {
    root: usize,
    there: Option<Index>,
    more: Vec<&'static str>,
    roots: Option<Vec<usize>>,
    within: Option<Vec<Index>>,
}

fn wishes() -> impl Strategy<Value = Vec<Wish>> {
    let root = prop_oneof![6 => Just(0), 1 => Just(1), 2 => Just(2), 2 => Just(3)];
    let more = vec(prop_oneof![2 => select(NAMES), 1 => Just("..")], 0..4);
    let all: Vec<usize> = (0..ROOTS.len()).collect();
    let roots = proptest::option::weighted(0.15, subsequence(all, 0..=ROOTS.len()));
    let within = proptest::option::weighted(0.15, vec(any::<Index>(), 1..3));
    let there = proptest::option::weighted(0.8, any::<Index>());
    let wish = (root, there, more, roots, within).prop_map(|(root, there, more, roots, within)| Wish {
        root,
        there,
        more,
        roots,
        within,
    });
    vec(wish, 1..100)
}

/// Asks for each path itself, and for what it leads to.
fn requests(base: &str, tree: &Tree, wishes: Vec<Wish>) -> Vec<Request> {
    let mut directories: Vec<String> = DIRECTORIES.map(|name| format!("{base}/{name}")).into();
    directories
        .extend(tree.iter().filter(|(_, node)| **node == Node::Directory).map(|(path, _)| path.clone()));
    let asked = wishes.into_iter().flat_map(|wish| {
        let root = format!("{base}/{}/", ROOTS[wish.root].1);
        let inside: Vec<&str> = tree.keys().filter_map(|path| path.strip_prefix(&root)).collect();
        let there = wish.there.filter(|_| !inside.is_empty()).map(|index| *index.get(&inside));
        let path = there.into_iter().chain(wish.more).collect::<Vec<_>>().join("/");
        let within = wish.within.map(|all| all.iter().map(|index| index.get(&directories).clone()).collect());
        [Last::Follow, Last::Itself].map(|last| Request {
            root: wish.root,
            path: path.clone(),
            last,
            roots: wish.roots.clone(),
            within: within.clone(),
        })
    });
    asked.collect()
}

/// Scenes below a base.
pub(crate) fn scenes(base: &str) -> impl Strategy<Value = Scene> + use<> {
    let base = base.to_owned();
    (seeds(), wishes()).prop_map(move |(seeds, wishes)| {
        let tree = plant(&base, seeds);
        let requests = requests(&base, &tree, wishes);
        Scene { base: base.clone(), tree, requests }
    })
}

/// Shows a tree, a line for each node.
pub(crate) fn shown(tree: &Tree) -> String {
    tree.iter().fold(String::new(), |mut shown, (path, node)| {
        let _ = writeln!(shown, "  {path:?} {node:?}");
        shown
    })
}

/// The directories on disk.
pub(crate) struct Base {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

impl Base {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let path = dir.path().canonicalize().unwrap();
        for name in DIRECTORIES {
            std::fs::create_dir(path.join(name)).unwrap();
        }
        symlink("ws", path.join("alias")).unwrap();
        Self { _dir: dir, path }
    }

    pub(crate) fn text(&self) -> &str {
        self.path.to_str().unwrap()
    }

    /// Puts a tree there in place of the one before; the directories that are always there stay the same.
    pub(crate) fn put(&self, tree: &Tree) {
        for name in DIRECTORIES {
            for entry in std::fs::read_dir(self.path.join(name)).unwrap() {
                let path = entry.unwrap().path();
                if DIRECTORIES.iter().any(|name| path == self.path.join(name)) {
                    continue;
                }
                if path.symlink_metadata().unwrap().is_dir() {
                    std::fs::remove_dir_all(path).unwrap();
                } else {
                    std::fs::remove_file(path).unwrap();
                }
            }
        }
        // Parents come before what is in them.
        for (path, node) in tree.iter().filter(|(path, _)| **path != format!("{}/ws/inner", self.text())) {
            match node {
                Node::Directory => std::fs::create_dir(path).unwrap(),
                Node::File => std::fs::write(path, path).unwrap(),
                Node::Link(text) => symlink(text, path).unwrap(),
            }
        }
    }
}
