//! Reading a patch line by line, while it is being typed.
//!
//! [`parse`](crate::parse) is this parser with the whole text pushed at once, so that both read every text alike.

mod body;
mod event;

use memchr::memchr;

pub use self::event::Event;

use self::body::Body;
use crate::diagnostic::{Code, Diagnostic, Rejected};
use crate::grammar::marker::{self, Argument, Marker};
use crate::grammar::wrapper::{Outside, Wrapper};
use crate::grammar::{BLANKS, is_blank, is_fence};
use crate::note::NoteKind;
use crate::patch::{Action, Destination, Operation, Patch};
use crate::path;

/// Who is told of events.
type Listener<'l> = &'l mut dyn FnMut(Event<'_>);

/// A parser that takes its text in pieces of any size.
///
/// # Examples
///
/// ```
/// use guard_patch::{Event, Parser};
///
/// let mut named = Vec::new();
/// let mut listener = |event: Event<'_>| {
///     if let Event::Delete { path, .. } = event {
///         named.push(path.to_owned());
///     }
/// };
/// let mut parser = Parser::new();
/// for piece in ["*** Begin Pa", "tch\n*** Delete File: a", ".txt\n*** End", " Patch\n"] {
///     parser.push(piece, &mut listener);
/// }
/// let patch = parser.finish(&mut listener)?;
/// assert_eq!(patch.paths(), named);
/// # Ok::<(), guard_patch::Rejected>(())
/// ```
#[derive(Debug, Default)]
pub struct Parser {
    /// The beginning of a line whose end has not come.
    partial: String,
    /// The number of lines read.
    lines: usize,
    place: Place,
    wrapper: Wrapper,
    /// Whether prose came before the Begin line.
    prose: bool,
    /// Lines from an indented End line on, while nothing shows whether it is one.
    held: Vec<(usize, String)>,
    begin: Begin,
    body: Body,
    patch: Patch,
    problems: Vec<Diagnostic>,
}

/// Where in the text the parser is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Before,
    Inside,
    After,
}

/// The Begin line.
#[derive(Clone, Copy, Debug, Default)]
struct Begin {
    line: usize,
    /// Whether it is indented and follows prose, as in a quoted example.
    quoted: bool,
}

