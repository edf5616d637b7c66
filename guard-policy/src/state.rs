//! What is at a name.

use serde::{Deserialize, Serialize};

use crate::Digest;

/// What the target found at a name, by `lstat`.
///
/// A state is something that was established: a target that cannot be asked is an error, never a state.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FileState {
    /// A regular file.
    Regular {
        /// Length in bytes.
        len: u64,
        /// Permission bits, `07777` of `st_mode`.
        mode: u32,
        /// Number of names of the inode.
        nlink: u64,
        /// Digest of the content, where it was asked for and the file is within the digest limit.
        digest: Option<Digest>,
    },
    /// Nothing has this name: the target answered ENOENT for the name itself.
    Absent,
    /// A symbolic link.
    Link {
        /// The link's text, with bytes that are not UTF-8 written `\xHH`.
        text: String,
    },
    /// A directory.
    Directory,
    /// Anything else.
    Other {
        /// Which kind.
        what: OtherKind,
    },
}

impl FileState {
    /// Returns the content's digest of a regular file, where it is known.
    #[must_use]
    pub const fn digest(&self) -> Option<Digest> {
        match self {
            Self::Regular { digest, .. } => *digest,
            _ => None,
        }
    }

    /// Tells whether this is a regular file.
    #[must_use]
    pub const fn is_regular(&self) -> bool {
        matches!(self, Self::Regular { .. })
    }

    /// Returns the state's name for a person: "a directory".
    #[must_use]
    pub const fn describe(&self) -> &'static str {
        match self {
            Self::Regular { .. } => "a regular file",
            Self::Absent => "absent",
            Self::Link { .. } => "a symbolic link",
            Self::Directory => "a directory",
            Self::Other { what } => what.describe(),
        }
    }
}

/// A file that is neither regular, nor a directory, nor a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OtherKind {
    /// A named pipe.
    Fifo,
    /// A UNIX-domain socket.
    Socket,
    /// A character device.
    CharDevice,
    /// A block device.
    BlockDevice,
    /// A type that this library does not know.
    Unknown,
}

impl OtherKind {
    /// Returns the kind's name for a person.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Fifo => "a FIFO",
            Self::Socket => "a socket",
            Self::CharDevice => "a character device",
            Self::BlockDevice => "a block device",
            Self::Unknown => "a file of an unknown type",
        }
    }
}
