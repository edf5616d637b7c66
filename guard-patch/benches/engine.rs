//! The engine on files that are large, or that look alike everywhere: each row at one, two and four times its size, so
//! that growth is seen, and beside it one `memchr` pass over the same bytes.
//!
//! A row's name is `ROW/SIZE`; the row `memchr` has the same sizes in bytes.

use std::collections::BTreeMap;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use guard_patch::{Options, Parser, Patch, parse, plan};

type Files = BTreeMap<String, Vec<u8>>;

/// A file and a patch for it.
struct Case {
    files: Files,
    patch: Patch,
    /// Whether the patch is to be refused.
    refused: bool,
}

impl Case {
    fn new(file: String, body: &str, refused: bool) -> Self {
        let text = format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n");
        let patch = parse(&text).unwrap_or_else(|rejected| panic!("the case is no patch: {rejected}"));
        Self { files: Files::from([("f".to_owned(), file.into_bytes())]), patch, refused }
    }

    fn bytes(&self) -> usize {
        self.files["f"].len()
    }

    fn run(&self) {
        let planned = plan(black_box(&self.patch), black_box(&self.files), &Options::default());
        assert_eq!(planned.is_err(), self.refused);
        black_box(planned.is_err());
    }
}

/// Lines of 54 bytes, each different.
fn source(lines: usize) -> String {
    self::lines(lines, |line| format!("    let value_{line:07} = compute(input, {line:07}, limit);\n"))
}

fn lines(count: usize, text: impl Fn(usize) -> String) -> String {
    (0..count).map(text).collect()
}

/// A row: its name, its sizes, and what makes a case of a size.
type Row = (&'static str, [usize; 3], fn(usize) -> Case);

const ROWS: [Row; 7] = [
    ("hit near the end", [250_000, 500_000, 1_000_000], |size| {
        let line = size - 10;
        let body =
            format!("@@\n-    let value_{line:07} = compute(input, {line:07}, limit);\n+    gone();\n");
        Case::new(source(size), &body, false)
    }),
    ("not found", [250_000, 500_000, 1_000_000], |size| {
        Case::new(source(size), "@@\n-    let value_x = compute(input, x, limit);\n+    gone();\n", true)
    }),
    ("equal lines, a pattern of half as many", [20_000, 40_000, 80_000], |size| {
        let body = format!("@@\n{}+x\n", " }\n".repeat(size / 2));
        Case::new("}\n".repeat(size), &body, true)
    }),
    ("equal lines, a pattern that almost fits", [20_000, 40_000, 80_000], |size| {
        let file =
            lines(size, |line| if line % (size / 4) == 0 { "x\n".to_owned() } else { "}\n".to_owned() });
        let body = format!("@@\n{}-x\n", " }\n".repeat(size / 2));
        Case::new(file, &body, true)
    }),
    ("10,000 chunks on equal lines", [250_000, 500_000, 1_000_000], |size| {
        Case::new(
            "same line\n".repeat(size),
            &lines(10_000, |chunk| format!("@@\n-same line\n+{chunk}\n")),
            true,
        )
    }),
    ("a quarter of the lines replaced", [50_000, 100_000, 200_000], |size| {
        let text = |line: usize| format!("let value_{line:07} = compute(input);");
        let body = lines(size / 4, |chunk| {
            let line = chunk * 4;
            format!("@@\n {}\n-{}\n+new {line}\n", text(line), text(line + 1))
        });
        Case::new(lines(size, |line| format!("{}\n", text(line))), &body, false)
    }),
    ("a file of 1,000 lines", [1000, 2000, 4000], |size| {
        let line = size / 2;
        let body =
            format!("@@\n-    let value_{line:07} = compute(input, {line:07}, limit);\n+    gone();\n");
        Case::new(source(size), &body, false)
    }),
];

fn engine(criterion: &mut Criterion) {
    for (name, sizes, case) in ROWS {
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10);
        for size in sizes {
            let case = case(size);
            group.throughput(Throughput::Bytes(case.bytes() as u64));
            group.bench_function(BenchmarkId::new("plan", size), |bencher| bencher.iter(|| case.run()));
            let bytes = &case.files["f"];
            group.bench_function(BenchmarkId::new("memchr", size), |bencher| {
                bencher.iter(|| black_box(memchr::memchr(0, black_box(bytes))));
            });
        }
        group.finish();
    }
}

/// A patch of about 600 KB (at its largest size) that comes in pieces of 8 bytes.
fn stream(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("a patch in pieces of 8 bytes");
    group.sample_size(10);
    for size in [5000, 10_000, 20_000] {
        let body = lines(size, |line| format!("+    let value_{line:07} = 1;\n"));
        let text = format!("*** Begin Patch\n*** Add File: f\n{body}*** End Patch\n");
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(BenchmarkId::new("parse", size), |bencher| {
            bencher.iter(|| {
                let mut parser = Parser::new();
                let mut rest = black_box(text.as_str());
                while let Some((piece, after)) = rest.split_at_checked(8) {
                    parser.push(piece, &mut |event| {
                        black_box(&event);
                    });
                    rest = after;
                }
                parser.push(rest, &mut |_| {});
                black_box(parser.finish(&mut |_| {}).is_ok())
            });
        });
        group.bench_function(BenchmarkId::new("memchr", size), |bencher| {
            bencher.iter(|| black_box(memchr::memchr(0, black_box(text.as_bytes()))));
        });
    }
    group.finish();
}

criterion_group!(benches, engine, stream);
criterion_main!(benches);
