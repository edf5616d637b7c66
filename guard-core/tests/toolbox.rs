//! The tools that a host hands around: one definition for all, and for each actor its own record.

mod common;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use common::{Bench, code, path, reads};
use guard_core::policy::{Access, Code, Limits, Policy, Rights, Switch, Tool, Within};
use guard_core::{Actor, Answer, Approver, BoundTool, Guard, Proposal, Reply, Toolbox, WriteFile};
use guard_testkit::memory::Memory;
use serde_json::{Value, json};

fn read_only() -> Rights {
    Rights { access: Access::ReadOnly, ..Rights::default() }
}

fn refused(reply: &Reply) -> Option<Code> {
    reply.refusal.as_ref().map(|refusal| refusal.code)
}

/// How a runtime comes by an actor's tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FrontEnd {
    /// One runtime for all actors: it has the toolbox and is told whose call it is.
    Shared,
    /// A copy of the runtime for each actor, with tools of its own, made from those of the runtime it was copied from.
    Cloned,
}

/// To whose record a runtime binds: the right way, and two that let one actor's reading license another's writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Binding {
    Own,
    /// As the tool that it was made from.
    Source,
    /// To the actor that made this one.
    Parent,
}

/// An actor and its deferred tools, as some runtime would have them.
struct Level {
    actor: Actor,
    tools: Vec<BoundTool>,
}

impl Level {
    async fn deferred(&self, name: &str, arguments: Value) -> Reply {
        let tool = self.tools.iter().find(|tool| tool.name() == name).expect("the tool is there");
        tool.call(arguments).await
    }
}

/// Makes as many levels, each the child of the one before.
fn levels(bench: &Bench, front_end: FrontEnd, binding: Binding, count: usize) -> Vec<Level> {
    let toolbox = bench.guard.toolbox();
    let mut levels: Vec<Level> = Vec::new();
    for depth in 0..count {
        let parent = levels.last();
        let name = format!("level {depth}");
        let actor = parent.map_or_else(|| bench.guard.actor(&name), |parent| parent.actor.child(&name));
        let whose = match binding {
            Binding::Own => &actor,
            // The root of the chain has nobody else's.
            Binding::Source | Binding::Parent => parent.map_or(&actor, |parent| &parent.actor),
        };
        let tools = match (front_end, parent) {
            (FrontEnd::Cloned, Some(parent)) if binding == Binding::Source => {
                // A copy that only copies: the tools go on using the record that they used.
                parent.tools.iter().map(|tool| tool.rebind(&levels[0].actor)).collect()
            }
            (FrontEnd::Cloned, Some(parent)) => parent.tools.iter().map(|tool| tool.rebind(whose)).collect(),
            _ => toolbox.bind_all(whose),
        };
        levels.push(Level { actor, tools });
    }
    levels
}

const USERS: &[u8] = b"the user's\n";

