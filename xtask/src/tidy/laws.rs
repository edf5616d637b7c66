//! The sentences, and how each is checked.

use std::collections::BTreeSet;

use super::graph::{Dependency, Kind};
use super::source::{SourceFile, Word, WordKind};
use super::{Finding, Tree};

/// A sentence and its check.
pub(crate) struct Law {
    pub(crate) sentence: &'static str,
    pub(crate) check: fn(&Tree) -> Vec<Finding>,
}

/// Every law. The first eleven are the layer invariants, the others the repository's rules.
pub(crate) const LAWS: &[Law] = &[
    Law {
        sentence: "guard-policy and guard-patch depend on no async runtime.",
        check: |tree| PURE.iter().flat_map(|name| reached(tree, name, RUNTIMES)).collect(),
    },
    Law {
        sentence: "guard-policy and guard-patch do no I/O and read no clock.",
        check: |tree| {
            let linked = PURE.iter().flat_map(|name| declared(tree, name, IO_CRATES));
            linked.chain(paths(tree, shipped_code(PURE), &[FILES, IO, CLOCK])).collect()
        },
    },
    Law {
        sentence: "guard-policy and guard-patch do not know each other.",
        check: |tree| {
            let policy = reached(tree, "guard-policy", &["guard-patch"]);
            policy.into_iter().chain(reached(tree, "guard-patch", &["guard-policy"])).collect()
        },
    },
    Law {
        sentence: "guard-core knows no backend.",
        check: |tree| {
            let linked = reached(tree, "guard-core", BACKENDS).into_iter();
            linked.chain(declared(tree, "guard-core", IO_CRATES)).collect()
        },
    },
    Law { sentence: "guard-core takes of tokio only sync, time and the I/O traits.", check: tokio_in_core },
    Law {
        sentence: "Of the crates that ship as libraries, only guard-backends touches a filesystem, a process or a \
                   socket (guard-testkit, guard-cli and xtask do not ship as libraries).",
        check: |tree| paths(tree, shipped_code(&["guard-policy", "guard-patch", "guard-core"]), &[FILES]),
    },
    Law {
        sentence: "openssh and bollard sit behind the features `ssh` and `docker`.",
        check: behind_features,
    },
    Law {
        sentence: "guard-testkit depends on guard-core and guard-backends; the crates that ship as libraries use it \
                   only from tests/.",
        check: testkit,
    },
    Law {
        sentence: "`FileOps::commit` is the only way to change a target: in guard-backends only local/commit/ calls \
                   what changes files (by its name in local/sys.rs, too); the audit log and the store of old bytes \
                   are no target and have files of their own.",
        check: mutations,
    },
    Law {
        sentence: "Library crates read no environment variable, no home directory and no terminal.",
        check: |tree| {
            let linked = LIBRARIES.iter().flat_map(|name| declared(tree, name, HOME_CRATES));
            let read = paths(tree, shipped_code(LIBRARIES), &[ENVIRONMENT, TERMINAL]);
            linked.chain(read).filter(|finding| !finding.what.contains("std::env::consts")).collect()
        },
    },
    Law {
        sentence: "No cargo feature and no `cfg(test)` changes what a library does for the sake of a test: `test` is \
                   the condition of whole modules only.",
        check: |tree| {
            let found = words(tree, shipped_code(LIBRARIES), |word| {
                matches!(word.kind, WordKind::Attribute | WordKind::CfgMacro)
                    && word.text.starts_with("cfg")
                    && speaks_of_tests(&word.text)
            });
            found.collect()
        },
    },
    Law {
        sentence: "`unsafe` stands only in guard-backends' lease module.",
        check: |tree| {
            let elsewhere =
                |file: &SourceFile, _: &Word| !(file.package == "guard-backends" && file.path == LEASE);
            words(tree, elsewhere, |word| word.kind == WordKind::Path && word.text == "unsafe").collect()
        },
    },
    Law {
        sentence: "No test is ignored: slow suites have a command of their own.",
        check: |tree| {
            let found = words(
                tree,
                |_, _| true,
                |word| {
                    word.kind == WordKind::Attribute
                        && (word.text.starts_with("ignore") || word.text.contains(",ignore"))
                },
            );
            found.collect()
        },
    },
    Law {
        sentence: "Nothing is left to be done: no `todo!`, no `unimplemented!`.",
        check: |tree| {
            let found = words(
                tree,
                |_, _| true,
                |word| word.kind == WordKind::Macro && matches!(last(word), "todo" | "unimplemented"),
            );
            found.collect()
        },
    },
    Law {
        sentence: "No test sleeps: it waits at a barrier.",
        check: |tree| {
            let found = words(
                tree,
                |_, word| word.test,
                |word| {
                    word.kind == WordKind::Call && matches!(last(word), "sleep" | "sleep_ms" | "sleep_until")
                },
            );
            found.collect()
        },
    },
];

