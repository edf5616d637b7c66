//! What the policy says of a path, and why.

use guard_policy::{Access, Act, Fact, FileState, Refusal, TargetPath, classify};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Failure;
use crate::port::{Body, Last};
use crate::request::{Asked, Decision, Known, Request};

/// What the policy says of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Explanation {
    /// The path as it was requested.
    pub path: String,
    /// Where it leads.
    pub resolved: TargetPath,
    /// The root that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<TargetPath>,
    /// What may be done below that root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// What is there.
    pub state: FileState,
    /// One for each act.
    pub answers: Vec<RuleAnswer>,
}

/// What the policy says of one act.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RuleAnswer {
    /// `read`, `write`, `edit`, …
    pub act: String,
    /// What the target would have to find, where the act is allowed and changes something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precondition: Option<guard_policy::Precondition>,
    /// Whether somebody has to approve.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub approval_required: bool,
    /// Why the act is refused, where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
}

pub(crate) async fn explain(mut request: Request, path: &str) -> Result<Explanation, Failure> {
    let mut site = request.locate(path, Last::Follow).await?;
    request.judge(&site, Asked::plain(Act::Stat), Known::NOTHING)?;
    let depth = request.digest_depth();
    let found = request.stat_one(&site, depth).await?;
    if found.resolved != site.expect {
        site.redirect(found.resolved)?;
        // Where it leads can be out of this actor's reach.
        request.judge(&site, Asked::plain(Act::Stat), Known::NOTHING)?;
    }
    let mut state = found.state;
    let mut class = Fact::Unknown;
    // What may not be read is explained by its name and state alone.
    if state.is_regular() && request.judge(&site, Asked::plain(Act::Read), Known::NOTHING).is_ok() {
        let contents = request.read_whole(&site).await?;
        if let Body::Bytes { bytes, .. } = &contents.body {
            class = Fact::Known(classify(bytes).class);
        }
        state = contents.found.state;
    }
    let known = Known { state: Fact::Known(&state), class };
    let answers = Act::ALL
        .iter()
        .map(|act| {
            let name = serde_json::to_value(act).ok();
            let act_name = name.as_ref().and_then(|name| name.as_str()).unwrap_or_default().to_owned();
            let answer = request.judge(&site, Asked::plain(*act), known);
            let mut rule =
                RuleAnswer { act: act_name, precondition: None, approval_required: false, refusal: None };
            match answer {
                Ok(Decision::Allowed(allowed)) => {
                    rule.approval_required = allowed.approval == guard_policy::Approval::Required;
                    rule.precondition = allowed.precondition;
                }
                Ok(Decision::Undecided) => {}
                Err(failure) => rule.refusal = Some(failure.refusal),
            }
            rule
        })
        .collect();
    let holder = request.roots.holding(&site.expect);
    Ok(Explanation {
        path: site.requested.clone(),
        root: holder.map(|root| root.physical.clone()),
        access: holder.map(|root| root.access),
        resolved: site.expect,
        state,
        answers,
    })
}
