//! What a decision costs: less than 2 microseconds for any name, and for any path that people make.
//!
//! A path of 4 KiB that is nothing but hidden directories is the worst case, and costs more: each may begin a place
//! that is looked for.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use guard_policy::{
    Access, Act, ApproverSet, Call, ContentClass, Digest, Fact, Facts, FileState, NewText, Policy, Rights,
    RootEntry, RootId, Roots, Seen, TargetPath, Tool, decide,
};

fn path(text: &str) -> TargetPath {
    TargetPath::new(text).expect("the benchmark's own path")
}

fn names() -> Vec<(&'static str, String)> {
    // 255 bytes that no list has, each of which could begin a character that folds to ASCII.
    let disguised = format!("{}.{}", "\u{142}".repeat(120), "\u{131}".repeat(6));
    vec![
        ("short", "src/main.rs".to_owned()),
        ("deep", format!("{}main.rs", "some/directory/".repeat(12))),
        ("hidden", format!("{}settings.json", ".config/.git/.vscode/".repeat(8))),
        ("binary-only", "assets/photo.zst".to_owned()),
        ("long name", "n".repeat(255)),
        ("long name of other characters", disguised),
        ("deepest", "a/".repeat(2_000) + "x"),
        ("deepest of hidden directories", ".git/".repeat(800) + "x"),
    ]
}

fn bench(criterion: &mut Criterion) {
    let policy = Policy::default();
    let rights = Rights::default();
    let root = |id, physical: &str, access| RootEntry {
        id: RootId(id),
        physical: path(physical),
        aliases: Vec::new(),
        access,
    };
    let roots = Roots::new(vec![
        root(0, "/home/u/work/project", Access::ReadWrite),
        root(1, "/home/u/work/project/vendor", Access::ReadOnly),
    ]);
    let home = path("/home/u");
    let digest = Digest::of(b"seen");
    let state = FileState::Regular { len: 4, mode: 0o644, nlink: 1, digest: Some(digest) };
    let text = NewText { class: ContentClass::Text, echo: false, len: 1_000 };

    for (group, home) in [("home known", Fact::Known(Some(&home))), ("home unknown", Fact::Unknown)] {
        let mut group = criterion.benchmark_group(group);
        for (name, requested) in names() {
            let resolved = path(&format!("/home/u/work/project/{requested}"));
            // A whole-file write over a version that was seen passes every rule.
            let call = Call {
                tool: Tool::WriteFile,
                act: Act::Write,
                requested: &requested,
                text: Some(text),
                expect: None,
            };
            let facts = Facts {
                rights: &rights,
                approver: ApproverSet::No,
                roots: &roots,
                home,
                path: &resolved,
                state: Fact::Known(&state),
                class: Fact::Known(ContentClass::Text),
                seen: Seen::Whole { digest, shape: Fact::Unknown },
            };
            group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
                bencher.iter(|| decide(black_box(&policy), black_box(&call), black_box(&facts)));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
