//! Every remedy is satisfiable: its call is made, and the refused call then passes.

use std::collections::BTreeSet;

use guard_policy::{
    Act, Argument, Code, ContentClass, DeleteUnseen, Expect, Fact, FileState, Ranges, RemedyCall, Seen,
    Switch, TargetPath, Tool, Unseen, Verdict, View, Views,
};

use crate::case::{BINARY, Case, LEGACY, TEXT, UTF16, VERSIONS, Version, fifo, huge, link, path};

/// A file as an actor meets it: what is there, and what it has seen.
struct World {
    state: FileState,
    views: Views,
    path: TargetPath,
}

impl World {
    /// Makes the call, and records what the tool would deliver.
    fn make(&mut self, call: &RemedyCall) {
        let Some(Argument::Text(_)) = call.arguments.get("path") else { panic!("no path in {call:?}") };
        let began = self.views.begin();
        match (&self.state, call.tool) {
            (FileState::Absent, _) => self.views.record_absent(&self.path, began),
            (FileState::Link { text }, Tool::Stat) => self.views.record_link(&self.path, began, text.clone()),
            (FileState::Regular { digest: Some(digest), .. }, tool) => {
                let version = Version::of(*digest).unwrap();
                let shape = Fact::Known(version.shape());
                let ranges = match (tool, version.class, call.arguments.get("bytes")) {
                    (Tool::Stat, ..) | (_, ContentClass::Binary, _) => Ranges::new(),
                    (_, _, Some(Argument::Window { offset, length })) => {
                        Ranges::from(*offset..offset + length)
                    }
                    _ => Ranges::from(0..version.len()),
                };
                let shape = if tool == Tool::Stat { Fact::Unknown } else { shape };
                self.views.record(&self.path, began, version.delivered(ranges, shape));
            }
            other => panic!("{other:?} delivers nothing"),
        }
    }
}

fn states() -> Vec<FileState> {
    let regular = VERSIONS.iter().map(|version| version.state());
    regular.chain([FileState::Absent, link("a"), link("b"), FileState::Directory, fifo(), huge()]).collect()
}

/// The acts whose refusals can name a call.
const ACTS: &[Act] = &[Act::Write, Act::Edit, Act::Delete, Act::MoveFrom];

/// Every way in which an actor can have seen something.
fn histories() -> Vec<Views> {
    let path = path("/ws/any");
    let mut histories = vec![Views::new()];
    for version in VERSIONS {
        for shape in [Fact::Unknown, Fact::Known(version.shape())] {
            for to in [0, 2, version.len()] {
                let mut views = Views::new();
                views.record(&path, views.begin(), version.delivered((0..to).into(), shape));
                histories.push(views);
            }
        }
        let mut views = Views::new();
        views.vouch(&path, version.digest());
        histories.push(views);
    }
    let mut views = Views::new();
    views.record_link(&path, views.begin(), "a".to_owned());
    histories.push(views);
    let mut distinct: Vec<Views> = Vec::new();
    for views in histories {
        if distinct.iter().all(|other| other.seen(&path) != views.seen(&path)) {
            distinct.push(views);
        }
    }
    distinct
}

#[test]
fn after_the_calls_of_its_remedies_a_refused_call_passes() {
    let expectations = [None, Some(Expect::Absent)]
        .into_iter()
        .chain([TEXT, UTF16, LEGACY, BINARY].map(|version| Some(Expect::Content(version.digest()))));
    let mut settled: BTreeSet<(Code, Tool)> = BTreeSet::new();
    let mut refused = 0;
    for (expect, act) in expectations.flat_map(|expect| ACTS.iter().map(move |act| (expect, *act))) {
        for name in ["notes.txt", "data.dat", "paper.pdf", "messages.pot"] {
            for (unseen, views) in
                [(Unseen::Refuse, Switch::On), (Unseen::Allow, Switch::On), (Unseen::Refuse, Switch::Off)]
            {
                for state in states() {
                    for history in histories() {
                        let mut case = Case::new(act, name);
                        case.expect = expect;
                        case.policy.unseen = unseen;
                        case.policy.views = views;
                        if unseen == Unseen::Allow {
                            case.policy.delete_unseen = DeleteUnseen::DangerAllow;
                        }
                        // Windows of three bytes, so that one reading is not enough.
                        case.policy.limits.read_bytes = 3;
                        let case = case.found(state.clone());
                        refused += follow(&case, history, &mut settled);
                    }
                }
            }
        }
    }
    assert!(refused > 1_000, "{refused} refusals");
    let documented = BTreeSet::from([
        (Code::NotRead, Tool::ReadFile),
        (Code::NotRead, Tool::Stat),
        (Code::PartiallyRead, Tool::ReadFile),
        (Code::Stale, Tool::ReadFile),
        (Code::Stale, Tool::Stat),
        (Code::Expectation, Tool::ReadFile),
        (Code::BinaryExists, Tool::ReadFile),
        (Code::PdfExists, Tool::ReadFile),
    ]);
    assert_eq!(settled, documented);
}

/// Makes the calls that the refusals name until the call passes; returns how many there were.
fn follow(case: &Case, views: Views, settled: &mut BTreeSet<(Code, Tool)>) -> usize {
    let Fact::Known(state) = &case.state else { panic!("the state is known here") };
    let mut world = World { state: state.clone(), views, path: path("/ws/any") };
    let mut codes = Vec::new();
    loop {
        let now = Case { seen: world.views.seen(&world.path), ..case.clone() };
        let refusal = match now.decide() {
            Verdict::Allow { .. } => return codes.len(),
            Verdict::Refuse(refusal) => refusal,
            Verdict::Undecided => panic!("undecided with everything known: {now:?}"),
        };
        let Some(call) = refusal.remedy.and_then(|remedy| remedy.call) else {
            assert!(codes.is_empty(), "{codes:?} promised more than {}: {case:?}", refusal.code);
            return 0;
        };
        assert!(codes.len() < 8, "{codes:?} do not come to an end: {case:?}");
        settled.insert((refusal.code, call.tool));
        codes.push(refusal.code);
        world.make(&call);
    }
}

#[test]
fn one_stat_settles_a_deletion_of_several_paths() {
    let refusal = guard_policy::Refusal::not_seen(&["a", "b/c"]);
    let call = refusal.remedy.unwrap().call.unwrap();
    assert_eq!(call.tool, Tool::Stat);
    let Some(Argument::Texts(paths)) = call.arguments.get("paths") else { panic!("no paths") };
    assert_eq!(paths, &["a", "b/c"]);
    let mut views = Views::new();
    for name in paths {
        let path = path(&format!("/ws/{name}"));
        assert_eq!(Case::new(Act::Delete, name).code(), Some(Code::NotRead));
        views.record(&path, views.begin(), TEXT.delivered(Ranges::new(), Fact::Unknown));
        assert!(matches!(views.get(&path), Some(View::File { .. })));
        let seen: Seen = views.seen(&path);
        assert!(matches!(Case::new(Act::Delete, name).seen(seen).decide(), Verdict::Allow { .. }));
    }
}
