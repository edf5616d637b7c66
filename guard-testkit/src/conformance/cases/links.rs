use guard_core::policy::{FileState, Precondition, RootId};
use guard_core::port::{CommitFailure, Last, OpError, Page, Part, RootSpec, Scope};

use super::super::site::{Broken, MAX, Site, broken, content, ensure, itself, same};

pub(super) async fn links_inside_are_followed(site: Site) -> Result<(), Broken> {
    site.dir("real")?;
    site.dir("real/deep")?;
    site.file("real/file", b"bytes")?;
    site.file("top", b"top")?;
    let root = site.root.path.to_string();
    let name = site.root.path.name().to_owned();
    for (text, path) in [
        ("real", "to-directory".to_owned()),
        ("to-directory", "to-link".to_owned()),
        ("./real/./", "with-dots".to_owned()),
        (&format!("{root}/real"), "absolute".to_owned()),
        (&format!("{root}//real/../real/."), "absolute-and-not-normal".to_owned()),
        (&format!("../{name}/real"), "around".to_owned()),
    ] {
        site.link(text, &path)?;
        let found = site.stat(&format!("{path}/file"), Last::Follow).await?;
        same(&format!("through {path}"), &found.resolved, &site.target("real/file")?)?;
        site.reads(&format!("{path}/file"), b"bytes").await?;
        let listed = site.list(&path, Page { after: None, limit: 9 }).await?;
        same(&format!("listing {path}"), &listed.resolved, &site.target("real")?)?;
        same("what is listed", &listed.entries.len(), &2)?;
        let itself = site.stat(&path, Last::Itself).await?;
        same("a link itself", &itself.resolved, &site.target(&path)?)?;
        same("a link's text", &itself.state, &FileState::Link { text: text.to_owned() })?;
        let followed = site.stat(&path, Last::Follow).await?;
        same("a link followed", &followed.state, &FileState::Directory)?;
    }
    for (text, path, to) in [
        ("../file", "real/deep/up", "real/file"),
        ("../../top", "real/deep/top", "top"),
        ("real/file", "to-file", "real/file"),
        (&format!("{root}/top"), "absolute-file", "top"),
    ] {
        site.link(text, path)?;
        let found = site.stat(path, Last::Follow).await?;
        same(&format!("through {path}"), &found.resolved, &site.target(to)?)?;
        ensure(found.state.is_regular(), format!("{path} leads to {:?}", found.state))?;
        site.reads(path, if to == "top" { b"top" } else { b"bytes" }).await?;
    }
    Ok(())
}

pub(super) async fn dot_dot_after_a_link_is_the_kernels(site: Site) -> Result<(), Broken> {
    site.dir("a")?;
    site.dir("a/b")?;
    site.file("a/file", b"by the kernel")?;
    site.file("file", b"by the text")?;
    site.link("a/b", "link")?;
    let (root, name) = (site.root.path.to_string(), site.root.path.name().to_owned());
    site.link("link/..", "within")?;
    site.link(&format!("{root}/link/.."), "absolute")?;
    site.link(&format!("../{name}/link/.."), "above")?;
    site.link(&format!("{root}/../{name}/link/../../../{name}/a"), "twice")?;
    for (path, to) in [
        ("link/../file", "a/file"),
        ("a/../file", "file"),
        ("a/b/../../file", "file"),
        ("link/../b/../file", "a/file"),
        ("link/..", "a"),
        // In the text of a link as in the request, and where that text leaves the root too.
        ("within/file", "a/file"),
        ("absolute/file", "a/file"),
        ("above/file", "a/file"),
        ("twice/file", "a/file"),
    ] {
        let found = site.stat(path, Last::Follow).await?;
        same(path, &found.resolved, &site.target(to)?)?;
    }
    site.reads("link/../file", b"by the kernel").await?;
    let place = site.place_at("link/../file", "a/file")?;
    let change = guard_core::port::Change { place, ..site.put("a/file", content(b"by the kernel"), b"new")? };
    site.done(vec![change]).await?;
    site.holds("a/file", b"new")?;
    site.holds("file", b"by the text")?;
    match site.stat("absent/../file", Last::Follow).await {
        Err(OpError::NotFound { .. }) => Ok(()),
        other => broken(format!("`..` after an absent name: {other:?}")),
    }
}

