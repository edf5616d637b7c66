//! Which target a destination is.

use std::fmt::Write as _;
use std::process::Stdio;

use guard_core::port::{TargetId, TransportError};

use super::client::{Client, Group, too_late};
use super::destination::write_host;
use super::words;

/// Names the target by what `ssh` makes of the destination: user, host and port after its configuration, and through
/// which hosts it is reached.
///
/// The same words can mean another host tomorrow, when the configuration was edited; and `10.0.0.5` behind one jump
/// host is not `10.0.0.5` behind another.
pub(super) async fn of(client: &Client) -> Result<TargetId, TransportError> {
    let mut ssh = client.command();
    ssh.arg("-G").arg("--").arg(client.destination.host());
    ssh.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = Group(ssh.spawn().map_err(|error| client.not_run(&error))?);
    let (Some(mut output), Some(mut errors)) = (child.0.stdout.take(), child.0.stderr.take()) else {
        return Err(TransportError::Unreachable { why: "ssh has no pipes".to_owned() });
    };
    let (mut said, mut complaints) = (Vec::new(), Vec::new());
    let ended = async {
        use tokio::io::AsyncReadExt as _;
        tokio::try_join!(output.read_to_end(&mut said), errors.read_to_end(&mut complaints))?;
        child.0.wait().await
    };
    let within = client.deadline();
    let status = tokio::time::timeout(within, ended).await.map_err(|_| too_late(within))?;
    if !status.map_err(|error| client.not_run(&error))?.success() {
        return Err(words::error(&String::from_utf8_lossy(&complaints), ""));
    }
    named(&String::from_utf8_lossy(&said))
        .ok_or_else(|| TransportError::Unreachable { why: "ssh does not say what the target is".to_owned() })
}

/// Makes a name of the output of `ssh -G`: a keyword in lower case and its value in each line.
fn named(said: &str) -> Option<TargetId> {
    let value = |keyword: &str| {
        said.lines()
            .find_map(|line| line.strip_prefix(keyword)?.strip_prefix(' '))
            .filter(|value| *value != "none")
    };
    let mut name = format!("ssh:{}@", value("user")?);
    write_host(&mut name, value("hostname")?).ok()?;
    write!(name, ":{}", value("port")?).ok()?;
    if let Some(through) = value("proxyjump").or_else(|| value("proxycommand")) {
        write!(name, " via {through}").ok()?;
    }
    Some(TargetId::new(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_the_name_that_ssh_resolved() {
        for (said, expected) in [
            (
                "host web\nuser alice\nhostname web.example.org\nport 2222\n",
                Some("ssh:alice@web.example.org:2222"),
            ),
            ("user root\nhostname ::1\nport 22\nproxycommand none\n", Some("ssh:root@[::1]:22")),
            (
                "user a\nhostname 10.0.0.5\nport 22\nproxyjump b@gate:23\n",
                Some("ssh:a@10.0.0.5:22 via b@gate:23"),
            ),
            ("user a\nhostname h\nport 22\nproxycommand nc %h %p\n", Some("ssh:a@h:22 via nc %h %p")),
            ("user a\nhostname h\n", None),
            ("", None),
        ] {
            assert_eq!(named(said), expected.map(TargetId::new), "{said}");
        }
    }
}