/// The crates that ship as libraries.
const LIBRARIES: &[&str] = &["guard-policy", "guard-patch", "guard-core", "guard-backends"];
/// Those that are pure.
const PURE: &[&str] = &["guard-policy", "guard-patch"];
/// The audited module, of the crate `guard-backends`.
const LEASE: &str = "src/local/lease.rs";
/// Where guard-backends changes files: the commit, and what is the controller's own, the audit log and the store of old bytes.
const MUTATING: &[&str] = &["src/local/commit.rs", "src/local/commit/", "src/audit.rs", "src/undo.rs"];
/// Where system calls get the names by which the local target knows them.
const SYSTEM_CALLS: &str = "src/local/sys.rs";

const RUNTIMES: &[&str] = &[
    "tokio",
    "async-std",
    "smol",
    "async-executor",
    "async-io",
    "futures-executor",
    "futures",
    "async-trait",
];
const BACKENDS: &[&str] = &["guard-backends", "guard-testkit", "openssh", "bollard"];
const IO_CRATES: &[&str] = &[
    "rustix", "libc", "nix", "tempfile", "walkdir", "ignore", "fs-err", "cap-std", "mio", "socket2",
    "memmap2",
];
const HOME_CRATES: &[&str] =
    &["dirs", "dirs-next", "directories", "home", "etcetera", "dotenvy", "is-terminal"];

/// A filesystem, a process or a socket.
const FILES: &[&str] = &[
    "std::fs",
    "std::net",
    "std::process",
    "std::env",
    "std::os",
    "std::*",
    "tokio::fs",
    "tokio::net",
    "tokio::process",
    "tokio::*",
];
const IO: &[&str] = &["std::io::stdin", "std::io::stdout", "std::io::stderr", "std::io::*", "std::thread"];
const CLOCK: &[&str] = &["std::time::SystemTime", "std::time::Instant", "std::time::*"];
const ENVIRONMENT: &[&str] = &["std::env", "std::*"];
const TERMINAL: &[&str] =
    &["std::io::stdin", "std::io::stdout", "std::io::stderr", "std::io::IsTerminal", "std::io::*"];

/// Calls that change a filesystem, by a name that says so.
const MUTATING_CALLS: &[&str] = &[
    "chmodat",
    "chownat",
    "copy_file_range",
    "create_dir",
    "create_dir_all",
    "fallocate",
    "fchmod",
    "fchown",
    "fremovexattr",
    "fsetxattr",
    "ftruncate",
    "futimens",
    "ioctl_ficlone",
    "linkat",
    "lremovexattr",
    "lsetxattr",
    "mkdirat",
    "mknodat",
    "pwrite",
    "remove_dir",
    "remove_dir_all",
    "remove_file",
    "removexattr",
    "renameat",
    "renameat_with",
    "set_permissions",
    "setxattr",
    "symlinkat",
    "unlinkat",
    "utimensat",
];
/// The same by a path, where the last name alone is an ordinary word.
const MUTATING_PATHS: &[&str] = &[
    "fs::chmod",
    "fs::chown",
    "fs::copy",
    "fs::hard_link",
    "fs::link",
    "fs::mkdir",
    "fs::rename",
    "fs::rmdir",
    "fs::symlink",
    "fs::unlink",
    "fs::write",
    "io::pwrite",
    "io::write",
    "rustix::io::writev",
    "File::create",
    "File::create_new",
    "OpenOptions",
    "OpenOptions::new",
    "OFlags::CREATE",
    "OFlags::RDWR",
    "OFlags::TMPFILE",
    "OFlags::TRUNC",
    "OFlags::WRONLY",
];

