//! Real SQLite databases.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, Result, config::DbConfig};

/// How a database keeps its journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Journal {
    /// A write-ahead log. The sidecars `-wal` and `-shm` are there afterwards, and some rows are only in the log.
    Wal,
    /// A rollback journal, which is gone when the transaction is over: one file.
    Rollback,
}

/// How many rows [`create_database`] writes.
pub const ROWS: u64 = 200;

/// Creates a database with a table `notes` of [`ROWS`] rows.
///
/// # Errors
///
/// SQLite's own, also where the file is there and is no database.
pub fn create_database(path: &Path, journal: Journal) -> Result<()> {
    let mut connection = Connection::open(path)?;
    let mode = match journal {
        Journal::Wal => "WAL",
        Journal::Rollback => "DELETE",
    };
    connection.pragma_update(None, "journal_mode", mode)?;
    // Otherwise the last connection would empty and remove the log when it closes.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, journal == Journal::Wal)?;
    connection.execute_batch("CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL)")?;
    let transaction = connection.transaction()?;
    for id in 0..ROWS {
        let body = format!("note {id}: what only the database has");
        transaction.execute("INSERT INTO notes (id, body) VALUES (?1, ?2)", (id.cast_signed(), body))?;
    }
    transaction.commit()
}

/// Returns what `PRAGMA integrity_check` says: `ok`, or what is broken.
///
/// The database is opened for reading only; its own file is not changed.
///
/// # Errors
///
/// SQLite's own: a file that is no database any more cannot be asked.
pub fn integrity_check(path: &Path) -> Result<String> {
    open(path)?.query_row("PRAGMA integrity_check", (), |row| row.get(0))
}

/// Counts the rows of the table `notes`.
///
/// # Errors
///
/// SQLite's own.
pub fn count_rows(path: &Path) -> Result<u64> {
    let count: i64 = open(path)?.query_row("SELECT count(*) FROM notes", (), |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

fn open(path: &Path) -> Result<Connection> {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "the tests are the other process")]

    use std::fs;

    use super::*;

    #[test]
    fn both_kinds_are_whole_and_asking_them_changes_no_byte_of_them() {
        for (journal, sidecars) in [(Journal::Wal, true), (Journal::Rollback, false)] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("app.sqlite");
            create_database(&path, journal).unwrap();
            let before = fs::read(&path).unwrap();
            assert!(before.starts_with(b"SQLite format 3\0"));
            assert_eq!(fs::read(directory.path().join("app.sqlite-wal")).is_ok(), sidecars);
            assert_eq!(integrity_check(&path).unwrap(), "ok");
            assert_eq!(count_rows(&path).unwrap(), ROWS);
            assert_eq!(fs::read(&path).unwrap(), before);
        }
    }

    #[test]
    fn a_database_that_was_overwritten_is_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("app.sqlite");
        create_database(&path, Journal::Rollback).unwrap();
        fs::write(&path, "-- a note about the schema\n").unwrap();
        integrity_check(&path).unwrap_err();
        create_database(&path, Journal::Rollback).unwrap_err();
    }
}
