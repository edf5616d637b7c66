//! The names, extensions and paths that the rules know: every list of the policy is in this file.
//!
//! Where a list is one of whole names, they are in lower case and sorted, so that it can be searched; a test holds
//! the lists to it.
//! Case is folded where they are matched, which only ever denies more.

/// Office documents, which text under their name would destroy: refused even when nothing is there.
#[rustfmt::skip]
pub const OPAQUE_DOCUMENTS: &[&str] = &[
    "doc", "docm", "docx", "dotm", "dotx", "epub", "odg", "odp", "ods", "odt", "potm", "potx", "pps",
    "ppsm", "ppsx", "ppt", "pptm", "pptx", "rtf", "vsd", "vsdx", "xls", "xlsb", "xlsm", "xlsx", "xlt",
    "xltm", "xltx",
];

/// Extensions of binary formats: text is not put over an existing file of this name, unless
/// all of it was seen to be text.
#[rustfmt::skip]
pub const BINARY_ONLY: &[&str] = &[
    "3ds", "3gp", "7z", "a", "aac", "accdb", "ai", "aif", "aiff", "apk", "app", "appimage", "arrow", "avi",
    "avif", "avro", "beam", "bin", "blend", "bmp", "br", "bz2", "cab", "ckpt", "class", "cpio", "cr2",
    "crx", "cur", "dat", "data", "db", "db3", "dbf", "deb", "dex", "dll", "dmg", "dng", "dylib", "ear",
    "efi", "egg", "elf", "eot", "eps", "exe", "fbx", "feather", "fig", "fits", "fla", "flac", "flv", "frm",
    "ggml", "gguf", "gif", "glb", "gz", "h5", "hdf5", "heic", "heif", "ibd", "icns", "ico", "idx", "img",
    "ipa", "iso", "jar", "jfif", "jks", "joblib", "jp2", "jpeg", "jpg", "jxl", "kdbx", "keystore", "ko",
    "ldb", "lib", "lockb", "lz", "lz4", "lzma", "m4a", "m4v", "mat", "max", "mdb", "mid", "midi", "mkv",
    "mov", "mp3", "mp4", "mpeg", "mpg", "msi", "myd", "myi", "nc", "nef", "node", "npy", "npz", "numbers",
    "nupkg", "o", "obj", "oga", "ogg", "ogv", "onnx", "opus", "orc", "otf", "p12", "pages", "parquet",
    "pdb", "pfb", "pfx", "pickle", "pkl", "png", "psd", "pt", "pth", "pyc", "pyd", "pyo", "qcow2", "rar",
    "raw", "rdata", "rdb", "rds", "rlib", "rmeta", "rpm", "s3db", "safetensors", "sketch", "so", "sqlite",
    "sqlite3", "stl", "swf", "tar", "tbz2", "tflite", "tgz", "tif", "tiff", "ttf", "txz", "vhd", "vhdx",
    "vmdk", "war", "wasm", "wav", "webm", "webp", "whl", "wma", "wmv", "woff", "woff2", "xcf", "xd", "xpi",
    "xz", "z", "zip", "zst",
];

/// What the journals of SQLite end with; the whole name is judged, so that `x.db-wal` has no
/// extension to hide behind.
#[rustfmt::skip]
pub const SIDECAR_SUFFIXES: &[&str] = &[
    ".db-journal", ".db-shm", ".db-wal", ".db3-journal", ".db3-shm", ".db3-wal", ".s3db-journal",
    ".s3db-shm", ".s3db-wal", ".sqlite-journal", ".sqlite-shm", ".sqlite-wal", ".sqlite3-journal",
    ".sqlite3-shm", ".sqlite3-wal",
];

/// Names of files that hold credentials, wherever they are.
#[rustfmt::skip]
pub const SECRET_NAMES: &[&str] = &[
    ".env", ".envrc", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "id_rsa",
    "id_xmss",
];

/// Extensions of private keys.
pub const SECRET_EXTENSIONS: &[&str] = &["key", "pem", "ppk"];

/// Names with the extension of a key under which certificates and public keys are kept; they are free.
#[rustfmt::skip]
pub const CERTIFICATE_NAMES: &[&str] = &[
    "ca-bundle.pem", "ca-cert.pem", "ca.pem", "cacert.pem", "cert.pem", "certificate.pem", "chain.pem",
    "fullchain.pem", "pubkey.pem", "public.key", "public.pem", "public_key.pem",
];

/// How a name that begins with `.env.` ends where it is a template without secrets; it is free.
pub const ENV_TEMPLATES: &[&str] = &["defaults", "dist", "example", "sample", "schema", "template"];

/// Instructions for agents.
#[rustfmt::skip]
pub const PROTECTED_NAMES: &[&str] = &[
    ".clinerules", ".cursorrules", ".goosehints", ".roorules", ".windsurfrules", "agent.md",
    "agents.local.md", "agents.md", "agents.override.md", "claude.local.md", "claude.md", "gemini.md",
    "qwen.md", "soul.md",
];

/// Paths that tools do not change, with everything below them.
#[rustfmt::skip]
pub const SYSTEM_PATHS: &[&str] = &[
    "/etc", "/boot", "/proc", "/sys", "/dev", "/usr/lib/systemd", "/lib/systemd", "/var/spool/cron",
    "/var/run/docker.sock", "/run/docker.sock", "/private/etc", "/private/var/db", "/private/var/root",
    "/Library/LaunchAgents", "/Library/LaunchDaemons",
];

