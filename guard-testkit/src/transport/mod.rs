//! Transports around transports, and what a test puts at the end of the line.
//!
//! On the line: [`PathSubstituting`] gives a folder of this machine the paths of a target; [`Faulty`] breaks or holds
//! the stream at a chosen byte or request; [`Counting`] counts round trips and bytes; [`Delay`] gives the line a
//! round-trip time. They nest, as each is a [`Transport`](guard_core::port::Transport) around another; what one of
//! them was told or has counted is in an object that the test keeps a clone of.
//!
//! At its end: [`Sh`] is a shell of this machine as the target's `sh`, [`Login`] one that the command line is given to,
//! and [`Wrappers`] are tools that stop, fail or kill at a chosen call.

mod counting;
mod delay;
mod faulty;
mod frames;
mod line;
mod namespace;
mod shells;
mod substituting;
mod wrappers;

use guard_backends::shell::wire::Verb;

pub use self::counting::{Counted, Counting, Traffic};
pub use self::delay::Delay;
pub use self::faulty::{At, Bytes, Fault, Faults, Faulty, Way};
pub use self::namespace::Namespace;
pub use self::shells::{Login, Sh, Tools, busybox_tools};
pub use self::substituting::PathSubstituting;
pub use self::wrappers::{Call, Called, Deed, Wrappers};
use crate::wrap::Method;

/// Returns which method of a target a request is of.
const fn method_of(verb: &Verb) -> Method {
    match verb {
        Verb::Open(_) => Method::OpenRoot,
        Verb::Stat(_) => Method::Stat,
        Verb::Read(_) => Method::Read,
        Verb::Stream(_) => Method::Stream,
        Verb::List { .. } => Method::List,
        Verb::Commit { .. } => Method::Commit,
        Verb::Settle { .. } => Method::Settle,
    }
}
