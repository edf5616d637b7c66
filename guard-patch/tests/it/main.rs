//! What the engine promises, as tables and laws.

mod parse;
