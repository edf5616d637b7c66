//! The tools: what each makes of its arguments, and the one way in which they change a target.

pub(crate) mod apply_patch;
pub(crate) mod delete;
pub(crate) mod edit;
pub(crate) mod explain;
pub(crate) mod intent;
pub(crate) mod list;
pub(crate) mod make_dir;
pub(crate) mod move_file;
pub(crate) mod mutate;
pub(crate) mod read;
pub(crate) mod reply;
pub(crate) mod seen;
pub(crate) mod stat;
pub(crate) mod undo;
pub(crate) mod write;

pub(crate) use reply::Reply;
