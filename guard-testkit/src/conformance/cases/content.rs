use std::io::{self, Read};
use std::sync::Arc;

use guard_core::policy::{Digest, Precondition};
use guard_core::port::{CommitFailure, Content, Mode, OpError, Source};

use super::super::site::{Broken, Site, content, ensure, noise, put_at};

/// Gives some bytes, and then perhaps an error.
struct Lying {
    bytes: Vec<u8>,
    fails: bool,
}

struct Breaks;

impl Read for Breaks {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::ConnectionReset.into())
    }
}

impl Source for Lying {
    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        Ok(if self.fails {
            Box::new(self.bytes.as_slice().chain(Breaks))
        } else {
            Box::new(self.bytes.as_slice())
        })
    }
}

pub(super) async fn a_source_that_lies_publishes_nothing(site: Site) -> Result<(), Broken> {
    let honest = noise(200 * 1024);
    let mut flipped = honest.clone();
    flipped[150 * 1024] ^= 1;
    let mut longer = honest.clone();
    longer.push(0);
    let cases = [
        ("fewer bytes", honest[..honest.len() - 1].to_vec(), false),
        ("a stream that was cut", honest[..70 * 1024].to_vec(), false),
        ("no bytes", Vec::new(), false),
        ("more bytes", longer, false),
        ("other bytes", flipped, false),
        ("an error half-way", honest[..100 * 1024].to_vec(), true),
    ];
    site.file("old", b"old")?;
    for (what, bytes, fails) in cases {
        for (path, is) in
            [("old", content(b"old")), ("new", Precondition::Absent), ("a/b/new", Precondition::Absent)]
        {
            let source = Arc::new(Lying { bytes: bytes.clone(), fails });
            let lie = Content::from_source(honest.len() as u64, Digest::of(&honest), source);
            // An honest change comes first: it must not be published either.
            let changes = vec![
                site.put("honest", Precondition::Absent, b"x")?,
                put_at(site.place(path)?, is, lie, Mode::Keep),
            ];
            let cause = site.refused(&format!("{what} for {path}"), changes).await?;
            let expected = match cause {
                CommitFailure::ContentMismatch => !fails,
                CommitFailure::Op(OpError::Io { .. } | OpError::Unavailable { .. }) => fails,
                _ => false,
            };
            ensure(expected, format!("{what} for {path}: the cause is {cause:?}"))?;
        }
    }
    Ok(())
}
