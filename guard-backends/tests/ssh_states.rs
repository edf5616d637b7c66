//! What a guard says of an SSH host whose connection comes and goes.
#![cfg(feature = "ssh")]
#![allow(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]
#![allow(clippy::disallowed_methods, reason = "the test is the other process, on this machine")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use guard_backends::shell::Shell;
use guard_backends::ssh::{Builder, Ssh};
use guard_core::policy::{Access, Code, TargetPath};
use guard_core::port::TransportError;
use guard_core::{Actor, Guard, Outcome, Reply};
use guard_testkit::skip::{self, Need};
use guard_testkit::sshd::Sshd;
use guard_testkit::transport::{At, Fault, Faults, Faulty, Way};
use guard_testkit::wrap::Method;
use serde_json::json;
use tempfile::TempDir;

/// A server, and a guard over a folder and over the user's home.
struct Bench {
    sshd: Sshd,
    guard: Guard,
    folder: TempDir,
}

impl Bench {
    async fn of(sshd: Sshd, faults: &Faults) -> Self {
        let to = Ssh::to(sshd.url().parse().unwrap()).config(sshd.config());
        Self::over(sshd, to, faults).await
    }

    async fn over(sshd: Sshd, to: Builder, faults: &Faults) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let shell = Shell::builder(Arc::new(Faulty::new(to.resolve().await.unwrap(), faults)))
            .progress(Duration::from_secs(20))
            .reconnect(2, Duration::from_millis(10))
            .connect()
            .await
            .unwrap();
        let path = |path: PathBuf| TargetPath::new(path.canonicalize().unwrap().to_str().unwrap()).unwrap();
        let guard = Guard::builder(Arc::new(shell))
            .root(path(folder.path().to_owned()), Access::ReadWrite)
            .root(path(sshd.home()), Access::ReadWrite);
        let guard = guard.open().await.unwrap();
        Self { sshd, guard, folder }
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    fn left(&self) -> usize {
        let names = std::fs::read_dir(self.folder.path()).unwrap();
        names
            .filter(|name| name.as_ref().unwrap().file_name().to_string_lossy().starts_with(".guard-"))
            .count()
    }
}

async fn write(actor: &Actor, path: &str, content: &str) -> Reply {
    actor.call("write_file", json!({ "path": path, "content": content })).await
}

fn done(reply: Reply) -> Reply {
    assert_eq!(reply.outcome, Outcome::Done, "{reply:?}");
    reply
}

