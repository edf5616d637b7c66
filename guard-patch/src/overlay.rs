use crate::diagnostic::Rejected;
use crate::options::Options;
use crate::patch::Patch;
use crate::plan::Plan;
use crate::snapshot::Snapshot;

pub(crate) fn plan(_: &Patch, _: &dyn Snapshot, _: &Options) -> Result<Plan, Rejected> {
    Err(Rejected(Vec::new()))
}