pub(super) async fn dot_dot_out_of_a_root_in_a_root_is_in_the_outer_one(site: Site) -> Result<(), Broken> {
    site.dir("a")?;
    site.dir("a/inner")?;
    site.file("a/file", b"bytes")?;
    let path = site.target("a/inner")?;
    site.link(path.as_str(), "into")?;
    site.link("../file", "a/inner/up")?;
    let inner = site.ops.open_root(&RootSpec { path }).await?;
    for (root, path, to) in [
        (site.root.id, "into/..", "a"),
        (site.root.id, "into/../file", "a/file"),
        (site.root.id, "into/up", "a/file"),
        (inner.id, "../file", "a/file"),
        (inner.id, "up", "a/file"),
        (inner.id, "../../into/up", "a/file"),
    ] {
        let ask = |site: &Site| guard_core::port::Ask { root, ..site.ask(path, Last::Follow) };
        let found = site.ops.stat(&[ask(&site)]).await?.pop();
        same(path, &found.map(|found| found.map(|found| found.resolved)), &Some(Ok(site.target(to)?)))?;
        // Of one that does not reach the outer root it is the way out.
        let held = site.reaching(Scope { roots: Some(vec![inner.id]), ..Scope::default() });
        let found = held.ops.stat(&[ask(&held)]).await?.pop();
        same(path, &found.map(|found| found.map(|found| found.resolved)), &Some(Err(OpError::OutsideRoot)))?;
    }
    Ok(())
}

pub(super) async fn a_link_to_the_roots_other_spelling_is_inside(site: Site) -> Result<(), Broken> {
    site.file("file", b"bytes")?;
    site.world.symlink(site.root.path.as_str().as_bytes(), &site.out("spelling"))?;
    let spelling = format!("{}/spelling", site.outside);
    site.link(&format!("{spelling}/file"), "by-spelling")?;
    match site.stat("by-spelling", Last::Follow).await {
        Err(OpError::OutsideRoot) => {}
        other => return broken(format!("a spelling that nobody opened: {other:?}")),
    }
    let path =
        guard_core::policy::TargetPath::new(spelling).map_err(|error| Broken::Failed(error.to_string()))?;
    let opened = site.ops.open_root(&RootSpec { path }).await?;
    same("the physical path of a root opened through a link", &opened.path, &site.root.path)?;
    let ask = guard_core::port::Ask { root: opened.id, ..site.ask("by-spelling", Last::Follow) };
    match site.ops.stat(&[ask]).await?.pop() {
        Some(Ok(found)) => same("through the root's spelling", &found.resolved, &site.target("file")?),
        other => broken(format!("through the root's spelling: {other:?}")),
    }
}

pub(super) async fn escapes_are_refused_for_every_request(site: Site) -> Result<(), Broken> {
    let (root, name, outside) =
        (site.root.path.to_string(), site.root.path.name().to_owned(), site.outside.to_string());
    site.dir("in")?;
    site.file("in/file", b"inside")?;
    site.world.create(&site.out("secret"), b"outside")?;
    site.world.symlink(root.as_bytes(), &site.out("back"))?;
    site.world.symlink(format!("../{name}").as_bytes(), &site.out("relative-back"))?;
    let beside = site.outside.name().to_owned();
    for (text, link) in [
        (outside.as_str(), "absolute"),
        (&format!("../{beside}"), "relative"),
        (&format!("in/../../{beside}"), "round-about"),
        (&format!("{root}/../{beside}"), "absolute-round-about"),
        ("..", "up"),
        ("/", "top"),
        ("/proc/self/root", "magic"),
        (&format!("{outside}/secret"), "to-file"),
        (&format!("{outside}/new"), "to-new"),
        (&format!("{outside}/../{name}"), "back-by-dots"),
        (&format!("../{beside}/../{name}"), "back-above"),
        (&format!("{root}/../{beside}/back"), "back-by-a-link"),
    ] {
        site.link(text, link)?;
    }
    let paths = [
        "..",
        "../",
        "in/../..",
        &format!("../{name}/in/file"),
        &format!("in/../../{name}/in/file"),
        &format!("../{beside}/secret"),
        "absolute/secret",
        "absolute/new",
        "absolute/back/in/file",
        "absolute/relative-back/in/file",
        "relative/secret",
        "round-about/secret",
        "absolute-round-about/secret",
        "back-by-dots/in/file",
        "back-above/in/file",
        "back-by-a-link/in/file",
        &format!("up/{name}/in/file"),
        &format!("top{root}/in/file"),
        &format!("magic{root}/in/file"),
        "to-file",
        "to-new",
        &format!("{root}/in/file"),
        "/etc/passwd",
    ];
    for path in paths {
        is_outside(&site, path).await?;
    }
    Ok(())
}

