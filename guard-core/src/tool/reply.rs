//! The tools with JSON arguments and one kind of result.

use guard_policy::{Code, Refusal, Tool};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Actor, Done, Failure, Notice, Outcome, Plan, Receipt};

/// The result of every tool: one JSON object.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Reply {
    /// `done`, `refused` or `unknown`.
    pub outcome: Outcome,
    /// What a mutating tool surely did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
    /// What a dry run would do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// What a reading tool delivers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why it was not done, and how to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// What was found out about earlier calls whose outcome was unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
}

impl From<Result<Done, Failure>> for Reply {
    fn from(result: Result<Done, Failure>) -> Self {
        match result {
            Ok(Done::Committed(receipt)) => Self { receipt: Some(receipt), ..Self::ended(Outcome::Done) },
            Ok(Done::Planned(plan)) => Self { plan: Some(plan), ..Self::ended(Outcome::Done) },
            Err(failure) => Self::from(failure),
        }
    }
}

impl From<Failure> for Reply {
    fn from(failure: Failure) -> Self {
        Self { refusal: Some(failure.refusal), ..Self::ended(failure.outcome) }
    }
}

impl Reply {
    /// Makes the reply of a reading tool.
    pub fn of_result<T: Serialize>(result: Result<T, Failure>) -> Self {
        match result.map(|value| serde_json::to_value(value)) {
            Ok(Ok(value)) => Self { result: Some(value), ..Self::ended(Outcome::Done) },
            Ok(Err(error)) => {
                Self::from(Failure::from(Refusal::new(Code::Unsupported, "", &error.to_string())))
            }
            Err(failure) => Self::from(failure),
        }
    }

    const fn ended(outcome: Outcome) -> Self {
        Self { outcome, receipt: None, plan: None, result: None, refusal: None, notices: Vec::new() }
    }
}

/// Calls a tool with JSON arguments.
pub(crate) async fn call(actor: &Actor, tool: Tool, arguments: Value) -> Reply {
    if let Some(failure) = actor.lacks(tool).await {
        return failure.into();
    }
    match tool {
        Tool::ReadFile => match parsed(arguments) {
            Ok(args) => Reply::of_result(actor.read_file(args).await),
            Err(reply) => reply,
        },
        Tool::ListDir => match parsed(arguments) {
            Ok(args) => Reply::of_result(actor.list_dir(args).await),
            Err(reply) => reply,
        },
        Tool::Stat => match parsed(arguments) {
            Ok(args) => Reply::of_result(actor.stat(args).await),
            Err(reply) => reply,
        },
        Tool::WriteFile => match parsed(arguments) {
            Ok(args) => actor.write_file(args).await.into(),
            Err(reply) => reply,
        },
        Tool::EditFile => match parsed(arguments) {
            Ok(args) => actor.edit_file(args).await.into(),
            Err(reply) => reply,
        },
        Tool::ApplyPatch => match parsed(arguments) {
            Ok(args) => actor.apply_patch(args).await.into(),
            Err(reply) => reply,
        },
        Tool::DeleteFile => match parsed(arguments) {
            Ok(args) => actor.delete_file(args).await.into(),
            Err(reply) => reply,
        },
        Tool::MoveFile => match parsed(arguments) {
            Ok(args) => actor.move_file(args).await.into(),
            Err(reply) => reply,
        },
        // The toolbox lets no other through.
        _ => match parsed(arguments) {
            Ok(args) => actor.make_dir(args).await.into(),
            Err(reply) => reply,
        },
    }
}

/// Takes a tool's arguments; unknown ones are refused, and the message names the allowed ones.
fn parsed<T: DeserializeOwned>(arguments: Value) -> Result<T, Reply> {
    let refuse =
        |detail: &str| -> Reply { Failure::from(Refusal::new(Code::InvalidArguments, "", detail)).into() };
    if !arguments.is_object() {
        return Err(refuse("the arguments are an object, with a member for each"));
    }
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let (path, inner) = (error.path().to_string(), error.inner().to_string());
        let inner = inner.trim_end_matches('.');
        // An unknown or missing argument is named by the error itself, and its path is the object's.
        if path == "." { refuse(inner) } else { refuse(&format!("`{path}`: {inner}")) }
    })
}
