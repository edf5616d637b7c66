//! What an integrator can set: `guard.toml`.

use serde::{Deserialize, Serialize};

use crate::{Access, TargetPath, Tool};

/// The rules of a guard and their limits; unknown keys are errors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// The workspace: directories of the target, absolute or `~/x`; they may be written to, and the first is the base of
    /// relative paths. Whoever opens the guard may name others before them.
    #[serde(deserialize_with = "root_paths")]
    pub roots: Vec<String>,
    /// More directories of the target that may be reached, and what may be done there.
    pub allow: Vec<AllowedRoot>,
    /// Whether locations are held to the roots. `false` is spelt out in every receipt.
    pub restrict: bool,
    /// Whether what actors have seen is recorded and checked.
    pub views: Switch,
    /// What a write over a file that the actor has not seen is.
    pub unseen: Unseen,
    /// What a deletion of a file that the actor has not seen is.
    pub delete_unseen: DeleteUnseen,
    /// Whether a whole-file write keeps the EOL and BOM of the version it replaces.
    pub eol: EolPolicy,
    /// The weakest primitive that may publish a replacement.
    pub require: Require,
    /// What a file that is open for writing elsewhere is.
    pub open_writers: OpenWriters,
    /// Whether no tool may write.
    pub read_only: bool,
    /// Tools that do not exist for this guard.
    pub disabled_tools: Vec<Tool>,
    /// The rules, each with its switch.
    pub rules: Rules,
    /// Limits.
    pub limits: Limits,
    /// More names (as in the protected table: a file name, or `dir/name`) that change only with an approver.
    #[serde(deserialize_with = "protected_names")]
    pub protected: Vec<String>,
    /// More target paths (absolute, or `~/x`), each with everything below it, that tools do not touch: they are
    /// neither changed nor read, and only `stat` and `list_dir` are free.
    ///
    /// The guard's own configuration, undo store and audit log are put here by whoever opens the guard. The list
    /// holds whatever [`Rules`] say.
    #[serde(deserialize_with = "sensitive_paths")]
    pub sensitive: Vec<String>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            roots: Vec::new(),
            allow: Vec::new(),
            restrict: true,
            views: Switch::On,
            unseen: Unseen::Refuse,
            delete_unseen: DeleteUnseen::Refuse,
            eol: EolPolicy::Preserve,
            require: Require::Any,
            open_writers: OpenWriters::Refuse,
            read_only: false,
            disabled_tools: Vec::new(),
            rules: Rules::default(),
            limits: Limits::default(),
            protected: Vec::new(),
            sensitive: Vec::new(),
        }
    }
}

/// A directory beside the workspace that may be reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AllowedRoot {
    /// Where it is on the target: absolute, or `~/x`.
    #[serde(deserialize_with = "root_path")]
    pub path: String,
    /// What may be done there: `ro` or `rw`.
    pub access: Access,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

/// What a write over a file that the actor has not seen is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unseen {
    /// Refused.
    Refuse,
    /// Allowed: the guard reads first and commits over what it read.
    Allow,
}

/// What a deletion of a file that the actor has not seen is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DeleteUnseen {
    /// Refused.
    Refuse,
    /// Allowed: the guard looks first and removes what it found.
    DangerAllow,
}

/// Whether a whole-file write keeps the EOL and BOM of what it replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EolPolicy {
    /// Where what is replaced was uniformly CRLF or had a BOM, and the new text is uniformly LF without one, they
    /// are kept.
    Preserve,
    /// The bytes given are the bytes written.
    Exact,
}

/// The weakest primitive that may publish a replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Require {
    /// Whatever the directory's filesystem has.
    Any,
    /// An atomic exchange (or no-replace creation) only.
    Exchange,
}

/// What a file that is open for writing elsewhere is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OpenWriters {
    /// Refused.
    Refuse,
    /// Replaced all the same; what the writer does later to the old inode is lost, and the receipt says so.
    Allow,
}

