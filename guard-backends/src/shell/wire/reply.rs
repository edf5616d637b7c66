//! Replies: what the shell says, record by record.

use guard_core::policy::{Digest, OtherKind};
use guard_core::port::Tier;

use super::Noise;
use super::field::{self, Fields};
use super::request::{digest_of, hex, tier_of, tier_word};

/// One record of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// What the shell says of itself and its machine, before any request.
    Hello(Hello),
    /// The target lacks something that is needed: a sentence.
    Unsupported(String),
    /// A directory's physical path and identity.
    Root {
        /// The path.
        path: Vec<u8>,
        /// Device and inode.
        identity: String,
    },
    /// What is at a place.
    Found {
        /// Where the path led.
        resolved: Vec<u8>,
        /// What is there.
        state: State,
    },
    /// Something could not be done or found out.
    Problem(Problem),
    /// Raw bytes follow, up to the request's token.
    Body,
    /// The file is larger than was asked for.
    Large,
    /// What is known of a file after its bytes were delivered.
    Digest {
        /// The digest of all its bytes.
        digest: Option<Digest>,
        /// Its length.
        len: u64,
    },
    /// A name in a directory.
    Entry {
        /// The name.
        name: Vec<u8>,
        /// What it is.
        state: State,
    },
    /// There are more names.
    More,
    /// A change was carried out.
    Applied(Box<Applied>),
    /// A change is about to make a directory.
    Making {
        /// Which change.
        change: usize,
        /// The directory.
        path: Vec<u8>,
    },
    /// A change made a directory.
    Made {
        /// Which change.
        change: usize,
        /// The directory.
        path: Vec<u8>,
    },
    /// A change lost some metadata.
    Lost {
        /// Which change.
        change: usize,
        /// What.
        what: String,
    },
    /// A change left bytes under a name.
    Left {
        /// Which change.
        change: usize,
        /// The name.
        path: Vec<u8>,
        /// Why.
        why: String,
    },
    /// The bytes that a change displaced follow, up to the request's token.
    Displaced {
        /// Which change.
        change: usize,
    },
    /// A batch was not carried out.
    Failed(Box<Failed>),
    /// What became of a change of a batch that failed.
    Fate {
        /// Which change.
        change: usize,
        /// `untouched`, `restored` or `unknown`.
        fate: String,
    },
    /// What became of a commit whose reply was lost.
    Settled(Verdict),
    /// The request is being worked on: nothing but a sign of life, so that a long one is not taken for a dead one.
    Working,
    /// The reply is over.
    End,
}

/// What a shell says of itself and its machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hello {
    /// Names and values, in the order in which they came.
    pub facts: Vec<(String, Vec<u8>)>,
}

/// What is at a name; texts are raw bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// A regular file.
    Regular {
        /// Length in bytes.
        len: u64,
        /// Permission bits.
        mode: u32,
        /// Number of names.
        nlink: u64,
        /// The digest, if it was taken.
        digest: Option<Digest>,
    },
    /// Nothing.
    Absent,
    /// A link, with its text.
    Link(Vec<u8>),
    /// A directory.
    Directory,
    /// Something else.
    Other(OtherKind),
}

/// Something that could not be done or found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What kind: a word.
    pub code: String,
    /// Of which path.
    pub path: Vec<u8>,
    /// In whose words.
    pub text: String,
    /// What is there, where that is the problem.
    pub state: Option<State>,
}

/// A change that was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// Which change.
    pub change: usize,
    /// Where.
    pub resolved: Vec<u8>,
    /// What was there.
    pub before: State,
    /// What is there; of a move at its destination.
    pub after: State,
    /// What enforced the precondition.
    pub tier: Tier,
    /// Whether there was an old file that a lease could have been on (a shell has none).
    pub displaced: bool,
    /// Whether anything was done.
    pub changed: bool,
    /// Whether a move was a copy and a removal.
    pub copied: bool,
    /// How many other names the old inode has.
    pub other_names: u64,
}

/// A batch that was not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// The change that failed, where it was one.
    pub at: Option<usize>,
    /// Whether it is about a move's destination.
    pub destination: bool,
    /// Why.
    pub problem: Problem,
}

/// What became of a commit whose reply was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Every change is in effect.
    Applied,
    /// None is.
    NotApplied,
    /// Neither.
    Conflict,
}

