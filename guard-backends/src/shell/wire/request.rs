//! Requests: what a controller asks of the shell.

use guard_core::policy::Digest;
use guard_core::port::{Last, Mode, Parents, Tier};

use super::Noise;
use super::field::{self, Fields};

/// A request, without the bodies of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its number in the session, from 1.
    pub seq: u64,
    /// What ends the raw bytes of its reply: 32 hexadecimal digits that were never used before.
    pub token: String,
    /// The roots; records name them by their index.
    pub roots: Vec<RootRef>,
    /// What is asked.
    pub verb: Verb,
}

/// A root as the controller knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootRef {
    /// Its physical path.
    pub path: Vec<u8>,
    /// The directory's device and inode, `DEV:INO`.
    pub identity: String,
    /// The path that it was opened by.
    pub spelling: Vec<u8>,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verb {
    /// Where these directories physically are, and their identities.
    Open(Vec<Vec<u8>>),
    /// What is at each place.
    Stat(Vec<Look>),
    /// The bytes at each place.
    Read(Vec<(Look, Part)>),
    /// All bytes of one file, however many.
    Stream(Look),
    /// A page of a directory.
    List {
        /// The directory.
        look: Look,
        /// The name that the page comes after; empty for the first page.
        after: Vec<u8>,
        /// How many entries at most.
        limit: u64,
    },
    /// Changes, all or none.
    Commit {
        /// How.
        options: Options,
        /// What.
        changes: Vec<Change>,
    },
    /// What became of a commit whose reply was lost.
    Settle {
        /// The old shell's process id, and its start time by `/proc/PID/stat`.
        shell: (u32, String),
        /// The options of that commit.
        options: Options,
        /// Its changes.
        changes: Vec<Change>,
        /// The directories that it said it was making, each with its change, in order.
        made: Vec<(usize, Vec<u8>)>,
    },
}

/// A place to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The root's index.
    pub root: usize,
    /// The path below the root.
    pub path: Vec<u8>,
    /// What a final link is.
    pub last: Last,
    /// What the path may lead to.
    pub scope: Scope,
    /// The largest file whose digest is wanted; `None` for no digest.
    pub max: Option<u64>,
}

/// What a path may lead to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scope {
    /// The indices of the roots that a link may lead into; `None` for all.
    pub roots: Option<Vec<usize>>,
    /// Directories below `/` of which one has to hold what a path leads to; `None` for no such condition.
    pub within: Option<Vec<Vec<u8>>>,
}

/// Which bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All, if there are at most so many.
    Whole(u64),
    /// A window: offset and length.
    Bytes(u64, u64),
}

/// How a commit is to be carried out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// The weakest tier that may publish.
    pub require: Option<Tier>,
    /// Up to which size displaced bytes come back.
    pub displaced: Option<u64>,
    /// Whether metadata may be lost.
    pub lose_metadata: bool,
    /// Whether a mount point may be written in place.
    pub in_place: bool,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What happens.
    pub effect: Effect,
    /// Where.
    pub place: Place,
    /// What missing parents are (of a move: the destination's).
    pub parents: Parents,
    /// Temporary names: the new content; the old content; what an undo takes away.
    pub temps: [String; 3],
    /// What its paths may lead to.
    pub scope: Scope,
}

/// Where a change happens, and under what condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The root's index.
    pub root: usize,
    /// The path below the root.
    pub path: Vec<u8>,
    /// What a final link is.
    pub last: Last,
    /// Where the path has to lead.
    pub expect: Vec<u8>,
    /// What has to be there.
    pub pre: Pre,
}

/// What has to be at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pre {
    /// Nothing.
    Absent,
    /// A regular file with this digest.
    Content(Digest),
    /// A link with this text.
    Link(Vec<u8>),
    /// A regular file.
    Exists,
    /// A regular file, or nothing.
    Any,
}

/// What a change does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Puts a content there.
    Put {
        /// Its length.
        len: u64,
        /// Its digest.
        digest: Digest,
        /// The permission bits.
        mode: Mode,
    },
    /// Removes a file or link.
    Remove,
    /// Moves a file or link.
    Move(Place),
    /// Makes a directory.
    MakeDir,
    /// Removes an empty directory.
    RemoveDir,
}

