//! `guard.toml`.

use guard_policy::{DeleteUnseen, EolPolicy, OpenWriters, Policy, Require, Switch, Tool, Unseen};

#[test]
fn an_empty_file_is_the_defaults() {
    assert_eq!(toml::from_str::<Policy>("").unwrap(), Policy::default());
    assert_eq!(toml::from_str::<Policy>("[rules]\n[limits]\n").unwrap(), Policy::default());
}

#[test]
fn the_example_names_every_key_with_its_default() {
    let example = include_str!("../../guard.toml");
    assert_eq!(toml::from_str::<Policy>(example).unwrap(), Policy::default());
    let table: serde_json::Value = toml::from_str(example).unwrap();
    assert_eq!(table, serde_json::to_value(Policy::default()).unwrap());
}

#[test]
fn every_key_can_be_set() {
    let policy: Policy = toml::from_str(
        r#"
            roots = ["/ws", "~/src"]
            allow = [{ path = "/srv/data", access = "ro" }, { path = "~", access = "rw" }]
            restrict = false
            views = "off"
            unseen = "allow"
            delete_unseen = "danger-allow"
            eol = "exact"
            require = "exchange"
            open_writers = "allow"
            read_only = true
            disabled_tools = ["apply_patch", "delete_file"]
            protected = ["RULES.md", "docs/house.md"]
            sensitive = ["/var/lib/guard", "~/.config/guard"]

            [rules]
            opaque_documents = "off"
            sqlite_sidecars = "off"
            pdf = "off"
            binary_only = "off"
            content_classes = "off"
            sensitive_paths = "off"
            secrets = "off"
            protected_instructions = "off"
            tool_echo = "off"

            [limits]
            read_lines = 1
            read_bytes = 2
            line_bytes = 3
            file_bytes = 4
            write_bytes = 5
            patch_bytes = 6
            digest = 7
            list_entries = 8
        "#,
    )
    .unwrap();
    assert!(!policy.restrict && policy.read_only);
    assert_eq!((policy.views, policy.unseen), (Switch::Off, Unseen::Allow));
    assert_eq!(policy.delete_unseen, DeleteUnseen::DangerAllow);
    assert_eq!((policy.eol, policy.require), (EolPolicy::Exact, Require::Exchange));
    assert_eq!(policy.open_writers, OpenWriters::Allow);
    assert_eq!(policy.disabled_tools, [Tool::ApplyPatch, Tool::DeleteFile]);
    assert_eq!(policy.rules.tool_echo, Switch::Off);
    assert_eq!(policy.limits.list_entries, 8);
    // No key was forgotten above: every value differs from its default.
    let (set, defaults) = (leaves(&policy), leaves(&Policy::default()));
    assert_eq!(set.len(), defaults.len());
    for (set, default) in set.iter().zip(&defaults) {
        assert_ne!(set, default);
    }
}

/// Every value of a policy, with its key.
fn leaves(policy: &Policy) -> Vec<String> {
    fn walk(key: &str, value: &serde_json::Value, out: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(map) => {
                for (name, value) in map {
                    walk(&format!("{key}.{name}"), value, out);
                }
            }
            value => out.push(format!("{key} = {value}")),
        }
    }
    let mut out = Vec::new();
    walk("", &serde_json::to_value(policy).unwrap(), &mut out);
    out
}

#[test]
fn what_is_not_known_or_means_nothing_is_an_error_that_names_it() {
    for (text, named) in [
        ("roots = [\"src\"]", "src"),
        ("roots = [\"\"]", "roots"),
        ("roots = [\".\"]", "roots"),
        ("roots = [\"/ws/\"]", "/ws/"),
        ("roots = [\"/ws/../etc\"]", "/ws/../etc"),
        ("roots = [\"~root\"]", "~root"),
        ("roots = \"/ws\"", "roots"),
        ("allow = [{ path = \"data\", access = \"ro\" }]", "data"),
        ("allow = [{ path = \"\", access = \"ro\" }]", "allow"),
        ("allow = [{ path = \"/data\" }]", "access"),
        ("allow = [{ path = \"/data\", access = \"rx\" }]", "rx"),
        ("allow = [{ path = \"/data\", access = \"ro\", mode = 1 }]", "mode"),
        ("allow = [\"/data\"]", "allow"),
        ("restricted = true", "restricted"),
        ("[rules]\nsecret = \"off\"", "secret"),
        ("[limits]\nread_line = 1", "read_line"),
        ("[rule]\nsecrets = \"off\"", "rule"),
        ("views = \"maybe\"", "maybe"),
        ("views = true", "views"),
        ("delete_unseen = \"allow\"", "allow"),
        ("disabled_tools = [\"rm\"]", "rm"),
        ("[limits]\nread_lines = -1", "-1"),
        ("[limits]\nread_lines = 0", "nonzero"),
        ("[limits]\nread_bytes = 0", "nonzero"),
        ("sensitive = [\"var/lib/guard\"]", "var/lib/guard"),
        ("sensitive = [\"~root/x\"]", "~root/x"),
        ("sensitive = [\"/var/../etc\"]", "/var/../etc"),
        ("sensitive = [\"\"]", "sensitive"),
        ("protected = [\"/ws/RULES.md\"]", "/ws/RULES.md"),
        ("protected = [\"docs/../RULES.md\"]", "docs/../RULES.md"),
        ("protected = [\"\"]", "protected"),
    ] {
        let error = toml::from_str::<Policy>(text).unwrap_err().to_string();
        assert!(error.contains(named), "{text}: {error}");
    }
}

#[test]
fn only_false_switches_containment_off() {
    for text in [
        "restrict = 0",
        "restrict = 1",
        "restrict = \"\"",
        "restrict = \"false\"",
        "restrict = \"off\"",
        "restrict = []",
    ] {
        let error = toml::from_str::<Policy>(text).unwrap_err().to_string();
        assert!(error.contains("restrict"), "{text}: {error}");
    }
    for text in [
        r#"{"restrict": null}"#,
        r#"{"restrict": 0}"#,
        r#"{"restrict": ""}"#,
        r#"{"roots": null}"#,
        r#"{"allow": null}"#,
    ] {
        assert!(serde_json::from_str::<Policy>(text).is_err(), "{text}");
    }
    assert!(!toml::from_str::<Policy>("restrict = false").unwrap().restrict);
    assert!(toml::from_str::<Policy>("restrict = true").unwrap().restrict);
}
