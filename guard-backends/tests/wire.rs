//! The codec of the shell session: what was written is what is read, in pieces of any size, and nothing else is taken
//! for it.

use guard_backends::shell::wire::{
    Applied, Change, Effect, Failed, Hello, Look, Options, Part, Place, Pre, Problem, Record, ReplyEvent,
    ReplyReader, Request, RequestEvent, RequestReader, RootRef, Scope, State, Verb, Verdict,
};
use guard_core::policy::{Digest, OtherKind};
use guard_core::port::{Last, Mode, Parents, Tier};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

const NONCE: &str = "0123456789abcdef0123456789abcdef";
const TOKEN: &str = "fedcba9876543210fedcba9876543210";

fn name() -> impl Strategy<Value = Vec<u8>> {
    // Every byte but NUL, those that are escaped more often.
    vec(
        prop_oneof![3 => 1..=255_u8, 1 => Just(b'|'), 1 => Just(b'\\'), 1 => Just(b'\n'), 1 => Just(b'.')],
        0..12,
    )
}

fn digest() -> impl Strategy<Value = Digest> {
    any::<[u8; 32]>().prop_map(Digest::from_raw)
}

fn last() -> impl Strategy<Value = Last> {
    prop_oneof![Just(Last::Follow), Just(Last::Itself)]
}

fn tier() -> impl Strategy<Value = Tier> {
    prop_oneof![Just(Tier::InPlace), Just(Tier::CreatedNonatomic), Just(Tier::Window), Just(Tier::Exchange)]
}

fn scope() -> impl Strategy<Value = Scope> {
    let directories = vec("(/[a-z |*]{1,3}){1,3}".prop_map(String::into_bytes), 0..3);
    (option::of(vec(0..20_usize, 0..3)), option::of(directories))
        .prop_map(|(roots, within)| Scope { roots, within })
}

fn look() -> impl Strategy<Value = Look> {
    (0..4_usize, name(), last(), option::of(any::<u64>()), scope())
        .prop_map(|(root, path, last, max, scope)| Look { root, path, last, max, scope })
}

fn place() -> impl Strategy<Value = Place> {
    let pre = prop_oneof![
        Just(Pre::Absent),
        digest().prop_map(Pre::Content),
        name().prop_map(Pre::Link),
        Just(Pre::Exists),
        Just(Pre::Any)
    ];
    (0..4_usize, name(), last(), name(), pre).prop_map(|(root, path, last, expect, pre)| Place {
        root,
        path,
        last,
        expect,
        pre,
    })
}

fn change() -> impl Strategy<Value = Change> {
    let mode = prop_oneof![Just(Mode::Keep), Just(Mode::Executable), (0..0o7777_u32).prop_map(Mode::Set)];
    let effect = prop_oneof![
        (0..64_u64, digest(), mode).prop_map(|(len, digest, mode)| Effect::Put { len, digest, mode }),
        Just(Effect::Remove),
        place().prop_map(Effect::Move),
        Just(Effect::MakeDir),
        Just(Effect::RemoveDir)
    ];
    let parents = prop_oneof![Just(Parents::Make), Just(Parents::Require)];
    (effect, place(), parents, "[.a-z-]{0,15}", scope()).prop_map(|(effect, place, parents, temp, scope)| {
        Change { effect, place, parents, temps: [temp.clone(), format!("{temp}b"), String::new()], scope }
    })
}

fn options() -> impl Strategy<Value = Options> {
    (option::of(tier()), option::of(any::<u64>()), any::<bool>(), any::<bool>()).prop_map(
        |(require, displaced, lose_metadata, in_place)| Options {
            require,
            displaced,
            lose_metadata,
            in_place,
        },
    )
}

fn request() -> impl Strategy<Value = Request> {
    let part = prop_oneof![
        any::<u64>().prop_map(Part::Whole),
        (any::<u64>(), any::<u64>()).prop_map(|(offset, len)| Part::Bytes(offset, len))
    ];
    let verb = prop_oneof![
        vec(name(), 0..3).prop_map(Verb::Open),
        vec(look(), 0..4).prop_map(Verb::Stat),
        vec((look(), part), 0..4).prop_map(Verb::Read),
        look().prop_map(Verb::Stream),
        (look(), name(), any::<u64>()).prop_map(|(look, after, limit)| Verb::List {
            look: Look { max: None, ..look },
            after,
            limit
        }),
        (options(), vec(change(), 0..4)).prop_map(|(options, changes)| Verb::Commit { options, changes }),
        (any::<u32>(), 0..1_000_000_u64, options(), vec(change(), 0..4), vec((0..9_usize, name()), 0..3))
            .prop_map(|(pid, start, options, changes, made)| Verb::Settle {
                shell: (pid, start.to_string()),
                options,
                changes,
                made
            })
    ];
    let root = (name(), "[0-9]{1,4}:[0-9]{1,9}", name()).prop_map(|(path, identity, spelling)| RootRef {
        path,
        identity,
        spelling,
    });
    (vec(root, 0..3), verb).prop_map(|(roots, verb)| Request { seq: 1, token: TOKEN.to_owned(), roots, verb })
}

