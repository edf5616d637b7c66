//! What `ssh` said, and which kind of failure it is.
//!
//! `ssh` has one exit code for all of them; its words are all there is. They are the C locale's, which is asked for.

use guard_core::port::TransportError;

/// How much of what was said is told.
const TOLD_MAX: usize = 1024;

/// A kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    HostKey,
    Refused,
    Unresolved,
    Unreachable,
}

/// Phrases of OpenSSH (`sshconnect.c`, `sshconnect2.c`, `ssh.c`, `packet.c`, `kex.c`, `readconf.c`), and what they mean.
///
/// The first row that is found decides: what happens last in a connection comes first here, because a reason is
/// followed by lines like `Connection closed` that only say that it is over.
const PHRASES: &[(&str, Cause)] = &[
    ("Permission denied (", Cause::Refused),
    ("Too many authentication failures", Cause::Refused),
    ("No supported authentication methods available", Cause::Refused),
    ("REMOTE HOST IDENTIFICATION HAS CHANGED", Cause::HostKey),
    ("Host key verification failed", Cause::HostKey),
    ("host key is known for", Cause::HostKey),
    ("has changed and you have requested strict checking", Cause::HostKey),
    ("REVOKED HOST KEY DETECTED", Cause::HostKey),
    ("Offending ", Cause::HostKey),
    ("Could not resolve hostname", Cause::Unresolved),
    ("connect to host", Cause::Unreachable),
    ("Unable to negotiate with", Cause::Unreachable),
    ("timed out", Cause::Unreachable),
    ("Connection refused", Cause::Unreachable),
    ("Connection reset by", Cause::Unreachable),
    ("Connection closed by", Cause::Unreachable),
    ("Bad configuration option", Cause::Unreachable),
    ("Bad owner or permissions on", Cause::Unreachable),
    ("Can't open user config file", Cause::Unreachable),
];

/// Makes an error of what `ssh` said to its log, and of what the `ssh` to a jump host said.
///
/// The jump host's comes first where it says more than that something ended: behind it nothing can be reached.
pub(super) fn error(log: &str, jump: &str) -> TransportError {
    let (ours, theirs) = (cause(log), cause(jump));
    let (cause, why) = match (ours, theirs) {
        (None | Some(Cause::Unreachable), Some(cause)) => (cause, told(jump, cause)),
        (Some(cause), _) => (cause, told(log, cause)),
        // A jump host's banner is no reason, but with no other it may help.
        (None, None) => (Cause::Unreachable, all(&format!("{log}\n{jump}"))),
    };
    match cause {
        Cause::HostKey => TransportError::HostKey { why },
        Cause::Refused => TransportError::Refused { why },
        Cause::Unresolved => TransportError::Unresolved { why },
        Cause::Unreachable => TransportError::Unreachable { why },
    }
}

fn cause(said: &str) -> Option<Cause> {
    PHRASES.iter().find(|(phrase, _)| said.contains(phrase)).map(|(_, cause)| *cause)
}

/// Picks the lines that speak of the cause.
fn told(said: &str, cause: Cause) -> String {
    let speaks = |line: &&str| PHRASES.iter().any(|(phrase, of)| *of == cause && line.contains(phrase));
    joined(lines(said).filter(speaks))
}

fn all(said: &str) -> String {
    let words = joined(lines(said));
    if words.is_empty() { "ssh ended without a word".to_owned() } else { words }
}

/// Returns the last line.
pub(super) fn last(said: &str) -> Option<&str> {
    lines(said).last()
}

fn lines(said: &str) -> impl Iterator<Item = &str> {
    // `@` makes the frame of a warning.
    said.lines().map(|line| line.trim_matches(['@', ' ', '\t', '\r'])).filter(|line| !line.is_empty())
}

