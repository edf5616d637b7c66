//! The words of every refusal and its remedy; no other file has any.
//!
//! A remedy has a call only where making that call, and then the refused one again, settles the matter:
//!
//! | code | call | made by |
//! | --- | --- | --- |
//! | `not-read` | `read_file {path}` | [`Refusal::new`] |
//! | `not-read`, of a deletion | `stat {path}`, or `stat {paths}` for several at once | [`Refusal::not_seen`] |
//! | `partially-read` | `read_file {path, bytes: {offset, length}}` | [`Refusal::partially_read`] |
//! | `stale` | `read_file {path}`, or `stat {path}` where nothing is there now | [`Refusal::stale`] |
//! | `expectation` | `read_file {path}` | [`Refusal::new`] |
//! | `binary-exists`, `pdf-exists` | `read_file {path}`, only where what is there is text | [`Refusal::text_exists`] |
//!
//! Every other way on needs something that only the caller has (another path, another text, an approver), and is a
//! sentence.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::ops::Range;

use crate::{
    Argument, Changed, Code, Digest, FileState, LineSpan, PATH_MAX, PathError, Refusal, Remedy, RemedyCall,
    Tool,
};

/// The words for one code: what is wrong, how to go on, and the tool whose call settles it.
struct Words {
    /// A sentence without its full stop, with `{path}` where the requested path stands.
    says: &'static str,
    /// A sentence; empty where there is no way on.
    remedy: &'static str,
    /// The tool that settles it when called with the path alone.
    call: Option<Tool>,
}