/// The rules that can be switched; all are on by default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Office documents.
    pub opaque_documents: Switch,
    /// SQLite journals.
    pub sqlite_sidecars: Switch,
    /// PDF files.
    pub pdf: Switch,
    /// Extensions of binary formats.
    pub binary_only: Switch,
    /// Content classes: UTF-16, legacy encodings, NUL.
    pub content_classes: Switch,
    /// System and configuration paths.
    pub sensitive_paths: Switch,
    /// Credentials, for reading too.
    pub secrets: Switch,
    /// Instructions for agents.
    pub protected_instructions: Switch,
    /// Content that is a display of a file.
    pub tool_echo: Switch,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            opaque_documents: Switch::On,
            sqlite_sidecars: Switch::On,
            pdf: Switch::On,
            binary_only: Switch::On,
            content_classes: Switch::On,
            sensitive_paths: Switch::On,
            secrets: Switch::On,
            protected_instructions: Switch::On,
            tool_echo: Switch::On,
        }
    }
}

/// Limits, in bytes unless said otherwise; none is zero, with which nothing could ever be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Lines that one read delivers at most.
    #[serde(deserialize_with = "positive")]
    pub read_lines: u64,
    /// Bytes that one read delivers at most.
    #[serde(deserialize_with = "positive")]
    pub read_bytes: u64,
    /// Bytes of one line that a read delivers at most.
    #[serde(deserialize_with = "positive")]
    pub line_bytes: u64,
    /// Largest file that tools take as a whole (reading by lines, editing).
    #[serde(deserialize_with = "positive")]
    pub file_bytes: u64,
    /// Largest content that a write takes.
    #[serde(deserialize_with = "positive")]
    pub write_bytes: u64,
    /// Largest patch text.
    #[serde(deserialize_with = "positive")]
    pub patch_bytes: u64,
    /// Largest file that gets a digest; above it edits and unseen deletes are `too-large`.
    #[serde(deserialize_with = "positive")]
    pub digest: u64,
    /// Entries that one listing delivers at most.
    #[serde(deserialize_with = "positive")]
    pub list_entries: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            read_lines: 2_000,
            read_bytes: 256 << 10,
            line_bytes: 2_000,
            file_bytes: 64 << 20,
            write_bytes: 64 << 20,
            patch_bytes: 16 << 20,
            digest: 256 << 20,
            list_entries: 1_000,
        }
    }
}

/// Takes entries that can match something: a relative one would silently protect nothing.
fn sensitive_paths<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let entries = Vec::<String>::deserialize(deserializer)?;
    for entry in &entries {
        let below = entry.strip_prefix('~').unwrap_or(entry);
        if TargetPath::new(below.strip_suffix('/').unwrap_or(below)).is_err() {
            return Err(not_a_place("sensitive", entry));
        }
    }
    Ok(entries)
}

/// Takes directories that have one meaning on a target: the guard has no working directory there.
fn root_paths<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let entries = Vec::<String>::deserialize(deserializer)?;
    match entries.iter().find(|entry| !is_root_path(entry)) {
        Some(entry) => Err(not_a_place("roots", entry)),
        None => Ok(entries),
    }
}

fn root_path<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let entry = String::deserialize(deserializer)?;
    if is_root_path(&entry) { Ok(entry) } else { Err(not_a_place("allow", &entry)) }
}

fn is_root_path(entry: &str) -> bool {
    entry == "~" || TargetPath::new(entry.strip_prefix('~').unwrap_or(entry)).is_ok()
}

fn not_a_place<E: serde::de::Error>(key: &str, entry: &str) -> E {
    E::custom(format!("{key}: {entry:?} is neither an absolute and normal path nor `~/` and one"))
}

/// Takes names below any directory.
fn protected_names<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let entries = Vec::<String>::deserialize(deserializer)?;
    for entry in &entries {
        if TargetPath::new(format!("/{entry}")).is_err() || entry.is_empty() {
            let wrong = format!("protected: {entry:?} is neither a file name nor `dir/name`");
            return Err(serde::de::Error::custom(wrong));
        }
    }
    Ok(entries)
}

fn positive<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    std::num::NonZeroU64::deserialize(deserializer).map(std::num::NonZeroU64::get)
}
