//! Paths: what a caller typed, and where it is on the target.

use std::fmt;

use serde::{Deserialize, Serialize};
use typed_path::Utf8UnixPath;

/// The longest path that is accepted, in bytes: `PATH_MAX` of Linux less the terminating NUL.
pub const PATH_MAX: usize = 4095;
/// The longest component that is accepted, in bytes: `NAME_MAX` of Linux.
pub const NAME_MAX: usize = 255;

/// A text that is no path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The text is empty.
    #[error("the path is empty")]
    Empty,
    /// The text holds a NUL.
    #[error("the path holds a NUL")]
    Nul,
    /// The text is longer than [`PATH_MAX`].
    #[error("the path has {0} bytes; 4095 is the limit")]
    TooLong(usize),
    /// A component is longer than [`NAME_MAX`].
    #[error("a component of the path has {0} bytes; 255 is the limit")]
    NameTooLong(usize),
    /// A target path has to be absolute and normal: no `.`, `..`, empty component or trailing slash.
    #[error("the path is not absolute and normal")]
    NotNormal,
}

fn check_text(text: &str) -> Result<(), PathError> {
    if text.is_empty() {
        return Err(PathError::Empty);
    }
    if text.contains('\0') {
        return Err(PathError::Nul);
    }
    if text.len() > PATH_MAX {
        return Err(PathError::TooLong(text.len()));
    }
    match text.split('/').map(str::len).find(|len| *len > NAME_MAX) {
        Some(len) => Err(PathError::NameTooLong(len)),
        None => Ok(()),
    }
}

/// An absolute, normal POSIX path on the target: UTF-8, no NUL, no `.` or `..`, no trailing slash.
///
/// It is never a `std::path::Path`, so that it cannot be opened on this machine by mistake.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct TargetPath(String);

impl TargetPath {
    /// Takes a path that is absolute and normal already.
    ///
    /// # Errors
    ///
    /// [`PathError`] says what is wrong with the text.
    pub fn new(text: impl Into<String>) -> Result<Self, PathError> {
        let text = text.into();
        check_text(&text)?;
        let below = text.strip_prefix('/').ok_or(PathError::NotNormal)?;
        if !below.is_empty() && below.split('/').any(|name| matches!(name, "" | "." | "..")) {
            return Err(PathError::NotNormal);
        }
        Ok(Self(text))
    }

    /// Returns `/`.
    #[must_use]
    pub fn root() -> Self {
        Self("/".to_owned())
    }

    /// Returns the path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the final component; `/` has none and gives the empty text.
    #[must_use]
    pub fn name(&self) -> &str {
        self.components().next_back().unwrap_or_default()
    }

    /// Returns the components, the root not counted.
    #[must_use]
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    /// Returns the directory that holds this name; `/` has none.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        Utf8UnixPath::new(&self.0).parent().map(|parent| Self(parent.as_str().to_owned()))
    }

    /// Appends one component.
    ///
    /// # Errors
    ///
    /// [`PathError`] where `name` is no single component or the whole would be too long.
    pub fn child(&self, name: &str) -> Result<Self, PathError> {
        let slash = if self.0 == "/" { "" } else { "/" };
        if name.contains('/') {
            return Err(PathError::NotNormal);
        }
        Self::new(format!("{}{slash}{name}", self.0))
    }

    /// Tells whether `base` is this path or one of its parents, by whole components.
    #[must_use]
    pub fn starts_with(&self, base: &Self) -> bool {
        self.below(base).is_some()
    }

    /// Returns the part below `base`, without a leading slash; empty where they are equal.
    #[must_use]
    pub fn below(&self, base: &Self) -> Option<&str> {
        if base.0 == "/" {
            return Some(&self.0[1..]);
        }
        let rest = self.0.strip_prefix(&base.0)?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
    }
}

impl fmt::Display for TargetPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for TargetPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<'de> Deserialize<'de> for TargetPath {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for TargetPath {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TargetPath".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^/" })
    }
}

/// What a caller typed: absolute, relative to the first root, or below the target's home (`~`, `~/x`).
///
/// `~user`, `$VAR`, `%2e` and globs are literal names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestedPath {
    text: String,
    base: Base,
    steps: Vec<String>,
    trailing: Trailing,
}

/// What a requested path starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Base {
    /// The target's `/`.
    Absolute,
    /// The target's home directory.
    Home,
    /// The first root.
    FirstRoot,
}

/// How a requested path ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trailing {
    /// With a name (or `..`).
    Name,
    /// With a slash or `/.`, which demands a directory.
    Directory,
}

impl RequestedPath {
    /// Parses what a caller typed.
    ///
    /// # Errors
    ///
    /// [`PathError`] says what is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        check_text(text)?;
        let (base, rest) = match text {
            "~" => (Base::Home, ""),
            _ => match (text.strip_prefix("~/"), text.strip_prefix('/')) {
                (Some(rest), _) => (Base::Home, rest),
                (_, Some(rest)) => (Base::Absolute, rest),
                _ => (Base::FirstRoot, text),
            },
        };
        let steps: Vec<String> =
            rest.split('/').filter(|step| !matches!(*step, "" | ".")).map(str::to_owned).collect();
        let trailing = if rest.ends_with('/') || rest.ends_with("/.") || steps.is_empty() {
            Trailing::Directory
        } else {
            Trailing::Name
        };
        Ok(Self { text: text.to_owned(), base, steps, trailing })
    }

    /// Returns the text as it was typed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns what the path starts from.
    #[must_use]
    pub const fn base(&self) -> Base {
        self.base
    }

    /// Returns the components, `..` among them, without `.` and empty ones.
    #[must_use]
    pub fn steps(&self) -> &[String] {
        &self.steps
    }

    /// Returns how the path ends.
    #[must_use]
    pub const fn trailing(&self) -> Trailing {
        self.trailing
    }
}
