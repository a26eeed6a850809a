//! TLS of clients: which certificates they trust, and advice for users after a failed handshake.

use std::fmt;
use std::sync::{Arc, OnceLock};

use mcp_protocol::TransportError;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, InvalidMessage, RootCertStore};
use rustls_platform_verifier::Verifier;

use crate::http_service::causes;

/// Maximum number of names from a certificate that an error message contains.
const MAX_NAMES: usize = 8;
const SECONDS_PER_DAY: u64 = 24 * 3_600;

/// TLS settings of a client: the certificates that it trusts in addition to the certificates of the operating system. All clones
/// share the certificates that were read.
#[derive(Clone, Default)]
pub struct ClientTls {
    roots: Vec<CertificateDer<'static>>,
    config: Arc<OnceLock<ClientConfig>>,
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

    /// Returns the configuration of rustls. It has its own crypto provider, because only the program should set the default
    /// provider of the process.
    ///
    /// The certificates of the system are read only once, because reading them takes milliseconds.
    ///
    /// # Errors
    /// Returns an error if the certificates of the system cannot be used. The next call reads them again.
    #[doc(hidden)]
    pub fn config(&self) -> Result<ClientConfig, rustls::Error> {
        // Most clients have the default settings, each in a new value.
        static SYSTEM: OnceLock<ClientConfig> = OnceLock::new();
        let known = match self.roots.is_empty() {
            true => &SYSTEM,
            false => &*self.config,
        };
        if let Some(config) = known.get() {
            return Ok(config.clone());
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = Verifier::new_with_extra_roots(self.roots.clone(), Arc::clone(&provider))?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(known.get_or_init(|| config).clone())
    }
}

impl PartialEq for ClientTls {
    fn eq(&self, other: &Self) -> bool {
        self.roots == other.roots
    }
}

impl Eq for ClientTls {}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTls")
            .field("root_certificates", &self.roots.len())
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
}

impl TlsFailure {
    /// Finds a failed TLS handshake among the causes of an error.
    pub fn of(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
        let error = causes(error).find_map(|error| error.downcast_ref::<rustls::Error>())?;
        let mut is_unknown_issuer = false;
        let reason = match error {
            rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
                "the server does not answer with TLS on this port; if it has no TLS, use http:// instead of https://"
                    .to_owned()
            }
            rustls::Error::InvalidCertificate(problem) => {
                is_unknown_issuer = *problem == CertificateError::UnknownIssuer;
                certificate_reason(problem)
            }
            other => format!("the TLS handshake failed: {other}"),
        };
        Some(Self {
            reason,
            is_unknown_issuer,
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
