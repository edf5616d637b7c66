//! A part of a text, in whatever version is read for it.

use super::{
    Outcome, binary_exists, content, contradiction, expectation, expected, not_found, not_regular, stale,
    state, too_large, view,
};
use crate::rules::documents::{Kind, powerpoint};
use crate::{
    Call, Code, ContentClass, Digest, Expect, Fact, Facts, FileState, Policy, Refusal, Seen, Switch,
};

/// An edit reads what it changes, so that no view is needed: the precondition is the digest of what was read.
pub(super) fn check(
    policy: &Policy,
    call: &Call<'_>,
    facts: &Facts<'_>,
    kind: Kind,
) -> Result<Outcome, Refusal> {
    let wanted = expected(call);
    if let Seen::Whole { digest, .. } | Seen::Part { digest, .. } = view(policy, facts)
        && let Some(wanted) = wanted
        && wanted != *digest
    {
        return Err(expectation(call, facts, wanted));
    }
    let (found, len, digest) = match state(facts) {
        Some(FileState::Absent) => return Err(not_found(call)),
        _ if call.expect == Some(Expect::Absent) => return Err(contradiction(call)),
        None => return Ok(Outcome::Undecided),
        Some(found @ FileState::Regular { len, digest, .. }) => (found, *len, *digest),
        Some(found) => return Err(not_regular(call, found)),
    };
    if len > policy.limits.file_bytes {
        return Err(too_large(call, len, policy.limits.file_bytes));
    }
    let Some(digest) = digest else { return Err(too_large(call, len, policy.limits.digest)) };
    let Fact::Known(class) = facts.class else { return Ok(Outcome::Undecided) };
    if let Some(code) = kind.exists() {
        under_binary_name(policy, call, facts, code, found, digest, class)?;
    }
    if class == ContentClass::Binary {
        if kind == Kind::Pot {
            return Err(powerpoint(call));
        }
        if policy.rules.content_classes == Switch::On {
            return Err(Refusal::new(Code::BinaryContent, call.requested, ""));
        }
    }
    if wanted.is_some_and(|wanted| wanted != digest) {
        return Err(stale(policy, call, facts, found));
    }
    Ok(content(digest))
}

/// Under the name of a binary format, all of this version has to have been seen, and to be text.
fn under_binary_name(
    policy: &Policy,
    call: &Call<'_>,
    facts: &Facts<'_>,
    code: Code,
    found: &FileState,
    digest: Digest,
    class: ContentClass,
) -> Result<(), Refusal> {
    match view(policy, facts) {
        Seen::Whole { digest: seen, .. } if class == ContentClass::Text => {
            if *seen == digest {
                Ok(())
            } else {
                Err(stale(policy, call, facts, found))
            }
        }
        _ => Err(binary_exists(policy, call, code, Fact::Known(class))),
    }
}
