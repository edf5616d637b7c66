//! Something goes away from its name: a deletion, or the source of a move.

use super::{
    Compared, Outcome, changed, compare, content, contradiction, expectation, expected, moved_on, not_found,
    not_regular, state, too_large, view, without_digest,
};
use crate::{
    Act, Call, DeleteUnseen, Digest, Expect, Facts, FileState, Policy, Precondition, Refusal, Seen, Switch,
};

/// A deletion destroys what was seen, be it only as metadata; a move keeps the bytes and needs no view.
pub(super) fn check(policy: &Policy, call: &Call<'_>, facts: &Facts<'_>) -> Result<Outcome, Refusal> {
    let found = state(facts);
    match found {
        Some(FileState::Absent) => return Err(not_found(call)),
        Some(found @ (FileState::Directory | FileState::Other { .. })) => {
            return Err(not_regular(call, found));
        }
        Some(FileState::Regular { .. } | FileState::Link { .. }) | None => {}
    }
    if call.expect == Some(Expect::Absent) {
        return Err(contradiction(call));
    }
    let wanted = expected(call);
    match view(policy, facts) {
        Seen::Whole { digest, .. } | Seen::Part { digest, .. } => match wanted {
            Some(wanted) if wanted != *digest => Err(expectation(call, facts, wanted)),
            _ => version(policy, call, found, *digest),
        },
        Seen::Link { text } => match wanted {
            Some(wanted) => Err(expectation(call, facts, wanted)),
            None => link(policy, call, found, text),
        },
        Seen::Nothing => {
            let free = call.act == Act::MoveFrom
                || policy.views == Switch::Off
                || policy.delete_unseen == DeleteUnseen::DangerAllow;
            match wanted {
                Some(wanted) if found.is_some_and(|found| is_other(found, wanted)) => {
                    Err(expectation(call, facts, wanted))
                }
                Some(wanted) if free => version(policy, call, found, wanted),
                _ if call.act == Act::MoveFrom => Ok(Outcome::Under(match found {
                    Some(FileState::Link { text }) => Precondition::Link { text: text.clone() },
                    _ => Precondition::Exists,
                })),
                _ => unseen(policy, call, found, free),
            }
        }
    }
}

/// Tells whether what was found is certainly not this content.
fn is_other(found: &FileState, wanted: Digest) -> bool {
    match found {
        FileState::Regular { digest, .. } => digest.is_some_and(|digest| digest != wanted),
        _ => true,
    }
}

fn version(
    policy: &Policy,
    call: &Call<'_>,
    found: Option<&FileState>,
    seen: Digest,
) -> Result<Outcome, Refusal> {
    match found {
        Some(found @ FileState::Regular { len, digest, .. }) => match compare(policy, *len, *digest, seen) {
            Compared::Same | Compared::Unknown => Ok(content(seen)),
            Compared::Other => Err(moved_on(call, changed(call, found, seen))),
            Compared::TooLarge => Err(too_large(call, *len, policy.limits.digest)),
        },
        Some(found) => Err(moved_on(call, Refusal::stale(call.requested, found))),
        None => Ok(content(seen)),
    }
}

fn link(policy: &Policy, call: &Call<'_>, found: Option<&FileState>, seen: &str) -> Result<Outcome, Refusal> {
    match found {
        Some(FileState::Regular { len, digest: None, .. }) if *len > policy.limits.digest => {
            Err(too_large(call, *len, policy.limits.digest))
        }
        Some(found) if !matches!(found, FileState::Link { text } if text == seen) => {
            Err(moved_on(call, Refusal::stale(call.requested, found)))
        }
        _ => Ok(Outcome::Under(Precondition::Link { text: seen.to_owned() })),
    }
}

/// A deletion of what was not seen: refused, or of exactly what is found.
fn unseen(
    policy: &Policy,
    call: &Call<'_>,
    found: Option<&FileState>,
    free: bool,
) -> Result<Outcome, Refusal> {
    match found {
        Some(FileState::Regular { len, digest: None, .. }) if free || *len > policy.limits.digest => {
            without_digest(policy, call, *len)
        }
        _ if !free => Err(Refusal::not_seen(&[call.requested])),
        Some(FileState::Regular { digest: Some(digest), .. }) => Ok(content(*digest)),
        Some(FileState::Link { text }) => Ok(Outcome::Under(Precondition::Link { text: text.clone() })),
        _ => Ok(Outcome::Undecided),
    }
}
