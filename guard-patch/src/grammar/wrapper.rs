//! What stands around a patch when a shell command carries it.

use crate::path;

/// The lines before the Begin line, as far as they are a shell command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wrapper {
    /// Where relative paths begin; empty for where the caller is.
    directory: String,
    /// The last line that is not blank was a `cd` command.
    changing: bool,
    /// The last line that is not blank cannot be told, and changes the directory.
    unclear: bool,
    /// The tag of the here-document, if the last line that is not blank opens one.
    tag: Option<String>,
}

/// What a line before the Begin line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    /// A part of the command.
    Command,
    /// Text that means nothing here.
    Prose,
}

impl Wrapper {
    /// Reads a line before the Begin line that is neither blank nor a fence.
    pub(crate) fn read(&mut self, line: &str) -> Outside {
        let before = std::mem::take(self);
        let Some(command) = tokens(line).and_then(|tokens| command(&tokens)) else {
            self.unclear = speaks_of_another_place(line);
            return if self.unclear { Outside::Command } else { Outside::Prose };
        };
        let start = if before.changing { before.directory } else { String::new() };
        match command.directories.iter().try_fold(start, |base, next| enter(&base, next)) {
            Some(directory) => self.directory = directory,
            None => self.unclear = true,
        }
        self.unclear |= before.unclear && before.changing;
        self.changing = command.tag.is_none();
        self.tag = command.tag;
        Outside::Command
    }

    /// Returns the directory in which the patch's relative paths begin; `None` if it cannot be told.
    pub(crate) fn directory(&self) -> Option<&str> {
        // A `cd` that no here-document follows: whether it is meant for the patch cannot be told.
        (!self.unclear && !self.changing).then_some(self.directory.as_str())
    }

    /// Says whether the patch is in a here-document.
    pub(crate) const fn heredoc(&self) -> bool {
        self.tag.is_some()
    }

    /// Says whether a line closes the here-document.
    pub(crate) fn closes(&self, line: &str) -> bool {
        self.tag.as_deref().is_some_and(|tag| line.trim_matches(super::BLANKS) == tag)
    }
}

/// Enters a directory from another.
fn enter(base: &str, next: &str) -> Option<String> {
    let next = next.strip_suffix('/').filter(|rest| !rest.is_empty()).unwrap_or(next);
    if next == "." {
        return Some(base.to_owned());
    }
    let next = path::normalize(next).ok()?;
    Some(path::join(base, &next))
}

/// Says whether a line that could not be read applies a patch after it changed the directory.
fn speaks_of_another_place(line: &str) -> bool {
    let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let changes = words.clone().any(|word| matches!(word, "cd" | "pushd" | "chdir"));
    changes && line.contains("<<") && words.any(|word| matches!(word, "apply_patch" | "applypatch"))
}

/// A shell command that feeds a patch to a program.
#[derive(Debug, PartialEq, Eq)]
struct Command {
    directories: Vec<String>,
    tag: Option<String>,
}

/// Reads `[cd DIR &&]... [apply_patch] <<TAG [| apply_patch]`, or only its first part.
fn command(mut tokens: &[Token]) -> Option<Command> {
    let mut directories = Vec::new();
    while let [Token::Word(cd), Token::Word(directory), rest @ ..] = tokens
        && cd == "cd"
    {
        directories.push(directory.clone());
        match rest {
            [] => return Some(Command { directories, tag: None }),
            [Token::Operator("&&" | ";"), rest @ ..] => tokens = rest,
            _ => return None,
        }
    }
    if tokens.is_empty() {
        return (!directories.is_empty()).then_some(Command { directories, tag: None });
    }
    let tokens = match tokens {
        [Token::Word(program), rest @ ..] if takes_patches(program) || program == "cat" => rest,
        tokens => tokens,
    };
    match tokens {
        [Token::Operator("<<" | "<<-"), Token::Word(tag), rest @ ..] => {
            let known = match rest {
                [] => true,
                [Token::Operator("|"), Token::Word(program)] => takes_patches(program),
                _ => false,
            };
            known.then(|| Command { directories, tag: Some(tag.clone()) })
        }
        _ => None,
    }
}

