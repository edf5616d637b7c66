//! The rule of links, as a model of texts: no directory is held, and no system is asked.

use std::collections::VecDeque;

use guard_core::port::Last;

use crate::answer::Answer;
use crate::scene::{Node, ROOTS, Request, Scene};

/// The rule, and in what it is meant to differ.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rule {
    /// Wrong: `..` behind a name takes the name away, where a link's text leaves the root.
    pub(crate) by_text: bool,
}

/// Names to be walked: those of the request, or of a link's text.
struct Level {
    names: VecDeque<String>,
    /// What is missing is missing in the request, and not behind a link.
    of_request: bool,
}

struct Walk<'a> {
    rule: Rule,
    scene: &'a Scene,
    request: &'a Request,
    root: String,
    at: String,
    todo: Vec<Level>,
    links: u32,
    final_link: Option<String>,
}

impl Rule {
    pub(crate) fn answer(self, scene: &Scene, request: &Request) -> Answer {
        let root = scene.root(request.root);
        let names = Level { names: split(&request.path), of_request: true };
        let (at, todo) = (root.clone(), vec![names]);
        let mut walk = Walk { rule: self, scene, request, root, at, todo, links: 0, final_link: None };
        let answer = loop {
            if let Some(answer) = walk.step() {
                break answer;
            }
        };
        match answer {
            Answer::Leads(at, _) if !walk.is_held(&at) => Answer::Outside,
            answer => answer,
        }
    }
}

impl Walk<'_> {
    fn step(&mut self) -> Option<Answer> {
        while self.todo.last().is_some_and(|names| names.names.is_empty()) {
            self.todo.pop();
        }
        let Some(names) = self.todo.last_mut() else {
            return Some(Answer::Leads(self.at.clone(), "directory"));
        };
        let name = names.names.pop_front().unwrap();
        if name == ".." {
            if self.at != self.root {
                self.at.truncate(self.at.rfind('/').unwrap());
                return None;
            }
            let above = split(&self.root[..self.root.rfind('/').unwrap()]).into();
            // A request only goes on where that is in a root again.
            return if names.of_request { self.enter_root(above) } else { self.leave(above) };
        }
        let here = format!("{}/{name}", self.at);
        if !self.is_passed(&here) {
            return Some(Answer::Outside);
        }
        let is_last = self.todo.iter().all(|names| names.names.is_empty());
        match self.scene.tree.get(&here) {
            None => Some(self.missing(&here)),
            Some(Node::Link(text)) if !is_last || self.request.last == Last::Follow => {
                self.links += 1;
                if self.links > 40 {
                    return Some(Answer::Loop);
                }
                if is_last && self.final_link.is_none() {
                    self.final_link = Some(here);
                }
                self.todo.push(Level { names: split(text), of_request: false });
                if text.starts_with('/') { self.leave(Vec::new()) } else { None }
            }
            Some(Node::Link(_)) => Some(Answer::Leads(here, "link")),
            Some(Node::File) if is_last => Some(Answer::Leads(here, "file")),
            Some(Node::File) => Some(Answer::NotDirectory),
            Some(Node::Directory) => {
                self.at = here;
                None
            }
        }
    }

    /// From a directory above the roots, the next names have to lead into a root by one of its spellings.
    fn leave(&mut self, mut above: Vec<String>) -> Option<Answer> {
        let names = &mut self.todo.last_mut().unwrap().names;
        let mut is_behind_a_name = false;
        while let Some(name) = names.front() {
            if name == ".." && is_behind_a_name && !self.rule.by_text {
                break;
            }
            match names.pop_front().unwrap() {
                name if name == ".." => drop(above.pop()),
                name => {
                    is_behind_a_name = true;
                    above.push(name);
                }
            }
        }
        self.enter_root(above)
    }

    fn enter_root(&mut self, mut path: Vec<String>) -> Option<Answer> {
        let spellings = ROOTS
            .iter()
            .enumerate()
            .filter(|(index, _)| self.request.roots.as_ref().is_none_or(|roots| roots.contains(index)));
        let led = spellings.flat_map(|(_, (spelling, root))| [(spelling, root), (root, root)]);
        let led = led.filter_map(|(spelling, root)| {
            let spelling = split(&self.scene.at(spelling));
            let is_below = spelling.len() <= path.len() && spelling.iter().eq(&path[..spelling.len()]);
            is_below.then_some((spelling.len(), root))
        });
        let Some((length, root)) = led.max_by_key(|(length, _)| *length) else {
            return Some(Answer::Outside);
        };
        for name in path.drain(length..).rev() {
            self.todo.last_mut().unwrap().names.push_front(name);
        }
        self.root = self.scene.at(root);
        self.at.clone_from(&self.root);
        None
    }

    fn missing(&mut self, here: &str) -> Answer {
        let rest = self.todo.pop().unwrap();
        if !rest.of_request {
            // What dangles is told as itself, where it is the end of the path.
            return self.final_link.clone().map_or(Answer::Missing, |link| Answer::Leads(link, "link"));
        }
        if rest.names.iter().any(|name| name == "..") {
            return Answer::Missing;
        }
        let names = std::iter::once(here.to_owned()).chain(rest.names);
        Answer::Leads(names.collect::<Vec<_>>().join("/"), "nothing")
    }

    /// Tells whether a path is in what the request is held to.
    fn is_held(&self, path: &str) -> bool {
        self.request.within.as_ref().is_none_or(|within| within.iter().any(|held| is_in(path, held)))
    }

    /// Tells whether a path is in what the request is held to, or on the way to it.
    fn is_passed(&self, path: &str) -> bool {
        let is_passed = |held: &String| is_in(path, held) || is_in(held, path);
        self.request.within.as_ref().is_none_or(|within| within.iter().any(is_passed))
    }
}

pub(crate) fn is_in(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

pub(crate) fn split(text: &str) -> VecDeque<String> {
    text.split('/').filter(|name| !matches!(*name, "" | ".")).map(str::to_owned).collect()
}