/// Claims that every request on a path is refused before anything; `in/file` has to hold `inside`.
async fn is_outside(site: &Site, path: &str) -> Result<(), Broken> {
    let outcome = site.stat(path, Last::Follow).await;
    same(&format!("stat {path}"), &outcome.map(|found| found.resolved), &Err(OpError::OutsideRoot))?;
    let outcome = site.read(path, Part::Whole { max: MAX }).await;
    same(&format!("read {path}"), &outcome.map(|contents| contents.body), &Err(OpError::OutsideRoot))?;
    let outcome = site.list(path, Page { after: None, limit: 1 }).await;
    same(&format!("list {path}"), &outcome, &Err(OpError::OutsideRoot))?;
    for is in [Precondition::Absent, content(b"outside"), content(b"inside"), Precondition::DangerAny] {
        let place = site.place_at(path, "in/file")?;
        let change = guard_core::port::Change { place, ..site.put("in/file", is, b"new")? };
        let cause = site.refused(&format!("put {path}"), vec![change]).await?;
        same(&format!("put {path}"), &cause, &CommitFailure::Op(OpError::OutsideRoot))?;
    }
    let moved = site.move_to("in/file", content(b"inside"), "in/other")?;
    if let guard_core::port::Effect::MoveTo { to, destination, parents } = moved.effect {
        let to = guard_core::port::Place { path: path.to_owned(), last: Last::Follow, ..to };
        let effect = guard_core::port::Effect::MoveTo { to, destination, parents };
        let change = guard_core::port::Change { effect, ..site.remove("in/file", content(b"inside"))? };
        let cause = site.refused(&format!("move to {path}"), vec![change]).await?;
        same(&format!("move to {path}"), &cause, &CommitFailure::Op(OpError::OutsideRoot))?;
    }
    Ok(())
}

pub(super) async fn a_link_enters_only_the_roots_that_are_reached(site: Site) -> Result<(), Broken> {
    let outside = site.outside.to_string();
    site.dir("in")?;
    site.file("in/file", b"inside")?;
    site.world.create(&site.out("there"), b"another's")?;
    site.world.mkdir(&site.out("directory"))?;
    site.world.symlink(format!("{}/in", site.root.path).as_bytes(), &site.out("back"))?;
    site.world.symlink(b"nowhere", &site.out("dangling"))?;
    for (text, link) in [
        ("there", "to-file"),
        ("there/below", "below-file"),
        ("absent", "to-absent"),
        ("absent/absent", "to-absent-deep"),
        ("directory", "to-directory"),
        ("dangling", "to-dangling"),
        ("back", "and-back"),
        ("../absent", "past-it"),
        ("", "to-root"),
    ] {
        site.link(&format!("{outside}/{text}"), link)?;
    }
    let other = site.ops.open_root(&RootSpec { path: site.outside.clone() }).await?;
    let roots = |roots: &[RootId]| Scope { roots: Some(roots.into()), ..Scope::default() };
    for scope in [Scope::default(), roots(&[other.id]), roots(&[site.root.id, other.id])] {
        let both = site.reaching(scope);
        let found = both.stat("to-root/there", Last::Follow).await?;
        same("what is reached", &found.resolved.to_string(), &format!("{outside}/there"))?;
        both.reads("to-file", b"another's").await?;
    }
    for scope in [roots(&[site.root.id]), roots(&[])] {
        let own = site.reaching(scope);
        own.reads("in/file", b"inside").await?;
        for path in [
            "to-file",
            "below-file",
            "to-absent",
            "to-absent/below",
            "to-absent-deep",
            "to-directory",
            "to-directory/absent",
            "to-dangling",
            "and-back/file",
            "past-it",
            "to-root",
            "to-root/there",
            "to-root/absent",
            "to-root/dangling/below",
        ] {
            is_outside(&own, path).await?;
        }
        let itself = own.stat("to-absent", Last::Itself).await?;
        ensure(matches!(itself.state, FileState::Link { .. }), "a link itself is in its own root")?;
    }
    Ok(())
}

