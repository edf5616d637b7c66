//! What an actor may do: restrictions, which only ever add up.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::{Access, Code, Refusal, TargetPath, Tool};

/// What an actor may do; a child has no more than its parent.
///
/// Rights restrict and never grant: what the policy and the roots of the guard refuse stays refused.
///
/// # Examples
///
/// ```
/// use guard_policy::{Access, Held, PathError, Rights, TargetPath, Tool, Within};
///
/// let reader = Rights { access: Access::ReadOnly, ..Rights::default() };
/// let no_patches = Rights { disabled: [Tool::ApplyPatch].into(), ..Rights::default() };
/// let docs = Within::new([(TargetPath::new("/ws/docs")?, Access::ReadWrite)]);
/// let in_docs = Rights { within: vec![docs], ..Rights::default() };
///
/// let all = reader.and(&no_patches).and(&in_docs);
/// assert!(all.disabled.contains(&Tool::ApplyPatch));
/// assert_eq!(all.held(&TargetPath::new("/ws/docs/a.md")?), Held::To(Access::ReadOnly));
/// assert_eq!(all.held(&TargetPath::new("/ws/src/a.rs")?), Held::Outside);
/// # Ok::<(), PathError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    /// Reading, or writing too.
    pub access: Access,
    /// Tools that do not exist for this actor.
    pub disabled: BTreeSet<Tool>,
    /// What the actor is held to: a path has to be allowed by each.
    pub within: Vec<Within>,
}

/// Directories that an actor is held to.
///
/// They are physical paths of the target, free of links, as [`crate::RootEntry::physical`] has them: what is judged by
/// them is such a path. Of several that hold a path the most specific one says what may be done; of one that is there
/// twice, the lesser. An empty set allows nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Within(Vec<(TargetPath, Access)>);

impl Within {
    /// Takes the directories.
    #[must_use]
    pub fn new(directories: impl IntoIterator<Item = (TargetPath, Access)>) -> Self {
        let mut directories: Vec<_> = directories.into_iter().collect();
        directories.sort();
        directories.dedup();
        Self(directories)
    }

    fn directories(&self) -> Vec<TargetPath> {
        self.0.iter().map(|(directory, _)| directory.clone()).collect()
    }

    fn access(&self, path: &TargetPath) -> Option<Access> {
        let holding = self.0.iter().filter(|(directory, _)| path.starts_with(directory));
        let most = holding.max_by_key(|(directory, access)| (directory.as_str().len(), Reverse(*access)));
        most.map(|(_, access)| *access)
    }
}

/// How many directories a refusal names at most.
const NAMED: usize = 4;

/// Where a path is, as far as an actor's rights go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Held {
    /// In every set of directories that the actor is held to; this is the most that may be done there.
    To(Access),
    /// Outside of one of them.
    Outside,
}

impl Default for Rights {
    fn default() -> Self {
        Self { access: Access::ReadWrite, disabled: BTreeSet::new(), within: Vec::new() }
    }
}

impl Rights {
    /// Returns the rights that both have.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let mut within = self.within.clone();
        within.extend(other.within.iter().filter(|directories| !self.within.contains(directories)).cloned());
        Self {
            access: self.access.min(other.access),
            disabled: self.disabled.union(&other.disabled).copied().collect(),
            within,
        }
    }

    /// Tells what may be done at a path, as far as these rights go.
    #[must_use]
    pub fn held(&self, path: &TargetPath) -> Held {
        let mut access = self.access;
        for directories in &self.within {
            match directories.access(path) {
                Some(here) => access = access.min(here),
                None => return Held::Outside,
            }
        }
        Held::To(access)
    }

    /// Returns the directories that the actor is held to, of all sets together; `None` if it is held to none.
    #[must_use]
    pub fn directories(&self) -> Option<Vec<TargetPath>> {
        let mut sets = self.within.iter().map(Within::directories);
        let first = sets.next()?;
        let mut both = sets.fold(first, |all, set| {
            let pairs = all.iter().flat_map(|one| set.iter().map(move |other| (one, other)));
            let deeper = pairs.filter_map(|(one, other)| {
                if one.starts_with(other) { Some(one) } else { other.starts_with(one).then_some(other) }
            });
            deeper.cloned().collect()
        });
        both.sort();
        both.dedup();
        Some(both)
    }

    /// Refuses a path that is outside of what the actor is held to, naming that and nothing that lies outside.
    #[must_use]
    pub fn outside(&self, requested: &str) -> Refusal {
        // A path has to be in each set: one that is in none of these directories is certainly refused.
        let narrowest = self.within.iter().min_by_key(|within| within.0.len());
        let named = narrowest.map(|within| {
            within.0.iter().take(NAMED).map(|(path, _)| format!("`{path}`")).collect::<Vec<_>>().join(", ")
        });
        let detail = match named.as_deref() {
            None | Some("") => "this actor is held to no directory".to_owned(),
            Some(named) => format!("this actor is held to {named}"),
        };
        Refusal::new(Code::OutsideRoot, requested, &detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> TargetPath {
        TargetPath::new(text).unwrap()
    }

    fn within(directories: &[(&str, Access)]) -> Rights {
        let directories = directories.iter().map(|(text, access)| (path(text), *access));
        Rights { within: vec![Within::new(directories)], ..Rights::default() }
    }

    #[test]
    fn rights_only_ever_add_up() {
        let one = within(&[("/ws", Access::ReadWrite), ("/ws/vendor", Access::ReadOnly)]);
        let other = within(&[("/ws/vendor", Access::ReadWrite), ("/ws/src", Access::ReadOnly)]);
        let both = one.and(&other);
        for (text, expected) in [
            ("/ws/vendor/a", Held::To(Access::ReadOnly)),
            ("/ws/src/a", Held::To(Access::ReadOnly)),
            ("/ws/a", Held::Outside),
            ("/ws-evil/vendor/a", Held::Outside),
            ("/", Held::Outside),
        ] {
            assert_eq!(both.held(&path(text)), expected, "{text}");
            assert_eq!(other.and(&one).held(&path(text)), expected, "{text}");
            let is_held =
                both.directories().unwrap().iter().any(|directory| path(text).starts_with(directory));
            assert_eq!(is_held, expected != Held::Outside, "{text}");
        }
        assert_eq!(Rights::default().directories(), None);
        assert_eq!(within(&[]).directories(), Some(Vec::new()));
        assert_eq!(both.and(&one).and(&other), both, "what is held to already adds nothing");
        assert_eq!(one.and(&Rights::default()), one);
        assert_eq!(within(&[]).held(&path("/ws")), Held::Outside, "an empty set allows nothing");
    }

    #[test]
    fn the_most_specific_directory_speaks_and_of_twice_the_same_the_lesser() {
        let rights = within(&[
            ("/ws", Access::ReadOnly),
            ("/ws/out", Access::ReadWrite),
            ("/ws/twice", Access::ReadWrite),
            ("/ws/twice", Access::ReadOnly),
        ]);
        assert_eq!(rights.held(&path("/ws/out/a")), Held::To(Access::ReadWrite));
        assert_eq!(rights.held(&path("/ws/a")), Held::To(Access::ReadOnly));
        assert_eq!(rights.held(&path("/ws/twice/a")), Held::To(Access::ReadOnly));
        let reader = Rights { access: Access::ReadOnly, ..rights };
        assert_eq!(reader.held(&path("/ws/out/a")), Held::To(Access::ReadOnly));
    }
}