impl Hello {
    /// Returns a fact as text.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let value = self.facts.iter().find(|(key, _)| key == name).map(|(_, value)| value)?;
        std::str::from_utf8(value).ok()
    }
}

impl Record {
    /// Returns every field that is an absolute path on the target, or the text of a link there.
    pub fn paths_mut(&mut self) -> Vec<&mut Vec<u8>> {
        let mut paths = Vec::new();
        match self {
            Self::Hello(hello) => {
                paths.extend(
                    hello.facts.iter_mut().filter(|(name, _)| name == "home").map(|(_, value)| value),
                );
            }
            Self::Root { path, .. }
            | Self::Making { path, .. }
            | Self::Made { path, .. }
            | Self::Left { path, .. } => paths.push(path),
            Self::Found { resolved, state } => {
                paths.push(resolved);
                paths.extend(state.text_mut());
            }
            Self::Problem(problem) => paths.extend(problem.paths_mut()),
            Self::Entry { state, .. } => paths.extend(state.text_mut()),
            Self::Applied(applied) => {
                paths.push(&mut applied.resolved);
                paths.extend(applied.before.text_mut());
                paths.extend(applied.after.text_mut());
            }
            Self::Failed(failed) => paths.extend(failed.problem.paths_mut()),
            Self::Unsupported(_)
            | Self::Body
            | Self::Large
            | Self::Digest { .. }
            | Self::More
            | Self::Lost { .. }
            | Self::Displaced { .. }
            | Self::Fate { .. }
            | Self::Settled(_)
            | Self::Working
            | Self::End => {}
        }
        paths
    }

    /// Tells whether raw bytes follow, up to the request's token.
    #[must_use]
    pub const fn has_body(&self) -> bool {
        matches!(self, Self::Body)
    }

    /// Writes the record.
    #[must_use]
    pub fn encode(&self, nonce: &str, seq: u64) -> Vec<u8> {
        let (kind, fields) = self.parts();
        let mut out = format!("{nonce} {seq} {kind}").into_bytes();
        if !fields.is_empty() {
            out.push(b' ');
        }
        for one in fields {
            field::put_counted(&mut out, &one);
        }
        out.push(b'\n');
        out
    }

    fn parts(&self) -> (&'static str, Vec<Vec<u8>>) {
        match self {
            Self::Hello(hello) => {
                let pairs =
                    hello.facts.iter().map(|(name, value)| [name.clone().into_bytes(), value.clone()]);
                ("hello", pairs.flatten().collect())
            }
            Self::Unsupported(sentence) => ("unsupported", vec![sentence.clone().into()]),
            Self::Root { path, identity } => ("root", vec![path.clone(), identity.clone().into()]),
            Self::Found { resolved, state } => ("found", with(vec![resolved.clone()], state)),
            Self::Problem(problem) => ("error", problem.encode()),
            Self::Body => ("body", Vec::new()),
            Self::Large => ("large", Vec::new()),
            Self::Digest { digest, len } => {
                ("digest", vec![digest.map(hex).unwrap_or_default().into(), number(len)])
            }
            Self::Entry { name, state } => ("entry", with(vec![name.clone()], state)),
            Self::More => ("more", Vec::new()),
            Self::Applied(applied) => ("applied", applied.encode()),
            Self::Making { change, path } => ("making", vec![number(change), path.clone()]),
            Self::Made { change, path } => ("made", vec![number(change), path.clone()]),
            Self::Lost { change, what } => ("lost", vec![number(change), what.clone().into()]),
            Self::Left { change, path, why } => {
                ("left", vec![number(change), path.clone(), why.clone().into()])
            }
            Self::Displaced { change } => ("displaced", vec![number(change)]),
            Self::Failed(failed) => ("failed", failed.encode()),
            Self::Fate { change, fate } => ("fate", vec![number(change), fate.clone().into()]),
            Self::Settled(verdict) => ("settled", vec![verdict.word().into()]),
            Self::Working => ("working", Vec::new()),
            Self::End => ("end", Vec::new()),
        }
    }

