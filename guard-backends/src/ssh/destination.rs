//! `ssh://user@host:port`.

use std::fmt::{self, Write as _};
use std::str::FromStr;

/// Where an SSH server is: a host, and a user and a port where they are said.
///
/// The host may be a name that only `ssh`'s configuration knows; what is not said is left to that configuration.
///
/// # Examples
///
/// ```
/// use guard_backends::ssh::Destination;
///
/// let there: Destination = "ssh://alice@example.org:2222".parse()?;
/// assert_eq!((there.user(), there.host(), there.port()), (Some("alice"), "example.org", Some(2222)));
/// assert_eq!(there.to_string(), "ssh://alice@example.org:2222");
/// # Ok::<(), guard_backends::ssh::DestinationError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Destination {
    user: Option<String>,
    host: String,
    port: Option<u16>,
}

/// A text that names no SSH server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DestinationError {
    /// It does not begin with `ssh://`.
    #[error("an SSH target begins with ssh://")]
    Scheme,
    /// The host is empty, begins with `-`, or has a character that no host has.
    #[error("{host:?} is no host")]
    Host {
        /// The host.
        host: String,
    },
    /// The user is empty, begins with `-`, or has a character that no user has.
    #[error("{user:?} is no user")]
    User {
        /// The user.
        user: String,
    },
    /// The port is no number from 1 to 65535.
    #[error("{port:?} is no port")]
    Port {
        /// The port.
        port: String,
    },
    /// There is a password.
    #[error("a password has no place in an SSH target; ssh uses keys")]
    Password,
    /// Something follows the host and the port.
    #[error("{rest:?} has no meaning in an SSH target; a root is named apart")]
    Rest {
        /// What follows.
        rest: String,
    },
}

impl Destination {
    /// Names a host.
    ///
    /// # Errors
    ///
    /// [`DestinationError::Host`].
    pub fn host_named(host: &str) -> Result<Self, DestinationError> {
        // What `ssh` itself refuses since 9.6: older ones put the host into a command line for `ProxyCommand`
        // (CVE-2023-51385), and one that begins with a dash would be read as an option. `@` and `/` would be read as
        // a user and as a scheme.
        let bad = |c: char| "'`\"$\\;&<>|(){},@/[]".contains(c) || c.is_whitespace() || c.is_control();
        if host.is_empty() || host.starts_with('-') || host.contains(bad) {
            return Err(DestinationError::Host { host: host.to_owned() });
        }
        Ok(Self { user: None, host: host.to_owned(), port: None })
    }

    /// Says who logs in.
    ///
    /// # Errors
    ///
    /// [`DestinationError::User`].
    pub fn with_user(self, user: &str) -> Result<Self, DestinationError> {
        // As for the host.
        let bad = |c: char| "'`\"$\\;&<>|(){}".contains(c) || c.is_whitespace() || c.is_control();
        if user.is_empty() || user.starts_with('-') || user.contains(bad) {
            return Err(DestinationError::User { user: user.to_owned() });
        }
        Ok(Self { user: Some(user.to_owned()), ..self })
    }

    /// Says on which port the server listens.
    ///
    /// # Errors
    ///
    /// [`DestinationError::Port`] for 0.
    pub fn with_port(self, port: u16) -> Result<Self, DestinationError> {
        if port == 0 {
            return Err(DestinationError::Port { port: "0".to_owned() });
        }
        Ok(Self { port: Some(port), ..self })
    }

    /// Returns who logs in, if it is said.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Returns the host: a name, an address, or a name of `ssh`'s configuration.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port, if it is said.
    #[must_use]
    pub const fn port(&self) -> Option<u16> {
        self.port
    }
}

impl FromStr for Destination {
    type Err = DestinationError;

    /// Reads `ssh://[user@]host[:port]`, as `ssh` does: the user may be percent-encoded, an IPv6 address is in brackets.
    fn from_str(text: &str) -> Result<Self, DestinationError> {
        let rest = text.strip_prefix("ssh://").ok_or(DestinationError::Scheme)?;
        let (authority, more) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if !matches!(more, "" | "/") {
            return Err(DestinationError::Rest { rest: more.to_owned() });
        }
        let (user, place) =
            authority.rsplit_once('@').map_or((None, authority), |(user, place)| (Some(user), place));
        let (host, port) = split_port(place)?;
        let mut destination = Self::host_named(host)?;
        if let Some(port) = port {
            let number = port.parse().map_err(|_| DestinationError::Port { port: port.to_owned() })?;
            destination = destination.with_port(number)?;
        }
        if let Some(user) = user {
            if user.contains(':') {
                return Err(DestinationError::Password);
            }
            let decoded = decoded(user).ok_or_else(|| DestinationError::User { user: user.to_owned() })?;
            destination = destination.with_user(&decoded)?;
        }
        Ok(destination)
    }
}

