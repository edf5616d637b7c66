//! What was done, for the record.

use guard_policy::{Code, Tool};
use serde::Serialize;

use super::TargetId;

/// One line of an audit log: a call and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditRecord {
    /// The record's version.
    pub version: u32,
    /// Which target.
    pub target: TargetId,
    /// Whose call.
    pub actor: String,
    /// Which tool.
    pub tool: Tool,
    /// The paths as they were requested.
    pub paths: Vec<String>,
    /// `done`, `refused` or `unknown`.
    pub outcome: &'static str,
    /// The refusal's code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// The receipt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<serde_json::Value>,
}

/// Takes audit records; the time is the sink's to add.
///
/// It is called when the call has ended, on the task that made it, and must not block for long.
pub trait AuditSink: Send + Sync {
    /// Takes one record.
    fn record(&self, record: &AuditRecord);

    /// Returns the absolute path of the file on this machine that the records go to, if there is one.
    ///
    /// A guard of this machine's files keeps its tools away from it.
    fn place(&self) -> Option<&str> {
        None
    }
}
