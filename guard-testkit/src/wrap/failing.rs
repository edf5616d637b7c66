//! Makes chosen requests fail.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use guard_core::port::{CommitId, FileOps, OpError};

use super::{Around, Layer, Method, Moment, When};

/// A target whose chosen requests fail.
///
/// ```
/// use guard_testkit::memory::Memory;
/// use guard_testkit::wrap::{Failing, Fault, Method, When};
///
/// let failing = Failing::new(Memory::new());
/// // The next commit is carried out, and its reply is lost.
/// failing.fail(Method::Commit, 1, When::After, Fault::OutcomeUnknown);
/// // The second read from now never leaves this side.
/// failing.fail(Method::Read, 2, When::Before, Fault::Unavailable);
/// ```
pub type Failing<F> = Around<F, Faults>;

/// What a [`Failing`] does to whom.
#[derive(Debug, Default)]
pub struct Faults(Mutex<Plans>);

#[derive(Debug, Default)]
struct Plans {
    planned: Vec<Planned>,
    /// How many requests of each method have begun.
    begun: BTreeMap<Method, u64>,
}

/// How a request fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// [`OpError::Unavailable`]: no complete request left this side. True only before the request.
    Unavailable,
    /// [`OpError::OutcomeUnknown`], with the request's own commit: its reply was lost.
    /// Before the request this is a target that did not get it; after it, one that did.
    OutcomeUnknown,
    /// Another error.
    With(OpError),
}

#[derive(Debug)]
struct Planned {
    method: Method,
    when: When,
    /// Which request of the method.
    nth: u64,
    fault: Fault,
}

impl<F: FileOps> Around<F, Faults> {
    /// Lets everything through to `inner`, for now.
    pub fn new(inner: F) -> Self {
        Self::with(inner, Faults::default())
    }

    /// Makes the `nth` request of `method` from now on fail (1 is the next), before or after it is carried out.
    pub fn fail(&self, method: Method, nth: u64, when: When, fault: Fault) {
        let mut plans = self.layer().0.lock().unwrap_or_else(PoisonError::into_inner);
        let nth = plans.begun.get(&method).copied().unwrap_or_default() + nth.max(1);
        plans.planned.push(Planned { method, when, nth, fault });
    }
}

#[async_trait]
impl Layer for Faults {
    async fn at(&self, moment: Moment<'_>) -> Result<(), OpError> {
        let mut plans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if moment.when == When::Before {
            plans.begun.insert(moment.method, moment.nth);
        }
        let is_due =
            |plan: &Planned| (plan.method, plan.when, plan.nth) == (moment.method, moment.when, moment.nth);
        let due = plans.planned.iter().position(is_due).map(|index| plans.planned.swap_remove(index).fault);
        match due {
            None => Ok(()),
            Some(Fault::Unavailable) => Err(OpError::Unavailable { why: "a planned fault".to_owned() }),
            Some(Fault::OutcomeUnknown) => {
                let commit = moment.commit.cloned().unwrap_or_else(|| CommitId("none".to_owned()));
                Err(OpError::OutcomeUnknown { commit })
            }
            Some(Fault::With(error)) => Err(error),
        }
    }
}