/// Runs every case for these levels and returns those that went wrong: which levels, and what.
async fn leaks(front_end: FrontEnd, binding: Binding) -> Vec<String> {
    let mut wrong = Vec::new();
    let names = ["direct", "deferred"];
    for (writer, reader) in [(0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)] {
        for read in names {
            for write in names {
                let bench = Bench::new().await;
                let levels = levels(&bench, front_end, binding, 3);
                bench.world.create("/ws/a.txt", b"first\n").expect("nothing is in the way");
                reads(&levels[writer].actor, "a.txt").await;
                let _ = levels[writer].deferred("read_file", json!({ "path": "a.txt" })).await;
                bench.world.write("/ws/a.txt", USERS).expect("nothing is in the way");
                let case = format!("{reader} reads {read}, {writer} writes {write}");
                let content = if read == "direct" {
                    reads(&levels[reader].actor, "a.txt").await.content.unwrap_or_default()
                } else {
                    let reply = levels[reader].deferred("read_file", json!({ "path": "a.txt" })).await;
                    reply.result.expect("it reads")["content"].as_str().unwrap_or_default().to_owned()
                };
                assert!(content.contains("the user's"), "{case}: the reader gets the new bytes");
                let code = if write == "direct" {
                    let done = levels[writer].actor.write_file(WriteFile::new("a.txt", "mine\n")).await;
                    done.err().map(|failure| failure.refusal.code)
                } else {
                    let arguments = json!({ "path": "a.txt", "content": "mine\n" });
                    refused(&levels[writer].deferred("write_file", arguments).await)
                };
                if code != Some(Code::Stale)
                    || bench.world.read("/ws/a.txt").expect("nothing is in the way") != USERS
                {
                    wrong.push(case);
                }
            }
        }
    }
    // Within one actor both ways are one.
    for level in 0..3 {
        let bench = Bench::new().await;
        let levels = levels(&bench, front_end, binding, 3);
        bench.world.create("/ws/a.txt", b"first\n").expect("nothing is in the way");
        reads(&levels[level].actor, "a.txt").await;
        let arguments = json!({ "path": "a.txt", "content": "second\n" });
        if refused(&levels[level].deferred("write_file", arguments).await).is_some() {
            wrong.push(format!("{level}: direct, then deferred"));
        }
        bench.world.create("/ws/b.txt", b"first\n").expect("nothing is in the way");
        levels[level].deferred("read_file", json!({ "path": "b.txt" })).await;
        if levels[level].actor.write_file(WriteFile::new("b.txt", "second\n")).await.is_err() {
            wrong.push(format!("{level}: deferred, then direct"));
        }
    }
    wrong
}

#[tokio::test]
async fn three_levels_in_both_front_ends_agree_with_themselves_and_leak_nothing() {
    for front_end in [FrontEnd::Shared, FrontEnd::Cloned] {
        assert_eq!(leaks(front_end, Binding::Own).await, [""; 0], "{front_end:?}");
    }
}

#[tokio::test]
async fn binding_by_another_record_fails_the_cases_that_it_breaks() {
    for front_end in [FrontEnd::Shared, FrontEnd::Cloned] {
        // A deferred read of a child refreshes its parent's record, and the parent overwrites what it never saw.
        let by_parent = leaks(front_end, Binding::Parent).await;
        for case in [
            "1 reads deferred, 0 writes direct",
            "1 reads deferred, 0 writes deferred",
            "2 reads deferred, 1 writes direct",
            "1: direct, then deferred",
            "2: deferred, then direct",
        ] {
            assert!(by_parent.iter().any(|wrong| wrong == case), "{front_end:?}: {case} in {by_parent:#?}");
        }
        assert!(!by_parent.iter().any(|wrong| wrong.starts_with("0:")), "the first has nobody else's record");
    }
    let by_source = leaks(FrontEnd::Cloned, Binding::Source).await;
    for case in [
        "1 reads deferred, 0 writes direct",
        "2 reads deferred, 0 writes direct",
        "2 reads deferred, 0 writes deferred",
        "2: direct, then deferred",
    ] {
        assert!(by_source.iter().any(|wrong| wrong == case), "{case} in {by_source:#?}");
    }
}

#[tokio::test]
async fn a_reading_childs_new_bytes_never_license_its_parent() {
    for rights in [Rights::default(), read_only()] {
        for deferred in [false, true] {
            let bench = Bench::new().await;
            let parent = bench.actor();
            bench.world.create("/ws/a.txt", b"first\n").unwrap();
            reads(&parent, "a.txt").await;
            bench.world.write("/ws/a.txt", USERS).unwrap();
            let child = parent.child_with("child", &rights);
            let tool = bench.guard.toolbox().bind("read_file", &parent).unwrap().rebind(&child);
            let content = if deferred {
                tool.call(json!({ "path": "a.txt" })).await.result.unwrap()["content"].to_string()
            } else {
                reads(&child, "a.txt").await.content.unwrap()
            };
            assert!(content.contains("the user's"));
            assert_eq!(code(parent.write_file(WriteFile::new("a.txt", "mine\n")).await), Code::Stale);
            assert_eq!(bench.world.read("/ws/a.txt").unwrap(), USERS);
        }
    }
}

