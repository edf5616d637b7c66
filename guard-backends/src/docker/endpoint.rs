//! Where a Docker engine listens.

use std::path::PathBuf;

/// Where a Docker engine listens.
///
/// # Security
///
/// Whoever reaches an engine is root on its machine. [`Endpoint::tcp`] is neither encrypted nor authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint(pub(super) Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Unix(String),
    Tcp(String),
    Tls(String, Certificates),
}

/// The files by which an engine and its client know each other, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificates {
    /// The authority that signed the engine's certificate. The authorities that this machine trusts are taken too.
    pub ca: PathBuf,
    /// The client's certificate.
    pub cert: PathBuf,
    /// The client's key.
    pub key: PathBuf,
}

impl Certificates {
    /// Takes the files of a folder by the names that Docker gives them: `ca.pem`, `cert.pem`, `key.pem`.
    #[must_use]
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self { ca: folder.join("ca.pem"), cert: folder.join("cert.pem"), key: folder.join("key.pem") }
    }
}

/// A host that no engine can be reached by.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// It is no such URL.
    #[error(
        "{host:?} is not where a Docker engine listens: unix://PATH, tcp://HOST:PORT or https://HOST:PORT"
    )]
    Malformed {
        /// What was given.
        host: String,
    },
    /// There is a way to it that this library does not go.
    #[error("no Docker engine is reached by {scheme}:// from here; {remedy}")]
    Unsupported {
        /// The URL's scheme.
        scheme: String,
        /// What to do instead.
        remedy: &'static str,
    },
    /// It is reached by TLS only, and nothing was said of the certificates.
    #[error("{host:?} needs certificates, and there are none")]
    NoCertificates {
        /// What was given.
        host: String,
    },
}

impl Endpoint {
    /// The socket that an engine has unless it is told otherwise.
    pub const USUAL_SOCKET: &str = "/var/run/docker.sock";

    /// An engine on this machine, by the path of its socket.
    #[must_use]
    pub fn unix(path: impl Into<String>) -> Self {
        Self(Kind::Unix(path.into()))
    }

    /// An engine on another machine, `HOST:PORT`, without encryption.
    #[must_use]
    pub fn tcp(address: impl Into<String>) -> Self {
        Self(Kind::Tcp(address.into()))
    }

    /// An engine on another machine, `HOST:PORT`, that client and server prove to each other.
    #[must_use]
    pub fn tls(address: impl Into<String>, certificates: Certificates) -> Self {
        Self(Kind::Tls(address.into(), certificates))
    }

    /// Reads what `DOCKER_HOST` or a context says: `unix://`, `tcp://`, `http://` or `https://`.
    ///
    /// With certificates, `tcp://` is spoken over TLS, as Docker's own client does.
    ///
    /// # Errors
    ///
    /// [`EndpointError`] says what else was given.
    ///
    /// # Examples
    ///
    /// ```
    /// use guard_backends::docker::{Certificates, Endpoint};
    ///
    /// let local = Endpoint::from_host("unix:///run/docker.sock", None)?;
    /// assert_eq!(local, Endpoint::unix("/run/docker.sock"));
    /// let far = Endpoint::from_host("tcp://build:2376", Some(Certificates::in_folder("/certs")))?;
    /// assert_eq!(far, Endpoint::tls("build:2376", Certificates::in_folder("/certs")));
    /// # Ok::<(), guard_backends::docker::EndpointError>(())
    /// ```
    pub fn from_host(host: &str, certificates: Option<Certificates>) -> Result<Self, EndpointError> {
        let malformed = || EndpointError::Malformed { host: host.to_owned() };
        let (scheme, rest) = host.split_once("://").ok_or_else(malformed)?;
        let address = || {
            let address = rest.trim_end_matches('/');
            let stray = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | '?' | '#' | '@');
            if address.is_empty() || address.contains(stray) { Err(malformed()) } else { Ok(address) }
        };
        match (scheme, certificates) {
            ("unix", _) if rest.starts_with('/') => Ok(Self::unix(rest)),
            ("tcp" | "http", None) | ("http", Some(_)) => Ok(Self::tcp(address()?)),
            ("tcp" | "https", Some(certificates)) => Ok(Self::tls(address()?, certificates)),
            ("https", None) => Err(EndpointError::NoCertificates { host: host.to_owned() }),
            ("ssh", _) => Err(EndpointError::Unsupported {
                scheme: scheme.to_owned(),
                remedy: "forward its socket (`ssh -L`) and name that one",
            }),
            ("npipe" | "fd", _) => Err(EndpointError::Unsupported {
                scheme: scheme.to_owned(),
                remedy: "let it listen on a socket or a port",
            }),
            _ => Err(malformed()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_as_dockers_own_client_reads_them() {
        let certificates = || Certificates::in_folder("/c");
        for (host, with, expected) in [
            ("unix:///var/run/docker.sock", None, Some(Endpoint::unix("/var/run/docker.sock"))),
            ("unix:///a b/s", Some(certificates()), Some(Endpoint::unix("/a b/s"))),
            ("tcp://127.0.0.1:2375", None, Some(Endpoint::tcp("127.0.0.1:2375"))),
            ("tcp://[::1]:2375/", None, Some(Endpoint::tcp("[::1]:2375"))),
            ("http://build:2375", Some(certificates()), Some(Endpoint::tcp("build:2375"))),
            ("tcp://build:2376", Some(certificates()), Some(Endpoint::tls("build:2376", certificates()))),
            ("https://build:2376", Some(certificates()), Some(Endpoint::tls("build:2376", certificates()))),
            ("https://build:2376", None, None),
            ("ssh://root@build", None, None),
            ("npipe:////./pipe/docker", None, None),
            ("unix://relative", None, None),
            ("tcp://", None, None),
            ("tcp://build:2375/elsewhere", None, None),
            ("tcp://user@build:2375", None, None),
            ("tcp://build:2375?x", None, None),
            ("build:2375", None, None),
            ("", None, None),
        ] {
            assert_eq!(Endpoint::from_host(host, with).ok(), expected, "{host}");
        }
    }

    #[test]
    fn what_cannot_be_reached_is_told_with_what_to_do() {
        let said = |host| Endpoint::from_host(host, None).unwrap_err().to_string();
        assert_eq!(
            said("ssh://root@build"),
            "no Docker engine is reached by ssh:// from here; forward its socket (`ssh -L`) and name that one"
        );
        assert_eq!(
            said("https://build:2376"),
            "\"https://build:2376\" needs certificates, and there are none"
        );
    }
}
