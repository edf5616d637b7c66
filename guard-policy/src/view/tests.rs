use proptest::prelude::*;

use super::*;
use crate::classify;

fn path(text: &str) -> TargetPath {
    TargetPath::new(text).unwrap()
}

fn page(content: &[u8], range: Range<u64>) -> Delivered {
    let shape = Fact::Unknown;
    Delivered { digest: Digest::of(content), len: content.len() as u64, ranges: range.into(), shape }
}

fn whole(content: &[u8]) -> Delivered {
    let shape = Fact::Known(classify(content));
    Delivered { shape, ..page(content, 0..content.len() as u64) }
}

fn read(views: &mut Views, path: &TargetPath, delivered: Delivered) {
    let began = views.begin();
    views.record(path, began, delivered);
}

fn wrote(views: &mut Views, path: &TargetPath, content: &[u8]) {
    views.wrote(path, Digest::of(content), content.len() as u64, classify(content));
}

#[test]
fn pages_of_one_version_add_up_to_all_of_it() {
    let (mut views, a) = (Views::new(), path("/ws/a"));
    let digest = Digest::of(b"0123456789");
    for (range, missing) in
        [(2..4, Some(0..2)), (0..2, Some(4..10)), (6..8, Some(4..6)), (3..7, Some(8..10)), (8..99, None)]
    {
        read(&mut views, &a, page(b"0123456789", range));
        let shape = Fact::Unknown;
        let expected = match missing {
            Some(missing) => Seen::Part { digest, missing, shape },
            None => Seen::Whole { digest, shape },
        };
        assert_eq!(views.seen(&a), expected);
    }
}

#[test]
fn another_version_starts_anew() {
    let (mut views, a) = (Views::new(), path("/ws/a"));
    read(&mut views, &a, whole(b"0123"));
    read(&mut views, &a, page(b"4567", 0..2));
    let digest = Digest::of(b"4567");
    assert_eq!(views.seen(&a), Seen::Part { digest, missing: 2..4, shape: Fact::Unknown });
    // Back to the first version: what was seen of it is not remembered.
    read(&mut views, &a, page(b"0123", 2..4));
    assert_eq!(
        views.seen(&a),
        Seen::Part { digest: Digest::of(b"0123"), missing: 0..2, shape: Fact::Unknown }
    );
}

#[test]
fn metadata_alone_covers_nothing_but_an_empty_file() {
    let (mut views, a) = (Views::new(), path("/ws/a"));
    read(&mut views, &a, page(b"0123", 0..0));
    assert_eq!(
        views.seen(&a),
        Seen::Part { digest: Digest::of(b"0123"), missing: 0..4, shape: Fact::Unknown }
    );
    read(&mut views, &a, page(b"", 0..0));
    assert_eq!(views.seen(&a), Seen::Whole { digest: Digest::of(b""), shape: Fact::Unknown });
}

#[test]
fn metadata_of_the_version_that_was_read_takes_nothing_away() {
    let (mut views, a) = (Views::new(), path("/ws/a"));
    read(&mut views, &a, whole(b"0123"));
    read(&mut views, &a, page(b"0123", 0..0));
    assert_eq!(
        views.seen(&a),
        Seen::Whole { digest: Digest::of(b"0123"), shape: Fact::Known(classify(b"0123")) }
    );
}

type Commit = fn(&mut Views, &TargetPath, &TargetPath);

#[test]
fn a_read_that_began_before_a_commit_on_the_path_records_nothing() {
    let (a, b) = (path("/ws/a"), path("/ws/b"));
    let commits: [(&str, Commit); 5] = [
        ("wrote", |views, a, _| wrote(views, a, b"new")),
        ("edited", |views, a, _| {
            views.edited(
                a,
                Digest::of(b"old"),
                &[Splice { old: 0..3, new_len: 3 }],
                Digest::of(b"new"),
                3,
                classify(b"new"),
            );
        }),
        ("removed", |views, a, _| views.removed(a)),
        ("moved away", |views, a, b| views.moved(a, b, Some(Digest::of(b"old")))),
        ("moved there", |views, a, b| views.moved(b, a, Some(Digest::of(b"new")))),
    ];
    for (name, commit) in commits {
        let mut views = Views::new();
        read(&mut views, &a, whole(b"old"));
        let began = views.begin();
        commit(&mut views, &a, &b);
        let after = views.clone();
        views.record(&a, began, whole(b"old"));
        views.record_link(&a, began, "b".to_owned());
        views.record_absent(&a, began);
        assert_eq!(views, after, "{name}");
        // A read that began after it counts.
        read(&mut views, &a, whole(b"newer"));
        assert_eq!(
            views.seen(&a),
            Seen::Whole { digest: Digest::of(b"newer"), shape: Fact::Known(classify(b"newer")) }
        );
    }
}

