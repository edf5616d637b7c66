//! A workspace on the real filesystem, and what tests of it share.

#![allow(dead_code, unreachable_pub, reason = "every test binary uses a part of it")]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::type_complexity,
    reason = "a test is the other writer: it does what the library must never do"
)]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use guard_backends::local::{Builder, Local, Resolver};
use guard_core::policy::{Digest, FileState, OpenWriters, Precondition, TargetPath};
use guard_core::port::{
    Applied, Ask, Batch, Change, CommitError, CommitFailure, CommitId, Committed, Content, Depth, Displaced,
    Effect, FileOps as _, Found, InPlace, Keep, Last, Mode, Observer, OpError, Parents, Place, Root,
    RootSpec, Step,
};
use rustix::fs::{CWD, FileType, mknodat};
use tempfile::TempDir;

/// Both resolvers run every test of what they both do.
pub const RESOLVERS: [Resolver; 2] = [Resolver::Kernel, Resolver::Walk];

/// A directory that is opened as a root.
pub struct Ws {
    pub local: Local,
    pub root: Root,
    pub dir: TempDir,
}

impl Ws {
    pub async fn new() -> Self {
        Self::with(Local::builder()).await
    }

    pub async fn of(resolver: Resolver) -> Self {
        Self::with(Local::builder().resolver(resolver)).await
    }

    pub async fn with(builder: Builder) -> Self {
        Self::at(tempfile::tempdir().unwrap(), builder).await
    }

    pub async fn at(dir: TempDir, builder: Builder) -> Self {
        let local = builder.build().unwrap();
        let root = open(&local, dir.path()).await.unwrap();
        Self { local, root, dir }
    }

