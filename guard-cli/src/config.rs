//! What the binary knows of its surroundings, and passes on: the working directory, the home, the policy file.

use std::path::{Component, Path, PathBuf};

use guard_backends::undo::{FileUndo, Limits};
use guard_core::Receipt;
use guard_core::policy::{Access, Fact, Policy, TargetPath};
use nix::unistd::{Uid, User};

use crate::args::GuardArgs;
use crate::target::Target;

/// The command line, or what it names, is wrong.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// Returns the roots to open, in order, on a target whose user has `home`; those of the policy come after these.
pub(crate) fn roots(
    args: &GuardArgs,
    policy: &Policy,
    home: &Fact<Option<TargetPath>>,
) -> Result<Vec<(TargetPath, Access)>, UsageError> {
    let typed: Vec<_> = args.roots.0.iter().map(|(root, access)| (root.as_str(), *access)).collect();
    if typed.is_empty() && !policy.roots.is_empty() {
        return Ok(Vec::new());
    }
    if args.target != Target::Local {
        if typed.is_empty() {
            return Err(UsageError("name a directory of the target: --root DIR".to_owned()));
        }
        return typed.into_iter().map(|(root, access)| Ok((on_target(root, home)?, access))).collect();
    }
    let typed = if typed.is_empty() { vec![(".", Access::ReadWrite)] } else { typed };
    let here =
        || std::env::current_dir().map_err(|error| UsageError(format!("the working directory: {error}")));
    typed.into_iter().map(|(root, access)| Ok((absolute(&here, Path::new(root))?, access))).collect()
}

/// Makes a path absolute by its text alone, on a target that this process has no working directory on.
fn on_target(root: &str, home: &Fact<Option<TargetPath>>) -> Result<TargetPath, UsageError> {
    let wrong = |why: &str| UsageError(format!("the directory {root}: {why}"));
    let below = match (root.strip_prefix('~'), home) {
        (Some(rest), Fact::Known(Some(home))) if rest.is_empty() || rest.starts_with('/') => {
            Some(format!("{home}{rest}"))
        }
        (Some(rest), _) if rest.is_empty() || rest.starts_with('/') => {
            return Err(wrong("the home of the target's user is not known"));
        }
        _ => None,
    };
    let path = below.as_deref().unwrap_or(root);
    let nowhere =
        || Err(wrong("this process has no working directory there; name it from `/`, or from the home `~`"));
    absolute(&nowhere, Path::new(path))
}

