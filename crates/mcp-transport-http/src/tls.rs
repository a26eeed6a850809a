//! TLS of clients: trusted certificates, client certificates, and advice for users after a failed handshake.

mod environment;

use std::fmt;
use std::sync::{Arc, OnceLock};

use mcp_protocol::TransportError;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::CertifiedKey;
use rustls::{AlertDescription, CertificateError, ClientConfig, InvalidMessage, RootCertStore};
use rustls_platform_verifier::Verifier;

use crate::http_service::causes;

/// Maximum number of names from a certificate that an error message contains.
const MAX_NAMES: usize = 8;
const SECONDS_PER_DAY: u64 = 24 * 3_600;

/// TLS settings of a client: the certificates that it trusts in addition to the certificates of the operating system, and the
/// certificate that it presents to servers. All clones share the certificates that were read from the operating system.
///
/// The environment variables `SSL_CERT_FILE` (a file in PEM format) and `SSL_CERT_DIR` (folders with such files, as `openssl rehash`
/// names them) also add trusted certificates. They do not replace the certificates of the operating system.
#[derive(Clone, Default)]
pub struct ClientTls {
    roots: Vec<CertificateDer<'static>>,
    identity: Option<Arc<ClientIdentity>>,
    config: Arc<OnceLock<ClientConfig>>,
}

/// A client certificate with its private key.
#[derive(PartialEq, Eq)]
struct ClientIdentity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl ClientTls {
    /// Creates the default settings: the certificates of the operating system.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds trusted CAs, for example the CA of a company. `pem` is the content of a file with one or more CA certificates in PEM
    /// format.
    ///
    /// # Errors
    /// Returns an error if `pem` has no certificate, or has a certificate that cannot be used.
    pub fn with_root_certificates(mut self, pem: impl AsRef<[u8]>) -> Result<Self, TransportError> {
        let count = self.roots.len();
        for certificate in CertificateDer::pem_slice_iter(pem.as_ref()) {
            let position = self.roots.len() - count + 1;
            let unusable = |error: &dyn fmt::Display| {
                TransportError::new(format!("certificate {position} cannot be used: {error}"))
            };
            let certificate = certificate.map_err(|error| unusable(&error))?;
            let added = RootCertStore::empty().add(certificate.clone());
            added.map_err(|error| unusable(&error))?;
            self.roots.push(certificate);
        }
        if self.roots.len() == count {
            return Err(TransportError::new(
                "there is no certificate in PEM format, which begins with \"-----BEGIN CERTIFICATE-----\"",
            ));
        }
        self.config = Arc::default();
        Ok(self)
    }

    /// Sets the certificate that the client presents to a server that requests a client certificate. `chain` is the content of a
    /// file with the certificate of the client, followed by the certificates of intermediate CAs, in PEM format. `key` is the
    /// content of a file with the private key, also in PEM format, without a password.
    ///
    /// # Errors
    /// `chain` has no certificate, `key` has no private key or has a password, or the key does not belong to the certificate. The
    /// error does not contain the key.
    pub fn with_client_certificate(
        mut self,
        chain: impl AsRef<[u8]>,
        key: impl AsRef<[u8]>,
    ) -> Result<Self, TransportError> {
        let wrong = |text: &str| TransportError::new(text.to_owned());
        let chain = CertificateDer::pem_slice_iter(chain.as_ref()).collect::<Result<Vec<_>, _>>();
        let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or_else(|| {
            wrong("there is no client certificate in PEM format, which begins with \"-----BEGIN CERTIFICATE-----\"")
        })?;
        let is_encrypted = key.as_ref().windows(9).any(|part| part == b"ENCRYPTED");
        let key = PrivateKeyDer::from_pem_slice(key.as_ref()).map_err(|_| match is_encrypted {
            true => wrong("the private key of the client has a password; write the key without a password, for example with `openssl pkey`"),
            false => wrong("there is no private key in PEM format, which begins with \"-----BEGIN PRIVATE KEY-----\""),
        })?;
        CertifiedKey::from_der(chain.clone(), key.clone_key(), &default_provider()).map_err(
            |error| {
                let text = "the private key and the client certificate cannot be used together";
                TransportError::new(format!("{text}: {error}")).with_source(error)
            },
        )?;
        self.identity = Some(Arc::new(ClientIdentity { chain, key }));
        self.config = Arc::default();
        Ok(self)
    }