fn state() -> impl Strategy<Value = State> {
    prop_oneof![
        (any::<u64>(), 0..0o7777_u32, any::<u64>(), option::of(digest()))
            .prop_map(|(len, mode, nlink, digest)| State::Regular { len, mode, nlink, digest }),
        Just(State::Absent),
        name().prop_map(State::Link),
        Just(State::Directory),
        Just(State::Other(OtherKind::Fifo)),
        Just(State::Other(OtherKind::Unknown))
    ]
}

fn problem() -> impl Strategy<Value = Problem> {
    ("[a-z-]{1,12}", name(), "[ -~\n]{0,20}", option::of(state()))
        .prop_map(|(code, path, text, state)| Problem { code, path, text, state })
}

fn record() -> impl Strategy<Value = Record> {
    let applied = (name(), state(), state(), tier(), any::<[bool; 3]>(), any::<u64>()).prop_map(
        |(resolved, before, after, tier, [displaced, changed, copied], other_names)| {
            Record::Applied(Box::new(Applied {
                change: 7,
                resolved,
                before,
                after,
                tier,
                displaced,
                changed,
                copied,
                other_names,
            }))
        },
    );
    let failed = (option::of(0..9_usize), any::<bool>(), problem())
        .prop_map(|(at, destination, problem)| Record::Failed(Box::new(Failed { at, destination, problem })));
    prop_oneof![
        vec(("[a-z]{1,8}".prop_map(String::from), name()), 0..4)
            .prop_map(|facts| Record::Hello(Hello { facts })),
        "[ -~]{0,20}".prop_map(Record::Unsupported),
        (name(), "[0-9:]{1,9}").prop_map(|(path, identity)| Record::Root { path, identity }),
        (name(), state()).prop_map(|(resolved, state)| Record::Found { resolved, state }),
        problem().prop_map(Record::Problem),
        Just(Record::Large),
        (option::of(digest()), any::<u64>()).prop_map(|(digest, len)| Record::Digest { digest, len }),
        (name(), state()).prop_map(|(name, state)| Record::Entry { name, state }),
        Just(Record::More),
        Just(Record::Working),
        applied,
        (0..9_usize, name()).prop_map(|(change, path)| Record::Made { change, path }),
        (0..9_usize, name()).prop_map(|(change, path)| Record::Making { change, path }),
        (0..9_usize, "[ -~]{0,20}").prop_map(|(change, what)| Record::Lost { change, what }),
        (0..9_usize, name(), "[ -~]{0,20}").prop_map(|(change, path, why)| Record::Left {
            change,
            path,
            why
        }),
        (0..9_usize).prop_map(|change| Record::Displaced { change }),
        failed,
        (0..9_usize, "[a-z]{1,9}").prop_map(|(change, fate)| Record::Fate { change, fate }),
        Just(Record::Settled(Verdict::NotApplied)),
        Just(Record::End)
    ]
}

/// Returns the stream of a session: the first stage, a script, the requests with their bodies and tails.
fn stream(requests: &[Request]) -> (usize, Vec<u8>) {
    let stage = format!("g_nonce={NONCE} g_size=7 g_without=''\nread it").into_bytes();
    let mut bytes = [&stage[..], b"script\n"].concat();
    for request in requests {
        bytes.extend(request.encode(NONCE));
        if request.has_tail() {
            bytes.extend(std::iter::repeat_n(b'|', request.bodies().iter().sum::<u64>() as usize));
            bytes.extend(request.tail(NONCE));
        }
    }
    (stage.len(), bytes)
}

