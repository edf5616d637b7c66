//! A part of a text, in whatever version is read for it.

use super::{
    Outcome, binary_exists, content, contradiction, expectation, expected, not_found, not_regular,
    refuse_class, stale, state, too_large, view, without_digest,
};
use crate::rules::documents::Kind;
use crate::{Call, Code, ContentClass, Expect, Fact, Facts, FileState, Policy, Refusal, Seen};

/// An edit reads what it changes, so that no view is needed: the precondition is the digest of what was read.
pub(super) fn check(
    policy: &Policy,
    call: &Call<'_>,
    facts: &Facts<'_>,
    kind: Kind,
) -> Result<Outcome, Refusal> {
    let wanted = expected(call);
    let unseen = match (view(policy, facts), wanted) {
        (Seen::Whole { digest, .. } | Seen::Part { digest, .. }, Some(wanted)) if wanted != *digest => {
            Some(wanted)
        }
        _ => None,
    };
    let (found, len, digest) = match (state(facts), unseen) {
        (Some(FileState::Absent), _) => return Err(not_found(call)),
        _ if call.expect == Some(Expect::Absent) => return Err(contradiction(call)),
        (None, Some(wanted)) => return Err(expectation(call, facts, wanted)),
        (None, None) => return Ok(Outcome::Undecided),
        (Some(found @ FileState::Regular { len, digest, .. }), _) => (found, *len, *digest),
        (Some(found), _) => return Err(not_regular(call, found)),
    };
    if len > policy.limits.file_bytes {
        return Err(too_large(call, len, policy.limits.file_bytes));
    }
    let Some(digest) = digest else { return without_digest(policy, call, len) };
    if facts.class == Fact::Unknown {
        return Ok(Outcome::Undecided);
    }
    if wanted.is_some_and(|wanted| wanted != digest) {
        return Err(stale(policy, call, facts, kind, found));
    }
    if let Some(code) = kind.exists() {
        under_binary_name(policy, call, facts, kind, code, found)?;
    }
    if let Some(wanted) = unseen {
        return Err(expectation(call, facts, wanted));
    }
    refuse_class(policy, call, kind, facts.class)?;
    Ok(content(digest))
}

/// Under the name of a binary format, all of this version has to have been seen, and to be text.
fn under_binary_name(
    policy: &Policy,
    call: &Call<'_>,
    facts: &Facts<'_>,
    kind: Kind,
    code: Code,
    found: &FileState,
) -> Result<(), Refusal> {
    match view(policy, facts) {
        Seen::Whole { digest, .. } if facts.class == Fact::Known(ContentClass::Text) => {
            if found.digest() == Some(*digest) {
                Ok(())
            } else {
                Err(stale(policy, call, facts, kind, found))
            }
        }
        _ => Err(binary_exists(policy, call, code, facts.class)),
    }
}
