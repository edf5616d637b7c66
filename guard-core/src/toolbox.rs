//! The tools as a host hands them to a model: definitions that never change, and tools that are bound to an actor.

use std::sync::Arc;

use guard_policy::{Code, Policy, Refusal, Rights, Switch, Tool};
use schemars::{Schema, schema_for};
use serde::Serialize;
use serde_json::Value;

use crate::guard::GuardState;
use crate::{
    Actor, ApplyPatch, DeleteFile, EditFile, Failure, ListDir, MakeDir, MoveFile, ReadFile, Reply, StatPaths,
    WriteFile,
};

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolDefinition {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
    /// The JSON schema of its arguments, with `type: object` at its root.
    pub parameters: Schema,
}

/// The definitions of a guard's tools, made once.
pub(crate) struct Definitions {
    all: Arc<[Arc<ToolDefinition>]>,
    json: Arc<str>,
}

impl Definitions {
    /// Makes the definitions of the tools that the policy has.
    pub(crate) fn of(policy: &Policy) -> Self {
        let enabled = |tool: &&Tool| !policy.disabled_tools.contains(tool);
        let made = Tool::ALL.iter().filter(enabled).filter_map(|tool| definition(*tool, policy.views));
        let all: Arc<[_]> = made.map(Arc::new).collect();
        // Definitions are plain data; they always have a JSON form.
        let json =
            serde_json::to_string(&all.iter().map(AsRef::as_ref).collect::<Vec<_>>()).unwrap_or_default();
        Self { all, json: json.into() }
    }
}

/// The tools of a guard by name: immutable, and the same for every actor.
///
/// What a model is told of the tools does not depend on who calls them; what an actor may not do is refused when it is
/// called. A tool that the policy disables is not there.
///
/// # Examples
///
/// ```no_run
/// use guard_core::{Actor, Guard};
/// use serde_json::json;
///
/// # async fn example(guard: Guard, actor: Actor) -> Result<(), guard_core::Failure> {
/// let toolbox = guard.toolbox();
/// let read = toolbox.bind("read_file", &actor)?;
/// let reply = read.call(json!({ "path": "notes.txt" })).await;
///
/// // The same tool for a child: what the child reads, the parent has not seen.
/// let childs = read.rebind(&actor.child("researcher"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Toolbox {
    guard: Arc<GuardState>,
}

impl Toolbox {
    pub(crate) fn new(guard: Arc<GuardState>) -> Self {
        Self { guard }
    }

    /// Returns the definitions, in a fixed order.
    pub fn definitions(&self) -> impl ExactSizeIterator<Item = &ToolDefinition> {
        self.guard.tools.all.iter().map(AsRef::as_ref)
    }

    /// Returns the definitions as a JSON array: the same bytes for every actor and every call, so that a prompt that
    /// holds them can be cached.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.guard.tools.json
    }

    /// Binds a tool to an actor: its calls meet this actor's views, under the restrictions of both.
    ///
    /// # Errors
    ///
    /// `invalid-arguments` where there is no such tool, with the names of those that there are; `tool-disabled` where
    /// the policy or the actor's rights do not have it.
    pub fn bind(&self, name: &str, actor: &Actor) -> Result<BoundTool, Failure> {
        let tool = named(&self.guard, name)?;
        let definition = self.guard.tools.all.iter().find(|definition| definition.name == name);
        let definition = Arc::clone(definition.ok_or_else(|| disabled(tool))?);
        let approvers = self.guard.approvers();
        let actor = actor.acting(&self.guard, &Rights::default(), &approvers, !approvers.is_empty(), None);
        if actor.rights().disabled.contains(&tool) {
            return Err(disabled(tool));
        }
        Ok(BoundTool { tool, definition, actor })
    }

    /// Binds every tool that there is for the actor, in the order of the definitions.
    #[must_use]
    pub fn bind_all(&self, actor: &Actor) -> Vec<BoundTool> {
        self.definitions().filter_map(|definition| self.bind(definition.name, actor).ok()).collect()
    }
}

/// A tool of one actor, for hosts that hand tools around.
///
/// Its views are the actor's own, whoever calls it. It is not `Clone`: whose views another one uses has to be said.
///
/// ```compile_fail
/// fn two_of<T: Clone>(_: &T) {}
/// fn share(tool: &guard_core::BoundTool) {
///     two_of(tool);
/// }
/// ```
pub struct BoundTool {
    tool: Tool,
    definition: Arc<ToolDefinition>,
    /// Acts on the tool's own guard, by the record of the actor that it is bound to.
    actor: Actor,
}

