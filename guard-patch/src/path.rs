//! Paths as text.

use crate::diagnostic::Code;

/// Checks a path and takes `./` and doubled slashes out of it.
pub(crate) fn normalize(path: &str) -> Result<String, (Code, String)> {
    if path.is_empty() {
        return Err((Code::EmptyPath, "the path is empty".to_owned()));
    }
    let bad = |why: &str| Err((Code::BadPath, format!("the path `{}` {why}", path.escape_debug())));
    if path.contains('\0') {
        return bad("has a NUL in it");
    }
    if path.starts_with("//") || path.starts_with(r"\\") {
        return bad("is a UNC name");
    }
    let mut start = path.chars();
    if start.next().is_some_and(|letter| letter.is_ascii_alphabetic()) && start.next() == Some(':') {
        return bad("begins with a drive");
    }
    if path.ends_with('/') {
        return bad("ends in a slash, so it names a directory");
    }
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
    if names.is_empty() || path.ends_with("/.") {
        return bad("names a directory");
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    Ok(format!("{root}{}", names.join("/")))
}

/// Puts a directory before a path that is relative.
pub(crate) fn join(directory: &str, path: &str) -> String {
    if path.starts_with('/') || directory.is_empty() {
        path.to_owned()
    } else {
        format!("{directory}/{path}")
    }
}

/// Says whether a path is a parent of another.
pub(crate) fn is_parent(parent: &str, child: &str) -> bool {
    child.strip_prefix(parent).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_checked_and_shortened() {
        for (path, expected) in [
            ("a", Ok("a")),
            ("./a", Ok("a")),
            ("a/./b//c", Ok("a/b/c")),
            ("/a/./b", Ok("/a/b")),
            ("../../x", Ok("../../x")),
            ("a b/ü", Ok("a b/ü")),
            ("", Err(Code::EmptyPath)),
            (".", Err(Code::BadPath)),
            ("/", Err(Code::BadPath)),
            ("a/", Err(Code::BadPath)),
            ("a/.", Err(Code::BadPath)),
            ("a\0b", Err(Code::BadPath)),
            ("C:/x", Err(Code::BadPath)),
            (r"c:\x", Err(Code::BadPath)),
            ("d:x", Err(Code::BadPath)),
            ("//host/x", Err(Code::BadPath)),
            (r"\\host\x", Err(Code::BadPath)),
        ] {
            let got = normalize(path);
            assert_eq!(got.as_deref().map_err(|(code, _)| *code), expected, "{path:?}");
        }
    }

    #[test]
    fn a_parent_is_one_by_components() {
        assert!(is_parent("f", "f/x"));
        assert!(!is_parent("f", "fx/y"));
        assert!(!is_parent("f", "f"));
    }
}
