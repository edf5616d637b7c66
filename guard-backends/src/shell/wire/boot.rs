//! The start of a session: a command line that every login shell reads alike, and the script that follows it.

/// What a session starts with.
#[derive(Debug, Clone)]
pub struct Boot {
    /// The session's nonce: 32 hexadecimal digits.
    pub nonce: String,
    /// The command line.
    pub command: String,
    /// What is written to the command's input first: the first stage, then the script.
    pub input: Vec<u8>,
}

const COMMAND: (&str, &str) = ("sh -c 'eval \"$(dd bs=1 count=", " 2>/dev/null)\"'");

impl Boot {
    /// Joins the parts: `stage` reads as many bytes as it is told, and evaluates them.
    ///
    /// `without` names what the script is to do without.
    pub(crate) fn new(nonce: &str, without: &[&str], stage: &str, script: &str) -> Self {
        let (size, without) = (script.len(), without.join(" "));
        let first = format!("g_nonce={nonce} g_size={size} g_without='{without}'\n{stage}");
        // A command substitution strips newlines at its end; none is sent.
        let first = first.trim_end_matches('\n');
        let command = format!("{}{}{}", COMMAND.0, first.len(), COMMAND.1);
        Self { nonce: nonce.to_owned(), command, input: [first.as_bytes(), script.as_bytes()].concat() }
    }
}

/// Returns the length of the first stage, by the command line that reads it.
#[must_use]
pub fn boot_len(command: &str) -> Option<usize> {
    command.strip_prefix(COMMAND.0)?.strip_suffix(COMMAND.1)?.parse().ok()
}

/// Reads nonce and length of the script from the first stage.
pub(super) fn stage(first: &[u8]) -> Option<(String, usize)> {
    let line = first.split(|byte| *byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let nonce = words.next()?.strip_prefix("g_nonce=")?;
    let size = words.next()?.strip_prefix("g_size=")?;
    Some((nonce.to_owned(), size.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_boot_can_be_told_apart() {
        let boot = Boot::new("0123", &["link", "proc"], "first stage\n\n", "the script\n");
        let len = boot_len(&boot.command).unwrap();
        let (first, script) = boot.input.split_at(len);
        assert_eq!(first, b"g_nonce=0123 g_size=11 g_without='link proc'\nfirst stage");
        assert_eq!(stage(first), Some(("0123".to_owned(), script.len())));
        assert_eq!(script, b"the script\n");
        assert_eq!(boot_len("sh -c true"), None);
    }
}
