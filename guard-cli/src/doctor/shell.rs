//! What a target's shell has, and what it has not.

use std::collections::BTreeMap;

use guard_backends::shell::wire::Hello;
use serde::Serialize;

/// The shell on a target, and its tools.
#[derive(Debug, Serialize)]
pub(crate) struct Facts {
    /// Which shell.
    pub(crate) name: String,
    /// The mask of new files' modes, in octal.
    pub(crate) umask: String,
    /// What each thing is done with.
    pub(crate) tools: BTreeMap<&'static str, String>,
    /// What is missing, and what comes of it; nothing of it keeps a guarantee from being held.
    pub(crate) missing: Vec<&'static str>,
}

/// The tools, by the names of a hello.
const TOOLS: [&str; 8] = ["attributes", "digest", "exchange", "link", "reader", "rename", "stat", "sync"];

/// What is weaker, by the name of a fact and the value that says so.
const WEAKER: [(&str, &str, &str); 7] = [
    (
        "exchange",
        "",
        "a tool that exchanges two names (coreutils 9.5's mv, exch, or perl): a race with another writer is narrowed, not closed",
    ),
    (
        "attributes",
        "basic",
        "a cp with --attributes-only: ACL and extended attributes of a replaced file are not kept",
    ),
    ("sync", "sync-all", "a sync of one file: each commit waits until everything is on disk"),
    (
        "reader",
        "dd1",
        "a dd with iflag=fullblock, or a head that stops: content is taken byte by byte, slowly",
    ),
    ("proc", "", "/proc: it cannot be seen whether a shell that was lost has ended"),
    (
        "machine",
        "",
        "/etc/machine-id: another machine under the same name is told by its root directory alone",
    ),
    ("home", "", "a home that is known: what is private below one is refused wherever one could be"),
];

impl Facts {
    /// Takes them from what the shell said.
    pub(crate) fn of(hello: &Hello) -> Self {
        let said = |name: &str| hello.get(name).unwrap_or_default();
        let tools = TOOLS.iter().filter(|name| !said(name).is_empty());
        let missing = WEAKER.iter().filter(|(name, value, _)| said(name) == *value);
        Self {
            name: said("shell").to_owned(),
            umask: said("umask").to_owned(),
            tools: tools.map(|name| (*name, said(name).to_owned())).collect(),
            missing: missing.map(|(_, _, effect)| *effect).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(facts: &[(&str, &str)]) -> Facts {
        let facts = facts.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
        Facts::of(&Hello { facts: facts.collect() })
    }

    #[test]
    fn what_is_missing_is_what_makes_it_weaker() {
        let strong = [
            ("shell", "/usr/bin/dash"),
            ("exchange", "mv"),
            ("attributes", "cp"),
            ("sync", "sync-file"),
            ("reader", "dd"),
            ("proc", "yes"),
            ("machine", "0123"),
            ("home", "/home/agent"),
        ];
        assert_eq!(facts(&strong).missing, Vec::<&str>::new());
        assert_eq!(facts(&strong).tools["exchange"], "mv");
        for (at, (name, value, effect)) in WEAKER.iter().enumerate() {
            let weaker = strong.map(|(known, strong)| (known, if known == *name { *value } else { strong }));
            assert_eq!(facts(&weaker).missing, [WEAKER[at].2], "{name}: {effect}");
        }
    }
}