#[tokio::test(flavor = "multi_thread")]
async fn many_actors_share_one_connection_and_a_home_is_the_hosts() {
    if skip::unless(Need::Sshd, "many_actors_share_one_connection_and_a_home_is_the_hosts") {
        return;
    }
    let bench = Bench::of(Sshd::start().unwrap(), &Faults::new()).await;
    // It is open before anything is asked: that is how it is known where the home is.
    assert_eq!(bench.sshd.accepted(), 1);
    let calls = (0..8).map(|number| {
        let actor = bench.guard.actor(format!("agent {number}"));
        tokio::spawn(async move {
            done(write(&actor, &format!("{number}"), "one\n").await);
            done(write(&actor, &format!("~/{number}"), "home\n").await);
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
    assert_eq!((bench.sshd.accepted(), bench.sshd.connections()), (1, 1));
    for number in 0..8 {
        assert_eq!(bench.read(&number.to_string()), "one\n");
        assert_eq!(std::fs::read(bench.sshd.home().join(number.to_string())).unwrap(), b"home\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_is_opened_again_and_an_uncertain_commit_is_settled() {
    if skip::unless(Need::Sshd, "a_lost_connection_is_opened_again_and_an_uncertain_commit_is_settled") {
        return;
    }
    let faults = Faults::new();
    let bench = Bench::of(Sshd::start().unwrap(), &faults).await;
    let actor = bench.guard.actor("agent");
    done(write(&actor, "old", "one\n").await);
    // Idle: a question opens another and is asked there, and the view is still good.
    assert_eq!(bench.sshd.kill_connections(), 1);
    done(actor.call("list_dir", json!({})).await);
    done(write(&actor, "old", "two\n").await);
    assert_eq!(bench.sshd.accepted(), 2);
    // In the middle of a commit: what is at the name decides, within the call.
    let sshd = Arc::new(bench.sshd);
    for (path, way, at, is_done) in [
        // The tail never leaves, so that nothing is published.
        ("old", Way::ToShell, At::tail(1), false),
        ("new", Way::ToShell, At::tail(1), false),
        // It is done when the answer comes.
        ("old", Way::FromShell, At::request(Method::Commit, 1), true),
        ("new", Way::FromShell, At::request(Method::Commit, 1), true),
    ] {
        let before = std::fs::read_to_string(bench.folder.path().join(path)).unwrap_or_default();
        let (content, accepted, lost) = (format!("{path} {way:?}\n"), sshd.accepted(), Arc::clone(&sshd));
        faults.act(way, at, move || {
            lost.kill_connections();
        });
        if is_done {
            // The answer is here already when the connection goes down; it is lost with it.
            faults.plan(way, at, Fault::Cut);
        }
        let reply = write(&actor, path, &content).await;
        assert_eq!(faults.pending(), 0, "{path} {way:?}");
        assert_eq!(sshd.accepted(), accepted + 1, "{path} {way:?}: {reply:?}");
        if is_done {
            done(reply);
        } else {
            let code = reply.refusal.as_ref().map(|refusal| refusal.code);
            assert_eq!((reply.outcome, code), (Outcome::Refused, Some(Code::StateUnavailable)), "{reply:?}");
        }
        let seen = std::fs::read_to_string(bench.folder.path().join(path)).unwrap_or_default();
        assert_eq!(seen, if is_done { content } else { before }, "{path} {way:?}");
    }
    let names = std::fs::read_dir(bench.folder.path()).unwrap().count();
    assert_eq!(names, 2, "a temporary file is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_away_is_asked_again_when_it_is_back() {
    if skip::unless(Need::Sshd, "a_host_that_is_away_is_asked_again_when_it_is_back") {
        return;
    }
    let faults = Faults::new();
    let mut bench = Bench::of(Sshd::start().unwrap(), &faults).await;
    let actor = bench.guard.actor("agent");
    done(write(&actor, "old", "one\n").await);
    faults.refuse_all(TransportError::Unreachable { why: "the host is away".to_owned() });
    faults.plan(Way::FromShell, At::request(Method::Commit, 1), Fault::Cut);
    let reply = write(&actor, "old", "two\n").await;
    assert_eq!(reply.outcome, Outcome::Unknown, "{reply:?}");
    bench.sshd.kill_connections();
    bench.sshd.stop();
    faults.accept();
    let reply = actor.call("stat", json!({ "path": "old" })).await;
    assert_eq!(reply.refusal.as_ref().map(|refusal| refusal.code), Some(Code::StateUnavailable), "{reply:?}");
    bench.sshd.restart().unwrap();
    let reply = done(actor.call("stat", json!({ "path": "old" })).await);
    let [notice] = &reply.notices[..] else { panic!("{reply:?}") };
    assert_eq!((notice.outcome, bench.read("old").as_str(), bench.left()), (Outcome::Done, "two\n", 0));
}

/// Two servers: the first is gone through, as `ssh`'s own configuration says, and only the second is acted on.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_behind_another_is_acted_on_and_the_other_is_not() {
    if skip::unless(Need::Sshd, "a_host_behind_another_is_acted_on_and_the_other_is_not") {
        return;
    }
    let (jump, far) = (Sshd::start().unwrap(), Sshd::start().unwrap());
    // A configuration as people write it: each host with its own port, key and known hosts.
    let config = format!(
        "Host gate\n  HostName {}\n  Port {}\n  IdentityFile {}\n  UserKnownHostsFile {}\n  HostKeyAlias guard-sshd\n\
         Host far\n  HostName {}\n  Port {}\n  IdentityFile {}\n  UserKnownHostsFile {}\n  HostKeyAlias guard-sshd\n  \
         ProxyJump gate\nHost *\n  User {}\n  IdentitiesOnly yes\n  GlobalKnownHostsFile /dev/null\n",
        jump.address().ip(),
        jump.address().port(),
        jump.identity().display(),
        jump.known_hosts().display(),
        far.address().ip(),
        far.address().port(),
        far.identity().display(),
        far.known_hosts().display(),
        far.user(),
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config");
    std::fs::write(&file, config).unwrap();
    let to = Ssh::to("ssh://far".parse().unwrap()).config(file);
    let bench = Bench::over(far, to, &Faults::new()).await;
    let address = bench.sshd.address();
    let name = format!("ssh:{}@{address} via gate", bench.sshd.user());
    assert_eq!(bench.guard.target().target().as_str(), name);
    let actor = bench.guard.actor("agent");
    done(write(&actor, "~/a", "far\n").await);
    assert_eq!(std::fs::read(bench.sshd.home().join("a")).unwrap(), b"far\n");
    assert_eq!(std::fs::read_dir(jump.home()).unwrap().count(), 0);
    assert_eq!((jump.accepted(), bench.sshd.accepted()), (1, 1));
    // What is lost on the way is lost, and opened again through the same host.
    assert_eq!(jump.kill_connections(), 1);
    done(actor.call("stat", json!({ "path": "~/a" })).await);
    done(write(&actor, "~/a", "again\n").await);
    assert_eq!((jump.accepted(), bench.sshd.accepted()), (2, 2));
}
