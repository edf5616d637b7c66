//! Paths that tools do not change, and credentials, which they do not read either.

use super::{Spelling, Spellings, extension};
use crate::fold::{self, Places};
use crate::{Act, Base, Call, Code, Fact, Facts, Policy, Refusal, Switch, TargetPath, names};

const PROJECT_CONFIGURATION: Places = Places::new(names::PROJECT_CONFIGURATION);
const SYSTEM_PATHS: Places = Places::new(names::SYSTEM_PATHS);
const SYSTEM_SECRETS: Places = Places::new(names::SYSTEM_SECRETS);
const ENDLESS_DEVICES: Places = Places::new(names::ENDLESS_DEVICES);
const HOME_SECRETS: Places = Places::new(names::HOME_SECRETS);
const HOME_CONFIGURATION: Places = Places::new(names::HOME_CONFIGURATION);

type Home<'a> = Fact<Option<&'a TargetPath>>;

/// Refuses changes of system state and configuration, and any look into credentials.
///
/// `stat` and `list_dir` are free: a name, a size and a digest are no secret, and a model that may not even learn
/// that `.env` is there tries to make it.
pub(crate) fn check(
    policy: &Policy,
    call: &Call<'_>,
    facts: &Facts<'_>,
    spellings: &Spellings<'_>,
) -> Result<(), Refusal> {
    if matches!(call.act, Act::Stat | Act::List) {
        return Ok(());
    }
    let refuse = |code, why: String| Err(Refusal::new(code, call.requested, &why));
    for spelling in spellings.iter() {
        if let Some(entry) = policy.sensitive.iter().find(|entry| is_entry(entry, spelling, facts.home)) {
            return refuse(Code::SensitivePath, format!("the policy lists `{entry}`"));
        }
        if policy.rules.sensitive_paths == Switch::On {
            if call.act.mutates() {
                if let Some(place) = configuration(spelling, facts.home) {
                    return refuse(Code::SensitivePath, place.to_string());
                }
            } else if let Some(device) = ENDLESS_DEVICES.at(&spelling.text) {
                let why = format!("`{device}` is a device or descriptor, which is never opened");
                return refuse(Code::NotRegular, why);
            }
        }
        if policy.rules.secrets == Switch::On
            && let Some(place) = secret(spelling, facts.home)
        {
            return refuse(Code::Secret, place.to_string());
        }
    }
    Ok(())
}

/// Why a path is refused, for the message.
enum Place<'a> {
    /// Its final name.
    Name(&'a str),
    /// At or below an absolute path.
    System(&'static str),
    /// At or below a path in the target's home.
    Home(&'static str),
    /// At or below such a path in any directory.
    Anywhere(&'static str),
    /// In a process's directory.
    Process(&'a str),
}

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(name) => write!(f, "the name `{}`", name.escape_debug()),
            Self::System(place) | Self::Anywhere(place) => write!(f, "`{place}`"),
            Self::Home(place) => write!(f, "`~/{place}`"),
            Self::Process(what) => write!(f, "`/proc/*/{}`", what.escape_debug()),
        }
    }
}

fn configuration<'a>(spelling: &'a Spelling<'_>, home: Home<'_>) -> Option<Place<'a>> {
    let name = spelling.name();
    // A file `.git` names the directory that hooks and configuration are taken from.
    if name.eq_ignore_ascii_case(".git") {
        return Some(Place::Name(name));
    }
    let text = &spelling.text;
    PROJECT_CONFIGURATION
        .anywhere(text)
        .map(Place::Anywhere)
        .or_else(|| SYSTEM_PATHS.at(text).map(Place::System))
        .or_else(|| in_home(spelling, home, &HOME_SECRETS).map(Place::Home))
        .or_else(|| in_home(spelling, home, &HOME_CONFIGURATION).map(Place::Home))
}

fn secret<'a>(spelling: &'a Spelling<'_>, home: Home<'_>) -> Option<Place<'a>> {
    let name = spelling.name();
    if is_secret_name(name) {
        return Some(Place::Name(name));
    }
    let text = &*spelling.text;
    if let Some(place) = SYSTEM_SECRETS.at(text) {
        return Some(Place::System(place));
    }
    if let Some(what) = of_a_process(text) {
        return Some(Place::Process(what));
    }
    // The public half of a key is there to be given away.
    if extension(name).is_some_and(|extension| extension.eq_ignore_ascii_case("pub")) {
        return None;
    }
    in_home(spelling, home, &HOME_SECRETS).map(Place::Home)
}

fn is_secret_name(name: &str) -> bool {
    if fold::is_listed(names::SECRET_NAMES, name) {
        return true;
    }
    let Some(extension) = extension(name) else { return false };
    if name.as_bytes().get(..5).is_some_and(|begin| begin.eq_ignore_ascii_case(b".env.")) {
        return !fold::is_listed(names::ENV_TEMPLATES, extension);
    }
    fold::is_listed(names::SECRET_EXTENSIONS, extension) && !fold::is_listed(names::CERTIFICATE_NAMES, name)
}

/// Returns which of a process's secrets `/proc/PID/…` or `/proc/PID/task/TID/…` is.
fn of_a_process(text: &str) -> Option<&str> {
    if !fold::is_at_or_below(text, "/proc") {
        return None;
    }
    let mut below = fold::below(text, "/proc")?.split('/').skip(1);
    let what = match below.next()? {
        task if task.eq_ignore_ascii_case("task") => below.nth(1)?,
        what => what,
    };
    fold::is_listed(names::PROC_SECRETS, what).then_some(what)
}

/// Tells which of `places` below the target's home a path is at or below.
///
/// Where the home is not known, any directory may be it.
fn in_home(spelling: &Spelling<'_>, home: Home<'_>, places: &Places) -> Option<&'static str> {
    if let Some(below) = spelling.below_tilde() {
        return places.at(below);
    }
    match home {
        Fact::Known(Some(home)) if spelling.base == Base::Absolute => {
            places.at(fold::below(&spelling.text, home.as_str())?)
        }
        Fact::Known(_) => None,
        Fact::Unknown => places.anywhere(&spelling.text),
    }
}

/// Tells whether a path is at or below an entry of the policy's own list: absolute, or `~/x`.
fn is_entry(entry: &str, spelling: &Spelling<'_>, home: Home<'_>) -> bool {
    let Some(in_home) = entry.strip_prefix("~/") else {
        return spelling.base == Base::Absolute && fold::below(&spelling.text, entry).is_some();
    };
    if let Some(below) = spelling.below_tilde() {
        return fold::below(below, in_home).is_some();
    }
    match home {
        Fact::Known(Some(home)) if spelling.base == Base::Absolute => {
            fold::below(&spelling.text, home.as_str())
                .is_some_and(|below| fold::below(below, in_home).is_some())
        }
        Fact::Known(_) => false,
        Fact::Unknown => {
            let mut left = &*spelling.text;
            loop {
                if fold::below(left, in_home).is_some() {
                    return true;
                }
                match left.split_once('/') {
                    Some((_, rest)) => left = rest,
                    None => return false,
                }
            }
        }
    }
}
