//! The rules, seen from outside: tables, laws and the words of refusals.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as its body does")]

mod case;
mod decision_table;
mod law_of_facts;
mod policy_file;
mod refusals;
mod remedies;
mod rules;
