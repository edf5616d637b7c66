//! Names of documents and binary formats, which text would destroy.

use super::{Spellings, extension};
use crate::{Call, Code, ContentClass, Policy, Refusal, Switch, fold, names};

/// What a name says of the content below it, from the least to the most restrictive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Nothing.
    Ordinary,
    /// A gettext template, or a PowerPoint template: the content decides.
    Pot,
    /// A binary format, if something is there.
    BinaryOnly,
    /// PDF, if something is there.
    Pdf,
    /// An office document.
    Opaque,
    /// A journal of SQLite.
    Sidecar,
}

impl Kind {
    /// Returns the code with which text over an existing file of this kind is refused.
    pub(crate) const fn exists(self) -> Option<Code> {
        match self {
            Self::BinaryOnly => Some(Code::BinaryExists),
            Self::Pdf => Some(Code::PdfExists),
            _ => None,
        }
    }
}

/// Refuses text under a name that no text has, and tells what the name says where the content decides.
///
/// A move or a deletion keeps or removes the bytes as a whole and is not judged.
pub(crate) fn check(policy: &Policy, call: &Call<'_>, spellings: &Spellings<'_>) -> Result<Kind, Refusal> {
    if !call.act.puts_text() {
        return Ok(Kind::Ordinary);
    }
    let kind = spellings.names().map(|name| kind(policy, name)).max().unwrap_or(Kind::Ordinary);
    match kind {
        Kind::Opaque => Err(Refusal::new(Code::OpaqueDocument, call.requested, "")),
        Kind::Sidecar => Err(Refusal::new(Code::SqliteSidecar, call.requested, "")),
        Kind::Pot if call.text.is_some_and(|text| text.class == ContentClass::Binary) => {
            Err(powerpoint(call))
        }
        kind => Ok(kind),
    }
}

/// Makes the refusal of a `.pot` file that is not text.
pub(crate) fn powerpoint(call: &Call<'_>) -> Refusal {
    Refusal::new(
        Code::OpaqueDocument,
        call.requested,
        "its content is a PowerPoint template's, not gettext's",
    )
}

fn kind(policy: &Policy, name: &str) -> Kind {
    let rules = &policy.rules;
    // By the whole name: the last dot of `x.db-wal` stands before `db-wal`.
    if rules.sqlite_sidecars == Switch::On && is_sidecar(name) {
        return Kind::Sidecar;
    }
    let Some(extension) = extension(name) else { return Kind::Ordinary };
    let documents = rules.opaque_documents == Switch::On;
    if documents && fold::is_listed(names::OPAQUE_DOCUMENTS, extension) {
        Kind::Opaque
    } else if rules.pdf == Switch::On && extension.eq_ignore_ascii_case("pdf") {
        Kind::Pdf
    } else if rules.binary_only == Switch::On && fold::is_listed(names::BINARY_ONLY, extension) {
        Kind::BinaryOnly
    } else if documents && extension.eq_ignore_ascii_case("pot") {
        Kind::Pot
    } else {
        Kind::Ordinary
    }
}

fn is_sidecar(name: &str) -> bool {
    let name = name.as_bytes();
    names::SIDECAR_SUFFIXES.iter().any(|suffix| {
        let start = name.len().checked_sub(suffix.len());
        start.is_some_and(|start| name[start..].eq_ignore_ascii_case(suffix.as_bytes()))
    })
}