const fn words(code: Code) -> Words {
    let (says, remedy, call) = match code {
        Code::InvalidArguments => (
            "The arguments do not have the form that the tool takes",
            "Call it again with the arguments that the message names.",
            None,
        ),
        Code::InvalidPath => (
            "{path} cannot be used as a path here",
            "Give the path of a file: no NUL, at most 4095 bytes, no slash at its end.",
            None,
        ),
        Code::ToolDisabled => ("This tool is not available here", "", None),
        Code::ReadOnlyActor => {
            ("{path} was left alone, because this actor may only read", "Report what you would change.", None)
        }
        Code::OutsideRoot => {
            ("{path} is outside the workspace", "Use a path below a directory that the message names.", None)
        }
        Code::ReadOnlyRoot => (
            "{path} is below a root that may only be read",
            "Write below a root that may be written to.",
            None,
        ),
        Code::SensitivePath => (
            "{path} is configuration or system state that file tools do not change",
            "Ask the user to make this change.",
            None,
        ),
        Code::Secret => (
            "{path} holds, or may hold, credentials, which file tools neither read nor change",
            "Ask the user for what is needed from it; stat and list_dir may be used on it.",
            None,
        ),
        Code::ApprovalRequired => (
            "{path} holds instructions for agents, which change only with somebody's approval, and nobody can be asked",
            "Tell the user which change you propose.",
            None,
        ),
        Code::ApprovalDenied => {
            ("The change of {path} was not approved", "Ask the user how to go on; nothing was changed.", None)
        }
        Code::OpaqueDocument => (
            "{path} has the name of an office document, which plain text would destroy",
            "Use a program that writes this format, or another name for the text.",
            None,
        ),
        Code::SqliteSidecar => (
            "{path} has the name of a SQLite journal, which belongs to a database and which text would destroy",
            "Use SQLite for the database, or another name for the text.",
            None,
        ),
        Code::PdfExists => (
            "{path} exists under the name of a PDF file, and text would destroy it",
            "Use a program that writes PDF, or another name for the text.",
            None,
        ),
        Code::BinaryExists => (
            "{path} exists under the name of a binary format, and text would destroy it",
            "Use a program that writes this format, or another name for the text.",
            None,
        ),
        Code::BinaryContent => (
            "{path} holds binary content, to which text tools do not apply",
            "Use a program that knows this format.",
            None,
        ),
        Code::NotUtf8 => (
            "{path} is in a legacy encoding, which writing it as a whole would not keep",
            "Change it with edit_file, which leaves every byte outside the edit as it is.",
            None,
        ),
        Code::NotRegular => (
            "{path} is not a regular file",
            "Name a regular file; list_dir shows what is in a directory.",
            None,
        ),
        Code::NotFound => {
            ("{path} does not exist", "Check the name; list_dir shows what its directory holds.", None)
        }
        Code::NotADirectory => {
            ("{path} is not a directory, or leads through something that is none", "Check the path.", None)
        }
        Code::Exists => (
            "{path} exists, and this call needs a free name",
            "Use another name, or change what is there with edit_file or write_file.",
            None,
        ),
        Code::NotRead => (
            "This actor has not read {path}, and the call would destroy what is there",
            "Read it, then make this call again.",
            Some(Tool::ReadFile),
        ),
        Code::PartiallyRead => (
            "Only a part of {path} was read by this actor",
            "Read the rest of it, then make this call again.",
            Some(Tool::ReadFile),
        ),
        Code::Stale => (
            "{path} is not what this actor has seen",
            "Read it again, then make a call that is right for what it is now.",
            Some(Tool::ReadFile),
        ),
        Code::Expectation => (
            "The version of {path} that this call expects is not the one that this actor has seen",
            "Read it, then expect the digest that the reading gives.",
            Some(Tool::ReadFile),
        ),
        Code::ToolEcho => (
            "The text for {path} is a display of a file, with a line number on every line",
            "Give the text without the line numbers; if they belong to it, set raw to true.",
            None,
        ),
        Code::TooLarge => {
            ("{path} is over a limit", "Work on a smaller part, or use a program made for large files.", None)
        }
        Code::EmptyOld => (
            "The text to replace in {path} is empty",
            "Give the text that is to be replaced; write_file makes a new file.",
            None,
        ),
        Code::NoChange => {
            ("The old and the new text for {path} are equal", "Give a new text that differs.", None)
        }
        Code::NoMatch => (
            "The text to replace does not occur in {path}",
            "Copy the old text exactly from what read_file shows, without the line numbers.",
            None,
        ),
        Code::Ambiguous => (
            "The text to replace occurs more than once in {path}",
            "Add neighbouring lines to it until it is unique, or set replace_all to true.",
            None,
        ),
        Code::AlreadyApplied => (
            "{path} has the new text already, once, and the old text nowhere",
            "Go on: the edit is made.",
            None,
        ),
        Code::Conflict => (
            "{path} was changed by others each time that this call tried",
            "Make this call again later.",
            None,
        ),
        Code::TornRead => ("{path} kept changing while it was read", "Make this call again later.", None),
        Code::UnstablePath => {
            ("{path} kept leading elsewhere while this call was made", "Make this call again later.", None)
        }
        Code::RootReplaced => (
            "{path} was left alone, because the workspace's root was moved or replaced",
            "Ask the user to open the workspace again.",
            None,
        ),
        Code::ReadOnlyFile => {
            ("{path} is marked read-only on the target", "Ask the user to make it writable first.", None)
        }
        Code::OpenForWriting => (
            "{path} is open for writing in another process",
            "Make this call again when that process has closed it.",
            None,
        ),
        Code::MetadataLoss => (
            "Replacing {path} would lose some of its metadata",
            "Ask the user; danger_lose_metadata accepts the loss.",
            None,
        ),
        Code::BusyMount => (
            "{path} is a mount point, which cannot be replaced",
            "Ask the user; writing in place is not safe against a crash and has to be chosen.",
            None,
        ),
        Code::TierUnavailable => (
            "{path} is on a filesystem that cannot publish a change as strongly as the policy requires",
            "Ask the user to relax `require` in the policy, or use another directory.",
            None,
        ),
        Code::NotEmpty => ("{path} is a directory that is not empty", "Delete what is in it first.", None),
        Code::PermissionDenied => {
            ("The target's permissions do not allow this on {path}", "Ask the user for the permission.", None)
        }
        Code::NoSpace => (
            "The target has no space left for {path}",
            "Ask the user to free some; nothing was changed.",
            None,
        ),
        Code::ReadOnlyFilesystem => {
            ("{path} is on a filesystem that is mounted read-only", "Use another directory.", None)
        }
        Code::IoError => ("The target reported an error on {path}", "Tell the user what it reported.", None),
        Code::Unsupported => ("The target cannot do this on {path}", "", None),
        Code::StateUnavailable => (
            "The target could not be asked about {path}, and nothing was done",
            "Make this call again when the target answers.",
            None,
        ),
        Code::TargetChanged => (
            "{path} was left alone, because the target is not the machine that was opened",
            "Ask the user to open the target again.",
            None,
        ),
        Code::OutcomeUnknown => (
            "The target's answer was lost: whether {path} was changed is not known",
            "Look at it with stat or read_file before anything else is done to it.",
            None,
        ),
        Code::InvalidPatch => (
            "The patch was not applied, and no file was changed",
            "Mend the patch as the message says, from what read_file shows now, and send it again as a whole.",
            None,
        ),
        Code::EnvironmentMismatch => (
            "The patch is meant for another environment than this one",
            "Send it there, or leave the environment out if it is meant for this one.",
            None,
        ),
        Code::AliasInPatch => (
            "{path} is the same file as another path of the patch",
            "Name each file once, by one path.",
            None,
        ),
        Code::CannotUndo => ("The change of {path} cannot be undone", "", None),
        Code::Cancelled => ("{path} was left alone, because the caller gave the call up", "", None),
    };
    Words { says, remedy, call }
}

