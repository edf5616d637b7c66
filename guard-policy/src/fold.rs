//! Names compared without case, for denials only.
//!
//! A target's filesystem may fold case (APFS, HFS+, ext4 with casefold), so that `.SSH` is `.ssh` there. Folding
//! may therefore deny more, and never grants anything.

use std::borrow::Cow;

use memchr::{memchr_iter, memchr2_iter, memchr3};

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

/// The longest name in a list that is searched, and more.
pub(crate) const LISTED_MAX: usize = 32;

/// Tells whether `name` is in a sorted list of names in lower case, none longer than [`LISTED_MAX`].
pub(crate) fn is_listed(list: &[&str], name: &str) -> bool {
    let mut folded = [0; LISTED_MAX];
    let Some(folded) = folded.get_mut(..name.len()) else { return false };
    folded.copy_from_slice(name.as_bytes());
    folded.make_ascii_lowercase();
    list.binary_search_by(|listed| listed.as_bytes().cmp(folded)).is_ok()
}

/// Tells whether `path` is `place` or below it; `place` is ASCII.
pub(crate) fn is_at_or_below(path: &str, place: &str) -> bool {
    let (path, place) = (path.as_bytes(), place.as_bytes());
    // The boundary first: it rules out most.
    path.get(place.len()).is_none_or(|next| *next == b'/')
        && path.get(..place.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(place))
}

/// A list of places, with what rules almost every path out at once.
pub(crate) struct Places {
    list: &'static [&'static str],
    /// The second bytes of all places, in lower case, as bits.
    second: u128,
    /// The first byte, in lower case, of the places that do not begin with a dot or a slash; 0 where all do.
    letter: u8,
}

impl Places {
    /// Takes places of at least two ASCII bytes that begin with a dot, a slash, or all with the same letter.
    pub(crate) const fn new(list: &'static [&'static str]) -> Self {
        let (mut second, mut letter, mut at) = (0_u128, 0, 0);
        while at < list.len() {
            let place = list[at].as_bytes();
            second |= 1 << place[1].to_ascii_lowercase();
            if place[0] != b'.' && place[0] != b'/' {
                let first = place[0].to_ascii_lowercase();
                assert!(letter == 0 || letter == first, "places begin with a dot or all with one letter");
                letter = first;
            }
            at += 1;
        }
        Self { list, second, letter }
    }

    /// Returns the first place that `path` is at or below.
    pub(crate) fn at(&self, path: &str) -> Option<&'static str> {
        let second = path.as_bytes().get(1)?.to_ascii_lowercase();
        if second >= 128 || self.second >> second & 1 == 0 {
            return None;
        }
        let may_be = |place: &&&str| place.as_bytes()[1].to_ascii_lowercase() == second;
        self.list.iter().filter(may_be).copied().find(|place| is_at_or_below(path, place))
    }

    /// Returns the first place that some part of `path` is at or below, whichever directory it is in.
    pub(crate) fn anywhere(&self, path: &str) -> Option<&'static str> {
        let bytes = path.as_bytes();
        let begins_name = |at: &usize| *at > 0 && bytes[at - 1] == b'/';
        let hidden = || memchr_iter(b'.', bytes).filter(begins_name).find_map(|at| self.at(&path[at..]));
        let lettered = || {
            let letters = memchr2_iter(self.letter, self.letter.to_ascii_uppercase(), bytes);
            letters.filter(begins_name).find_map(|at| self.at(&path[at..]))
        };
        let found = self.at(path).or_else(hidden);
        if self.letter == 0 { found } else { found.or_else(lettered) }
    }
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

    const PLACES: Places = Places::new(&[".git/hooks", ".envrc", "Library/Keychains"]);

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
        for (path, expected) in [
            ("/ws/.git/hooks/pre-commit", Some(".git/hooks")),
            (".GIT/Hooks", Some(".git/hooks")),
            ("/.envrc", Some(".envrc")),
            ("/a/b/c/.envrc", Some(".envrc")),
            ("/.git/.git/.git/hooks", Some(".git/hooks")),
            ("/home/u/library/KEYCHAINS/x", Some("Library/Keychains")),
            ("Library/Keychains", Some("Library/Keychains")),
            ("/home/u/mylibrary/keychains/x", None),
            ("/home/u/library/x", None),
            ("/a/b.git/hooks", None),
            ("/a/.git/x/hooks", None),
            ("/a/.envrc2", None),
            ("/a/.é", None),
            ("/a/lé", None),
            ("/.", None),
            ("", None),
        ] {
            assert_eq!(PLACES.anywhere(path), expected, "{path}");
        }
        assert_eq!(PLACES.at(".git/hooks/x"), Some(".git/hooks"));
        assert_eq!(PLACES.at("a/.git/hooks/x"), None);
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
        assert!(!is_listed(&list, &"z".repeat(LISTED_MAX + 1)));
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