#[test]
fn a_commit_on_another_path_does_not_disturb_a_read() {
    let (mut views, a, b) = (Views::new(), path("/ws/a"), path("/ws/b"));
    let began = views.begin();
    wrote(&mut views, &b, b"b");
    views.record(&a, began, whole(b"a"));
    assert!(matches!(views.seen(&a), Seen::Whole { .. }));
}

#[test]
fn an_own_write_is_a_full_view_and_a_removal_none() {
    let (mut views, a) = (Views::new(), path("/ws/a"));
    wrote(&mut views, &a, b"text\n");
    assert_eq!(
        views.seen(&a),
        Seen::Whole { digest: Digest::of(b"text\n"), shape: Fact::Known(classify(b"text\n")) }
    );
    views.removed(&a);
    assert_eq!(views.seen(&a), Seen::Nothing);
}

#[test]
fn a_delivered_absence_and_forgetting_drop_the_view() {
    let (mut views, a) = (Views::new(), path("/ws/a"));
    wrote(&mut views, &a, b"text\n");
    let began = views.begin();
    views.record_absent(&a, began);
    assert_eq!(views.seen(&a), Seen::Nothing);
    wrote(&mut views, &a, b"text\n");
    views.forget(&a);
    assert_eq!((views.seen(&a), views.iter().count()), (Seen::Nothing, 0));
}

#[test]
fn a_move_takes_the_view_along_only_of_the_version_that_was_moved() {
    let (a, b) = (path("/ws/a"), path("/ws/b"));
    let digest = Digest::of(b"seen");
    for (moved, expected) in [
        (Some(digest), Seen::Whole { digest, shape: Fact::Known(classify(b"seen")) }),
        (Some(Digest::of(b"other")), Seen::Nothing),
        (None, Seen::Nothing),
    ] {
        let mut views = Views::new();
        read(&mut views, &a, whole(b"seen"));
        read(&mut views, &b, whole(b"overwritten"));
        views.moved(&a, &b, moved);
        assert_eq!((views.seen(&a), views.seen(&b)), (Seen::Nothing, expected), "{moved:?}");
    }
    for (moved, expected) in [(None, Seen::Link { text: "t".to_owned() }), (Some(digest), Seen::Nothing)] {
        let mut views = Views::new();
        let began = views.begin();
        views.record_link(&a, began, "t".to_owned());
        views.moved(&a, &b, moved);
        assert_eq!((views.seen(&a), views.seen(&b)), (Seen::Nothing, expected), "{moved:?}");
    }
}

#[test]
fn a_vouched_version_is_wholly_seen_and_its_shape_is_not_known() {
    let (mut views, a) = (Views::new(), path("/ws/a"));
    let digest = Digest::of(b"0123456789");
    views.vouch(&a, digest);
    assert_eq!(views.seen(&a), Seen::Whole { digest, shape: Fact::Unknown });
    // A page of it adds its length and takes nothing away.
    read(&mut views, &a, page(b"0123456789", 0..2));
    assert_eq!(views.seen(&a), Seen::Whole { digest, shape: Fact::Unknown });
    // An edit of it keeps all of it.
    views.vouch(&a, digest);
    views.edited(
        &a,
        digest,
        &[Splice { old: 2..4, new_len: 1 }],
        Digest::of(b"01x456789"),
        9,
        classify(b"01x"),
    );
    assert!(matches!(views.seen(&a), Seen::Whole { .. }));
    // Another version starts anew.
    views.vouch(&a, digest);
    read(&mut views, &a, page(b"other", 0..2));
    assert!(matches!(views.seen(&a), Seen::Part { missing, .. } if missing == (2..5)));
    // Vouching for the version at hand completes it, and keeps what is known of it.
    views.vouch(&a, Digest::of(b"other"));
    assert!(matches!(views.get(&a), Some(View::File { len: 5, .. })));
    assert!(matches!(views.seen(&a), Seen::Whole { .. }));
}