impl Refusal {
    /// Makes the refusal of `code` for a path as it was requested.
    ///
    /// `detail` is what is particular to this case, without a full stop; it may be empty, and may have lines.
    ///
    /// # Examples
    ///
    /// ```
    /// use guard_policy::{Code, Refusal};
    ///
    /// let refusal = Refusal::new(Code::Ambiguous, "a.txt", "lines 3 and 9");
    /// assert_eq!(
    ///     refusal.message,
    ///     "The text to replace occurs more than once in `a.txt`: lines 3 and 9."
    /// );
    /// ```
    #[must_use]
    pub fn new(code: Code, path: &str, detail: &str) -> Self {
        let words = words(code);
        let mut message = words.says.replace("{path}", &shown(path));
        if detail.contains('\n') {
            let _ = write!(message, ":\n{detail}");
        } else if detail.is_empty() {
            message.push('.');
        } else {
            let _ = write!(message, ": {detail}.");
        }
        let remedy = (!words.remedy.is_empty()).then(|| Remedy {
            sentence: words.remedy.to_owned(),
            call: words.call.map(|tool| RemedyCall::on(tool, path)),
        });
        Self { code, message, remedy, left: Vec::new(), changed: None }
    }

    /// Makes the refusal of a text that is no path.
    #[must_use]
    pub fn invalid_path(text: &str, error: PathError) -> Self {
        Self::new(Code::InvalidPath, text, &error.to_string())
    }

    /// Makes the `not-read` of deletions: what is removed has to have been seen, if only as metadata.
    ///
    /// One refusal for all paths of a call; the remedy is one `stat` of them, which records what it delivers.
    #[must_use]
    pub fn not_seen(paths: &[&str]) -> Self {
        let sentence = "Look at it with stat, then make this call again.";
        let why = "what is deleted has to have been seen, if only by stat";
        if let [path] = paths {
            return Self::new(Code::NotRead, path, why)
                .with_remedy(sentence, RemedyCall::on(Tool::Stat, path));
        }
        let rest: Vec<String> = paths.iter().skip(1).map(|path| shown(path)).collect();
        let why = format!("{why}; the same holds for {}", rest.join(", "));
        let texts = paths.iter().map(|path| (*path).to_owned()).collect();
        let arguments = BTreeMap::from([("paths".to_owned(), Argument::Texts(texts))]);
        Self::new(Code::NotRead, paths.first().copied().unwrap_or_default(), &why).with_remedy(
            "Look at them with one stat, then make this call again.",
            RemedyCall { tool: Tool::Stat, arguments },
        )
    }

    /// Makes the `partially-read` of a version of which `missing` was not delivered yet.
    #[must_use]
    pub fn partially_read(path: &str, missing: Range<u64>) -> Self {
        let mut call = RemedyCall::on(Tool::ReadFile, path);
        let length = missing.end.saturating_sub(missing.start);
        call.arguments.insert("bytes".to_owned(), Argument::Window { offset: missing.start, length });
        let detail = format!("bytes {} to {} are missing", missing.start, missing.end);
        Self::new(Code::PartiallyRead, path, &detail)
            .with_remedy("Read the rest of it, then make this call again.", call)
    }