/// Selects the code of crates that is in the shipped library.
fn shipped_code(packages: &'static [&'static str]) -> impl Fn(&SourceFile, &Word) -> bool {
    move |file, word| packages.contains(&file.package.as_str()) && file.path.starts_with("src/") && !word.test
}

/// Finds the words that `chosen` selects and `wrong` condemns.
fn words<'a>(
    tree: &'a Tree,
    chosen: impl Fn(&SourceFile, &Word) -> bool + 'a,
    wrong: impl Fn(&Word) -> bool + 'a,
) -> impl Iterator<Item = Finding> + 'a {
    tree.files.iter().flat_map(move |file| {
        let found: Vec<_> = file.words.iter().filter(|word| chosen(file, word) && wrong(word)).collect();
        found.into_iter().map(|word| Finding {
            place: format!("{}/{}:{}", file.package, file.path, word.line),
            what: word.text.clone(),
        })
    })
}

/// Finds paths that are, or lead below, one of `banned`.
fn paths(tree: &Tree, chosen: impl Fn(&SourceFile, &Word) -> bool, banned: &[&[&str]]) -> Vec<Finding> {
    let leads = |word: &Word, banned: &str| {
        word.text.strip_prefix(banned).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let wrong = |word: &Word| {
        !matches!(word.kind, WordKind::Attribute | WordKind::CfgMacro)
            && banned.iter().flat_map(|list| list.iter()).any(|banned| leads(word, banned))
    };
    words(tree, chosen, wrong).collect()
}

/// Returns the last segment of a path.
fn last(word: &Word) -> &str {
    word.text.rsplit("::").next().unwrap_or_default()
}

fn manifest(package: &str, what: String) -> Finding {
    Finding { place: format!("{package}/Cargo.toml"), what }
}

/// Finds which of `banned` a crate reaches.
fn reached(tree: &Tree, package: &str, banned: &[&str]) -> Vec<Finding> {
    let reached = tree.closure(package);
    let found = banned.iter().filter(|banned| reached.contains(*banned));
    found.map(|banned| manifest(package, format!("reaches {banned}"))).collect()
}

/// Finds which of `banned` a crate's manifest names, development left out.
fn declared(tree: &Tree, package: &str, banned: &[&str]) -> Vec<Finding> {
    let shipped = shipped(tree, package).filter(|dependency| banned.contains(&dependency.name.as_str()));
    shipped.map(|dependency| manifest(package, format!("depends on {}", dependency.name))).collect()
}

fn shipped<'a>(tree: &'a Tree, package: &str) -> impl Iterator<Item = &'a Dependency> + use<'a> {
    let declared = tree.member(package).map(|package| &package.declared);
    declared.into_iter().flatten().filter(|dependency| dependency.kind == Kind::Shipped)
}

/// Features as the manifest names them: what other crates turn on is unified, and says nothing of this one.
fn tokio_in_core(tree: &Tree) -> Vec<Finding> {
    let tokio = shipped(tree, "guard-core").filter(|dependency| dependency.name == "tokio");
    let features = tokio.flat_map(|tokio| &tokio.features);
    let wrong = features.filter(|feature| !matches!(feature.as_str(), "sync" | "time" | "io-util"));
    wrong.map(|feature| manifest("guard-core", format!("tokio with feature {feature}"))).collect()
}

