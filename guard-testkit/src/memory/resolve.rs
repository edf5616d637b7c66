//! Where a path leads.

use std::collections::VecDeque;

use guard_core::policy::{FileState, NAME_MAX, PATH_MAX, PathError, RootId, TargetPath};
use guard_core::port::{Last, OpError, Scope};

use super::State;
use super::tree::{Body, Ino, TOP, Tree};

/// How many links a path may lead through (as Linux: path_resolution(7)).
const LINKS_MAX: usize = 40;

/// A root that was opened.
#[derive(Debug, Clone)]
pub(super) struct RootDir {
    pub(super) ino: Ino,
    pub(super) path: TargetPath,
    /// Its path, and the spellings that it was opened by.
    pub(super) spellings: [TargetPath; 2],
}

/// Where a path led.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    pub(super) path: TargetPath,
    /// What is there.
    pub(super) ino: Option<Ino>,
    /// Whether this is a root's own directory, whose name is not the root's to change.
    pub(super) is_root: bool,
}

impl Spot {
    /// Tells what is there, with the digest of a regular file within reach.
    pub(super) fn state(&self, tree: &Tree) -> FileState {
        self.ino.map_or(FileState::Absent, |ino| tree.state_with_digest(ino))
    }
}

/// A component that is still to be walked.
struct Step {
    name: Vec<u8>,
    /// The link whose text it comes from, by its number on the way: what is missing there is a dangling link, never an
    /// absent name.
    of_link: Option<usize>,
}

/// A walk from a root, with the directories that it is in.
struct Walk<'a> {
    state: &'a State,
    root: &'a RootDir,
    /// The directories below the root, innermost last.
    inside: Vec<(Ino, String)>,
    /// What is no directory and so ends the path.
    leaf: Option<(Ino, String)>,
    /// Names that are not there.
    missing: Vec<String>,
    steps: VecDeque<Step>,
    links: usize,
    scope: &'a Scope,
    /// The link that the path ends with.
    final_link: Option<Spot>,
}

/// Resolves a path from a root as the port demands.
pub(super) fn resolve(
    state: &State,
    (root, path): (RootId, &str),
    last: Last,
    scope: &Scope,
) -> Result<Spot, OpError> {
    let root = state
        .roots
        .get(root.0 as usize)
        .ok_or_else(|| OpError::NotFound { path: format!("root {}", root.0) })?;
    if path.starts_with('/') {
        return Err(OpError::OutsideRoot);
    }
    if path.contains('\0') {
        return Err(OpError::Unsupported { what: "a NUL in a path".to_owned() });
    }
    if path.len() > PATH_MAX {
        return Err(OpError::NameTooLong);
    }
    let mut walk = Walk {
        state,
        root,
        inside: Vec::new(),
        leaf: None,
        missing: Vec::new(),
        steps: VecDeque::new(),
        links: 0,
        scope,
        final_link: None,
    };
    walk.enter(root)?;
    walk.push_front(components(path.as_bytes()), None);
    while let Some(step) = walk.steps.pop_front() {
        if let Some(dangling) = walk.step(step, last)? {
            return walk.held(dangling);
        }
    }
    walk.spot().and_then(|spot| walk.held(spot))
}

impl<'a> Walk<'a> {
    /// Goes to a root's directory, if that is still where it was opened.
    fn enter(&mut self, root: &'a RootDir) -> Result<(), OpError> {
        if self.state.tree.find(&root.path) != Some(root.ino) {
            return Err(OpError::RootReplaced { path: root.path.clone() });
        }
        self.root = root;
        self.inside.clear();
        Ok(())
    }

