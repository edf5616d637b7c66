//! Where paths lead, with both resolvers.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test arranges the filesystem by itself"
)]

mod common;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use common::{RESOLVERS, Ws, open, target};
use guard_backends::local::Local;
use guard_core::policy::FileState;
use guard_core::port::{Ask, Depth, FileOps as _, Last, OpError};

/// Where a path leads and what is there; or the error's name.
async fn lead(ws: &Ws, path: &str, last: Last) -> String {
    let ask =
        Ask { root: ws.root.id, path: path.to_owned(), last, depth: Depth::State, scope: Arc::default() };
    let top = ws.dir.path().to_str().unwrap();
    match ws.local.stat(&[ask]).await.unwrap().remove(0) {
        Ok(found) => {
            let at = found.resolved.as_str().strip_prefix(top).map_or(found.resolved.as_str(), |rest| rest);
            let what = match found.state {
                FileState::Regular { .. } => "file".to_owned(),
                FileState::Link { text } => format!("-> {text}"),
                FileState::Directory => "dir".to_owned(),
                FileState::Absent => "absent".to_owned(),
                FileState::Other { what } => what.describe().to_owned(),
            };
            format!("{at} {what}")
        }
        Err(OpError::NotFound { path }) => format!("not-found {}", path.strip_prefix(top).unwrap_or(&path)),
        Err(OpError::NotDirectory { path }) => {
            format!("not-directory {}", path.strip_prefix(top).unwrap_or(&path))
        }
        Err(OpError::OutsideRoot) => "outside".to_owned(),
        Err(OpError::Loop) => "loop".to_owned(),
        Err(OpError::NameTooLong) => "too-long".to_owned(),
        Err(OpError::Unsupported { .. }) => "unsupported".to_owned(),
        Err(other) => format!("{other:?}"),
    }
}

