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

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test runs parts of the script by themselves")]
mod tests {
    use std::process::Command;

    use guard_testkit::skip;
    use guard_testkit::transport::Sh;

    use super::*;

    /// What is read of a body, by a `dd` that only says what it is told.
    const TAKES: &str = "
exec 3</dev/null 8>&1
g_reader=dd g_dd=g_says g_cat=cat g_dd_quiet=
g_says() { echo \"$1 $2\" >&8; }
for g_try in 0 1 999999 1000000 1048576 1999999 2000000 2147483648 4294967297 5000000000001; do
    echo \"= $g_try\"
    g_drain \"$g_try\"
done
";

    /// mksh counts with 32 bits, and a body that is not taken whole is read as commands.
    #[test]
    fn a_body_of_any_length_is_taken_whole_by_every_shell() {
        let script = format!("g_shell=plain\n{}{}{TAKES}", bare(PARTS[0]), bare(PARTS[1]));
        for sh in Sh::ALL {
            if skip::unless(sh.need(), "a_body_of_any_length_is_taken_whole_by_every_shell") {
                continue;
            }
            let tools = sh.tools().unwrap();
            let run = Command::new("sh").args(["-c", &script]).env("PATH", tools.path()).output().unwrap();
            let said = String::from_utf8(run.stdout).unwrap();
            for asked in said.split("= ").skip(1) {
                let mut lines = asked.lines();
                let len: u64 = lines.next().unwrap().parse().unwrap();
                let taken = lines.map(|line| {
                    let (size, count) = line.split_once(' ').unwrap();
                    let number = |word: &str| word.split_once('=').unwrap().1.parse::<u64>().unwrap();
                    number(size) * number(count)
                });
                assert_eq!(taken.sum::<u64>(), len, "{}: {said}", sh.name());
            }
            assert_eq!(said.matches("= ").count(), 10, "{}: {said}", sh.name());
        }
    }
}
