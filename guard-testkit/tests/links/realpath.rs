//! What the system says: `realpath` of the request, and of what is allowed.

use std::io;
use std::path::{Path, PathBuf};

use guard_core::port::Last;
use rustix::io::Errno;

use crate::answer::Answer;
use crate::model::{is_in, split};
use crate::scene::{ROOTS, Request, Scene};

/// What is at a path that is not followed at its end, and where that is.
fn itself(path: &Path) -> io::Result<(PathBuf, &'static str)> {
    let kind = |kind: std::fs::FileType| {
        if kind.is_symlink() {
            "link"
        } else if kind.is_dir() {
            "directory"
        } else {
            "file"
        }
    };
    let there = std::fs::symlink_metadata(path)?;
    // `..` at the end is no name.
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok((path.canonicalize()?, kind(there.file_type())));
    };
    Ok((parent.canonicalize()?.join(name), kind(there.file_type())))
}

/// Says what is wrong with an answer that is no refusal: the system has to say the same of the request.
pub(crate) fn contradicts(scene: &Scene, request: &Request, answer: &Answer) -> Option<String> {
    let root = PathBuf::from(scene.root(request.root));
    let names = split(&request.path);
    let whole = names.iter().fold(root.clone(), |path, name| path.join(name));
    let followed = || {
        let path = whole.canonicalize()?;
        itself(&path)
    };
    let real = if request.last == Last::Itself { itself(&whole) } else { followed() };
    let says = |errno| real.as_ref().is_err_and(|error| Errno::from_io_error(error) == Some(errno));
    let is_so = match answer {
        Answer::Outside | Answer::Else(_) => return None,
        Answer::Missing => says(Errno::NOENT),
        Answer::NotDirectory => says(Errno::NOTDIR),
        Answer::Loop => says(Errno::LOOP),
        Answer::Leads(path, "nothing") => {
            // The part that is there leads somewhere, and the rest is names.
            let (mut at, mut rest) = (whole.clone(), Vec::new());
            while at != root && at.symlink_metadata().is_err() {
                rest.extend(at.file_name().map(ToOwned::to_owned));
                at.pop();
            }
            let there =
                at.canonicalize().map(|there| rest.iter().rev().fold(there, |path, name| path.join(name)));
            says(Errno::NOENT) && there.is_ok_and(|there| there == Path::new(path))
        }
        Answer::Leads(path, kind) => {
            let dangles = *kind == "link" && request.last == Last::Follow;
            let real = if dangles && real.is_err() { &itself(&whole) } else { &real };
            real.as_ref().is_ok_and(|(real, is)| real == Path::new(path) && is == kind)
        }
    };
    if !is_so {
        return Some(format!("by realpath {} is {real:?}", whole.display()));
    }
    let Answer::Leads(path, _) = answer else { return None };
    let reached = |index: &usize| {
        *index == request.root || request.roots.as_ref().is_none_or(|roots| roots.contains(index))
    };
    let is_inside = (0..ROOTS.len()).filter(reached).any(|index| is_in(path, &scene.root(index)));
    let is_held = request.within.as_ref().is_none_or(|within| within.iter().any(|held| is_in(path, held)));
    (!is_inside || !is_held).then(|| format!("it is in no root that is reached: {path}"))
}