#[tokio::test]
async fn a_path_leads_where_the_rules_say_with_either_resolver() {
    for resolver in RESOLVERS {
        let ws = Ws::of(resolver).await;
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "s").unwrap();
        ws.mkdir("d/e");
        ws.mkdir("d (deleted)");
        ws.write("f", "f");
        ws.write("d/f", "df");
        ws.write("d/e/f", "def");
        let top = ws.dir.path().to_owned();
        let base = top.file_name().unwrap().to_str().unwrap().to_owned();
        for (text, name) in [
            ("f", "to-f"),
            ("d", "to-d"),
            ("d/e", "to-e"),
            ("to-e", "to-to-e"),
            ("../f", "d/up-f"),
            (".", "dot"),
            ("nothing", "dangling"),
            ("nothing/below", "dangling-deep"),
            ("dangling", "to-dangling"),
            ("self", "self"),
            ("f/x", "through-file"),
            ("..", "above"),
            ("../outside", "leaves"),
            (&format!("../{base}/f"), "returns"),
            (&format!("d/../../{base}/f"), "returns-late"),
            (top.join("f").to_str().unwrap(), "absolute"),
            (top.join("d/../f").to_str().unwrap(), "absolute-dots"),
            (top.join("nothing").to_str().unwrap(), "absolute-dangling"),
            (&format!("{}-other/f", top.display()), "sibling-prefix"),
            (outside.path().to_str().unwrap(), "to-outside"),
            (outside.path().join("secret").to_str().unwrap(), "to-secret"),
        ] {
            ws.link(text, name);
        }
        ws.link("l1", "l0");
        for number in 1..40 {
            ws.link(format!("l{}", number + 1), &format!("l{number}"));
        }
        ws.write("l40", "end");
        ws.link("l0", "l-one-more");
        std::os::unix::fs::symlink(OsStr::from_bytes(b"bad\xff"), ws.path("to-bad")).unwrap();
        fs::create_dir(ws.path("x").with_file_name(OsStr::from_bytes(b"bad\xff"))).unwrap();

        let long = "n".repeat(256);
        let deep = vec!["d"; 3000].join("/");
        for (path, last, expected) in [
            ("", Last::Follow, " dir"),
            ("f", Last::Follow, "/f file"),
            ("d/e/f", Last::Follow, "/d/e/f file"),
            ("d (deleted)", Last::Follow, "/d (deleted) dir"),
            ("d (deleted)/new", Last::Follow, "/d (deleted)/new absent"),
            ("nothing", Last::Follow, "/nothing absent"),
            ("d/nothing", Last::Follow, "/d/nothing absent"),
            ("no/such/parents", Last::Follow, "/no/such/parents absent"),
            ("no/../f", Last::Follow, "not-found /no"),
            ("d/..", Last::Follow, " dir"),
            ("d/e/..", Last::Follow, "/d dir"),
            ("d/../f", Last::Follow, "/f file"),
            ("..", Last::Follow, "outside"),
            ("../f", Last::Follow, "outside"),
            ("d/../../f", Last::Follow, "outside"),
            ("f/x", Last::Follow, "not-directory /f"),
            ("f/../d", Last::Follow, "not-directory /f"),
            ("to-f", Last::Follow, "/f file"),
            ("to-f", Last::Itself, "/to-f -> f"),
            ("to-d", Last::Follow, "/d dir"),
            ("to-d/f", Last::Follow, "/d/f file"),
            ("to-d/f", Last::Itself, "/d/f file"),
            ("to-d/new", Last::Follow, "/d/new absent"),
            // The parent of what the link leads to, not of the link.
            ("to-e/../f", Last::Follow, "/d/f file"),
            ("to-to-e/f", Last::Follow, "/d/e/f file"),
            ("d/up-f", Last::Follow, "/f file"),
            ("dot", Last::Follow, " dir"),
            ("dot/d/f", Last::Follow, "/d/f file"),
            ("dangling", Last::Follow, "/dangling -> nothing"),
            ("dangling", Last::Itself, "/dangling -> nothing"),
            ("to-dangling", Last::Follow, "/to-dangling -> dangling"),
            ("dangling-deep", Last::Follow, "/dangling-deep -> nothing/below"),
            // Nothing is ever made through a link that leads nowhere.
            ("dangling/x", Last::Follow, "not-found /nothing"),
            ("self", Last::Follow, "loop"),
            ("self/x", Last::Follow, "loop"),
            ("through-file", Last::Follow, "not-directory /f"),
            ("above", Last::Follow, "outside"),
            ("above", Last::Itself, "/above -> .."),
            ("leaves", Last::Follow, "outside"),
            // Joined and normalised, these begin with the root's own spelling.
            ("returns", Last::Follow, "/f file"),
            ("returns-late", Last::Follow, "/f file"),
            ("absolute", Last::Follow, "/f file"),
            ("absolute-dots", Last::Follow, "/f file"),
            ("sibling-prefix", Last::Follow, "outside"),
            ("to-outside", Last::Follow, "outside"),
            ("to-outside/secret", Last::Follow, "outside"),
            ("to-secret", Last::Follow, "outside"),
            ("l1", Last::Follow, "/l40 file"),
            ("l0", Last::Follow, "/l40 file"),
            ("l-one-more", Last::Follow, "loop"),
            ("to-bad", Last::Follow, "unsupported"),
            ("to-bad/x", Last::Follow, "unsupported"),
            (&long, Last::Follow, "too-long"),
            (&deep, Last::Follow, "too-long"),
            ("a\0b", Last::Follow, "unsupported"),
            ("/etc/passwd", Last::Follow, "outside"),
        ] {
            assert_eq!(lead(&ws, path, last).await, expected, "{resolver:?} {path:?} {last:?}");
        }
        let dangling = lead(&ws, "absolute-dangling", Last::Follow).await;
        assert!(dangling.starts_with("/absolute-dangling -> "), "{dangling}");
    }
}

