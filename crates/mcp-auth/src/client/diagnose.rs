//! Diagnoses why a sign-in to a server fails.

use std::fmt;

use url::Url;

use crate::client::challenge::Challenge;
use crate::client::discovery::{DiscoveryLog, DiscoveryResult, lists};
use crate::client::oauth::OAuth;
use crate::error::Error;
use crate::web::redacted;
use crate::well_known;

/// The result of a trial discovery. Its `Display` form has several lines.
#[derive(Debug)]
pub struct Diagnosis {
    server: String,
    url: Url,
    answer: String,
    challenge: Option<Challenge>,
    log: DiscoveryLog,
    found: Result<DiscoveryResult, Error>,
}

/// Tests whether a client can discover how to sign in to the server at this URL. Sends one request without credentials, and then
/// runs the discovery. Does not register a client, open a browser or send credentials.
///
/// # Errors
/// Returns an error if the URL is not valid for a client.
pub async fn diagnose(server: impl Into<String>) -> Result<Diagnosis, Error> {
    Ok(OAuth::client(server).build()?.diagnose().await)
}

impl OAuth {
    /// Runs the discovery with the settings of this client, without a sign-in.
    pub async fn diagnose(&self) -> Diagnosis {
        let inner = &self.inner;
        let (status, challenge) = inner.challenge().await;
        let answer = match status {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let discovery = inner.discovery();
        let mut log = DiscoveryLog::default();
        let found = discovery.run(challenge.as_ref(), &mut log).await;
        Diagnosis {
            server: redacted(&inner.server),
            url: inner.server.clone(),
            answer,
            challenge,
            log,
            found,
        }
    }
}

impl Diagnosis {
    /// Returns the challenge for a request without credentials.
    pub fn challenge(&self) -> Option<&Challenge> {
        self.challenge.as_ref()
    }

    /// Returns each URL that was requested, and the result of the request.
    pub fn discovery_log(&self) -> &DiscoveryLog {
        &self.log
    }

    /// Returns the issuer of tokens for the server.
    ///
    /// # Errors
    /// Returns the error of the discovery.
    pub fn issuer(&self) -> Result<&str, &Error> {
        self.found
            .as_ref()
            .map(|found| found.server.issuer.as_str())
    }

    /// Returns whether the server publishes metadata with which a client can sign in. Without metadata, a client can only use the
    /// default endpoints of revision 2025-03-26.
    pub fn is_published(&self) -> bool {
        self.found.as_ref().is_ok_and(|found| found.is_published)
    }

    fn remedy(&self) -> String {
        let urls = well_known::resource_metadata_urls(&self.url);
        let named = self
            .challenge()
            .and_then(|challenge| Url::parse(challenge.parameter("resource_metadata")?).ok());
        let of_other_url = match named {
            Some(named) if !urls.contains(&named) => format!(
                ". The server names {} as the address of its metadata: if this address is wrong, correct the public URL in the settings of the server",
                redacted(&named)
            ),
            _ => String::new(),
        };
        let url = urls.first().map(redacted).unwrap_or_default();
        format!("the server, and a proxy in front of it, must answer GET {url}{of_other_url}")
    }

    fn write_result(&self, f: &mut fmt::Formatter<'_>, found: &DiscoveryResult) -> fmt::Result {
        let server = &found.server;
        if !found.is_published {
            writeln!(f, "no metadata is published; {}", self.remedy())?;
            return writeln!(
                f,
                "  if the server uses revision 2025-03-26, its endpoints are {}/authorize and {}/token",
                server.issuer, server.issuer
            );
        }
        writeln!(f, "{} issues tokens for {}", server.issuer, found.resource)?;
        let has_s256 = lists(server.code_challenge_methods_supported.as_deref(), "S256");
        let refreshes = lists(server.grant_types_supported.as_deref(), "refresh_token")
            || server.knows_scope(crate::scopes::OFFLINE_ACCESS);
        let rows = [
            ("PKCE with S256", has_s256),
            (
                "client id metadata documents",
                server.client_id_metadata_document_supported,
            ),
            (
                "dynamic client registration",
                server.registration_endpoint.is_some(),
            ),
            ("refresh tokens", refreshes),
        ];
        for (what, is) in rows {
            let is = if is { "supported" } else { "not announced" };
            writeln!(f, "  {what}: {is}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} answers {}", self.server, self.answer)?;
        match &self.challenge {
            None => writeln!(f, "  no challenge")?,
            Some(challenge) => {
                writeln!(f, "  challenge: {}", challenge.scheme())?;
                for name in ["error", "scope", "resource_metadata"] {
                    if let Some(value) = challenge.parameter(name) {
                        writeln!(f, "  {name}: {}", crate::error::quoted(value))?;
                    }
                }
            }
        }
        for attempt in self.log.attempts() {
            let outcome = attempt.failure.as_deref().unwrap_or("found");
            writeln!(f, "{}: {outcome}", attempt.url)?;
        }
        match &self.found {
            Ok(found) => self.write_result(f, found),
            Err(error)
                if self
                    .log
                    .attempts()
                    .iter()
                    .all(|attempt| attempt.failure.is_some()) =>
            {
                writeln!(f, "{error}")?;
                writeln!(f, "{}", self.remedy())
            }
            Err(error) => writeln!(f, "{error}"),
        }
    }
}
