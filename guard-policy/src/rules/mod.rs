//! The rules, one a file, in the order in which [`crate::decide`] asks them.

pub(crate) mod containment;
pub(crate) mod content;
pub(crate) mod documents;
pub(crate) mod form;
pub(crate) mod protected;
pub(crate) mod rights;
pub(crate) mod seen;
pub(crate) mod sensitive;

use std::borrow::Cow;

use crate::{Base, Call, Facts, RequestedPath, fold};

/// The spellings of a path that the rules judge: as it was typed, and where it leads.
///
/// A link `notes.txt` to `.git/config` is caught by the one, a link `.git/config` to `notes.txt` by the other.
/// Where the target resolves a `..`, what the text spells without it is judged too: `x/../.git/config` is no way around
/// a `.git` that is a link.
pub(crate) struct Spellings<'a> {
    both: [Spelling<'a>; 2],
    distinct: usize,
    folded: Option<Spelling<'a>>,
}

impl<'a> Spellings<'a> {
    pub(crate) fn of(call: &Call<'a>, facts: &Facts<'a>) -> Self {
        let resolved = Spelling::new(facts.path.as_str(), Base::Absolute);
        let requested = Spelling::new(call.requested, Base::of(call.requested));
        let distinct = if requested.text == resolved.text { 1 } else { 2 };
        let folded = call.requested.split('/').any(|step| step == "..").then(|| {
            // What is no path was refused before; its text is judged as it is.
            RequestedPath::parse(call.requested)
                .map(|parsed| Spelling::of_owned(&facts.roots.folded(&parsed, facts.home)))
                .ok()
        });
        Self { both: [resolved, requested], distinct, folded: folded.flatten() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Spelling<'a>> {
        self.both[..self.distinct].iter().chain(&self.folded)
    }

    /// Returns the final names, one if they are the same.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let [resolved, requested] = &self.both;
        let requested = (requested.name() != resolved.name()).then(|| requested.name());
        let folded = self.folded.as_ref().map(Spelling::name);
        std::iter::once(resolved.name()).chain(requested).chain(folded)
    }
}

/// One spelling of a path, ready to be compared without case.
pub(crate) struct Spelling<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) base: Base,
    name_start: usize,
}

impl<'a> Spelling<'a> {
    fn new(text: &'a str, base: Base) -> Self {
        let text = match fold::plain(text) {
            Cow::Borrowed(text) => Cow::Borrowed(without_end(text)),
            Cow::Owned(text) => Cow::Owned(without_end(&text).to_owned()),
        };
        let name_start = memchr::memrchr(b'/', text.as_bytes()).map_or(0, |slash| slash + 1);
        Self { text, base, name_start }
    }

    fn of_owned(text: &str) -> Spelling<'static> {
        let text = without_end(&fold::plain(text)).to_owned();
        let name_start = memchr::memrchr(b'/', text.as_bytes()).map_or(0, |slash| slash + 1);
        Spelling { text: Cow::Owned(text), base: Base::Absolute, name_start }
    }

    /// Returns the final component.
    pub(crate) fn name(&self) -> &str {
        &self.text[self.name_start..]
    }

    /// Returns the part below the target's home, where the spelling itself says so.
    pub(crate) fn below_tilde(&self) -> Option<&str> {
        (self.base == Base::Home).then(|| self.text.trim_start_matches('~').trim_start_matches('/'))
    }
}

/// Cuts slashes and `/.` off the end.
fn without_end(mut text: &str) -> &str {
    while let Some(shorter) = text.strip_suffix('/').or_else(|| text.strip_suffix("/.")) {
        text = shorter;
    }
    text
}

/// Returns what follows the last dot of a name, if something stands before the dot.
pub(crate) fn extension(name: &str) -> Option<&str> {
    name.rsplit_once('.').and_then(|(stem, extension)| (!stem.is_empty()).then_some(extension))
}
