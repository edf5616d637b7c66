//! Random trees of links, random paths, and two oracles that know nothing of the resolvers: a model of the rule of
//! links, which has to give the same answer, and `realpath`, which has to say of the request whatever is told of it.
//!
//! The cases are those of `GUARD_LINK_CASES`, 20,000 otherwise; `cargo xtask soak` plays a million. They are the same
//! each time; another `GUARD_LINK_SEED` gives others. A failure shows the smallest tree that still fails.
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "the test prepares what is there"
)]

mod answer;
mod asked;
mod model;
mod realpath;
mod scene;

use std::cell::RefCell;
use std::collections::BTreeMap;

use guard_backends::local::Resolver;
use guard_testkit::skip;
use guard_testkit::transport::Sh;
use proptest::strategy::Strategy as _;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};

use answer::Answer;
use asked::{Asked, InMemory, Target, Tool, Wrong};
use model::Rule;
use scene::{Base, Request, Scene, scenes, shown};

fn number(name: &str, otherwise: usize) -> usize {
    match std::env::var(name) {
        Ok(number) => number.parse().unwrap_or_else(|_| panic!("{name} is a number")),
        Err(_) => otherwise,
    }
}

fn cases() -> usize {
    number("GUARD_LINK_CASES", 20_000)
}

/// Whom the answers are held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Oracle {
    Model,
    Realpath,
}

const BOTH: &[Oracle] = &[Oracle::Model, Oracle::Realpath];

/// How often each kind of answer was met.
type Met = BTreeMap<&'static str, usize>;

/// Plays that many cases or some more; each part has others. Says what went wrong in the smallest scene.
fn play(
    base: &Base,
    all: &[&dyn Asked],
    oracles: &[Oracle],
    (part, cases): (u64, usize),
) -> Result<Met, String> {
    let seed = number("GUARD_LINK_SEED", 0) as u64 * 100 + part;
    let mut runner = TestRunner::new(Config {
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_shrink_iters: 3_000,
        ..Config::default()
    });
    let scenes = scenes(base.text());
    let met = RefCell::new(Met::new());
    while met.borrow().values().sum::<usize>() < cases {
        let scene = scenes.new_tree(&mut runner).unwrap();
        let outcome = runner.run_one(scene, |scene| {
            base.put(&scene.tree);
            let mut answered = Vec::new();
            for asked in all {
                let requests: Vec<Request> =
                    scene.requests.iter().filter(|request| asked.takes(request)).cloned().collect();
                let answers = asked.answers(&scene, &requests);
                assert_eq!(answers.len(), requests.len());
                for (request, answer) in requests.iter().zip(&answers) {
                    judge(&scene, *asked, request, answer, oracles)?;
                }
                answered.extend(answers);
            }
            let mut met = met.borrow_mut();
            for answer in &answered {
                *met.entry(answer.kind()).or_default() += 1;
            }
            Ok(())
        });
        match outcome {
            Ok(_) => {}
            Err(TestError::Fail(why, _)) => return Err(format!("seed {seed}: {why}")),
            Err(TestError::Abort(why)) => panic!("{why}"),
        }
    }
    Ok(met.into_inner())
}

fn judge(
    scene: &Scene,
    asked: &dyn Asked,
    request: &Request,
    answer: &Answer,
    oracles: &[Oracle],
) -> Result<(), TestCaseError> {
    let expected = Rule::default().answer(scene, request);
    let wrong = oracles.iter().find_map(|oracle| match oracle {
        Oracle::Model => (*answer != expected).then(|| format!("by the model it is {expected:?}")),
        Oracle::Realpath => realpath::contradicts(scene, request, answer),
    });
    let Some(wrong) = wrong else { return Ok(()) };
    let (name, tree) = (asked.name(), shown(&scene.tree));
    Err(TestCaseError::fail(format!("{name}: {request:?}\n  answered {answer:?}\n  {wrong}\n{tree}")))
}

/// Claims that the answers are right, and that every kind of answer was met often.
fn is_right(base: &Base, all: &[&dyn Asked], part: (u64, usize)) {
    let met = play(base, all, BOTH, part).unwrap_or_else(|wrong| panic!("{wrong}"));
    println!("{met:?}");
    let total: usize = met.values().sum();
    for kind in ["directory", "file", "link", "nothing", "outside", "missing", "not a directory", "a loop"] {
        assert!(met.get(kind).is_some_and(|count| count * 400 >= total), "{kind}: {met:?}");
    }
    // All but refusals were told by realpath alike.
    let told: usize = total - met["outside"];
    assert!(told * 2 > total, "{met:?}");
}

#[test]
fn this_machine_follows_links_as_the_rule_says_by_either_resolver() {
    let base = Base::new();
    let (kernel, walk) = (Target::local(&base, Resolver::Kernel), Target::local(&base, Resolver::Walk));
    is_right(&base, &[&kernel, &walk], (0, 2 * cases()));
}

#[test]
fn the_in_memory_target_follows_links_as_the_rule_says() {
    is_right(&Base::new(), &[&InMemory::new()], (1, cases()));
}

/// A path is typed in many ways, and the answer is the same.
#[test]
fn a_tool_tells_of_every_spelling_what_the_rule_says() {
    let base = Base::new();
    is_right(&base, &[&Tool::new(&base)], (2, cases() / 10));
}

macro_rules! shells {
    ($($name:ident => $sh:ident, $part:literal,)*) => {$(
        #[test]
        fn $name() {
            if !skip::unless(Sh::$sh.need(), stringify!($name)) {
                let base = Base::new();
                // The cases are shared among the shells: each has a quarter of its own.
                is_right(&base, &[&Target::shell(&base, Sh::$sh)], ($part, cases().div_ceil(4)));
            }
        }
    )*};
}

shells! {
    dash_follows_links_as_the_rule_says => Dash, 3,
    bash_follows_links_as_the_rule_says => Bash, 4,
    busyboxs_shell_follows_links_as_the_rule_says => BusyBox, 5,
    mksh_follows_links_as_the_rule_says => Mksh, 6,
}

/// The negative controls: resolvers that are wrong in a way of the field are found out, each by whom it can be.
#[test]
fn control_texts_a_prefix_and_an_end_are_not_the_rule() {
    let base = Base::new();
    for wrong in Wrong::ALL {
        let found = BOTH.iter().map(|oracle| play(&base, &[&wrong], &[*oracle], (7, 20_000)).is_err());
        // What leads out and back is at a place inside by realpath: only the rule refuses it.
        assert_eq!(found.collect::<Vec<_>>(), [true, wrong != Wrong::End], "{wrong:?}");
    }
    let why = play(&base, &[&Wrong::LinkText], BOTH, (7, 20_000)).unwrap_err();
    println!("{why}");
    let nodes = why.lines().filter(|line| line.starts_with("  \"")).count();
    assert!(nodes <= 12, "it was not made small: {why}");
}