/// Takes `host`, `host:port`, `[address]` or `[address]:port` apart.
fn split_port(place: &str) -> Result<(&str, Option<&str>), DestinationError> {
    let no_host = || DestinationError::Host { host: place.to_owned() };
    if let Some(inner) = place.strip_prefix('[') {
        let (host, after) = inner.split_once(']').ok_or_else(no_host)?;
        return match (after, after.strip_prefix(':')) {
            ("", _) => Ok((host, None)),
            (_, Some(port)) => Ok((host, Some(port))),
            _ => Err(no_host()),
        };
    }
    match place.split_once(':') {
        None => Ok((place, None)),
        // An IPv6 address without brackets: where its port begins cannot be told.
        Some((_, port)) if port.contains(':') => Err(no_host()),
        Some((host, port)) => Ok((host, Some(port))),
    }
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let digits = after.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ssh://")?;
        if let Some(user) = &self.user {
            for byte in user.bytes() {
                match byte {
                    b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                        f.write_char(byte.into())?;
                    }
                    _ => write!(f, "%{byte:02X}")?,
                }
            }
            f.write_char('@')?;
        }
        write_host(f, &self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// Writes a host so that a port can follow.
pub(super) fn write_host(to: &mut impl fmt::Write, host: &str) -> fmt::Result {
    if host.contains(':') { write!(to, "[{host}]") } else { to.write_str(host) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_read_and_written_alike() {
        for (text, user, host, port) in [
            ("ssh://example.org", None, "example.org", None),
            ("ssh://alice@example.org:2222", Some("alice"), "example.org", Some(2222)),
            ("ssh://[::1]:22", None, "::1", Some(22)),
            ("ssh://bob@[fe80::1%eth0]", Some("bob"), "fe80::1%eth0", None),
            ("ssh://alice%40corp@build_host", Some("alice@corp"), "build_host", None),
        ] {
            let read: Destination = text.parse().unwrap();
            assert_eq!((read.user(), read.host(), read.port()), (user, host, port), "{text}");
            assert_eq!(read.to_string(), text);
        }
        assert_eq!("ssh://host/".parse::<Destination>().unwrap().to_string(), "ssh://host");
        assert_eq!("ssh://a@b@host".parse::<Destination>().unwrap().user(), Some("a@b"));
    }

    #[test]
    fn what_names_no_server_is_refused_with_its_reason() {
        let host = |host: &str| DestinationError::Host { host: host.to_owned() };
        let user = |user: &str| DestinationError::User { user: user.to_owned() };
        let port = |port: &str| DestinationError::Port { port: port.to_owned() };
        for (text, error) in [
            ("example.org", DestinationError::Scheme),
            ("docker://name", DestinationError::Scheme),
            ("ssh://", host("")),
            ("ssh://alice@", host("")),
            ("ssh://-oProxyCommand=x", host("-oProxyCommand=x")),
            ("ssh://$(id)", host("$(id)")),
            ("ssh://a b", host("a b")),
            ("ssh://a\nb", host("a\nb")),
            ("ssh://::1", host("::1")),
            ("ssh://[::1", host("[::1")),
            ("ssh://[::1]22", host("[::1]22")),
            ("ssh://@host", user("")),
            ("ssh://-l@host", user("-l")),
            ("ssh://a;b@host", user("a;b")),
            ("ssh://a%0ab@host", user("a\nb")),
            ("ssh://a%4@host", user("a%4")),
            ("ssh://a%+4@host", user("a%+4")),
            ("ssh://a%ff@host", user("a%ff")),
            ("ssh://alice:secret@host", DestinationError::Password),
            ("ssh://host:", port("")),
            ("ssh://host:0", port("0")),
            ("ssh://host:65536", port("65536")),
            ("ssh://host:ssh", port("ssh")),
            ("ssh://host/srv", DestinationError::Rest { rest: "/srv".to_owned() }),
            ("ssh://host?user=U", DestinationError::Rest { rest: "?user=U".to_owned() }),
        ] {
            assert_eq!(text.parse::<Destination>(), Err(error), "{text}");
        }
    }
}