    /// Reads a record's fields.
    pub(super) fn decode(kind: &str, fields: Vec<Vec<u8>>) -> Result<Self, Noise> {
        let mut fields = Fields::new(fields);
        let record = match kind {
            "hello" => {
                let mut facts = Vec::new();
                while let Some(name) = fields.next() {
                    let name = String::from_utf8(name).map_err(|_| Noise::new("a fact without a name"))?;
                    facts.push((name, fields.bytes()?));
                }
                Self::Hello(Hello { facts })
            }
            "unsupported" => Self::Unsupported(words(&mut fields)?),
            "root" => Self::Root { path: fields.bytes()?, identity: fields.text()? },
            "found" => Self::Found { resolved: fields.bytes()?, state: State::decode(&mut fields)? },
            "error" => Self::Problem(Problem::decode(&mut fields)?),
            "body" => Self::Body,
            "large" => Self::Large,
            "digest" => Self::Digest { digest: maybe_digest(&fields.text()?)?, len: fields.number()? },
            "entry" => Self::Entry { name: fields.bytes()?, state: State::decode(&mut fields)? },
            "more" => Self::More,
            "applied" => Self::Applied(Box::new(Applied::decode(&mut fields)?)),
            "making" => Self::Making { change: fields.number()?, path: fields.bytes()? },
            "made" => Self::Made { change: fields.number()?, path: fields.bytes()? },
            "lost" => Self::Lost { change: fields.number()?, what: words(&mut fields)? },
            "left" => {
                Self::Left { change: fields.number()?, path: fields.bytes()?, why: words(&mut fields)? }
            }
            "displaced" => Self::Displaced { change: fields.number()? },
            "failed" => Self::Failed(Box::new(Failed::decode(&mut fields)?)),
            "fate" => Self::Fate { change: fields.number()?, fate: fields.text()? },
            "settled" => Self::Settled(fields.word(Verdict::of)?),
            "working" => Self::Working,
            "end" => Self::End,
            other => return Err(Noise::new(format!("a record of kind {other:?}"))),
        };
        fields.end()?;
        Ok(record)
    }
}

fn number<T: ToString + ?Sized>(number: &T) -> Vec<u8> {
    number.to_string().into_bytes()
}

/// Takes words for people: bytes that are not UTF-8 are replaced.
fn words(fields: &mut Fields) -> Result<String, Noise> {
    Ok(String::from_utf8_lossy(&fields.bytes()?).into_owned())
}

fn with(mut fields: Vec<Vec<u8>>, state: &State) -> Vec<Vec<u8>> {
    fields.extend(state.encode());
    fields
}

fn maybe_digest(hex: &str) -> Result<Option<Digest>, Noise> {
    if hex.is_empty() { Ok(None) } else { digest_of(hex).map(Some) }
}

fn flag(fields: &mut Fields) -> Result<bool, Noise> {
    fields.word(|word| match word {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    })
}

impl State {
    fn text_mut(&mut self) -> Option<&mut Vec<u8>> {
        match self {
            Self::Link(text) => Some(text),
            _ => None,
        }
    }

    fn encode(&self) -> [Vec<u8>; 5] {
        let alone = |word: &str| [word.into(), Vec::new(), Vec::new(), Vec::new(), Vec::new()];
        match self {
            Self::Regular { len, mode, nlink, digest } => [
                b"regular".to_vec(),
                number(len),
                format!("{mode:o}").into_bytes(),
                number(nlink),
                digest.map(hex).unwrap_or_default().into_bytes(),
            ],
            Self::Absent => alone("absent"),
            Self::Link(text) => [b"link".to_vec(), text.clone(), Vec::new(), Vec::new(), Vec::new()],
            Self::Directory => alone("directory"),
            Self::Other(kind) => {
                [b"other".to_vec(), kind_word(*kind).into(), Vec::new(), Vec::new(), Vec::new()]
            }
        }
    }

    fn decode(fields: &mut Fields) -> Result<Self, Noise> {
        Self::maybe(fields)?.ok_or_else(|| Noise::new("no state where one should be"))
    }

