//! The script that a session runs, from its parts.

/// Reads the script and evaluates it.
pub(super) const STAGE: &str = include_str!("script/boot.sh");

/// In the order in which the shell reads them.
const PARTS: &[&str] = &[
    include_str!("script/base.sh"),
    include_str!("script/tools.sh"),
    include_str!("script/resolve.sh"),
    include_str!("script/look.sh"),
    include_str!("script/query.sh"),
    include_str!("script/list.sh"),
    include_str!("script/change.sh"),
    include_str!("script/names.sh"),
    include_str!("script/precondition.sh"),
    include_str!("script/directory.sh"),
    include_str!("script/stage.sh"),
    include_str!("script/metadata.sh"),
    include_str!("script/bulk.sh"),
    include_str!("script/publish.sh"),
    include_str!("script/move.sh"),
    include_str!("script/undo.sh"),
    include_str!("script/finish.sh"),
    include_str!("script/reply.sh"),
    include_str!("script/commit.sh"),
    include_str!("script/settle.sh"),
    include_str!("script/old_shell.sh"),
    include_str!("script/verdict.sh"),
    include_str!("script/main.sh"),
];

/// Returns the whole script without comments and blank lines, which nobody reads on the target.
pub(super) fn whole() -> String {
    PARTS.iter().map(|part| bare(part)).collect()
}

/// Returns the first stage without comments and blank lines.
pub(super) fn stage() -> String {
    bare(STAGE)
}

fn bare(part: &str) -> String {
    let lines = part.lines().map(str::trim_start);
    let kept = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    kept.fold(String::new(), |text, line| text + line + "\n")
}