#[tokio::test]
async fn siblings_late_children_and_orphans_have_their_own_records() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    let parent = bench.actor();
    let (first, second) = (parent.child("first"), parent.child("second"));
    reads(&first, "a.txt").await;
    assert_eq!(code(second.write_file(WriteFile::new("a.txt", "x\n")).await), Code::NotRead);
    assert_eq!(code(parent.write_file(WriteFile::new("a.txt", "x\n")).await), Code::NotRead);
    // A child that is made after its parent has read has not read.
    reads(&parent, "a.txt").await;
    let late = parent.child("late");
    assert_eq!(code(late.write_file(WriteFile::new("a.txt", "x\n")).await), Code::NotRead);
    let tool = bench.guard.toolbox().bind("write_file", &late).unwrap();
    reads(&late, "a.txt").await;
    drop(parent);
    assert!(late.write_file(WriteFile::new("a.txt", "two\n")).await.is_ok(), "an orphan goes on");
    drop(late);
    let reply = tool.call(json!({ "path": "a.txt", "content": "three\n" })).await;
    assert_eq!(refused(&reply), None, "a tool keeps the record that it is bound to");
    assert_eq!(bench.content("a.txt"), "three\n");
}

/// Calls every tool that changes something, by every route that there is to one.
async fn every_route(bench: &Bench, actor: &Actor, writer: &Actor) -> Vec<(String, Option<Code>)> {
    let calls = [
        ("write_file", json!({ "path": "b.txt", "content": "x" })),
        ("edit_file", json!({ "path": "a.txt", "old": "one", "new": "two" })),
        ("apply_patch", json!({ "patch": "*** Begin Patch\n*** Add File: b.txt\n+x\n*** End Patch\n" })),
        ("delete_file", json!({ "path": "a.txt" })),
        ("move_file", json!({ "from": "a.txt", "to": "b.txt" })),
        ("make_dir", json!({ "path": "d" })),
    ];
    let toolbox = bench.guard.toolbox();
    let mut codes = Vec::new();
    for (name, arguments) in calls {
        let mut note = |route: &str, reply: &Reply| codes.push((format!("{name} {route}"), refused(reply)));
        note("by name", &actor.call(name, arguments.clone()).await);
        let bound = toolbox.bind(name, actor).expect("nothing is in the way");
        note("bound", &bound.call(arguments.clone()).await);
        note("bound, for a writer", &bound.rebind(writer).call(arguments.clone()).await);
        let lent = toolbox.bind(name, writer).expect("nothing is in the way").rebind(actor);
        note("a writer's, rebound", &lent.call(arguments.clone()).await);
        note("and back again", &lent.rebind(writer).call(arguments.clone()).await);
        note("by a child's name", &actor.child("child").call(name, arguments).await);
    }
    codes
}

#[tokio::test]
async fn a_read_only_actor_reaches_no_writing_tool_by_any_route() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    let writer = bench.actor();
    let reader = writer.child_with("reader", &read_only());
    for (route, code) in every_route(&bench, &reader, &writer).await {
        assert_eq!(code, Some(Code::ReadOnlyActor), "{route}");
    }
    assert_eq!(code(reader.write_file(WriteFile::new("b.txt", "x")).await), Code::ReadOnlyActor);
    assert_eq!(bench.ops.take().total(), 0, "and the target is not asked");
    assert_eq!(bench.world.read("/ws/a.txt").unwrap(), b"one\n");
    // The writer itself is free to.
    let tool = bench.guard.toolbox().bind("write_file", &writer).unwrap();
    assert_eq!(refused(&tool.call(json!({ "path": "b.txt", "content": "x" })).await), None);
}

