//! What the engine promises, as tables and laws.

mod diagnostics;
mod issue;
mod notation;
mod operations;
mod parse;
mod rules;
