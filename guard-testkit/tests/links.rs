//! Random trees of links, random paths, and two oracles that know nothing of the resolvers: a model of the rule of
//! links, which has to give the same answer, and `realpath`, by which nothing that is allowed may be outside.
//!
//! The cases are those of `GUARD_LINK_CASES`, 20,000 otherwise; `cargo xtask soak` plays a million. A failure names the
//! seed of its tree, which `GUARD_LINK_SEED` plays again.
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "the test prepares what is there"
)]

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guard_backends::local::{Local, Resolver};
use guard_backends::shell::{Process, Shell};
use guard_core::policy::{FileState, TargetPath};
use guard_core::port::{Ask, Depth, FileOps, Found, Last, OpError, Root, RootSpec, TargetId};
use guard_testkit::skip;
use guard_testkit::transport::{Sh, Tools};

/// How many paths are asked about in one tree.
const PATHS: usize = 100;

fn cases() -> usize {
    match std::env::var("GUARD_LINK_CASES") {
        Ok(cases) => cases.parse().expect("GUARD_LINK_CASES is a number"),
        Err(_) => 20_000,
    }
}

/// The one tree that is to be played again, if there is one.
fn seed() -> Option<u64> {
    let seed = std::env::var("GUARD_LINK_SEED").ok()?;
    Some(seed.parse().expect("GUARD_LINK_SEED is a number"))
}

/// Numbers that look random and come again from their seed (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Directory,
    File,
    Link(String),
}

/// What is on disk, by absolute path.
type Tree = BTreeMap<String, Node>;

const NAMES: &[&str] = &["a", "b", "c", "d", "ws", "x y", "-n", "*", "it's", "\\", "new\nline", "..."];

/// Makes a tree below the four directories of a base: two roots, one that is named like a root, and one outside.
fn tree(random: &mut Random, base: &str) -> Tree {
    let mut tree = Tree::new();
    let mut directories: Vec<String> =
        ["ws", "other", "ws-evil", "out"].map(|name| format!("{base}/{name}")).into();
    for _ in 0..45 {
        let at = directories[random.below(directories.len())].clone();
        let path = format!("{at}/{}", random.of(NAMES));
        if tree.contains_key(&path) || at.matches('/').count() > base.matches('/').count() + 4 {
            continue;
        }
        let node = match random.below(10) {
            0..=2 => Node::Directory,
            3 => Node::File,
            _ => Node::Link(text(random, base, &directories)),
        };
        if node == Node::Directory {
            directories.push(path.clone());
        }
        tree.insert(path, node);
    }
    tree
}

/// Makes a link's text: relative or absolute, into a root by one of its spellings or past it, with dots anywhere.
fn text(random: &mut Random, base: &str, directories: &[String]) -> String {
    let mut text = match random.below(12) {
        0 => format!("{base}/ws"),
        1 => format!("{base}/alias"),
        2 => format!("{base}/other"),
        3 => format!("{base}/ws-evil"),
        4 => format!("{base}/out"),
        5 => base.to_owned(),
        6 => directories[random.below(directories.len())].clone(),
        7 => "..".to_owned(),
        8 => "../..".to_owned(),
        9 => format!("../{}", random.of(&["ws", "other", "alias", "ws-evil", "out"])),
        _ => (*random.of(NAMES)).to_owned(),
    };
    for _ in 0..random.below(4) {
        let more = match random.below(6) {
            0 => "..",
            1 => ".",
            2 => "../..",
            _ => random.of(NAMES),
        };
        let slash = if random.below(8) == 0 { "//" } else { "/" };
        let _ = write!(text, "{slash}{more}");
    }
    text
}

/// Makes a path below a root: often one that is there, with dots and more behind it.
fn path(random: &mut Random, tree: &Tree, root: &str) -> String {
    let inside: Vec<&String> = tree.keys().filter(|path| path.starts_with(&format!("{root}/"))).collect();
    let mut names: Vec<String> = Vec::new();
    if !inside.is_empty() && random.below(5) > 0 {
        let there = inside[random.below(inside.len())];
        names.extend(there[root.len() + 1..].split('/').map(str::to_owned));
    }
    for _ in 0..random.below(4) {
        names.push(if random.below(3) == 0 { "..".to_owned() } else { (*random.of(NAMES)).to_owned() });
    }
    names.join("/")
}

/// An answer, in the words of the rule.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    /// It leads here, and this is there.
    Leads(String, &'static str),
    Outside,
    Missing,
    NotDirectory,
    Loop,
    Else(String),
}