#[tokio::test]
async fn a_disabled_tool_cannot_be_resolved() {
    let policy = Policy { disabled_tools: vec![Tool::Stat], ..Policy::default() };
    let bench = Bench::with_policy(policy).await;
    let toolbox = bench.guard.toolbox();
    let free = bench.actor();
    let held = free.child_with("held", &Rights { disabled: [Tool::ListDir].into(), ..Rights::default() });
    assert!(!toolbox.json().contains("\"stat\""));
    for (name, actor) in [("stat", &free), ("stat", &held), ("list_dir", &held)] {
        let bound = toolbox.bind(name, actor).map(|tool| tool.name());
        assert_eq!(bound.unwrap_err().refusal.code, Code::ToolDisabled, "{name}");
        // Nothing else about the call is looked at.
        assert_eq!(refused(&actor.call(name, json!("no object")).await), Some(Code::ToolDisabled), "{name}");
    }
    let unknown = toolbox.bind("rm_rf", &free).map(|tool| tool.name()).unwrap_err().refusal;
    assert_eq!(unknown.code, Code::InvalidArguments);
    assert!(
        unknown.message.contains("delete_file") && !unknown.message.contains("stat"),
        "{}",
        unknown.message
    );
    // Disabled for either is disabled, whichever is first.
    let lists = toolbox.bind("list_dir", &free).unwrap();
    let lent = lists.rebind(&held);
    assert_eq!(refused(&lent.call(json!({})).await), Some(Code::ToolDisabled));
    assert_eq!(refused(&lent.rebind(&free).call(json!({})).await), Some(Code::ToolDisabled));
    assert_eq!(refused(&lists.call(json!({})).await), None);
    assert_eq!(toolbox.bind_all(&held).len(), toolbox.definitions().len() - 1);
}

async fn read(tool: &BoundTool, path: &str) -> Option<Code> {
    refused(&tool.call(json!({ "path": path })).await)
}

#[tokio::test]
async fn a_tool_reaches_only_what_is_within_the_roots_of_both() {
    let bench = Bench::new().await;
    for directory in ["/ws/src", "/ws/docs", "/ws/src/docs"] {
        bench.world.mkdir(directory).unwrap();
    }
    for file in ["/ws/src/a.rs", "/ws/docs/a.md", "/ws/src/docs/b.md"] {
        bench.world.write(file, b"text\n").unwrap();
    }
    let within = |directories: &[(&str, Access)]| Rights {
        within: vec![Within::new(directories.iter().map(|(text, access)| (path(text), *access)))],
        ..Rights::default()
    };
    let parent = bench.guard.actor("parent").child_with("parent", &within(&[("/ws/src", Access::ReadWrite)]));
    let docs = bench
        .guard
        .actor_with("docs", within(&[("/ws/docs", Access::ReadWrite), ("/ws/src/docs", Access::ReadOnly)]));
    let tool = bench.guard.toolbox().bind("read_file", &parent).unwrap();
    let both = tool.rebind(&docs);
    assert_eq!(read(&tool, "src/a.rs").await, None);
    assert_eq!(read(&tool, "docs/a.md").await, Some(Code::OutsideRoot));
    assert_eq!(read(&both, "src/a.rs").await, Some(Code::OutsideRoot));
    assert_eq!(read(&both, "docs/a.md").await, Some(Code::OutsideRoot));
    assert_eq!(read(&both, "src/docs/b.md").await, None);
    let write = bench.guard.toolbox().bind("write_file", &parent).unwrap().rebind(&docs);
    let over = json!({ "path": "src/docs/b.md", "content": "x\n" });
    assert_eq!(refused(&write.call(over).await), Some(Code::ReadOnlyRoot), "what either may only read");
    // A child has no more than its parent.
    let child = parent.child_with("child", &within(&[("/ws", Access::ReadWrite)]));
    assert_eq!(code(child.write_file(WriteFile::new("docs/b.md", "x\n")).await), Code::OutsideRoot);
    assert!(child.write_file(WriteFile::new("src/c.rs", "x\n")).await.is_ok());
}