impl Request {
    /// Writes the head, the roots and the records; of a commit the bodies have to follow, and then, as of a settlement,
    /// [`Request::tail`].
    #[must_use]
    pub fn encode(&self, nonce: &str) -> Vec<u8> {
        let mut out = Vec::new();
        let (word, options, records) = self.verb.encode();
        let (seq, roots, count) =
            (self.seq.to_string(), self.roots.len().to_string(), records.len().to_string());
        line(&mut out, [nonce, &seq, word, &roots, &count, &self.token, &options].map(str::as_bytes));
        for root in &self.roots {
            line(&mut out, [&root.path, root.identity.as_bytes(), &root.spelling]);
        }
        for record in records {
            line(&mut out, record);
        }
        if let Verb::Settle { made, .. } = &self.verb {
            for (change, path) in made {
                line(&mut out, [change.to_string().as_bytes(), path]);
            }
        }
        out
    }

    /// Writes the tail that makes a request complete that changes something.
    #[must_use]
    pub fn tail(&self, nonce: &str) -> Vec<u8> {
        let mut out = Vec::new();
        line(&mut out, [nonce, &self.seq.to_string(), "go"].map(str::as_bytes));
        out
    }

    /// Returns the lengths of the bodies, in order.
    #[must_use]
    pub fn bodies(&self) -> Vec<u64> {
        let Verb::Commit { changes, .. } = &self.verb else { return Vec::new() };
        let len = |change: &Change| match change.effect {
            Effect::Put { len, .. } => Some(len),
            _ => None,
        };
        changes.iter().filter_map(len).collect()
    }

    /// Tells whether a tail belongs to it.
    #[must_use]
    pub const fn has_tail(&self) -> bool {
        matches!(self.verb, Verb::Commit { .. } | Verb::Settle { .. })
    }

    /// Returns every field that is an absolute path on the target, or the text of a link there.
    pub fn paths_mut(&mut self) -> Vec<&mut Vec<u8>> {
        let mut paths = Vec::new();
        for root in &mut self.roots {
            paths.extend([&mut root.path, &mut root.spelling]);
        }
        let changes = match &mut self.verb {
            Verb::Open(directories) => {
                paths.extend(directories);
                return paths;
            }
            Verb::Commit { changes, .. } => changes,
            Verb::Settle { changes, made, .. } => {
                paths.extend(made.iter_mut().map(|(_, path)| path));
                changes
            }
            Verb::Stat(looks) => {
                paths.extend(looks.iter_mut().flat_map(|look| look.scope.paths_mut()));
                return paths;
            }
            Verb::Read(wants) => {
                paths.extend(wants.iter_mut().flat_map(|(look, _)| look.scope.paths_mut()));
                return paths;
            }
            Verb::Stream(look) | Verb::List { look, .. } => {
                paths.extend(look.scope.paths_mut());
                return paths;
            }
        };
        for change in changes {
            paths.extend(change.scope.paths_mut());
            let to = match &mut change.effect {
                Effect::Move(to) => Some(to),
                _ => None,
            };
            for place in [Some(&mut change.place), to].into_iter().flatten() {
                paths.push(&mut place.expect);
                if let Pre::Link(text) = &mut place.pre {
                    paths.push(text);
                }
            }
        }
        paths
    }

    /// Reads the lines that [`Request::encode`] wrote: the head's fields, the roots' and the records'.
    pub(super) fn decode(head: Vec<Vec<u8>>, lines: Vec<Vec<Vec<u8>>>) -> Result<Self, Noise> {
        let mut head = Fields::new(head);
        let (seq, word, roots) = (head.number()?, head.text()?, head.number::<usize>()?);
        let (count, token, options) = (head.number::<usize>()?, head.text()?, head.text()?);
        head.end()?;
        let mut lines = lines.into_iter().map(Fields::new);
        let roots = lines.by_ref().take(roots).map(root).collect::<Result<_, _>>()?;
        let verb = Verb::decode(&word, &options, count, lines)?;
        Ok(Self { seq, token, roots, verb })
    }
}

fn line<'a>(out: &mut Vec<u8>, fields: impl IntoIterator<Item = impl AsRef<[u8]> + 'a>) {
    for one in fields {
        field::put(out, one.as_ref());
    }
    field::end(out);
}

fn root(mut fields: Fields) -> Result<RootRef, Noise> {
    let root = RootRef { path: fields.bytes()?, identity: fields.text()?, spelling: fields.bytes()? };
    fields.end()?;
    Ok(root)
}

type Records = Vec<Vec<Vec<u8>>>;

impl Verb {
    /// Returns how many records a reply may be about.
    pub(crate) fn records(&self) -> u64 {
        match self {
            Self::Open(all) => all.len() as u64,
            Self::Stat(all) => all.len() as u64,
            Self::Read(all) => all.len() as u64,
            Self::Stream(_) => 1,
            Self::List { limit, .. } => *limit,
            Self::Commit { changes, .. } | Self::Settle { changes, .. } => changes.len() as u64,
        }
    }

