//! The decision table, for a reviewer.

use std::fmt::Write as _;

use guard_policy::{Act, ApproverSet, DeleteUnseen, Expect, Fact, FileState, Seen, Switch, Unseen};

use crate::case::{
    BINARY, Case, EMPTY, LEGACY, NEWER, TEXT, UTF16, Version, cell, fifo, huge, link, metadata, part,
    seen_link, vouched, whole,
};

/// What is there: a name, the state, and whether the class is known with it.
fn states() -> Vec<(&'static str, Option<FileState>)> {
    vec![
        ("unknown", None),
        ("absent", Some(FileState::Absent)),
        ("text", Some(TEXT.state())),
        ("newer text", Some(NEWER.state())),
        ("utf16", Some(UTF16.state())),
        ("legacy", Some(LEGACY.state())),
        ("binary", Some(BINARY.state())),
        ("empty", Some(EMPTY.state())),
        ("huge", Some(huge())),
        ("link", Some(link("a"))),
        ("directory", Some(FileState::Directory)),
        ("fifo", Some(fifo())),
    ]
}

fn views() -> Vec<(&'static str, Seen)> {
    vec![
        ("nothing", Seen::Nothing),
        ("metadata of text", metadata(TEXT)),
        ("part of text", part(TEXT, 4, Fact::Unknown)),
        ("all of text", whole(TEXT)),
        ("vouched text", vouched(TEXT)),
        ("all of legacy", whole(LEGACY)),
        ("all of binary", whole(BINARY)),
        ("link", seen_link("a")),
    ]
}

/// Draws rows under a header, columns aligned.
fn draw(out: &mut String, rows: &[Vec<String>]) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        let line = cells.collect::<Vec<_>>().join(" | ");
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out.push('\n');
}

/// One act on one name: a row a state, a column a view. States that are decided alike share a row, and a row that
/// no view changes has one cell.
fn matrix(base: &Case) -> Matrix {
    let mut rows = Matrix::new();
    for (name, state) in states() {
        let decide = |(_, seen)| {
            let case = base.clone().seen(seen);
            let case = match &state {
                Some(state) => case.found(state.clone()),
                None => case,
            };
            cell(&case.decide())
        };
        let mut cells: Vec<String> = views().into_iter().map(decide).collect();
        if cells.iter().all(|cell| *cell == cells[0]) {
            cells.truncate(1);
        }
        match rows.last_mut() {
            Some((names, last)) if *last == cells => {
                names.push_str(", ");
                names.push_str(name);
            }
            _ => rows.push((name.to_owned(), cells)),
        }
    }
    rows
}

type Change = fn(&mut Case);
type Matrix = Vec<(String, Vec<String>)>;

/// The sections so far, so that what is decided alike is drawn once.
#[derive(Default)]
struct Sections {
    out: String,
    drawn: Vec<(String, Matrix)>,
}

impl Sections {
    fn add(&mut self, title: &str, base: &Case) {
        let _ = writeln!(self.out, "## {title}");
        let rows = matrix(base);
        let as_binary: Matrix = rows
            .iter()
            .map(|(name, cells)| {
                let cells = cells.iter().map(|cell| cell.replace("pdf-exists", "binary-exists"));
                (name.clone(), cells.collect())
            })
            .collect();
        if let Some((like, _)) = self.drawn.iter().find(|(_, drawn)| *drawn == rows) {
            let _ = writeln!(self.out, "as: {like}\n");
        } else if let Some((like, _)) = self.drawn.iter().find(|(_, drawn)| *drawn == as_binary) {
            let _ = writeln!(self.out, "as: {like}, with pdf-exists for binary-exists\n");
        } else {
            self.draw(&rows);
            self.drawn.push((title.to_owned(), rows));
        }
    }

    fn draw(&mut self, rows: &Matrix) {
        let mut lines: Vec<Vec<String>> = Vec::new();
        if rows.iter().any(|(_, cells)| cells.len() > 1) {
            let columns = views().into_iter().map(|(name, _)| name.to_owned());
            lines.push(std::iter::once("there is \\ seen".to_owned()).chain(columns).collect());
        }
        if let [(_, cells)] = &rows[..] {
            lines.push(vec!["whatever is there".to_owned(), cells[0].clone()]);
        } else {
            lines.extend(
                rows.iter().map(|(names, cells)| {
                    std::iter::once(names.clone()).chain(cells.iter().cloned()).collect()
                }),
            );
        }
        draw(&mut self.out, &lines);
    }
}

