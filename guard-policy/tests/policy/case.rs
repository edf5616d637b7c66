//! One question to `decide`, with everything that it borrows.

use guard_policy::{
    Access, Act, Approval, ApproverSet, Call, Code, ContentClass, Delivered, Digest, Expect, Fact, Facts,
    FileState, NewText, OtherKind, Policy, Precondition, Ranges, Refusal, Rights, RootEntry, RootId, Roots,
    Seen, TargetPath, TextShape, Tool, Verdict, Views, decide,
};

/// A version of a file's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) name: &'static str,
    pub(crate) bytes: &'static [u8],
    pub(crate) class: ContentClass,
}

const fn version(name: &'static str, bytes: &'static [u8], class: ContentClass) -> Version {
    Version { name, bytes, class }
}

pub(crate) const TEXT: Version = version("text", b"one\ntwo\n", ContentClass::Text);
pub(crate) const NEWER: Version = version("newer", b"one\ntwo\nthree\n", ContentClass::Text);
pub(crate) const UTF16: Version = version("utf16", b"\xFF\xFEo\0k\0", ContentClass::Utf16);
pub(crate) const LEGACY: Version = version("legacy", b"gr\xFCn\n", ContentClass::Bytes);
pub(crate) const BINARY: Version = version("binary", b"SQLite format 3\0", ContentClass::Binary);
pub(crate) const EMPTY: Version = version("empty", b"", ContentClass::Text);
pub(crate) const VERSIONS: &[Version] = &[TEXT, NEWER, UTF16, LEGACY, BINARY, EMPTY];

impl Version {
    pub(crate) fn digest(self) -> Digest {
        Digest::of(self.bytes)
    }

    pub(crate) fn len(self) -> u64 {
        self.bytes.len() as u64
    }

    pub(crate) fn shape(self) -> TextShape {
        let shape = guard_policy::classify(self.bytes);
        assert_eq!(shape.class, self.class);
        shape
    }

    pub(crate) fn state(self) -> FileState {
        FileState::Regular { len: self.len(), mode: 0o644, nlink: 1, digest: Some(self.digest()) }
    }

    pub(crate) fn of(digest: Digest) -> Option<Self> {
        VERSIONS.iter().copied().find(|version| version.digest() == digest)
    }

    /// What a delivery of these bytes is.
    pub(crate) fn delivered(self, ranges: Ranges, shape: Fact<TextShape>) -> Delivered {
        Delivered { digest: self.digest(), len: self.len(), ranges, shape }
    }
}

/// A regular file over the digest limit.
pub(crate) fn huge() -> FileState {
    FileState::Regular { len: 1 << 40, mode: 0o644, nlink: 1, digest: None }
}

pub(crate) fn link(text: &str) -> FileState {
    FileState::Link { text: text.to_owned() }
}

pub(crate) fn fifo() -> FileState {
    FileState::Other { what: OtherKind::Fifo }
}

pub(crate) fn path(text: &str) -> TargetPath {
    TargetPath::new(text).unwrap()
}

/// What was seen, as `Views` would say it.
pub(crate) fn seen(act: impl FnOnce(&mut Views, &TargetPath)) -> Seen {
    let (mut views, path) = (Views::new(), path("/ws/any"));
    act(&mut views, &path);
    views.seen(&path)
}

pub(crate) fn whole(version: Version) -> Seen {
    seen(|views, path| {
        let shape = Fact::Known(version.shape());
        views.record(path, views.begin(), version.delivered((0..version.len()).into(), shape));
    })
}

pub(crate) fn vouched(version: Version) -> Seen {
    seen(|views, path| views.vouch(path, version.digest()))
}

pub(crate) fn part(version: Version, to: u64, shape: Fact<TextShape>) -> Seen {
    seen(|views, path| views.record(path, views.begin(), version.delivered((0..to).into(), shape)))
}

pub(crate) fn metadata(version: Version) -> Seen {
    part(version, 0, Fact::Unknown)
}

pub(crate) fn seen_link(text: &str) -> Seen {
    Seen::Link { text: text.to_owned() }
}

pub(crate) fn root(id: u32, physical: &str, access: Access) -> RootEntry {
    RootEntry { id: RootId(id), physical: path(physical), aliases: Vec::new(), access }
}

