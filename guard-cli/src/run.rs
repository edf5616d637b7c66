//! From a parsed command line to an exit code.

use std::io::{self, Read as _, Write as _};

use clap::CommandFactory as _;
use guard_core::policy::{Code, DeleteUnseen, Digest, EolPolicy, Policy, Unseen};
use guard_core::{
    Actor, ApplyPatch, DeleteFile, Display, EditFile, ExpectArg, Failure, Guard, ListDir, MakeDir, MoveFile,
    ReadFile, StatPaths, WriteFile,
};

use crate::args::{self, Cli, Command, SeenArg};
use crate::config::{self, UsageError};
use crate::doctor;
use crate::exit::Exit;
use crate::progress::{self, Bar};
use crate::render::{self, Shown, Versions};
use crate::target::{self, Connected, TargetError};

/// A command that was not done.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The guard said no, or does not know.
    Failure(Failure),
    /// The command line is wrong.
    Usage(UsageError),
    /// The target cannot be opened.
    Unavailable(TargetError),
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<TargetError> for Ended {
    fn from(error: TargetError) -> Self {
        Self::Unavailable(error)
    }
}

impl From<UsageError> for Ended {
    fn from(error: UsageError) -> Self {
        Self::Usage(error)
    }
}

/// Carries out one command and prints what came of it.
pub(crate) fn run(cli: &Cli) -> Exit {
    if let Command::Completions(completions) = &cli.command {
        let mut script = Vec::new();
        clap_complete::generate(completions.shell, &mut Cli::command(), "guard", &mut script);
        return printed(io::stdout().write_all(&script), Exit::Done);
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return printed(render::error(&format!("no runtime: {error}")), Exit::Unavailable),
    };
    match runtime.block_on(carry_out(cli)) {
        Ok(shown) => {
            let stopped = matches!(&shown, Shown::Done(done) if done.stopped().is_some());
            printed(render::shown(&shown, cli.json), if stopped { Exit::Refused } else { Exit::Done })
        }
        Err(Ended::Failure(failure)) => {
            let exit = Exit::from(&failure);
            printed(render::failure(&failure, versions(&cli.command), cli.json), exit)
        }
        Err(Ended::Usage(error)) => {
            printed(render::not_called(Code::InvalidArguments, &error.to_string(), cli.json), Exit::Usage)
        }
        Err(Ended::Unavailable(error)) => {
            printed(render::not_called(error.code(), &error.to_string(), cli.json), Exit::Unavailable)
        }
    }
}

/// Ends for a command line that is none: as an object where one was asked for, else in Clap's words.
pub(crate) fn misused(error: &clap::Error) -> Exit {
    let options = std::env::args_os().skip(1).take_while(|argument| argument != "--");
    if !error.use_stderr() || !options.into_iter().any(|option| option == "--json") {
        // 0 for help, 2 for usage.
        error.exit();
    }
    let said = error.render().to_string();
    // The rest is how to find help.
    let why = said.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ").trim_end();
    printed(render::not_called(Code::InvalidArguments, why, true), Exit::Usage)
}

/// Ends as `exit`, unless the output could not be written; a reader that had enough is no failure.
fn printed(written: io::Result<()>, exit: Exit) -> Exit {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            // What is said about it can be lost as well.
            let _ = writeln!(io::stderr(), "guard: the output could not be written: {error}");
            if exit == Exit::Done { Exit::Unavailable } else { exit }
        }
        _ => exit,
    }
}

/// Tells which version the command can be told to be there.
const fn versions(command: &Command) -> Versions {
    match command {
        Command::Write(_) => Versions::Replaced,
        Command::Edit(_) => Versions::Named,
        Command::Rm(_) | Command::Mv(_) => Versions::OrLink,
        _ => Versions::No,
    }
}

async fn carry_out(cli: &Cli) -> Result<Shown, Ended> {
    let mut policy = config::policy(cli.guard.policy.as_deref())?;
    loosen(&mut policy, &cli.command);
    let bar = Bar::of(cli.json);
    let connected = target::connect(&cli.guard, bar.as_ref()).await?;
    let shown = progress::during(bar.as_ref(), on(cli, &connected, policy)).await;
    connected.close().await;
    shown
}

async fn on(cli: &Cli, connected: &Connected, policy: Policy) -> Result<Shown, Ended> {
    if let Command::Doctor(args) = &cli.command {
        // What a target can do is told of one without a root, too.
        let rootless = connected.local.is_none() && cli.guard.roots.0.is_empty() && policy.roots.is_empty();
        let guard = if rootless { None } else { Some(connected.open(&cli.guard, policy).await?) };
        return Ok(Shown::Diagnosed(doctor::diagnose(connected, guard.as_ref(), args.leftovers).await?));
    }
    let guard = connected.open(&cli.guard, policy).await?;
    let actor = guard.actor("cli");
    call(cli, &guard, &actor).await
}

/// Takes what the flags of this one call allow.
fn loosen(policy: &mut Policy, command: &Command) {
    match command {
        Command::Write(args::Write { danger_unseen: true, .. }) => policy.unseen = Unseen::Allow,
        Command::Rm(args::Remove { danger_unseen: true, .. })
        | Command::Patch(args::Patch { danger_delete_unseen: true, .. }) => {
            policy.delete_unseen = DeleteUnseen::DangerAllow;
        }
        _ => {}
    }
}