    /// Removes the client certificate.
    #[must_use]
    pub fn without_client_certificate(mut self) -> Self {
        if self.identity.take().is_some() {
            self.config = Arc::default();
        }
        self
    }

    /// Returns the configuration of rustls. It has its own crypto provider, because only the program should set the default
    /// provider of the process.
    ///
    /// The certificates of the system are read only once, because reading them takes milliseconds.
    ///
    /// # Errors
    /// Returns an error if the certificates of the system cannot be used. The next call reads them again.
    #[doc(hidden)]
    pub fn config(&self) -> Result<ClientConfig, rustls::Error> {
        // All values with the default settings share this configuration.
        static SYSTEM: OnceLock<ClientConfig> = OnceLock::new();
        let known = match self.roots.is_empty() && self.identity.is_none() {
            true => &SYSTEM,
            false => &*self.config,
        };
        if let Some(config) = known.get() {
            return Ok(config.clone());
        }
        let provider: Arc<CryptoProvider> = Arc::new(default_provider());
        let roots = self.roots.iter().cloned().chain(environment::roots());
        let verifier = Verifier::new_with_extra_roots(roots, Arc::clone(&provider))?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                builder.with_client_auth_cert(identity.chain.clone(), identity.key.clone_key())?
            }
        };
        Ok(known.get_or_init(|| config).clone())
    }
}

impl PartialEq for ClientTls {
    fn eq(&self, other: &Self) -> bool {
        self.roots == other.roots && self.identity == other.identity
    }
}

impl Eq for ClientTls {}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTls")
            .field("root_certificates", &self.roots.len())
            .field("has_client_certificate", &self.identity.is_some())
            .finish_non_exhaustive()
    }
}

/// A failed TLS handshake.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsFailure {
    /// A description of the failure, with advice for the user.
    pub reason: String,
    /// Whether the certificate was issued by a CA that the client does not trust.
    pub is_unknown_issuer: bool,
    /// Whether the server requires a client certificate.
    pub is_certificate_required: bool,
}

impl TlsFailure {
    /// Finds a failed TLS handshake among the causes of an error.
    pub fn of(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
        let error = causes(error).find_map(|error| error.downcast_ref::<rustls::Error>())?;
        let mut is_unknown_issuer = false;
        let is_certificate_required =
            *error == rustls::Error::AlertReceived(AlertDescription::CertificateRequired);
        let reason = match error {
            rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
                "the server does not answer with TLS on this port; check the port, or use http:// if the server runs on this \
                 machine"
                    .to_owned()
            }
            rustls::Error::InvalidCertificate(problem) => {
                is_unknown_issuer = *problem == CertificateError::UnknownIssuer;
                certificate_reason(problem)
            }
            rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => {
                "the server requires a client certificate".to_owned()
            }
            rustls::Error::AlertReceived(
                AlertDescription::BadCertificate
                | AlertDescription::CertificateUnknown
                | AlertDescription::UnknownCA
                | AlertDescription::AccessDenied,
            ) => "the server does not accept the client certificate".to_owned(),
            rustls::Error::AlertReceived(AlertDescription::HandshakeFailure) => {
                "the server ended the TLS handshake (HandshakeFailure); it may require a client certificate"
                    .to_owned()
            }
            other => format!("the TLS handshake failed: {other}"),
        };
        Some(Self {
            reason,
            is_unknown_issuer,
            is_certificate_required,
        })
    }
}

