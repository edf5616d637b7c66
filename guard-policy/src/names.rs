//! The names and extensions that the rules know.
