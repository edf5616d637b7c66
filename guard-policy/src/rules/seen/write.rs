//! A whole content over a version that was seen as a whole, or over nothing.

use std::ops::Range;

use super::{
    Compared, Outcome, binary_exists, compare, content, demand_absence, expectation, expected, not_found,
    not_regular, refuse_class, stale, state, too_large, view, without_digest,
};
use crate::rules::documents::{Kind, powerpoint};
use crate::{
    Call, Code, ContentClass, Digest, Expect, Fact, Facts, FileState, Policy, Precondition, Refusal, Seen,
    Switch, TextShape, Unseen,
};

pub(super) fn check(
    policy: &Policy,
    call: &Call<'_>,
    facts: &Facts<'_>,
    kind: Kind,
) -> Result<Outcome, Refusal> {
    if call.expect == Some(Expect::Absent) {
        return demand_absence(call, facts);
    }
    match state(facts) {
        Some(FileState::Absent) if expected(call).is_some() => return Err(not_found(call)),
        Some(FileState::Absent | FileState::Regular { .. }) | None => {}
        Some(found) => return Err(not_regular(call, found)),
    }
    let write = Write { policy, call, facts, kind };
    match kind.exists() {
        Some(code) => write.over_binary_name(code),
        None => write.over_text(),
    }
}

struct Write<'a> {
    policy: &'a Policy,
    call: &'a Call<'a>,
    facts: &'a Facts<'a>,
    kind: Kind,
}

