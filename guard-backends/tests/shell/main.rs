//! The shell target on this machine's shells: what the suite of all targets does not ask of it.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test arranges the target by itself"
)]

#[path = "../common/mod.rs"]
mod common;
mod environment;
mod facts;
mod in_place;
mod killed;
mod lengths;
mod limits;
mod line;
mod lost;
mod narrow;
mod outcomes;
mod peer;
mod queue;
mod reading;
mod reconnect;
mod repairs;
mod rules;
mod sizes;
mod strangers;
mod swapped;
mod tail;
mod ws;