fn replies(records: &[Record], body: &[u8]) -> Vec<u8> {
    let mut bytes = b"Welcome!\n".to_vec();
    bytes.extend(Record::Hello(Hello::default()).encode(NONCE, 0));
    for record in records {
        bytes.extend(record.encode(NONCE, 1));
    }
    bytes.extend(Record::Body.encode(NONCE, 1));
    bytes.extend(body);
    bytes.extend(TOKEN.as_bytes());
    bytes.extend(Record::End.encode(NONCE, 1));
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn requests_are_read_as_they_were_written(requests in vec(request(), 1..4), piece in 1..64_usize) {
        let (stage, bytes) = stream(&requests);
        let mut reader = RequestReader::new(stage);
        let (mut read, mut tails, mut body) = (Vec::new(), 0, 0);
        for piece in bytes.chunks(piece) {
            reader.push(piece);
            while let Some(event) = reader.take().unwrap() {
                match event {
                    RequestEvent::Boot(boot) => prop_assert_eq!(boot.len(), stage + 7),
                    RequestEvent::Request(request) => read.push(request),
                    RequestEvent::Bytes(bytes) => body += bytes.len() as u64,
                    RequestEvent::Tail => tails += 1,
                }
            }
        }
        prop_assert_eq!(tails, requests.iter().filter(|request| request.has_tail()).count());
        prop_assert_eq!(body, requests.iter().flat_map(Request::bodies).sum::<u64>());
        prop_assert_eq!(read, requests);
    }

    #[test]
    fn replies_are_read_as_they_were_written(
        records in vec(record(), 0..5), body in vec(any::<u8>(), 0..200), piece in 1..64_usize,
    ) {
        let mut reader = ReplyReader::new(NONCE);
        reader.expect(TOKEN);
        let (mut noise, mut read, mut got, mut ends) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for piece in replies(&records, &body).chunks(piece) {
            reader.push(piece);
            while let Some(event) = reader.take().unwrap() {
                match event {
                    ReplyEvent::Noise(bytes) => noise.extend(bytes),
                    ReplyEvent::Record { record, .. } => read.push(record),
                    ReplyEvent::Bytes(bytes) => got.extend(bytes),
                    ReplyEvent::BodyEnd => ends += 1,
                }
            }
        }
        prop_assert_eq!(noise, b"Welcome!\n");
        prop_assert_eq!(got, body);
        prop_assert_eq!(ends, 1);
        let hello = Record::Hello(Hello::default());
        let expected: Vec<Record> =
            [hello].into_iter().chain(records).chain([Record::Body, Record::End]).collect();
        prop_assert_eq!(read, expected);
        prop_assert!(reader.is_empty());
    }

    #[test]
    fn a_stream_with_a_changed_byte_is_read_or_refused_and_never_panics(
        requests in vec(request(), 1..3), records in vec(record(), 0..4), at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let (stage, mut bytes) = stream(&requests);
        let place = at.index(bytes.len());
        bytes[place] = byte;
        let mut reader = RequestReader::new(stage);
        reader.push(&bytes);
        while let Ok(Some(_)) = reader.take() {}

        let mut bytes = replies(&records, b"body");
        let place = at.index(bytes.len());
        bytes[place] = byte;
        let mut reader = ReplyReader::new(NONCE);
        reader.expect(TOKEN);
        reader.push(&bytes);
        while let Ok(Some(_)) = reader.take() {}
    }
}

#[test]
fn noise_is_never_an_answer() {
    let hello = Record::Hello(Hello::default()).encode(NONCE, 0);
    for noise in [&b"sh: no such thing\n"[..], b"0123456789abcdef0123456789abcdeg 1 end\n", b"\n", b"\0"] {
        let mut reader = ReplyReader::new(NONCE);
        reader.push(&hello);
        assert!(matches!(reader.take(), Ok(Some(ReplyEvent::Record { .. }))));
        reader.push(noise);
        assert!(reader.take().is_err(), "{noise:?}");
    }
    let mut reader = ReplyReader::new(NONCE);
    let mut given = 0;
    let refused = (0..=70).any(|_| {
        reader.push(&[b'x'; 1024]);
        given += 1;
        loop {
            match reader.take() {
                Ok(Some(_)) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
    });
    assert!(refused && (64..=66).contains(&given), "{given} KiB of noise were taken");
}

#[test]
fn every_absolute_path_of_a_frame_can_be_changed() {
    let scope = || Scope { roots: None, within: Some(vec![b"/d".to_vec(), b"/e".to_vec()]) };
    let place = |path: &str| Place {
        root: 0,
        path: b"below".to_vec(),
        last: Last::Itself,
        expect: path.into(),
        pre: Pre::Link(path.into()),
    };
    let change = Change {
        effect: Effect::Move(place("/to")),
        place: place("/from"),
        parents: Parents::Make,
        temps: Default::default(),
        scope: scope(),
    };
    let mut request = Request {
        seq: 1,
        token: TOKEN.to_owned(),
        roots: vec![RootRef { path: b"/ws".to_vec(), identity: "1:2".to_owned(), spelling: b"/w".to_vec() }],
        verb: Verb::Commit { options: Options::default(), changes: vec![change] },
    };
    let paths = request.paths_mut().into_iter().map(|path| String::from_utf8_lossy(path).into_owned());
    assert_eq!(paths.collect::<Vec<_>>(), ["/ws", "/w", "/d", "/e", "/from", "/from", "/to", "/to"]);
    let look = Look { root: 0, path: Vec::new(), last: Last::Itself, scope: scope(), max: None };
    for verb in [
        Verb::Stat(vec![look.clone()]),
        Verb::Read(vec![(look.clone(), Part::Whole(1))]),
        Verb::Stream(look.clone()),
        Verb::List { look, after: Vec::new(), limit: 1 },
    ] {
        let mut request = Request { seq: 1, token: TOKEN.to_owned(), roots: Vec::new(), verb };
        assert_eq!(request.paths_mut(), ["/d", "/e"].map(|path| path.as_bytes().to_vec()).each_mut());
    }
    let mut record = Record::Failed(Box::new(Failed {
        at: None,
        destination: false,
        problem: Problem {
            code: "precondition".to_owned(),
            path: b"/ws/x".to_vec(),
            text: String::new(),
            state: Some(State::Link(b"/ws/y".to_vec())),
        },
    }));
    assert_eq!(record.paths_mut().len(), 2);
}
