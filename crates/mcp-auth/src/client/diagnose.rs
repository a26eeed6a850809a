//! Finds out why nobody can sign in to a server.

use std::fmt;

use crate::client::challenge::Challenge;
use crate::client::discovery::{Discovery, DiscoveryLog, DiscoveryResult};
use crate::client::oauth::OAuth;
use crate::error::Error;
use crate::web::redacted;

/// How far a sign-in to a server would come. It prints as lines of text for people.
#[derive(Debug)]
pub struct Diagnosis {
    server: String,
    answer: String,
    challenge: Option<Challenge>,
    log: DiscoveryLog,
    found: Result<DiscoveryResult, Error>,
}

/// Asks the server at this URL what it asks for, and looks for everything that a sign-in needs.
/// Nobody is registered, nobody is asked, and no credentials are sent.
///
/// # Errors
/// The URL is not one that a client could sign in to.
pub async fn diagnose(server: impl Into<String>) -> Result<Diagnosis, Error> {
    Ok(OAuth::client(server).build()?.diagnose().await)
}

impl OAuth {
    /// Looks for everything that a sign-in needs, with the settings of this client, and signs in to
    /// nothing.
    pub async fn diagnose(&self) -> Diagnosis {
        let inner = &self.inner;
        let asked = inner.http_client.get(&inner.server).await;
        let (answer, challenge) = match &asked {
            Ok(reply) => (reply.status.to_string(), Challenge::of(&reply.headers)),
            Err(error) => (error.to_string(), None),
        };
        let discovery = Discovery {
            http_client: &inner.http_client,
            server: &inner.server,
            presets: &inner.settings.presets,
        };
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
    /// What the server asks for when it is asked without credentials.
    pub fn challenge(&self) -> Option<&Challenge> {
        self.challenge.as_ref()
    }

    /// Each URL that was tried, and what came of it.
    pub fn discovery_log(&self) -> &DiscoveryLog {
        &self.log
    }

    /// Who would give out tokens.
    ///
    /// # Errors
    /// Why nobody does.
    pub fn issuer(&self) -> Result<&str, &Error> {
        self.found
            .as_ref()
            .map(|found| found.server.issuer.as_str())
    }

    fn write_result(&self, f: &mut fmt::Formatter<'_>, found: &DiscoveryResult) -> fmt::Result {
        let server = &found.server;
        writeln!(
            f,
            "tokens for {} come from {}",
            found.resource, server.issuer
        )?;
        if !found.is_published {
            writeln!(
                f,
                "  it publishes nothing: taken for a server of 2025-03-26"
            )?;
        }
        let pkce = crate::client::discovery::lists(
            server.code_challenge_methods_supported.as_deref(),
            "S256",
        );
        let rows = [
            ("codes are protected (S256)", pkce || !found.is_published),
            (
                "the client may be a URL",
                server.client_id_metadata_document_supported,
            ),
            (
                "clients can register",
                server.registration_endpoint.is_some(),
            ),
            (
                "refresh tokens can be asked for",
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
            None => writeln!(f, "  it asks for nothing")?,
            Some(challenge) => {
                writeln!(f, "  it asks for {}", challenge.scheme())?;
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
