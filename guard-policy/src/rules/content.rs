//! The content that a call would put.

use crate::{Call, Code, Policy, Refusal, Switch};

/// Refuses a display of a file, and what is over the limit.
///
/// Any class may be put: tools hand over exact bytes, and what the class rules protect is content that exists.
pub(crate) fn check(policy: &Policy, call: &Call<'_>) -> Result<(), Refusal> {
    let Some(text) = call.text else { return Ok(()) };
    if text.echo && policy.rules.tool_echo == Switch::On {
        return Err(Refusal::new(Code::ToolEcho, call.requested, ""));
    }
    let limit = policy.limits.write_bytes;
    if text.len > limit {
        let detail = format!("the content has {} bytes, and a write takes {limit}", text.len);
        return Err(Refusal::new(Code::TooLarge, call.requested, &detail));
    }
    Ok(())
}
