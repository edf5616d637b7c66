//! Small files, by the guard's tools.

use std::time::Duration;

use guard_core::policy::Precondition;
use guard_core::port::FileOps as _;
use guard_core::{Edit, EditFile, ReadFile, WriteFile};

use super::Measured;
use super::body::Body;
use super::large::{batch, create};
use super::pairs::{self, timed};
use super::place::Place;
use super::table::{Figures, Row};

/// How many files are in a batch.
const BATCH: u32 = 100;

/// Measures every row of small files.
pub(crate) async fn measure(place: &Place, quick: bool) -> Measured<Vec<Row>> {
    let (count, batches) = if quick { (5, 3) } else { (31, 9) };
    let row = |what: &str, figures, goal| Row { place: place.name, what: what.to_owned(), figures, goal };
    let actor = place.guard.actor("bench");
    let (text, other, nothing) = (lines(4096, "first"), lines(4096, "other"), Body::of(""));
    let bare = async |command: String, input: &Body| -> Measured<Duration> {
        Ok(timed(place.bare.exec(&command, input)).await?.1)
    };
    let texts = [Body::of(text.clone()), Body::of(other.clone())];

    let created = pairs::take(
        count,
        async |nth| {
            Ok(timed(actor.write_file(WriteFile::new(format!("created-{nth}"), text.clone()))).await?.1)
        },
        async |nth| bare(format!("cat > {}", place.path(&format!("bare-{nth}"))), &texts[0]).await,
    )
    .await?;

    actor.write_file(WriteFile::new("replaced", text.clone())).await?;
    let replaced = pairs::take(
        count,
        async |nth| {
            let text = if nth % 2 == 0 { &other } else { &text };
            Ok(timed(actor.write_file(WriteFile::new("replaced", text.clone()))).await?.1)
        },
        async |nth| bare(format!("cat > {}", place.path("bare")), &texts[(nth + 1) % 2]).await,
    )
    .await?;

    let read = pairs::take(
        count,
        async |_| Ok(timed(actor.read_file(ReadFile::new("replaced"))).await?.1),
        async |_| bare(format!("cat {}", place.path("replaced")), &nothing).await,
    )
    .await?;

    let edited_text = lines(1024, "first");
    actor.write_file(WriteFile::new("edited", format!("turn 0\n{edited_text}"))).await?;
    let edited_body = Body::of(format!("turn 0\n{edited_text}"));
    let edited = pairs::take(
        count,
        async |nth| {
            let edit =
                Edit { old: format!("turn {nth}\n"), new: format!("turn {}\n", nth + 1), replace_all: false };
            let edit = EditFile { path: "edited".into(), edits: vec![edit], ..EditFile::default() };
            Ok(timed(actor.edit_file(edit)).await?.1)
        },
        async |_| {
            let path = place.path("bare");
            Ok(bare(format!("cat {path}"), &nothing).await?
                + bare(format!("cat > {path}"), &edited_body).await?)
        },
    )
    .await?;

    let (mut each, mut all) = (Vec::new(), Vec::new());
    for round in 0..=batches {
        let changes = (0..BATCH).map(|nth| {
            create(
                place,
                &format!("batch-{round}-{nth}"),
                text.clone().into_bytes().into(),
                Precondition::Absent,
            )
        });
        let changes = changes.collect::<Measured<Vec<_>>>()?;
        let (_, took) = timed(place.ops.commit(batch(changes))).await?;
        if round > 0 {
            all.push(took.as_secs_f64() * 1e3);
            each.push(took.saturating_sub(place.trip).as_secs_f64() * 1e3 / f64::from(BATCH));
        }
    }
    Ok(vec![
        row("4 KiB create", Figures::Pairs(created), place.goals.create),
        row("4 KiB replace", Figures::Pairs(replaced), None),
        row("4 KiB read", Figures::Pairs(read), None),
        row("1 KiB edit", Figures::Pairs(edited), None),
        row("100 creates in one batch", Figures::EachFile { each, all }, place.goals.each_file),
    ])
}

/// Makes a text of so many bytes, in lines.
fn lines(len: usize, word: &str) -> String {
    let line = format!("a {word} line of a file\n");
    let mut text = line.repeat(len / line.len() + 1);
    text.truncate(len);
    text
}
