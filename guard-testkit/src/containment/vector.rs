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
    ByText,
    /// The target has to look.
    ByTarget,
    /// As `ByText`, on a target whose home directory is known.
    ByHome,
    /// As `ByTarget`, with a file of this name in the workspace, which the fixture may not be able to make.
    ByFile(&'static str),
}

macro_rules! vectors {
    ($($name:literal, $how:expr, $path:expr;)*) => {
        /// Every vector, in the order of the table.
        pub const VECTORS: &[Vector] = &[$(Vector { name: $name, path: $path, how: $how },)*];
    };
}

use How::{ByFile, ByHome, ByTarget, ByText};

vectors! {
    // What is inside, for comparison.
    "a file", ByTarget, |_| "file.txt".into();
    "a missing name", ByTarget, |_| "new.txt".into();
    "absolute, inside", ByTarget, |at| format!("{}/file.txt", at.root);
    "a//b", ByTarget, |_| "dir//inner.txt".into();
    "./a/./b", ByTarget, |_| "./dir/./inner.txt".into();
    "a/../b", ByTarget, |_| "dir/../file.txt".into();
    // Out by the text.
    "..", ByText, |_| "..".into();
    "../x", ByText, |_| "../new.txt".into();
    "../sibling/file", ByText, |at| format!("../{}/canary.txt", at.outside_name());
    "a/../../x", ByTarget, |_| "dir/../../new.txt".into();
    "absent/../../x", ByTarget, |_| "absent/../../new.txt".into();
    "absolute, outside", ByText, |_| "/etc/passwd".into();
    "absolute, sibling with the prefix", ByText, |at| format!("{}/canary.txt", at.outside);
    "absolute, root and ..", ByText, |at| format!("{}/../{}/canary.txt", at.root, at.outside_name());
    "/", ByText, |_| "/".into();
    "//x", ByText, |_| "//etc/passwd".into();
    "~, which is outside", ByHome, |_| "~/new.txt".into();
    // What is no path.
    "empty", ByText, |_| String::new();
    "NUL", ByText, |_| "file.txt\0".into();
    "a component of 256 bytes", ByTarget, |_| "n".repeat(256);
    "4097 bytes", ByText, |_| "d/".repeat(2048) + "x";
    "a file with a slash", ByTarget, |_| "file.txt/".into();
    "a file with /.", ByTarget, |_| "file.txt/.".into();
    "the root itself", ByTarget, |_| ".".into();
    // Names that look like more than names.
    "~root", ByTarget, |_| "~root".into();
    "$HOME", ByTarget, |_| "$HOME".into();
    "%2e%2e", ByTarget, |_| "%2e%2e".into();
    "%2e%2e%2fx", ByTarget, |_| "%2e%2e%2fetc".into();
    "...", ByTarget, |_| "...".into();
    "a component of 255 bytes", ByTarget, |_| "m".repeat(255);
    "newline", ByTarget, |_| "a\nb.txt".into();
    "tab", ByTarget, |_| "a\tb.txt".into();
    "ESC", ByTarget, |_| "a\u{1b}[2Jb.txt".into();
    "leading dash", ByTarget, |_| "-rf".into();
    "a quote", ByTarget, |_| "it's \"here\".txt".into();
    "a backtick", ByTarget, |_| "`touch x`.txt".into();
    "$()", ByTarget, |_| "$(touch x).txt".into();
    "globs", ByTarget, |_| "*?[a].txt".into();
    "a backslash", ByTarget, |_| "..\\..\\etc".into();
    "NFC", ByTarget, |_| "na\u{ef}ve.txt".into();
    "NFD", ByTarget, |_| "nai\u{308}ve.txt".into();
    "another case", ByTarget, |_| "FILE.TXT".into();
    "a name that is not UTF-8", ByFile("caf\\xE9.txt"), |_| "caf\u{fffd}.txt".into();
    // Links that stay inside.
    "link inside", ByTarget, |_| "to-file".into();
    "absolute link inside", ByTarget, |_| "to-file-absolute".into();
    "link with .. inside", ByTarget, |_| "dir/to-file-above".into();
    "through a link inside", ByTarget, |_| "to-dir/inner.txt".into();
    "link/..", ByTarget, |_| "to-deep/../inner.txt".into();
    "missing behind a link inside", ByTarget, |_| "to-dir/new/new.txt".into();
    "a link with a slash", ByTarget, |_| "to-file/".into();
    "a link to a directory, slash", ByTarget, |_| "to-dir/".into();
    "a link to a directory, /.", ByTarget, |_| "to-dir/.".into();
    "dangling link inside", ByTarget, |_| "dangling".into();
    // Links that lead out.
    "link to a file outside", ByTarget, |_| "out-file".into();
    "relative link to a file outside", ByTarget, |_| "out-file-relative".into();
    "dangling link to outside", ByTarget, |_| "out-dangling".into();
    "link to a directory outside", ByTarget, |_| "out-dir".into();
    "a file through a link out", ByTarget, |_| "out-dir/canary.txt".into();
    "a missing file through a link out", ByTarget, |_| "out-dir/new.txt".into();
    "missing folders behind a link out", ByTarget, |_| "out-dir/new/deep/new.txt".into();
    "chain inside, inside, outside", ByTarget, |_| "chain-1".into();
    "out and back in", ByTarget, |_| "out-and-in".into();
    "link/.. outside", ByTarget, |_| "out-dir/../canary.txt".into();
    "link to the sibling by ..", ByTarget, |_| "dir/out-above/canary.txt".into();
    "/proc/self/root", ByTarget, |_| "proc-root/etc/passwd".into();
    "/proc/self/cwd", ByTarget, |_| "proc-cwd/new.txt".into();
    "/proc/PID/fd/N", ByTarget, |_| "proc-fd".into();
    "41 links", ByTarget, |_| "l41".into();
    "a loop", ByTarget, |_| "loop".into();
    "link out with a slash", ByTarget, |_| "out-dir/".into();
    "through a loop", ByTarget, |_| "loop/x".into();
    // Other kinds of things.
    "hard link to a file outside", ByFile("hard"), |_| "hard".into();
    "file as a directory", ByTarget, |_| "file.txt/x".into();
    "a directory", ByTarget, |_| "dir".into();
    "FIFO", ByFile("fifo"), |_| "fifo".into();
    "FIFO through a link", ByFile("fifo"), |_| "to-fifo".into();
    "socket", ByFile("socket"), |_| "socket".into();
    "socket through a link", ByFile("socket"), |_| "to-socket".into();
    "device through a link", ByTarget, |_| "to-device".into();
    // What is sensitive is so by where it is.
    "a secret through a link", ByTarget, |_| "to-secret".into();
    "a secret through a directory link", ByTarget, |_| "to-ssh/id_ed25519".into();
    "a hook through a link", ByTarget, |_| "to-git/hooks/pre-commit".into();
}
