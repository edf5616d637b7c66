//! The law of facts: what is allowed with a fact unknown is right for every value of it.

use guard_policy::{
    Act, ApproverSet, ContentClass, DeleteUnseen, Expect, Fact, FileState, NewText, Precondition, Seen,
    Switch, TargetPath, Unseen, Verdict,
};
use proptest::prelude::*;

use crate::case::{
    Case, EMPTY, VERSIONS, Version, fifo, huge, link, metadata, part, path, seen_link, vouched, whole,
};

fn versions() -> impl Strategy<Value = Version> {
    prop::sample::select(VERSIONS)
}

/// What was seen, as it can come about: a shape is that of the version.
fn seen() -> impl Strategy<Value = Seen> {
    prop_oneof![
        Just(Seen::Nothing),
        versions().prop_map(metadata),
        (versions(), 0..4_u64).prop_map(|(version, to)| part(version, to, Fact::Unknown)),
        (versions(), 0..4_u64).prop_map(|(version, to)| part(version, to, Fact::Known(version.shape()))),
        versions().prop_map(whole),
        versions().prop_map(vouched),
        prop_oneof![Just("a"), Just("b")].prop_map(seen_link),
    ]
}

fn expectations() -> impl Strategy<Value = Option<Expect>> {
    prop_oneof![
        3 => Just(None),
        1 => Just(Some(Expect::Absent)),
        2 => versions().prop_map(|version| Some(Expect::Content(version.digest()))),
    ]
}

const NAMES: &[&str] = &[
    "notes.txt",
    "photo.PNG",
    "data.dat",
    "paper.pdf",
    "messages.pot",
    "report.docx",
    "app.db-wal",
    ".env",
    ".npmrc",
    "sub/.ssh/config",
    "sub/.config/gh/hosts.yml",
    "sub/Library/Keychains/login",
    ".bashrc",
    "AGENTS.md",
    "sub/own/list",
];

prop_compose! {
    fn cases()(
        act in prop::sample::select(Act::ALL),
        name in prop::sample::select(NAMES),
        seen in seen(),
        expect in expectations(),
        class in prop::sample::select(ContentClass::ALL),
        approver in prop_oneof![Just(ApproverSet::Yes), Just(ApproverSet::No)],
        views in prop_oneof![4 => Just(Switch::On), 1 => Just(Switch::Off)],
        unseen in prop_oneof![2 => Just(Unseen::Refuse), 1 => Just(Unseen::Allow)],
        delete_unseen in prop_oneof![2 => Just(DeleteUnseen::Refuse), 1 => Just(DeleteUnseen::DangerAllow)],
        classes in prop_oneof![4 => Just(Switch::On), 1 => Just(Switch::Off)],
        listed in any::<bool>(),
    ) -> Case {
        let mut case = Case::new(act, name).seen(seen);
        case.expect = expect;
        case.approver = approver;
        case.text = act.puts_text().then_some(NewText { class, echo: false, len: 10 });
        case.policy.views = views;
        case.policy.unseen = unseen;
        case.policy.delete_unseen = delete_unseen;
        case.policy.rules.content_classes = classes;
        if listed {
            case.policy.sensitive = vec!["~/own".to_owned()];
        }
        case
    }
}

/// Everything that may be there, with the digest taken or not.
fn states() -> Vec<FileState> {
    let regular = VERSIONS.iter().flat_map(|version| {
        let untaken = FileState::Regular { len: version.len(), mode: 0o644, nlink: 1, digest: None };
        [version.state(), untaken]
    });
    let others = [FileState::Absent, link("a"), link("b"), FileState::Directory, fifo(), huge()];
    regular.chain(others).collect()
}

/// The classes that a state can have; only a regular file has one.
fn classes(state: &FileState) -> Vec<Fact<ContentClass>> {
    match (state, state.digest().and_then(Version::of)) {
        (_, Some(version)) => vec![Fact::Known(version.class)],
        (FileState::Regular { len: 0, .. }, _) => vec![Fact::Known(ContentClass::Text)],
        (FileState::Regular { .. }, _) => ContentClass::ALL.iter().copied().map(Fact::Known).collect(),
        _ => vec![Fact::Unknown],
    }
}

