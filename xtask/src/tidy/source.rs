//! Rust files as the laws see them: paths and words of the code, without comments, doc texts and literals.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use proc_macro2::{Delimiter, Ident, Spacing, TokenStream, TokenTree};

use crate::cargo::Outcome;

/// A Rust file of a member of the workspace.
pub(crate) struct SourceFile {
    /// The crate.
    pub(crate) package: String,
    /// The path below the crate's directory, with `/`: `src/local/commit/mod.rs`.
    pub(crate) path: String,
    /// What the code says, in order.
    pub(crate) words: Vec<Word>,
}

/// A path in the code (`std::fs::read`, or one name), or an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// The path's segments joined by `::`; a tree of `use` is spelt out, a glob ends with `::*`.
    pub(crate) text: String,
    /// The line, from 1.
    pub(crate) line: usize,
    /// What it is.
    pub(crate) kind: WordKind,
    /// Whether it is part of a test: in a file of tests, or in a `#[cfg(test)] mod`.
    pub(crate) test: bool,
    /// The function in whose body it stands, the innermost.
    pub(crate) function: Option<String>,
}

/// What a word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordKind {
    /// A path or name in an expression, a type, a `use`, the argument of a macro or of an attribute.
    Path,
    /// The same, followed by parentheses.
    Call,
    /// A macro that is called.
    Macro,
    /// An attribute's tokens, without spaces: `cfg(not(test))`. `#[cfg(test)]` of a `mod` is not reported.
    Attribute,
    /// The tokens of `cfg!`, written as an attribute's.
    CfgMacro,
}

impl SourceFile {
    /// Reads the code of one file.
    ///
    /// # Errors
    ///
    /// The text is no sequence of Rust tokens.
    pub(crate) fn parse(package: &str, path: &str, text: &str) -> Outcome<Self> {
        let tokens = TokenStream::from_str(text).map_err(|error| format!("{package}/{path}: {error}"))?;
        let mut scan = Scan { words: Vec::new(), test: !path.starts_with("src/"), function: None };
        scan.tokens(&tokens.into_iter().collect::<Vec<_>>());
        Ok(Self { package: package.to_owned(), path: path.to_owned(), words: scan.words })
    }
}

/// Reads the Rust files of one crate, in the order of their paths.
pub(crate) fn read(root: &Path, package: &str) -> Outcome<Vec<SourceFile>> {
    let base = root.join(package);
    let mut files = Vec::new();
    let mut open = vec![base.clone()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
        .iter()
        .map(|path| read_one(&base, package, path))
        .collect::<Outcome<Vec<_>>>()
        .map(mark_test_modules)
}

fn read_one(base: &Path, package: &str, path: &PathBuf) -> Outcome<SourceFile> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let below = path.strip_prefix(base)?.to_string_lossy().into_owned();
    SourceFile::parse(package, &below, &text)
}

/// The attribute word that a `#[cfg(test)] mod name;` leaves behind, for its file to be found.
const TEST_MODULE: &str = "cfg(test)mod ";

/// Marks the files of modules that are declared `#[cfg(test)] mod name;` as tests.
pub(crate) fn mark_test_modules(mut files: Vec<SourceFile>) -> Vec<SourceFile> {
    let mut folders = Vec::new();
    for file in &mut files {
        // `src/lib.rs` and `src/x/mod.rs` have their modules beside them, `src/x.rs` in `src/x/`.
        let stem = file.path.trim_end_matches(".rs");
        let folder = match stem.rsplit_once('/') {
            Some((folder, "lib" | "main" | "mod")) => folder.to_owned(),
            _ => stem.to_owned(),
        };
        file.words.retain(|word| match word.text.strip_prefix(TEST_MODULE) {
            Some(name) => {
                folders.push(format!("{folder}/{name}"));
                false
            }
            None => true,
        });
    }
    for file in &mut files {
        let stem = file.path.trim_end_matches(".rs");
        if folders.iter().any(|test| stem == test || stem.starts_with(&format!("{test}/"))) {
            file.words.iter_mut().for_each(|word| word.test = true);
        }
    }
    files
}

/// Walks over tokens and collects words.
struct Scan {
    words: Vec<Word>,
    test: bool,
    function: Option<String>,
}

