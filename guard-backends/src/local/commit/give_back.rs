//! Exchanging back what should not have been displaced, until the name has the newest content.
//!
//! An exchange only permutes inodes over two names, so that nothing is lost by it; what it can get wrong is which of
//! them is at the name. What comes out of the name is compared with what was put there: if it is that, untouched,
//! nobody was at the name in between, and the name now has what it should. If it is anything else (another inode, or
//! our own with another writer's bytes in it), it is newer than all that was seen before and goes back.

use guard_core::policy::FileState;
use guard_core::port::{Fate, Step};
use rustix::io::Errno;

use super::look::{self, Thing};
use super::plan::Site;
use super::{Cx, left};
use crate::local::sys;

/// How many exchanges a change makes at most; then what is there stays and is reported.
const EXCHANGES: usize = 8;

/// How it ended.
pub(super) struct GaveBack {
    /// What is at the name.
    pub(super) found: FileState,
    pub(super) fate: Fate,
}

/// Puts `out`, which is under the temporary name, back in place of `ours`.
pub(super) fn give_back(cx: &Cx<'_>, site: &Site, temp: &str, ours: Thing, out: Thing) -> GaveBack {
    let mut put = ours;
    let mut out = out;
    let mut put_is_ours = true;
    // One exchange was made to get here.
    for _ in 1..EXCHANGES {
        if let Err(errno) = sys::exchange(&site.dir, temp.as_bytes(), site.name.as_bytes()) {
            let why = match errno {
                Errno::NOENT => "what was displaced; its name was removed meanwhile".to_owned(),
                errno => format!("what was displaced could not be put back: {errno}"),
            };
            return GaveBack { found: look::found(site), fate: left(site, temp, &why) };
        }
        cx.step(Step::PutBack(&site.path));
        let came = look::judge(site, temp);
        if came.is(&put) {
            let found = out.state();
            if put_is_ours && look::unlink_if(site, temp, &came) {
                return GaveBack { found, fate: Fate::Restored };
            }
            let why = "a content of another writer that a later one superseded";
            return GaveBack { found, fate: left(site, temp, why) };
        }
        if let Thing::Unknown = came {
            // The name has what came out of it last; what this is cannot be told, so that nothing is decided by it.
            let why = "what came out of the name, which cannot be looked at";
            return GaveBack { found: out.state(), fate: left(site, temp, why) };
        }
        put = out;
        out = came;
        put_is_ours = false;
    }
    let why = "a content of another writer; the name kept changing";
    GaveBack { found: look::found(site), fate: left(site, temp, why) }
}
