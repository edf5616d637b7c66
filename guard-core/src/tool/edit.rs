//! `edit_file`: texts replaced in a file, every one or none.

use guard_policy::{Act, Bom, Code, ContentClass, Fact, Refusal, TextShape, classify};

use super::intent::{Intended, Intent, Mark};
use super::mutate::{Item, Looking, Manner, mutate};
use crate::edit::{self, Edited};
use crate::port::{Content, Last, Mode};
use crate::request::{Asked, Dangers, Request};
use crate::text::{diff, utf16};
use crate::{Done, Edit, EditFile, Failure};

pub(crate) async fn edit_file(mut request: Request, args: EditFile) -> Result<Done, Failure> {
    let edits = edits(&args)?;
    let site = request.locate(&args.path, Last::Follow).await?;
    let manner = Manner {
        looking: Looking::Always,
        dry_run: args.dry_run,
        dangers: Dangers { lose_metadata: args.danger_lose_metadata, in_place: args.danger_in_place },
    };
    let plan =
        |request: &Request, items: &[Item]| plan(request, &items[0], &args.path, &edits).map(Into::into);
    mutate(request, vec![Item::new(site, Asked::plain(Act::Edit))], manner, plan).await
}

/// Returns the edits of the call, in either spelling.
fn edits(args: &EditFile) -> Result<Vec<Edit>, Failure> {
    let refuse = |detail: &str| Err(Refusal::new(Code::InvalidArguments, &args.path, detail).into());
    let edits = match (&args.old, &args.new, args.edits.is_empty()) {
        (None, None, false) if args.replace_all => {
            return refuse("replace_all belongs into each of the edits");
        }
        (None, None, false) => args.edits.clone(),
        (Some(old), Some(new), true) => {
            vec![Edit { old: old.clone(), new: new.clone(), replace_all: args.replace_all }]
        }
        _ => return refuse("give either edits, or old and new"),
    };
    for edit in &edits {
        if edit.old.is_empty() {
            return Err(Refusal::new(Code::EmptyOld, &args.path, "").into());
        }
        if edit.old == edit.new {
            return Err(Refusal::new(Code::NoChange, &args.path, "").into());
        }
    }
    Ok(edits)
}

fn plan(request: &Request, item: &Item, path: &str, edits: &[Edit]) -> Result<Intent, Failure> {
    // The policy allows an edit only where the content is known.
    let Some((bytes, Fact::Known(shape))) = item.bytes().zip(item.look.as_ref().map(|look| look.shape))
    else {
        return Err(Refusal::new(Code::TooLarge, path, "").into());
    };
    let Some(base) = item.look.as_ref().and_then(|look| look.state.digest()) else {
        return Err(Refusal::new(Code::TooLarge, path, "").into());
    };
    let edited = applied(bytes, shape, edits).map_err(|refused| refused.refusal(path))?;
    let limit = request.guard().policy.limits.write_bytes;
    if edited.bytes.len() as u64 > limit {
        let detail = format!("the result has {} bytes, the limit is {limit}", edited.bytes.len());
        return Err(Refusal::new(Code::TooLarge, path, &detail).into());
    }
    let diff = diff::unified(bytes, &edited.bytes);
    let mark = Mark::Edited { base, splices: edited.splices, shape: classify(&edited.bytes) };
    let content = Content::from(edited.bytes);
    let summary = format!("edit {} places", edited.places);
    let mut intent = Intent::new(0, Intended::Put { content, mode: Mode::Keep }, mark, summary);
    intent.diff = diff;
    if request.records()
        && let Some(guard_policy::View::File { digest, .. }) = request.actor.views().get(&item.site.expect)
        && *digest != base
    {
        intent.notes.push(
            "The file had changed since this actor saw it; the edit was made in what it is now.".into(),
        );
    }
    Ok(intent)
}

/// Edits the raw bytes, or the decoded text of UTF-16, which is encoded back.
fn applied(bytes: &[u8], shape: TextShape, edits: &[Edit]) -> Result<Edited, edit::Refused> {
    if shape.class != ContentClass::Utf16 {
        return edit::apply(bytes, shape, edits, |text| text.len() as u64).map(|pieces| pieces.finish(0));
    }
    let Some(text) = utf16::decode(bytes) else { return Err(edit::Refused::Undecodable) };
    let units = |text: &[u8]| utf16::encoded_len(text);
    let edited = edit::apply(text.as_bytes(), shape, edits, units)?.finish(Bom::LEN_UTF16);
    let encoded = std::str::from_utf8(&edited.bytes).ok().and_then(|text| utf16::encode(text, shape.bom));
    let bytes = encoded.ok_or(edit::Refused::Undecodable)?;
    Ok(Edited { bytes, ..edited })
}