impl Parser {
    /// Begins to read a patch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece of the text, and tells the listener what it completes.
    pub fn push(&mut self, piece: &str, listener: &mut dyn FnMut(Event<'_>)) {
        let mut rest = piece;
        while let Some(end) = memchr(b'\n', rest.as_bytes()) {
            let (line, after) = (&rest[..end], &rest[end + 1..]);
            if self.partial.is_empty() {
                self.line(line, listener);
            } else {
                let mut whole = std::mem::take(&mut self.partial);
                whole.push_str(line);
                self.line(&whole, listener);
                // Its allocation serves the next line.
                whole.clear();
                self.partial = whole;
            }
            rest = after;
        }
        self.partial.push_str(rest);
    }

    /// Ends the text.
    ///
    /// # Errors
    ///
    /// Every reason why the text is no patch, in one go, each with its line.
    pub fn finish(mut self, listener: &mut dyn FnMut(Event<'_>)) -> Result<Patch, Rejected> {
        if !self.partial.is_empty() {
            let last = std::mem::take(&mut self.partial);
            self.line(&last, listener);
        }
        if let Some((at, _)) = self.held.first() {
            let at = *at;
            self.note(at, NoteKind::LeadingBlanks, listener);
            self.end(at, listener);
            for (at, line) in std::mem::take(&mut self.held).split_off(1) {
                self.after(at, &line, listener);
            }
        }
        match self.place {
            Place::Before => {
                let missing = Diagnostic::new(Code::MissingBegin, 1, "there is no line `*** Begin Patch`");
                self.problem(missing.remedy("begin the patch with the line `*** Begin Patch`"), listener);
            }
            Place::Inside => {
                self.close_operation(listener);
                let what = "the patch ends without the line `*** End Patch`; it may have been cut off";
                let missing = Diagnostic::new(Code::MissingEnd, self.lines.max(1), what);
                self.problem(
                    missing.remedy("send the whole patch, with `*** End Patch` as its last line"),
                    listener,
                );
            }
            Place::After => {}
        }
        self.problems.sort_by_key(|problem| problem.line);
        self.patch.notes.sort_by_key(|note| note.line);
        if self.problems.is_empty() { Ok(self.patch) } else { Err(Rejected(self.problems)) }
    }

    /// Reads a whole line, without its LF.
    fn line(&mut self, line: &str, listener: Listener<'_>) {
        self.lines += 1;
        let at = self.lines;
        let line = line.strip_suffix('\r').unwrap_or(line);
        match self.place {
            Place::Before => self.before(at, line, listener),
            Place::Inside => self.inside(at, line, listener),
            Place::After => self.after(at, line, listener),
        }
    }

    /// Reads a line before the Begin line.
    fn before(&mut self, at: usize, line: &str, listener: Listener<'_>) {
        let bare = line.strip_prefix('\u{feff}').unwrap_or(line);
        if marker::read(bare.trim_matches(BLANKS)) == Some(Marker::Begin) {
            if bare.len() < line.len() {
                self.note(at, NoteKind::ByteOrderMark, listener);
            }
            self.begin(at, bare.starts_with(BLANKS), listener);
        } else if is_fence(bare) {
            self.note(at, NoteKind::Fence, listener);
        } else if !is_blank(bare) && self.wrapper.read(bare) == Outside::Prose && !self.prose {
            self.prose = true;
            self.note(at, NoteKind::Prose, listener);
        }
    }

    fn begin(&mut self, at: usize, indented: bool, listener: Listener<'_>) {
        self.place = Place::Inside;
        self.begin = Begin { line: at, quoted: indented && self.prose };
        if indented {
            self.note(at, NoteKind::LeadingBlanks, listener);
        }
        if self.wrapper.heredoc() {
            self.note(at, NoteKind::Heredoc, listener);
        }
        match self.wrapper.directory() {
            Some("") => {}
            Some(_) => self.note(at, NoteKind::Directory, listener),
            None => {
                let what = "the command around the patch changes to a directory that cannot be told";
                let unknown = Diagnostic::new(Code::UnknownDirectory, at, what);
                let remedy = "send the patch alone, with paths that begin at the working directory";
                self.problem(unknown.remedy(remedy), listener);
            }
        }
        listener(Event::Begin { line: at });
    }

    /// Reads a line after the Begin line.
    fn inside(&mut self, at: usize, line: &str, listener: Listener<'_>) {
        let begins = marker::read(line) == Some(Marker::Begin);
        if begins && self.begin.quoted && !(self.held.is_empty() && self.problems.is_empty()) {
            // What was read so far is an example in the prose: it is indented from its Begin line on, and it is over.
            self.start_again(at, listener);
            return;
        }
        if !self.held.is_empty() {
            if is_blank(line) || is_fence(line) || self.wrapper.closes(line) {
                self.held.push((at, line.to_owned()));
                return;
            }
            // Something follows: the indented End line was none.
            for (at, line) in std::mem::take(&mut self.held) {
                self.ordinary(at, &line, listener);
            }
        }
        match marker::read(line.trim_start_matches(BLANKS)) {
            Some(Marker::End) if line.starts_with(BLANKS) => self.held.push((at, line.to_owned())),
            Some(Marker::End) => self.end(at, listener),
            _ => self.ordinary(at, line, listener),
        }
    }

    fn start_again(&mut self, at: usize, listener: Listener<'_>) {
        let quoted = self.begin.line;
        self.held.clear();
        self.problems.clear();
        self.patch = Patch { notes: std::mem::take(&mut self.patch.notes), ..Patch::default() };
        self.patch.notes.retain(|note| note.line < quoted);
        self.body = Body::default();
        self.wrapper = Wrapper::default();
        listener(Event::Discarded { line: at });
        self.note(quoted, NoteKind::Quoted, listener);
        self.begin(at, false, listener);
    }

    fn end(&mut self, at: usize, listener: Listener<'_>) {
        self.close_operation(listener);
        self.place = Place::After;
        listener(Event::End { line: at });
    }

    /// Reads a line after the End line.
    fn after(&mut self, at: usize, line: &str, listener: Listener<'_>) {
        let kind = if marker::read(line.trim_matches(BLANKS)) == Some(Marker::Begin) {
            let what = "a second patch follows the first";
            let second = Diagnostic::new(Code::SecondEnvelope, at, what);
            self.problem(second.remedy("put all operations into one patch"), listener);
            return;
        } else if is_fence(line) {
            NoteKind::Fence
        } else if self.wrapper.closes(line) || is_blank(line) {
            return;
        } else {
            NoteKind::Prose
        };
        // Prose is reported once on each side.
        let begin = self.begin.line;
        if !self.patch.notes.iter().any(|note| note.kind == kind && note.line > begin) {
            self.note(at, kind, listener);
        }
    }

    /// Reads a line that ends nothing.
    fn ordinary(&mut self, at: usize, line: &str, listener: Listener<'_>) {
        // In an Update a line that begins with a blank is context, whatever it says.
        let bare = if self.body.is_update() { line } else { line.trim_start_matches(BLANKS) };
        match marker::read(bare) {
            Some(marker) => self.marker(at, bare, marker, bare.len() < line.len(), listener),
            None => self.body.line(at, line, &mut self.patch, &mut self.problems, listener),
        }
    }

    fn marker(&mut self, at: usize, text: &str, marker: Marker<'_>, indented: bool, listener: Listener<'_>) {
        if indented && marker != Marker::Unknown {
            self.note(at, NoteKind::LeadingBlanks, listener);
        }
        match marker {
            Marker::Begin => {
                self.close_operation(listener);
                let what = "a second `*** Begin Patch` stands inside the patch";
                let second = Diagnostic::new(Code::SecondBegin, at, what);
                self.problem(second.remedy("put all operations between one Begin and one End"), listener);
            }
            // An End line at the margin was met before; this one is indented, and something follows it.
            Marker::End => {
                self.misplaced(at, text, "nothing may follow an End line that is indented", listener);
            }
            Marker::EndOfFile => {
                if self.body.end_of_file(at, &mut self.patch, &mut self.problems, listener) == Taken::No {
                    self.misplaced(at, text, "it ends a chunk of an Update", listener);
                }
            }
            Marker::Environment(id) => self.environment(at, text, id, listener),
            Marker::Add(path) => self.open(at, path, Kind::Add, listener),
            Marker::Delete(path) => self.open(at, path, Kind::Delete, listener),
            Marker::Update(path) => self.open(at, path, Kind::Update, listener),
            Marker::MoveTo(path) => self.move_to(at, text, path, listener),
            Marker::MoveFile(paths) => self.move_file(at, paths, listener),
            Marker::Unknown => {
                let what = format!("`{}` is no marker of this format", text.escape_debug());
                let remedy = "if this is content, put its prefix (a blank, `-` or `+`) before it";
                self.problem(Diagnostic::new(Code::UnknownMarker, at, what).remedy(remedy), listener);
            }
        }
    }

    fn misplaced(&mut self, at: usize, text: &str, why: &str, listener: Listener<'_>) {
        let what = format!("`{}` is out of place: {why}", text.escape_debug());
        self.problem(Diagnostic::new(Code::MisplacedMarker, at, what), listener);
    }

    fn environment(&mut self, at: usize, text: &str, id: Argument<'_>, listener: Listener<'_>) {
        if self.patch.environment.is_some() || !self.patch.operations.is_empty() {
            self.misplaced(at, text, "it follows the Begin line, once", listener);
        } else if id.text.is_empty() {
            self.problem(
                Diagnostic::new(Code::EmptyEnvironment, at, "the environment id is empty"),
                listener,
            );
        } else {
            self.spaced(at, id, listener);
            listener(Event::Environment { line: at, id: id.text });
            self.patch.environment = Some(id.text.to_owned());
        }
    }

    /// Opens an operation.
    fn open(&mut self, at: usize, path: Argument<'_>, kind: Kind, listener: Listener<'_>) {
        self.close_operation(listener);
        self.spaced(at, path, listener);
        let path = self.path(at, path.text, listener);
        let (action, event) = match kind {
            Kind::Add => (Action::Add { content: String::new() }, Event::Add { line: at, path: &path }),
            Kind::Delete => (Action::Delete, Event::Delete { line: at, path: &path }),
            Kind::Update => (
                Action::Update { move_to: None, chunks: Vec::new() },
                Event::Update { line: at, path: &path },
            ),
        };
        listener(event);
        self.body.open(kind, self.problems.len());
        self.patch.operations.push(Operation { line: at, path, action });
    }

    fn move_to(&mut self, at: usize, text: &str, path: Argument<'_>, listener: Listener<'_>) {
        if !self.body.takes_move() {
            self.misplaced(at, text, "it follows the line `*** Update File`, once", listener);
            return;
        }
        self.spaced(at, path, listener);
        let path = self.path(at, path.text, listener);
        self.set_destination(at, path, listener);
    }

    fn set_destination(&mut self, at: usize, path: String, listener: Listener<'_>) {
        listener(Event::MoveTo { line: at, path: &path });
        self.body.moved();
        if let Some(Operation { action: Action::Update { move_to, .. }, .. }) =
            self.patch.operations.last_mut()
        {
            *move_to = Some(Destination { line: at, path });
        }
    }

    fn move_file(&mut self, at: usize, paths: Argument<'_>, listener: Listener<'_>) {
        self.note(at, NoteKind::MoveFile, listener);
        let mut parts = paths.text.split(" -> ");
        let (Some(from), Some(to), None) = (parts.next(), parts.next(), parts.next()) else {
            self.close_operation(listener);
            let what = "`*** Move File` needs two paths with one ` -> ` between them";
            let remedy = "use `*** Update File: FROM` and `*** Move to: TO`";
            self.problem(Diagnostic::new(Code::BadPath, at, what).remedy(remedy), listener);
            // What follows belongs to it.
            self.body.open(Kind::Update, 0);
            self.patch.operations.push(Operation {
                line: at,
                path: String::new(),
                action: Action::Update { move_to: None, chunks: Vec::new() },
            });
            return;
        };
        let (from, to) = (from.trim_matches(BLANKS), to.trim_matches(BLANKS));
        self.open(at, Argument { text: from, spaced: paths.spaced }, Kind::Update, listener);
        let to = self.path(at, to, listener);
        self.set_destination(at, to, listener);
    }

    /// Checks a path and puts the wrapper's directory before it.
    fn path(&mut self, at: usize, text: &str, listener: Listener<'_>) -> String {
        match path::normalize(text) {
            Ok(path) => path::join(self.wrapper.directory().unwrap_or(""), &path),
            Err((code, what)) => {
                self.problem(Diagnostic::new(code, at, what), listener);
                text.to_owned()
            }
        }
    }

    fn spaced(&mut self, at: usize, argument: Argument<'_>, listener: Listener<'_>) {
        if !argument.spaced {
            self.note(at, NoteKind::MissingSpace, listener);
        }
    }

    fn close_operation(&mut self, listener: Listener<'_>) {
        self.body.close(&mut self.patch, &mut self.problems, listener);
    }

    fn note(&mut self, line: usize, kind: NoteKind, listener: Listener<'_>) {
        body::note(line, kind, &mut self.patch.notes, listener);
    }

    fn problem(&mut self, problem: Diagnostic, listener: Listener<'_>) {
        body::problem(problem, &mut self.problems, listener);
    }
}

/// The kinds of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Add,
    Delete,
    Update,
}

/// Whether a line was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    Yes,
    No,
}
