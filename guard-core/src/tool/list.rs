//! `list_dir`.

use guard_policy::{Act, Code, Refusal, TargetPath};
use schemars::JsonSchema;
use serde::Serialize;

use crate::port::{Depth, Entry, Last, OpError, Page};
use crate::request::{Asked, Known, Request};
use crate::{Failure, ListDir};

/// The names in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DirListing {
    /// The directory as it was requested.
    pub path: String,
    /// Where it is on the target.
    pub resolved: TargetPath,
    /// The entries, sorted by the bytes of their names.
    pub entries: Vec<Entry>,
    /// The `after` of the next page, if there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Requests to the target that the call took.
    pub round_trips: u32,
}

pub(crate) async fn list_dir(mut request: Request, args: ListDir) -> Result<DirListing, Failure> {
    let mut site = request.locate(args.path.as_deref().unwrap_or("."), Last::Follow).await?;
    request.judge(&site, Asked::plain(Act::List), Known::NOTHING)?;
    let most = request.guard().policy.limits.list_entries;
    let page = Page { after: args.after, limit: args.limit.unwrap_or(most).clamp(1, most.max(1)) };
    request.trips += 1;
    let ask = request.ask(&site, Last::Follow, Depth::State);
    let listing = request.guard().ops.list(&ask, &page).await;
    let listing = listing.map_err(|error| match error {
        OpError::Unsupported { .. } if page.after.is_some() => {
            let detail = "after is the `next` of the page before, and this is none";
            Refusal::new(Code::InvalidArguments, &site.requested, detail).into()
        }
        error => request.op_error(&site.requested, &error),
    })?;
    if listing.resolved != site.expect {
        site.redirect(listing.resolved.clone())?;
        request.judge(&site, Asked::plain(Act::List), Known::NOTHING)?;
    }
    Ok(DirListing {
        path: site.requested,
        resolved: listing.resolved,
        entries: listing.entries,
        next: listing.next,
        round_trips: request.trips,
    })
}