pub(super) async fn a_path_leads_only_to_what_it_is_held_to(site: Site) -> Result<(), Broken> {
    let root = site.root.path.to_string();
    let long = format!("../other/{}", "n".repeat(300));
    site.dir("in")?;
    site.dir("in/deep")?;
    site.file("in/file", b"inside")?;
    site.dir("other")?;
    site.file("other/there", b"beyond")?;
    site.dir("other/directory")?;
    for (text, link) in [("../in", "other/back"), ("loop", "other/loop"), ("nowhere", "other/dangling")] {
        site.link(text, link)?;
    }
    for (text, link) in [
        ("../other/there", "in/to-file"),
        ("../other/absent", "in/to-absent"),
        ("../other/absent/absent", "in/to-absent-deep"),
        ("../other/there/below", "in/below-file"),
        (&format!("{root}/other/there"), "in/absolute"),
        ("../other", "in/to-directory"),
        ("../other/loop", "in/to-loop"),
        ("../other/dangling", "in/to-dangling"),
        ("../other/back", "in/and-back"),
        ("../other/../in", "in/around"),
        (&long, "in/to-long"),
        ("..", "in/up"),
        ("../absent", "in/beside"),
    ] {
        site.link(text, link)?;
    }
    for (text, link) in [
        ("file", "in/link"),
        ("../in/file", "in/round"),
        ("deep/../file", "in/dots"),
        (&format!("{root}/in/file"), "in/by-root"),
    ] {
        site.link(text, link)?;
    }
    let (held, deep) = (site.target("in")?, site.target("in/deep")?);
    for within in [vec![held.clone()], vec![deep.clone(), held.clone()], vec![held, deep]] {
        let own = site.reaching(Scope { within: Some(within), ..Scope::default() });
        for path in ["in/file", "in/link", "in/round", "in/dots", "in/by-root", "in/../in/file"] {
            own.reads(path, b"inside").await?;
        }
        for path in [
            "",
            "other/there",
            "other/absent",
            "other/../in/file",
            "absent/../in/file",
            "in/to-file",
            "in/to-absent",
            "in/to-absent/below",
            "in/to-absent-deep",
            "in/below-file",
            "in/absolute",
            "in/to-directory",
            "in/to-directory/there",
            "in/to-loop",
            "in/to-dangling",
            "in/and-back/file",
            "in/around/file",
            "in/to-long",
            "in/up",
            "in/beside",
        ] {
            is_outside(&own, path).await?;
        }
        own.done(vec![own.make_dir("in/made/below", guard_core::port::Parents::Make)?]).await?;
        own.done(vec![own.remove_dir("in/made/below")?, own.remove_dir("in/made")?]).await?;
    }
    let nowhere = site.reaching(Scope { within: Some(Vec::new()), ..Scope::default() });
    for path in ["", "in/file", "in/link", "absent"] {
        is_outside(&nowhere, path).await?;
    }
    Ok(())
}

pub(super) async fn another_place_than_expected_is_told_and_left_alone(site: Site) -> Result<(), Broken> {
    site.dir("hooks")?;
    site.file("hooks/there", b"there")?;
    site.link("hooks", "docs")?;
    site.link("hooks/there", "alias")?;
    for (path, leads_to, is) in [
        ("docs/new", "hooks/new", Precondition::Absent),
        ("docs/a/b/new", "hooks/a/b/new", Precondition::Absent),
        ("docs/there", "hooks/there", content(b"there")),
        ("docs/there", "hooks/there", Precondition::DangerAny),
        ("alias", "hooks/there", content(b"there")),
    ] {
        let cause = site.refused(path, vec![site.put(path, is.clone(), b"new")?]).await?;
        let CommitFailure::Elsewhere { resolved, state, destination: false } = cause else {
            return broken(format!("{path}: the cause is {cause:?}"));
        };
        same(&format!("where {path} leads"), &resolved, &site.target(leads_to)?)?;
        let there = site.stat(leads_to, Last::Itself).await?.state;
        let alike = std::mem::discriminant(&state) == std::mem::discriminant(&there);
        ensure(alike, format!("what is where {path} leads: {state:?}"))?;
    }
    let cause = site.refused("docs/there", vec![site.remove("docs/there", content(b"there"))?]).await?;
    ensure(matches!(cause, CommitFailure::Elsewhere { .. }), format!("a removal: {cause:?}"))?;
    let cause =
        site.refused("docs/d", vec![site.make_dir("docs/d", guard_core::port::Parents::Make)?]).await?;
    ensure(matches!(cause, CommitFailure::Elsewhere { .. }), format!("a directory: {cause:?}"))?;
    site.file("file", b"file")?;
    let cause = site.refused("move", vec![site.move_to("file", content(b"file"), "docs/new")?]).await?;
    ensure(
        matches!(cause, CommitFailure::Elsewhere { destination: true, .. }),
        format!("a move's destination: {cause:?}"),
    )?;
    // Not only links: any path that is not byte for byte the expected one.
    let place = site.place_at("hooks/new", "hooks/other")?;
    let change = guard_core::port::Change { place, ..site.put("hooks/new", Precondition::Absent, b"x")? };
    let cause = site.refused("another name", vec![change]).await?;
    ensure(matches!(cause, CommitFailure::Elsewhere { .. }), format!("another name: {cause:?}"))
}

