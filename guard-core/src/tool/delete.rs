//! `delete_file`: a file or link that was seen.

use guard_policy::Act;

use super::intent::{Intended, Intent, Mark};
use super::mutate::{Item, Looking, Manner, mutate};
use crate::port::Last;
use crate::request::{Asked, Dangers, Request};
use crate::text::diff;
use crate::{DeleteFile, Done, Failure};

pub(crate) async fn delete_file(mut request: Request, args: DeleteFile) -> Result<Done, Failure> {
    let site = request.locate(&args.path, Last::Itself).await?;
    let manner = Manner { looking: Looking::WhereNeeded, dry_run: args.dry_run, dangers: Dangers::default() };
    let plan = |_: &Request, items: &[Item]| {
        let mut intent = Intent::new(0, Intended::Remove, Mark::Removed, "delete");
        intent.diff = items[0].bytes().and_then(|old| diff::unified(old, b""));
        Ok(intent.into())
    };
    mutate(request, vec![Item::new(site, Asked::plain(Act::Delete))], manner, plan).await
}
