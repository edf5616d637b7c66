//! Which folder of this machine stands for which path of the target's.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Maps the paths of a target's namespace to folders of this machine, and back.
///
/// Paths are compared name by name, never as strings: `/srv/application` is not below `/srv/app`. The mapping with the
/// most names wins. What is below none is below a folder that does not exist, so that no path of the target means the
/// file of the same path here.
///
/// ```
/// use guard_testkit::transport::Namespace;
///
/// let namespace = Namespace::new().map("/srv/app", "/tmp/a").map("/home/agent", "/tmp/b");
/// assert_eq!(namespace.to_folder(b"/srv/app/src/x"), b"/tmp/a/src/x");
/// assert_eq!(namespace.to_name(b"/tmp/b"), b"/home/agent");
/// assert!(namespace.to_folder(b"/srv/application").starts_with(b"/nowhere-"));
/// ```
#[derive(Debug, Clone)]
pub struct Namespace {
    mappings: Vec<Mapping>,
    nowhere: Vec<u8>,
}

#[derive(Debug, Clone)]
struct Mapping {
    name: Vec<u8>,
    folder: Vec<u8>,
}

impl Namespace {
    /// Starts without any path.
    #[must_use]
    pub fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let nth = COUNT.fetch_add(1, Ordering::Relaxed);
        let nowhere = format!("/nowhere-{}-{nth}", std::process::id()).into_bytes();
        Self { mappings: Vec::new(), nowhere }
    }

    /// Lets `folder` stand for what is called `name` on the target; `/` stands for everything.
    ///
    /// The folder's path has to be free of links, or the shell will answer with another one.
    ///
    /// # Panics
    ///
    /// If a path is not absolute, or has empty names, `.` or `..` in it.
    #[must_use]
    pub fn map(mut self, name: &str, folder: impl AsRef<Path>) -> Self {
        let folder = folder.as_ref().as_os_str().as_bytes();
        for path in [name.as_bytes(), folder] {
            let plain = |name: &[u8]| !matches!(name, b"" | b"." | b"..");
            let normal = path == b"/"
                || path.strip_prefix(b"/").is_some_and(|path| path.split(|byte| *byte == b'/').all(plain));
            assert!(normal, "{} is not a plain absolute path", path.escape_ascii());
        }
        self.mappings.push(Mapping { name: name.into(), folder: folder.into() });
        self
    }

    /// Returns where a path of the target is on this machine. A path that is not absolute stays.
    #[must_use]
    pub fn to_folder(&self, path: &[u8]) -> Vec<u8> {
        if !path.starts_with(b"/") {
            return path.to_vec();
        }
        self.mapped_to_folder(path).unwrap_or_else(|| joined(&self.nowhere, path))
    }

    /// Returns the text that a link of the target has on this machine: one that is relative, or leads to a path that
    /// no folder stands for, stays, since a text is compared and shown but not opened.
    ///
    /// A text with so many `..` that it leaves the folder and comes back does not mean the same in both.
    #[must_use]
    pub fn text_to_folder(&self, text: &[u8]) -> Vec<u8> {
        self.mapped_to_folder(text).unwrap_or_else(|| text.to_vec())
    }

    /// Returns what a path, or a link's text, of this machine is called on the target. What is in no folder stays.
    #[must_use]
    pub fn to_name(&self, path: &[u8]) -> Vec<u8> {
        if let Some(rest) = below(path, &self.nowhere) {
            return joined(b"/", rest);
        }
        let found = best(&self.mappings, path, |mapping| &mapping.folder);
        found.map_or_else(|| path.to_vec(), |(mapping, rest)| joined(&mapping.name, rest))
    }

    fn mapped_to_folder(&self, path: &[u8]) -> Option<Vec<u8>> {
        best(&self.mappings, path, |mapping| &mapping.name)
            .map(|(mapping, rest)| joined(&mapping.folder, rest))
    }
}

impl Default for Namespace {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the mapping that a path is below by most names, and the rest of the path.
fn best<'a, 'p>(
    mappings: &'a [Mapping],
    path: &'p [u8],
    side: impl Fn(&Mapping) -> &Vec<u8>,
) -> Option<(&'a Mapping, &'p [u8])> {
    let names = |mapping: &Mapping| names(side(mapping)).count();
    let found = mappings.iter().filter_map(|mapping| Some((mapping, below(path, side(mapping))?)));
    found.max_by_key(|(mapping, _)| names(mapping))
}

fn names(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|name| !name.is_empty())
}