fn answer(found: Result<Found, OpError>) -> Answer {
    match found {
        Ok(found) => {
            let kind = match found.state {
                FileState::Directory => "directory",
                FileState::Regular { .. } => "file",
                FileState::Link { .. } => "link",
                FileState::Absent => "nothing",
                FileState::Other { .. } => "something else",
            };
            Answer::Leads(found.resolved.to_string(), kind)
        }
        Err(OpError::OutsideRoot) => Answer::Outside,
        Err(OpError::NotFound { .. }) => Answer::Missing,
        Err(OpError::NotDirectory { .. }) => Answer::NotDirectory,
        Err(OpError::Loop) => Answer::Loop,
        Err(other) => Answer::Else(format!("{other:?}")),
    }
}

/// The rule, as a model of texts: no directory is held, and no system is asked.
struct Model<'a> {
    tree: &'a Tree,
    /// The spellings of the roots, each with the root's own path.
    roots: &'a [(String, String)],
}

/// Names to be walked, and the link that they are the text of: its directory and its text.
struct Names {
    names: VecDeque<String>,
    link: Option<(String, String)>,
}

impl Model<'_> {
    fn resolve(&self, root: &str, path: &str, last: Last) -> Answer {
        let (mut root, mut at) = (root.to_owned(), root.to_owned());
        let mut todo = vec![Names { names: split(path), link: None }];
        let (mut links, mut final_link): (u32, Option<String>) = (0, None);
        loop {
            while todo.last().is_some_and(|names| names.names.is_empty()) {
                todo.pop();
            }
            let Some(names) = todo.last_mut() else { return Answer::Leads(at, "directory") };
            let name = names.names.pop_front().unwrap();
            let mut leaves = None;
            if name == ".." {
                if at != root {
                    at.truncate(at.rfind('/').unwrap());
                    continue;
                }
                match todo.pop().unwrap().link {
                    None => return Answer::Outside,
                    Some(link) => leaves = Some(link),
                }
            }
            let is_last = todo.iter().all(|names| names.names.is_empty());
            let here = format!("{at}/{name}");
            if leaves.is_none() {
                match self.tree.get(&here) {
                    None => return Self::missing(&here, todo, final_link),
                    Some(Node::Link(text)) if !is_last || last == Last::Follow => {
                        links += 1;
                        if links > 40 {
                            return Answer::Loop;
                        }
                        if is_last && final_link.is_none() {
                            final_link = Some(here.clone());
                        }
                        if text.starts_with('/') {
                            leaves = Some((at.clone(), text.clone()));
                        } else {
                            todo.push(Names { names: split(text), link: Some((at.clone(), text.clone())) });
                        }
                    }
                    Some(node) if is_last => {
                        let kind = match node {
                            Node::Directory => "directory",
                            Node::File => "file",
                            Node::Link(_) => "link",
                        };
                        return Answer::Leads(here, kind);
                    }
                    Some(Node::Directory) => at = here,
                    Some(_) => return Answer::NotDirectory,
                }
            }
            if let Some(link) = leaves {
                // Joined to its directory, and normalised by its text alone.
                let mut whole: Vec<String> = Vec::new();
                let joined =
                    if link.1.starts_with('/') { link.1.clone() } else { format!("{}/{}", link.0, link.1) };
                for name in split(&joined) {
                    if name == ".." {
                        whole.pop();
                    } else {
                        whole.push(name);
                    }
                }
                let whole = format!("/{}", whole.join("/"));
                let holds = |(spelling, _): &&(String, String)| {
                    whole == *spelling || whole.starts_with(&format!("{spelling}/"))
                };
                let Some((spelling, physical)) =
                    self.roots.iter().filter(holds).max_by_key(|(spelling, _)| spelling.len())
                else {
                    return Answer::Outside;
                };
                (root, at) = (physical.clone(), physical.clone());
                todo.push(Names { names: split(&whole[spelling.len()..]), link: Some(link) });
            }
        }
    }

    fn missing(here: &str, mut todo: Vec<Names>, final_link: Option<String>) -> Answer {
        let rest = todo.pop().unwrap();
        if rest.link.is_some() {
            // What dangles is told as itself, where it is the end of the path.
            return final_link.map_or(Answer::Missing, |link| Answer::Leads(link, "link"));
        }
        if rest.names.iter().any(|name| name == "..") {
            return Answer::Missing;
        }
        let mut path = here.to_owned();
        for name in rest.names {
            let _ = write!(path, "/{name}");
        }
        Answer::Leads(path, "nothing")
    }
}

fn split(text: &str) -> VecDeque<String> {
    text.split('/').filter(|name| !matches!(*name, "" | ".")).map(str::to_owned).collect()
}

/// The four directories, of which two are roots, one of them by two spellings.
struct Base {
    _dir: tempfile::TempDir,
    path: PathBuf,
    roots: Vec<(String, String)>,
}