async fn call(cli: &Cli, guard: &Guard, actor: &Actor) -> Result<Shown, Ended> {
    let dry_run = cli.dry_run;
    Ok(match &cli.command {
        Command::Read(args) => Shown::Read(actor.read_file(read(args)).await?),
        Command::Write(args) => Shown::Done(write(guard, actor, args, dry_run).await?),
        Command::Edit(args) => {
            vouch(actor, &args.path, args.expect).await?;
            Shown::Done(actor.edit_file(edit(args, dry_run)).await?)
        }
        Command::Patch(args) => Shown::Done(patch(guard, actor, args, dry_run).await?),
        Command::Rm(args) => {
            vouch_either(actor, &args.path, args.expect.as_ref()).await?;
            let call = DeleteFile { path: args.path.clone(), dry_run };
            Shown::Done(actor.delete_file(call).await?)
        }
        Command::Mv(args) => {
            vouch_either(actor, &args.from, args.expect.as_ref()).await?;
            let call = MoveFile { from: args.from.clone(), to: args.to.clone(), dry_run };
            Shown::Done(actor.move_file(call).await?)
        }
        Command::Mkdir(args) => {
            let call = MakeDir { path: args.path.clone(), dry_run };
            Shown::Done(actor.make_dir(call).await?)
        }
        Command::Undo(args) => {
            let receipt = config::receipt(&args.receipt)?;
            let undone = if dry_run { actor.plan_undo(&receipt).await } else { actor.undo(&receipt).await };
            Shown::Done(undone?)
        }
        Command::Ls(args) => {
            let call = ListDir { path: args.path.clone(), after: args.after.clone(), limit: args.limit };
            Shown::List(actor.list_dir(call).await?)
        }
        Command::Stat(args) => {
            Shown::Stat(actor.stat(StatPaths { path: None, paths: args.paths.clone() }).await?)
        }
        Command::Explain(args) => Shown::Explained(actor.explain(&args.path).await?),
        // Answered before a guard was opened.
        Command::Doctor(_) | Command::Completions(_) => Shown::Nothing,
    })
}

/// The caller of this process has seen the version that it names.
async fn vouch(actor: &Actor, path: &str, expect: Option<Digest>) -> Result<(), Failure> {
    match expect {
        Some(digest) => actor.vouch(path, digest).await,
        None => Ok(()),
    }
}

/// As [`vouch`], where a link is taken itself.
async fn vouch_either(actor: &Actor, path: &str, expect: Option<&SeenArg>) -> Result<(), Failure> {
    match expect {
        Some(SeenArg::File(digest)) => actor.vouch(path, *digest).await,
        Some(SeenArg::Link(text)) => actor.vouch_link(path, text).await,
        None => Ok(()),
    }
}

fn read(args: &args::Read) -> ReadFile {
    ReadFile {
        path: args.path.clone(),
        offset: args.offset,
        limit: args.limit,
        bytes: args.bytes,
        display: Display::Plain,
    }
}

async fn write(
    guard: &Guard,
    actor: &Actor,
    args: &args::Write,
    dry_run: bool,
) -> Result<guard_core::Done, Ended> {
    if let Some(ExpectArg::Content(digest)) = args.expect {
        vouch(actor, &args.path, Some(digest)).await?;
    }
    let content = stdin(guard.policy().limits.write_bytes)?;
    let call = WriteFile {
        path: args.path.clone(),
        content: String::new(),
        // Without a word of the caller's nothing may be there, not even an empty file.
        expect: args.expect.or((!args.danger_unseen).then_some(ExpectArg::Absent)),
        // Standard input is exact; whoever pipes it in has decided on its line ends.
        eol: Some(EolPolicy::Exact),
        executable: args.executable,
        raw: args.raw,
        dry_run,
        danger_lose_metadata: args.danger.danger_lose_metadata,
        danger_in_place: args.danger.danger_in_place,
    };
    Ok(actor.write_raw(call, content).await?)
}

/// Reads standard input, to one byte more than the limit: the guard then says what the limit is.
fn stdin(limit: u64) -> Result<Vec<u8>, UsageError> {
    let mut content = Vec::new();
    let read = io::stdin().lock().take(limit.saturating_add(1)).read_to_end(&mut content);
    read.map_err(|error| UsageError(format!("standard input: {error}")))?;
    Ok(content)
}

async fn patch(
    guard: &Guard,
    actor: &Actor,
    args: &args::Patch,
    dry_run: bool,
) -> Result<guard_core::Done, Ended> {
    for (path, digest) in &args.expect {
        vouch(actor, path, Some(*digest)).await?;
    }
    let text = String::from_utf8(stdin(guard.policy().limits.patch_bytes)?)
        .map_err(|_| UsageError("standard input: a patch is UTF-8".to_owned()))?;
    let call = ApplyPatch {
        patch: text,
        dry_run,
        danger_lose_metadata: args.danger_lose_metadata,
        danger_codex: args.danger_codex,
    };
    Ok(actor.apply_patch(call).await?)
}

fn edit(args: &args::Edit, dry_run: bool) -> EditFile {
    EditFile {
        path: args.path.clone(),
        edits: Vec::new(),
        old: Some(args.old.clone()),
        new: Some(args.new.clone()),
        replace_all: args.all,
        dry_run,
        danger_lose_metadata: args.danger.danger_lose_metadata,
        danger_in_place: args.danger.danger_in_place,
    }
}
