//! Each rule by tables of names and paths.

use guard_policy::{
    Access, Act, ApproverSet, Code, ContentClass, Fact, NewText, Policy, Rights, Switch, Tool, Verdict, names,
};

use crate::case::{BINARY, Case, TEXT, path, whole};

type Change<T> = fn(&mut T);

fn codes(cases: impl IntoIterator<Item = Case>) -> Vec<Option<Code>> {
    cases.into_iter().map(|case| case.code()).collect()
}

#[test]
fn a_tool_that_does_not_exist_speaks_first() {
    for tool in Tool::ALL {
        let mut case = Case::new(Act::Write, "/etc/shadow");
        case.tool = *tool;
        case.rights.disabled.insert(*tool);
        assert_eq!(case.code(), Some(Code::ToolDisabled));
        case.rights = Rights::default();
        case.policy.disabled_tools = vec![*tool];
        assert_eq!(case.code(), Some(Code::ToolDisabled));
    }
}

#[test]
fn an_actor_that_may_only_read_changes_nothing() {
    for act in Act::ALL {
        let expected = act.mutates().then_some(Code::ReadOnlyActor);
        let mut case = Case::new(*act, "notes.txt").seen(whole(TEXT));
        case.rights.access = Access::ReadOnly;
        assert_eq!(case.code(), expected, "{act:?}");
        case.rights.access = Access::ReadWrite;
        case.policy.read_only = true;
        assert_eq!(case.code(), expected, "{act:?}");
        // The reading part of a changing tool is a part of the change.
        case.tool = Tool::ApplyPatch;
        assert_eq!(case.code(), Some(Code::ReadOnlyActor), "{act:?}");
    }
}

#[test]
fn a_trailing_slash_is_refused_where_a_file_is_meant() {
    for requested in ["notes.txt/", "notes.txt/.", "notes.txt//", ".", "~", "~/", "/", "sub/./"] {
        for act in Act::ALL {
            let mut case = Case::new(*act, "notes.txt");
            requested.clone_into(&mut case.requested);
            let takes_directories = matches!(act, Act::Stat | Act::List | Act::MakeDir);
            assert_eq!(case.code() == Some(Code::InvalidPath), !takes_directories, "{act:?} {requested}");
        }
    }
}

#[test]
fn containment_is_by_whole_components_and_never_by_folded_case() {
    for (resolved, act, code) in [
        ("/ws/a", Act::Write, None),
        ("/ws2/a", Act::Write, Some(Code::OutsideRoot)),
        ("/WS/a", Act::Write, Some(Code::OutsideRoot)),
        ("/a", Act::Read, Some(Code::OutsideRoot)),
        ("/ro/a", Act::Read, None),
        ("/ro/a", Act::List, None),
        ("/ro/a", Act::Write, Some(Code::ReadOnlyRoot)),
        ("/ro/a", Act::MakeDir, Some(Code::ReadOnlyRoot)),
    ] {
        let case = Case::new(act, resolved);
        assert_eq!(case.code(), code, "{act:?} {resolved}");
    }
    // Without restriction the roots still say what may only be read.
    let free = |act, resolved| {
        let mut case = Case::new(act, resolved);
        case.policy.restrict = false;
        case.code()
    };
    assert_eq!(free(Act::Write, "/elsewhere/a"), None);
    assert_eq!(free(Act::Write, "/ro/a"), Some(Code::ReadOnlyRoot));
    assert_eq!(free(Act::Write, "/etc/hosts"), Some(Code::SensitivePath));
}

#[test]
fn every_listed_document_name_is_known_in_any_case_and_by_either_spelling() {
    let check = |name: &str, code: Code, found: bool| {
        for name in [name.to_owned(), name.to_uppercase()] {
            for (requested, resolved) in [(name.as_str(), "plain"), ("plain", name.as_str()), (&name, &name)]
            {
                for act in [Act::Write, Act::Edit] {
                    let mut case = Case::new(act, requested);
                    case.path = path(&format!("/ws/{resolved}"));
                    let case = if found { case.found(BINARY.state()) } else { case };
                    assert_eq!(case.code(), Some(code), "{act:?} {requested} → {resolved}");
                }
            }
        }
    };
    for extension in names::OPAQUE_DOCUMENTS {
        check(&format!("x.{extension}"), Code::OpaqueDocument, false);
        check(&format!("a.b.{extension}"), Code::OpaqueDocument, false);
    }
    for suffix in names::SIDECAR_SUFFIXES {
        check(&format!("x{suffix}"), Code::SqliteSidecar, false);
    }
    for extension in names::BINARY_ONLY {
        check(&format!("x.{extension}"), Code::BinaryExists, true);
    }
    check("x.pdf", Code::PdfExists, true);
    check("x.pot", Code::OpaqueDocument, true);
}

