//! A name for what has a name.

use crate::{Act, Call, Code, Refusal, Trailing};

/// Refuses a path that ends like a directory's where a file is meant: `open("a/")` of a file fails on the target,
/// and `a` was not what was asked for.
pub(crate) fn check(call: &Call<'_>) -> Result<(), Refusal> {
    let takes_directories = matches!(call.act, Act::Stat | Act::List | Act::MakeDir);
    if takes_directories || Trailing::of(call.requested) == Trailing::Name {
        return Ok(());
    }
    Err(Refusal::new(Code::InvalidPath, call.requested, "it names a directory, and this tool works on files"))
}