fn joined<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut words = lines.collect::<Vec<_>>().join("; ");
    while words.len() > TOLD_MAX {
        words.pop();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGED: &str = "\
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\r
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\r
IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!\r
Someone could be eavesdropping on you right now (man-in-the-middle attack)!\r
It is also possible that a host key has just been changed.\r
The fingerprint for the ED25519 key sent by the remote host is\nSHA256:C9LUNKz9+sROakA98ZZE7AKIYHEBnh8gJb0uXXlhsvw.\r
Please contact your system administrator.\r
Add correct host key in /k/known_hosts to get rid of this message.\r
Offending ED25519 key in /k/known_hosts:1\r
Host key for example.org has changed and you have requested strict checking.\r
Host key verification failed.\r
";

    fn kind(error: &TransportError) -> (&'static str, &str) {
        match error {
            TransportError::HostKey { why } => ("host key", why),
            TransportError::Refused { why } => ("refused", why),
            TransportError::Unresolved { why } => ("unresolved", why),
            TransportError::Unreachable { why } => ("unreachable", why),
            other => panic!("{other:?}"),
        }
    }

    /// Each line is what OpenSSH 9.2 wrote in that case, or what its source has.
    #[test]
    fn what_ssh_says_is_told_apart() {
        for (log, expected) in [
            ("ssh: Could not resolve hostname nowhere.invalid: Name or service not known\r\n", "unresolved"),
            ("ssh: connect to host 127.0.0.1 port 2298: Connection refused\r\n", "unreachable"),
            ("ssh: connect to host 192.0.2.1 port 22: Connection timed out\r\n", "unreachable"),
            ("ssh: connect to host 192.0.2.1 port 22: No route to host\r\n", "unreachable"),
            ("ssh: connect to host 192.0.2.1 port 22: Network is unreachable\r\n", "unreachable"),
            ("ssh: connect to host 192.0.2.1 port 22: Permission denied\r\n", "unreachable"),
            (
                "Connection timed out during banner exchange\r\nConnection to 192.0.2.1 port 22 timed out\r\n",
                "unreachable",
            ),
            (
                "kex_exchange_identification: Connection closed by remote host\r\nConnection closed by 192.0.2.1 port 22\r\n",
                "unreachable",
            ),
            (
                "kex_exchange_identification: read: Connection reset by peer\r\nConnection reset by 192.0.2.1 port 22\r\n",
                "unreachable",
            ),
            (
                "Unable to negotiate with 192.0.2.1 port 22: no matching cipher found. Their offer: aes256-ctr\r\n",
                "unreachable",
            ),
            ("Can't open user config file /nowhere: No such file or directory\r\n", "unreachable"),
            (
                "/c: line 1: Bad configuration option: foo\r\n/c: terminating, 1 bad configuration options\r\n",
                "unreachable",
            ),
            ("Bad owner or permissions on /home/alice/.ssh/config\r\n", "unreachable"),
            ("something that nobody has ever seen\r\n", "unreachable"),
            ("", "unreachable"),
            (CHANGED, "host key"),
            (
                "No ED25519 host key is known for example.org and you have requested strict checking.\r\nHost key verification failed.\r\n",
                "host key",
            ),
            ("Host key verification failed.\r\n", "host key"),
            (
                "@       WARNING: REVOKED HOST KEY DETECTED!               @\r\nHost key verification failed.\r\n",
                "host key",
            ),
            ("alice@example.org: Permission denied (publickey).\r\n", "refused"),
            (
                "Load key \"/k/id\": Permission denied\r\nalice@example.org: Permission denied (publickey,password).\r\n",
                "refused",
            ),
            (
                "Received disconnect from 192.0.2.1 port 22:2: Too many authentication failures\r\nDisconnected from 192.0.2.1 port 22\r\n",
                "refused",
            ),
            (
                "Disconnected from 192.0.2.1 port 22: No supported authentication methods available (server sent: publickey)\r\n",
                "refused",
            ),
            (
                "Warning: Permanently added 'example.org' (ED25519) to the list of known hosts.\r\nalice@example.org: Permission denied (publickey).\r\n",
                "refused",
            ),
        ] {
            assert_eq!(kind(&error(log, "")).0, expected, "{log}");
        }
    }

    #[test]
    fn every_phrase_has_a_case_of_its_own() {
        for (phrase, cause) in PHRASES {
            let expected = match cause {
                Cause::HostKey => "host key",
                Cause::Refused => "refused",
                Cause::Unresolved => "unresolved",
                Cause::Unreachable => "unreachable",
            };
            let said = format!("{phrase} and more");
            assert_eq!(kind(&error(&said, "")), (expected, said.as_str()));
        }
    }

    #[test]
    fn what_a_jump_host_said_comes_before_what_follows_from_it() {
        let over = "kex_exchange_identification: Connection closed by remote host\r\nConnection closed by UNKNOWN port 65535\r\n";
        for (log, jump, expected) in [
            (
                over,
                "ssh: Could not resolve hostname jump.invalid: Name or service not known\r\n",
                ("unresolved", "ssh: Could not resolve hostname jump.invalid: Name or service not known"),
            ),
            (
                over,
                "Welcome to jump\r\nalice@jump: Permission denied (publickey).\r\n",
                ("refused", "alice@jump: Permission denied (publickey)."),
            ),
            (
                "alice@example.org: Permission denied (publickey).\r\n",
                "Connection closed by 192.0.2.1 port 22\r\n",
                ("refused", "alice@example.org: Permission denied (publickey)."),
            ),
        ] {
            assert_eq!(kind(&error(log, jump)), expected);
        }
    }

    #[test]
    fn the_words_are_those_that_matter() {
        assert_eq!(
            kind(&error(CHANGED, "")).1,
            "WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!; Offending ED25519 key in /k/known_hosts:1; Host key for \
             example.org has changed and you have requested strict checking.; Host key verification failed."
        );
        assert_eq!(kind(&error("", "")).1, "ssh ended without a word");
        assert_eq!(kind(&error(&"é".repeat(2000), "")).1.len(), TOLD_MAX);
        assert_eq!(last("one\r\n two \r\n\r\n"), Some("two"));
    }
}
