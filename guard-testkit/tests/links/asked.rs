//! What is asked: targets, the guard's tool above one, and resolvers that are wrong in a way of the field.

use std::sync::Arc;

use guard_backends::local::{Local, Resolver};
use guard_backends::shell::{Process, Shell};
use guard_core::policy::{Access, RootId, TargetPath};
use guard_core::port::{Ask, Depth, FileOps, Last, RootSpec, Scope, TargetId};
use guard_core::{Actor, Guard, StatPaths};
use guard_testkit::memory::{Builder, Memory};
use guard_testkit::transport::{Sh, Tools};
use tokio::runtime::Runtime;

use crate::answer::{Answer, there};
use crate::model::{Rule, split};
use crate::scene::{Base, DIRECTORIES, Node, ROOTS, Request, Scene};

/// Whoever answers every request of a scene.
pub(crate) trait Asked {
    fn name(&self) -> String;

    /// Tells whether it can be asked this.
    fn takes(&self, _: &Request) -> bool {
        true
    }

    fn answers(&self, scene: &Scene, requests: &[Request]) -> Vec<Answer>;
}

/// The roots of a target, as it opened them.
struct Opened {
    ops: Arc<dyn FileOps>,
    roots: Vec<RootId>,
}

impl Opened {
    async fn new(ops: Arc<dyn FileOps>, base: &str) -> Self {
        let mut roots = Vec::new();
        for (spelling, _) in ROOTS {
            let path = TargetPath::new(format!("{base}/{spelling}")).unwrap();
            roots.push(ops.open_root(&RootSpec { path }).await.unwrap().id);
        }
        Self { ops, roots }
    }

    async fn answers(&self, requests: &[Request]) -> Vec<Answer> {
        let ask = |request: &Request| Ask {
            root: self.roots[request.root],
            path: request.path.clone(),
            last: request.last,
            depth: Depth::State,
            scope: Arc::new(Scope {
                roots: request.roots.as_ref().map(|all| all.iter().map(|index| self.roots[*index]).collect()),
                within: request
                    .within
                    .as_ref()
                    .map(|all| all.iter().map(|path| TargetPath::new(path).unwrap()).collect()),
            }),
        };
        let asks: Vec<Ask> = requests.iter().map(ask).collect();
        self.ops.stat(&asks).await.unwrap().into_iter().map(Answer::from).collect()
    }
}

/// A target.
pub(crate) struct Target {
    name: String,
    runtime: Runtime,
    opened: Opened,
    _keep: Option<Tools>,
}

impl Target {
    pub(crate) fn local(base: &Base, resolver: Resolver) -> Self {
        let runtime = Runtime::new().unwrap();
        let opened = runtime.block_on(async {
            let local = Local::builder().resolver(resolver).build().unwrap();
            Opened::new(Arc::new(local), base.text()).await
        });
        Self { name: format!("{resolver:?}"), runtime, opened, _keep: None }
    }

    pub(crate) fn shell(base: &Base, sh: Sh) -> Self {
        let runtime = Runtime::new().unwrap();
        let tools = sh.tools().unwrap();
        let process = Process::shell(TargetId::new(sh.name())).env("PATH", tools.path());
        let opened = runtime.block_on(async {
            let shell = Shell::builder(Arc::new(process)).connect().await.unwrap();
            Opened::new(Arc::new(shell), base.text()).await
        });
        Self { name: sh.name().to_owned(), runtime, opened, _keep: Some(tools) }
    }
}

impl Asked for Target {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn answers(&self, _: &Scene, requests: &[Request]) -> Vec<Answer> {
        self.runtime.block_on(self.opened.answers(requests))
    }
}

/// The in-memory target: a new one for each tree.
pub(crate) struct InMemory {
    runtime: Runtime,
}

impl InMemory {
    pub(crate) fn new() -> Self {
        Self { runtime: Runtime::new().unwrap() }
    }
}

impl Asked for InMemory {
    fn name(&self) -> String {
        "memory".to_owned()
    }

    fn answers(&self, scene: &Scene, requests: &[Request]) -> Vec<Answer> {
        let directories = DIRECTORIES.map(|name| TargetPath::new(scene.at(name)).unwrap());
        let memory = directories.into_iter().fold(Memory::builder(), Builder::directory).build();
        let world = memory.world();
        world.symlink("ws", scene.at("alias")).unwrap();
        for (path, node) in scene.tree.iter().filter(|(path, _)| **path != scene.at("ws/inner")) {
            match node {
                Node::Directory => world.mkdir(path).unwrap(),
                Node::File => world.create(path, path.as_bytes()).unwrap(),
                Node::Link(text) => world.symlink(text, path).unwrap(),
            }
        }
        self.runtime
            .block_on(async { Opened::new(Arc::new(memory), &scene.base).await.answers(requests).await })
    }
}

/// The guard's tool on this machine, which takes what a model types.
pub(crate) struct Tool {
    runtime: Runtime,
    actor: Actor,
}

