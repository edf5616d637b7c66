//! What `--target` can name.

use std::str::FromStr;

use guard_backends::ssh::Destination;

/// Where the files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// This machine.
    Local,
    /// An SSH host.
    Ssh(Destination),
    /// A container.
    Docker {
        /// Its name or its identifier.
        container: String,
        /// Who acts in it, if not the container's own user.
        user: Option<String>,
    },
}

/// How a target is written.
const FORMS: &str = "local, ssh://[USER@]HOST[:PORT] or docker://NAME-OR-ID[?user=USER]";

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "local" {
            return Ok(Self::Local);
        }
        match text.split_once("://") {
            Some(("ssh", _)) => {
                text.parse().map(Self::Ssh).map_err(|error| format!("{error}; a target is {FORMS}"))
            }
            Some(("docker", rest)) => container(rest),
            Some((scheme, _)) => Err(format!("no target is reached by {scheme}://; a target is {FORMS}")),
            None => Err(format!("a target is {FORMS}")),
        }
    }
}

/// Reads what follows `docker://`.
fn container(rest: &str) -> Result<Target, String> {
    let (container, query) = rest.split_once('?').map_or((rest, None), |(name, query)| (name, Some(query)));
    // As the engine names containers; what is none must not become a part of a request's URL.
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    if !container.starts_with(|c: char| c.is_ascii_alphanumeric()) || !container.chars().all(is_name) {
        return Err(format!("no container has the name {container:?}; a root is named apart"));
    }
    let user = match query {
        None => None,
        Some(query) => match query.strip_prefix("user=") {
            Some(user) if is_user(user) => Some(user.to_owned()),
            _ => return Err(format!("{query:?} has no meaning; a container's user is written ?user=USER")),
        },
    };
    Ok(Target::Docker { container: container.to_owned(), user })
}

/// Tells whether a text is `NAME`, `UID`, `NAME:GROUP` or `UID:GID`.
fn is_user(text: &str) -> bool {
    let is_name = |name: &str| {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '@' | '$');
        !name.is_empty() && name.chars().all(is_plain)
    };
    text.split_once(':').map_or_else(|| is_name(text), |(user, group)| is_name(user) && is_name(group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read() {
        let docker = |container: &str, user: Option<&str>| Target::Docker {
            container: container.to_owned(),
            user: user.map(str::to_owned),
        };
        for (text, expected) in [
            ("local", Target::Local),
            ("ssh://host", Target::Ssh(Destination::host_named("host").unwrap())),
            ("ssh://alice@host:2222", Target::Ssh("ssh://alice@host:2222".parse().unwrap())),
            ("docker://web", docker("web", None)),
            ("docker://web-1_a.b?user=app", docker("web-1_a.b", Some("app"))),
            ("docker://0123abcd?user=1000:1000", docker("0123abcd", Some("1000:1000"))),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_target_is_told_with_what_is_one() {
        for (text, words) in [
            ("", "a target is local, ssh://"),
            ("Local", "a target is local, ssh://"),
            ("host", "a target is local, ssh://"),
            ("http://host", "no target is reached by http://"),
            ("podman://web", "no target is reached by podman://"),
            ("ssh://", "is no host"),
            ("ssh://-oProxyCommand=x", "is no host"),
            ("ssh://a:secret@host", "a password has no place"),
            ("ssh://host/srv", "a root is named apart"),
            ("docker://", "no container has the name"),
            ("docker://web/srv", "no container has the name"),
            ("docker://../web", "no container has the name"),
            ("docker://web?", "has no meaning"),
            ("docker://web?user=", "has no meaning"),
            ("docker://web?user=a&x=y", "has no meaning"),
            ("docker://web?user=a:b:c", "has no meaning"),
            ("docker://web?root=/srv", "has no meaning"),
        ] {
            let error = text.parse::<Target>().unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
