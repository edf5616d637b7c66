//! Where a requested path leads: the one function for location.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::{Base, Code, Fact, Refusal, RequestedPath, TargetPath};

/// A root that a target has opened; meaningful only to the target that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct RootId(pub u32);

/// What may be done below a root, or by an actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Access {
    /// Reading only.
    #[serde(rename = "ro")]
    ReadOnly,
    /// Reading and writing.
    #[serde(rename = "rw")]
    ReadWrite,
}

/// One opened root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootEntry {
    /// The target's handle of it.
    pub id: RootId,
    /// Its physical path on the target, free of links.
    pub physical: TargetPath,
    /// Other spellings under which a caller may name it (the path it was opened by, where that leads through a
    /// link).
    pub aliases: Vec<TargetPath>,
    /// What may be done below it.
    pub access: Access,
}

/// The roots of a guard; the first is the base of relative paths.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roots {
    pub(crate) entries: Vec<RootEntry>,
}

/// Where a requested path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The root that the target resolves it from.
    pub root: RootId,
    /// The path below that root's directory, as the target walks it: without leading or trailing slash, `..` only
    /// after a name; empty for the root itself.
    pub path: String,
    /// Where it should arrive.
    pub expected: Expected,
}

/// Where a path should arrive, if no link is in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// The path that the target has to reach.
    Path(TargetPath),
    /// The path has `..` after a name, which only the target can resolve: stat it first.
    AskTarget,
}

impl Roots {
    /// Takes the opened roots; the first is the base of relative paths.
    #[must_use]
    pub fn new(entries: Vec<RootEntry>) -> Self {
        Self { entries }
    }

    /// Returns the entries.
    #[must_use]
    pub fn entries(&self) -> &[RootEntry] {
        &self.entries
    }

    /// Locates what a caller typed, by its text alone.
    ///
    /// `..` is taken away where it certainly means the directory above: a root's physical path has no links in it.
    /// After any other name only the target can tell where it leads, so that the path is kept as it was typed and
    /// the target is asked; outside every root it is refused.
    ///
    /// # Errors
    ///
    /// `outside-root` where it is outside every root by its text alone; `state-unavailable` where `~` is used and
    /// the target's home is not known; `invalid-path` where the user has no home or the path gets too long.
    pub fn locate(
        &self,
        requested: &RequestedPath,
        home: Fact<Option<&TargetPath>>,
    ) -> Result<Located, Refusal> {
        let typed = requested.as_str();
        let base = match (requested.base(), home) {
            (Base::Absolute, _) => None,
            (Base::FirstRoot, _) => match self.entries.first() {
                Some(first) => Some(&first.physical),
                None => return Err(self.outside(typed)),
            },
            (Base::Home, Fact::Known(Some(home))) => Some(home),
            (Base::Home, Fact::Known(None)) => {
                return Err(Refusal::new(Code::InvalidPath, typed, "the user of the target has no home"));
            }
            (Base::Home, Fact::Unknown) => {
                return Err(Refusal::new(Code::StateUnavailable, typed, "its home directory is not known"));
            }
        };
        let mut names: Vec<&str> = base.into_iter().flat_map(TargetPath::components).collect();
        for (at, step) in requested.steps().iter().enumerate() {
            if step != ".." {
                names.push(step);
                continue;
            }
            names = self.physical(names);
            if self.leads_to_a_root(&names) {
                names.pop();
                continue;
            }
            // The outermost root: the path may come out of an inner one and still stay in the outer.
            let outermost = self.entries.iter().filter(|root| below(&names, &root.physical).is_some());
            let Some(root) = outermost.min_by_key(|root| root.physical.as_str().len()) else {
                return Err(self.outside(typed));
            };
            let walked = below(&names, &root.physical).unwrap_or_default().iter().copied();
            let path: Vec<&str> = walked.chain(requested.steps()[at..].iter().map(String::as_str)).collect();
            return Ok(Located { root: root.id, path: path.join("/"), expected: Expected::AskTarget });
        }
        let path = TargetPath::new(format!("/{}", self.physical(names).join("/")))
            .map_err(|error| Refusal::invalid_path(typed, error))?;
        let root = self.holding(&path).ok_or_else(|| self.outside(typed))?;
        let below = path.below(&root.physical).unwrap_or_default().to_owned();
        Ok(Located { root: root.id, path: below, expected: Expected::Path(path) })
    }

