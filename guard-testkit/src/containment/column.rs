//! The tools, each as a call by name.

use serde_json::{Value, json};

/// A tool and what the path is to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Read,
    Write,
    Edit,
    PatchAdd,
    PatchUpdate,
    PatchDelete,
    PatchMoveTo,
    Delete,
    MoveFrom,
    MoveTo,
    MakeDir,
    List,
    Stat,
}

impl Column {
    pub(super) const ALL: &'static [Self] = &[
        Self::Read,
        Self::Write,
        Self::Edit,
        Self::PatchAdd,
        Self::PatchUpdate,
        Self::PatchDelete,
        Self::PatchMoveTo,
        Self::Delete,
        Self::MoveFrom,
        Self::MoveTo,
        Self::MakeDir,
        Self::List,
        Self::Stat,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::PatchAdd => "patch add",
            Self::PatchUpdate => "patch update",
            Self::PatchDelete => "patch delete",
            Self::PatchMoveTo => "patch move to",
            Self::Delete => "delete",
            Self::MoveFrom => "move from",
            Self::MoveTo => "move to",
            Self::MakeDir => "make_dir",
            Self::List => "list_dir",
            Self::Stat => "stat",
        }
    }

    /// Returns the calls: what an agent does first, whose answer does not count, and the call itself.
    pub(super) fn calls(self, path: &str) -> Vec<(&'static str, Value)> {
        let look = ("stat", json!({ "path": path }));
        let envelope = |body: String| {
            ("apply_patch", json!({ "patch": format!("*** Begin Patch\n{body}*** End Patch\n") }))
        };
        match self {
            Self::Read => vec![("read_file", json!({ "path": path }))],
            Self::Write => vec![
                ("read_file", json!({ "path": path })),
                ("write_file", json!({ "path": path, "content": "mine\n" })),
            ],
            Self::Edit => vec![("edit_file", json!({ "path": path, "old": "theirs", "new": "mine" }))],
            Self::PatchAdd => vec![envelope(format!("*** Add File: {path}\n+mine\n"))],
            Self::PatchUpdate => vec![envelope(format!("*** Update File: {path}\n@@\n-theirs\n+mine\n"))],
            Self::PatchDelete => vec![look, envelope(format!("*** Delete File: {path}\n"))],
            Self::PatchMoveTo => {
                vec![envelope(format!(
                    "*** Update File: spare.txt\n*** Move to: {path}\n@@\n-theirs\n+mine\n"
                ))]
            }
            Self::Delete => vec![look, ("delete_file", json!({ "path": path }))],
            Self::MoveFrom => vec![look, ("move_file", json!({ "from": path, "to": "moved.txt" }))],
            Self::MoveTo => vec![("move_file", json!({ "from": "spare.txt", "to": path }))],
            Self::MakeDir => vec![("make_dir", json!({ "path": path }))],
            Self::List => vec![("list_dir", json!({ "path": path }))],
            Self::Stat => vec![("stat", json!({ "path": path }))],
        }
    }
}
