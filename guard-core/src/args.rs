//! The arguments of the tools, as a model or a host gives them.
//!
//! Unknown arguments are refused, naming the allowed ones: a silently ignored `dryRun` would write.

use guard_policy::{Digest, EolPolicy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reads a file, by lines or by bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadFile {
    /// The file: relative to the workspace root, absolute, or below `~`.
    #[serde(alias = "file_path")]
    pub path: String,
    /// First line, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub offset: Option<u64>,
    /// Number of lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub limit: Option<u64>,
    /// A window of bytes instead of lines: for lines that were cut as too long, and for large files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<ByteWindow>,
    /// Whether lines are shown with their numbers.
    #[serde(default)]
    pub display: Display,
}

impl ReadFile {
    /// Reads the file's first page.
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), ..Self::default() }
    }
}

/// A window of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ByteWindow {
    /// First byte, counted from 0.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
}

/// How lines are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Display {
    /// With a gutter: the number right-aligned to six places, and a tab.
    #[default]
    Numbered,
    /// As they are.
    Plain,
}

/// Writes a whole file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "a tool's arguments are flags by name in JSON")]
pub struct WriteFile {
    /// The file: relative to the workspace root, absolute, or below `~`.
    #[serde(alias = "file_path")]
    pub path: String,
    /// The whole new content.
    pub content: String,
    /// What has to be there: `absent`, or the digest of a content. It narrows what may happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<ExpectArg>,
    /// Whether the EOL and BOM of the old content are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eol: Option<EolPolicy>,
    /// Whether a new file is executable.
    #[serde(default)]
    pub executable: bool,
    /// Writes content that looks like a display of a file with line numbers.
    #[serde(default)]
    pub raw: bool,
    /// Shows the verdict and the diff and changes nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// Accepts that the owner, ACL or extended attributes of the old file are lost.
    #[serde(default)]
    pub danger_lose_metadata: bool,
    /// Writes a mount point in place, which is not crash-atomic.
    #[serde(default)]
    pub danger_in_place: bool,
}

impl WriteFile {
    /// Writes this content.
    pub fn new(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self { path: path.into(), content: content.into(), ..Self::default() }
    }
}

/// The version that a caller expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectArg {
    /// Nothing is there.
    Absent,
    /// A file with this content is there.
    Content(Digest),
}

impl std::str::FromStr for ExpectArg {
    type Err = guard_policy::ParseDigestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "absent" { Ok(Self::Absent) } else { text.parse().map(Self::Content) }
    }
}

impl Serialize for ExpectArg {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absent => serializer.serialize_str("absent"),
            Self::Content(digest) => digest.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ExpectArg {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|error| {
            serde::de::Error::custom(format_args!("expect is `absent` or a digest; {error}"))
        })
    }
}

impl JsonSchema for ExpectArg {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Expect".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^(absent|sha256:[0-9a-fA-F]{64})$" })
    }
}

/// Replaces texts in a file: every edit, or none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "a tool's arguments are flags by name in JSON")]
pub struct EditFile {
    /// The file: relative to the workspace root, absolute, or below `~`.
    #[serde(alias = "file_path")]
    pub path: String,
    /// The edits, each made in the result of those before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<Edit>,
    /// The text of a single edit; it has to occur exactly once.
    #[serde(default, alias = "old_string", alias = "oldText", skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// What a single edit puts in its place.
    #[serde(default, alias = "new_string", alias = "newText", skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
    /// Replaces every occurrence of a single edit's text.
    #[serde(default)]
    pub replace_all: bool,
    /// Shows the verdict and the diff and changes nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// Accepts that the owner, ACL or extended attributes of the old file are lost.
    #[serde(default)]
    pub danger_lose_metadata: bool,
    /// Writes a mount point in place, which is not crash-atomic.
    #[serde(default)]
    pub danger_in_place: bool,
}

impl EditFile {
    /// Makes a single edit, of a text that occurs exactly once.
    pub fn new(path: impl Into<String>, old: impl Into<String>, new: impl Into<String>) -> Self {
        Self { path: path.into(), old: Some(old.into()), new: Some(new.into()), ..Self::default() }
    }
}

/// One replacement.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// The text; it has to occur exactly once.
    #[serde(alias = "old_string", alias = "oldText")]
    pub old: String,
    /// What is put in its place.
    #[serde(alias = "new_string", alias = "newText")]
    pub new: String,
    /// Replaces every occurrence.
    #[serde(default)]
    pub replace_all: bool,
}

/// Deletes a file or a link.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteFile {
    /// The file or link; a link is deleted itself.
    #[serde(alias = "file_path")]
    pub path: String,
    /// Shows the verdict and changes nothing.
    #[serde(default)]
    pub dry_run: bool,
}

impl DeleteFile {
    /// Deletes what is at the path.
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), ..Self::default() }
    }
}

/// Moves a file or a link to a free name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveFile {
    /// The file or link; a link is moved itself.
    pub from: String,
    /// The new name; nothing may be there.
    pub to: String,
    /// Shows the verdict and changes nothing.
    #[serde(default)]
    pub dry_run: bool,
}

impl MoveFile {
    /// Moves from one name to the other.
    pub fn new(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self { from: from.into(), to: to.into(), ..Self::default() }
    }
}

/// Makes a directory, and its parents.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MakeDir {
    /// The directory.
    pub path: String,
    /// Shows the verdict and changes nothing.
    #[serde(default)]
    pub dry_run: bool,
}

impl MakeDir {
    /// Makes the directory.
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), ..Self::default() }
    }
}

/// Lists a directory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListDir {
    /// The directory; the workspace root where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Entries after this one: the `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Number of entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Tells what is at a path, or at several.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatPaths {
    /// The path.
    #[serde(default, alias = "file_path", skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Several paths, in one request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

impl StatPaths {
    /// Asks about one path.
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..Self::default() }
    }
}

/// Applies a V4A patch: all of it, or nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyPatch {
    /// The patch, from `*** Begin Patch` to `*** End Patch`.
    #[serde(alias = "input")]
    pub patch: String,
    /// Shows the verdict and the diffs and changes nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// Accepts that the owner, ACL or extended attributes of an old file are lost.
    #[serde(default)]
    pub danger_lose_metadata: bool,
    /// Does what the reference engine does where it differs: not for a model to choose.
    #[serde(skip)]
    pub danger_codex: bool,
}

impl ApplyPatch {
    /// Applies the patch.
    pub fn new(patch: impl Into<String>) -> Self {
        Self { patch: patch.into(), ..Self::default() }
    }
}
