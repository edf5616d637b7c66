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
///
/// # Examples
///
/// ```
/// use guard_policy::{PathError, TargetPath};
///
/// let root = TargetPath::new("/srv/app")?;
/// let file = root.child("notes.txt")?;
/// assert_eq!((file.as_str(), file.name()), ("/srv/app/notes.txt", "notes.txt"));
/// assert!(file.starts_with(&root));
/// // By whole components, never by the beginning of the text.
/// assert!(!TargetPath::new("/srv/app2")?.starts_with(&root));
/// assert_eq!(TargetPath::new("/srv/../etc"), Err(PathError::NotNormal));
/// # Ok::<(), PathError>(())
/// ```
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
///
/// # Examples
///
/// ```
/// use guard_policy::{Base, PathError, RequestedPath, Trailing};
///
/// let path = RequestedPath::parse("./src//main.rs")?;
/// assert_eq!((path.base(), path.trailing()), (Base::FirstRoot, Trailing::Name));
/// assert_eq!(path.steps(), ["src", "main.rs"]);
/// assert_eq!(RequestedPath::parse("~/notes/")?.base(), Base::Home);
/// assert_eq!(RequestedPath::parse("~root")?.base(), Base::FirstRoot);
/// # Ok::<(), PathError>(())
/// ```
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

impl Base {
    /// Tells what a path that was typed starts from.
    pub(crate) fn of(text: &str) -> Self {
        if text.starts_with('/') {
            Self::Absolute
        } else if text == "~" || text.starts_with("~/") {
            Self::Home
        } else {
            Self::FirstRoot
        }
    }
}

impl Trailing {
    /// Tells how a path that was typed ends.
    pub(crate) fn of(text: &str) -> Self {
        let directory = matches!(text, "." | "~") || text.ends_with('/') || text.ends_with("/.");
        if directory { Self::Directory } else { Self::Name }
    }
}

impl RequestedPath {
    /// Parses what a caller typed.
    ///
    /// # Errors
    ///
    /// [`PathError`] says what is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        check_text(text)?;
        let base = Base::of(text);
        let rest = if base == Base::Home { &text[1..] } else { text };
        let steps: Vec<String> =
            rest.split('/').filter(|step| !matches!(*step, "" | ".")).map(str::to_owned).collect();
        let trailing = Trailing::of(text);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_no_path_says_what_is_wrong() {
        let long = |bytes: usize| "a/".repeat(bytes / 2) + &"b".repeat(bytes % 2);
        let name = |bytes: usize| format!("dir/{}", "n".repeat(bytes));
        for (text, error) in [
            ("", Some(PathError::Empty)),
            ("\0", Some(PathError::Nul)),
            ("/a\0b", Some(PathError::Nul)),
            (&long(4095), None),
            (&long(4096), Some(PathError::TooLong(4096))),
            (&long(4097), Some(PathError::TooLong(4097))),
            (&name(255), None),
            (&name(256), Some(PathError::NameTooLong(256))),
            // Bytes are counted, not characters.
            (&"é".repeat(127), None),
            (&"é".repeat(128), Some(PathError::NameTooLong(256))),
        ] {
            assert_eq!(RequestedPath::parse(text).err(), error, "{} bytes", text.len());
        }
    }

