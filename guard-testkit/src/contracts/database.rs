//! A real database, to be saved from being overwritten.
#![allow(clippy::disallowed_methods, reason = "it is made and looked at on this machine, by hand")]

use std::fs;

use crate::conformance::{Broken, same};
use crate::sqlite::{Journal, ROWS, count_rows, create_database, integrity_check};

/// The bytes of a real database of one file.
pub(super) struct Database(pub(super) Vec<u8>);

impl Database {
    pub(super) fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        let at = directory.path().join("app.sqlite");
        create_database(&at, Journal::Rollback)?;
        Ok(Self(fs::read(at)?))
    }

    /// Claims that bytes are this database, and that SQLite finds it whole.
    pub(super) fn is_whole(&self, bytes: &[u8]) -> Result<(), Broken> {
        same("the database's bytes", &(bytes == self.0), &true)?;
        let directory = tempfile::tempdir()?;
        let at = directory.path().join("app.sqlite");
        fs::write(&at, bytes)?;
        let check = integrity_check(&at).map_err(super::bench::failed)?;
        same("what SQLite says of it", &check.as_str(), &"ok")?;
        same("its rows", &count_rows(&at).map_err(super::bench::failed)?, &ROWS)
    }
}