/// Returns what is left of an absolute path behind the names of `base`: nothing, or something that begins with `/`.
fn below<'a>(path: &'a [u8], base: &[u8]) -> Option<&'a [u8]> {
    if !path.starts_with(b"/") {
        return None;
    }
    let mut rest = path;
    for name in names(base) {
        // A link's text may be spelt with `//` and `/./`.
        loop {
            match rest {
                [b'/', tail @ ..] => rest = tail,
                [b'.', tail @ ..] if tail.starts_with(b"/") => rest = tail,
                _ => break,
            }
        }
        rest = rest.strip_prefix(name)?;
        if !rest.is_empty() && !rest.starts_with(b"/") {
            return None;
        }
    }
    Some(rest)
}

fn joined(base: &[u8], rest: &[u8]) -> Vec<u8> {
    match (base, rest) {
        (b"/", b"") => b"/".to_vec(),
        (b"/", rest) => rest.to_vec(),
        (base, b"/") => base.to_vec(),
        (base, rest) => [base, rest].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace() -> Namespace {
        Namespace::new()
            .map("/srv/app", "/tmp/f/app")
            .map("/srv/app/data", "/tmp/g")
            .map("/home/agent", "/tmp/f/home")
    }

    #[test]
    fn paths_are_mapped_by_names_and_come_back() {
        for (name, folder) in [
            ("/srv/app", "/tmp/f/app"),
            ("/srv/app/src/main.rs", "/tmp/f/app/src/main.rs"),
            ("/srv/app/data", "/tmp/g"),
            ("/srv/app/data/x", "/tmp/g/x"),
            ("/srv/app/database", "/tmp/f/app/database"),
            ("/home/agent/.netrc", "/tmp/f/home/.netrc"),
            ("/srv/app/a\nb|\\", "/tmp/f/app/a\nb|\\"),
            ("relative/path", "relative/path"),
            ("", ""),
        ] {
            let namespace = namespace();
            let mapped = namespace.to_folder(name.as_bytes());
            assert_eq!(String::from_utf8_lossy(&mapped), folder, "{name}");
            assert_eq!(String::from_utf8_lossy(&namespace.to_name(&mapped)), name, "{folder}");
        }
    }

    #[test]
    fn what_no_folder_stands_for_is_nowhere_and_comes_back() {
        let namespace = namespace();
        for name in [&b"/"[..], b"/etc/passwd", b"/srv", b"/srv/application", b"/tmp/f/app/x", b"/home/\xff"]
        {
            let mapped = namespace.to_folder(name);
            assert!(mapped.starts_with(b"/nowhere-"), "{}", mapped.escape_ascii());
            assert_eq!(namespace.to_name(&mapped), name);
        }
        for real in [&b"/usr/bin"[..], b"/tmp/f", b"/tmp/f/application"] {
            assert_eq!(namespace.to_name(real), real);
        }
    }

    #[test]
    fn the_root_stands_for_everything() {
        let namespace = Namespace::new().map("/", "/tmp/f");
        for (name, folder) in [("/", "/tmp/f"), ("/etc/passwd", "/tmp/f/etc/passwd")] {
            assert_eq!(namespace.to_folder(name.as_bytes()), folder.as_bytes());
            assert_eq!(namespace.to_name(folder.as_bytes()), name.as_bytes());
        }
    }

    #[test]
    fn texts_of_links_are_mapped_only_where_they_lead_into_a_folder() {
        let namespace = namespace();
        for (text, folder) in [
            ("/srv/app/x", "/tmp/f/app/x"),
            ("//srv/./app//x/", "/tmp/f/app//x/"),
            ("/srv/app/../app/x", "/tmp/f/app/../app/x"),
            ("../app/x", "../app/x"),
            ("/etc/passwd", "/etc/passwd"),
            ("/", "/"),
            ("/.", "/."),
        ] {
            assert_eq!(String::from_utf8_lossy(&namespace.text_to_folder(text.as_bytes())), folder, "{text}");
        }
    }

    #[test]
    #[should_panic(expected = "is not a plain absolute path")]
    fn a_mapping_is_of_plain_paths() {
        let _ = Namespace::new().map("/srv/../app", "/tmp");
    }
}