    /// Returns the most specific root that holds `path`, by whole components of physical paths.
    ///
    /// Case is never folded here: another spelling is another place until the target says otherwise.
    #[must_use]
    pub fn holding(&self, path: &TargetPath) -> Option<&RootEntry> {
        let holding = self.entries.iter().filter(|root| path.starts_with(&root.physical));
        // One directory that was opened twice has the lesser of both rights.
        holding.max_by_key(|root| (root.physical.as_str().len(), Reverse(root.access)))
    }

    /// Replaces the longest spelling of a root that `names` begin with by the root's physical path.
    fn physical<'a>(&'a self, names: Vec<&'a str>) -> Vec<&'a str> {
        let spellings = self.entries.iter().flat_map(|root| {
            std::iter::once(&root.physical)
                .chain(&root.aliases)
                .map(move |spelling| (spelling, &root.physical))
        });
        let longest = spellings
            .filter_map(|(spelling, physical)| Some((below(&names, spelling)?.len(), physical)))
            .min_by_key(|(left, _)| *left);
        match longest {
            Some((left, physical)) => {
                physical.components().chain(names[names.len() - left..].iter().copied()).collect()
            }
            None => names,
        }
    }

    /// Tells whether `names` are a root's physical path or begin one, and so have no link in them.
    fn leads_to_a_root(&self, names: &[&str]) -> bool {
        names.is_empty()
            || self.entries.iter().any(|root| {
                let mut components = root.physical.components();
                names.iter().all(|name| components.next() == Some(name))
            })
    }

    /// Returns the absolute path that a typed path spells if `..` is folded by its text, whatever links are in it.
    ///
    /// It is no location: only what is denied may be judged by it.
    pub(crate) fn folded(&self, requested: &RequestedPath, home: Fact<Option<&TargetPath>>) -> String {
        let base = match (requested.base(), home) {
            (Base::FirstRoot, _) => self.entries.first().map(|first| &first.physical),
            (Base::Home, Fact::Known(home)) => home,
            (Base::Home, Fact::Unknown) | (Base::Absolute, _) => None,
        };
        let mut names: Vec<&str> = base.into_iter().flat_map(TargetPath::components).collect();
        for step in requested.steps() {
            if step == ".." {
                names.pop();
            } else {
                names.push(step);
            }
        }
        format!("/{}", self.physical(names).join("/"))
    }

    /// Refuses a path, naming it as it was typed and the first root, and nothing that lies outside.
    pub(crate) fn outside(&self, typed: &str) -> Refusal {
        Refusal::new(Code::OutsideRoot, typed, &self.workspace())
    }

    /// Refuses a path that leads out of the roots by what the target found in it, naming it as it was typed and the first
    /// root, and nothing that lies outside.
    #[must_use]
    pub fn led_outside(&self, typed: &str) -> Refusal {
        let detail = format!("it leads out through a link or `..`; {}", self.workspace());
        Refusal::new(Code::OutsideRoot, typed, &detail)
    }

    fn workspace(&self) -> String {
        match self.entries.first() {
            Some(first) => format!("the workspace is `{}`", first.physical),
            None => "no root is open".to_owned(),
        }
    }
}

