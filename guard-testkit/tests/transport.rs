//! Transports around transports do what they say, and nothing else.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail the test")]

mod fake;

use std::time::Duration;

use fake::{Controller, Fake, Heard, NONCE, Say, change, commit, open, place, put};
use guard_backends::shell::wire::{
    Applied, Change, Effect, Failed, Look, Options, Part, Pre, Problem, Record, ReplyEvent, Request, RootRef,
    Scope, State, Verb,
};
use guard_core::port::{Last, Tier, Transport as _, TransportError};
use guard_testkit::transport::{
    At, Bytes, Counting, Delay, Fault, Faults, Faulty, Namespace, PathSubstituting, Traffic, Way,
};
use guard_testkit::wrap::{Counts, Method};
use tokio::io::AsyncWriteExt as _;
use tokio::time::{Instant, timeout};

fn namespace() -> Namespace {
    Namespace::new().map("/srv/app", "/tmp/folder").map("/home/agent", "/tmp/home")
}

fn records(events: Vec<ReplyEvent>) -> Vec<Record> {
    let records = events.into_iter().filter_map(|event| match event {
        ReplyEvent::Record { record, .. } => Some(record),
        _ => None,
    });
    records.filter(|record| *record != Record::End).collect()
}

fn only_request(fake: &Fake) -> Request {
    let mut requests = fake.heard().into_iter().filter_map(|heard| match heard {
        Heard::Request(request) => Some(request),
        _ => None,
    });
    let request = requests.next().unwrap();
    assert!(requests.next().is_none());
    request
}

// Paths.