    fn push_front<'b>(&mut self, names: impl DoubleEndedIterator<Item = &'b [u8]>, of_link: Option<usize>) {
        for name in names.rev() {
            self.steps.push_front(Step { name: name.to_vec(), of_link });
        }
    }

    /// Takes one step; returns the place where the path ends if its final link dangles.
    fn step(&mut self, step: Step, last: Last) -> Result<Option<Spot>, OpError> {
        if step.name.len() > NAME_MAX {
            return Err(OpError::NameTooLong);
        }
        if self.leaf.is_some() {
            return Err(OpError::NotDirectory { path: self.here()?.to_string() });
        }
        if step.name != b".." && !self.passes(&step.name)? {
            return Err(OpError::OutsideRoot);
        }
        if step.name == b".." {
            if !self.missing.is_empty() {
                return Err(OpError::NotFound { path: self.here()?.to_string() });
            }
            if self.inside.pop().is_none() {
                let mut above = bytes_of(&self.root.path);
                above.pop();
                match step.of_link {
                    Some(link) => self.leave(link, above)?,
                    // From the top of a root that is in another one.
                    None => self.enter_root(&above, None)?,
                }
            }
            return Ok(None);
        }
        let name = String::from_utf8(step.name)
            .map_err(|_| OpError::Unsupported { what: "a name that is not UTF-8 in a path".to_owned() })?;
        if !self.missing.is_empty() {
            self.missing.push(name);
            return Ok(None);
        }
        let directory = self.directory();
        if self.state.tree.node(directory).mode & 0o100 == 0 {
            return Err(OpError::PermissionDenied { path: self.here()?.to_string() });
        }
        let Some(ino) = self.state.tree.lookup(directory, name.as_bytes()) else {
            if step.of_link.is_none() {
                self.missing.push(name);
                return Ok(None);
            }
            return match self.final_link.take() {
                Some(link) => Ok(Some(link)),
                // A directory cannot be made through a link that leads nowhere.
                None => Err(OpError::NotFound { path: child(&self.here()?, &name)?.to_string() }),
            };
        };
        match &self.state.tree.node(ino).body {
            Body::Directory(_) => self.inside.push((ino, name)),
            Body::Link(text) if !self.steps.is_empty() || last == Last::Follow => {
                self.follow(ino, &name, text)?;
            }
            _ => self.leaf = Some((ino, name)),
        }
        Ok(None)
    }

    /// Follows a link in the current directory.
    fn follow(&mut self, ino: Ino, name: &str, text: &'a [u8]) -> Result<(), OpError> {
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(OpError::Loop);
        }
        let here = self.here()?;
        if self.steps.is_empty() && self.final_link.is_none() {
            self.final_link = Some(Spot { path: child(&here, name)?, ino: Some(ino), is_root: false });
        }
        self.push_front(components(text), Some(self.links));
        if text.starts_with(b"/") { self.leave(self.links, Vec::new()) } else { Ok(()) }
    }

    /// Goes on from the root that a link's text leads back into, from a directory above the roots: its next names, up
    /// to a `..`, have to begin with a root's spelling.
    fn leave(&mut self, link: usize, mut above: Vec<Vec<u8>>) -> Result<(), OpError> {
        let names = self.steps.iter().take_while(|step| step.of_link == Some(link));
        let names: Vec<Vec<u8>> = names.map(|step| step.name.clone()).collect();
        let ups = names.iter().take_while(|name| *name == b"..").count();
        above.truncate(above.len().saturating_sub(ups));
        let plain = names[ups..].iter().take_while(|name| *name != b"..").count();
        above.extend_from_slice(&names[ups..ups + plain]);
        self.steps.drain(..ups + plain);
        self.enter_root(&above, Some(link))
    }

    /// Goes on from the root of which a spelling holds the absolute path of `names`.
    fn enter_root(&mut self, names: &[Vec<u8>], of_link: Option<usize>) -> Result<(), OpError> {
        let roots = &self.state.roots;
        let spellings = roots
            .iter()
            .enumerate()
            .filter(|(id, _)| self.scope.enters(RootId(*id as u32)))
            .flat_map(|(_, root)| root.spellings.iter().map(move |spelling| (root, spelling)))
            .filter_map(|(root, spelling)| Some((root, rest_below(names, spelling)?)));
        // The most specific root is the one that leaves the least to walk.
        let (root, rest) = spellings.min_by_key(|(_, rest)| rest.len()).ok_or(OpError::OutsideRoot)?;
        self.enter(root)?;
        self.push_front(rest.iter().map(Vec::as_slice), of_link);
        Ok(())
    }

    /// Tells whether the walk may look at a name.
    fn passes(&self, name: &[u8]) -> Result<bool, OpError> {
        let mut names = bytes_of(&self.here()?);
        names.push(name.to_vec());
        Ok(self.scope.passes(&names))
    }

    fn held(&self, spot: Spot) -> Result<Spot, OpError> {
        if self.scope.holds(&spot.path) { Ok(spot) } else { Err(OpError::OutsideRoot) }
    }

    fn directory(&self) -> Ino {
        self.inside.last().map_or(self.root.ino, |(ino, _)| *ino)
    }

    /// Returns the path walked so far.
    fn here(&self) -> Result<TargetPath, OpError> {
        let directories = self.inside.iter().map(|(_, name)| name);
        let rest = self.leaf.iter().map(|(_, name)| name).chain(&self.missing);
        directories.chain(rest).try_fold(self.root.path.clone(), |path, name| child(&path, name))
    }

    fn spot(&self) -> Result<Spot, OpError> {
        let ino = match &self.leaf {
            Some((ino, _)) => Some(*ino),
            None if self.missing.is_empty() => Some(self.directory()),
            None => None,
        };
        let is_root = self.leaf.is_none() && self.missing.is_empty() && self.inside.is_empty();
        Ok(Spot { path: self.here()?, ino, is_root })
    }
}