    fn maybe(fields: &mut Fields) -> Result<Option<Self>, Noise> {
        let kind = fields.text()?;
        let rest = [fields.bytes()?, fields.bytes()?, fields.bytes()?, fields.bytes()?];
        let text = |nth: usize| String::from_utf8_lossy(&rest[nth]).into_owned();
        let bad = || Noise::new(format!("a state of {kind:?} {rest:?}"));
        Ok(Some(match kind.as_str() {
            "" => return Ok(None),
            "regular" => Self::Regular {
                len: text(0).parse().map_err(|_| bad())?,
                mode: u32::from_str_radix(&text(1), 8).map_err(|_| bad())?,
                nlink: text(2).parse().map_err(|_| bad())?,
                digest: maybe_digest(&text(3))?,
            },
            "absent" => Self::Absent,
            "link" => Self::Link(rest[0].clone()),
            "directory" => Self::Directory,
            "other" => Self::Other(kind_of(&text(0)).ok_or_else(bad)?),
            _ => return Err(bad()),
        }))
    }
}

const KINDS: [(OtherKind, &str); 5] = [
    (OtherKind::Fifo, "fifo"),
    (OtherKind::Socket, "socket"),
    (OtherKind::BlockDevice, "block-device"),
    (OtherKind::CharDevice, "char-device"),
    (OtherKind::Unknown, "unknown"),
];

fn kind_word(kind: OtherKind) -> &'static str {
    KINDS.iter().find(|(one, _)| *one == kind).map_or("unknown", |(_, word)| word)
}

fn kind_of(word: &str) -> Option<OtherKind> {
    KINDS.iter().find(|(_, one)| *one == word).map(|(kind, _)| *kind)
}

impl Problem {
    fn paths_mut(&mut self) -> impl Iterator<Item = &mut Vec<u8>> {
        [Some(&mut self.path), self.state.as_mut().and_then(State::text_mut)].into_iter().flatten()
    }

    fn encode(&self) -> Vec<Vec<u8>> {
        let fields = vec![self.code.clone().into(), self.path.clone(), self.text.clone().into()];
        match &self.state {
            Some(state) => with(fields, state),
            None => fields.into_iter().chain(std::iter::repeat_n(Vec::new(), 5)).collect(),
        }
    }

    fn decode(fields: &mut Fields) -> Result<Self, Noise> {
        Ok(Self {
            code: fields.text()?,
            path: fields.bytes()?,
            text: words(fields)?,
            state: State::maybe(fields)?,
        })
    }
}

impl Applied {
    fn encode(&self) -> Vec<Vec<u8>> {
        let mut fields = with(vec![number(&self.change), self.resolved.clone()], &self.before);
        fields = with(fields, &self.after);
        let lease = if self.displaced { "no" } else { "" };
        fields.extend([tier_word(self.tier).into(), lease.into()]);
        fields.extend([self.changed, self.copied].map(|is| number(&u8::from(is))));
        fields.push(number(&self.other_names));
        fields
    }

    fn decode(fields: &mut Fields) -> Result<Self, Noise> {
        Ok(Self {
            change: fields.number()?,
            resolved: fields.bytes()?,
            before: State::decode(fields)?,
            after: State::decode(fields)?,
            tier: fields.word(tier_of)?,
            displaced: fields.word(|word| match word {
                "no" => Some(true),
                "" => Some(false),
                _ => None,
            })?,
            changed: flag(fields)?,
            copied: flag(fields)?,
            other_names: fields.number()?,
        })
    }
}

impl Failed {
    fn encode(&self) -> Vec<Vec<u8>> {
        let Problem { code, path, text, state } = &self.problem;
        let at = self.at.map(|at| at.to_string()).unwrap_or_default();
        let destination = number(&u8::from(self.destination));
        let fields = vec![at.into(), code.clone().into(), path.clone(), destination, text.clone().into()];
        match state {
            Some(state) => with(fields, state),
            None => fields.into_iter().chain(std::iter::repeat_n(Vec::new(), 5)).collect(),
        }
    }

    fn decode(fields: &mut Fields) -> Result<Self, Noise> {
        let (at, code, path) = (fields.maybe()?, fields.text()?, fields.bytes()?);
        let (destination, text, state) = (flag(fields)?, words(fields)?, State::maybe(fields)?);
        Ok(Self { at, destination, problem: Problem { code, path, text, state } })
    }
}

impl Verdict {
    const fn word(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::NotApplied => "not-applied",
            Self::Conflict => "conflict",
        }
    }

    fn of(word: &str) -> Option<Self> {
        [Self::Applied, Self::NotApplied, Self::Conflict].into_iter().find(|verdict| verdict.word() == word)
    }
}
