//! `move_file`: a file or link to a free name.

use guard_policy::Act;

use super::intent::{Intended, Intent, Mark};
use super::mutate::{Item, Looking, Manner, mutate};
use crate::port::Last;
use crate::request::{Asked, Dangers, Request};
use crate::{Done, Failure, MoveFile};

pub(crate) async fn move_file(mut request: Request, args: MoveFile) -> Result<Done, Failure> {
    let from = request.locate(&args.from, Last::Itself).await?;
    let to = request.locate(&args.to, Last::Itself).await?;
    let manner = Manner { looking: Looking::WhereNeeded, dry_run: args.dry_run, dangers: Dangers::default() };
    let plan = |_: &Request, _: &[Item]| {
        let summary = format!("move to {}", args.to);
        Ok(Intent::new(0, Intended::MoveTo { item: 1 }, Mark::Moved, summary).into())
    };
    let items = vec![Item::new(from, Asked::plain(Act::MoveFrom)), Item::new(to, Asked::plain(Act::MoveTo))];
    mutate(request, items, manner, plan).await
}
