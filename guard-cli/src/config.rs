//! What the binary knows of its surroundings, and passes on: the working directory, the home, the policy file.

use std::path::{Component, Path, PathBuf};

use guard_core::policy::{Access, Policy, TargetPath};

use crate::args::GuardArgs;

/// The command line, or what it names, is wrong.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// Returns the roots to open, in order.
pub(crate) fn roots(args: &GuardArgs) -> Result<Vec<(TargetPath, Access)>, UsageError> {
    let typed: Vec<_> = args.roots.0.iter().map(|(root, access)| (root.as_str(), *access)).collect();
    let typed = if typed.is_empty() { vec![(".", Access::ReadWrite)] } else { typed };
    let here =
        || std::env::current_dir().map_err(|error| UsageError(format!("the working directory: {error}")));
    typed.into_iter().map(|(root, access)| Ok((absolute(&here, Path::new(root))?, access))).collect()
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

/// Returns the home directory of whoever runs the binary, which on the local target is the target's.
pub(crate) fn home() -> Option<TargetPath> {
    let home = std::env::var("HOME").ok()?;
    TargetPath::new(home.trim_end_matches('/')).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
