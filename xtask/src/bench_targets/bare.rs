//! The unguarded way: one exec of a plain tool.

use std::io;
use std::process::Stdio;

use async_trait::async_trait;
use bollard::container::LogOutput;
use bollard::exec::{StartExecOptions, StartExecResults};
use bollard::models::ExecConfig;
use futures_util::TryStreamExt as _;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::body::Body;

/// How many bytes are taken at a time.
const PIECE: usize = 256 * 1024;
/// How many bytes of a container's output are taken at a time; as the guard's own transport.
const FRAMES: usize = 64 * 1024;

/// Runs one command of a target's `sh` from its start to its end.
#[async_trait]
pub(crate) trait Bare: Send + Sync {
    /// Feeds `input` to the command, and returns how many bytes it wrote.
    ///
    /// # Errors
    ///
    /// It could not be run, or failed.
    async fn exec(&self, command: &str, input: &Body) -> io::Result<u64>;
}

/// A process of this machine.
pub(crate) struct Local;

#[async_trait]
impl Bare for Local {
    async fn exec(&self, command: &str, input: &Body) -> io::Result<u64> {
        let mut child = tokio::process::Command::new("sh")
            .args(["-c", command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let streams = child.stdin.take().zip(child.stdout.take());
        let (to, from) = streams.ok_or(io::ErrorKind::BrokenPipe)?;
        let (fed, taken) = tokio::join!(feed(to, input), drain(from));
        fed?;
        ended(command, child.wait().await?.code().map(i64::from))?;
        taken
    }
}

#[async_trait]
impl Bare for openssh::Session {
    async fn exec(&self, command: &str, input: &Body) -> io::Result<u64> {
        let mut remote = self.command("sh");
        remote.arg("-c").arg(command);
        remote.stdin(openssh::Stdio::piped()).stdout(openssh::Stdio::piped()).stderr(openssh::Stdio::null());
        let mut child = remote.spawn().await.map_err(io::Error::other)?;
        let streams = child.stdin().take().zip(child.stdout().take());
        let (to, from) = streams.ok_or(io::ErrorKind::BrokenPipe)?;
        let (fed, taken) = tokio::join!(feed(to, input), drain(from));
        fed?;
        ended(command, child.wait().await.map_err(io::Error::other)?.code().map(i64::from))?;
        taken
    }
}

/// A container.
pub(crate) struct Container {
    pub(crate) engine: bollard::Docker,
    pub(crate) id: String,
}

#[async_trait]
impl Bare for Container {
    async fn exec(&self, command: &str, input: &Body) -> io::Result<u64> {
        let config = ExecConfig {
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            cmd: Some(["sh", "-c", command].map(str::to_owned).to_vec()),
            ..Default::default()
        };
        let exec = self.engine.create_exec(&self.id, config).await.map_err(io::Error::other)?.id;
        let options = StartExecOptions { detach: false, tty: false, output_capacity: Some(FRAMES) };
        let started = self.engine.start_exec(&exec, Some(options)).await.map_err(io::Error::other)?;
        let StartExecResults::Attached { output: mut frames, input: to } = started else {
            return Err(io::Error::other("an exec without streams"));
        };
        let taken = async {
            let mut taken = 0;
            while let Some(frame) = frames.try_next().await.map_err(io::Error::other)? {
                if let LogOutput::StdOut { message } = frame {
                    taken += message.len() as u64;
                }
            }
            io::Result::Ok(taken)
        };
        let (fed, taken) = tokio::join!(feed(to, input), taken);
        fed?;
        loop {
            // The streams end a little before the engine knows how.
            let exec = self.engine.inspect_exec(&exec).await.map_err(io::Error::other)?;
            if exec.running != Some(true) {
                ended(command, exec.exit_code)?;
                return taken;
            }
        }
    }
}

async fn feed(mut to: impl AsyncWrite + Unpin, input: &Body) -> io::Result<()> {
    for piece in input.pieces() {
        to.write_all(piece).await?;
    }
    to.shutdown().await
}

async fn drain(mut from: impl AsyncRead + Unpin) -> io::Result<u64> {
    let (mut piece, mut taken) = (vec![0; PIECE], 0);
    loop {
        match from.read(&mut piece).await? {
            0 => return Ok(taken),
            len => taken += len as u64,
        }
    }
}

fn ended(command: &str, code: Option<i64>) -> io::Result<()> {
    match code {
        Some(0) => Ok(()),
        code => Err(io::Error::other(format!("`{command}` ended with {code:?}"))),
    }
}
