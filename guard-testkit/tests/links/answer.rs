//! What is answered, in the words of the rule.

use guard_core::policy::{Code, FileState, Refusal};
use guard_core::port::{Found, OpError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It leads here, and this is there.
    Leads(String, &'static str),
    Outside,
    Missing,
    NotDirectory,
    Loop,
    Else(String),
}

impl Answer {
    /// Returns what is counted.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Leads(_, kind) => kind,
            Self::Outside => "outside",
            Self::Missing => "missing",
            Self::NotDirectory => "not a directory",
            Self::Loop => "a loop",
            Self::Else(_) => "something else",
        }
    }
}

pub(crate) fn there(path: &str, state: &FileState) -> Answer {
    let kind = match state {
        FileState::Directory => "directory",
        FileState::Regular { .. } => "file",
        FileState::Link { .. } => "link",
        FileState::Absent => "nothing",
        FileState::Other { .. } => "something else",
    };
    Answer::Leads(path.to_owned(), kind)
}

impl From<Result<Found, OpError>> for Answer {
    fn from(found: Result<Found, OpError>) -> Self {
        match found {
            Ok(found) => there(found.resolved.as_str(), &found.state),
            Err(OpError::OutsideRoot) => Self::Outside,
            Err(OpError::NotFound { .. }) => Self::Missing,
            Err(OpError::NotDirectory { .. }) => Self::NotDirectory,
            Err(OpError::Loop) => Self::Loop,
            Err(other) => Self::Else(format!("{other:?}")),
        }
    }
}

/// The answer of a tool that refuses.
impl From<&Refusal> for Answer {
    fn from(refusal: &Refusal) -> Self {
        match refusal.code {
            Code::OutsideRoot => Self::Outside,
            Code::NotFound => Self::Missing,
            Code::NotADirectory => Self::NotDirectory,
            Code::InvalidPath if refusal.message.contains("too many symbolic links") => Self::Loop,
            _ => Self::Else(format!("{refusal:?}")),
        }
    }
}