impl Scan {
    fn tokens(&mut self, tokens: &[TokenTree]) {
        let mut at = 0;
        // A function whose name was met, and whose body was not.
        let mut declared = None;
        while let Some(token) = tokens.get(at) {
            at += match token {
                TokenTree::Punct(punct) if punct.as_char() == '#' => self.attribute(&tokens[at..]),
                TokenTree::Ident(first) => {
                    if let (true, Some(TokenTree::Ident(name))) = (first == "fn", tokens.get(at + 1)) {
                        declared = Some(name.to_string());
                    }
                    self.path(first, &tokens[at..], "")
                }
                TokenTree::Group(group) => {
                    let body = if group.delimiter() == Delimiter::Brace { declared.take() } else { None };
                    let inner = body.or_else(|| self.function.clone());
                    let outer = std::mem::replace(&mut self.function, inner);
                    self.tokens(&group.stream().into_iter().collect::<Vec<_>>());
                    self.function = outer;
                    1
                }
                TokenTree::Punct(punct) => {
                    if punct.as_char() == ';' {
                        declared = None;
                    }
                    1
                }
                TokenTree::Literal(_) => 1,
            };
        }
    }

    /// Takes `#[..]` or `#![..]`; with `#[cfg(test)]` also the module that follows. Returns the tokens taken.
    fn attribute(&mut self, tokens: &[TokenTree]) -> usize {
        let inner = usize::from(is_punct(tokens.get(1), '!'));
        let Some(TokenTree::Group(group)) = tokens.get(1 + inner) else { return 1 };
        let taken = 2 + inner;
        let content: Vec<_> = group.stream().into_iter().collect();
        let text = squeezed(&content);
        // A doc comment is `#[doc = "text"]`.
        if text.starts_with("doc=") {
            return taken;
        }
        if text == "cfg(test)"
            && inner == 0
            && let Some(more) = self.test_module(&tokens[taken..])
        {
            return taken + more;
        }
        self.word(text, group.span_open().start().line, WordKind::Attribute);
        // What stands in a `derive`, a `cfg_attr` or an attribute macro is code, too.
        self.tokens(&content);
        taken
    }

    /// Takes the module after `#[cfg(test)]`, further attributes included; `None` where something else follows.
    fn test_module(&mut self, tokens: &[TokenTree]) -> Option<usize> {
        let mut at = 0;
        while is_punct(tokens.get(at), '#') {
            at += 2;
        }
        let item = &tokens[at..];
        let position = item.iter().take(3).position(|token| is_ident(token, "mod"))?;
        let Some(TokenTree::Ident(name)) = item.get(position + 1) else { return None };
        let before = std::mem::replace(&mut self.test, true);
        self.tokens(&tokens[..at]);
        match item.get(position + 2) {
            Some(TokenTree::Group(body)) => {
                self.tokens(&body.stream().into_iter().collect::<Vec<_>>());
            }
            _ => self.word(format!("{TEST_MODULE}{name}"), name.span().start().line, WordKind::Attribute),
        }
        self.test = before;
        Some(at + position + 3)
    }

    /// Takes a path that begins with `first`, below the `use` tree's `prefix`. Returns the tokens taken.
    fn path(&mut self, first: &Ident, tokens: &[TokenTree], prefix: &str) -> usize {
        let line = first.span().start().line;
        let mut text = format!("{prefix}{first}");
        let mut at = 1;
        while is_path_separator(&tokens[at..]) {
            match tokens.get(at + 2) {
                Some(TokenTree::Ident(next)) => {
                    text = format!("{text}::{next}");
                    at += 3;
                }
                Some(TokenTree::Group(tree)) if tree.delimiter() == Delimiter::Brace => {
                    self.use_tree(&tree.stream().into_iter().collect::<Vec<_>>(), &format!("{text}::"));
                    return at + 3;
                }
                Some(TokenTree::Punct(glob)) if glob.as_char() == '*' => {
                    self.word(format!("{text}::*"), line, WordKind::Path);
                    return at + 3;
                }
                // `Vec::<u8>::new`: the type arguments are read as tokens of their own.
                _ => break,
            }
        }
        let called = match tokens.get(at) {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => WordKind::Call,
            // `name!(`, not `name != x`.
            Some(TokenTree::Punct(punct)) if punct.as_char() == '!' => match tokens.get(at + 1) {
                Some(TokenTree::Group(group)) if text == "cfg" => {
                    let content: Vec<_> = group.stream().into_iter().collect();
                    self.word(format!("cfg({})", squeezed(&content)), line, WordKind::CfgMacro);
                    return at + 2;
                }
                Some(TokenTree::Group(_)) => WordKind::Macro,
                _ => WordKind::Path,
            },
            _ => WordKind::Path,
        };
        self.word(text, line, called);
        at
    }

