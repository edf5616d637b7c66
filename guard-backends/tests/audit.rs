//! The audit log in a file.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test arranges the filesystem by itself"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use guard_backends::audit::JsonLines;
use guard_core::policy::{Code, Tool};
use guard_core::port::{AuditRecord, AuditSink as _, TargetId};

fn record(actor: &str) -> AuditRecord {
    AuditRecord {
        version: 1,
        target: TargetId::new("local"),
        actor: actor.to_owned(),
        tool: Tool::WriteFile,
        paths: vec!["new\nline".to_owned()],
        outcome: "refused",
        code: Some(Code::NotRead),
        receipt: None,
    }
}

#[test]
fn each_record_is_one_line_with_the_time_in_utc() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    let first = JsonLines::open(&path).unwrap();
    first.record(&record("one"));
    // Another process appends to the same file.
    JsonLines::open(&path).unwrap().record(&record("two"));
    first.record(&record("three"));
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let actors: Vec<&str> = lines.iter().map(|line| line["actor"].as_str().unwrap()).collect();
    assert_eq!(actors, ["one", "two", "three"]);
    for line in &lines {
        let time = line["time"].as_str().unwrap();
        assert!(time.len() == "2026-01-01T00:00:00.000000Z".len() && time.ends_with('Z'), "{time}");
        assert_eq!(line["paths"][0], "new\nline");
        assert_eq!(line["code"], "not-read");
        assert!(line.get("receipt").is_none());
    }
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn what_is_no_regular_file_is_no_audit_log() {
    let dir = tempfile::tempdir().unwrap();
    assert!(JsonLines::open(dir.path()).is_err());
    let fifo = dir.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(JsonLines::open(&fifo).is_err(), "and nobody waits for its reader");
}