fn takes_patches(program: &str) -> bool {
    matches!(program.rsplit('/').next(), Some("apply_patch" | "applypatch"))
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Operator(&'static str),
}

const OPERATORS: [&str; 7] = ["&&", "||", "<<-", "<<", "|", ";", "&"];

/// Splits a line into shell words and operators; `None` for what only a shell can tell.
fn tokens(line: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_matches(super::BLANKS);
    while !rest.is_empty() {
        if let Some(operator) = OPERATORS.iter().find(|operator| rest.starts_with(**operator)) {
            tokens.push(Token::Operator(operator));
            rest = &rest[operator.len()..];
        } else {
            // A `<` alone is no operator that is known here, and no word.
            let (word, after) = word(rest).filter(|(_, after)| after.len() < rest.len())?;
            tokens.push(Token::Word(word));
            rest = after;
        }
        rest = rest.trim_start_matches(super::BLANKS);
    }
    Some(tokens)
}

/// Reads a shell word with its quoting taken off.
fn word(text: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            ' ' | '\t' | '|' | ';' | '&' | '<' => return Some((word, &text[at..])),
            '\'' => loop {
                match chars.next()?.1 {
                    '\'' => break,
                    c => word.push(c),
                }
            },
            '"' => loop {
                match chars.next()?.1 {
                    '"' => break,
                    '\\' => word.push(chars.next()?.1),
                    '$' | '`' => return None,
                    c => word.push(c),
                }
            },
            '\\' => word.push(chars.next()?.1),
            '$' | '`' | '*' | '?' | '[' | '(' | ')' | '>' | '{' | '}' | '!' => return None,
            '~' | '#' if at == 0 => return None,
            c => word.push(c),
        }
    }
    Some((word, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_are_read() {
        // The lines; the directory, or `None` if it cannot be told; the tag.
        for (lines, directory, tag) in [
            (&["apply_patch <<EOF"][..], Some(""), Some("EOF")),
            (&["apply_patch <<'PATCH-1'"], Some(""), Some("PATCH-1")),
            (&["apply_patch << \"my tag\""], Some(""), Some("my tag")),
            (&[r"/usr/bin/apply_patch <<-\EOF"], Some(""), Some("EOF")),
            (&["cat <<EOF | apply_patch"], Some(""), Some("EOF")),
            (&["<<EOF"], Some(""), Some("EOF")),
            (&["cd a/b/ && apply_patch <<EOF"], Some("a/b"), Some("EOF")),
            (&["cd 'my dir' && cd ./x; apply_patch <<EOF"], Some("my dir/x"), Some("EOF")),
            (&["cd a && cd /b && apply_patch <<EOF"], Some("/b"), Some("EOF")),
            (&["cd . && apply_patch <<EOF"], Some(""), Some("EOF")),
            (&["cd a &&", "apply_patch <<EOF"], Some("a"), Some("EOF")),
            (&["cd a", "cd b", "apply_patch <<EOF"], Some("a/b"), Some("EOF")),
            (&["cd a", "Some text.", "apply_patch <<EOF"], Some(""), Some("EOF")),
            (&["cd a"], None, None),
            (&["cd $DIR && apply_patch <<EOF"], None, None),
            (&["cd ~ && apply_patch <<EOF"], None, None),
            (&["cd C:/x && apply_patch <<EOF"], None, Some("EOF")),
            (&["bash -lc \"cd x && apply_patch <<EOF"], None, None),
            (&["pushd x && apply_patch <<EOF"], None, None),
            (&["(cd x; apply_patch <<EOF"], None, None),
            (&["a < b"], Some(""), None),
            (&["We print it with cout << x << y;"], Some(""), None),
            (&["Then cd into the directory."], Some(""), None),
        ] {
            let mut wrapper = Wrapper::default();
            for line in lines {
                wrapper.read(line);
            }
            assert_eq!(wrapper.directory(), directory, "{lines:?}");
            assert_eq!(wrapper.tag.as_deref(), tag, "{lines:?}");
        }
    }
}
