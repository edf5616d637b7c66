//! Edits that were not made, and what their caller is told.

use std::fmt::Write as _;

use guard_policy::{Code, Refusal};

use super::Count;

/// An edit that was not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The old text does not occur.
    NoMatch { edit: Option<usize>, closest: String },
    /// The old text occurs more than once, at these lines.
    Ambiguous { edit: Option<usize>, lines: Vec<u64>, count: Count, overlapping: bool },
    /// The old text does not occur and the new text does, once.
    AlreadyApplied { edit: Option<usize>, line: u64 },
    /// The text cannot be encoded as the file is.
    Undecodable,
}

impl Refused {
    pub(crate) fn refusal(&self, path: &str) -> Refusal {
        match self {
            Self::NoMatch { edit, closest } => {
                let detail = format!("{}{closest}", prefix(*edit));
                Refusal::new(Code::NoMatch, path, detail.trim_end())
            }
            Self::Ambiguous { edit, lines, count, overlapping } => {
                let mut detail = format!("{}it stands at line ", prefix(*edit));
                for (index, line) in lines.iter().enumerate() {
                    let _ = write!(detail, "{}{line}", if index == 0 { "" } else { ", " });
                }
                match count {
                    Count::Exactly(count) if *count > lines.len() => {
                        let _ = write!(detail, " and {} more", count - lines.len());
                    }
                    Count::Exactly(_) => {}
                    Count::AtLeast(count) => {
                        let _ = write!(detail, " and more than {} more", count - lines.len());
                    }
                }
                if *overlapping {
                    detail.push_str("; the occurrences overlap, so they cannot all be replaced");
                }
                Refusal::new(Code::Ambiguous, path, &detail)
            }
            Self::AlreadyApplied { edit, line } => {
                Refusal::new(Code::AlreadyApplied, path, &format!("{}at line {line}", prefix(*edit)))
            }
            Self::Undecodable => {
                Refusal::new(Code::Unsupported, path, "its text cannot be encoded as the file is")
            }
        }
    }
}

fn prefix(edit: Option<usize>) -> String {
    edit.map(|number| format!("edit {number}: ")).unwrap_or_default()
}
