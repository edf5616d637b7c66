//! Names compared without case, for denials only.
//!
//! A target's filesystem may fold case (APFS, HFS+, ext4 with casefold), so that `.SSH` is `.ssh` there. Folding
//! may therefore deny more, and never grants anything.

use std::borrow::Cow;
use std::cmp::Ordering;

use memchr::{memchr_iter, memchr3, memmem};

/// Replaces the characters that are not ASCII and yet spell an ASCII name on a filesystem that folds case.
///
/// U+017F and U+212A fold to `s` and `k` (Unicode `CaseFolding.txt`); HFS+ ignores the characters of
/// [`is_ignored`], which git's `core.protectHFS` guards against too.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    // The first bytes in UTF-8 of all characters in question.
    if memchr3(0xC5, 0xE2, 0xEF, text.as_bytes()).is_none() || !text.chars().any(is_disguise) {
        return Cow::Borrowed(text);
    }
    let plain = |c| match c {
        '\u{17F}' => Some('s'),
        '\u{212A}' => Some('k'),
        c if is_ignored(c) => None,
        c => Some(c),
    };
    Cow::Owned(text.chars().filter_map(plain).collect())
}

fn is_disguise(c: char) -> bool {
    matches!(c, '\u{17F}' | '\u{212A}') || is_ignored(c)
}

fn is_ignored(c: char) -> bool {
    matches!(c, '\u{200C}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{206A}'..='\u{206F}' | '\u{FEFF}')
}

/// Tells whether `name` is in a sorted list of names in lower case.
pub(crate) fn is_listed(list: &[&str], name: &str) -> bool {
    let by_folded = |listed: &&str| -> Ordering {
        listed.bytes().cmp(name.bytes().map(|byte| byte.to_ascii_lowercase()))
    };
    list.binary_search_by(by_folded).is_ok()
}

/// Tells whether `path` is `place` or below it; `place` is ASCII.
pub(crate) fn is_at_or_below(path: &str, place: &str) -> bool {
    let (path, place) = (path.as_bytes(), place.as_bytes());
    path.get(..place.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(place))
        && path.get(place.len()).is_none_or(|next| *next == b'/')
}

/// Returns the first of `places` that is at or above some directory or file of `path`, whichever directory it is
/// in; every place begins with a dot.
pub(crate) fn anywhere(path: &str, places: &[&'static str]) -> Option<&'static str> {
    let first = path.starts_with('.').then_some(0);
    let others = memmem::find_iter(path.as_bytes(), b"/.").map(|at| at + 1);
    first.into_iter().chain(others).find_map(|at| begins_with(&path[at..], places))
}

/// As [`anywhere`], for places that begin with anything.
pub(crate) fn anywhere_by_scan<'p>(path: &str, places: &[&'p str]) -> Option<&'p str> {
    let others = memchr_iter(b'/', path.as_bytes()).map(|at| at + 1);
    std::iter::once(0).chain(others).find_map(|at| begins_with(&path[at..], places))
}

/// Returns the first of `places` that `path` is at or below.
pub(crate) fn begins_with<'p>(path: &str, places: &[&'p str]) -> Option<&'p str> {
    places.iter().copied().find(|place| is_at_or_below(path, place))
}

/// Returns what is left of `path` below `base`; any characters, compared by component and without case.
pub(crate) fn below<'a>(path: &'a str, base: &str) -> Option<&'a str> {
    let mut left = path.trim_start_matches('/');
    for component in base.split('/').filter(|component| !component.is_empty()) {
        let (first, rest) = left.split_once('/').unwrap_or((left, ""));
        if !is_same(first, component) {
            return None;
        }
        left = rest.trim_start_matches('/');
    }
    Some(left)
}

/// Tells whether the last components of `path` are those of `names`; any characters.
pub(crate) fn ends_with(path: &str, names: &str) -> bool {
    let mut components = path.rsplit('/').filter(|component| !component.is_empty());
    let mut wanted = names.rsplit('/').filter(|component| !component.is_empty()).peekable();
    wanted.peek().is_some() && wanted.all(|name| components.next().is_some_and(|last| is_same(last, name)))
}

fn is_same(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right)
        || (!left.is_ascii()
            && left.chars().flat_map(char::to_lowercase).eq(right.chars().flat_map(char::to_lowercase)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_spell_an_ascii_name_are_seen_through() {
        for (text, expected) in [
            ("/ws/.git/config", "/ws/.git/config"),
            ("/ws/.g\u{200C}it/con\u{FEFF}fig", "/ws/.git/config"),
            ("/ws/.\u{202A}s\u{17F}h/\u{206F}\u{212A}ey", "/ws/.ssh/key"),
            ("Łódź–ﬀ€", "Łódź–ﬀ€"),
        ] {
            assert_eq!(plain(text), expected, "{text:?}");
        }
    }

    #[test]
    fn places_are_matched_by_whole_components_and_without_case() {
        for (path, place, expected) in [
            (".ssh", ".ssh", true),
            (".SSH/id", ".ssh", true),
            (".ssh2", ".ssh", false),
            (".ss", ".ssh", false),
            (".config/gh/x", ".config/gh", true),
            (".config/ghx", ".config/gh", false),
        ] {
            assert_eq!(is_at_or_below(path, place), expected, "{path}");
        }
        let places = &[".git/hooks", ".envrc"];
        for (path, expected) in [
            ("/ws/.git/hooks/pre-commit", Some(".git/hooks")),
            (".GIT/Hooks", Some(".git/hooks")),
            ("/.envrc", Some(".envrc")),
            ("/a/b/c/.envrc", Some(".envrc")),
            ("/a/b.git/hooks", None),
            ("/a/.git/x/hooks", None),
            ("/a/.envrc2", None),
            ("", None),
        ] {
            assert_eq!(anywhere(path, places), expected, "{path}");
            assert_eq!(anywhere_by_scan(path, places), expected, "{path}");
        }
        assert_eq!(
            anywhere_by_scan("/home/u/library/Keychains/x", &["Library/Keychains"]),
            Some("Library/Keychains")
        );
    }

    #[test]
    fn any_characters_are_compared_by_component() {
        for (path, base, expected) in [
            ("/home/Zoë/.ssh/id", "/home/ZOË", Some(".ssh/id")),
            ("/home/u", "/home/u/", Some("")),
            ("/home/u2", "/home/u", None),
            ("/home", "/home/u", None),
            ("/.ssh", "/", Some(".ssh")),
        ] {
            assert_eq!(below(path, base), expected, "{path}");
        }
        for (path, names, expected) in [
            ("/ws/docs/RULES.md", "rules.md", true),
            ("/ws/docs/rules.md", "docs/rules.md", true),
            ("/ws/mydocs/rules.md", "docs/rules.md", false),
            ("rules.md", "docs/rules.md", false),
            ("/ws/Ärger.md", "ärger.MD", true),
            ("/ws/a", "", false),
            ("/ws/a", "/", false),
        ] {
            assert_eq!(ends_with(path, names), expected, "{path} {names}");
        }
    }

    #[test]
    fn a_sorted_list_is_searched_without_case() {
        let list = ["db", "db3", "zip"];
        for (name, expected) in [
            ("DB", true),
            ("db3", true),
            ("Zip", true),
            ("d", false),
            ("db4", false),
            ("", false),
            ("ﾀ", false),
        ] {
            assert_eq!(is_listed(&list, name), expected, "{name}");
        }
    }
}