#[test]
fn splices_that_do_not_lead_from_the_base_to_the_new_length_cover_nothing() {
    let a = path("/ws/a");
    for (splices, len) in [
        (vec![Splice { old: 4..6, new_len: 1 }, Splice { old: 0..2, new_len: 1 }], 8),
        (vec![Splice { old: 0..4, new_len: 1 }, Splice { old: 2..6, new_len: 1 }], 6),
        (vec![Splice { old: 8..12, new_len: 0 }], 8),
        (vec![Splice { old: 0..2, new_len: 1 }], 10),
        (vec![Splice { old: 0..2, new_len: u64::MAX }], 8),
        (vec![Splice { old: Range { start: 5, end: 2 }, new_len: 0 }], 13),
        (vec![], 9),
    ] {
        let mut views = Views::new();
        read(&mut views, &a, whole(b"0123456789"));
        views.edited(&a, Digest::of(b"0123456789"), &splices, Digest::of(b"new"), len, classify(b"new"));
        let covered = match views.get(&a) {
            Some(View::File { covered, .. }) => covered.clone(),
            other => panic!("{other:?}"),
        };
        assert!(covered.is_empty(), "{splices:?}");
    }
}

#[test]
fn the_stored_form_has_a_version_and_comes_back() {
    let mut views = Views::new();
    read(&mut views, &path("/ws/a"), page(b"0123", 1..2));
    wrote(&mut views, &path("/ws/b"), b"text\n");
    views.vouch(&path("/ws/c"), Digest::of(b"c"));
    let began = views.begin();
    views.record_link(&path("/ws/d"), began, "a".to_owned());
    let json = serde_json::to_value(&views).unwrap();
    insta::assert_snapshot!("stored_views", serde_json::to_string_pretty(&json).unwrap());
    let back: Views = serde_json::from_value(json.clone()).unwrap();
    assert!(back.iter().eq(views.iter()));

    let mut other = json.clone();
    other["version"] = 2.into();
    assert!(serde_json::from_value::<Views>(other).is_err());
    let mut other = json;
    other["more"] = 1.into();
    assert!(serde_json::from_value::<Views>(other).is_err());
    assert!(serde_json::from_str::<Views>("{\"views\":{}}").is_err());
}

/// A byte of a file: what it is, and whether it was delivered.
type Model = Vec<(u8, bool)>;

fn bytes(model: &Model) -> Vec<u8> {
    model.iter().map(|(byte, _)| *byte).collect()
}

/// Cuts `0..len` at pairs of the given points.
fn splices(len: u64, points: &[u64], lengths: &[u64]) -> Vec<Splice> {
    let mut points: Vec<u64> = points.iter().map(|point| point % (len + 1)).collect();
    points.sort_unstable();
    let ranges = points.chunks_exact(2).map(|pair| pair[0]..pair[1]);
    ranges.zip(lengths).map(|(old, new_len)| Splice { old, new_len: *new_len }).collect()
}

proptest! {
    #[test]
    fn an_edit_covers_what_was_covered_and_what_it_wrote_and_no_other_byte(
        model in prop::collection::vec((any::<u8>(), any::<bool>()), 0..40),
        points in prop::collection::vec(any::<u64>(), 0..8),
        lengths in prop::collection::vec(0..6_u64, 4),
        base_was_seen in any::<bool>(),
    ) {
        let (mut views, a) = (Views::new(), path("/ws/a"));
        let content = bytes(&model);
        let base = Digest::of(&content);
        let seen = if base_was_seen { content.clone() } else { [&content[..], b"!"].concat() };
        for (at, _) in model.iter().enumerate().filter(|(_, (_, delivered))| *delivered) {
            read(&mut views, &a, page(&seen, at as u64..at as u64 + 1));
        }

        let splices = splices(content.len() as u64, &points, &lengths);
        let mut edited: Model = model.iter().map(|(byte, delivered)| (*byte, *delivered && base_was_seen)).collect();
        for splice in splices.iter().rev() {
            let old = usize::try_from(splice.old.start).unwrap()..usize::try_from(splice.old.end).unwrap();
            edited.splice(old, (0..splice.new_len).map(|_| (b'n', true)));
        }
        let new = bytes(&edited);
        views.edited(&a, base, &splices, Digest::of(&new), new.len() as u64, classify(&new));

        let Some(View::File { digest, len, covered, shape, .. }) = views.get(&a) else { panic!("no view") };
        prop_assert_eq!((*digest, *len), (Digest::of(&new), new.len() as u64));
        prop_assert_eq!(*shape, Fact::Known(classify(&new)));
        let bits: Vec<bool> =
            (0..*len).map(|byte| covered.iter().any(|range| range.contains(&byte))).collect();
        let expected: Vec<bool> = edited.iter().map(|(_, delivered)| *delivered).collect();
        prop_assert_eq!(bits, expected);
    }
}