#[test]
fn the_decision_table() {
    let mut table = Sections::default();
    table.out.push_str(
        "if X: allowed, and the target checks that X is there.  ✗: refused.  → the call that settles it.\n\
         look first: state and class decide.  Columns: what the actor has seen; a single cell holds for all of them.\n\n",
    );
    for (title, act) in [
        ("write", Act::Write),
        ("edit", Act::Edit),
        ("patch Add", Act::Add),
        ("delete", Act::Delete),
        ("move away", Act::MoveFrom),
        ("move there", Act::MoveTo),
        ("make_dir", Act::MakeDir),
        ("read", Act::Read),
        ("stat", Act::Stat),
        ("list_dir", Act::List),
    ] {
        table.add(&format!("{title} an ordinary name: notes.txt"), &Case::new(act, "notes.txt"));
    }
    for (title, act) in [
        ("write", Act::Write),
        ("edit", Act::Edit),
        ("patch Add", Act::Add),
        ("delete", Act::Delete),
        ("move there", Act::MoveTo),
    ] {
        for (kind, name) in [
            ("a binary-only name", "photo.PNG"),
            ("a PDF name", "paper.pdf"),
            ("a template name", "messages.pot"),
            ("an office document", "report.docx"),
            ("a SQLite sidecar", "app.db-wal"),
        ] {
            table.add(&format!("{title} {kind}: {name}"), &Case::new(act, name));
        }
    }
    let policies: [(&str, Act, &str, Change); 8] = [
        ("write with unseen = allow", Act::Write, "notes.txt", |case| case.policy.unseen = Unseen::Allow),
        ("write a binary-only name with unseen = allow", Act::Write, "photo.png", |case| {
            case.policy.unseen = Unseen::Allow;
        }),
        ("write with views = off", Act::Write, "notes.txt", |case| case.policy.views = Switch::Off),
        ("delete with delete_unseen = danger-allow", Act::Delete, "notes.txt", |case| {
            case.policy.delete_unseen = DeleteUnseen::DangerAllow;
        }),
        ("delete with views = off", Act::Delete, "notes.txt", |case| case.policy.views = Switch::Off),
        ("write expecting absence", Act::Write, "notes.txt", |case| case.expect = Some(Expect::Absent)),
        ("write expecting the text", Act::Write, "notes.txt", |case| {
            case.expect = Some(Expect::Content(TEXT.digest()));
        }),
        ("write expecting the newer text", Act::Write, "notes.txt", |case| {
            case.expect = Some(Expect::Content(NEWER.digest()));
        }),
    ];
    for (title, act, name, change) in policies {
        let mut case = Case::new(act, name);
        change(&mut case);
        table.add(&format!("{title}: {name}"), &case);
    }
    let mut out = table.out;
    out.push_str("## by place, where nothing is and nothing was seen\n");
    let mut header = vec!["path \\ act".to_owned()];
    header.extend(Act::ALL.iter().map(|act| format!("{act:?}")));
    let mut rows = vec![header];
    for (path, approver) in [
        ("notes.txt", ApproverSet::No),
        (".env", ApproverSet::No),
        (".env.example", ApproverSet::No),
        (".git/config", ApproverSet::No),
        ("/home/u/.ssh/id_rsa", ApproverSet::No),
        ("/home/u/.ssh/id_rsa.pub", ApproverSet::No),
        ("/home/u/.bashrc", ApproverSet::No),
        ("/etc/hosts", ApproverSet::No),
        ("/etc/shadow", ApproverSet::No),
        ("/proc/1/environ", ApproverSet::No),
        ("/dev/zero", ApproverSet::No),
        ("AGENTS.md", ApproverSet::No),
        ("AGENTS.md (approver set)", ApproverSet::Yes),
    ] {
        let name = path.split(' ').next().unwrap_or_default();
        let row = Act::ALL.iter().map(|act| {
            let case = Case { approver, ..Case::anywhere(*act, name) };
            cell(&case.decide())
        });
        rows.push(std::iter::once(path.to_owned()).chain(row).collect());
    }
    for path in ["/ro/notes.txt", "/elsewhere/notes.txt"] {
        let row = Act::ALL.iter().map(|act| cell(&Case::new(*act, path).decide()));
        rows.push(std::iter::once(path.to_owned()).chain(row).collect());
    }
    draw(&mut out, &rows);
    insta::assert_snapshot!("decision_table", out);
}

#[test]
fn the_versions_of_the_table_are_of_the_class_that_they_are_named_by() {
    for version in [TEXT, NEWER, UTF16, LEGACY, BINARY, EMPTY] {
        assert_eq!(version.shape().class, version.class, "{}", version.name);
        assert_eq!(Version::of(version.digest()), Some(version));
    }
}
