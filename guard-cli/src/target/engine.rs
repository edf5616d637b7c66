//! Where the Docker engine is, as Docker's own client finds it: the environment, then the context.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use guard_backends::docker::{Certificates, Endpoint, EndpointError};
use guard_core::policy::Digest;
use serde::Deserialize;

/// What Docker's client reads of its surroundings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Surroundings {
    /// `DOCKER_HOST`.
    pub(crate) host: Option<String>,
    /// `DOCKER_CONTEXT`.
    pub(crate) context: Option<String>,
    /// The folder of `DOCKER_CERT_PATH`, where `DOCKER_TLS_VERIFY` is set.
    pub(crate) certificates: Option<PathBuf>,
    /// The folder of the client's configuration.
    pub(crate) config: Option<PathBuf>,
}

/// An engine that is not found.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EngineError {
    /// What names it is no address.
    #[error("{by}: {error}")]
    Endpoint {
        /// What named it.
        by: String,
        /// Why not.
        error: EndpointError,
    },
    /// A file of the configuration cannot be read.
    #[error("Docker's configuration {}: {why}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why.
        why: String,
    },
}

/// What is read of `config.json`.
#[derive(Deserialize)]
struct Config {
    #[serde(default, rename = "currentContext")]
    current: String,
}

/// What is read of a context's `meta.json`.
#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "Endpoints")]
    endpoints: Endpoints,
}

#[derive(Deserialize)]
struct Endpoints {
    docker: Address,
}

#[derive(Deserialize)]
struct Address {
    #[serde(rename = "Host")]
    host: String,
}

/// The context that is no file: the usual socket.
const DEFAULT: &str = "default";

impl Surroundings {
    /// Reads the environment.
    pub(crate) fn read() -> Self {
        let text = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let config = folder("DOCKER_CONFIG")
            .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".docker")));
        // Any value at all turns it on, and the certificates are in the configuration's folder unless it is said.
        let certificates =
            text("DOCKER_TLS_VERIFY").and_then(|_| folder("DOCKER_CERT_PATH").or(config.clone()));
        Self { host: text("DOCKER_HOST"), context: text("DOCKER_CONTEXT"), certificates, config }
    }

    /// Finds the engine.
    pub(crate) fn engine(&self) -> Result<Endpoint, EngineError> {
        let usual = || Ok(Endpoint::unix(Endpoint::USUAL_SOCKET));
        if let Some(host) = &self.host {
            let certificates = self.certificates.clone().map(Certificates::in_folder);
            return endpoint("DOCKER_HOST".to_owned(), host, certificates);
        }
        let Some(config) = &self.config else { return usual() };
        let context = match &self.context {
            Some(context) => context.clone(),
            None => current(config)?,
        };
        if context.is_empty() || context == DEFAULT {
            return usual();
        }
        // A context's folder is named by the digest of its name.
        let id = Digest::of(context.as_bytes()).to_string();
        let id = id.trim_start_matches("sha256:");
        let file = config.join("contexts/meta").join(id).join("meta.json");
        let meta: Meta = json(&file)?.ok_or_else(|| EngineError::File {
            why: format!("there is no context {context:?}"),
            file: file.clone(),
        })?;
        let tls = config.join("contexts/tls").join(id).join("docker");
        let certificates = match std::fs::symlink_metadata(&tls) {
            Ok(_) => Some(Certificates::in_folder(tls)),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(EngineError::File { file: tls, why: error.to_string() }),
        };
        endpoint(format!("the Docker context {context:?}"), &meta.endpoints.docker.host, certificates)
    }
}

fn endpoint(by: String, host: &str, certificates: Option<Certificates>) -> Result<Endpoint, EngineError> {
    Endpoint::from_host(host, certificates).map_err(|error| EngineError::Endpoint { by, error })
}

fn current(config: &Path) -> Result<String, EngineError> {
    let config: Option<Config> = json(&config.join("config.json"))?;
    Ok(config.map(|config| config.current).unwrap_or_default())
}

/// Reads a file of the configuration; nothing where there is none.
fn json<T: for<'de> Deserialize<'de>>(file: &Path) -> Result<Option<T>, EngineError> {
    let wrong = |why: String| EngineError::File { file: file.to_owned(), why };
    match std::fs::read(file) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| wrong(error.to_string())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(wrong(error.to_string())),
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test writes the configuration by hand")]
mod tests {
    use super::*;

    #[test]
    fn the_engine_is_where_dockers_own_client_looks() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().to_owned();
        let put = |name: &str, text: &str| {
            let file = config.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        let id = Digest::of(b"far").to_string().trim_start_matches("sha256:").to_owned();
        put(
            &format!("contexts/meta/{id}/meta.json"),
            r#"{"Name":"far","Metadata":{},"Endpoints":{"docker":{"Host":"tcp://build:2376","SkipTLSVerify":false}}}"#,
        );
        let plain = Surroundings { config: Some(config.clone()), ..Surroundings::default() };
        let usual = Endpoint::unix(Endpoint::USUAL_SOCKET);
        let found = |surroundings: &Surroundings| surroundings.engine().map_err(|error| error.to_string());
        // Without a configuration, and without a folder for one.
        assert_eq!(found(&plain), Ok(usual.clone()));
        assert_eq!(found(&Surroundings::default()), Ok(usual.clone()));
        put("config.json", r#"{"auths":{}}"#);
        assert_eq!(found(&plain), Ok(usual.clone()));
        put("config.json", r#"{"currentContext":"far"}"#);
        assert_eq!(found(&plain), Ok(Endpoint::tcp("build:2376")));
        put(&format!("contexts/tls/{id}/docker/cert.pem"), "");
        let tls = Certificates::in_folder(config.join(format!("contexts/tls/{id}/docker")));
        assert_eq!(found(&plain), Ok(Endpoint::tls("build:2376", tls)));
        // The environment comes first, and the address before the context.
        let context = |name: &str| Surroundings { context: Some(name.to_owned()), ..plain.clone() };
        assert_eq!(found(&context("default")), Ok(usual));
        assert!(found(&context("near")).unwrap_err().contains("there is no context \"near\""));
        let host = Surroundings { host: Some("unix:///run/other.sock".to_owned()), ..context("near") };
        assert_eq!(found(&host), Ok(Endpoint::unix("/run/other.sock")));
        let wrong = Surroundings { host: Some("ssh://build".to_owned()), ..plain.clone() };
        assert!(found(&wrong).unwrap_err().starts_with("DOCKER_HOST: no Docker engine is reached by ssh://"));
        put("config.json", "{");
        assert!(found(&plain).unwrap_err().contains("config.json: "));
    }
}