fn certificate_reason(problem: &CertificateError) -> String {
    let days = |from: u64, to: u64| match to.saturating_sub(from) / SECONDS_PER_DAY {
        0 => "less than a day".to_owned(),
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    };
    match problem {
        CertificateError::UnknownIssuer => {
            "the certificate of the server was issued by a CA that this client does not trust; if you know the CA, add its certificate to \
             the trusted certificates"
                .to_owned()
        }
        CertificateError::ExpiredContext { time, not_after } => format!(
            "the certificate of the server expired {} ago; renew it, or set the clock of this machine",
            days(not_after.as_secs(), time.as_secs())
        ),
        CertificateError::NotValidYetContext { time, not_before } => format!(
            "the certificate of the server is not valid before {} from now; set the clock of this machine",
            days(time.as_secs(), not_before.as_secs())
        ),
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => wrong_name(expected, presented),
        CertificateError::Other(other) if other.0.to_string() == CA_AS_SERVER => {
            "the certificate of the server is a CA certificate, which `openssl req -x509` creates by default; create a certificate \
             that is not a CA certificate, for example with -addext basicConstraints=critical,CA:FALSE"
                .to_owned()
        }
        other => format!("the certificate of the server is not valid: {other}"),
    }
}

/// The error text of the crate webpki for a CA certificate that is used as a server certificate. rustls does not export this
/// error.
const CA_AS_SERVER: &str = "CaUsedAsEndEntity";

fn wrong_name(expected: &ServerName<'_>, presented: &[String]) -> String {
    let expected = expected.to_str();
    // A name is shown as in `DnsName("example.com")`.
    let names = presented.iter().map(|name| {
        let name = name.split_once('(').map_or(&**name, |(_, name)| name);
        name.trim_end_matches(')').trim_matches('"')
    });
    let names: Vec<&str> = names.take(MAX_NAMES).collect();
    match &names[..] {
        [] => format!(
            "the certificate of the server has no name; it needs the subject alternative name {expected:?}"
        ),
        names => format!(
            "the certificate of the server is for {}, not for {expected:?}; use one of its names in the URL, or add the name to the certificate",
            names.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_certificates_of_the_system_are_read_once() {
        let [one, other] = [ClientTls::new(), ClientTls::new()].map(|tls| tls.config().unwrap());
        assert!(Arc::ptr_eq(one.crypto_provider(), other.crypto_provider()));
    }

    #[test]
    fn a_file_without_a_certificate_is_refused() {
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        let wrong = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for (pem, expected) in [
            ("", "there is no certificate"),
            ("\u{0}\u{1}", "there is no certificate"),
            (key, "there is no certificate"),
            (wrong, "certificate 1 cannot be used"),
        ] {
            let error = ClientTls::new().with_root_certificates(pem).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn an_unusable_client_certificate_is_refused() {
        let file = |name: &str| {
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
            std::fs::read(folder.join("tests/certificates").join(name)).unwrap()
        };
        let (chain, key) = (file("client.pem"), file("client.key"));
        let with = |chain: &[u8], key: &[u8]| ClientTls::new().with_client_certificate(chain, key);
        let tls = with(&chain, &key).unwrap();
        assert!(tls.config().is_ok());
        assert_eq!(tls, with(&chain, &key).unwrap());
        assert_ne!(tls, ClientTls::new());
        let encrypted =
            b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
        for (chain, key, expected) in [
            (&b""[..], &*key, "no client certificate"),
            (&*key, &*key, "no client certificate"),
            (&*chain, &b""[..], "no private key"),
            (&*chain, &*chain, "no private key"),
            (&*chain, &encrypted[..], "has a password"),
            (&*chain, &*file("server.key"), "cannot be used together"),
        ] {
            let error = with(chain, key).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn names_of_a_certificate_are_shown_without_their_type() {
        let expected = ServerName::try_from("b.example").unwrap();
        let presented = [
            r#"DnsName("a.example")"#.to_owned(),
            "IpAddress(127.0.0.1)".to_owned(),
        ];
        let text = wrong_name(&expected, &presented);
        let start =
            "the certificate of the server is for a.example, 127.0.0.1, not for \"b.example\"";
        assert!(text.starts_with(start), "{text}");
    }
}