#[test]
fn a_name_that_only_looks_like_a_document_is_free() {
    for name in [
        "docx",
        ".docx",
        "x.docx.md",
        "x.docx.",
        "docx/readme",
        "x.doc-wal",
        "x-wal",
        "wal",
        "db-wal",
        "x.db-wal2",
        "x.db.wal",
        "x.dbwal",
        "x.sqlite-backup",
        "dat",
        ".dat",
        "x.dat.txt",
        "graph.dot",
        "App.snap",
        "x.pdf.txt",
    ] {
        for case in [Case::new(Act::Write, name), Case::new(Act::Edit, name).found(TEXT.state())] {
            assert_eq!(case.code(), None, "{name}");
        }
    }
}

#[test]
fn each_document_rule_has_its_switch() {
    let off: [(&str, Change<Policy>); 5] = [
        ("x.docx", |policy| policy.rules.opaque_documents = Switch::Off),
        ("x.db-wal", |policy| policy.rules.sqlite_sidecars = Switch::Off),
        ("x.pdf", |policy| policy.rules.pdf = Switch::Off),
        ("x.png", |policy| policy.rules.binary_only = Switch::Off),
        ("x.pot", |policy| {
            policy.rules.opaque_documents = Switch::Off;
            policy.rules.content_classes = Switch::Off;
        }),
    ];
    for (name, off) in off {
        let mut case = Case::new(Act::Edit, name).found(BINARY.state());
        assert!(case.code().is_some(), "{name}");
        case.policy.rules.content_classes = Switch::Off;
        assert!(case.code().is_some(), "{name}");
        off(&mut case.policy);
        assert_eq!(case.code(), None, "{name}");
    }
}

#[test]
fn a_pot_file_is_gettext_or_powerpoint_by_its_content() {
    let mut case = Case::new(Act::Write, "messages.pot");
    assert_eq!(case.code(), None);
    case.text = Some(NewText { class: ContentClass::Binary, echo: false, len: 10 });
    assert_eq!(case.code(), Some(Code::OpaqueDocument));
    let case = Case::new(Act::Write, "messages.pot").found(BINARY.state());
    assert_eq!(case.code(), Some(Code::OpaqueDocument));
    let case = Case::new(Act::Write, "messages.pot").found(TEXT.state()).seen(whole(TEXT));
    assert_eq!(case.code(), None);
}

#[test]
fn credentials_are_neither_read_nor_changed_and_may_be_seen_in_a_listing() {
    let home = |place: &&str| format!("/home/u/{place}");
    let secrets = names::SECRET_NAMES.iter().map(|name| format!("/ws/sub/{name}"));
    let secrets = secrets
        .chain(names::SECRET_EXTENSIONS.iter().map(|extension| format!("/ws/server.{extension}")))
        .chain(names::SYSTEM_SECRETS.iter().map(|place| (*place).to_owned()))
        .chain(names::HOME_SECRETS.iter().map(home))
        .chain(names::HOME_SECRETS.iter().map(|place| format!("{}/deeper/x", home(place))))
        .chain(names::PROC_SECRETS.iter().map(|name| format!("/proc/1/{name}")))
        .chain(names::PROC_SECRETS.iter().map(|name| format!("/proc/self/task/7/{name}")))
        .chain(
            [
                "/proc/self/fd/3",
                "/proc/thread-self/root/etc/passwd",
                "/ws/.env.local",
                "/ws/.env.development",
                "/ws/.env.production",
                "/ws/.env.test",
                "/ws/.env.staging",
                "/ws/.env.anything",
                "/ws/.env.local.bak",
            ]
            .map(str::to_owned),
        );
    for secret in secrets {
        for spelling in [secret.clone(), secret.to_uppercase()] {
            for act in Act::ALL {
                let code = Case::anywhere(*act, &spelling).code();
                match act {
                    Act::Stat | Act::List => assert_eq!(code, None, "{act:?} {spelling}"),
                    Act::Read => assert_eq!(code, Some(Code::Secret), "{spelling}"),
                    _ => assert!(
                        matches!(code, Some(Code::Secret | Code::SensitivePath)),
                        "{act:?} {spelling}"
                    ),
                }
            }
        }
    }
}