impl Write<'_> {
    /// Under the name of a binary format: as a text file where all of it was seen to be text, else where nothing is.
    fn over_binary_name(&self, code: Code) -> Result<Outcome, Refusal> {
        let Self { policy, call, facts, .. } = self;
        let vouched = match view(policy, facts) {
            Seen::Whole { digest, shape: Fact::Known(shape) } if shape.class == ContentClass::Text => {
                let now = state(facts).and_then(FileState::digest);
                let is_other = now.is_some_and(|now| now != *digest);
                return match facts.class {
                    Fact::Known(class) if is_other && class != ContentClass::Text => {
                        Err(binary_exists(policy, call, code, facts.class))
                    }
                    _ => self.over_text(),
                };
            }
            Seen::Whole { digest, shape: Fact::Unknown } => Some(*digest),
            _ => None,
        };
        match state(facts) {
            // An expectation is of a content: where nothing is, nothing may be made.
            None if expected(call).is_some() => Ok(Outcome::Undecided),
            None | Some(FileState::Absent) => Ok(Outcome::Under(Precondition::Absent)),
            Some(found) => match (found.digest(), facts.class) {
                (Some(digest), _) if expected(call).is_some_and(|wanted| wanted != digest) => {
                    Err(Refusal::new(code, call.requested, ""))
                }
                (Some(digest), Fact::Unknown) if vouched == Some(digest) => Ok(Outcome::Undecided),
                (Some(digest), Fact::Known(ContentClass::Text)) if vouched == Some(digest) => {
                    Ok(content(digest))
                }
                (_, class) => Err(binary_exists(policy, call, code, class)),
            },
        }
    }

    fn over_text(&self) -> Result<Outcome, Refusal> {
        let Self { policy, call, facts, .. } = self;
        let wanted = expected(call);
        let seen = view(policy, facts);
        if let Seen::Whole { digest, .. } | Seen::Part { digest, .. } = seen
            && let Some(wanted) = wanted
            && wanted != *digest
        {
            return Err(expectation(call, facts, wanted));
        }
        match seen {
            Seen::Whole { digest, shape } => self.over_seen(*digest, *shape),
            _ if policy.views == Switch::Off || policy.unseen == Unseen::Allow => self.over_anything(wanted),
            Seen::Part { digest, missing, shape } => Err(self.over_part(*digest, missing, *shape)),
            Seen::Nothing | Seen::Link { .. } => self.over_unseen(wanted),
        }
    }

    /// Over a version of which only a part was seen: refused, with the window that is missing.
    fn over_part(&self, seen: Digest, missing: &Range<u64>, shape: Fact<TextShape>) -> Refusal {
        let Self { policy, call, facts, kind } = self;
        match state(facts) {
            Some(found @ FileState::Regular { len, digest, .. }) => {
                match compare(policy, *len, *digest, seen) {
                    Compared::Other => return stale(policy, call, facts, *kind, found),
                    Compared::TooLarge => return too_large(call, *len, policy.limits.digest),
                    Compared::Same | Compared::Unknown => {}
                }
            }
            Some(found) => return stale(policy, call, facts, *kind, found),
            None => {}
        }
        let class = match shape {
            Fact::Known(shape) => Fact::Known(shape.class),
            Fact::Unknown => facts.class,
        };
        if let Err(refusal) = refuse_class(policy, call, *kind, class) {
            return refusal;
        }
        // One read delivers no more; the next refusal names what is then missing.
        let end = missing.end.min(missing.start.saturating_add(policy.limits.read_bytes.max(1)));
        Refusal::partially_read(call.requested, missing.start..end)
    }

    /// Where nothing was seen: over nothing, or over a file that has nothing in it.
    fn over_unseen(&self, wanted: Option<Digest>) -> Result<Outcome, Refusal> {
        let Self { policy, call, facts, kind } = self;
        let Some(FileState::Regular { len, digest, .. }) = state(facts) else {
            return match wanted {
                Some(_) => Err(Refusal::new(Code::NotRead, call.requested, "")),
                None => Ok(Outcome::Under(Precondition::Absent)),
            };
        };
        let digest = if *len == 0 { Some(Digest::EMPTY) } else { *digest };
        match (digest, wanted) {
            (Some(digest), Some(wanted)) if digest != wanted => Err(expectation(call, facts, wanted)),
            (Some(Digest::EMPTY), _) => Ok(content(Digest::EMPTY)),
            (None, _) if *len > policy.limits.digest => Err(too_large(call, *len, policy.limits.digest)),
            _ => {
                refuse_class(policy, call, *kind, facts.class)?;
                Err(Refusal::new(Code::NotRead, call.requested, ""))
            }
        }
    }

    /// Over a version that was seen as a whole.
    fn over_seen(&self, seen: Digest, shape: Fact<TextShape>) -> Result<Outcome, Refusal> {
        let Self { policy, call, facts, kind } = self;
        match state(facts) {
            Some(found @ FileState::Regular { len, digest, .. }) => {
                match compare(policy, *len, *digest, seen) {
                    Compared::Other => return Err(stale(policy, call, facts, *kind, found)),
                    Compared::TooLarge => return Err(too_large(call, *len, policy.limits.digest)),
                    Compared::Same | Compared::Unknown => {}
                }
            }
            Some(found) => return Err(stale(policy, call, facts, *kind, found)),
            None => {}
        }
        // Of the version that was seen, never of what is there: they are one only if the target says so.
        let class = match shape {
            Fact::Known(shape) => Fact::Known(shape.class),
            Fact::Unknown => Fact::Unknown,
        };
        if self.kind == Kind::Pot {
            match (class, facts.class) {
                (Fact::Known(ContentClass::Binary), _) => return Err(powerpoint(call)),
                (Fact::Unknown, Fact::Unknown) => return Ok(Outcome::Undecided),
                _ => {}
            }
        }
        // An actor may replace binary content that it has seen as a whole: it wrote it itself.
        if class == Fact::Known(ContentClass::Bytes) {
            refuse_class(policy, call, *kind, class)?;
        }
        Ok(content(seen))
    }

    /// Over whatever is there, where the policy demands no view: it is looked at first, so that nothing newer is
    /// lost.
    fn over_anything(&self, wanted: Option<Digest>) -> Result<Outcome, Refusal> {
        let Self { policy, call, facts, kind } = self;
        let Some(found @ FileState::Regular { len, digest, .. }) = state(facts) else {
            return Ok(state(facts).map_or(Outcome::Undecided, |_| Outcome::Under(Precondition::Absent)));
        };
        let digest = match digest {
            _ if *len == 0 => Digest::EMPTY,
            Some(digest) => *digest,
            None => return without_digest(policy, call, *len),
        };
        if wanted.is_some_and(|wanted| wanted != digest) {
            return Err(stale(policy, call, facts, *kind, found));
        }
        if *len > 0 && facts.class == Fact::Unknown {
            return Ok(Outcome::Undecided);
        }
        refuse_class(policy, call, *kind, facts.class)?;
        Ok(content(digest))
    }
}
