//! Which rules apply to a path, and why.

use std::io::{self, Write};

use guard_core::policy::{Access, Precondition};
use guard_core::{Explanation, RuleAnswer};

use super::text::{BAD, DIM, GOOD, Line, NOTE, styled};

/// Writes one line an act.
pub(crate) fn explanation(out: &mut dyn Write, explanation: &Explanation) -> io::Result<()> {
    writeln!(out, "{}: {}", Line(explanation.resolved.as_str()), super::stat::state(&explanation.state))?;
    if let Some(root) = &explanation.root {
        let access = match explanation.access {
            Some(Access::ReadOnly) => " (reading only)",
            _ => "",
        };
        writeln!(out, "  {} {}{access}", styled(DIM, "root"), Line(root.as_str()))?;
    }
    let mut said: Vec<&str> = Vec::new();
    for answer in &explanation.answers {
        let act = format!("{:<10}", answer.act);
        match &answer.refusal {
            Some(refusal) => {
                let code = styled(BAD, format!("refused [{}]", refusal.code));
                // The same sentence is not said twice.
                let known = said.contains(&refusal.message.as_str());
                let message = if known { "as above" } else { &refusal.message };
                writeln!(out, "  {act} {code} {}", Line(message))?;
                said.push(&refusal.message);
            }
            None => writeln!(out, "  {act} {}", allowed(answer))?,
        }
    }
    Ok(())
}

fn allowed(answer: &RuleAnswer) -> String {
    let under = match &answer.precondition {
        None => "",
        Some(Precondition::Absent) => ", if nothing is there",
        Some(Precondition::Content { .. }) => ", if it is still the version that was looked at",
        Some(Precondition::Link { .. }) => ", if it is still the link that was looked at",
        Some(Precondition::Exists) => ", if it is a regular file",
        Some(Precondition::DangerAny) => ", whatever is there",
    };
    let approval = if answer.approval_required { styled(NOTE, " (with an approval)") } else { String::new() };
    format!("{}{under}{approval}", styled(GOOD, "allowed"))
}