#[tokio::test]
async fn a_link_leads_on_from_another_opened_root_in_either_spelling() {
    for resolver in RESOLVERS {
        let ws = Ws::of(resolver).await;
        let other = tempfile::tempdir().unwrap();
        fs::create_dir(other.path().join("real")).unwrap();
        std::os::unix::fs::symlink("real", other.path().join("alias")).unwrap();
        fs::write(other.path().join("real/f"), "f").unwrap();
        ws.link(other.path().join("real/f"), "by-physical");
        ws.link(other.path().join("alias/f"), "by-alias");
        ws.link(other.path().join("alias/../real/f"), "by-dots");
        assert_eq!(lead(&ws, "by-physical", Last::Follow).await, "outside", "{resolver:?}");

        let root = open(&ws.local, &other.path().join("alias")).await.unwrap();
        assert_eq!(root.path, target(&other.path().join("real")));
        let expected = format!("{} file", other.path().join("real/f").display());
        for name in ["by-physical", "by-alias", "by-dots"] {
            assert_eq!(lead(&ws, name, Last::Follow).await, expected, "{resolver:?} {name}");
        }
    }
}

#[tokio::test]
async fn a_root_that_was_moved_removed_or_replaced_is_refused() {
    for resolver in RESOLVERS {
        for change in ["moved", "removed", "replaced", "linked"] {
            let ws = Ws::of(resolver).await;
            ws.mkdir("root");
            let path = ws.path("root");
            let root = open(&ws.local, &path).await.unwrap();
            let ask = Ask {
                root: root.id,
                path: "f".into(),
                last: Last::Follow,
                depth: Depth::State,
                scope: Arc::default(),
            };
            assert!(ws.local.stat(std::slice::from_ref(&ask)).await.unwrap().remove(0).is_ok());
            match change {
                "moved" => fs::rename(&path, ws.path("elsewhere")).unwrap(),
                "removed" => fs::remove_dir(&path).unwrap(),
                "replaced" => {
                    fs::rename(&path, ws.path("elsewhere")).unwrap();
                    fs::create_dir(&path).unwrap();
                }
                _ => {
                    fs::rename(&path, ws.path("elsewhere")).unwrap();
                    std::os::unix::fs::symlink("elsewhere", &path).unwrap();
                }
            }
            let answer = ws.local.stat(&[ask]).await.unwrap().remove(0);
            assert_eq!(answer, Err(OpError::RootReplaced { path: root.path }), "{resolver:?} {change}");
        }
    }
}

#[tokio::test]
async fn a_root_is_a_directory_that_is_there() {
    for resolver in RESOLVERS {
        let ws = Ws::of(resolver).await;
        ws.write("f", "f");
        ws.link("nothing", "dangling");
        for (name, is_expected) in [
            ("nothing", (|error| matches!(error, OpError::NotFound { .. })) as fn(&OpError) -> bool),
            ("f", |error| matches!(error, OpError::NotDirectory { .. })),
            ("f/x", |error| matches!(error, OpError::NotDirectory { .. })),
            ("dangling", |error| matches!(error, OpError::NotFound { .. })),
        ] {
            let error = open(&ws.local, &ws.path(name)).await.unwrap_err();
            assert!(is_expected(&error), "{name}: {error:?}");
        }
        let again = open(&ws.local, ws.dir.path()).await.unwrap();
        assert_eq!(again, ws.root, "the same directory is the same root");
    }
}

#[tokio::test]
async fn an_unknown_root_is_an_error() {
    let ws = Ws::new().await;
    let other = Local::builder().build().unwrap();
    let ask = Ask {
        root: ws.root.id,
        path: "f".into(),
        last: Last::Follow,
        depth: Depth::State,
        scope: Arc::default(),
    };
    let answer = other.stat(&[ask]).await.unwrap().remove(0);
    assert_eq!(answer, Err(OpError::NotFound { path: "root 0".to_owned() }));
}

/// The unguarded way: a path that was checked as text and is opened as text.
#[test]
fn control_a_check_of_the_text_lets_a_link_lead_outside() {
    let root = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), root.path().join("docs")).unwrap();
    let path = root.path().join("docs/note");
    assert!(path.starts_with(root.path()), "the check passes");
    fs::write(&path, "escaped").unwrap();
    assert_eq!(fs::read_to_string(outside.path().join("note")).unwrap(), "escaped");
}
