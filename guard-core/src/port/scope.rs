//! How far a request reaches.

use guard_policy::{RootId, TargetPath};

/// What the actor of a request reaches: where a link may lead to.
///
/// A target has the roots of all actors open. What lies in those of others is outside for this request, whether it is
/// there or not, and so is what no directory of [`Self::within`] holds: it is [`super::OpError::OutsideRoot`], before
/// anything is told, read or opened there.
///
/// The default reaches every root that is open.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Scope {
    /// The roots that a link may lead into; `None` for every one that is open. The root that a path starts from needs
    /// no mention.
    pub roots: Option<Vec<RootId>>,
    /// Directories of which one has to hold what a path leads to, and on the way to which every name of the path is;
    /// `None` where nothing else is asked of it.
    pub within: Option<Vec<TargetPath>>,
}

impl Scope {
    /// Tells whether a link may lead into a root.
    #[must_use]
    pub fn enters(&self, root: RootId) -> bool {
        self.roots.as_ref().is_none_or(|roots| roots.contains(&root))
    }

    /// Tells whether a path may lead through these names, from `/` on, as it is walked: to a directory of
    /// [`Self::within`], in one, or above one.
    #[must_use]
    pub fn passes<N: AsRef<[u8]>>(&self, names: &[N]) -> bool {
        let is_on_the_way = |directory: &TargetPath| {
            directory.components().zip(names).all(|(held, name)| held.as_bytes() == name.as_ref())
        };
        self.within.as_ref().is_none_or(|within| within.iter().any(is_on_the_way))
    }

    /// Tells whether a path may lead to a place at its end.
    #[must_use]
    pub fn holds(&self, place: &TargetPath) -> bool {
        self.within.as_ref().is_none_or(|within| within.iter().any(|directory| place.starts_with(directory)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_passes_on_the_way_to_what_holds_its_end() {
        let path = |text: &str| TargetPath::new(text).unwrap();
        let scope = Scope { within: Some(vec![path("/ws/docs"), path("/ws/a/b")]), ..Scope::default() };
        for (text, passes, holds) in [
            ("/", true, false),
            ("/ws", true, false),
            ("/ws/docs", true, true),
            ("/ws/docs/x/y", true, true),
            ("/ws/a", true, false),
            ("/ws/a/b", true, true),
            ("/ws/a/c", false, false),
            ("/ws/docs-evil", false, false),
            ("/etc", false, false),
        ] {
            let path = path(text);
            let names: Vec<&str> = path.components().collect();
            assert_eq!((scope.passes(&names), scope.holds(&path)), (passes, holds), "{text}");
            assert!(Scope::default().passes(&names) && Scope::default().holds(&path));
        }
        let nothing = Scope { within: Some(Vec::new()), ..Scope::default() };
        assert!(!nothing.passes(&["ws"]) && !nothing.holds(&path("/ws")), "held to nothing");
    }

    #[test]
    fn a_link_enters_the_roots_that_are_named() {
        let named = Scope { roots: Some(vec![RootId(1)]), ..Scope::default() };
        assert!(named.enters(RootId(1)) && !named.enters(RootId(0)));
        assert!(Scope::default().enters(RootId(0)));
    }
}