fn components(text: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    text.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."))
}

fn bytes_of(path: &TargetPath) -> Vec<Vec<u8>> {
    path.components().map(|name| name.as_bytes().to_vec()).collect()
}

fn rest_below<'a>(whole: &'a [Vec<u8>], base: &TargetPath) -> Option<&'a [Vec<u8>]> {
    base.components().try_fold(whole, |rest, name| {
        let (first, rest) = rest.split_first()?;
        (first == name.as_bytes()).then_some(rest)
    })
}

/// Appends a name; what is too long for a path is the target's error.
pub(super) fn child(path: &TargetPath, name: &str) -> Result<TargetPath, OpError> {
    path.child(name).map_err(|error| match error {
        PathError::TooLong(_) | PathError::NameTooLong(_) => OpError::NameTooLong,
        other => OpError::Unsupported { what: other.to_string() },
    })
}

/// Finds the physical directory that a path leads to, through any links.
pub(super) fn physical_directory(tree: &Tree, path: &TargetPath) -> Result<(TargetPath, Ino), OpError> {
    let found = follow_anywhere(tree, path.as_str().as_bytes(), Last::Follow)?;
    let Some(ino) = found.ino else { return Err(OpError::NotFound { path: path.to_string() }) };
    if tree.names(ino).is_none() {
        return Err(OpError::NotDirectory { path: path.to_string() });
    }
    let names = found.names.into_iter().map(|name| {
        String::from_utf8(name)
            .map_err(|_| OpError::Unsupported { what: "a root whose name is not UTF-8".to_owned() })
    });
    let physical = names
        .collect::<Result<Vec<_>, _>>()?
        .iter()
        .try_fold(TargetPath::root(), |path, name| child(&path, name))?;
    Ok((physical, ino))
}

/// Where an absolute path leads for a process that nothing restricts.
pub(super) struct Anywhere {
    /// The names from `/` on, free of links.
    pub(super) names: Vec<Vec<u8>>,
    /// The directory that holds the last name.
    pub(super) directory: Ino,
    /// What is there; the parents always are.
    pub(super) ino: Option<Ino>,
}

/// Walks an absolute path as the kernel does.
pub(super) fn follow_anywhere(tree: &Tree, path: &[u8], last: Last) -> Result<Anywhere, OpError> {
    let not_found = || OpError::NotFound { path: super::tree::shown(path) };
    let mut steps: VecDeque<Vec<u8>> = components(path).map(<[u8]>::to_vec).collect();
    let mut names: Vec<(Vec<u8>, Ino)> = Vec::new();
    let mut links = 0;
    while let Some(step) = steps.pop_front() {
        let at = names.last().map_or(TOP, |(_, ino)| *ino);
        if step == b".." {
            names.pop();
            continue;
        }
        if tree.names(at).is_none() {
            return Err(OpError::NotDirectory { path: super::tree::shown(path) });
        }
        match tree.lookup(at, &step) {
            None if steps.is_empty() => {
                let names = names.into_iter().map(|(name, _)| name).chain([step]).collect();
                return Ok(Anywhere { names, directory: at, ino: None });
            }
            None => return Err(not_found()),
            Some(ino) => match &tree.node(ino).body {
                Body::Link(text) if !steps.is_empty() || last == Last::Follow => {
                    links += 1;
                    if links > LINKS_MAX {
                        return Err(OpError::Loop);
                    }
                    if text.starts_with(b"/") {
                        names.clear();
                    }
                    for name in components(text).rev() {
                        steps.push_front(name.to_vec());
                    }
                }
                _ => names.push((step, ino)),
            },
        }
    }
    let ino = names.last().map_or(TOP, |(_, ino)| *ino);
    let directory = names.len().checked_sub(2).map_or(TOP, |index| names[index].1);
    Ok(Anywhere { names: names.into_iter().map(|(name, _)| name).collect(), directory, ino: Some(ino) })
}
