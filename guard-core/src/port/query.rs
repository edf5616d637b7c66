//! Requests that change nothing.

use std::fmt::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use guard_policy::{FileState, RootId, TargetPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{OpError, Scope};

/// What a final symbolic link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Last {
    /// Followed.
    Follow,
    /// The thing itself.
    Itself,
}

/// How much to find out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Depth {
    /// Type and attributes.
    State,
    /// The digest too, of regular files of at most this many bytes.
    Digest {
        /// The limit.
        max: u64,
    },
}

/// A question about one path: names only, nothing is held between requests.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ask {
    /// The root that the path is resolved from.
    pub root: RootId,
    /// The path below the root's directory, without leading or trailing slash; empty for the root itself.
    pub path: String,
    /// What a final link is.
    pub last: Last,
    /// How much to find out.
    pub depth: Depth,
    /// What is reached.
    pub scope: Arc<Scope>,
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where the path led.
    ///
    /// For an absent name: the directory that would hold it and the name (missing parents included).
    pub resolved: TargetPath,
    /// What is there. With [`Last::Follow`] never a link, unless it dangles: then the link itself is reported, and
    /// `resolved` is the link's own path.
    pub state: FileState,
}

/// A file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// Which. Its depth says up to which size a digest is wanted of what is not delivered.
    pub ask: Ask,
    /// What of it.
    pub part: Part,
}

/// Which bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All, if there are at most `max`.
    Whole {
        /// The limit.
        max: u64,
    },
    /// A window; the digest is of the whole file.
    Bytes {
        /// First byte.
        offset: u64,
        /// Number of bytes; fewer are delivered where the file ends.
        len: u64,
    },
}

/// What a read found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// Where the path led and what is there; of a regular file with the digest of all its bytes, where it is
    /// within the asked depth.
    pub found: Found,
    /// The bytes.
    pub body: Body,
}

/// The bytes that a read delivers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// The bytes from `offset` on; they are of exactly the version whose digest `found` carries.
    Bytes {
        /// First byte.
        offset: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Not a regular file: no byte was read.
    NotRegular,
    /// Larger than asked for, or than the digest limit: no byte is delivered.
    TooLarge,
}

/// Takes a stream's bytes in order.
#[async_trait]
pub trait Sink: Send {
    /// Takes the next bytes.
    ///
    /// # Errors
    ///
    /// An error ends the stream and is returned by it.
    async fn take(&mut self, bytes: &[u8]) -> Result<(), OpError>;
}

/// Which part of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// Entries after this one, as [`Listing::next`] gave it.
    pub after: Option<String>,
    /// How many at most.
    pub limit: u64,
}

impl Page {
    /// Returns the bytes of the name that the page comes after; the empty name, which none is, for the first page.
    ///
    /// # Errors
    ///
    /// [`OpError::Unsupported`] for a text that [`Listing::cursor`] did not make.
    pub fn after_name(&self) -> Result<Vec<u8>, OpError> {
        let digits = self.after.as_deref().unwrap_or_default().as_bytes();
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        let (pairs, odd) = digits.as_chunks::<2>();
        let name: Option<Vec<u8>> =
            pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect();
        name.filter(|_| odd.is_empty()).ok_or_else(|| OpError::Unsupported {
            what: "a place in a listing that no listing gave".to_owned(),
        })
    }
}

/// Names in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The directory's path.
    pub resolved: TargetPath,
    /// The entries of this page, sorted by the bytes of their names.
    pub entries: Vec<Entry>,
    /// How to go on, if there are more.
    pub next: Option<String>,
}

impl Listing {
    /// Makes the [`Listing::next`] of a page that ends with this name: names are any bytes and a cursor is text, so it
    /// is written in hexadecimal.
    #[must_use]
    pub fn cursor(name: &[u8]) -> String {
        name.iter().fold(String::with_capacity(name.len() * 2), |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// The name; bytes that are not UTF-8 as `\xHH` in upper case, and then a backslash as `\\`.
    pub name: String,
    /// Whether the name can be used in a path (it is UTF-8).
    pub addressable: bool,
    /// What it is, by `lstat`; digests are never taken.
    pub state: FileState,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_leads_back_to_its_name_and_nothing_else_is_one() {
        let page = |after: &str| Page { after: Some(after.to_owned()), limit: 1 };
        for name in [&b""[..], b"a", b"\0\xFF/\n"] {
            assert_eq!(page(&Listing::cursor(name)).after_name(), Ok(name.to_vec()));
        }
        assert_eq!(Page::default().after_name(), Ok(Vec::new()));
        for text in ["b", "6", "zz", "+1", "616", "a.txt"] {
            assert!(page(text).after_name().is_err(), "{text}");
        }
    }
}
