//! Images made of this machine's own programs.
#![allow(clippy::disallowed_methods, reason = "this machine's programs are looked for and copied")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use bollard::Docker as Engine;
use bollard::errors::Error;
use bollard::query_parameters::CreateImageOptions;
use futures_util::TryStreamExt as _;
use guard_core::policy::Hasher;
use rustix::fs::{FlockOperation, flock};
use tokio::sync::OnceCell;

/// What a container is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Image {
    /// BusyBox and nothing else (Debian's `busybox` or `busybox-static`).
    BusyBox,
    /// `dash` as `sh`, `bash`, and the packages `coreutils`, `findutils`, `sed` and `perl-base`.
    Gnu,
    /// A program that waits, and no shell.
    NoShell,
}

/// Debian's packages of [`Image::Gnu`].
const PACKAGES: [&str; 6] = ["dash", "bash", "coreutils", "findutils", "sed", "perl-base"];
/// Where programs and what they load are; the rest of a package is for people.
const PROGRAMS: [&str; 6] = ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/lib/", "/usr/lib/"];
/// Directories that are links where a system has merged them into `/usr`.
const MERGED: [&str; 4] = ["bin", "sbin", "lib", "lib64"];

impl Image {
    fn name(self) -> &'static str {
        match self {
            Self::BusyBox => "guard-testkit/busybox",
            Self::Gnu => "guard-testkit/gnu",
            Self::NoShell => "guard-testkit/no-shell",
        }
    }

    /// Returns the image's name with a tag of its content; imports it if the engine does not have it.
    pub(super) async fn tag(self, engine: &Engine) -> io::Result<String> {
        static IMPORTED: [OnceCell<String>; 3] = [const { OnceCell::const_new() }; 3];
        IMPORTED[self as usize].get_or_try_init(|| self.import(engine)).await.cloned()
    }

    async fn import(self, engine: &Engine) -> io::Result<String> {
        let made = tokio::task::spawn_blocking(move || {
            // Two processes that import the same would leave an image without a name.
            let lock = std::env::temp_dir()
                .join(format!("guard-testkit-{}.lock", rustix::process::getuid().as_raw()));
            let lock = File::options().create(true).truncate(false).write(true).open(lock)?;
            flock(&lock, FlockOperation::LockExclusive)?;
            io::Result::Ok((lock, self.tree()?.archive()?))
        });
        let (lock, archive) = made.await.map_err(io::Error::other)??;
        let mut hasher = Hasher::new();
        hasher.update(&archive);
        let hash: String =
            hasher.finish().to_string().trim_start_matches("sha256:").chars().take(16).collect();
        let tag = format!("{}:{hash}", self.name());
        match engine.inspect_image(&tag).await {
            Ok(_) => return Ok(tag),
            Err(Error::DockerResponseServerError { status_code: 404, .. }) => {}
            Err(error) => return Err(io::Error::other(error)),
        }
        let options = CreateImageOptions {
            from_src: Some("-".to_owned()),
            repo: Some(self.name().to_owned()),
            tag: Some(hash),
            ..Default::default()
        };
        let imported = engine.create_image(Some(options), Some(bollard::body_full(archive.into())), None);
        imported.try_collect::<Vec<_>>().await.map_err(io::Error::other)?;
        drop(lock);
        Ok(tag)
    }

    fn tree(self) -> io::Result<Tree> {
        let mut tree = Tree::default();
        match self {
            Self::BusyBox => {
                let busybox = program("busybox")?;
                tree.program("bin/busybox", &busybox)?;
                for applet in said(&busybox, &["--list"])?.lines() {
                    if applet != "busybox" {
                        tree.link(&format!("bin/{applet}"), "busybox");
                    }
                }
                tree.system();
            }
            Self::Gnu => {
                for name in MERGED {
                    if let Ok(text) = fs::read_link(Path::new("/").join(name)) {
                        tree.link(name, &text.display().to_string());
                        tree.directory(&format!("usr/{name}"), 0o755);
                    }
                }
                let mut files = Vec::new();
                for package in PACKAGES {
                    let listed = said(Path::new("dpkg"), &["-L", package])?;
                    let listed = listed.lines().filter(|path| PROGRAMS.iter().any(|of| path.starts_with(of)));
                    files.extend(listed.map(PathBuf::from));
                }
                files.retain(|file| fs::metadata(file).is_ok_and(|found| found.is_file()));
                files.extend(libraries(&files)?);
                for file in &files {
                    tree.copy(file)?;
                }
                // As a system has it: without it every program looks for its libraries in dozens of places.
                let cache = Path::new("/etc/ld.so.cache");
                if cache.exists() {
                    tree.copy(cache)?;
                }
                let sh = physical(Path::new("/bin/sh"))?;
                tree.link(&sh.display().to_string(), "dash");
                tree.system();
            }
            // BusyBox does what its name says.
            Self::NoShell => tree.program("bin/sleep", &program("busybox")?)?,
        }
        Ok(tree)
    }
}

/// What is in an image, by its path below the root.
#[derive(Default)]
struct Tree(BTreeMap<PathBuf, (u32, Node)>);