    fn encode(&self) -> (&'static str, String, Records) {
        let none = String::new();
        match self {
            Self::Open(paths) => ("open", none, paths.iter().map(|path| vec![path.clone()]).collect()),
            Self::Stat(looks) => ("stat", none, looks.iter().map(Look::encode).collect()),
            Self::Read(wants) => {
                let want = |(look, part): &(Look, Part)| {
                    let (word, a, b) = match part {
                        Part::Whole(max) => ("whole", max.to_string(), String::new()),
                        Part::Bytes(offset, len) => ("bytes", offset.to_string(), len.to_string()),
                    };
                    let mut fields = look.encode();
                    fields.extend([word.into(), a.into_bytes(), b.into_bytes()]);
                    fields
                };
                ("read", none, wants.iter().map(want).collect())
            }
            Self::Stream(look) => ("stream", none, vec![look.encode()]),
            Self::List { look, after, limit } => {
                let mut fields = Vec::from(look.place());
                fields.extend([after.clone(), limit.to_string().into_bytes()]);
                ("list", none, vec![fields])
            }
            Self::Commit { options, changes } => {
                ("commit", options.encode(), changes.iter().map(Change::encode).collect())
            }
            Self::Settle { shell: (pid, start), options, changes, made } => {
                let options = format!("pid={pid} start={start} made={} {}", made.len(), options.encode());
                ("settle", options.trim_end().to_owned(), changes.iter().map(Change::encode).collect())
            }
        }
    }

    /// Returns how many lines follow the records, by the options.
    pub(super) fn more(options: &str) -> usize {
        let made = options.split(' ').filter_map(|word| word.strip_prefix("made="));
        made.filter_map(|made| made.parse::<usize>().ok()).sum()
    }

    fn decode(
        word: &str,
        options: &str,
        count: usize,
        lines: impl Iterator<Item = Fields>,
    ) -> Result<Self, Noise> {
        let mut lines = lines;
        let mut one = || lines.next().ok_or_else(|| Noise::new("a record is missing"));
        Ok(match word {
            "open" => Self::Open(all(lines, Fields::bytes)?),
            "stat" => Self::Stat(all(lines, Look::decode)?),
            "read" => Self::Read(all(lines, |fields| {
                let look = Look::decode(fields)?;
                let part = fields.text()?;
                let (a, b) = (fields.number()?, fields.maybe()?);
                match (part.as_str(), b) {
                    ("whole", None) => Ok((look, Part::Whole(a))),
                    ("bytes", Some(b)) => Ok((look, Part::Bytes(a, b))),
                    _ => Err(Noise::new(format!("part {part:?}"))),
                }
            })?),
            "stream" => Self::Stream(Look::decode(&mut one()?)?),
            "list" => {
                let mut fields = one()?;
                let look = Look::place_of(&mut fields)?;
                Self::List { look, after: fields.bytes()?, limit: fields.number()? }
            }
            "commit" => {
                Self::Commit { options: Options::decode(options)?, changes: all(lines, Change::decode)? }
            }
            "settle" => {
                let value = |name: &str| {
                    let mut words = options.split(' ').filter_map(|word| word.split_once('='));
                    words.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
                };
                let pid = value("pid").and_then(|pid| pid.parse().ok());
                let (Some(pid), Some(start)) = (pid, value("start")) else {
                    return Err(Noise::new("a settlement that names no shell"));
                };
                let rest: Vec<&str> = options
                    .split(' ')
                    .filter(|word| !["pid=", "start=", "made="].iter().any(|own| word.starts_with(own)))
                    .collect();
                let options = Options::decode(&rest.join(" "))?;
                let changes = all(lines.by_ref().take(count), Change::decode)?;
                let made = all(lines, |fields| Ok((fields.number()?, fields.bytes()?)))?;
                Self::Settle { shell: (pid, start), options, changes, made }
            }
            other => return Err(Noise::new(format!("verb {other:?}"))),
        })
    }
}

fn all<T>(
    lines: impl Iterator<Item = Fields>,
    each: impl Fn(&mut Fields) -> Result<T, Noise>,
) -> Result<Vec<T>, Noise> {
    lines
        .map(|mut fields| {
            let one = each(&mut fields)?;
            fields.end()?;
            Ok(one)
        })
        .collect()
}

impl Change {
    /// Tells whether a directory is on the way to what is changed, or is what is made.
    pub(crate) fn is_on_the_way(&self, directory: &[u8]) -> bool {
        let expect = match &self.effect {
            Effect::Move(to) => &to.expect,
            _ => &self.place.expect,
        };
        expect.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }
}

