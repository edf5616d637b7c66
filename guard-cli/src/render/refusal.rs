//! A call that was not done.

use std::io::{self, Write};

use guard_core::policy::{Argument, Code, Refusal, RemedyCall, Tool};
use guard_core::{Failure, Outcome};

use super::Versions;
use super::text::{BAD, DIM, Line, Lines, NOTE, forges, styled};

/// Writes why, and how to go on.
pub(crate) fn failure(out: &mut dyn Write, failure: &Failure, versions: Versions) -> io::Result<()> {
    let Failure { outcome, refusal } = failure;
    let word = match outcome {
        Outcome::Unknown => "outcome unknown",
        Outcome::Refused | Outcome::Done => "refused",
    };
    let head = styled(BAD, format!("{word} [{}]", refusal.code));
    writeln!(out, "{head} {}", Lines(&refusal.message))?;
    remedy(out, refusal, versions)?;
    for left in &refusal.left {
        writeln!(out, "  {} {}", styled(NOTE, "left:"), Line(left))?;
    }
    Ok(())
}

fn remedy(out: &mut dyn Write, refusal: &Refusal, versions: Versions) -> io::Result<()> {
    let Some(remedy) = &refusal.remedy else { return Ok(()) };
    writeln!(out, "  {}", Lines(&remedy.sentence))?;
    if let Some(command) = remedy.call.as_ref().and_then(command) {
        writeln!(out, "  {}", styled(DIM, Line(&command)))?;
        let printed = match versions {
            Versions::No => None,
            Versions::Named | Versions::Replaced => Some("the digest"),
            Versions::OrLink => Some("the digest, or of a link the `link:TEXT`,"),
        };
        if let Some(printed) = printed {
            // What another process has seen is not known to this one.
            writeln!(out, "  Then name the version here: --expect with {printed} that it prints.")?;
        }
    }
    if versions == Versions::Replaced && refusal.code == Code::Exists {
        writeln!(
            out,
            "  To replace a file, name its version: --expect with the digest that `guard read` prints."
        )?;
    }
    Ok(())
}

/// Writes a remedy's call as a command of this binary, where it is one.
fn command(call: &RemedyCall) -> Option<String> {
    let text = |name: &str| match call.arguments.get(name) {
        Some(Argument::Text(text)) => Some(quoted(text)),
        _ => None,
    };
    let mut words = vec!["guard".to_owned()];
    match call.tool {
        Tool::ReadFile => {
            words.push("read".to_owned());
            for name in ["offset", "limit"] {
                if let Some(Argument::Number(number)) = call.arguments.get(name) {
                    words.push(format!("--{name} {number}"));
                }
            }
            if let Some(Argument::Window { offset, length }) = call.arguments.get("bytes") {
                words.push(format!("--bytes {offset}:{length}"));
            }
        }
        Tool::Stat => words.push("stat".to_owned()),
        Tool::ListDir => words.push("ls".to_owned()),
        _ => return None,
    }
    words.push("--".to_owned());
    match call.arguments.get("paths") {
        Some(Argument::Texts(paths)) => words.extend(paths.iter().map(|path| quoted(path))),
        _ => words.push(text("path")?),
    }
    Some(words.join(" "))
}

/// Quotes a word for a POSIX shell, where it has to be.
///
/// What cannot be shown is written in dollar-single-quotes (POSIX.1-2024, 2.2.4), so that the word can be pasted.
pub(super) fn quoted(word: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "/._-+=:,@%".contains(char);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else if word.chars().any(forges) {
        dollar_quoted(word)
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn dollar_quoted(word: &str) -> String {
    let mut quoted = "$'".to_owned();
    for char in word.chars() {
        match char {
            '\'' | '\\' => quoted.extend(['\\', char]),
            _ if forges(char) => {
                for byte in char.encode_utf8(&mut [0; 4]).bytes() {
                    // In octal, which ends after three digits; `\x` goes on in some shells.
                    quoted.push('\\');
                    quoted.extend([6, 3, 0].map(|bits| char::from(b'0' + (byte >> bits & 7))));
                }
            }
            _ => quoted.push(char),
        }
    }
    quoted + "'"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_it_has_to_be() {
        let cases = [
            ("a/b.txt", "a/b.txt"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            (r"a\b", r"'a\b'"),
            ("a\nb", r"$'a\012b'"),
            ("\u{1b}1'\\", r"$'\0331\'\\'"),
            ("\u{202e}x", r"$'\342\200\256x'"),
        ];
        for (word, expected) in cases {
            assert_eq!(quoted(word), expected);
        }
    }

    #[test]
    fn a_remedy_is_a_command_that_can_be_typed() {
        let call = |tool, arguments: &[(&str, Argument)]| RemedyCall {
            tool,
            arguments: arguments.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        };
        let path = ("path", Argument::Text("-it's".to_owned()));
        let cases = [
            (
                call(Tool::ReadFile, &[path.clone(), ("offset", Argument::Number(3))]),
                Some(r"guard read --offset 3 -- '-it'\''s'"),
            ),
            (
                call(Tool::ReadFile, &[path.clone(), ("bytes", Argument::Window { offset: 1, length: 2 })]),
                Some(r"guard read --bytes 1:2 -- '-it'\''s'"),
            ),
            (
                call(Tool::Stat, &[("paths", Argument::Texts(vec!["a".to_owned(), "b c".to_owned()]))]),
                Some("guard stat -- a 'b c'"),
            ),
            (call(Tool::EditFile, &[path]), None),
        ];
        for (call, expected) in cases {
            assert_eq!(command(&call).as_deref(), expected);
        }
    }
}
