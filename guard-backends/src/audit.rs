//! An audit log in a file: one JSON object a line.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::SystemTime;

use guard_core::port::{AuditRecord, AuditSink};
use serde::Serialize;

/// Appends each record as one line of JSON, with the time in UTC (RFC 3339) before it.
///
/// A line is one `write` on a descriptor opened with `O_APPEND`, so that several processes can share a file.
///
/// # Security
///
/// A new file is readable by its owner only: paths and receipts can be confidential.
#[derive(Debug)]
pub struct JsonLines {
    file: File,
    /// Where it is, free of links; `None` where that is not UTF-8, and so no path of a target.
    place: Option<String>,
}

/// A record with the time at which it was taken.
#[derive(Serialize)]
struct Line<'a> {
    time: String,
    #[serde(flatten)]
    record: &'a AuditRecord,
}

impl JsonLines {
    /// Opens the file, or makes it with mode 0600.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being opened, and `InvalidInput` for what is no regular file.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            // A FIFO without a reader is an error (ENXIO, open(2)) instead of a wait for one.
            options.mode(0o600).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        }
        let file = options.open(&path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the audit log is no regular file"));
        }
        let place = std::fs::canonicalize(path)?.into_os_string().into_string().ok();
        Ok(Self { file, place })
    }

    fn append(&self, record: &AuditRecord) -> io::Result<()> {
        let time = humantime::format_rfc3339_micros(SystemTime::now()).to_string();
        let mut line = serde_json::to_vec(&Line { time, record })?;
        line.push(b'\n');
        (&self.file).write_all(&line)
    }
}

impl AuditSink for JsonLines {
    fn record(&self, record: &AuditRecord) {
        if let Err(error) = self.append(record) {
            // The call has ended already: there is nobody to refuse it to.
            tracing::error!(%error, "an audit record could not be written");
        }
    }

    fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }
}