/// Two guards of one target: what a tool keeps of its own and what it takes over.
async fn two_guards(own: Policy, other: Policy) -> (Bench, Guard) {
    let bench = Bench::with_policy(own).await;
    let ops: Arc<dyn guard_core::port::FileOps> = Arc::<common::Ops>::clone(&bench.ops);
    let builder = Guard::builder(ops).policy(other).root(path("/ws/docs"), Access::ReadWrite);
    bench.world.mkdir("/ws/docs").expect("nothing is in the way");
    bench.world.write("/ws/docs/a.md", b"text\n").expect("nothing is in the way");
    bench.world.create("/ws/a.md", b"text\n").expect("nothing is in the way");
    let other = builder.open().await.expect("nothing is in the way");
    (bench, other)
}

#[tokio::test]
async fn a_tool_keeps_its_policy_and_takes_over_the_restrictions_of_another_guards_actor() {
    let own = Policy { sensitive: vec!["/ws/docs/closed".into()], ..Policy::default() };
    let own = Policy { limits: Limits { write_bytes: 8, ..own.limits.clone() }, ..own };
    let other = Policy { disabled_tools: vec![Tool::MoveFile], ..Policy::default() };
    let (bench, other) = two_guards(own, other).await;
    let toolbox = bench.guard.toolbox();
    let actor = other.actor("other");
    let write = toolbox.bind("write_file", &bench.actor()).unwrap().rebind(&actor);
    let put = async |path: &str, content: &str| {
        refused(&write.call(json!({ "path": path, "content": content })).await)
    };
    assert_eq!(put("docs/b.md", "12345678").await, None);
    assert_eq!(put("docs/c.md", "123456789").await, Some(Code::TooLarge), "the tool's limits stay");
    assert_eq!(put("docs/closed", "x").await, Some(Code::SensitivePath), "the tool's denied paths stay");
    assert_eq!(put("b.md", "x").await, Some(Code::OutsideRoot), "the actor's roots hold");
    let moved = toolbox.bind("move_file", &bench.actor()).unwrap().rebind(&actor);
    let arguments = json!({ "from": "docs/b.md", "to": "docs/c.md" });
    assert_eq!(refused(&moved.call(arguments).await), Some(Code::ToolDisabled), "disabled for either");
    // Its views are the actor's, in both guards.
    assert!(actor.write_file(WriteFile::new("/ws/docs/b.md", "a longer text\n")).await.is_ok());
}

#[tokio::test]
async fn protection_that_was_off_stays_off_and_leaves_no_trace() {
    let off = Policy { views: Switch::Off, ..Policy::default() };
    let (bench, other) = two_guards(off, Policy::default()).await;
    let actor = other.actor("guarded");
    let write = bench.guard.toolbox().bind("write_file", &bench.actor()).unwrap().rebind(&actor);
    let over = json!({ "path": "docs/a.md", "content": "new\n" });
    assert_eq!(refused(&write.call(over).await), None, "nothing is checked");
    assert_eq!(actor.views(), guard_core::policy::Views::new(), "and nothing is recorded");
    let json = bench.guard.toolbox().json().to_owned();
    for trace in ["seen", "was read", "looked at", "view", "written over", "not-read"] {
        assert!(!json.contains(trace), "`{trace}` in {json}");
    }
    // The other way round, what was on stays on.
    let write = other.toolbox().bind("write_file", &actor).unwrap().rebind(&bench.actor());
    let over = json!({ "path": "a.md", "content": "newer\n" });
    assert_eq!(refused(&write.call(over).await), Some(Code::NotRead));
}

/// Says the same to everything, and counts.
struct Says(Answer, Mutex<u32>);