impl Look {
    /// Encodes all but the largest file.
    fn place(&self) -> [Vec<u8>; 5] {
        let [roots, within] = self.scope.encode();
        [self.root.to_string().into(), self.path.clone(), word_of(self.last).into(), roots, within]
    }

    fn place_of(fields: &mut Fields) -> Result<Self, Noise> {
        let (root, path, last) = (fields.number()?, fields.bytes()?, fields.word(last)?);
        Ok(Self { root, path, last, scope: Scope::decode(fields)?, max: None })
    }

    fn encode(&self) -> Vec<Vec<u8>> {
        let mut fields = Vec::from(self.place());
        fields.push(self.max.map(|max| max.to_string()).unwrap_or_default().into());
        fields
    }

    fn decode(fields: &mut Fields) -> Result<Self, Noise> {
        let look = Self::place_of(fields)?;
        Ok(Self { max: fields.maybe()?, ..look })
    }
}

/// What stands for everything in the fields of a scope.
const ALL: &[u8] = b"*";

impl Scope {
    /// Encodes the roots as `,0,2,`, and the directories each with `//` behind it.
    fn encode(&self) -> [Vec<u8>; 2] {
        let roots = self.roots.as_ref().map_or_else(
            || ALL.to_vec(),
            |roots| roots.iter().fold(",".to_owned(), |all, root| format!("{all}{root},")).into(),
        );
        let within = self.within.as_ref().map_or_else(
            || ALL.to_vec(),
            |within| {
                within.iter().flat_map(|directory| [directory.as_slice(), b"//"]).collect::<Vec<_>>().concat()
            },
        );
        [roots, within]
    }

    fn decode(fields: &mut Fields) -> Result<Self, Noise> {
        let (roots, mut within) = (fields.text()?, fields.bytes()?);
        let roots = (roots.as_bytes() != ALL).then(|| {
            let indices = roots.split(',').filter(|index| !index.is_empty());
            indices.map(|index| index.parse().map_err(|_| Noise::new(format!("roots {roots:?}")))).collect()
        });
        let mut directories = Vec::new();
        let is_all = within == ALL;
        while !is_all && !within.is_empty() {
            let end =
                memchr::memmem::find(&within, b"//").ok_or_else(|| Noise::new("a scope without an end"))?;
            let rest = within.split_off(end);
            directories.push(std::mem::replace(&mut within, rest[2..].to_vec()));
        }
        Ok(Self { roots: roots.transpose()?, within: (!is_all).then_some(directories) })
    }

    fn paths_mut(&mut self) -> impl Iterator<Item = &mut Vec<u8>> {
        self.within.iter_mut().flatten()
    }
}

impl Options {
    fn encode(&self) -> String {
        let mut words = Vec::new();
        if let Some(tier) = self.require {
            words.push(format!("require={}", tier_word(tier)));
        }
        if let Some(max) = self.displaced {
            words.push(format!("displaced={max}"));
        }
        if self.lose_metadata {
            words.push("metadata=lose".to_owned());
        }
        if self.in_place {
            words.push("inplace=danger".to_owned());
        }
        words.join(" ")
    }

    fn decode(text: &str) -> Result<Self, Noise> {
        let mut options = Self::default();
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            let unknown = || Noise::new(format!("option {word:?}"));
            match word.split_once('=').ok_or_else(unknown)? {
                ("require", tier) => options.require = Some(tier_of(tier).ok_or_else(unknown)?),
                ("displaced", max) => options.displaced = Some(max.parse().map_err(|_| unknown())?),
                ("metadata", "lose") => options.lose_metadata = true,
                ("inplace", "danger") => options.in_place = true,
                _ => return Err(unknown()),
            }
        }
        Ok(options)
    }
}

impl Change {
    fn encode(&self) -> Vec<Vec<u8>> {
        let (kind, len, digest, mode, to) = match &self.effect {
            Effect::Put { len, digest, mode } => {
                let mode = match mode {
                    Mode::Keep => "keep".to_owned(),
                    Mode::Executable => "exec".to_owned(),
                    Mode::Set(mode) => format!("{mode:o}"),
                };
                ("put", len.to_string(), hex(*digest), mode, None)
            }
            Effect::Remove => ("remove", String::new(), String::new(), String::new(), None),
            Effect::Move(to) => ("move", String::new(), String::new(), String::new(), Some(to)),
            Effect::MakeDir => ("mkdir", String::new(), String::new(), String::new(), None),
            Effect::RemoveDir => ("rmdir", String::new(), String::new(), String::new(), None),
        };
        let parents = match self.parents {
            Parents::Make => "make",
            Parents::Require => "require",
        };
        let mut fields: Vec<Vec<u8>> = vec![kind.into()];
        fields.extend(self.place.encode());
        fields.extend([parents.into(), len.into(), digest.into(), mode.into()]);
        fields.extend(self.temps.iter().map(|temp| temp.clone().into_bytes()));
        fields.extend(to.map_or_else(|| std::array::from_fn(|_| Vec::new()), Place::encode));
        fields.extend(self.scope.encode());
        fields
    }

