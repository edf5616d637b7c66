//! A body of any length is taken whole: what is left of one would be read as commands.

use std::process::Command;

use guard_testkit::skip;
use guard_testkit::transport::Sh;

/// The parts of the script that take bodies.
const PARTS: [&str; 2] =
    [include_str!("../../src/shell/script/base.sh"), include_str!("../../src/shell/script/tools.sh")];

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
    let script = format!("g_shell=plain\n{}{TAKES}", PARTS.concat());
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