    /// Takes the inside of `prefix::{..}`.
    fn use_tree(&mut self, tokens: &[TokenTree], prefix: &str) {
        for branch in tokens.split(|token| is_punct(Some(token), ',')) {
            match branch.first() {
                Some(TokenTree::Ident(own)) if own == "self" => {
                    let text = prefix.trim_end_matches("::").to_owned();
                    self.word(text, own.span().start().line, WordKind::Path);
                }
                Some(TokenTree::Ident(first)) => {
                    self.path(first, branch, prefix);
                }
                Some(TokenTree::Punct(glob)) if glob.as_char() == '*' => {
                    self.word(format!("{prefix}*"), glob.span().start().line, WordKind::Path);
                }
                _ => {}
            }
        }
    }

    fn word(&mut self, text: String, line: usize, kind: WordKind) {
        self.words.push(Word { text, line, kind, test: self.test, function: self.function.clone() });
    }
}

/// Tells whether the tokens begin with `::`.
fn is_path_separator(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [TokenTree::Punct(one), TokenTree::Punct(two), ..]
        if one.as_char() == ':' && one.spacing() == Spacing::Joint && two.as_char() == ':')
}

fn is_punct(token: Option<&TokenTree>, char: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == char)
}

fn is_ident(token: &TokenTree, name: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == name)
}

/// Writes tokens without spaces.
fn squeezed(tokens: &[TokenTree]) -> String {
    tokens.iter().map(|token| token.to_string().replace(char::is_whitespace, "")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<(String, WordKind, bool)> {
        let file = SourceFile::parse("x", "src/lib.rs", text).unwrap();
        file.words.into_iter().map(|word| (word.text, word.kind, word.test)).collect()
    }

    #[test]
    fn comments_docs_and_literals_say_nothing() {
        let text = r##"
            //! std::fs::read
            // std::env::var
            /* #[ignore] */
            /// `todo!()` and unsafe { }
            const A: &str = "std::process::Command";
            const B: &str = r#"std::net"#;
        "##;
        let found = words(text);
        assert!(!found.iter().any(|(text, ..)| text.contains("::") || text == "unsafe"), "{found:?}");
    }

    #[test]
    fn a_tree_of_use_is_spelt_out_and_a_module_of_tests_is_marked() {
        use WordKind::{Attribute, Call, CfgMacro, Macro, Path};
        let text = "use std::{fs::{self, File}, io::*};
            fn f() { if cfg!(not(test)) { std::fs::read(x) } println!(\"\", env::args()); a != (b) }
            #[cfg(test)] #[allow(unused)] mod tests { fn g() { sleep(1) } }
            #[cfg(feature = \"x\")] struct Y;";
        let found = words(text);
        let has = |text: &str, kind, test| found.contains(&(text.to_owned(), kind, test));
        assert!(has("std::fs", Path, false), "{found:?}");
        assert!(has("std::fs::File", Path, false));
        assert!(has("std::io::*", Path, false));
        assert!(has("cfg(not(test))", CfgMacro, false));
        assert!(has("std::fs::read", Call, false));
        assert!(has("println", Macro, false));
        assert!(has("env::args", Call, false));
        assert!(has("a", Path, false), "a comparison is no macro");
        assert!(has("sleep", Call, true));
        assert!(has("cfg(feature=\"x\")", Attribute, false));
        assert!(!has("cfg(test)", Attribute, false));
    }

    #[test]
    fn a_word_knows_its_function() {
        let text =
            "impl A { fn a(x: &[u8]) -> R { if y { go(1) } } fn b(); const C: D = { go(2) }; } fn e() {}";
        let file = SourceFile::parse("x", "src/lib.rs", text).unwrap();
        let calls: Vec<_> =
            file.words.iter().filter(|word| word.text == "go").map(|word| &word.function).collect();
        assert_eq!(calls, [&Some("a".to_owned()), &None]);
    }

    #[test]
    fn the_file_of_a_test_module_is_a_test() {
        let parse = |path: &str, text: &str| SourceFile::parse("x", path, text).unwrap();
        let files = mark_test_modules(vec![
            parse("src/a/mod.rs", "#[cfg(test)] mod tests; mod real;"),
            parse("src/a/real.rs", "fn f() {}"),
            parse("src/a/tests.rs", "fn f() {}"),
            parse("src/a/tests/deep.rs", "fn f() {}"),
            parse("src/b.rs", "#[cfg(test)]\nmod tests;\nfn f() {}"),
            parse("src/b/tests.rs", "fn f() {}"),
            parse("tests/c.rs", "fn f() {}"),
        ]);
        let tests: Vec<_> = files
            .iter()
            .filter(|file| file.words.iter().all(|word| word.test))
            .map(|file| &file.path)
            .collect();
        assert_eq!(tests, ["src/a/tests.rs", "src/a/tests/deep.rs", "src/b/tests.rs", "tests/c.rs"]);
    }
}
