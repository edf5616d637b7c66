//! The command line.

use clap::{Args, Parser, Subcommand};
use guard_core::policy::Digest;
use guard_core::{ByteWindow, ExpectArg};

use crate::roots::Roots;
use crate::target::Target;

/// File tools that do not destroy what was not seen, do not act on the wrong machine and do not leave the workspace.
///
/// One call is one actor that has seen nothing: to replace or delete a file, name the version with `--expect`, as
/// `guard read` and `guard stat` print it.
///
/// Exit codes: 0 done, 1 refused (nothing changed), 2 usage, 3 unavailable, outcome unknown, or the output could not be
/// written (what was asked for was then done), 4 a bug in guard.
#[derive(Debug, Parser)]
#[command(name = "guard", version, max_term_width = 100, after_long_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) guard: GuardArgs,
    /// Print one JSON object: the receipt, the result or the refusal.
    #[arg(long, global = true, display_order = 100)]
    pub(crate) json: bool,
    /// Of a mutation show the verdict and the difference, and change nothing.
    #[arg(long, global = true, display_order = 100)]
    pub(crate) dry_run: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What is said below the long help.
const EXAMPLES: &str = "\
Examples:
  guard read notes.md
  guard write notes.md --expect sha256:… < text
  guard --target ssh://me@build --root /srv/app read notes.md
  guard --target ssh://build:2222 --root '~' edit notes.md --old a --new b
  guard --target docker://web --root /srv/app ls
  guard --target 'docker://web?user=app' --root '~' write new.md < text
  guard --target docker://web --root /srv/app --json stat notes.md
  guard --target docker://web doctor

Over SSH it is your own ssh that connects, with its configuration, keys and known hosts. A target needs a POSIX sh and
the usual tools; `doctor` says which are missing and what comes of it. Every path is the target's, `~` too, and a root
there is named from `/` or from `~`. A target that cannot be had is exit code 3 and a sentence.";

/// What the guard stands on; before the command.
#[derive(Debug, Args)]
pub(crate) struct GuardArgs {
    /// Where the files are: `local`, `ssh://[USER@]HOST[:PORT]` or `docker://NAME-OR-ID[?user=USER]`.
    #[arg(long, global = true, display_order = 98, default_value = "local")]
    pub(crate) target: Target,
    /// What `ssh` reads instead of the user's and the system's configuration.
    #[arg(long, global = true, display_order = 99, value_name = "FILE")]
    pub(crate) ssh_config: Option<std::path::PathBuf>,
    #[command(flatten)]
    pub(crate) roots: Roots,
    /// The rules, as TOML; no file is read that is not named here.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<String>,
    /// Keep what changes displace in this directory, which is made if it is not there, so that they can be undone.
    #[arg(long, value_name = "DIR")]
    pub(crate) undo_store: Option<std::path::PathBuf>,
    /// How much is kept there; the oldest makes room.
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 30, requires = "undo_store")]
    pub(crate) undo_bytes: u64,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print a file; its digest and what was left out are said on standard error.
    Read(Read),
    /// Write a whole file from standard input, byte for byte.
    Write(Write),
    /// Replace a text in a file.
    Edit(Edit),
    /// Apply a V4A patch from standard input: all of it, or nothing.
    Patch(Patch),
    /// Delete a file or a link.
    Rm(Remove),
    /// Move a file or a link to a free name.
    Mv(Move),
    /// Make a directory and its parents.
    Mkdir(MakeDir),
    /// Undo what a receipt tells of (`--json` prints it): all of it, or nothing.
    Undo(Undo),
    /// List a directory.
    Ls(List),
    /// Tell what is at a path, with the digest.
    Stat(Stat),
    /// Tell which rules apply to a path, and why.
    Explain(Explain),
    /// Tell what the target can do.
    Doctor(Doctor),
    /// Print the completions for a shell.
    Completions(Completions),
}

#[derive(Debug, Args)]
pub(crate) struct Read {
    /// The file: relative to the first root, absolute, or below `~`.
    pub(crate) path: String,
    /// First line, from 1.
    #[arg(long, value_name = "LINE", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) offset: Option<u64>,
    /// Number of lines.
    #[arg(long, value_name = "LINES", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// A window of bytes instead of lines.
    #[arg(long, value_name = "OFFSET:LENGTH", value_parser = window, conflicts_with_all = ["offset", "limit"])]
    pub(crate) bytes: Option<ByteWindow>,
}

#[derive(Debug, Args)]
pub(crate) struct Write {
    /// The file.
    pub(crate) path: String,
    /// The version to replace: `absent`, or its digest `sha256:HEX` [default: absent].
    #[arg(long, value_name = "VERSION")]
    pub(crate) expect: Option<ExpectArg>,
    /// Replace whatever version is there.
    #[arg(long, conflicts_with = "expect")]
    pub(crate) danger_unseen: bool,
    /// Make a new file executable; a file that is there keeps its mode.
    #[arg(long)]
    pub(crate) executable: bool,
    /// Write content that looks like a display of a file with line numbers.
    #[arg(long)]
    pub(crate) raw: bool,
    #[command(flatten)]
    pub(crate) danger: DangerArgs,
}