enum Node {
    Directory(u32),
    File(u32, Vec<u8>),
    Link(String),
}

impl Tree {
    fn put(&mut self, path: &str, node: Node) {
        let path = PathBuf::from(path);
        for parent in path.ancestors().skip(1).filter(|parent| *parent != Path::new("")) {
            self.0.entry(parent.to_owned()).or_insert((0, Node::Directory(0o755)));
        }
        self.0.insert(path, (0, node));
    }

    fn directory(&mut self, path: &str, mode: u32) {
        self.put(path, Node::Directory(mode));
    }

    fn link(&mut self, path: &str, text: &str) {
        self.put(path, Node::Link(text.to_owned()));
    }

    /// Puts a program at another place than this machine's, with what it loads.
    fn program(&mut self, path: &str, from: &Path) -> io::Result<()> {
        self.put(path, Node::File(0o755, fs::read(from)?));
        for library in libraries(&[from.to_owned()])? {
            self.copy(&library)?;
        }
        Ok(())
    }

    /// Copies a file to where it is on this machine, and whatever links lead to it.
    fn copy(&mut self, from: &Path) -> io::Result<()> {
        let path = physical(from)?;
        let name = path.display().to_string();
        let found = fs::symlink_metadata(from)?;
        if found.is_symlink() {
            let text = fs::read_link(from)?;
            self.link(&name, &text.display().to_string());
            let to = Path::new("/").join(path.parent().unwrap_or(Path::new(""))).join(text);
            return self.copy(&to);
        }
        self.put(&name, Node::File(found.permissions().mode() & 0o777, fs::read(from)?));
        Ok(())
    }

    /// What programs expect of a system: two users, their homes, a place for temporary files.
    fn system(&mut self) {
        let users = "root:x:0:0:root:/root:/bin/sh\nguard:x:1000:1000:guard:/home/guard:/bin/sh\n";
        self.put("etc/passwd", Node::File(0o644, users.into()));
        self.put("etc/group", Node::File(0o644, "root:x:0:\nguard:x:1000:\n".into()));
        self.directory("root", 0o700);
        self.directory("tmp", 0o1777);
        self.directory("home/guard", 0o755);
        self.0.insert(PathBuf::from("home/guard"), (1000, Node::Directory(0o755)));
    }

    fn archive(&self) -> io::Result<Vec<u8>> {
        let mut archive = tar::Builder::new(Vec::new());
        for (path, (owner, node)) in &self.0 {
            let mut header = tar::Header::new_gnu();
            header.set_uid((*owner).into());
            header.set_gid((*owner).into());
            header.set_mtime(0);
            match node {
                Node::Directory(mode) => {
                    header.set_entry_type(tar::EntryType::Directory);
                    header.set_mode(*mode);
                    header.set_size(0);
                    archive.append_data(&mut header, path, io::empty())?;
                }
                Node::File(mode, bytes) => {
                    header.set_mode(*mode);
                    header.set_size(bytes.len() as u64);
                    archive.append_data(&mut header, path, &bytes[..])?;
                }
                Node::Link(text) => {
                    header.set_entry_type(tar::EntryType::Symlink);
                    header.set_mode(0o777);
                    header.set_size(0);
                    archive.append_link(&mut header, path, text)?;
                }
            }
        }
        archive.into_inner()
    }
}

/// Where a name really is: no link on the way to it, itself as it is; without the leading `/`.
fn physical(path: &Path) -> io::Result<PathBuf> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::other(format!("{} has no name", path.display())));
    };
    let whole = parent.canonicalize()?.join(name);
    whole.strip_prefix("/").map(Path::to_owned).map_err(io::Error::other)
}

/// Finds a program of this machine.
fn program(name: &str) -> io::Result<PathBuf> {
    let places = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"];
    let found = places.iter().map(|place| Path::new(place).join(name)).find(|path| path.is_file());
    found.ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, format!("no {name} here: apt-get install {name}"))
    })
}

/// Returns what programs load, as `ldd` tells it. What is linked statically loads nothing.
pub(super) fn libraries(programs: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let told = Command::new("ldd").args(programs).output()?.stdout;
    let told = String::from_utf8_lossy(&told).into_owned();
    // `name => /path (0x..)`, or `/path (0x..)` for the loader.
    let paths = told.lines().filter_map(|line| {
        let (path, _) = line.trim().rsplit_once(" (0x")?;
        let path = path.rsplit_once("=> ").map_or(path, |(_, path)| path);
        path.starts_with('/').then(|| PathBuf::from(path))
    });
    let mut paths: Vec<PathBuf> = paths.collect();
    paths.sort();
    paths.dedup();
    Ok(paths)
}

fn said(program: &Path, args: &[&str]) -> io::Result<String> {
    let ended = Command::new(program).args(args).env("LC_ALL", "C").output()?;
    if ended.status.success() {
        return String::from_utf8(ended.stdout).map_err(io::Error::other);
    }
    let mut why = format!("{} {}: ", program.display(), args.join(" "));
    let _ = write!(why, "{}", String::from_utf8_lossy(&ended.stderr).trim());
    Err(io::Error::other(why))
}
