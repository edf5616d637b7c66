//! `write_file`: a whole content, over the version that was seen, or where nothing is.

use guard_policy::{
    Act, Bom, ContentClass, Digest, Eol, EolPolicy, Expect, Fact, NewText, Precondition, TextShape, View,
    classify, is_tool_echo,
};

use super::intent::{Intended, Intent, Mark};
use super::mutate::{Item, Looking, Manner, mutate};
use crate::args::ExpectArg;
use crate::port::{Content, Last, Mode};
use crate::request::{Asked, Dangers, Request};
use crate::text::{diff, utf16};
use crate::{Conversion, Done, Failure, WriteFile};

/// [`WriteFile`] with a content of any bytes.
pub(crate) struct WriteBytes {
    pub(crate) path: String,
    pub(crate) content: Vec<u8>,
    expect: Option<Expect>,
    eol: Option<EolPolicy>,
    mode: Mode,
    raw: bool,
    dry_run: bool,
    dangers: Dangers,
}

impl WriteBytes {
    /// Takes the content that the arguments have.
    pub(crate) fn of_text(mut args: WriteFile) -> Self {
        let content = std::mem::take(&mut args.content).into_bytes();
        Self::new(args, content)
    }

    /// Takes another content than the arguments have.
    pub(crate) fn new(args: WriteFile, content: Vec<u8>) -> Self {
        Self {
            path: args.path,
            content,
            expect: args.expect.map(|expect| match expect {
                ExpectArg::Absent => Expect::Absent,
                ExpectArg::Content(digest) => Expect::Content(digest),
            }),
            eol: args.eol,
            mode: if args.executable { Mode::Executable } else { Mode::Keep },
            raw: args.raw,
            dry_run: args.dry_run,
            dangers: Dangers { lose_metadata: args.danger_lose_metadata, in_place: args.danger_in_place },
        }
    }
}

pub(crate) async fn write_file(mut request: Request, write: WriteBytes) -> Result<Done, Failure> {
    let shape = classify(&write.content);
    let echo = !write.raw && std::str::from_utf8(&write.content).is_ok_and(is_tool_echo);
    let text = NewText { class: shape.class, echo, len: write.content.len() as u64 };
    let asked = Asked { act: Act::Write, text: Some(text), expect: write.expect };
    let site = request.locate(&write.path, Last::Follow).await?;
    let manner = Manner { looking: Looking::WhereNeeded, dry_run: write.dry_run, dangers: write.dangers };
    let given = Digest::of(&write.content);
    let plan = |request: &Request, items: &[Item]| {
        let item = &items[0];
        let eol = write.eol.unwrap_or(request.guard().policy.eol);
        let old = if eol == EolPolicy::Preserve { replaced_shape(request, item) } else { None };
        let (bytes, conversions) = converted(&write.content, shape, old);
        let summary = format!("write {} bytes", bytes.len());
        let diff =
            item.bytes().or(item.look.as_ref().map(|_| &b""[..])).and_then(|old| diff::unified(old, &bytes));
        let mark = Mark::Wrote(if conversions.is_empty() { shape } else { classify(&bytes) });
        let content = Content::from(bytes);
        let mut intent = Intent::new(0, Intended::Put { content, mode: write.mode }, mark, summary);
        intent.given = (!conversions.is_empty()).then_some(given);
        intent.conversions = conversions;
        intent.diff = diff;
        if write.mode == Mode::Executable && item.precondition() != Precondition::Absent {
            intent
                .notes
                .push("The file was there, and its mode was kept; executable is for a new file.".to_owned());
        }
        Ok(intent.into())
    };
    mutate(request, vec![Item::new(site, asked)], manner, plan).await
}

/// Returns the shape of the version that is replaced, as the actor saw it or as it was just read.
fn replaced_shape(request: &Request, item: &Item) -> Option<TextShape> {
    let Precondition::Content { digest } = item.precondition() else { return None };
    if let Some(Fact::Known(shape)) = item.look.as_ref().map(|look| look.shape) {
        return Some(shape);
    }
    match request.actor.views().get(&item.site.expect) {
        Some(View::File { digest: seen, shape: Fact::Known(shape), .. }) if *seen == digest => Some(*shape),
        _ => None,
    }
}

/// Gives new text the EOL, BOM and encoding of the version it replaces, where that had one kind and the new text
/// says nothing else.
fn converted(new: &[u8], shape: TextShape, old: Option<TextShape>) -> (Vec<u8>, Vec<Conversion>) {
    let mut bytes = new.to_vec();
    let mut conversions = Vec::new();
    let Some(old) = old else { return (bytes, conversions) };
    if shape.class != ContentClass::Text || shape.bom != Bom::None {
        return (bytes, conversions);
    }
    if old.eol == Eol::Crlf && shape.eol == Eol::Lf {
        bytes = bytes.split(|byte| *byte == b'\n').collect::<Vec<_>>().join(&b"\r\n"[..]);
        conversions.push(Conversion::LfToCrlf);
    }
    match old.bom {
        Bom::None => {}
        Bom::Utf8 => {
            bytes.splice(0..0, *b"\xEF\xBB\xBF");
            conversions.push(Conversion::BomKept);
        }
        Bom::Utf16Le | Bom::Utf16Be => {
            if let Ok(text) = std::str::from_utf8(&bytes)
                && let Some(encoded) = utf16::encode(text, old.bom)
            {
                bytes = encoded;
                conversions.push(Conversion::Utf16);
            }
        }
    }
    (bytes, conversions)
}
