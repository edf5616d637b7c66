//! What the engine promises, as tables and laws.

#![allow(
    clippy::unwrap_used,
    clippy::format_collect,
    clippy::format_push_string,
    reason = "tests: clear before fast"
)]

mod codex;
mod diagnostics;
mod issue;
mod laws;
mod notation;
mod operations;
mod parse;
mod rules;
mod scenarios;