#[test]
fn what_only_looks_like_a_credential_is_free() {
    for name in [
        "/ws/.env.example",
        "/ws/.env.sample",
        "/ws/.env.template",
        "/ws/.env.production.example",
        "/ws/.environment",
        "/ws/env",
        "/ws/my.env.ts",
        "/ws/.npmrc",
        "/ws/.netrc",
        "/ws/.ssh.md",
        "/ws/id_rsa.pub",
        "/ws/keys/ca.pem",
        "/ws/fullchain.pem",
        "/ws/key",
        "/ws/pem.txt",
        "/home/other/.npmrc",
        "/home/u2/.ssh/config",
        "/proc/cpuinfo",
        "/proc/cmdline",
        "/proc/1/status",
        "/proc/sys/kernel/hostname",
        "/home/u/.ssh/id_ed25519.pub",
        "/etc/shadows",
    ] {
        assert_eq!(Case::anywhere(Act::Read, name).code(), None, "{name}");
    }
}

#[test]
fn system_and_configuration_paths_are_read_and_never_changed() {
    let places = names::SYSTEM_PATHS.iter().map(|place| (*place).to_owned());
    let places = places
        .chain(names::HOME_CONFIGURATION.iter().map(|place| format!("/home/u/{place}")))
        .chain(names::PROJECT_CONFIGURATION.iter().map(|place| format!("/ws/sub/{place}")))
        .chain(["/ws/.git", "/ws/sub/.GIT", "/ws/sub/.Git/Hooks"].map(str::to_owned));
    for place in places {
        for path in [place.clone(), format!("{place}/below")] {
            if path.to_lowercase().ends_with(".git/below") {
                continue;
            }
            for act in Act::ALL.iter().filter(|act| act.mutates()) {
                assert_eq!(Case::anywhere(*act, &path).code(), Some(Code::SensitivePath), "{act:?} {path}");
                let mut off = Case::anywhere(*act, &path);
                off.policy.rules.sensitive_paths = Switch::Off;
                assert_ne!(off.code(), Some(Code::SensitivePath), "{act:?} {path}");
            }
        }
    }
    for free in [
        "/ws/.git/HEAD",
        "/ws/.gitignore",
        "/ws/.github/workflows/ci.yml",
        "/ws/etc/hosts",
        "/etcetera",
        "/ws/.bashrc",
    ] {
        assert_eq!(Case::anywhere(Act::Write, free).code(), None, "{free}");
    }
}

#[test]
fn characters_that_a_filesystem_ignores_or_folds_do_not_hide_a_name() {
    for (name, act, code) in [
        ("/ws/.g\u{200C}it/config", Act::Write, Code::SensitivePath),
        ("/ws/.en\u{FEFF}v", Act::Read, Code::Secret),
        ("/home/u/.s\u{17F}h/config", Act::Read, Code::Secret),
        ("/ws/server.\u{212A}ey", Act::Read, Code::Secret),
        ("/ws/x.doc\u{200D}x", Act::Write, Code::OpaqueDocument),
    ] {
        assert_eq!(Case::anywhere(act, name).code(), Some(code), "{name:?}");
    }
}

#[test]
fn a_link_is_judged_by_its_own_name_and_by_where_it_leads() {
    for (requested, resolved, act, code) in [
        ("notes.txt", "/ws/.git/config", Act::Write, Code::SensitivePath),
        (".git/config", "/ws/notes.txt", Act::Write, Code::SensitivePath),
        ("notes.txt", "/ws/.env", Act::Read, Code::Secret),
        (".env", "/ws/notes.txt", Act::Read, Code::Secret),
        ("~/.npmrc", "/ws/notes.txt", Act::Read, Code::Secret),
        ("~/.bashrc", "/ws/notes.txt", Act::Write, Code::SensitivePath),
        ("/etc/motd", "/ws/notes.txt", Act::Write, Code::SensitivePath),
        ("README.md", "/ws/AGENTS.md", Act::Write, Code::ApprovalRequired),
        ("AGENTS.md", "/ws/README.md", Act::Write, Code::ApprovalRequired),
    ] {
        let mut case = Case::new(act, requested);
        case.path = path(resolved);
        assert_eq!(case.code(), Some(code), "{requested} → {resolved}");
    }
}