fn behind_features(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (name, feature) in [("openssh", "ssh"), ("bollard", "docker")] {
        for package in LIBRARIES {
            for dependency in shipped(tree, package).filter(|dependency| dependency.name == name) {
                if *package != "guard-backends" {
                    found.push(manifest(package, format!("depends on {name}")));
                } else if !dependency.optional {
                    found.push(manifest(package, format!("{name} is not optional")));
                }
            }
        }
        let features = tree.member("guard-backends").map(|package| &package.features);
        for (other, on) in features.into_iter().flatten().filter(|(other, _)| other != feature) {
            let turned_on = on.iter().filter(|on| {
                let on = on.trim_start_matches("dep:");
                on == name || on.strip_prefix(name).is_some_and(|rest| rest.starts_with(['/', '?']))
            });
            found.extend(
                turned_on.map(|on| manifest("guard-backends", format!("feature {other} turns on {on}"))),
            );
        }
    }
    found
}

fn testkit(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for needed in ["guard-core", "guard-backends"] {
        if !shipped(tree, "guard-testkit").any(|dependency| dependency.name == needed) {
            found.push(manifest("guard-testkit", format!("does not depend on {needed}")));
        }
    }
    for package in LIBRARIES {
        found.extend(declared(tree, package, &["guard-testkit"]));
    }
    // Modules of tests in src/ count: there the crate under test and the one that the testkit was built with are two.
    let in_source = |file: &SourceFile, _: &Word| {
        LIBRARIES.contains(&file.package.as_str()) && file.path.starts_with("src/")
    };
    found.extend(words(tree, in_source, |word| word.text.split("::").next() == Some("guard_testkit")));
    found
}

fn mutations(tree: &Tree) -> Vec<Finding> {
    let named = mutating_functions(tree);
    let backends = shipped_code(&["guard-backends"]);
    let elsewhere = |file: &SourceFile, word: &Word| {
        backends(file, word)
            && file.path != SYSTEM_CALLS
            && !MUTATING.iter().any(|place| file.path.starts_with(place))
    };
    let wrong = |word: &Word| {
        changes_files(word) || word.text.rsplit_once("sys::").is_some_and(|(_, name)| named.contains(&name))
    };
    words(tree, elsewhere, wrong).collect()
}

/// Returns the functions of the module of system calls that change files, directly or through one another.
fn mutating_functions(tree: &Tree) -> Vec<&str> {
    let module =
        tree.files.iter().filter(|file| file.package == "guard-backends" && file.path == SYSTEM_CALLS);
    let words: Vec<&Word> = module.flat_map(|file| &file.words).collect();
    let mut named: Vec<&str> = Vec::new();
    loop {
        let changing = words.iter().filter(|word| changes_files(word) || named.contains(&word.text.as_str()));
        let new: BTreeSet<&str> = changing.filter_map(|word| word.function.as_deref()).collect();
        if new.len() == named.len() {
            return named;
        }
        named = new.into_iter().collect();
    }
}

/// Tells whether a word is a call that changes files, or what such a call is made with.
fn changes_files(word: &Word) -> bool {
    let by_path = MUTATING_PATHS.iter().any(|path| {
        word.text.strip_suffix(path).is_some_and(|before| before.is_empty() || before.ends_with("::"))
    });
    by_path || MUTATING_CALLS.contains(&last(word))
}

/// Tells whether a condition of compilation speaks of tests: the word `test`, or a feature named for them.
///
/// `doctest` does not count: it holds only while examples are collected, never for the library that they use.
fn speaks_of_tests(condition: &str) -> bool {
    condition
        .split(|char: char| !char.is_ascii_alphanumeric() && char != '_')
        .any(|word| matches!(word, "test" | "tests" | "testing" | "testkit" | "mock" | "fake"))
}
