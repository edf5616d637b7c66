//! What a shell says of itself in the handshake, compared with what is true.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;

use guard_backends::shell::wire::Hello;
use guard_backends::shell::{Feature, Process, Shell};
use guard_core::policy::{Fact, Precondition};
use guard_core::port::{FileOps as _, TargetId, Tier};
use guard_testkit::skip::{self, Need};
use guard_testkit::transport::Sh;

use crate::common;
use crate::environment::works;
use crate::ws::{Ws, is, sh};

fn first_line(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().lines().next().unwrap_or_default().to_owned()
}

/// The start of a process by the kernel: proc(5), field 22 of stat.
fn start_of(pid: &str) -> String {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, after) = line.rsplit_once(") ").unwrap();
    after.split(' ').nth(19).unwrap().to_owned()
}

fn fact<'a>(hello: &'a Hello, name: &str) -> &'a str {
    hello.get(name).unwrap_or_else(|| panic!("{name} is not told: {hello:?}"))
}

#[tokio::test]
async fn what_a_shell_says_of_its_user_its_process_and_its_machine_is_true() {
    let name = "facts::what_a_shell_says_of_its_user_its_process_and_its_machine_is_true";
    if skip::unless(Need::Setpriv, name) {
        return;
    }
    for one in Sh::ALL {
        if skip::unless(one.need(), name) {
            continue;
        }
        let tools = one.tools().unwrap();
        // For another user too.
        fs::set_permissions(tools.directory(), fs::Permissions::from_mode(0o755)).unwrap();
        let home = tempfile::tempdir().unwrap();
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for (uid, gid, umask) in [(12345_u32, 54321_u32, 0o027_u32), (0, 0, 0o002), (65534, 7, 0o777)] {
            for has_proc in [true, false] {
                let script = format!("umask {umask:o}; eval \"$1\"");
                let ids = [format!("--reuid={uid}"), format!("--regid={gid}"), "--clear-groups".to_owned()];
                let process = Process::program(TargetId::new("facts"), "setpriv")
                    .args(ids)
                    .args(["sh", "-c", &script, "sh"])
                    .env("PATH", tools.path())
                    .env("HOME", home.path());
                let mut builder = Shell::builder(Arc::new(process));
                if !has_proc {
                    builder = builder.danger_without(Feature::Proc);
                }
                let shell = builder.connect().await.unwrap();
                let hello = shell.hello();
                let case = format!("{} {uid}:{gid} {umask:o} {has_proc}: {hello:?}", one.name());
                assert_eq!(fact(hello, "uid"), uid.to_string(), "{case}");
                assert_eq!(fact(hello, "gid"), gid.to_string(), "{case}");
                assert_eq!(u32::from_str_radix(fact(hello, "umask"), 8), Ok(umask), "{case}");
                let pid = fact(hello, "pid");
                assert!(fs::read_link(format!("/proc/{pid}/exe")).is_ok(), "{case}");
                let user = fs::metadata(format!("/proc/{pid}")).unwrap().uid();
                assert_eq!(user, uid, "{case}");
                // Without it nothing proves that a process is the shell.
                let start = if has_proc { start_of(pid) } else { String::new() };
                assert_eq!(fact(hello, "start"), start, "{case}");
                assert_eq!(fact(hello, "proc"), if has_proc { "yes" } else { "" }, "{case}");
                assert_eq!(fact(hello, "machine"), first_line("/etc/machine-id"), "{case}");
                assert_eq!(fact(hello, "bootid"), first_line("/proc/sys/kernel/random/boot_id"), "{case}");
                let root = fs::metadata("/").unwrap();
                assert_eq!(fact(hello, "rootid"), format!("{}:{}", root.dev(), root.ino()), "{case}");
                let told = shell.capabilities();
                assert_eq!(told.uid, uid, "{case}");
                assert_eq!(told.home, Fact::Known(Some(common::target(home.path()))), "{case}");
            }
        }
    }
}