/// Paths that hold the system's credentials or memory, with everything below them.
#[rustfmt::skip]
pub const SYSTEM_SECRETS: &[&str] = &[
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/ssl/private",
    "/etc/pki/tls/private", "/run/secrets", "/var/run/secrets", "/private/etc/master.passwd",
    "/private/var/db/dslocal", "/dev/mem", "/dev/kmem", "/dev/port", "/proc/kcore", "/proc/kmem",
];

/// What a process's directory in `/proc` has of the process's memory, arguments and open files.
#[rustfmt::skip]
pub const PROC_SECRETS: &[&str] = &[
    "auxv", "clear_refs", "cmdline", "cwd", "environ", "exe", "fd", "map_files", "maps", "mem", "numa_maps",
    "pagemap", "root", "smaps", "smaps_rollup",
];

/// Devices that never end, never begin or belong to the terminal, with everything below them: never opened.
#[rustfmt::skip]
pub const ENDLESS_DEVICES: &[&str] = &[
    "/dev/zero", "/dev/random", "/dev/urandom", "/dev/full", "/dev/stdin", "/dev/stdout", "/dev/stderr",
    "/dev/tty", "/dev/console", "/dev/fd",
];

/// Credentials below the target's home, with everything below them.
#[rustfmt::skip]
pub const HOME_SECRETS: &[&str] = &[
    ".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".oci", ".netrc", ".pgpass", ".my.cnf",
    ".mylogin.cnf", ".npmrc", ".yarnrc.yml", ".pypirc", ".git-credentials", ".vault-token",
    ".password-store", ".boto", ".s3cfg", ".config/gh", ".config/hub", ".config/gcloud",
    ".config/git/credentials", ".config/op", ".config/rclone", ".config/containers/auth.json",
    ".config/age", ".config/sops", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
    ".m2/settings.xml", ".gradle/gradle.properties", ".terraform.d/credentials.tfrc.json", ".terraformrc",
    ".local/share/keyrings", ".mozilla", ".config/google-chrome", ".config/chromium",
    ".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json", "Library/Keychains",
    "Library/Cookies",
];

/// What runs when the target's user logs in, opens a shell or uses git, with everything below it.
#[rustfmt::skip]
pub const HOME_CONFIGURATION: &[&str] = &[
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc",
    ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login",
    ".logout", ".inputrc", ".xinitrc", ".xprofile", ".xsession", ".xsessionrc", ".pam_environment",
    ".gitconfig", ".config/git", ".config/fish", ".config/systemd", ".config/autostart",
    ".config/environment.d", ".cargo/config", ".cargo/config.toml", ".claude.json", ".codex", ".gemini",
    "Library/LaunchAgents",
];

/// What runs when somebody uses git, opens an editor or starts an agent in a directory, anywhere, with everything
/// below it.
///
/// Each begins with a dot, by which paths are searched.
#[rustfmt::skip]
pub const PROJECT_CONFIGURATION: &[&str] = &[
    ".git/hooks", ".git/config", ".git/config.worktree", ".git/modules", ".git/worktrees", ".envrc",
    ".vscode/tasks.json", ".vscode/mcp.json", ".mcp.json", ".claude/settings.json",
    ".claude/settings.local.json", ".claude/hooks", ".cursor/mcp.json", ".cursor/hooks.json",
    ".codex/config.toml", ".gemini/settings.json",
];

/// Instructions for agents by their directory, anywhere, with everything below it.
#[rustfmt::skip]
pub const PROTECTED_PATHS: &[&str] = &[
    ".github/copilot-instructions.md", ".github/instructions", ".junie/guidelines.md", ".cursor/rules",
    ".windsurf/rules", ".clinerules", ".roo/rules", ".amazonq/rules",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_are_searched_are_sorted_and_in_lower_case() {
        for list in [
            OPAQUE_DOCUMENTS,
            BINARY_ONLY,
            SIDECAR_SUFFIXES,
            SECRET_NAMES,
            SECRET_EXTENSIONS,
            CERTIFICATE_NAMES,
            ENV_TEMPLATES,
            PROTECTED_NAMES,
            PROC_SECRETS,
        ] {
            assert!(list.is_sorted_by(|left, right| left < right), "{list:?}");
            for name in list {
                assert!(*name == name.to_ascii_lowercase(), "{name}");
                assert!((1..=crate::fold::LISTED_MAX).contains(&name.len()), "{name}");
            }
        }
    }

    #[test]
    fn lists_of_paths_have_the_form_by_which_they_are_matched() {
        for list in [SYSTEM_PATHS, SYSTEM_SECRETS, ENDLESS_DEVICES] {
            assert!(list.iter().all(|path| crate::TargetPath::new(*path).is_ok()), "{list:?}");
        }
        for list in [HOME_SECRETS, HOME_CONFIGURATION, PROJECT_CONFIGURATION, PROTECTED_PATHS] {
            for path in list {
                assert!(crate::TargetPath::new(format!("/{path}")).is_ok(), "{path}");
                assert!(path.is_ascii());
            }
        }
        for list in [PROJECT_CONFIGURATION, PROTECTED_PATHS] {
            assert!(list.iter().all(|path| path.starts_with('.')), "{list:?}");
        }
    }
}