/// What may be lost in a replacement.
#[derive(Debug, Args)]
pub(crate) struct DangerArgs {
    /// Let the owner, ACL and extended attributes of the old file be lost.
    #[arg(long)]
    pub(crate) danger_lose_metadata: bool,
    /// Write a mount point in place, which a crash can leave half done.
    #[arg(long)]
    pub(crate) danger_in_place: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Edit {
    /// The file.
    pub(crate) path: String,
    /// The text to replace; it has to occur exactly once.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) old: String,
    /// What to put in its place.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) new: String,
    /// Replace every occurrence.
    #[arg(long)]
    pub(crate) all: bool,
    /// The version to edit, `sha256:HEX`; needed for text under the name of a binary format.
    #[arg(long, value_name = "DIGEST")]
    pub(crate) expect: Option<Digest>,
    #[command(flatten)]
    pub(crate) danger: DangerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Patch {
    /// The version of a file that the patch deletes, or of text under a binary name that it edits; repeatable.
    #[arg(long, value_name = "PATH=DIGEST", value_parser = expected)]
    pub(crate) expect: Vec<(String, Digest)>,
    /// Delete whatever versions are there.
    #[arg(long)]
    pub(crate) danger_delete_unseen: bool,
    /// Do what the reference engine does where it differs: what was seen is overwritten, and a failure leaves the
    /// operations before it.
    #[arg(long)]
    pub(crate) danger_codex: bool,
    /// Let the owner, ACL and extended attributes of old files be lost.
    #[arg(long)]
    pub(crate) danger_lose_metadata: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// The file or link; a link is deleted itself.
    pub(crate) path: String,
    /// The version to delete: a file's digest `sha256:HEX`, or a link's `link:TEXT`, as `guard stat` prints it.
    #[arg(long, value_name = "VERSION")]
    pub(crate) expect: Option<SeenArg>,
    /// Delete whatever version is there.
    #[arg(long, conflicts_with = "expect")]
    pub(crate) danger_unseen: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Move {
    /// The file or link; a link is moved itself.
    pub(crate) from: String,
    /// The new name; nothing may be there.
    pub(crate) to: String,
    /// The version to move: a file's digest `sha256:HEX`, or a link's `link:TEXT`, as `guard stat` prints it.
    #[arg(long, value_name = "VERSION")]
    pub(crate) expect: Option<SeenArg>,
}

#[derive(Debug, Args)]
pub(crate) struct MakeDir {
    /// The directory.
    pub(crate) path: String,
}

#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// What `--json` printed, in a file of this machine; `-` is standard input.
    pub(crate) receipt: std::path::PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// The directory; the first root where it is left out.
    pub(crate) path: Option<String>,
    /// Go on after the page before, with the cursor that it printed.
    #[arg(long, value_name = "CURSOR", allow_hyphen_values = true)]
    pub(crate) after: Option<String>,
    /// Number of entries.
    #[arg(long, value_name = "ENTRIES", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Stat {
    /// The paths.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The path.
    pub(crate) path: String,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// List what commits of dead processes left in the roots.
    #[arg(long)]
    pub(crate) leftovers: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}

/// What the caller has seen at a name.
#[derive(Debug, Clone)]
pub(crate) enum SeenArg {
    /// A file with this content.
    File(Digest),
    /// A link with this text.
    Link(String),
}

/// What a link's version starts with.
pub(crate) const LINK: &str = "link:";

impl std::str::FromStr for SeenArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix(LINK) {
            Some("") => {
                Err("a link's version is written link:TEXT, and no link has an empty text".to_owned())
            }
            Some(text) => Ok(Self::Link(text.to_owned())),
            None => text
                .parse()
                .map(Self::File)
                .map_err(|error| format!("{error}; a link's is written link:TEXT")),
        }
    }
}

/// Parses `OFFSET:LENGTH`.
fn window(text: &str) -> Result<ByteWindow, String> {
    let parts =
        text.split_once(':').and_then(|(offset, length)| Some((offset.parse().ok()?, length.parse().ok()?)));
    let (offset, length) = parts.ok_or("a window is written OFFSET:LENGTH, in bytes")?;
    Ok(ByteWindow { offset, length })
}

/// Parses `PATH=sha256:HEX`; the path may hold an equals sign.
fn expected(text: &str) -> Result<(String, Digest), String> {
    let (path, digest) = text.rsplit_once('=').ok_or("an expectation is written PATH=sha256:HEX")?;
    let digest = digest.parse().map_err(|error: guard_core::policy::ParseDigestError| error.to_string())?;
    Ok((path.to_owned(), digest))
}