impl Tool {
    pub(crate) fn new(base: &Base) -> Self {
        let runtime = Runtime::new().unwrap();
        let guard = runtime.block_on(async {
            let builder = Guard::builder(Arc::new(Local::builder().build().unwrap()));
            let builder = ROOTS.iter().fold(builder, |builder, (spelling, _)| {
                let path = TargetPath::new(format!("{}/{spelling}", base.text())).unwrap();
                builder.root(path, Access::ReadWrite)
            });
            builder.open().await.unwrap()
        });
        Self { runtime, actor: guard.actor("agent") }
    }

    async fn answer(&self, typed: &str) -> Answer {
        match self.actor.stat(StatPaths::new(typed)).await {
            Err(failure) => Answer::from(&failure.refusal),
            Ok(mut told) => {
                let facts = told.paths.remove(0);
                let led = there(facts.resolved.as_str(), &facts.state);
                facts.problem.as_ref().map_or(led, Answer::from)
            }
        }
    }
}

/// Ways to type one path below a root.
fn spellings(scene: &Scene, request: &Request) -> Vec<String> {
    let Request { root, path, .. } = request;
    let (spelling, physical) = ROOTS[*root];
    let below = if path.is_empty() { String::new() } else { format!("/{path}") };
    let mut typed: Vec<String> = vec![
        format!("{}{below}", scene.at(spelling)),
        format!("/{}{}", scene.at(physical), below.replace('/', "//")),
        format!("{}/.{below}", scene.at(physical)),
    ];
    // The first root is the base, and `..` out of it leads along its path.
    if let Some(inside) = physical.strip_prefix("ws") {
        let inside = format!("{inside}{below}");
        let inside = inside.trim_start_matches('/');
        typed.extend([format!("./{inside}"), format!("../ws/{inside}")]);
        if !inside.is_empty() {
            typed.push(inside.to_owned());
        }
    }
    typed.into_iter().map(|typed| typed.trim_end_matches('/').to_owned()).collect()
}

impl Asked for Tool {
    fn name(&self) -> String {
        "stat".to_owned()
    }

    /// What begins with `..` is located by its text, along the paths of the roots.
    fn takes(&self, request: &Request) -> bool {
        let is_plain = request.last == Last::Follow && request.roots.is_none() && request.within.is_none();
        is_plain && !request.path.starts_with("..")
    }

    /// However a path is typed, the answer is the same.
    fn answers(&self, scene: &Scene, requests: &[Request]) -> Vec<Answer> {
        let answer = |request| {
            let typed = spellings(scene, request);
            let mut answers = typed.iter().map(|typed| self.runtime.block_on(self.answer(typed)));
            let first = answers.next().unwrap();
            match answers.enumerate().find(|(_, answer)| *answer != first) {
                Some((at, answer)) => {
                    Answer::Else(format!("{first:?} for {:?}, {answer:?} for {:?}", typed[0], typed[at + 1]))
                }
                None => first,
            }
        };
        requests.iter().map(answer).collect()
    }
}

/// A resolver that is wrong in a way of the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// Takes `..` away by the text, and follows whatever the rest leads through.
    Text,
    /// Asks where the path ends, by a string's prefix: `/ws-evil` begins with `/ws`.
    Prefix,
    /// Asks where the path ends, whatever it leads through.
    End,
    /// Takes `..` behind a name away by the text where a link's text leaves the root.
    LinkText,
}

impl Wrong {
    pub(crate) const ALL: [Self; 4] = [Self::Text, Self::Prefix, Self::End, Self::LinkText];

    fn answer(self, scene: &Scene, request: &Request) -> Answer {
        let root = scene.root(request.root);
        let right = Rule::default().answer(scene, request);
        let path = match self {
            Self::LinkText => return Rule { by_text: true }.answer(scene, request),
            Self::Text => {
                let mut names: Vec<String> = split(&root).into();
                for name in split(&request.path) {
                    if name == ".." {
                        names.pop();
                    } else {
                        names.push(name);
                    }
                }
                format!("/{}", names.join("/"))
            }
            Self::Prefix | Self::End => format!("{root}/{}", request.path),
        };
        // Of what it takes for inside it tells what is there; it is right about all else.
        let Ok(real) = std::fs::canonicalize(&path) else { return right };
        let is_inside = match self {
            Self::Text => path.starts_with(&format!("{root}/")),
            Self::Prefix => real.to_str().unwrap().starts_with(&root),
            _ => real.starts_with(&root),
        };
        let kind = if real.is_dir() { "directory" } else { "file" };
        if is_inside { Answer::Leads(real.to_str().unwrap().to_owned(), kind) } else { right }
    }
}

impl Asked for Wrong {
    fn name(&self) -> String {
        format!("{self:?}")
    }

    fn takes(&self, request: &Request) -> bool {
        request.last == Last::Follow && request.roots.is_none() && request.within.is_none()
    }

    fn answers(&self, scene: &Scene, requests: &[Request]) -> Vec<Answer> {
        requests.iter().map(|request| self.answer(scene, request)).collect()
    }
}