#[test]
fn where_the_home_is_not_known_every_directory_may_be_it() {
    for (resolved, act, code) in [
        ("/ws/.npmrc", Act::Read, Some(Code::Secret)),
        ("/ws/sub/.NETRC", Act::Read, Some(Code::Secret)),
        ("/ws/.ssh/config", Act::Read, Some(Code::Secret)),
        ("/ws/a/.config/gh/hosts.yml", Act::Read, Some(Code::Secret)),
        ("/ws/a/library/keychains/x", Act::Read, Some(Code::Secret)),
        ("/ws/.bashrc", Act::Write, Some(Code::SensitivePath)),
        ("/ws/.ssh/id.pub", Act::Read, None),
        ("/ws/.config/other", Act::Read, None),
        ("/ws/notes.txt", Act::Write, None),
    ] {
        let mut case = Case::new(act, resolved);
        case.home = Fact::Unknown;
        assert_eq!(case.code(), code, "{resolved}");
        case.home = Fact::Known(None);
        assert_eq!(case.code(), None, "{resolved}");
    }
    for (home, secret) in
        [("/", "/.ssh/x"), ("/Users/U", "/users/u/.ssh/x"), ("/home/zoë", "/home/ZOË/.netrc")]
    {
        let mut case = Case::anywhere(Act::Read, secret);
        case.home = Fact::Known(Some(path(home)));
        assert_eq!(case.code(), Some(Code::Secret), "{home}");
    }
}

#[test]
fn a_device_that_never_ends_is_never_opened() {
    let below = ["/dev/fd/3", "/DEV/zero"].map(str::to_owned);
    for device in names::ENDLESS_DEVICES.iter().map(|device| (*device).to_owned()).chain(below) {
        assert_eq!(Case::anywhere(Act::Read, &device).code(), Some(Code::NotRegular), "{device}");
        assert_eq!(Case::anywhere(Act::Stat, &device).code(), None, "{device}");
    }
    assert_eq!(Case::anywhere(Act::Read, "/dev/null").code(), None);
}

#[test]
fn the_policys_own_sensitive_paths_are_not_touched() {
    let case = |act, name: &str| {
        let mut case = Case::anywhere(act, name);
        case.policy.sensitive =
            ["/var/lib/Guard/", "~/.config/guard", "/ws/Straße"].map(str::to_owned).to_vec();
        // The list holds whatever the switches say.
        case.policy.rules.sensitive_paths = Switch::Off;
        case.policy.rules.secrets = Switch::Off;
        case
    };
    for (name, touched) in [
        ("/var/lib/guard", false),
        ("/var/lib/guard/audit.jsonl", false),
        ("/VAR/lib/Guard/x", false),
        ("/var/lib/guard2", true),
        ("/var/lib", true),
        ("/home/u/.config/guard/guard.toml", false),
        ("/home/u/.config/guardian", true),
        ("/other/.config/guard/guard.toml", true),
        ("/ws/STRAßE/x", false),
    ] {
        let expected = |free: bool| if free { None } else { Some(Code::SensitivePath) };
        let codes = codes([
            case(Act::Write, name),
            case(Act::Read, name),
            case(Act::Stat, name),
            case(Act::List, name),
        ]);
        assert_eq!(codes, [expected(touched), expected(touched), None, None], "{name}");
    }
    let mut unknown = case(Act::Read, "/other/.config/guard/guard.toml");
    unknown.home = Fact::Unknown;
    assert_eq!(unknown.code(), Some(Code::SensitivePath));
    let mut tilde = case(Act::Read, "/ws/x");
    "~/.config/guard/x".clone_into(&mut tilde.requested);
    assert_eq!(tilde.code(), Some(Code::SensitivePath));
}