#[async_trait]
impl Approver for Says {
    async fn approve(&self, _: &Proposal<'_>) -> Answer {
        *self.1.lock().expect("nothing is in the way") += 1;
        self.0.clone()
    }
}

#[tokio::test]
async fn the_approvers_of_both_are_asked() {
    let yes = Arc::new(Says(Answer::Approve, Mutex::default()));
    let no = Arc::new(Says(Answer::Deny("not now".into()), Mutex::default()));
    let first: Arc<dyn Approver> = Arc::<Says>::clone(&yes);
    let bench = Bench::with(|builder| builder.approver(first)).await;
    let ops: Arc<dyn guard_core::port::FileOps> = Arc::<common::Ops>::clone(&bench.ops);
    let second: Arc<dyn Approver> = Arc::<Says>::clone(&no);
    let builder = Guard::builder(ops).approver(second).root(path("/ws"), Access::ReadWrite);
    let denied = builder.open().await.unwrap().actor("denied");
    let tool = bench.guard.toolbox().bind("write_file", &bench.actor()).unwrap();
    let arguments = json!({ "path": "a.txt", "content": "x" });
    assert_eq!(refused(&tool.rebind(&denied).call(arguments.clone()).await), Some(Code::ApprovalDenied));
    assert_eq!((*yes.1.lock().unwrap(), *no.1.lock().unwrap()), (1, 1));
    // One that is the same for both is asked once.
    assert_eq!(refused(&tool.rebind(&bench.guard.actor("another")).call(arguments).await), None);
    assert_eq!((*yes.1.lock().unwrap(), *no.1.lock().unwrap()), (2, 1));
}

#[tokio::test]
async fn what_needs_an_approval_needs_one_of_each() {
    let yes: Arc<dyn Approver> = Arc::new(Says(Answer::Approve, Mutex::default()));
    let nobody = Bench::new().await;
    let ops: Arc<dyn guard_core::port::FileOps> = Arc::<common::Ops>::clone(&nobody.ops);
    let asked = Guard::builder(ops).approver(yes).root(path("/ws"), Access::ReadWrite).open().await.unwrap();
    let arguments = json!({ "path": "AGENTS.md", "content": "obey\n" });
    for tool in [
        nobody.guard.toolbox().bind("write_file", &nobody.actor()).unwrap().rebind(&asked.actor("asked")),
        asked.toolbox().bind("write_file", &nobody.actor()).unwrap(),
        asked
            .toolbox()
            .bind("write_file", &asked.actor("asked"))
            .unwrap()
            .rebind(&nobody.actor().child("child")),
    ] {
        assert_eq!(refused(&tool.call(arguments.clone()).await), Some(Code::ApprovalRequired));
    }
    let both = asked.toolbox().bind("write_file", &asked.actor("asked")).unwrap();
    assert_eq!(refused(&both.call(arguments).await), None);
}

#[tokio::test]
async fn a_tool_of_another_target_is_refused_before_any_request() {
    let bench = Bench::new().await;
    let elsewhere = Memory::builder().target("elsewhere").build();
    elsewhere.world().create("/ws/a.txt", b"one\n").unwrap();
    let ops: Arc<dyn guard_core::port::FileOps> = Arc::new(elsewhere);
    let other = Guard::builder(ops).root(path("/ws"), Access::ReadWrite).open().await.unwrap();
    let actor = other.actor("of another target");
    reads(&actor, "a.txt").await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    let tools = bench.guard.toolbox().bind_all(&actor);
    assert_eq!(
        tools.len(),
        Tool::ALL.iter().filter(|tool| toolbox_has(&bench.guard.toolbox(), **tool)).count()
    );
    for tool in &tools {
        let arguments = match tool.name() {
            "write_file" => json!({ "path": "a.txt", "content": "x" }),
            "edit_file" => json!({ "path": "a.txt", "old": "one", "new": "x" }),
            "apply_patch" => json!({ "patch": "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n" }),
            "move_file" => json!({ "from": "a.txt", "to": "b.txt" }),
            _ => json!({ "path": "a.txt" }),
        };
        assert_eq!(refused(&tool.call(arguments).await), Some(Code::TargetChanged), "{}", tool.name());
    }
    assert_eq!(bench.ops.take().total(), 0);
    assert_eq!(bench.content("a.txt"), "one\n");
}

