//! The frames between a controller and the shell on a target: typed requests and replies.
//!
//! A request is text: a head, the roots, one record a line, then (of a commit) the bodies and a tail; see [`Request`].
//! A reply is a sequence of [`Record`]s, some of which are followed by raw bytes. Both directions are read by
//! decoders that take bytes as they come, so that a transport can look into a stream, change paths and write it
//! again: [`RequestReader`] and [`ReplyReader`].
//!
//! Every head, tail and record begins with the session's nonce. What does not is noise, and noise is never an answer.

mod boot;
mod field;
mod reply;
mod reply_reader;
mod request;
mod request_reader;

pub use self::boot::{Boot, boot_len};
pub use self::reply::{Applied, Failed, Hello, Problem, Record, State, Verdict};
pub use self::reply_reader::{ReplyEvent, ReplyReader};
pub use self::request::{Change, Effect, Look, Options, Part, Place, Pre, Request, RootRef, Scope, Verb};

pub(crate) use self::request::tier_of as tier;
pub use self::request_reader::{RequestEvent, RequestReader};

/// A stream that does not follow the protocol: the session is broken, and nothing can be inferred from it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not the protocol: {what}")]
pub struct Noise {
    /// What was wrong.
    pub what: String,
}

impl Noise {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}
