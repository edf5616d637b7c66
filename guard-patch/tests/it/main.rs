//! What the engine promises, as tables and laws.

mod codex;
mod diagnostics;
mod issue;
mod laws;
mod notation;
mod operations;
mod parse;
mod rules;
mod scenarios;