/// Returns the first of these programs that the machine has.
fn first_of(programs: &[&'static str]) -> &'static str {
    let has = |name: &str| {
        ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|dir| Path::new(dir).join(name).exists())
    };
    programs.iter().find(|name| has(name)).copied().unwrap_or("none")
}

const LIES: &str = "cat > /dev/null; printf '%064d  -\\n' 0";
const NO_FLAGS: &str =
    "case \"$*\" in *iflag*) echo 'dd: unrecognized operand' >&2; exit 1 ;; esac; exec /usr/bin/dd \"$@\"";
const READS_AHEAD: &str = "/usr/bin/cat > \"$0.$$\"; /usr/bin/head \"$@\" < \"$0.$$\"; rm \"$0.$$\"";
const EXCHANGES: &str =
    "exec /usr/bin/perl -e 'exit 0 if syscall($ARGV[0] + 0, -100, $ARGV[1], -100, $ARGV[2], 2) == 0;
print STDERR \"exch: $!\\n\"; exit 1' $(case $(uname -m) in x86_64) echo 316 ;; *) echo 276 ;; esac) \"$@\"";
const MOVES_AND_EXCHANGES: &str =
    "case $1 in --exchange) shift 2; exec \"${0%/*}/swap\" \"$@\" ;; esac; exec /usr/bin/mv \"$@\"";
const NO_MOVE: &str =
    "case $1 in --exchange) echo 'mv: unrecognized option' >&2; exit 1 ;; esac; exec /usr/bin/mv \"$@\"";
const NO_ATTRIBUTES: &str = "case \"$*\" in *--attributes-only*) echo 'cp: unrecognized option' >&2; exit 1 ;; esac; exec /usr/bin/cp \"$@\"";

/// Tools that are broken or weaker are found out in the handshake, the next best one is told and used.
#[tokio::test(flavor = "multi_thread")]
async fn the_tools_that_are_told_are_those_that_work() {
    let sums = ["sha256", "openssl", "perl", "python3", "shasum"];
    let second = first_of(&sums);
    let behind = sums.iter().position(|name| *name == second).map_or(sums.len(), |at| at + 1);
    let third = first_of(&sums[behind..]);
    assert!(second != "none" && third != "none", "{second}, {third}");
    let (exchange, window) = (Tier::Exchange, Tier::Window);
    let cases: [(&[(&str, &str)], &[(&str, &str)], Tier); 14] = [
        (
            &[("mv", NO_MOVE), ("exch", "exit 1")],
            &[
                ("digest", "sha256sum"),
                ("link", "link"),
                ("exchange", "perl"),
                ("reader", "dd"),
                ("attributes", "cp"),
            ],
            exchange,
        ),
        (&[("sha256sum", LIES)], &[("digest", second)], exchange),
        (&[("sha256sum", "exit 1"), (second, LIES)], &[("digest", third)], exchange),
        (&[("link", "exit 0")], &[("link", "ln-T")], exchange),
        (&[("link", "echo 'link: unheard of' >&2; exit 1")], &[("link", "ln-T")], exchange),
        (&[("mv", MOVES_AND_EXCHANGES), ("swap", EXCHANGES)], &[("exchange", "mv")], exchange),
        (&[("mv", NO_MOVE), ("exch", EXCHANGES)], &[("exchange", "exch")], exchange),
        (&[("mv", NO_MOVE), ("exch", "exit 0"), ("perl", "exit 0")], &[("exchange", "")], window),
        (&[("mv", NO_MOVE), ("exch", "exit 1"), ("perl", "exit 2")], &[("exchange", "")], window),
        (&[("dd", NO_FLAGS)], &[("reader", "head")], exchange),
        (&[("dd", NO_FLAGS), ("head", READS_AHEAD)], &[("reader", "dd1")], exchange),
        (&[("cp", NO_ATTRIBUTES)], &[("attributes", "basic")], exchange),
        (&[("sync", "exit 0")], &[("sync", "sync-all")], exchange),
        (&[("fsync", "exec /usr/bin/sync \"$@\"")], &[("sync", "fsync")], exchange),
    ];
    for (fakes, expected, tier) in cases {
        let bin = tempfile::tempdir().unwrap();
        for (name, script) in fakes {
            let at = bin.path().join(name);
            common::run(
                "sh",
                &[
                    "-c",
                    "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod 755 \"$0\"",
                    at.to_str().unwrap(),
                    script,
                ]
                .map(std::ffi::OsStr::new),
            )
            .unwrap();
        }
        let ws = Ws::over(sh().env("PATH", format!("{}:/usr/bin:/bin", bin.path().display()))).await;
        for (name, value) in expected {
            assert_eq!(fact(ws.shell.hello(), name), *value, "{fakes:?}: {name}");
        }
        assert_eq!(ws.shell.capabilities().tier, tier, "{fakes:?}");
        works(&ws).await;
        // What is told is what enforced it.
        ws.write("file", "old");
        let done = ws.commit(ws.put("file", is("old"), "new")).await.unwrap();
        assert_eq!((done.publish.tier, ws.read("file")), (tier, b"new".to_vec()), "{fakes:?}");
        ws.commit(ws.put("other", Precondition::Absent, vec![b'x'; 70_000])).await.unwrap();
        assert_eq!(ws.read("other").len(), 70_000, "{fakes:?}");
    }
}
