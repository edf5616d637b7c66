//! A program on the other end of a byte stream that looks and then writes: the negative control of a shell target.

use std::io::{self, Error};

use async_trait::async_trait;
use guard_core::policy::{Digest, TargetPath};
use guard_core::port::{End, Session, Tier, Transport};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;

use super::contender::{Contender, Swap};
use super::judge::Outcome;

/// What ends each answer.
const OVER: &str = "unguarded: over";

/// A shell that is told to look and then to write, as an agent's tools do it over a session of theirs.
///
/// One line asks for the digest, or whether the name is there; the next one renames a temporary file over the name, or
/// writes to it.
pub struct UnguardedShell {
    session: Mutex<Streams>,
    file: String,
}

struct Streams {
    input: Box<dyn AsyncWrite + Send + Unpin>,
    output: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    _end: Box<dyn End>,
}

impl UnguardedShell {
    /// Starts a shell on the target.
    ///
    /// # Errors
    ///
    /// The transport's.
    ///
    /// # Panics
    ///
    /// If the file's path has a quote in it.
    pub async fn open(transport: &dyn Transport, file: &TargetPath) -> io::Result<Self> {
        assert!(!file.as_str().contains('\''), "{file} needs no quotes");
        let Session { input, output, end, .. } = transport.start("sh").await.map_err(Error::other)?;
        let session = Mutex::new(Streams { input, output: BufReader::new(output), _end: end });
        Ok(Self { session, file: format!("'{file}'") })
    }

    /// Runs lines, and returns what they say.
    async fn say(&self, script: &str, body: &[u8]) -> io::Result<String> {
        let mut session = self.session.lock().await;
        let text = [script.as_bytes(), body, format!("\necho '{OVER}'\n").as_bytes()].concat();
        session.input.write_all(&text).await?;
        session.input.flush().await?;
        let mut said = String::new();
        loop {
            let before = said.len();
            if session.output.read_line(&mut said).await? == 0 {
                return Err(Error::other(format!("the shell is gone: {said}")));
            }
            if said[before..].trim_end() == OVER {
                said.truncate(before);
                return Ok(said);
            }
        }
    }

    async fn write(&self, before: Option<Digest>, bytes: &[u8]) -> io::Result<bool> {
        let file = &self.file;
        let look = format!("if [ -e {file} ]; then echo there; else echo absent; fi");
        let put = match before {
            Some(before) if self.read().await == Some(before) => {
                format!("cat > {file}.new <<'END' && mv -f {file}.new {file} && echo done\n")
            }
            None if self.say(&look, b"").await?.contains("absent") => {
                format!("cat > {file} <<'END' && echo done\n")
            }
            _ => return Ok(false),
        };
        // A body has only words and ends with a newline, so that a here-document is exact.
        Ok(self.say(&put, &[bytes, b"END"].concat()).await?.contains("done"))
    }
}

#[async_trait]
impl Contender for UnguardedShell {
    async fn read(&self) -> Option<Digest> {
        let said = self.say(&format!("sha256sum < {} 2> /dev/null", self.file), b"").await.ok()?;
        format!("sha256:{}", said.split_whitespace().next()?).parse().ok()
    }

    async fn swap(&self, before: Option<Digest>, bytes: Vec<u8>) -> Swap {
        let outcome = match self.write(before, &bytes).await {
            Ok(true) => Outcome::Done,
            Ok(false) => Outcome::Refused,
            Err(_) => Outcome::Unknown,
        };
        Swap { outcome, left: Vec::new(), lease: true, tier: Tier::InPlace }
    }
}
