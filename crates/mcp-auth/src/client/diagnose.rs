//! Diagnosis of a server: why a sign-in fails.

use std::fmt;

use crate::client::challenge::Challenge;
use crate::client::discovery::{DiscoveryLog, DiscoveryResult};
use crate::client::oauth::OAuth;
use crate::error::Error;
use crate::web::redacted;

/// The result of a trial discovery. It prints as several lines of text.
#[derive(Debug)]
pub struct Diagnosis {
    server: String,
    answer: String,
    challenge: Option<Challenge>,
    log: DiscoveryLog,
    found: Result<DiscoveryResult, Error>,
}

/// Sends one request without credentials to the server at this URL and runs the discovery of a
/// sign-in. It does not register a client, open a browser or send credentials.
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
        let asked = inner.http_client.get(&inner.server).await;
        let (answer, challenge) = match &asked {
            Ok(reply) => (reply.status.to_string(), Challenge::of(&reply.headers)),
            Err(error) => (error.to_string(), None),
        };
        let discovery = inner.discovery();
        let mut log = DiscoveryLog::default();
        let found = discovery.run(challenge.as_ref(), &mut log).await;
        Diagnosis {
            server: redacted(&inner.server),
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

    /// Returns each URL that was tried and its result.
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

    fn write_result(&self, f: &mut fmt::Formatter<'_>, found: &DiscoveryResult) -> fmt::Result {
        let server = &found.server;
        writeln!(f, "{} issues tokens for {}", found.resource, server.issuer)?;
        if !found.is_published {
            writeln!(
                f,
                "  no metadata is published; a server of revision 2025-03-26 is assumed"
            )?;
        }
        let pkce = crate::client::discovery::lists(
            server.code_challenge_methods_supported.as_deref(),
            "S256",
        );
        let rows = [
            ("PKCE with S256 is supported", pkce || !found.is_published),
            (
                "client id metadata documents are supported",
                server.client_id_metadata_document_supported,
            ),
            (
                "dynamic client registration is supported",
                server.registration_endpoint.is_some(),
            ),
            (
                "refresh tokens are supported",
                server.knows_scope(crate::scopes::OFFLINE_ACCESS),
            ),
        ];
        for (what, is) in rows {
            writeln!(f, "  {what}: {}", if is { "yes" } else { "no" })?;
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
            Err(error) => writeln!(f, "{error}"),
        }
    }
}