    #[test]
    fn what_was_typed_is_taken_apart_and_nothing_is_expanded() {
        use Base::{Absolute, FirstRoot, Home};
        use Trailing::{Directory, Name};
        let cases: &[(&str, Base, &[&str], Trailing)] = &[
            ("a", FirstRoot, &["a"], Name),
            ("./a", FirstRoot, &["a"], Name),
            ("a/b", FirstRoot, &["a", "b"], Name),
            ("a//b", FirstRoot, &["a", "b"], Name),
            ("a/./b", FirstRoot, &["a", "b"], Name),
            ("a/../b", FirstRoot, &["a", "..", "b"], Name),
            ("..", FirstRoot, &[".."], Name),
            ("../x", FirstRoot, &["..", "x"], Name),
            ("a/..", FirstRoot, &["a", ".."], Name),
            ("a/", FirstRoot, &["a"], Directory),
            ("a//", FirstRoot, &["a"], Directory),
            ("a/.", FirstRoot, &["a"], Directory),
            ("a/./", FirstRoot, &["a"], Directory),
            ("../", FirstRoot, &[".."], Directory),
            (".", FirstRoot, &[], Directory),
            ("./", FirstRoot, &[], Directory),
            ("a.", FirstRoot, &["a."], Name),
            ("...", FirstRoot, &["..."], Name),
            (".hidden", FirstRoot, &[".hidden"], Name),
            ("/", Absolute, &[], Directory),
            ("//", Absolute, &[], Directory),
            ("/.", Absolute, &[], Directory),
            ("/..", Absolute, &[".."], Name),
            ("/a", Absolute, &["a"], Name),
            ("//x", Absolute, &["x"], Name),
            ("///x//y", Absolute, &["x", "y"], Name),
            ("~", Home, &[], Directory),
            ("~/", Home, &[], Directory),
            ("~/x", Home, &["x"], Name),
            ("~//x/", Home, &["x"], Directory),
            ("~root", FirstRoot, &["~root"], Name),
            ("~root/x", FirstRoot, &["~root", "x"], Name),
            ("./~", FirstRoot, &["~"], Name),
            ("a/~", FirstRoot, &["a", "~"], Name),
            ("/~", Absolute, &["~"], Name),
            ("$HOME", FirstRoot, &["$HOME"], Name),
            ("$HOME/x", FirstRoot, &["$HOME", "x"], Name),
            ("%2e%2e", FirstRoot, &["%2e%2e"], Name),
            ("%2e%2e/x", FirstRoot, &["%2e%2e", "x"], Name),
            ("*.txt", FirstRoot, &["*.txt"], Name),
            ("a\\b", FirstRoot, &["a\\b"], Name),
            ("C:\\x", FirstRoot, &["C:\\x"], Name),
            (" a ", FirstRoot, &[" a "], Name),
            ("a\nb", FirstRoot, &["a\nb"], Name),
            ("-rf", FirstRoot, &["-rf"], Name),
            ("'\"", FirstRoot, &["'\""], Name),
        ];
        for (text, base, steps, trailing) in cases {
            let path = RequestedPath::parse(text).unwrap();
            assert_eq!((path.base(), path.trailing()), (*base, *trailing), "{text:?}");
            assert_eq!(path.steps(), *steps, "{text:?}");
            assert_eq!(path.as_str(), *text);
        }
    }

    #[test]
    fn a_target_path_is_absolute_and_normal() {
        for text in ["/", "/a", "/a/b", "/a b", "/~", "/...", "/.a", "/a.", "/$HOME", "/%2e%2e", "/a\nb"] {
            let path = TargetPath::new(text).unwrap();
            assert_eq!(path.as_str(), text);
            let json = serde_json::to_string(&path).unwrap();
            assert_eq!(serde_json::from_str::<TargetPath>(&json).unwrap(), path);
        }
        for text in
            ["a", "~", "~/x", "./a", "//", "//x", "/a//b", "/a/", "/.", "/a/.", "/a/./b", "/..", "/a/../b"]
        {
            assert_eq!(TargetPath::new(text), Err(PathError::NotNormal), "{text:?}");
            let json = serde_json::to_string(text).unwrap();
            assert!(serde_json::from_str::<TargetPath>(&json).is_err(), "{text:?}");
        }
        assert_eq!(TargetPath::new(""), Err(PathError::Empty));
        assert_eq!(TargetPath::new("/a\0"), Err(PathError::Nul));
        assert_eq!(TargetPath::new("/a".repeat(2048)), Err(PathError::TooLong(4096)));
        assert_eq!(TargetPath::new(format!("/{}", "n".repeat(256))), Err(PathError::NameTooLong(256)));
    }

    #[test]
    fn a_path_is_below_another_by_whole_components() {
        for (path, base, below) in [
            ("/ws/a", "/ws", Some("a")),
            ("/ws/a/b", "/ws", Some("a/b")),
            ("/ws", "/ws", Some("")),
            ("/ws", "/", Some("ws")),
            ("/", "/", Some("")),
            ("/ws2", "/ws", None),
            ("/ws-evil/a", "/ws", None),
            ("/w", "/ws", None),
            ("/", "/ws", None),
            ("/WS/a", "/ws", None),
        ] {
            let (path, base) = (TargetPath::new(path).unwrap(), TargetPath::new(base).unwrap());
            assert_eq!(path.below(&base), below, "{path} below {base}");
            assert_eq!(path.starts_with(&base), below.is_some());
        }
    }

    #[test]
    fn a_target_path_has_a_parent_a_name_and_children() {
        let path = TargetPath::new("/a/b").unwrap();
        assert_eq!(path.name(), "b");
        assert_eq!(path.parent(), TargetPath::new("/a").ok());
        assert_eq!(TargetPath::new("/a").unwrap().parent(), Some(TargetPath::root()));
        assert_eq!((TargetPath::root().parent(), TargetPath::root().name()), (None, ""));
        assert_eq!(TargetPath::root().child("a"), TargetPath::new("/a"));
        for (name, error) in [
            ("", PathError::NotNormal),
            (".", PathError::NotNormal),
            ("..", PathError::NotNormal),
            ("a/b", PathError::NotNormal),
            ("a\0", PathError::Nul),
        ] {
            assert_eq!(path.child(name), Err(error), "{name:?}");
        }
    }
}