    /// Makes the `stale` of a path where `found` is now.
    #[must_use]
    pub fn stale(path: &str, found: &FileState) -> Self {
        match found {
            FileState::Regular { .. } => Self::new(Code::Stale, path, "it was changed since"),
            FileState::Absent => Self::new(Code::Stale, path, "it is absent now").with_remedy(
                "Look again with stat; after that a write makes the file anew.",
                RemedyCall::on(Tool::Stat, path),
            ),
            other => Self::new(Code::Stale, path, &format!("it is {} now", other.describe())).with_remedy(
                "Look again with stat, then make a call that is right for what it is now.",
                None,
            ),
        }
    }

    /// Names the version that was seen and the one that was found, where both are known and differ.
    #[must_use]
    pub fn since(self, path: &str, seen: Option<Digest>, found: &FileState) -> Self {
        match (seen, found.digest()) {
            (Some(seen), Some(now)) if now != seen => {
                self.with_changed(path, Changed { seen, now, lines: Vec::new(), more: false, gone: None })
            }
            _ => self,
        }
    }

    /// Says what changed of a `stale` file since it was seen.
    #[must_use]
    pub fn with_changed(mut self, path: &str, changed: Changed) -> Self {
        let mut detail = format!("{} was seen, and {} is there", short(changed.seen), short(changed.now));
        let spans: Vec<String> = changed.lines.iter().map(LineSpan::to_string).collect();
        match (&spans[..], changed.more) {
            ([], _) => {}
            (_, true) => {
                let _ = write!(detail, "; lines {} and more are not as they were seen", spans.join(", "));
            }
            ([span], false) if !span.contains('-') => {
                let _ = write!(detail, "; line {span} is not as it was seen");
            }
            (_, false) => {
                let _ = write!(detail, "; lines {} are not as they were seen", spans.join(", "));
            }
        }
        match changed.gone {
            None | Some(0) => {}
            Some(1) => detail.push_str("; a line that was seen is gone"),
            Some(gone) => {
                let _ = write!(detail, "; {gone} lines that were seen are gone");
            }
        }
        self.message = Self::new(self.code, path, &detail).message;
        self.changed = Some(Box::new(changed));
        self
    }

    /// Makes the `binary-exists` or `pdf-exists` of a file whose name is of that format, but whose content is text.
    #[must_use]
    pub fn text_exists(code: Code, path: &str) -> Self {
        Self::new(code, path, "its content is text, which this actor has not read as a whole")
            .with_remedy("Read all of it, then make this call again.", RemedyCall::on(Tool::ReadFile, path))
    }

    /// Replaces the remedy: a sentence, and the call that settles it, where one does.
    #[must_use]
    pub fn with_remedy(mut self, sentence: impl Into<String>, call: impl Into<Option<RemedyCall>>) -> Self {
        self.remedy = Some(Remedy { sentence: sentence.into(), call: call.into() });
        self
    }

    /// Adds names under which bytes were kept or left on the target.
    #[must_use]
    pub fn with_left(mut self, left: impl IntoIterator<Item = String>) -> Self {
        self.left.extend(left);
        self
    }
}

impl RemedyCall {
    /// Makes the call of `tool` with the path alone.
    #[must_use]
    pub fn on(tool: Tool, path: &str) -> Self {
        Self { tool, arguments: BTreeMap::from([("path".to_owned(), Argument::Text(path.to_owned()))]) }
    }
}

impl fmt::Display for LineSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(f, "{}", self.first)
        } else {
            write!(f, "{}-{}", self.first, self.last)
        }
    }
}

/// Shortens a digest to what tells two versions apart for a person.
fn short(digest: Digest) -> String {
    let text = digest.to_string();
    text.get(..19).unwrap_or(&text).to_owned()
}

/// Quotes a path for a sentence: control characters are escaped, and what is too long for a path is cut.
fn shown(path: &str) -> String {
    let mut text = String::with_capacity(path.len() + 2);
    text.push('`');
    for (at, c) in path.char_indices() {
        if at >= PATH_MAX {
            text.push('…');
            break;
        }
        if c.is_control() { text.extend(c.escape_default()) } else { text.push(c) }
    }
    text.push('`');
    text
}