impl BoundTool {
    /// Returns the tool's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.definition.name
    }

    /// Returns what a model is told of the tool.
    #[must_use]
    pub fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    /// Returns the name of the actor that the tool is bound to.
    #[must_use]
    pub fn actor(&self) -> &str {
        self.actor.name()
    }

    /// Calls the tool.
    pub async fn call(&self, arguments: Value) -> Reply {
        self.actor.call_tool(self.tool, arguments).await
    }

    /// Makes the same tool for another actor: its calls meet that actor's views.
    ///
    /// The restrictions of both hold: it only reads if either does, it is disabled if it is for either, it reaches only
    /// what is within the roots of both (of what was granted to either, nothing), the approvers of both are asked, and what needs an approval needs one of each. The target, the policy (limits, denied
    /// paths, protection on or off) and the definition stay those of this tool. If the actor is of another target,
    /// every call is refused with `target-changed`: what was seen there says nothing of this one.
    #[must_use]
    pub fn rebind(&self, actor: &Actor) -> Self {
        let own = self.actor.state();
        Self {
            tool: self.tool,
            definition: Arc::clone(&self.definition),
            actor: actor.acting(&own.guard, &own.rights, &own.approvers, own.has_approver, Some(&own.reach)),
        }
    }
}

/// Finds a tool by name; whether it is enabled is another question.
pub(crate) fn named(guard: &GuardState, name: &str) -> Result<Tool, Failure> {
    let tool = Tool::from_name(name).filter(|tool| definition(*tool, Switch::On).is_some());
    tool.ok_or_else(|| unknown(guard, name))
}

fn disabled(tool: Tool) -> Failure {
    Refusal::new(Code::ToolDisabled, "", tool.name()).into()
}

fn unknown(guard: &GuardState, name: &str) -> Failure {
    let names: Vec<&str> = guard.tools.all.iter().map(|definition| definition.name).collect();
    let detail = format!("there is no tool `{name}`; there are {}", names.join(", "));
    Refusal::new(Code::InvalidArguments, "", &detail).into()
}

/// What a model is told of a tool; where nothing is recorded as seen, nothing is said of that.
fn definition(tool: Tool, views: Switch) -> Option<ToolDefinition> {
    let (description, parameters) = match (tool, views) {
        (Tool::ReadFile, Switch::On) => (
            "Reads a file by lines (offset, limit) or by bytes. What it shows is what may be written over later.",
            schema_for!(ReadFile),
        ),
        (Tool::ReadFile, Switch::Off) => {
            ("Reads a file by lines (offset, limit) or by bytes.", schema_for!(ReadFile))
        }
        (Tool::WriteFile, Switch::On) => (
            "Writes a whole file: a new one, or over a version that was read in full.",
            schema_for!(WriteFile),
        ),
        (Tool::WriteFile, Switch::Off) => ("Writes a whole file.", schema_for!(WriteFile)),
        (Tool::EditFile, _) => (
            "Replaces texts that occur exactly once in a file; all of the edits, or none.",
            schema_for!(EditFile),
        ),
        (Tool::ApplyPatch, _) => (
            "Applies a patch in the V4A format (*** Begin Patch … *** End Patch) to any number of files; all of it, or nothing.",
            schema_for!(ApplyPatch),
        ),
        (Tool::DeleteFile, Switch::On) => {
            ("Deletes a file or link that was read or looked at with stat.", schema_for!(DeleteFile))
        }
        (Tool::DeleteFile, Switch::Off) => ("Deletes a file or link.", schema_for!(DeleteFile)),
        (Tool::MoveFile, _) => ("Moves a file or link to a free name.", schema_for!(MoveFile)),
        (Tool::MakeDir, _) => ("Makes a directory and its parents.", schema_for!(MakeDir)),
        (Tool::ListDir, _) => ("Lists a directory.", schema_for!(ListDir)),
        (Tool::Stat, _) => {
            ("Tells what is at a path, or at several: type, size, digest.", schema_for!(StatPaths))
        }
        // A tool that is not built is not defined.
        _ => return None,
    };
    Some(ToolDefinition { name: tool.name(), description, parameters })
}