/// One question.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) policy: Policy,
    pub(crate) rights: Rights,
    pub(crate) approver: ApproverSet,
    pub(crate) roots: Roots,
    pub(crate) home: Fact<Option<TargetPath>>,
    pub(crate) tool: Tool,
    pub(crate) act: Act,
    pub(crate) requested: String,
    pub(crate) path: TargetPath,
    pub(crate) text: Option<NewText>,
    pub(crate) expect: Option<Expect>,
    pub(crate) state: Fact<FileState>,
    pub(crate) class: Fact<ContentClass>,
    pub(crate) seen: Seen,
}

impl Case {
    /// Asks about `requested`, relative to `/ws` or absolute.
    pub(crate) fn new(act: Act, requested: &str) -> Self {
        let resolved =
            if requested.starts_with('/') { requested.to_owned() } else { format!("/ws/{requested}") };
        Self {
            policy: Policy::default(),
            rights: Rights::default(),
            approver: ApproverSet::No,
            roots: Roots::new(vec![root(0, "/ws", Access::ReadWrite), root(1, "/ro", Access::ReadOnly)]),
            home: Fact::Known(Some(path("/home/u"))),
            tool: tool_of(act),
            act,
            requested: requested.to_owned(),
            path: path(&resolved),
            text: act.puts_text().then_some(NewText { class: ContentClass::Text, echo: false, len: 10 }),
            expect: None,
            state: Fact::Unknown,
            class: Fact::Unknown,
            seen: Seen::Nothing,
        }
    }

    /// Asks as if every path were inside a root, so that the other rules speak.
    pub(crate) fn anywhere(act: Act, requested: &str) -> Self {
        Self { roots: Roots::new(vec![root(0, "/", Access::ReadWrite)]), ..Self::new(act, requested) }
    }

    /// Makes what is at the path known: its state, and the class of a regular file.
    pub(crate) fn found(mut self, state: FileState) -> Self {
        if let Some(version) = state.digest().and_then(Version::of) {
            self.class = Fact::Known(version.class);
        }
        self.state = Fact::Known(state);
        self
    }

    pub(crate) fn seen(mut self, seen: Seen) -> Self {
        self.seen = seen;
        self
    }

    pub(crate) fn decide(&self) -> Verdict {
        let call = Call {
            tool: self.tool,
            act: self.act,
            requested: &self.requested,
            text: self.text,
            expect: self.expect,
        };
        let facts = Facts {
            rights: &self.rights,
            approver: self.approver,
            roots: &self.roots,
            home: match &self.home {
                Fact::Known(home) => Fact::Known(home.as_ref()),
                Fact::Unknown => Fact::Unknown,
            },
            path: &self.path,
            state: self.state.as_ref(),
            class: self.class,
            seen: self.seen.clone(),
        };
        decide(&self.policy, &call, &facts)
    }

    pub(crate) fn refusal(&self) -> Option<Refusal> {
        match self.decide() {
            Verdict::Refuse(refusal) => Some(refusal),
            _ => None,
        }
    }

    pub(crate) fn code(&self) -> Option<Code> {
        self.refusal().map(|refusal| refusal.code)
    }
}

fn tool_of(act: Act) -> Tool {
    match act {
        Act::Read => Tool::ReadFile,
        Act::Stat => Tool::Stat,
        Act::List => Tool::ListDir,
        Act::Write => Tool::WriteFile,
        Act::Edit => Tool::EditFile,
        Act::Add => Tool::ApplyPatch,
        Act::Delete => Tool::DeleteFile,
        Act::MoveFrom | Act::MoveTo => Tool::MoveFile,
        Act::MakeDir => Tool::MakeDir,
    }
}

/// A verdict in one cell of a table.
pub(crate) fn cell(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Undecided => "look first".to_owned(),
        Verdict::Allow { precondition, approval } => {
            let mut text = match precondition {
                None => "free".to_owned(),
                Some(Precondition::Absent) => "if absent".to_owned(),
                Some(Precondition::Exists) => "if a file".to_owned(),
                Some(Precondition::Link { text }) => format!("if link {text}"),
                Some(Precondition::DangerAny) => "any".to_owned(),
                Some(Precondition::Content { digest }) => {
                    format!("if {}", Version::of(*digest).map_or("?", |version| version.name))
                }
            };
            if *approval == Approval::Required {
                text += ", approved";
            }
            text
        }
        Verdict::Refuse(Refusal { code, remedy, .. }) => {
            match remedy.as_ref().and_then(|remedy| remedy.call.as_ref()) {
                None => format!("✗ {code}"),
                Some(call) => {
                    let bytes = if call.arguments.contains_key("bytes") { " bytes" } else { "" };
                    format!("✗ {code} → {}{bytes}", call.tool.name())
                }
            }
        }
    }
}
