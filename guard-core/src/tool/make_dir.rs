//! `make_dir`: a directory, and its parents.

use guard_policy::Act;

use super::intent::{Intended, Intent, Mark};
use super::mutate::{Item, Looking, Manner, mutate};
use crate::port::Last;
use crate::request::{Asked, Dangers, Request};
use crate::{Done, Failure, MakeDir};

pub(crate) async fn make_dir(mut request: Request, args: MakeDir) -> Result<Done, Failure> {
    let site = request.locate(&args.path, Last::Itself).await?;
    let manner = Manner { looking: Looking::WhereNeeded, dry_run: args.dry_run, dangers: Dangers::default() };
    let plan = |_: &Request, _: &[Item]| {
        Ok(Intent::new(0, Intended::MakeDir, Mark::Nothing, "make the directory").into())
    };
    mutate(request, vec![Item::new(site, Asked::plain(Act::MakeDir))], manner, plan).await
}