/// Homes under which a path of the cases can be, and others.
fn homes() -> Vec<Option<TargetPath>> {
    let some = ["/", "/ws", "/ws/sub", "/WS/Sub", "/home/u", "/ws/sub/.config"].map(|home| Some(path(home)));
    some.into_iter().chain([None]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn what_is_allowed_with_the_state_unknown_is_allowed_with_every_state_that_the_precondition_lets_through(
        case in cases(),
    ) {
        let verdict = case.decide();
        let Verdict::Allow { precondition: Some(precondition), .. } = &verdict else { return Ok(()) };
        prop_assert_ne!(precondition, &Precondition::DangerAny);
        for state in states().into_iter().filter(|state| precondition.holds(state)) {
            let facts = classes(&state).into_iter().chain([Fact::Unknown]);
            for class in facts {
                let known = Case { state: Fact::Known(state.clone()), class, ..case.clone() };
                prop_assert_eq!(&known.decide(), &verdict, "{:?} {:?} {:?}", case.requested, state, class);
            }
        }
    }

    #[test]
    fn what_is_allowed_with_the_class_unknown_is_allowed_with_every_class(case in cases()) {
        for state in states() {
            let case = Case { state: Fact::Known(state.clone()), ..case.clone() };
            let verdict = case.decide();
            if !matches!(verdict, Verdict::Allow { .. }) {
                continue;
            }
            for class in classes(&state) {
                let known = Case { class, ..case.clone() };
                prop_assert_eq!(&known.decide(), &verdict, "{:?} {:?} {:?}", case.requested, state, class);
            }
        }
    }

    #[test]
    fn what_is_allowed_with_the_home_unknown_is_allowed_with_every_home(case in cases()) {
        let unknown = Case { home: Fact::Unknown, ..case };
        let verdict = unknown.decide();
        if matches!(verdict, Verdict::Refuse(_)) {
            return Ok(());
        }
        for home in homes() {
            let known = Case { home: Fact::Known(home.clone()), ..unknown.clone() };
            prop_assert_eq!(&known.decide(), &verdict, "{:?} {:?}", unknown.path, home);
        }
    }

    #[test]
    fn with_state_and_class_known_nothing_is_undecided(case in cases()) {
        let untaken = |state: &FileState| state.is_regular() && state.digest().is_none() && *state != huge();
        for state in states().into_iter().filter(|state| !untaken(state)) {
            for class in classes(&state) {
                let known = Case { state: Fact::Known(state.clone()), class, ..case.clone() };
                prop_assert_ne!(known.decide(), Verdict::Undecided, "{:?} {:?} {:?}", case.requested, state, class);
            }
        }
    }

    #[test]
    fn only_what_was_seen_is_destroyed(mut case in cases()) {
        case.policy.views = Switch::On;
        case.policy.unseen = Unseen::Refuse;
        case.policy.delete_unseen = DeleteUnseen::Refuse;
        for state in states().into_iter().map(Some).chain([None]) {
            let case = match state {
                Some(state) => case.clone().found(state),
                None => case.clone(),
            };
            let Verdict::Allow { precondition: Some(precondition), .. } = case.decide() else { continue };
            let right = match (case.act, &precondition) {
                // An edit reads what it changes; its precondition is of what it read.
                (Act::Edit, Precondition::Content { digest }) => {
                    matches!(&case.state, Fact::Known(state) if state.digest() == Some(*digest))
                }
                (Act::Write, Precondition::Content { digest }) => {
                    *digest == EMPTY.digest()
                        || matches!(&case.seen, Seen::Whole { digest: seen, .. } if seen == digest)
                }
                (Act::Delete, Precondition::Content { digest }) => {
                    matches!(&case.seen, Seen::Whole { digest: seen, .. } | Seen::Part { digest: seen, .. } if seen == digest)
                }
                (Act::Delete, Precondition::Link { text }) => {
                    matches!(&case.seen, Seen::Link { text: seen } if seen == text)
                }
                // Absence destroys nothing, and a move keeps the bytes.
                (_, Precondition::Absent) | (Act::MoveFrom, _) => true,
                _ => false,
            };
            prop_assert!(right, "{:?} {:?} {:?}: {:?}", case.act, case.state, case.seen, precondition);
        }
    }

    #[test]
    fn an_expected_version_narrows_and_never_widens(case in cases()) {
        let Some(expect) = case.expect else { return Ok(()) };
        for state in states().into_iter().map(Some).chain([None]) {
            let case = match state {
                Some(state) => case.clone().found(state),
                None => case.clone(),
            };
            let Verdict::Allow { precondition: Some(precondition), .. } = case.decide() else { continue };
            // Only what was expected is acted on.
            match expect {
                Expect::Absent => prop_assert_eq!(&precondition, &Precondition::Absent),
                Expect::Content(digest) => prop_assert_eq!(&precondition, &Precondition::Content { digest }),
            }
            // And only what would be allowed, once the state is known, without the expectation (or is absence).
            let free = Case { expect: None, ..case.clone() };
            let allowed = match free.decide() {
                Verdict::Allow { precondition: Some(without), .. } => {
                    without == precondition
                        || precondition == Precondition::Absent
                        || without == Precondition::Exists
                }
                Verdict::Undecided => true,
                _ => precondition == Precondition::Absent,
            };
            prop_assert!(allowed, "{:?} {:?} {:?} {:?} {:?} {:?} {:?}", case.act, case.requested, case.state, case.class, case.seen, case.expect, free.decide());
        }
    }
}