impl Base {
    fn new() -> Self {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let path = dir.path().canonicalize().unwrap();
        for name in ["ws", "other", "ws-evil", "out"] {
            std::fs::create_dir(path.join(name)).unwrap();
        }
        symlink("ws", path.join("alias")).unwrap();
        let at = |name: &str| format!("{}/{name}", path.display());
        let roots = vec![(at("ws"), at("ws")), (at("alias"), at("ws")), (at("other"), at("other"))];
        Self { _dir: dir, path, roots }
    }

    fn text(&self) -> &str {
        self.path.to_str().unwrap()
    }

    /// Opens the roots, the first by its other spelling too; returns the handles of `ws` and of `other`.
    async fn open(&self, ops: &dyn FileOps) -> [Root; 2] {
        let mut opened = Vec::new();
        for name in ["ws", "alias", "other"] {
            let path = TargetPath::new(format!("{}/{name}", self.text())).unwrap();
            opened.push(ops.open_root(&RootSpec { path }).await.unwrap());
        }
        let other = opened.pop().unwrap();
        [opened.swap_remove(0), other]
    }

    /// Puts a tree there in place of the one before.
    fn put(&self, tree: &Tree) {
        for name in ["ws", "other", "ws-evil", "out"] {
            for entry in std::fs::read_dir(self.path.join(name)).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    std::fs::remove_dir_all(entry.path()).unwrap();
                } else {
                    std::fs::remove_file(entry.path()).unwrap();
                }
            }
        }
        // Parents come before what is in them.
        for (path, node) in tree {
            match node {
                Node::Directory => std::fs::create_dir(path).unwrap(),
                Node::File => std::fs::write(path, path).unwrap(),
                Node::Link(text) => symlink(text, path).unwrap(),
            }
        }
    }

    /// Says what is wrong with an answer by `realpath`: what is allowed is at its own path, and in a root.
    fn is_outside(&self, answer: &Answer) -> Option<String> {
        let Answer::Leads(path, kind) = answer else { return None };
        let (mut at, mut names) = (Path::new(path), Vec::new());
        // Of what is not there, the part that is; of a link that is told as itself, its directory.
        while *kind == "link" && names.is_empty() || std::fs::symlink_metadata(at).is_err() {
            names.push(at.file_name()?);
            at = at.parent()?;
        }
        let real = std::fs::canonicalize(at).ok()?;
        let whole = names.iter().rev().fold(real, |path, name| path.join(name));
        let is_inside = ["ws", "other"].iter().any(|root| whole.starts_with(self.path.join(root)));
        (!is_inside || whole != Path::new(path)).then(|| format!("by realpath it is {}", whole.display()))
    }
}

/// A target that is asked about every tree.
struct Asked {
    name: String,
    ops: Arc<dyn FileOps>,
    roots: [Root; 2],
    _keep: Option<Tools>,
}

impl Asked {
    async fn local(base: &Base, resolver: Resolver) -> Self {
        let ops: Arc<dyn FileOps> = Arc::new(Local::builder().resolver(resolver).build().unwrap());
        let roots = base.open(&*ops).await;
        Self { name: format!("{resolver:?}"), ops, roots, _keep: None }
    }

    async fn shell(base: &Base, sh: Sh) -> Self {
        let tools = sh.tools().unwrap();
        let process = Process::shell(TargetId::new(sh.name())).env("PATH", tools.path());
        let ops: Arc<dyn FileOps> = Arc::new(Shell::builder(Arc::new(process)).connect().await.unwrap());
        let roots = base.open(&*ops).await;
        Self { name: sh.name().to_owned(), ops, roots, _keep: Some(tools) }
    }
}

/// One path of a tree, below one of the two roots.
#[derive(Debug, Clone)]
struct Request {
    root: usize,
    path: String,
    last: Last,
}

