//! How a host keeps its tools: a trait of its own, a wrapper around the guard's tools, and a tool that is none of them.
//!
//! When the host starts a sub-agent it makes the sub-agent's tools from those it has. The guard's are bound to the
//! sub-agent's own actor; a foreign tool passes through untouched.
//!
//! `cargo run -p guard-core --example host_tools`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use guard_core::policy::{Access, Rights, TargetPath};
use guard_core::{Actor, BoundTool, Guard};
use guard_testkit::memory::Memory;
use serde_json::{Value, json};

/// A tool as this host knows it.
#[async_trait]
trait HostTool: Send + Sync {
    fn name(&self) -> &str;

    async fn call(&self, arguments: Value) -> Value;

    /// Returns the tool for a sub-agent; a tool that keeps no record is the same for everybody.
    fn for_agent(self: Arc<Self>, agent: &Actor) -> Arc<dyn HostTool>;
}

/// A tool of the guard.
struct FileTool(BoundTool);

#[async_trait]
impl HostTool for FileTool {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn call(&self, arguments: Value) -> Value {
        serde_json::to_value(self.0.call(arguments).await).unwrap_or_default()
    }

    fn for_agent(self: Arc<Self>, agent: &Actor) -> Arc<dyn HostTool> {
        Arc::new(Self(self.0.rebind(agent)))
    }
}

/// A tool that the guard knows nothing of.
struct Dice;

#[async_trait]
impl HostTool for Dice {
    fn name(&self) -> &'static str {
        "dice"
    }

    async fn call(&self, _: Value) -> Value {
        json!(4)
    }

    fn for_agent(self: Arc<Self>, _: &Actor) -> Arc<dyn HostTool> {
        self
    }
}

type Tools = Vec<Arc<dyn HostTool>>;

async fn call(tools: &Tools, name: &str, arguments: Value) -> Result<Value, Box<dyn Error>> {
    let tool = tools.iter().find(|tool| tool.name() == name).ok_or("there is no such tool")?;
    Ok(tool.call(arguments).await)
}

async fn show() -> Result<(), Box<dyn Error>> {
    let memory = Memory::new();
    memory.world().create("/ws/notes.txt", b"one\n")?;
    let root = TargetPath::new("/ws")?;
    let guard = Guard::builder(Arc::new(memory)).root(root, Access::ReadWrite).open().await?;

    let agent = guard.actor("agent");
    let mut tools: Tools = Vec::new();
    for tool in guard.toolbox().bind_all(&agent) {
        tools.push(Arc::new(FileTool(tool)));
    }
    tools.push(Arc::new(Dice));

    // A sub-agent that only reads.
    let reading = Rights { access: Access::ReadOnly, ..Rights::default() };
    let researcher = agent.child_with("researcher", &reading);
    let childs: Tools = tools.iter().map(|tool| Arc::clone(tool).for_agent(&researcher)).collect();

    let read = call(&childs, "read_file", json!({ "path": "notes.txt" })).await?;
    println!("the sub-agent reads:       {}", read["result"]["content"]);
    assert_eq!(read["outcome"], "done");

    let over = json!({ "path": "notes.txt", "content": "two\n" });
    let refused = call(&childs, "write_file", over.clone()).await?;
    println!("the sub-agent may not write: {}", refused["refusal"]["message"]);
    assert_eq!(refused["refusal"]["code"], "read-only-actor");

    let refused = call(&tools, "write_file", over.clone()).await?;
    println!("the agent has not read it:   {}", refused["refusal"]["message"]);
    assert_eq!(refused["refusal"]["code"], "not-read");

    call(&tools, "read_file", json!({ "path": "notes.txt" })).await?;
    assert_eq!(call(&tools, "write_file", over).await?["outcome"], "done");
    println!("the agent reads, and then writes");

    let (own, passed) = (tools.last().ok_or("no tool")?, childs.last().ok_or("no tool")?);
    assert!(Arc::ptr_eq(own, passed));
    println!("a foreign tool is the same for both: {}", call(&childs, "dice", json!({})).await?);
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    show().await
}

#[cfg(test)]
mod tests {
    #[tokio::test]
    async fn a_host_wraps_the_tools_and_passes_its_own_through() {
        super::show().await.expect("the example holds");
    }
}