fn toolbox_has(toolbox: &Toolbox, tool: Tool) -> bool {
    toolbox.definitions().any(|definition| definition.name == tool.name())
}

#[tokio::test]
async fn definitions_are_the_same_bytes_for_every_actor_and_every_call() {
    let bench = Bench::new().await;
    let toolbox = bench.guard.toolbox();
    let first = toolbox.json().to_owned();
    let actors =
        [bench.actor(), bench.actor().child("child"), bench.actor().child_with("reader", &read_only())];
    for actor in &actors {
        actor.call("write_file", json!({ "path": "a.txt", "content": "x" })).await;
        let tools = toolbox.bind_all(actor);
        let rebound: Vec<BoundTool> = tools.iter().map(|tool| tool.rebind(&actors[0])).collect();
        for tools in [tools, rebound] {
            let definitions: Vec<_> = tools.iter().map(BoundTool::definition).collect();
            assert_eq!(serde_json::to_string(&definitions).unwrap(), first);
        }
    }
    assert_eq!(bench.guard.toolbox().json(), first);
}

#[tokio::test]
async fn a_bound_tool_can_be_sent_shared_and_kept() {
    fn is_plain<T: Send + Sync + 'static>(_: &T) {}
    let bench = Bench::new().await;
    let tool = bench.guard.toolbox().bind("write_file", &bench.actor()).unwrap();
    is_plain(&tool);
    let tool = Arc::new(tool);
    let task = tokio::spawn({
        let tool = Arc::clone(&tool);
        async move { tool.call(json!({ "path": "a.txt", "content": "x" })).await }
    });
    assert_eq!(refused(&task.await.unwrap()), None);
    assert_eq!((tool.name(), tool.actor()), ("write_file", "main"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hundred_actors_on_fifty_files_overwrite_only_what_they_have_read() {
    let bench = Bench::new().await;
    let toolbox = bench.guard.toolbox();
    for file in 0..50 {
        bench.world.create(format!("/ws/{file}.txt"), b"0\n").unwrap();
    }
    let parent = bench.actor();
    let mut tasks = Vec::new();
    for nth in 0..200_u32 {
        let actor = parent.child(format!("actor {nth}"));
        let tools = toolbox.bind_all(&actor);
        tasks.push(tokio::spawn(async move {
            let mut done = Vec::new();
            for turn in 0..5 {
                let path = format!("{}.txt", (nth * 7 + turn * 11) % 50);
                let read = tools.iter().find(|tool| tool.name() == "read_file").unwrap();
                let read = read.call(json!({ "path": path, "display": "plain" })).await;
                let before = read.result.unwrap()["content"].as_str().unwrap().to_owned();
                tokio::task::yield_now().await;
                let content = format!("{before}{nth}.{turn}\n");
                if actor.write_file(WriteFile::new(&path, &content)).await.is_ok() {
                    done.push((path, format!("{nth}.{turn}\n")));
                }
            }
            done
        }));
    }
    let mut written = Vec::new();
    for task in tasks {
        written.extend(task.await.unwrap());
    }
    assert!(written.len() > 50, "only {} of 1000 writes went through", written.len());
    // Every write that went through was of a version that its actor had read: no line of another is lost.
    for (path, line) in &written {
        assert!(bench.content(path).contains(line.as_str()), "{line:?} of {path} is lost");
    }
    let lines: usize = (0..50).map(|file| bench.content(&format!("{file}.txt")).lines().count() - 1).sum();
    assert_eq!(lines, written.len(), "and nothing else was written");
}
