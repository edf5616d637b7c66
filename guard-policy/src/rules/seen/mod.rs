//! What the actor has seen, and the precondition that follows from it.

mod edit;
mod leave;
mod write;

use super::documents::{Kind, powerpoint};
use crate::{
    Act, Call, Code, ContentClass, Digest, Expect, Fact, Facts, FileState, Policy, Precondition, Refusal,
    RemedyCall, Seen, Switch, Tool,
};

/// What the rules come to.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// A reading call.
    Free,
    /// A change under a precondition.
    Under(Precondition),
    /// The state or the class has to be learnt first.
    Undecided,
}

/// Turns views into a precondition.
pub(crate) fn check(
    policy: &Policy,
    call: &Call<'_>,
    facts: &Facts<'_>,
    kind: Kind,
) -> Result<Outcome, Refusal> {
    match call.act {
        Act::Read if facts.state == Fact::Known(&FileState::Absent) => {
            Err(Refusal::new(Code::NotFound, call.requested, ""))
        }
        Act::Read | Act::Stat | Act::List => Ok(Outcome::Free),
        Act::Write => write::check(policy, call, facts, kind),
        Act::Edit => edit::check(policy, call, facts, kind),
        Act::Add | Act::MoveTo | Act::MakeDir => demand_absence(call, facts),
        Act::Delete | Act::MoveFrom => leave::check(policy, call, facts),
    }
}

/// What is at the path, where it is known.
fn state<'a>(facts: &Facts<'a>) -> Option<&'a FileState> {
    facts.state.known()
}

/// What the actor has seen; without views nobody has seen anything.
fn view<'f>(policy: &Policy, facts: &'f Facts<'_>) -> &'f Seen {
    match policy.views {
        Switch::On => &facts.seen,
        Switch::Off => &Seen::Nothing,
    }
}

fn content(digest: Digest) -> Outcome {
    Outcome::Under(Precondition::Content { digest })
}

/// Absence is demanded, whatever was seen.
fn demand_absence(call: &Call<'_>, facts: &Facts<'_>) -> Result<Outcome, Refusal> {
    match (state(facts), call.expect) {
        (Some(FileState::Absent) | None, Some(Expect::Content(_))) => Err(contradiction(call)),
        (Some(FileState::Absent) | None, _) => Ok(Outcome::Under(Precondition::Absent)),
        (Some(found), _) => Err(Refusal::new(Code::Exists, call.requested, &it_is(found))),
    }
}

/// The digest that the caller expects, if it is none of absence.
fn expected(call: &Call<'_>) -> Option<Digest> {
    match call.expect {
        Some(Expect::Content(digest)) => Some(digest),
        Some(Expect::Absent) | None => None,
    }
}

/// Refuses an expectation that is not the version that the actor has seen, or not what is there.
fn expectation(call: &Call<'_>, facts: &Facts<'_>, wanted: Digest) -> Refusal {
    let refusal = Refusal::new(Code::Expectation, call.requested, "");
    let is_there = state(facts).is_none_or(|found| found.digest() == Some(wanted));
    let is_readable = match facts.class {
        Fact::Known(ContentClass::Binary) => !call.act.puts_text(),
        Fact::Known(ContentClass::Bytes) => call.act != Act::Write,
        _ => true,
    };
    // Reading settles it only where the expected version may be what is there.
    if is_there && is_readable {
        return refusal;
    }
    refusal.with_remedy("Expect the digest that read_file or stat gives for it now.", None)
}

/// Refuses text over a version that was not seen, where an older one was.
fn stale(policy: &Policy, call: &Call<'_>, facts: &Facts<'_>, kind: Kind, found: &FileState) -> Refusal {
    if let Err(refusal) = refuse_class(policy, call, kind, facts.class) {
        return refusal;
    }
    let refusal = match view(policy, facts) {
        Seen::Whole { digest, .. } | Seen::Part { digest, .. } => changed(call, found, *digest),
        Seen::Nothing | Seen::Link { .. } => Refusal::stale(call.requested, found),
    };
    match expected(call) {
        Some(_) => refusal.with_remedy("Read it again, then expect the digest that the reading gives.", None),
        None => refusal,
    }
}