/// Plays as many cases; every answer of every target is compared with both oracles.
async fn play(
    base: &Base,
    targets: &[Asked],
    (from, cases): (usize, usize),
) -> Result<BTreeMap<&'static str, usize>, String> {
    let first = seed();
    let from = from.div_ceil(PATHS) as u64;
    let seeds = first.map_or(from..from + cases.div_ceil(PATHS) as u64, |seed| seed..seed + 1);
    let mut met: BTreeMap<&'static str, usize> = BTreeMap::new();
    for seed in seeds {
        let mut random = Random(seed);
        let tree = tree(&mut random, base.text());
        base.put(&tree);
        let model = Model { tree: &tree, roots: &base.roots };
        let root_path = |root: usize| format!("{}/{}", base.text(), ["ws", "other"][root]);
        let requests: Vec<Request> = (0..PATHS)
            .map(|_| {
                let root = usize::from(random.below(4) == 0);
                let path = path(&mut random, &tree, &root_path(root));
                let last = if random.below(4) == 0 { Last::Itself } else { Last::Follow };
                Request { root, path, last }
            })
            .collect();
        let expected: Vec<Answer> = requests
            .iter()
            .map(|request| model.resolve(&root_path(request.root), &request.path, request.last))
            .collect();
        for answer in &expected {
            *met.entry(word(answer)).or_default() += 1;
        }
        for target in targets {
            let ask = |request: &Request| Ask {
                root: target.roots[request.root].id,
                path: request.path.clone(),
                last: request.last,
                depth: Depth::State,
                scope: Arc::default(),
            };
            let asks: Vec<Ask> = requests.iter().map(ask).collect();
            let found =
                target.ops.stat(&asks).await.map_err(|error| format!("{}: {error:?}", target.name))?;
            for ((request, expected), found) in requests.iter().zip(&expected).zip(found) {
                let answer = answer(found);
                let outside = base.is_outside(&answer);
                if answer != *expected || outside.is_some() {
                    let mut shown = String::new();
                    for (path, node) in &tree {
                        let _ = writeln!(shown, "  {path:?} {node:?}");
                    }
                    let outside = outside.unwrap_or_default();
                    return Err(format!(
                        "seed {seed}, {}: {request:?}\n  answered {answer:?} {outside}\n  expected {expected:?}\n{shown}",
                        target.name
                    ));
                }
            }
        }
    }
    Ok(met)
}

const fn word(answer: &Answer) -> &'static str {
    match answer {
        Answer::Leads(_, kind) => kind,
        Answer::Outside => "outside",
        Answer::Missing => "missing",
        Answer::NotDirectory => "not a directory",
        Answer::Loop => "a loop",
        Answer::Else(_) => "something else",
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn this_machine_follows_links_as_the_rule_says_by_either_resolver() {
    let base = Base::new();
    let targets = [Asked::local(&base, Resolver::Kernel).await, Asked::local(&base, Resolver::Walk).await];
    let met = play(&base, &targets, (0, cases())).await.unwrap_or_else(|wrong| panic!("{wrong}"));
    println!("{met:?}");
    if seed().is_some() {
        return;
    }
    // Every kind of answer was met often.
    for kind in ["directory", "file", "link", "nothing", "outside", "missing", "not a directory", "a loop"] {
        assert!(met.get(kind).is_some_and(|count| *count >= cases() / 400), "{kind}: {met:?}");
    }
}

macro_rules! shells {
    ($($name:ident => $sh:ident, $part:literal,)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            if !skip::unless(Sh::$sh.need(), stringify!($name)) {
                let base = Base::new();
                let targets = [Asked::shell(&base, Sh::$sh).await];
                // The cases are shared among the shells: each has a quarter of its own.
                let quarter = cases().div_ceil(4);
                play(&base, &targets, ($part * quarter, quarter)).await.unwrap_or_else(|wrong| panic!("{wrong}"));
            }
        }
    )*};
}

shells! {
    dash_follows_links_as_the_rule_says => Dash, 0,
    bash_follows_links_as_the_rule_says => Bash, 1,
    busyboxs_shell_follows_links_as_the_rule_says => BusyBox, 2,
    mksh_follows_links_as_the_rule_says => Mksh, 3,
}

/// The negative controls: resolvers that are wrong in a way of the field are found out.
#[tokio::test]
async fn control_a_text_a_prefix_and_a_realpath_are_not_the_rule() {
    let base = Base::new();
    let inside = |path: &Path| path.to_str().unwrap().starts_with(&format!("{}/ws", base.text()));
    let (mut by_text, mut by_prefix, mut by_realpath) = (0, 0, 0);
    for seed in 0..200 {
        let mut random = Random(seed);
        let tree = tree(&mut random, base.text());
        base.put(&tree);
        let model = Model { tree: &tree, roots: &base.roots };
        let root = format!("{}/ws", base.text());
        for _ in 0..PATHS {
            let path = path(&mut random, &tree, &root);
            let allowed = !matches!(model.resolve(&root, &path, Last::Follow), Answer::Outside);
            let mut names: Vec<String> = Vec::new();
            for name in split(&format!("{root}/{path}")) {
                if name == ".." {
                    names.pop();
                } else {
                    names.push(name);
                }
            }
            let text = PathBuf::from(format!("/{}", names.join("/")));
            let Ok(real) = std::fs::canonicalize(format!("{root}/{path}")) else { continue };
            // A check of the text, and one of the prefix of what it leads to, which takes `ws-evil` for inside.
            by_text += usize::from(inside(&text) && !allowed);
            by_prefix += usize::from(inside(&real) && real.starts_with(base.path.join("ws-evil")));
            // One of where it leads in the end takes what goes out and comes back in for inside.
            by_realpath += usize::from(real.starts_with(&root) && !allowed);
        }
    }
    assert!(by_text > 0 && by_prefix > 0 && by_realpath > 0, "{by_text} {by_prefix} {by_realpath}");
}