    fn decode(fields: &mut Fields) -> Result<Self, Noise> {
        let kind = fields.text()?;
        let place = Place::decode(fields)?;
        let parents = fields.word(|word| match word {
            "make" => Some(Parents::Make),
            "require" => Some(Parents::Require),
            _ => None,
        })?;
        let (len, digest, mode) = (fields.maybe()?, fields.text()?, fields.text()?);
        let temps = [fields.text()?, fields.text()?, fields.text()?];
        let effect = match kind.as_str() {
            "put" => Effect::Put {
                len: len.ok_or_else(|| Noise::new("a put without a length"))?,
                digest: digest_of(&digest)?,
                mode: match mode.as_str() {
                    "keep" => Mode::Keep,
                    "exec" => Mode::Executable,
                    octal => Mode::Set(
                        u32::from_str_radix(octal, 8).map_err(|_| Noise::new(format!("mode {octal:?}")))?,
                    ),
                },
            },
            "remove" => Effect::Remove,
            "move" => Effect::Move(Place::decode(fields)?),
            "mkdir" => Effect::MakeDir,
            "rmdir" => Effect::RemoveDir,
            other => return Err(Noise::new(format!("change {other:?}"))),
        };
        if !matches!(effect, Effect::Move(_)) {
            for _ in 0..6 {
                fields.bytes()?;
            }
        }
        Ok(Self { effect, place, parents, temps, scope: Scope::decode(fields)? })
    }
}

impl Place {
    fn encode(&self) -> [Vec<u8>; 6] {
        let (pre, argument) = match &self.pre {
            Pre::Absent => ("absent", Vec::new()),
            Pre::Content(digest) => ("content", hex(*digest).into_bytes()),
            Pre::Link(text) => ("link", text.clone()),
            Pre::Exists => ("exists", Vec::new()),
            Pre::Any => ("any", Vec::new()),
        };
        let root = self.root.to_string().into_bytes();
        [root, self.path.clone(), word_of(self.last).into(), self.expect.clone(), pre.into(), argument]
    }

    fn decode(fields: &mut Fields) -> Result<Self, Noise> {
        let (root, path) = (fields.number()?, fields.bytes()?);
        let (last, expect) = (fields.word(last)?, fields.bytes()?);
        let (pre, argument) = (fields.text()?, fields.bytes()?);
        let pre = match pre.as_str() {
            "absent" => Pre::Absent,
            "content" => Pre::Content(digest_of(&String::from_utf8_lossy(&argument))?),
            "link" => Pre::Link(argument),
            "exists" => Pre::Exists,
            "any" => Pre::Any,
            other => return Err(Noise::new(format!("precondition {other:?}"))),
        };
        Ok(Self { root, path, last, expect, pre })
    }
}

const fn word_of(last: Last) -> &'static str {
    match last {
        Last::Follow => "follow",
        Last::Itself => "itself",
    }
}

fn last(word: &str) -> Option<Last> {
    match word {
        "follow" => Some(Last::Follow),
        "itself" => Some(Last::Itself),
        _ => None,
    }
}

/// Reads 64 hexadecimal digits.
pub(super) fn digest_of(hex: &str) -> Result<Digest, Noise> {
    format!("sha256:{hex}").parse().map_err(|_| Noise::new(format!("{hex:?} where a digest should be")))
}

/// Returns a tier's word on the wire.
pub(super) const fn tier_word(tier: Tier) -> &'static str {
    match tier {
        Tier::InPlace => "in-place",
        Tier::CreatedNonatomic => "created-nonatomic",
        Tier::Window => "window",
        Tier::Exchange => "exchange",
    }
}

/// Returns the tier of a word.
pub(crate) fn tier_of(word: &str) -> Option<Tier> {
    [Tier::InPlace, Tier::CreatedNonatomic, Tier::Window, Tier::Exchange]
        .into_iter()
        .find(|tier| tier_word(*tier) == word)
}

/// Writes a digest as 64 hexadecimal digits.
pub(super) fn hex(digest: Digest) -> String {
    digest.to_string().trim_start_matches("sha256:").to_owned()
}