/// Refuses an expectation that this act can never meet.
fn contradiction(call: &Call<'_>) -> Refusal {
    let why = match call.expect {
        Some(Expect::Absent) => "it expects that nothing is there, and acts on what is there",
        _ => "it expects a content, and needs a free name",
    };
    Refusal::new(Code::Expectation, call.requested, why)
        .with_remedy("Make the call without this expectation, or the call that fits it.", None)
}

fn not_found(call: &Call<'_>) -> Refusal {
    Refusal::new(Code::NotFound, call.requested, "")
}

fn not_regular(call: &Call<'_>, found: &FileState) -> Refusal {
    Refusal::new(Code::NotRegular, call.requested, &it_is(found))
}

fn it_is(found: &FileState) -> String {
    format!("it is {}", found.describe())
}

/// Refuses a file that has no digest.
fn too_large(call: &Call<'_>, len: u64, limit: u64) -> Refusal {
    Refusal::new(
        Code::TooLarge,
        call.requested,
        &format!("it has {len} bytes, and {limit} is the limit for this"),
    )
}

/// A regular file whose digest is needed and was not reported: it is over the limit, or nobody asked.
fn without_digest(policy: &Policy, call: &Call<'_>, len: u64) -> Result<Outcome, Refusal> {
    if len > policy.limits.digest {
        Err(too_large(call, len, policy.limits.digest))
    } else {
        Ok(Outcome::Undecided)
    }
}

/// How a regular file compares to a version that was seen.
enum Compared {
    Same,
    Other,
    /// Nobody has its digest, and the target will find out.
    Unknown,
    /// Nobody will have its digest.
    TooLarge,
}

fn compare(policy: &Policy, len: u64, digest: Option<Digest>, seen: Digest) -> Compared {
    match digest {
        // What is empty has its digest without being asked.
        None if len == 0 => {
            if seen == Digest::EMPTY {
                Compared::Same
            } else {
                Compared::Other
            }
        }
        Some(digest) if digest == seen => Compared::Same,
        Some(_) => Compared::Other,
        None if len > policy.limits.digest => Compared::TooLarge,
        None => Compared::Unknown,
    }
}

/// Refuses what is there because of its class, where text over it would destroy it and no reading helps.
fn refuse_class(
    policy: &Policy,
    call: &Call<'_>,
    kind: Kind,
    class: Fact<ContentClass>,
) -> Result<(), Refusal> {
    let on = policy.rules.content_classes == Switch::On;
    match class {
        Fact::Known(ContentClass::Binary) if kind == Kind::Pot => Err(powerpoint(call)),
        Fact::Known(ContentClass::Binary) if on => Err(Refusal::new(Code::BinaryContent, call.requested, "")),
        // An edit leaves the bytes outside of it as they are.
        Fact::Known(ContentClass::Bytes) if on && call.act != Act::Edit => {
            Err(Refusal::new(Code::NotUtf8, call.requested, ""))
        }
        _ => Ok(()),
    }
}

/// Refuses text over a file under the name of a binary format, unless reading it opens the way.
fn binary_exists(policy: &Policy, call: &Call<'_>, code: Code, class: Fact<ContentClass>) -> Refusal {
    if class == Fact::Known(ContentClass::Text) && policy.views == Switch::On {
        Refusal::text_exists(code, call.requested)
    } else {
        Refusal::new(code, call.requested, "")
    }
}

/// Refuses to remove or move what is not what was seen; metadata is enough to have seen it.
fn moved_on(call: &Call<'_>, refusal: Refusal) -> Refusal {
    let settles = expected(call).is_none().then(|| RemedyCall::on(Tool::Stat, call.requested));
    refusal.with_remedy("Look at it with stat, then decide anew.", settles)
}

/// Refuses what is not the version that was seen, naming both where they are known.
fn changed(call: &Call<'_>, found: &FileState, seen: Digest) -> Refusal {
    Refusal::stale(call.requested, found).since(call.requested, Some(seen), found)
}