#[test]
fn instructions_change_only_with_an_approver() {
    let listed = names::PROTECTED_NAMES.iter().chain(names::PROTECTED_PATHS).map(|name| (*name).to_owned());
    let more = ["CLAUDE.MD", "deep/down/Agents.md", "docs/HOUSE.md", "other/docs/house.md", "RULES.md"];
    for name in listed.chain(more.map(str::to_owned)) {
        for act in Act::ALL {
            let mut case = Case::new(*act, &name).seen(whole(TEXT));
            case.policy.protected = ["rules.md", "docs/house.md"].map(str::to_owned).to_vec();
            let expected = act.mutates().then_some(Code::ApprovalRequired);
            assert_eq!(case.code(), expected, "{act:?} {name}");
            case.approver = ApproverSet::Yes;
            let required =
                matches!(case.decide(), Verdict::Allow { approval: guard_policy::Approval::Required, .. });
            assert_eq!(required, act.mutates() && *act != Act::Edit, "{act:?} {name}");
        }
    }
    for name in
        ["agents.md.bak", "myagents.md", "AGENTS", "house.md", "docs/house.md/x", "copilot-instructions.md"]
    {
        let mut case = Case::new(Act::Write, name);
        case.policy.protected = vec!["docs/house.md".to_owned()];
        assert_eq!(case.code(), None, "{name}");
    }
    let mut off = Case::new(Act::Write, "AGENTS.md");
    off.policy.rules.protected_instructions = Switch::Off;
    assert_eq!(off.code(), None);
    off.policy.protected = vec!["AGENTS.md".to_owned()];
    assert_eq!(off.code(), Some(Code::ApprovalRequired));
}

#[test]
fn an_approver_is_not_asked_about_what_is_refused() {
    let mut case = Case::new(Act::Write, "AGENTS.md").found(TEXT.state());
    case.approver = ApproverSet::Yes;
    assert_eq!(case.code(), Some(Code::NotRead));
}

#[test]
fn a_display_of_a_file_and_what_is_over_the_limit_are_refused() {
    let case = |echo, len| {
        let mut case = Case::new(Act::Write, "notes.txt");
        case.text = Some(NewText { class: ContentClass::Text, echo, len });
        case
    };
    let limit = Policy::default().limits.write_bytes;
    assert_eq!(
        codes([case(false, limit), case(false, limit + 1), case(true, 10)]),
        [None, Some(Code::TooLarge), Some(Code::ToolEcho)]
    );
    let mut off = case(true, 10);
    off.policy.rules.tool_echo = Switch::Off;
    assert_eq!(off.code(), None);
}

#[test]
fn content_of_any_class_may_be_put_where_nothing_is() {
    for class in ContentClass::ALL {
        let mut case = Case::new(Act::Write, "blob");
        case.text = Some(NewText { class: *class, echo: false, len: 10 });
        assert_eq!(case.code(), None, "{class:?}");
    }
}

#[test]
fn an_edit_is_held_to_the_largest_file_that_is_taken_as_a_whole() {
    let mut case = Case::new(Act::Edit, "notes.txt").found(TEXT.state());
    case.policy.limits.file_bytes = TEXT.len();
    assert_eq!(case.code(), None);
    case.policy.limits.file_bytes = TEXT.len() - 1;
    assert_eq!(case.code(), Some(Code::TooLarge));
}

#[test]
fn the_first_rule_that_refuses_speaks() {
    // One call that every rule refuses; each is taken away in turn.
    let mut case = Case::new(Act::Write, "/elsewhere/.git/config/.env/AGENTS.md/x.docx");
    case.requested = ".env/".to_owned();
    case.policy.read_only = true;
    case.policy.disabled_tools = vec![Tool::WriteFile];
    case.policy.protected = vec!["x.docx".to_owned()];
    case.policy.limits.write_bytes = 1;
    case.text = Some(NewText { class: ContentClass::Text, echo: true, len: 10 });
    let mut case = case.found(TEXT.state());
    let steps: [(Code, Change<Case>); 12] = [
        (Code::ToolDisabled, |case| case.policy.disabled_tools.clear()),
        (Code::ReadOnlyActor, |case| case.policy.read_only = false),
        (Code::InvalidPath, |case| case.requested = ".env".to_owned()),
        (Code::OutsideRoot, |case| case.path = path("/ro/.git/config/x.docx")),
        (Code::ReadOnlyRoot, |case| case.path = path("/ws/.git/config/x.docx")),
        (Code::SensitivePath, |case| case.policy.rules.sensitive_paths = Switch::Off),
        (Code::Secret, |case| case.policy.rules.secrets = Switch::Off),
        (Code::ApprovalRequired, |case| case.approver = ApproverSet::Yes),
        (Code::OpaqueDocument, |case| case.policy.rules.opaque_documents = Switch::Off),
        (Code::ToolEcho, |case| case.policy.rules.tool_echo = Switch::Off),
        (Code::TooLarge, |case| case.policy.limits.write_bytes = 10),
        (Code::NotRead, |case| case.seen = whole(TEXT)),
    ];
    for (code, next) in steps {
        assert_eq!(case.code(), Some(code));
        next(&mut case);
    }
    assert_eq!(case.code(), None);
}
