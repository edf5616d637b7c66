//! The ways out of a workspace, and the names that look like one.

use super::stage::Places;

/// One path that tools are called with.
pub struct Vector {
    /// What it is called in the table.
    pub name: &'static str,
    pub(super) path: fn(&Places) -> String,
    pub(super) how: How,
}

/// What is known of a vector without asking a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// Its text alone is refused: nothing is asked of the target.
    Text,
    /// The target has to look.
    Target,
    /// As `Text`, on a target whose home directory is known.
    Home,
    /// As `Target`, with a file of this name in the workspace, which the fixture may not be able to make.
    File(&'static str),
}

macro_rules! vectors {
    ($($name:literal, $how:expr, $path:expr;)*) => {
        /// Every vector, in the order of the table.
        pub const VECTORS: &[Vector] = &[$(Vector { name: $name, path: $path, how: $how },)*];
    };
}

use How::{File, Home, Target, Text};

vectors! {
    // What is inside, for comparison.
    "a file", Target, |_| "file.txt".into();
    "a missing name", Target, |_| "new.txt".into();
    "absolute, inside", Target, |at| format!("{}/file.txt", at.root);
    "a//b", Target, |_| "dir//inner.txt".into();
    "./a/./b", Target, |_| "./dir/./inner.txt".into();
    "a/../b", Target, |_| "dir/../file.txt".into();
    // Out by the text.
    "..", Text, |_| "..".into();
    "../x", Text, |_| "../new.txt".into();
    "../sibling/file", Text, |at| format!("../{}/canary.txt", at.outside_name());
    "a/../../x", Target, |_| "dir/../../new.txt".into();
    "absent/../../x", Target, |_| "absent/../../new.txt".into();
    "absolute, outside", Text, |_| "/etc/passwd".into();
    "absolute, sibling with the prefix", Text, |at| format!("{}/canary.txt", at.outside);
    "absolute, root and ..", Text, |at| format!("{}/../{}/canary.txt", at.root, at.outside_name());
    "/", Text, |_| "/".into();
    "//x", Text, |_| "//etc/passwd".into();
    "~, which is outside", Home, |_| "~/new.txt".into();
    // What is no path.
    "empty", Text, |_| String::new();
    "NUL", Text, |_| "file.txt\0".into();
    "a component of 256 bytes", Target, |_| "n".repeat(256);
    "4097 bytes", Text, |_| "d/".repeat(2048) + "x";
    "a file with a slash", Target, |_| "file.txt/".into();
    "a file with /.", Target, |_| "file.txt/.".into();
    "the root itself", Target, |_| ".".into();
    // Names that look like more than names.
    "~root", Target, |_| "~root".into();
    "$HOME", Target, |_| "$HOME".into();
    "%2e%2e", Target, |_| "%2e%2e".into();
    "%2e%2e%2fx", Target, |_| "%2e%2e%2fetc".into();
    "...", Target, |_| "...".into();
    "a component of 255 bytes", Target, |_| "m".repeat(255);
    "newline", Target, |_| "a\nb.txt".into();
    "tab", Target, |_| "a\tb.txt".into();
    "ESC", Target, |_| "a\u{1b}[2Jb.txt".into();
    "leading dash", Target, |_| "-rf".into();
    "a quote", Target, |_| "it's \"here\".txt".into();
    "a backtick", Target, |_| "`touch x`.txt".into();
    "$()", Target, |_| "$(touch x).txt".into();
    "globs", Target, |_| "*?[a].txt".into();
    "a backslash", Target, |_| "..\\..\\etc".into();
    "NFC", Target, |_| "na\u{ef}ve.txt".into();
    "NFD", Target, |_| "nai\u{308}ve.txt".into();
    "another case", Target, |_| "FILE.TXT".into();
    "a name that is not UTF-8", File("caf\\xE9.txt"), |_| "caf\u{fffd}.txt".into();
    // Links that stay inside.
    "link inside", Target, |_| "to-file".into();
    "absolute link inside", Target, |_| "to-file-absolute".into();
    "link with .. inside", Target, |_| "dir/to-file-above".into();
    "through a link inside", Target, |_| "to-dir/inner.txt".into();
    "link/..", Target, |_| "to-deep/../inner.txt".into();
    "missing behind a link inside", Target, |_| "to-dir/new/new.txt".into();
    "a link with a slash", Target, |_| "to-file/".into();
    "a link to a directory, slash", Target, |_| "to-dir/".into();
    "a link to a directory, /.", Target, |_| "to-dir/.".into();
    "dangling link inside", Target, |_| "dangling".into();
    // Links that lead out.
    "link to a file outside", Target, |_| "out-file".into();
    "relative link to a file outside", Target, |_| "out-file-relative".into();
    "dangling link to outside", Target, |_| "out-dangling".into();
    "link to a directory outside", Target, |_| "out-dir".into();
    "a file through a link out", Target, |_| "out-dir/canary.txt".into();
    "a missing file through a link out", Target, |_| "out-dir/new.txt".into();
    "missing folders behind a link out", Target, |_| "out-dir/new/deep/new.txt".into();
    "chain inside, inside, outside", Target, |_| "chain-1".into();
    "out and back in", Target, |_| "out-and-in".into();
    "link/.. outside", Target, |_| "out-dir/../canary.txt".into();
    "link to the sibling by ..", Target, |_| "dir/out-above/canary.txt".into();
    "/proc/self/root", Target, |_| "proc-root/etc/passwd".into();
    "/proc/self/cwd", Target, |_| "proc-cwd/new.txt".into();
    "/proc/PID/fd/N", Target, |_| "proc-fd".into();
    "41 links", Target, |_| "l41".into();
    "a loop", Target, |_| "loop".into();
    "link out with a slash", Target, |_| "out-dir/".into();
    "through a loop", Target, |_| "loop/x".into();
    // Other kinds of things.
    "hard link to a file outside", File("hard"), |_| "hard".into();
    "file as a directory", Target, |_| "file.txt/x".into();
    "a directory", Target, |_| "dir".into();
    "FIFO", File("fifo"), |_| "fifo".into();
    "FIFO through a link", File("fifo"), |_| "to-fifo".into();
    "socket", File("socket"), |_| "socket".into();
    "socket through a link", File("socket"), |_| "to-socket".into();
    "device through a link", Target, |_| "to-device".into();
    // What is sensitive is so by where it is.
    "a secret through a link", Target, |_| "to-secret".into();
    "a secret through a directory link", Target, |_| "to-ssh/id_ed25519".into();
    "a hook through a link", Target, |_| "to-git/hooks/pre-commit".into();
}
