//! What is swapped while an approval is open is resolved again.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use guard_backends::local::Resolver;
use guard_core::policy::{Access, Digest};
use guard_core::{Answer, Approver, Guard, Proposal};
use guard_testkit::conformance::{Fixture, LocalFixture, ShellFixture};
use guard_testkit::skip;
use guard_testkit::transport::Sh;
use guard_testkit::tree::digest_of_tree;

use crate::calls::{call, is_allowed};
use crate::scene::{Ledger, Scene};
use crate::swapper::Swap;

/// What happens while the approver thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meanwhile {
    Swapped(Swap),
    /// Another file takes the name.
    AnotherFile,
}

impl Meanwhile {
    const ALL: [Self; 5] = [
        Self::Swapped(Swap::Parent),
        Self::Swapped(Swap::Slowly),
        Self::Swapped(Swap::File),
        Self::Swapped(Swap::MovedOut),
        Self::AnotherFile,
    ];

    fn happens(self, base: &Path) {
        match self {
            Self::Swapped(swap) => assert!(swap.over(base)),
            Self::AnotherFile => {
                std::fs::write(base.join("ws/another"), "another's\n").unwrap();
                std::fs::rename(base.join("ws/another"), base.join("ws/d/f")).unwrap();
            }
        }
    }

    /// Whether a call is done all the same: it works beside the file, or in a directory that is made again.
    fn lets_be_done(self, operation: &str) -> bool {
        let is_beside = !matches!(operation, "write" | "edit" | "remove" | "move away");
        // A move destroys nothing, and says nothing of what is in the file.
        let is_move = self == Self::AnotherFile && operation == "move away";
        is_move || is_beside && !matches!(self, Self::Swapped(Swap::Parent | Swap::Slowly))
    }
}

/// An approver that lets it happen while it thinks, and keeps what there is afterwards.
struct Thinks {
    meanwhile: Meanwhile,
    base: PathBuf,
    after: Arc<Mutex<Option<Digest>>>,
}

#[async_trait]
impl Approver for Thinks {
    async fn approve(&self, _: &Proposal<'_>) -> Answer {
        self.meanwhile.happens(&self.base);
        *self.after.lock().unwrap() = Some(digest_of_tree(&self.base).unwrap());
        Answer::Approve
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_swapped_while_an_approval_is_open_is_resolved_again() {
    let mut fixtures: Vec<(&str, Box<dyn Fixture>)> = vec![
        ("kernel", Box::new(LocalFixture::configured(|builder| builder.resolver(Resolver::Kernel)))),
        ("walk", Box::new(LocalFixture::configured(|builder| builder.resolver(Resolver::Walk)))),
    ];
    for sh in [Sh::Dash, Sh::Bash, Sh::BusyBox, Sh::Mksh] {
        if !skip::unless(sh.need(), "what_is_swapped_while_an_approval_is_open_is_resolved_again") {
            fixtures.push((sh.name(), Box::new(ShellFixture::of(sh).expect("it is there"))));
        }
    }
    for (name, fixture) in fixtures {
        for meanwhile in Meanwhile::ALL {
            for operation in ["write", "edit", "create", "make", "patch", "move in", "move away", "remove"] {
                let case = format!("{name}, {meanwhile:?}, {operation}");
                let ground = fixture.fresh().await.unwrap();
                let (ops, root) = (Arc::clone(&ground.ops), ground.root.clone());
                let scene = Scene::new(ground).await;
                let after = Arc::new(Mutex::new(None));
                let thinks = Thinks { meanwhile, base: scene.base().to_owned(), after: Arc::clone(&after) };
                let builder = Guard::builder(ops).root(root, Access::ReadWrite).approver(Arc::new(thinks));
                let asking = Scene { guard: builder.open().await.unwrap(), ..scene };
                let mut ledger = Ledger::new();
                ledger.maybe.push("another's\n".to_owned());
                let outcome = call(&asking, &mut ledger, operation, 0).await;
                let after = after.lock().unwrap().take();
                let after =
                    after.unwrap_or_else(|| panic!("{case}: nobody was asked: {:?}", outcome.as_ref().err()));
                match outcome {
                    Ok(_) => assert!(meanwhile.lets_be_done(operation), "{case}: it was done"),
                    Err(failure) => {
                        assert!(!meanwhile.lets_be_done(operation), "{case}: {failure:?}");
                        assert!(is_allowed(Swap::MovedOut, failure.refusal.code), "{case}: {failure:?}");
                        assert_eq!(failure.refusal.left, [""; 0], "{case}");
                        // Not a byte is other than it was when the approver answered.
                        assert_eq!(digest_of_tree(asking.base()).unwrap(), after, "{case}");
                    }
                }
                asking.assert_canary(&case);
                if meanwhile == Meanwhile::Swapped(Swap::MovedOut) {
                    let away = asking.base().join("away/d");
                    let mut names: Vec<_> =
                        std::fs::read_dir(&away).unwrap().map(|entry| entry.unwrap().file_name()).collect();
                    names.sort();
                    assert_eq!(names, ["f", "l"], "{case}");
                    assert_eq!(std::fs::read_to_string(away.join("f")).unwrap(), "theirs\n", "{case}");
                }
            }
        }
    }
}