pub(super) async fn a_place_behind_a_link_is_changed_where_it_was_expected(site: Site) -> Result<(), Broken> {
    site.dir("real")?;
    site.file("real/file", b"old")?;
    site.link("real", "link")?;
    site.link("real/file", "alias")?;
    for (path, to, is, old) in [
        ("link/new", "real/new", Precondition::Absent, None),
        ("link/a/new", "real/a/new", Precondition::Absent, None),
        ("link/file", "real/file", content(b"old"), Some(b"old")),
        ("alias", "real/file", content(path_bytes("link/file")), None),
    ] {
        let place = site.place_at(path, to)?;
        let change = guard_core::port::Change { place, ..site.put(to, is, path_bytes(path))? };
        let done = site.done(vec![change]).await?;
        same("where it was done", &done.changes[0].resolved, &site.target(to)?)?;
        site.holds(to, path_bytes(path))?;
        ensure(old.is_none() || done.changes[0].before.is_regular(), "a replacement had something before")?;
    }
    same("the link's text", &site.world.readlink(&site.at("alias"))?, &b"real/file".to_vec())?;
    same("the link's text", &site.world.readlink(&site.at("link"))?, &b"real".to_vec())
}

fn path_bytes(path: &str) -> &[u8] {
    path.as_bytes()
}

pub(super) async fn dangling_links_are_told_as_themselves(site: Site) -> Result<(), Broken> {
    site.link("nowhere", "dangling")?;
    site.link("no/where/at/all", "deep")?;
    site.link("dangling", "chain")?;
    for (path, text) in [("dangling", "nowhere"), ("deep", "no/where/at/all"), ("chain", "dangling")] {
        for last in [Last::Follow, Last::Itself] {
            let found = site.stat(path, last).await?;
            same(&format!("{path} ({last:?})"), &found.resolved, &site.target(path)?)?;
            same(&format!("{path} ({last:?})"), &found.state, &FileState::Link { text: text.to_owned() })?;
        }
        let contents = site.read(path, Part::Whole { max: MAX }).await?;
        same(&format!("reading {path}"), &contents.body, &guard_core::port::Body::NotRegular)?;
    }
    match site.stat("dangling/below", Last::Follow).await {
        Err(OpError::NotFound { .. }) => Ok(()),
        other => broken(format!("below a dangling link: {other:?}")),
    }
}

pub(super) async fn nothing_is_created_through_a_dangling_link(site: Site) -> Result<(), Broken> {
    let outside = site.outside.to_string();
    site.link("nowhere", "dangling")?;
    site.link("no/where", "deep")?;
    site.link(&format!("{outside}/new"), "out")?;
    for (path, leads_to) in [
        ("dangling", "dangling"),
        ("dangling", "nowhere"),
        ("deep", "deep"),
        ("deep", "no/where"),
        ("dangling/new", "dangling/new"),
        ("dangling/new", "nowhere/new"),
        ("out", "out"),
    ] {
        for is in [Precondition::Absent, Precondition::DangerAny, content(b"")] {
            let change = site.put(leads_to, is, b"new")?;
            let place = site.place_at(path, leads_to)?;
            let followed = guard_core::port::Change { place: place.clone(), ..change.clone() };
            site.refused(&format!("creating {path}"), vec![followed]).await?;
            let change = guard_core::port::Change { place: itself(place), ..change };
            site.refused(&format!("creating {path} (itself)"), vec![change]).await?;
        }
    }
    site.file("file", b"file")?;
    site.refused("moving there", vec![site.move_to("file", content(b"file"), "dangling")?]).await?;
    Ok(())
}

pub(super) async fn loops_are_an_error(site: Site) -> Result<(), Broken> {
    site.link("self", "self")?;
    site.link("b", "a")?;
    site.link("a", "b")?;
    for path in ["self", "a", "b", "self/x", "a/x/y"] {
        let outcome = site.stat(path, Last::Follow).await;
        same(&format!("stat {path}"), &outcome, &Err(OpError::Loop))?;
        let cause = site.refused(path, vec![site.put(path, Precondition::Absent, b"x")?]).await?;
        same(&format!("put {path}"), &cause, &CommitFailure::Op(OpError::Loop))?;
    }
    let found = site.stat("self", Last::Itself).await?;
    same("the link itself", &found.state, &FileState::Link { text: "self".to_owned() })
}
