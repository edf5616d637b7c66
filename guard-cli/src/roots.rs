//! `--root` and `--root-ro`, in the order of the command line.
//!
//! Clap's derive gives each option its own list, and which came first is lost; the first root is the base of relative
//! paths, so that it matters.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use guard_core::policy::Access;

/// The roots as they were typed, in the order in which they were typed.
#[derive(Debug, Default)]
pub(crate) struct Roots(pub(crate) Vec<(String, Access)>);

/// The options, each with what it says and what may be done below its directories.
const OPTIONS: [(&str, &str, Access); 2] = [
    (
        "root",
        "A directory to work in; repeatable, the first of all is the base of relative paths [default: the current \
         directory, on the local target]",
        Access::ReadWrite,
    ),
    ("root-ro", "A directory to read in only; repeatable", Access::ReadOnly),
];

impl Args for Roots {
    fn augment_args(command: Command) -> Command {
        command.args(OPTIONS.map(|(name, help, _)| {
            Arg::new(name).long(name).value_name("DIR").action(ArgAction::Append).help(help)
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Roots {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut typed: Vec<(usize, String, Access)> = Vec::new();
        for (name, _, access) in OPTIONS {
            let values = matches.get_many::<String>(name).into_iter().flatten();
            let places = matches.indices_of(name).into_iter().flatten();
            typed.extend(places.zip(values).map(|(place, value)| (place, value.clone(), access)));
        }
        typed.sort_unstable_by_key(|(place, ..)| *place);
        Ok(Self(typed.into_iter().map(|(_, root, access)| (root, access)).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
