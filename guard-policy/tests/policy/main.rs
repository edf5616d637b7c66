//! The rules, seen from outside: tables, laws and the words of refusals.

mod case;
mod decision_table;
mod law_of_facts;
mod policy_file;
mod refusals;
mod remedies;
mod rules;