#[tokio::test(flavor = "multi_thread")]
async fn every_path_of_a_request_is_the_folders_and_nothing_else_is_changed() {
    let fake = Fake::silent();
    let mut controller = Controller::open(&PathSubstituting::new(fake.clone(), namespace())).await;
    let verb = |app: &str, etc: &str| {
        let at = |path: &str, pre| place(&path.replace("APP", app).replace("ETC", etc), pre);
        let link = |text: &str| Pre::Link(text.replace("APP", app).into());
        commit(vec![
            put(&format!("{app}/a"), b"/srv/app"),
            change(Effect::Remove, at("APP/b", link("APP/to"))),
            change(Effect::Remove, at("APP/b", link("../srv/app"))),
            // A text is compared; what it leads to is not opened.
            change(Effect::Remove, at("APP/b", link("/etc/passwd"))),
            change(Effect::Move(at("ETC/shadow", link("APP"))), at("APP/c", Pre::Exists)),
            change(Effect::MakeDir, at("ETC", Pre::Absent)),
        ])
    };
    let roots = |app: &str, etc: &str| {
        let root = |path: &str, spelling: &str| RootRef {
            path: path.into(),
            identity: "1:2".into(),
            spelling: spelling.into(),
        };
        vec![root(app, ""), root(app, &format!("{etc}/app"))]
    };
    let (mut request, _) = controller.request(verb("/srv/app", "/etc"), b"");
    request.roots = roots("/srv/app", "/etc");
    let bytes = [request.encode(NONCE), b"/srv/app".to_vec(), request.tail(NONCE)].concat();
    controller.session.input.write_all(&bytes).await.unwrap();
    controller.reply(&request).await;

    let heard = only_request(&fake);
    let nowhere = {
        let Verb::Commit { changes, .. } = &heard.verb else { panic!("{heard:?}") };
        String::from_utf8(changes[5].place.expect.clone()).unwrap()
    };
    assert!(nowhere.starts_with("/nowhere-") && nowhere.ends_with("/etc"), "{nowhere}");
    let expected =
        Request { roots: roots("/tmp/folder", &nowhere), verb: verb("/tmp/folder", &nowhere), ..request };
    assert_eq!(heard, expected);
    assert_eq!(fake.heard()[1], Heard::Go(b"/srv/app".to_vec()));
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_every_verb_go_through() {
    let fake = Fake::silent();
    let mut controller = Controller::open(&PathSubstituting::new(fake.clone(), namespace())).await;
    let scope = |within: &str| Scope { roots: Some(vec![0]), within: Some(vec![within.into()]) };
    let look = |within: &str| Look {
        root: 0,
        path: b"srv/app".to_vec(),
        last: Last::Follow,
        max: Some(1),
        scope: scope(within),
    };
    let list = |within: &str| Verb::List {
        look: Look { max: None, ..look(within) },
        after: b"/srv/app".to_vec(),
        limit: 1,
    };
    let settle = |expect: &str| Verb::Settle {
        shell: (1, "2".into()),
        options: Options::default(),
        changes: vec![Change { scope: scope(expect), ..put(expect, b"x") }],
        made: vec![(0, expect.into())],
    };
    let (named, real) = ("/srv/app/x", "/tmp/folder/x");
    for (verb, expected) in [
        (Verb::Open(vec![named.into()]), Verb::Open(vec![real.into()])),
        (Verb::Stat(vec![look(named)]), Verb::Stat(vec![look(real)])),
        (Verb::Stream(look(named)), Verb::Stream(look(real))),
        (list(named), list(real)),
        (Verb::Read(vec![(look(named), Part::Whole(1))]), Verb::Read(vec![(look(real), Part::Whole(1))])),
        (settle("/home/agent/x"), settle("/tmp/home/x")),
    ] {
        controller.ask(verb).await;
        let mut heard = fake.heard().into_iter().rev();
        let found = heard.find_map(|heard| match heard {
            Heard::Request(request) => Some(request.verb),
            _ => None,
        });
        assert_eq!(found, Some(expected));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_path_of_a_reply_is_the_targets_and_nothing_else_is_changed() {
    fn says(app: &str, home: &str, elsewhere: &str) -> Vec<Record> {
        let at = |path: &str| format!("{app}{path}").into_bytes();
        let link = |text: &str| State::Link(text.into());
        let problem = |state| Problem {
            code: "io".into(),
            path: elsewhere.into(),
            text: "sh: /tmp/folder: I/O error".into(),
            state,
        };
        vec![
            Record::Root { path: at(""), identity: "1:2".into() },
            Record::Found { resolved: at("/a\nb"), state: link(&format!("{home}/to")) },
            Record::Found { resolved: at("lication/x"), state: link("../tmp/folder") },
            Record::Problem(problem(Some(link(home)))),
            Record::Entry { name: b"tmp".to_vec(), state: link(app) },
            Record::Applied(Box::new(Applied {
                change: 0,
                resolved: at("/x"),
                before: link(app),
                after: State::Directory,
                tier: Tier::Exchange,
                displaced: true,
                changed: true,
                copied: false,
                other_names: 0,
            })),
            Record::Made { change: 0, path: at("/made") },
            Record::Left { change: 0, path: at("/.guard-a"), why: "/tmp/folder".into() },
            Record::Failed(Box::new(Failed { at: None, destination: true, problem: problem(None) })),
        ]
    }
    let fake = Fake::new(|_| {
        let body = || Say::Body(b"/tmp/folder\n/tmp/home".to_vec());
        let says = says("/tmp/folder", "/tmp/home", "/usr/bin").into_iter().map(Say::Record);
        [body()].into_iter().chain(says).chain([body()]).collect()
    });
    let fake = Fake { banner: "Welcome to /tmp/folder\n", ..fake };
    let mut controller = Controller::open(&PathSubstituting::new(fake, namespace())).await;
    let [ReplyEvent::Noise(banner), ReplyEvent::Record { record: Record::Hello(hello), .. }] =
        &controller.hello[..]
    else {
        panic!("{:?}", controller.hello)
    };
    assert_eq!((&banner[..], hello.get("home")), (&b"Welcome to /tmp/folder\n"[..], Some("/home/agent")));
    // Two requests on the way: each reply's bodies end with its own token.
    let requests = [controller.send(open("/x"), b"").await, controller.send(open("/y"), b"").await];
    for request in &requests {
        let events = controller.reply(request).await;
        let bytes: Vec<u8> = events
            .iter()
            .flat_map(|event| match event {
                ReplyEvent::Bytes(bytes) => bytes.clone(),
                _ => Vec::new(),
            })
            .collect();
        assert_eq!(bytes, b"/tmp/folder\n/tmp/home/tmp/folder\n/tmp/home");
        let mut expected = says("/srv/app", "/home/agent", "/usr/bin");
        // What is beside the folder is not in it.
        expected[2] = Record::Found {
            resolved: b"/tmp/folderlication/x".to_vec(),
            state: State::Link(b"../tmp/folder".to_vec()),
        };
        let records = records(events);
        assert_eq!(records[1..records.len() - 1], expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_no_folder_stands_for_is_answered_by_its_own_name() {
    let fake = Fake::new(|request| {
        let Verb::Open(paths) = &request.verb else { return Vec::new() };
        let (code, path) = ("not-found".to_owned(), paths[0].clone());
        vec![Say::Record(Record::Problem(Problem { code, path, text: String::new(), state: None }))]
    });
    let mut controller = Controller::open(&PathSubstituting::new(fake, namespace())).await;
    for name in ["/etc/passwd", "/", "/tmp/folder/secret", "/srv/application"] {
        let said = records(controller.ask(open(name)).await);
        let [Record::Problem(problem)] = &said[..] else { panic!("{said:?}") };
        assert_eq!(problem.path, name.as_bytes());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_session_is_substituted_and_a_cut_request_stays_cut() {
    let fake = Fake::silent();
    let substituting = PathSubstituting::new(fake.clone(), namespace());
    assert!(matches!(substituting.start("cat /etc/passwd").await, Err(TransportError::NoShell { .. })));

    let mut controller = Controller::open(&substituting).await;
    let (_, bytes) = controller.request(open("/srv/app"), b"");
    controller.session.input.write_all(&bytes[..bytes.len() - 1]).await.unwrap();
    controller.session.input.shutdown().await.unwrap();
    controller.rest().await;
    assert_eq!(fake.heard(), [Heard::End(fake::boot().len() + bytes.len() - 1)]);
}

// Faults.

struct Broken {
    fake: Fake,
    faults: Faults,
    transport: Faulty<Fake>,
}

fn faulty(fake: Fake) -> Broken {
    let faults = Faults::new();
    Broken { transport: Faulty::new(fake.clone(), &faults), fake, faults }
}

fn echo() -> Fake {
    Fake::new(|_| {
        vec![
            Say::Record(Record::Root { path: b"/a\nb".to_vec(), identity: "1:2".into() }),
            Say::Body(b"some bytes\n".to_vec()),
        ]
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_fault_everything_comes_through_and_is_counted() {
    let Broken { fake, faults, transport } = faulty(echo());
    let mut controller = Controller::open(&transport).await;
    let asked = controller.send(commit(vec![put("/x", b"12345")]), b"12345").await;
    let told = controller.reply(&asked).await;
    assert_eq!(told.len(), 5, "{told:?}");
    drop(controller.session.input);
    let mut controller = Controller::open(&transport).await;
    controller.ask(open("/x")).await;
    let Heard::Request(heard) = &fake.heard()[0] else { panic!("{:?}", fake.heard()) };
    assert_eq!(heard, &asked);
    assert_eq!((faults.sessions(), faults.starts(), faults.pending(), faults.orphans()), (2, 2, 0, 0));
    let whole = asked.encode(NONCE).len() + 5 + asked.tail(NONCE).len();
    let requests = faults.requests();
    assert_eq!(requests[0], (Method::Commit, whole as u64));
    assert_eq!(requests[1].0, Method::OpenRoot);
    let replied = fake::reply(&asked, echo_says()).len();
    let expected = Bytes {
        to_shell: (fake::boot().len() * 2 + whole) as u64 + requests[1].1,
        from_shell: 2 * (fake::hello().len() + replied) as u64,
    };
    assert_eq!(faults.bytes(), expected);
}

fn echo_says() -> Vec<Say> {
    vec![
        Say::Record(Record::Root { path: b"/a\nb".to_vec(), identity: "1:2".into() }),
        Say::Body(b"some bytes\n".to_vec()),
    ]
}

/// Wherever the line is lost, exactly the bytes before that arrive, and the shell reads an end of file.
#[tokio::test(flavor = "multi_thread")]
async fn a_line_is_cut_behind_any_byte_of_a_request_and_the_shell_lives_on() {
    let verb = || commit(vec![put("/x", b"12345")]);
    let (_, whole) = Controller::open(&Fake::silent()).await.request(verb(), b"12345");
    for cut in (0..=whole.len()).chain([usize::MAX]) {
        let Broken { fake, faults, transport } = faulty(Fake::silent());
        faults.plan(Way::ToShell, At::request(Method::Commit, 1).byte(cut as u64), Fault::Cut);
        let mut controller = Controller::open(&transport).await;
        controller.ask(open("/before")).await;
        let before = usize::try_from(faults.bytes().to_shell).unwrap();
        let request = controller.send(verb(), b"12345").await;
        assert_eq!(controller.reply(&request).await, [], "{cut}");
        // Neither of these reaches a shell behind a lost line.
        controller.session.end.kill().await;
        assert_eq!(controller.session.end.status().await, None);
        drop(controller);
        assert_eq!((faults.orphans(), faults.pending()), (1, 0));
        assert_eq!(faults.orphans_end().await, [Some("over".to_owned())]);
        let arrived = cut.min(whole.len());
        assert_eq!(fake.heard().last(), Some(&Heard::End(before + arrived)), "{cut}");
        assert_eq!(fake.heard().contains(&Heard::Go(b"12345".to_vec())), arrived == whole.len(), "{cut}");
        assert_eq!(fake.kills(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_is_cut_behind_any_byte_of_a_reply_or_of_the_hello() {
    let len = {
        let (request, _) = Controller::open(&echo()).await.request(open("/x"), b"");
        fake::reply(&request, echo_says()).len()
    };
    for cut in (0..=len).chain([usize::MAX]) {
        let Broken { fake, faults, transport } = faulty(echo());
        faults.plan(Way::FromShell, At::any(2).byte(cut as u64), Fault::Cut);
        let mut controller = Controller::open(&transport).await;
        controller.ask(open("/before")).await;
        controller.send(open("/x"), b"").await;
        assert_eq!(controller.rest().await.len(), cut.min(len), "{cut}");
        assert_eq!(faults.orphans_end().await.len(), 1);
        assert!(matches!(fake.heard()[..], [Heard::Request(_), Heard::Request(_), Heard::End(_)]));
    }
    let hello = fake::hello().len() + "banner\n".len();
    for cut in 0..=hello {
        let Broken { faults, transport, .. } = faulty(Fake { banner: "banner\n", ..echo() });
        faults.plan(Way::FromShell, At::start().byte(cut as u64), Fault::Cut);
        assert_eq!(Controller::quiet(&transport).await.rest().await.len(), cut);
        // The fault was the first session's.
        Controller::open(&transport).await.ask(open("/x")).await;
        assert_eq!(faults.pending(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_direction_ends_and_the_other_goes_on() {
    let Broken { fake, faults, transport } = faulty(echo());
    faults.plan(Way::ToShell, At::any(1).byte(10), Fault::End);
    let mut controller = Controller::open(&transport).await;
    controller.send(open("/x"), b"").await;
    controller.session.input.write_all(&vec![0; 100_000]).await.unwrap();
    assert_eq!(controller.rest().await, b"");
    assert_eq!(fake.heard(), [Heard::End(fake::boot().len() + 10)]);

    let Broken { fake, faults, transport } = faulty(echo());
    faults.plan(Way::FromShell, At::any(1).byte(10), Fault::End);
    let mut controller = Controller::open(&transport).await;
    controller.send(open("/x"), b"").await;
    assert_eq!(controller.rest().await.len(), 10);
    controller.send(open("/y"), b"").await;
    controller.session.input.shutdown().await.unwrap();
    assert_eq!(controller.session.end.status().await.as_deref(), Some("over"));
    assert!(matches!(fake.heard()[..], [Heard::Request(_), Heard::Request(_), Heard::End(_)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_is_killed_where_that_is_planned() {
    for (way, at, told) in [
        (Way::ToShell, At::tail(1), 0),
        (Way::FromShell, At::request(Method::Commit, 1), 0),
        (Way::FromShell, At::request(Method::Commit, 1).byte(40), 40),
    ] {
        let Broken { fake, faults, transport } = faulty(echo());
        faults.plan(way, at, Fault::Kill);
        let mut controller = Controller::open(&transport).await;
        controller.send(commit(vec![put("/x", b"12345")]), b"12345").await;
        assert_eq!(controller.rest().await.len(), told, "{at:?}");
        assert_eq!(fake.heard().contains(&Heard::Go(b"12345".to_vec())), way == Way::FromShell, "{at:?}");
        assert_eq!((fake.kills(), faults.pending(), faults.orphans()), (1, 0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_line_that_hangs_is_silent_and_carries_no_signal() {
    for way in [Way::ToShell, Way::FromShell] {
        let Broken { fake, faults, transport } = faulty(echo());
        faults.plan(way, At::any(1).byte(5), Fault::Hang);
        let mut controller = Controller::open(&transport).await;
        controller.send(open("/x"), b"").await;
        let mut five = [0; 5];
        if way == Way::FromShell {
            tokio::io::AsyncReadExt::read_exact(&mut controller.session.output, &mut five).await.unwrap();
        }
        timeout(Duration::from_secs(3600), controller.rest()).await.unwrap_err();
        controller.session.end.kill().await;
        drop(controller);
        tokio::task::yield_now().await;
        assert_eq!((fake.kills(), faults.orphans()), (0, 1));
        faults.kill_orphans().await;
        assert_eq!((fake.kills(), faults.orphans()), (1, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_is_held_before_its_tail_until_the_gate_is_opened() {
    let Broken { fake, faults, transport } = faulty(echo());
    let mut gate = faults.hold_commit();
    let mut controller = Controller::open(&transport).await;
    controller.ask(open("/x")).await;
    let request = controller.send(commit(vec![put("/x", b"12345")]), b"12345").await;
    gate.reached().await;
    assert_eq!(
        faults.bytes().to_shell,
        (fake::boot().len() + request.encode(NONCE).len() + 5) as u64 + faults.requests()[0].1
    );
    assert!(!fake.heard().contains(&Heard::Go(b"12345".to_vec())));
    gate.open();
    assert_eq!(controller.reply(&request).await.len(), 5);
    assert!(fake.heard().contains(&Heard::Go(b"12345".to_vec())));
}

/// As a request to a container that was paused.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_held_is_carried_out_though_the_controller_gave_up() {
    let Broken { fake, faults, transport } = faulty(echo());
    let mut gate = faults.hold_commit();
    let mut controller = Controller::open(&transport).await;
    controller.send(commit(vec![put("/x", b"12345")]), b"12345").await;
    gate.reached().await;
    drop(controller);
    Controller::open(&transport).await.ask(open("/x")).await;
    assert!(!fake.heard().contains(&Heard::Go(b"12345".to_vec())));
    gate.open();
    assert_eq!(faults.orphans_end().await, [Some("over".to_owned())]);
    assert!(fake.heard().contains(&Heard::Go(b"12345".to_vec())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_acts_at_a_place_and_the_stream_waits() {
    let Broken { fake, faults, transport } = faulty(echo());
    let seen = fake.clone();
    let (send, mut receive) = tokio::sync::mpsc::unbounded_channel();
    faults.act(Way::FromShell, At::request(Method::Commit, 1).end(), move || {
        send.send(seen.heard().len()).unwrap();
    });
    let mut controller = Controller::open(&transport).await;
    let request = controller.send(commit(vec![put("/x", b"")]), b"").await;
    controller.reply(&request).await;
    assert_eq!(receive.recv().await, Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_are_lost_changed_doubled_and_added() {
    let whole = {
        let (request, _) = Controller::open(&echo()).await.request(open("/x"), b"");
        fake::reply(&request, echo_says())
    };
    let (head, tail) = whole.split_at(10);
    let garbled: Vec<u8> = tail[..4].iter().map(|byte| !byte).collect();
    for (at, fault, expected) in [
        (10, Fault::Skip(4), [head, &tail[4..]].concat()),
        (10, Fault::Garble(4), [head, &garbled, &tail[4..]].concat()),
        (10, Fault::Repeat(4), [head, &tail[..4], tail].concat()),
        (10, Fault::Repeat(u64::MAX), [head, tail, tail].concat()),
        (10, Fault::Insert(b"noise\n".to_vec()), [head, b"noise\n", tail].concat()),
        (0, Fault::Skip(u64::MAX), Vec::new()),
        (u64::MAX, Fault::Insert(b"noise\n".to_vec()), [&whole[..], b"noise\n"].concat()),
    ] {
        let Broken { faults, transport, .. } = faulty(echo());
        faults.plan(Way::FromShell, At::any(1).byte(at), fault.clone());
        let mut controller = Controller::open(&transport).await;
        controller.send(open("/x"), b"").await;
        controller.session.input.shutdown().await.unwrap();
        assert_eq!(controller.rest().await, expected, "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_arrives_twice() {
    let Broken { fake, faults, transport } = faulty(echo());
    faults.plan(Way::ToShell, At::request(Method::Commit, 1), Fault::Repeat(u64::MAX));
    let mut controller = Controller::open(&transport).await;
    let request = controller.send(commit(vec![put("/x", b"12345")]), b"12345").await;
    controller.session.input.shutdown().await.unwrap();
    controller.rest().await;
    let [first, second] = [0, 2].map(|nth| fake.heard()[nth].clone());
    assert_eq!((&first, &second), (&Heard::Request(request.clone()), &Heard::Request(request)));
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_are_of_the_request_that_was_meant_in_whatever_session() {
    let Broken { fake, faults, transport } = faulty(echo());
    faults.plan(Way::ToShell, At::request(Method::Commit, 2), Fault::Cut);
    faults.plan(Way::ToShell, At::any(5), Fault::Kill);
    for _ in 0..2 {
        let mut controller = Controller::open(&transport).await;
        controller.ask(open("/x")).await;
        let request = controller.send(commit(vec![put("/x", b"")]), b"").await;
        controller.reply(&request).await;
        assert_eq!(fake.kills(), 0);
        controller.session.input.shutdown().await.unwrap();
        controller.rest().await;
    }
    assert_eq!((faults.orphans(), faults.pending()), (1, 1));
    assert_eq!(Controller::open(&transport).await.ask(open("/x")).await, []);
    assert_eq!((fake.kills(), faults.pending()), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn starts_are_refused_so_many_times_or_until_told_and_held() {
    let Broken { faults, transport, .. } = faulty(echo());
    let unreachable = || TransportError::Unreachable { why: "planned".into() };
    faults.refuse(2, unreachable());
    for _ in 0..2 {
        assert_eq!(transport.start(&fake::command()).await.err(), Some(unreachable()));
    }
    Controller::open(&transport).await;
    faults.refuse_all(TransportError::TargetChanged);
    for _ in 0..3 {
        assert_eq!(transport.start(&fake::command()).await.err(), Some(TransportError::TargetChanged));
    }
    faults.accept();
    let mut gate = faults.hold_start();
    let held = tokio::spawn(async move { transport.start(&fake::command()).await.is_ok() });
    gate.reached().await;
    assert_eq!((faults.starts(), faults.sessions()), (7, 1));
    gate.open();
    assert!(held.await.unwrap());
    assert_eq!(faults.sessions(), 2);
}

/// A fault that kills while the controller waits for the end.
#[tokio::test(flavor = "multi_thread")]
async fn a_controller_that_waits_for_the_end_hears_of_it() {
    for (fault, expected) in [(Fault::Kill, Some("over".to_owned())), (Fault::Cut, None)] {
        let Broken { fake, faults, transport } = faulty(echo());
        let mut gate = faults.hold(Way::ToShell, At::any(1));
        faults.plan(Way::ToShell, At::any(1), fault.clone());
        let mut controller = Controller::open(&transport).await;
        controller.send(open("/x"), b"").await;
        gate.reached().await;
        let mut end = controller.session.end;
        let waiting = tokio::spawn(async move { end.status().await });
        tokio::task::yield_now().await;
        gate.open();
        assert_eq!(waiting.await.unwrap(), expected);
        assert_eq!(fake.kills(), usize::from(fault == Fault::Kill));
    }
}

// Counts and delays.

#[tokio::test(flavor = "multi_thread")]
async fn round_trips_requests_and_bytes_are_counted() {
    let traffic = Traffic::new();
    let fake = Fake { banner: "Welcome!\n", ..echo() };
    let transport = Counting::new(fake, &traffic);
    let mut controller = Controller::open(&transport).await;
    let start = traffic.take();
    assert_eq!((start.sessions, start.trips, start.requests.total()), (1, 0, 0));
    assert_eq!(start.sent, fake::boot().len() as u64);
    assert_eq!(start.received, fake::hello().len() as u64 + 9);

    controller.ask(open("/x")).await;
    let request = controller.send(commit(vec![put("/x", b"12345")]), b"12345").await;
    controller.reply(&request).await;
    let settle = Verb::Settle {
        shell: (1, "2".into()),
        options: Options::default(),
        changes: Vec::new(),
        made: Vec::new(),
    };
    controller.ask(settle).await;
    let counted = traffic.take();
    assert_eq!(counted.requests, Counts { open_root: 1, commit: 1, settle: 1, ..Counts::default() });
    assert_eq!((counted.trips, counted.sessions), (3, 0));

    // What is asked before the first answer comes is one trip; they are sent at once, so that none can come between.
    let (first, one) = controller.request(open("/x"), b"");
    let (second, two) = controller.request(open("/y"), b"");
    controller.session.input.write_all(&[one, two].concat()).await.unwrap();
    controller.reply(&first).await;
    controller.reply(&second).await;
    assert_eq!((traffic.counted().trips, traffic.counted().requests.open_root), (1, 2));

    // A commit without its tail was not sent.
    let (_, bytes) = controller.request(commit(vec![put("/x", b"12345")]), b"12345");
    controller.session.input.write_all(&bytes[..bytes.len() - 1]).await.unwrap();
    controller.session.input.shutdown().await.unwrap();
    controller.rest().await;
    assert_eq!(traffic.counted().requests.commit, 0);
}

/// A shell tells of the directories that it makes while the rest of the request is still on its way.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_noted_before_a_request_is_whole_is_no_answer() {
    let traffic = Traffic::new();
    let made = Record::Made { change: 0, path: b"/d".to_vec() };
    let fake = Fake { notes: vec![made.clone()], ..echo() };
    let mut controller = Controller::open(&Counting::new(fake, &traffic)).await;
    let (request, bytes) = controller.request(commit(vec![put("/d/x", b"12345")]), b"12345");
    let (before, tail) = bytes.split_at(bytes.len() - request.tail(NONCE).len());
    controller.session.input.write_all(before).await.unwrap();
    let noted = controller.until(|event| matches!(event, ReplyEvent::Record { .. })).await;
    assert_eq!(noted, [ReplyEvent::Record { seq: 1, record: made }]);
    controller.session.input.write_all(tail).await.unwrap();
    controller.reply(&request).await;
    assert_eq!((traffic.counted().trips, traffic.counted().requests.commit), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_round_trip_takes_its_time_and_bandwidth_does_not() {
    let round_trip = Duration::from_millis(20);
    let mut controller = Controller::open(&Delay::new(echo(), round_trip)).await;
    let exactly = |started: Instant| {
        // The clock of timers is one of milliseconds.
        let took = started.elapsed();
        assert!((round_trip..round_trip + Duration::from_millis(3)).contains(&took), "{took:?}");
    };
    let started = Instant::now();
    controller.ask(open("/x")).await;
    exactly(started);
    let started = Instant::now();
    let mut requests = Vec::new();
    for nth in 0..50 {
        let bytes = vec![b'x'; 10_000];
        requests.push(controller.send(commit(vec![put(&format!("/{nth}"), &bytes)]), &bytes).await);
    }
    for request in requests {
        assert_eq!(controller.reply(&request).await.len(), 5);
    }
    exactly(started);
    // The end takes its time too, each way.
    let started = Instant::now();
    controller.session.input.shutdown().await.unwrap();
    controller.rest().await;
    exactly(started);
}

#[tokio::test(flavor = "multi_thread")]
async fn they_nest() {
    let (traffic, faults, fake) = (Traffic::new(), Faults::new(), echo());
    let inner = Counting::new(Delay::new(fake.clone(), Duration::ZERO), &traffic);
    let transport = PathSubstituting::new(Faulty::new(inner, &faults), namespace());
    faults.plan(Way::ToShell, At::tail(1), Fault::Cut);
    let mut controller = Controller::open(&transport).await;
    assert_eq!(controller.ask(open("/srv/app")).await.len(), 5);
    let request = controller.send(commit(vec![put("/srv/app/x", b"12345")]), b"12345").await;
    assert_eq!(controller.reply(&request).await, []);
    faults.orphans_end().await;
    assert_eq!((traffic.counted().requests.total(), traffic.counted().trips), (1, 1));
    assert_eq!(transport.target().as_str(), "fake");
    let Heard::Request(heard) = &fake.heard()[1] else { panic!("{:?}", fake.heard()) };
    let Verb::Commit { changes, .. } = &heard.verb else { panic!("{heard:?}") };
    assert_eq!(changes[0].place.expect, b"/tmp/folder/x");
}
