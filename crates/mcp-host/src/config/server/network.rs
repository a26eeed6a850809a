//! The certificates and the proxy for servers with a URL.

use std::fmt;
use std::path::PathBuf;

use mcp_client::TransportError;
#[cfg(feature = "tls")]
use mcp_transport_http::ClientTls;
use mcp_transport_http::{ClientProxy, HttpTransport};

use super::hash;
use crate::text_file::read_file;

/// Maximum size of a file with certificates or a key, in bytes.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The value of [`NetworkConfig::proxy`] for no proxy.
const NO_PROXY: &str = "none";

/// The certificates and the proxy for servers with a URL. [`fmt::Debug`] omits the credentials of the proxy.
///
/// ```no_run
/// # fn f() -> Result<(), mcp_client::TransportError> {
/// use mcp_host::{NetworkConfig, ServerConfig};
///
/// let mut network = NetworkConfig::new();
/// network.ca = Some("corp-ca.pem".into());
/// network.proxy = Some("http://proxy.example:3128".to_owned());
/// let mut server = ServerConfig::http("https://mcp.example.com/mcp");
/// server.network = network;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NetworkConfig {
    /// A PEM file with certificates of CAs that are trusted in addition to the CAs of the operating system.
    pub ca: Option<PathBuf>,
    /// A PEM file with the certificate that the client presents to servers.
    pub certificate: Option<PathBuf>,
    /// A PEM file with the private key of the certificate. `None`: the key is in the file of the certificate.
    pub key: Option<PathBuf>,
    /// The URL of the proxy, or `none` for no proxy. `None`: the proxy of the environment variables, as
    /// [`ClientProxy::from_environment`] describes.
    pub proxy: Option<String>,
}

impl NetworkConfig {
    /// Creates the default: the certificates of the operating system, and the proxy of the environment variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns this configuration, with the values of `defaults` for absent values. `certificate` and `key` come from the same
    /// configuration.
    #[must_use]
    pub fn or(&self, defaults: &Self) -> Self {
        let own = self.clone();
        // A key without a certificate is kept, so that `tls` returns an error.
        let (certificate, key) = match (own.certificate, own.key) {
            (None, None) => (defaults.certificate.clone(), defaults.key.clone()),
            pair => pair,
        };
        Self {
            ca: own.ca.or_else(|| defaults.ca.clone()),
            certificate,
            key,
            proxy: own.proxy.or_else(|| defaults.proxy.clone()),
        }
    }

    /// Reads the files with certificates. Returns `None` if the configuration names no files.
    ///
    /// # Errors
    /// A file cannot be read, is larger than 4 MiB, or has no certificate or key that can be used. The error names the file.
    #[cfg(feature = "tls")]
    pub fn tls(&self) -> Result<Option<ClientTls>, TransportError> {
        self.check_key()?;
        let mut tls = None;
        if let Some(ca) = &self.ca {
            let pem = read(ca)?;
            let trusted = ClientTls::new().with_root_certificates(pem);
            tls = Some(trusted.map_err(|error| about(ca, &error))?);
        }
        if let Some(certificate) = &self.certificate {
            let key = self.key.as_ref().unwrap_or(certificate);
            let (chain, private) = (read(certificate)?, read(key)?);
            let known = tls
                .unwrap_or_default()
                .with_client_certificate(chain, private);
            tls = Some(known.map_err(|error| {
                let names = match key == certificate {
                    true => certificate.display().to_string(),
                    false => format!("{} with {}", certificate.display(), key.display()),
                };
                TransportError::new(format!("{names}: {error}"))
            })?);
        }
        Ok(tls)
    }

    /// Returns the SHA-256 hash of the contents of the files, to notice renewed certificates. A file that cannot be read counts
    /// as empty.
    #[doc(hidden)]
    pub fn content_hash(&self) -> String {
        let files = [&self.ca, &self.certificate, &self.key]
            .into_iter()
            .flatten();
        let texts = files.map(|file| read_file(file, MAX_FILE_BYTES).unwrap_or_default());
        let texts: Vec<String> = texts.collect();
        hash(texts.iter().map(String::as_str))
    }

    /// Returns the proxy.
    ///
    /// # Errors
    /// The URL of the proxy is not valid. The error does not contain its credentials.
    pub fn client_proxy(&self) -> Result<ClientProxy, TransportError> {
        match self.proxy.as_deref() {
            None => Ok(ClientProxy::from_environment()),
            Some(none) if none.eq_ignore_ascii_case(NO_PROXY) => Ok(ClientProxy::none()),
            Some(url) => ClientProxy::new(url),
        }
    }

    /// Checks that the files with certificates can be used.
    ///
    /// # Errors
    /// A file cannot be read or used, or the feature `tls` is disabled.
    pub fn check_certificates(&self) -> Result<(), TransportError> {
        #[cfg(feature = "tls")]
        {
            self.tls().map(drop)
        }
        #[cfg(not(feature = "tls"))]
        match self
            .ca
            .as_ref()
            .or(self.certificate.as_ref())
            .or(self.key.as_ref())
        {
            None => Ok(()),
            Some(file) => Err(TransportError::new(format!(
                "{}: certificates can be used only with TLS; enable the feature \"tls\" of mcp-host",
                file.display()
            ))),
        }
    }

    /// Applies the configuration to a transport.
    pub(super) fn apply(&self, http: HttpTransport) -> Result<HttpTransport, TransportError> {
        let http = http.proxy(self.client_proxy()?);
        #[cfg(feature = "tls")]
        let http = match self.tls()? {
            Some(tls) => http.tls(tls),
            None => http,
        };
        #[cfg(not(feature = "tls"))]
        self.check_certificates()?;
        Ok(http)
    }

    #[cfg(feature = "tls")]
    fn check_key(&self) -> Result<(), TransportError> {
        match (&self.certificate, &self.key) {
            (None, Some(key)) => Err(TransportError::new(format!(
                "{}: the private key is set without a certificate; also set the file of the certificate",
                key.display()
            ))),
            _ => Ok(()),
        }
    }
}

#[cfg(feature = "tls")]
fn about(file: &std::path::Path, problem: &dyn fmt::Display) -> TransportError {
    TransportError::new(format!("{}: {problem}", file.display()))
}

#[cfg(feature = "tls")]
fn read(path: &std::path::Path) -> Result<String, TransportError> {
    read_file(path, MAX_FILE_BYTES).map_err(|error| about(path, &error))
}

impl fmt::Debug for NetworkConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NetworkConfig")
            .field("ca", &self.ca)
            .field("certificate", &self.certificate)
            .field("key", &self.key)
            .field("has_proxy", &self.proxy.is_some())
            .finish()
    }
}