/// Returns the names below `base`, by whole components.
fn below<'n, 'a>(names: &'n [&'a str], base: &TargetPath) -> Option<&'n [&'a str]> {
    let mut left = names;
    for component in base.components() {
        let (first, rest) = left.split_first()?;
        if *first != component {
            return None;
        }
        left = rest;
    }
    Some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> TargetPath {
        TargetPath::new(text).unwrap()
    }

    fn root(id: u32, physical: &str, aliases: &[&str], access: Access) -> RootEntry {
        let aliases = aliases.iter().map(|alias| path(alias)).collect();
        RootEntry { id: RootId(id), physical: path(physical), aliases, access }
    }

    /// `Ok("0 /ws/a = a")`: the root, where it should arrive, and the path below the root.
    fn located(roots: &Roots, home: Fact<Option<&TargetPath>>, text: &str) -> Result<String, Code> {
        let requested = RequestedPath::parse(text).unwrap();
        roots.locate(&requested, home).map_err(|refusal| refusal.code).map(|located| {
            let expected = match &located.expected {
                Expected::Path(path) => path.to_string(),
                Expected::AskTarget => "ask".to_owned(),
            };
            format!("{} {expected} = {}", located.root.0, located.path)
        })
    }

    fn check(roots: &Roots, home: Fact<Option<&TargetPath>>, cases: &[(&str, Result<&str, Code>)]) {
        for (text, expected) in cases {
            assert_eq!(located(roots, home, text), expected.map(str::to_owned), "{text:?}");
        }
    }

    const OUTSIDE: Result<&str, Code> = Err(Code::OutsideRoot);

    #[test]
    fn a_path_is_located_by_its_text_below_one_root() {
        let roots = Roots::new(vec![root(0, "/ws", &[], Access::ReadWrite)]);
        check(
            &roots,
            Fact::Unknown,
            &[
                ("a", Ok("0 /ws/a = a")),
                ("./a//b/", Ok("0 /ws/a/b = a/b")),
                (".", Ok("0 /ws = ")),
                ("/ws", Ok("0 /ws = ")),
                ("/ws/", Ok("0 /ws = ")),
                ("//ws/a", Ok("0 /ws/a = a")),
                ("/ws/a", Ok("0 /ws/a = a")),
                ("~root", Ok("0 /ws/~root = ~root")),
                ("$HOME/x", Ok("0 /ws/$HOME/x = $HOME/x")),
                ("%2e%2e/x", Ok("0 /ws/%2e%2e/x = %2e%2e/x")),
                // By whole components, and never by folded case.
                ("/ws2/a", OUTSIDE),
                ("/ws-evil/a", OUTSIDE),
                ("/WS/a", OUTSIDE),
                ("/w", OUTSIDE),
                ("/", OUTSIDE),
                ("/etc/passwd", OUTSIDE),
                // `..` in the root's own components is text.
                ("..", OUTSIDE),
                ("../x", OUTSIDE),
                ("../../../x", OUTSIDE),
                ("../ws", Ok("0 /ws = ")),
                ("../ws/y", Ok("0 /ws/y = y")),
                ("../../ws/y", Ok("0 /ws/y = y")),
                ("../ws/../ws/y", Ok("0 /ws/y = y")),
                ("/../ws/y", Ok("0 /ws/y = y")),
                ("/ws/../ws/y", Ok("0 /ws/y = y")),
                ("/ws/../etc/passwd", OUTSIDE),
                ("../ws2/y", OUTSIDE),
                // `..` after a name below the root is the target's to resolve.
                ("a/..", Ok("0 ask = a/..")),
                ("a/../b", Ok("0 ask = a/../b")),
                ("./a//../b/", Ok("0 ask = a/../b")),
                ("/ws/a/../b", Ok("0 ask = a/../b")),
                ("../ws/a/../b", Ok("0 ask = a/../b")),
                ("a/../../../etc/passwd", Ok("0 ask = a/../../../etc/passwd")),
                // `..` after a name outside every root is nobody's to judge.
                ("/tmp/../ws/b", OUTSIDE),
                ("../other/../ws/b", OUTSIDE),
                ("/ws/../tmp/../ws/b", OUTSIDE),
            ],
        );
    }

    #[test]
    fn the_most_specific_root_wins() {
        let roots = Roots::new(vec![
            root(0, "/ws", &[], Access::ReadWrite),
            root(1, "/ws/vendor", &[], Access::ReadOnly),
            root(2, "/data/sets", &[], Access::ReadOnly),
        ]);
        check(
            &roots,
            Fact::Unknown,
            &[
                ("vendor", Ok("1 /ws/vendor = ")),
                ("vendor/x", Ok("1 /ws/vendor/x = x")),
                ("vendor2/x", Ok("0 /ws/vendor2/x = vendor2/x")),
                ("/data/sets/x", Ok("2 /data/sets/x = x")),
                ("/data/x", OUTSIDE),
                // Out of a root that is inside another, by text and by the target.
                ("vendor/../x", Ok("0 /ws/x = x")),
                ("vendor/a/../../x", Ok("0 ask = vendor/a/../../x")),
                ("/data/sets/a/../x", Ok("2 ask = a/../x")),
                ("../data/sets/x", Ok("2 /data/sets/x = x")),
                ("../data/../ws/x", Ok("0 /ws/x = x")),
            ],
        );
        let twice = Roots::new(vec![
            root(0, "/ws", &[], Access::ReadWrite),
            root(1, "/ws", &[], Access::ReadOnly),
            root(2, "/ws", &[], Access::ReadWrite),
        ]);
        assert_eq!(twice.holding(&path("/ws/a")).map(|root| root.id), Some(RootId(1)));
    }

    #[test]
    fn every_spelling_of_a_root_leads_to_its_physical_path() {
        let roots = Roots::new(vec![
            root(0, "/private/tmp/ws", &["/tmp/ws"], Access::ReadWrite),
            root(1, "/data", &["/private/tmp/ws/data", "/tmp/ws/data"], Access::ReadOnly),
        ]);
        check(
            &roots,
            Fact::Unknown,
            &[
                ("a", Ok("0 /private/tmp/ws/a = a")),
                ("/private/tmp/ws/a", Ok("0 /private/tmp/ws/a = a")),
                ("/tmp/ws/a", Ok("0 /private/tmp/ws/a = a")),
                ("/tmp/ws", Ok("0 /private/tmp/ws = ")),
                ("/tmp/ws2", OUTSIDE),
                ("/tmp/ws/../x", OUTSIDE),
                ("/tmp/ws/../ws/x", Ok("0 /private/tmp/ws/x = x")),
                ("/tmp/ws/a/../b", Ok("0 ask = a/../b")),
                // The alias of a root inside another root: the longer spelling wins.
                ("data/x", Ok("1 /data/x = x")),
                ("/tmp/ws/data/x", Ok("1 /data/x = x")),
                ("/tmp/ws/data/../x", OUTSIDE),
                // The directory above an alias is not known by text.
                ("/tmp/../private/tmp/ws/x", OUTSIDE),
            ],
        );
    }

    #[test]
    fn home_is_the_targets_or_nobodys() {
        let roots = Roots::new(vec![root(0, "/home/u/ws", &[], Access::ReadWrite)]);
        let home = path("/home/u");
        check(
            &roots,
            Fact::Known(Some(&home)),
            &[
                ("~", OUTSIDE),
                ("~/x", OUTSIDE),
                ("~/ws", Ok("0 /home/u/ws = ")),
                ("~/ws/x", Ok("0 /home/u/ws/x = x")),
                ("~/../u/ws/x", Ok("0 /home/u/ws/x = x")),
                ("~/ws/a/../x", Ok("0 ask = a/../x")),
                ("~u/ws/x", Ok("0 /home/u/ws/~u/ws/x = ~u/ws/x")),
            ],
        );
        check(
            &roots,
            Fact::Unknown,
            &[("~/ws/x", Err(Code::StateUnavailable)), ("x", Ok("0 /home/u/ws/x = x"))],
        );
        check(
            &roots,
            Fact::Known(None),
            &[("~/ws/x", Err(Code::InvalidPath)), ("x", Ok("0 /home/u/ws/x = x"))],
        );
    }

    #[test]
    fn the_whole_filesystem_can_be_a_root() {
        let roots = Roots::new(vec![root(0, "/", &[], Access::ReadWrite)]);
        check(
            &roots,
            Fact::Unknown,
            &[
                ("a", Ok("0 /a = a")),
                ("/", Ok("0 / = ")),
                ("..", Ok("0 / = ")),
                ("/../../x", Ok("0 /x = x")),
                ("/tmp/../x", Ok("0 ask = tmp/../x")),
            ],
        );
    }

    #[test]
    fn without_a_root_everything_is_outside() {
        let home = path("/home/u");
        check(
            &Roots::default(),
            Fact::Known(Some(&home)),
            &[("a", OUTSIDE), ("/a", OUTSIDE), ("~/a", OUTSIDE), ("/", OUTSIDE)],
        );
    }

    #[test]
    fn a_refusal_names_what_was_typed_and_the_root_and_nothing_outside() {
        let roots = Roots::new(vec![
            root(0, "/ws", &["/alias"], Access::ReadWrite),
            root(1, "/else", &[], Access::ReadWrite),
        ]);
        let home = path("/home/secret-name");
        let requested = RequestedPath::parse("~/x").unwrap();
        let refusal = roots.locate(&requested, Fact::Known(Some(&home))).unwrap_err();
        assert_eq!(refusal.message, "`~/x` is outside the workspace: the workspace is `/ws`.");
    }

    #[test]
    fn a_path_that_gets_too_long_below_the_root_is_refused() {
        let roots = Roots::new(vec![root(0, "/workspace", &[], Access::ReadWrite)]);
        let deep = "a/".repeat(2047) + "a";
        assert_eq!(located(&roots, Fact::Unknown, &deep), Err(Code::InvalidPath));
    }
}
