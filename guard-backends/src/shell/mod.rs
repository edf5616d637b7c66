//! A target behind nothing but a byte stream to `/bin/sh`.
//!
//! [`Shell`] gives every guarantee over any [`Transport`]: a script is sent once, then requests and replies in frames
//! (see [`wire`]). SSH, Docker and an integrator's own sandbox differ only in how the stream is opened; [`Process`]
//! opens one to a program of this machine.
//!
//! ```
//! use std::sync::Arc;
//!
//! use guard_backends::shell::{Process, Shell};
//! use guard_core::policy::TargetPath;
//! use guard_core::port::{Ask, Depth, FileOps, Last, RootSpec, TargetId};
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().canonicalize()?.to_str().ok_or("a path that is not UTF-8")?.to_owned();
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
//! let here = Process::shell(TargetId::new("here"));
//! let shell = Shell::builder(Arc::new(here)).connect().await?;
//! let root = shell.open_root(&RootSpec { path: TargetPath::new(path)? }).await?;
//! let ask = Ask { root: root.id, path: "notes.txt".into(), last: Last::Follow, depth: Depth::State };
//! let found = shell.stat(&[ask]).await?.remove(0)?;
//! assert_eq!(found.resolved, root.path.child("notes.txt")?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(unix)]
mod process;
pub mod wire;

#[cfg(unix)]
pub use process::Process;