/// Makes a path absolute by its text alone.
///
/// The working directory is physical, so that `..` in front is right; `..` after a name is not, if that name is a
/// link, and is refused.
fn absolute(here: &dyn Fn() -> Result<PathBuf, UsageError>, path: &Path) -> Result<TargetPath, UsageError> {
    let wrong = |why: &str| UsageError(format!("the directory {}: {why}", path.display()));
    if path.as_os_str().is_empty() {
        return Err(wrong("the path is empty"));
    }
    let mut whole = if path.is_absolute() { PathBuf::from("/") } else { here()? };
    let mut named = false;
    for component in path.components() {
        match component {
            Component::Normal(name) => {
                named = true;
                whole.push(name);
            }
            Component::ParentDir if named => return Err(wrong("name it without `..` after a name")),
            // The parent of `/` is `/`.
            Component::ParentDir => {
                whole.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    let text = whole.to_str().ok_or_else(|| wrong("the path is not UTF-8"))?;
    TargetPath::new(text).map_err(|error| wrong(&error.to_string()))
}

/// Reads the policy, and puts its own file out of the reach of the tools.
pub(crate) fn policy(file: Option<&str>) -> Result<Policy, UsageError> {
    let Some(file) = file else { return Ok(Policy::default()) };
    let wrong = |why: String| UsageError(format!("the policy {file}: {why}"));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let mut policy: Policy = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let places = [std::path::absolute(file), std::fs::canonicalize(file)];
    for place in places {
        let place = place.map_err(|error| wrong(error.to_string()))?;
        let place = place.to_str().ok_or_else(|| wrong("its path is not UTF-8".to_owned()))?.to_owned();
        if !policy.sensitive.contains(&place) {
            policy.sensitive.push(place);
        }
    }
    Ok(policy)
}

/// Opens the store of what changes displace.
pub(crate) fn undo_store(dir: &Path, bytes: u64) -> Result<FileUndo, UsageError> {
    let limits = Limits { total: bytes, ..Limits::default() };
    FileUndo::open(dir, limits)
        .map_err(|error| UsageError(format!("the undo store {}: {error}", dir.display())))
}

/// Reads a receipt, or what `--json` printed around it.
pub(crate) fn receipt(file: &Path) -> Result<Receipt, UsageError> {
    let wrong = |why: String| UsageError(format!("the receipt {}: {why}", file.display()));
    let text = if file == Path::new("-") {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(file)
    };
    let text = text.map_err(|error| wrong(error.to_string()))?;
    let mut found: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if let Some(inner) = found.get_mut("receipt") {
        found = inner.take();
    }
    serde_json::from_value(found).map_err(|error| wrong(error.to_string()))
}

/// Returns the home directory of whoever runs the binary, which on the local target is the target's.
///
/// It is what `HOME` names, or, where that names none, the one in the entry of the effective user. `None` is that it is
/// not known, never that there is none.
pub(crate) fn home() -> Option<TargetPath> {
    home_of(std::env::var_os("HOME").map(PathBuf::from), || {
        let user = User::from_uid(Uid::effective()).ok()??;
        Some(user.dir)
    })
}

fn home_of(variable: Option<PathBuf>, entry: impl FnOnce() -> Option<PathBuf>) -> Option<TargetPath> {
    variable.and_then(|home| normal(&home)).or_else(|| normal(&entry()?))
}

/// Spells an absolute path in the one way that paths are compared in: without `//`, `/.` and a slash at the end.
fn normal(path: &Path) -> Option<TargetPath> {
    if !path.is_absolute() {
        return None;
    }
    // `..` after a name that is a link is not the parent of that name; only the filesystem knows.
    let is_up = |component| component == Component::ParentDir;
    let path = if path.components().any(is_up) { std::fs::canonicalize(path).ok()? } else { path.to_owned() };
    let text = path.components().collect::<PathBuf>().into_os_string().into_string().ok()?;
    TargetPath::new(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_is_what_the_variable_names_else_what_the_entry_names_else_not_known() {
        let cases: [(Option<&str>, Option<&str>, Option<&str>); 15] = [
            (Some("/home/u"), Some("/entry"), Some("/home/u")),
            (Some("/home/u/"), Some("/entry"), Some("/home/u")),
            (Some("/home//u"), Some("/entry"), Some("/home/u")),
            (Some("//home/u///"), Some("/entry"), Some("/home/u")),
            (Some("/home/./u/."), Some("/entry"), Some("/home/u")),
            (Some("/"), Some("/entry"), Some("/")),
            (Some("/.."), Some("/entry"), Some("/")),
            (Some("/no-such-directory/.."), Some("/entry"), Some("/entry")),
            (Some(""), Some("/entry"), Some("/entry")),
            (Some("home/u"), Some("/entry"), Some("/entry")),
            (Some(".."), Some("/entry"), Some("/entry")),
            (None, Some("/entry//u/"), Some("/entry/u")),
            (None, Some(""), None),
            (None, None, None),
            (Some("~"), None, None),
        ];
        for (variable, entry, expected) in cases {
            let found = home_of(variable.map(PathBuf::from), || entry.map(PathBuf::from));
            assert_eq!(found.as_ref().map(TargetPath::as_str), expected, "{variable:?} {entry:?}");
        }
    }

    #[test]
    fn a_root_on_another_machine_never_depends_on_this_ones_directories() {
        let home = Fact::Known(Some(TargetPath::new("/home/agent").unwrap()));
        for (typed, home, expected) in [
            ("/srv//app/", &home, Ok("/srv/app")),
            ("~", &home, Ok("/home/agent")),
            ("~/src", &home, Ok("/home/agent/src")),
            ("~", &Fact::Known(None), Err("the home of the target's user is not known")),
            ("~/src", &Fact::Unknown, Err("the home of the target's user is not known")),
            ("~agent", &home, Err("no working directory there")),
            (".", &home, Err("no working directory there")),
            ("src", &home, Err("no working directory there")),
            ("", &home, Err("the path is empty")),
            ("/a/../b", &home, Err("without `..` after a name")),
        ] {
            match (on_target(typed, home), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found.as_str(), expected, "{typed}"),
                (Err(error), Err(expected)) => {
                    assert!(error.to_string().contains(expected), "{typed}: {error}");
                }
                (found, expected) => panic!("{typed}: {found:?}, not {expected:?}"),
            }
        }
    }

    #[test]
    fn a_root_is_made_absolute_by_its_text() {
        let cases = [
            (".", Ok("/srv/here")),
            ("..", Ok("/srv")),
            ("../../..", Ok("/")),
            ("a/./b/", Ok("/srv/here/a/b")),
            ("/a//b", Ok("/a/b")),
            ("/", Ok("/")),
            ("-dash", Ok("/srv/here/-dash")),
            ("", Err("the path is empty")),
            ("a/../b", Err("without `..` after a name")),
        ];
        for (typed, expected) in cases {
            let found = absolute(&|| Ok(PathBuf::from("/srv/here")), Path::new(typed));
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found.as_str(), expected, "{typed}"),
                (Err(error), Err(expected)) => {
                    assert!(error.to_string().contains(expected), "{typed}: {error}");
                }
                (found, expected) => panic!("{typed}: {found:?}, not {expected:?}"),
            }
        }
    }
}