    /// Runs `act` whenever a commit takes a step, with the step's name.
    pub async fn watched(builder: Builder, act: impl Fn(&str, &Path) + Send + Sync + 'static) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_owned();
        let observer = Watch(move |step: Step<'_>| act(name(&step), &path));
        Self::at(dir, builder.observer(Arc::new(observer))).await
    }

    /// Runs `act` the first time that a commit takes the named step.
    pub async fn once(builder: Builder, at: &'static str, act: impl FnOnce(&Path) + Send + 'static) -> Self {
        let act = Mutex::new(Some(act));
        Self::watched(builder, move |step, path| {
            if step == at
                && let Some(act) = act.lock().unwrap().take()
            {
                act(path);
            }
        })
        .await
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn target(&self, name: &str) -> TargetPath {
        target(&self.path(name))
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub fn mkdir(&self, name: &str) {
        fs::create_dir_all(self.path(name)).unwrap();
    }

    pub fn link(&self, text: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(text, self.path(name)).unwrap();
    }

    pub fn tree(&self) -> Tree {
        tree(self.dir.path())
    }

    pub fn place(&self, name: &str) -> Place {
        place(&self.root, self.dir.path(), name)
    }

    pub fn ask(&self, path: &str) -> Ask {
        Ask {
            root: self.root.id,
            path: path.to_owned(),
            last: Last::Follow,
            depth: Depth::Digest { max: 1 << 28 },
            scope: Arc::default(),
        }
    }

    pub async fn stat(&self, path: &str) -> Result<Found, OpError> {
        self.local.stat(&[self.ask(path)]).await?.remove(0)
    }

    pub fn put(&self, name: &str, precondition: Precondition, bytes: &str) -> Change {
        put(self.place(name), precondition, bytes)
    }

    pub fn change(&self, name: &str, precondition: Precondition, effect: Effect) -> Change {
        Change { place: self.place(name), precondition, effect }
    }

    pub fn move_to(&self, from: &str, precondition: Precondition, to: &str) -> Change {
        let to = self.place(to);
        let effect = Effect::MoveTo { to, destination: Precondition::Absent, parents: Parents::Make };
        self.change(from, precondition, effect)
    }

    /// Commits one change.
    pub async fn commit(&self, change: Change) -> Result<Applied, CommitError> {
        self.batch(batch(vec![change])).await.map(|mut done| done.changes.remove(0))
    }

    pub async fn batch(&self, batch: Batch) -> Result<Committed, CommitError> {
        self.local.commit(batch).await
    }

    /// Temporary names that are in the workspace.
    pub fn temps(&self) -> Vec<String> {
        self.tree().into_keys().filter(|name| name.contains(".guard-")).collect()
    }
}

/// Everything below a directory: the state of each path, with the inode and the digest.
pub type Tree = BTreeMap<String, String>;

pub fn tree(top: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut pending = vec![top.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let kind = meta.file_type();
            let what = if kind.is_dir() {
                pending.push(path.clone());
                "directory".to_owned()
            } else if kind.is_symlink() {
                format!("link {}", fs::read_link(&path).unwrap().display())
            } else if kind.is_file() {
                fs::read(&path).map_or_else(|error| error.to_string(), |bytes| Digest::of(&bytes).to_string())
            } else if kind.is_fifo() {
                "fifo".to_owned()
            } else {
                "other".to_owned()
            };
            let relative = path.strip_prefix(top).unwrap().display().to_string();
            tree.insert(relative, format!("{what} {} {:o} {}", meta.ino(), meta.mode(), meta.uid()));
        }
    }
    tree
}

pub async fn open(local: &Local, path: &Path) -> Result<Root, OpError> {
    local.open_root(&RootSpec { path: target(path) }).await
}

pub fn target(path: &Path) -> TargetPath {
    TargetPath::new(path.to_str().unwrap()).unwrap()
}

pub fn place(root: &Root, top: &Path, name: &str) -> Place {
    // Joining an empty name would append a slash.
    let expect = if name.is_empty() { target(top) } else { target(&top.join(name)) };
    Place { root: root.id, path: name.to_owned(), expect, last: Last::Follow }
}

pub fn put(place: Place, precondition: Precondition, bytes: &str) -> Change {
    let content = Content::from(bytes.as_bytes().to_vec());
    let effect = Effect::Put { content, mode: Mode::Keep, parents: Parents::Make };
    Change { place, precondition, effect }
}

pub fn batch(changes: Vec<Change>) -> Batch {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    Batch {
        id: CommitId(format!("test-{}-{number}", std::process::id())),
        changes,
        require: None,
        displaced: Displaced::Discard,
        open_writers: OpenWriters::Refuse,
        metadata: Keep::Require,
        in_place: InPlace::Refuse,
        scope: Arc::default(),
    }
}

pub fn content(bytes: &str) -> Precondition {
    Precondition::Content { digest: Digest::of(bytes.as_bytes()) }
}

/// Asserts that the precondition failed, and on what.
#[track_caller]
pub fn mismatch(error: &CommitError) -> FileState {
    match &error.cause {
        CommitFailure::Precondition { found, .. } => found.clone(),
        other => panic!("not a precondition: {other:?}"),
    }
}

/// Asserts that a state is a regular file with these bytes.
#[track_caller]
pub fn assert_bytes(state: &FileState, bytes: &str) {
    assert_eq!(state.digest(), Some(Digest::of(bytes.as_bytes())), "{state:?} is not {bytes:?}");
}

/// An observer that is a function.
pub struct Watch<F>(pub F);

impl<F: Fn(Step<'_>) + Send + Sync> Observer for Watch<F> {
    fn step(&self, step: Step<'_>) {
        (self.0)(step);
    }
}

pub const fn name(step: &Step<'_>) -> &'static str {
    match step {
        Step::Resolved(_) => "resolved",
        Step::FirstLook(_) => "first-look",
        Step::ToStage(..) => "to-stage",
        Step::Staging(..) => "staging",
        Step::Staged(_) => "staged",
        Step::Leased(..) => "leased",
        Step::Checked(_) => "checked",
        Step::Exposed(_) => "exposed",
        Step::Judged(_) => "judged",
        Step::PutBack(_) => "put-back",
        Step::Published(_) => "published",
        Step::Finished => "finished",
        Step::ToList(_) => "to-list",
        Step::ToRead(..) => "to-read",
        Step::Reading(..) => "reading",
        _ => "new",
    }
}

/// Replaces a file as careful programs do: a new inode is renamed over the name.
pub fn rename_over(path: &Path, bytes: &str) {
    let temp = path.with_extension("rival");
    fs::write(&temp, bytes).unwrap();
    fs::rename(&temp, path).unwrap();
}

/// Makes a FIFO, or a device, without a program: a child process that is just being started would have copies of
/// other tests' descriptors, and a file that is open for writing gets no lease.
pub fn make_node(path: &Path, kind: FileType, device: u64) -> Result<(), String> {
    mknodat(CWD, path, kind, 0o644.into(), device).map_err(|errno| errno.to_string())
}

pub fn mkfifo(path: &Path) {
    make_node(path, FileType::Fifo, 0).unwrap();
}

/// Runs a program and returns whether it succeeded, with what it said.
pub fn run(program: &str, arguments: &[&OsStr]) -> Result<String, String> {
    let output = std::process::Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if output.status.success() { Ok(text) } else { Err(text) }
}

pub fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

pub fn mount(arguments: &[&str], at: &Path) {
    let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).chain([at.as_os_str()]).collect();
    run("mount", &arguments).unwrap();
}

/// Takes a mount out of the way at once; roots below it may still be held.
pub fn umount(at: &Path) {
    run("umount", &[OsStr::new("--lazy"), at.as_os_str()]).unwrap();
}
