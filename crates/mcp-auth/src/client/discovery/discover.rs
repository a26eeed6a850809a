//! Searches for metadata documents, and logs the requests.

use std::fmt;

use url::Url;

use super::{ResourceMetadata, ServerMetadata};
use crate::client::challenge::Challenge;
use crate::error::{Error, ErrorKind, quoted};
use crate::scopes::Scopes;
use crate::web::{HttpClient, redacted};
use crate::well_known::{self, Relation};

/// Maximum number of issuers that are tried.
const MAX_ISSUERS: usize = 8;

#[derive(Debug, Clone)]
pub(crate) struct DiscoveryResult {
    /// The resource identifier in the metadata of the server.
    pub(crate) resource: String,
    /// The metadata of the server; `None` for servers of 2025-03-26.
    pub(crate) document: Option<ResourceMetadata>,
    pub(crate) server: ServerMetadata,
    /// Whether the metadata in `server` was published. If it was not published, `server` has the default endpoints of 2025-03-26.
    pub(crate) is_published: bool,
}

impl DiscoveryResult {
    /// Returns the scopes for the registration of a client: `scopes`, and all scopes in the metadata. Returns no scopes if
    /// `scopes` is empty. If the registration had fewer scopes, a later step-up would need another client.
    pub(crate) fn scopes_from(&self, scopes: &Scopes) -> Scopes {
        if scopes.is_empty() {
            return Scopes::default();
        }
        let documented = self.document.as_ref().and_then(ResourceMetadata::scopes);
        let known = self.server.scopes_supported.iter().flatten();
        let known: Scopes = known.map(String::as_str).collect();
        scopes.union(&documented.unwrap_or_default()).union(&known)
    }
}

/// Documents and preferences that the settings contain.
#[derive(Debug, Clone, Default)]
pub(crate) struct Presets {
    pub(crate) resource: Option<ResourceMetadata>,
    pub(crate) server: Option<ServerMetadata>,
    /// The preferred issuer if the server has several issuers.
    pub(crate) issuer: Option<String>,
    /// Whether the client must not sign in to servers of 2025-03-26.
    pub(crate) require_resource_metadata: bool,
    /// Whether the resource may be a parent path of the server.
    pub(crate) allow_parent_resource: bool,
}

/// A discovery: fetches metadata documents and validates them.
pub(crate) struct Discovery<'a> {
    pub(crate) http_client: &'a HttpClient,
    pub(crate) server: &'a Url,
    pub(crate) presets: &'a Presets,
}

impl Discovery<'_> {
    /// Runs the discovery, from the server to its authorization server.
    pub(crate) async fn run(
        &self,
        challenge: Option<&Challenge>,
        log: &mut DiscoveryLog,
    ) -> Result<DiscoveryResult, Error> {
        if let Some(document) = self.resource(challenge, log).await? {
            return self.published(document, log).await;
        }
        // A server that names its metadata does not use 2025-03-26, because that revision has no such metadata.
        let names_metadata = challenge.is_some_and(|c| c.parameter("resource_metadata").is_some());
        if names_metadata && self.presets.server.is_none() {
            return Err(log.error(
                ErrorKind::InvalidResponse,
                "the protected resource metadata that the server names cannot be used",
            ));
        }
        if self.presets.require_resource_metadata && self.presets.server.is_none() {
            return Err(log.error(
                ErrorKind::InvalidResponse,
                "the server has no protected resource metadata",
            ));
        }
        self.without_resource_metadata(log).await
    }

    /// Returns the protected resource metadata; `None` if the server does not publish metadata.
    pub(crate) async fn resource(
        &self,
        challenge: Option<&Challenge>,
        log: &mut DiscoveryLog,
    ) -> Result<Option<ResourceMetadata>, Error> {
        if let Some(document) = &self.presets.resource {
            return self.checked(document.clone()).map(Some);
        }
        let mut urls = well_known::resource_metadata_urls(self.server);
        if let Some(url) = challenge.and_then(|c| self.named(c, log)) {
            urls.insert(0, url);
            urls.dedup();
        }
        let mut unavailable = None;
        for url in urls {
            match self.document::<ResourceMetadata>(&url, log).await {
                Ok(Some(document)) => return self.checked(document).map(Some),
                Ok(None) => {}
                Err(error) => unavailable = unavailable.or(Some(error)),
            }
        }
        unavailable.map_or(Ok(None), Err)
    }

    /// Returns the metadata URL that the challenge names, if the URL has the origin of the server.
    fn named(&self, challenge: &Challenge, log: &mut DiscoveryLog) -> Option<Url> {
        let text = challenge.parameter("resource_metadata")?;
        let Ok(url) = self.server.join(text) else {
            log.add(
                quoted(text).to_string(),
                "named by the challenge, but not a URL",
            );
            return None;
        };
        if url.origin() != self.server.origin() {
            let why = "named by the challenge, but its origin differs from the server's";
            log.add(redacted(&url), why);
            return None;
        }
        Some(url)
    }

    /// Checks that a document describes this server.
    ///
    /// Specification: RFC 9728, section 3.3.
    fn checked(&self, document: ResourceMetadata) -> Result<ResourceMetadata, Error> {
        let hint = match well_known::relation(&document.resource, self.server) {
            Relation::Same => return Ok(document),
            Relation::Parent if self.presets.allow_parent_resource => return Ok(document),
            Relation::Parent => "; OAuthBuilder::allow_parent_resource accepts a parent path",
            Relation::Other => "",
        };
        Err(Error::mismatch(format!(
            "the metadata of {} describes the resource {}; no token is requested for another \
                 server{hint}",
            redacted(self.server),
            quoted(&document.resource)
        )))
    }

    async fn published(
        &self,
        document: ResourceMetadata,
        log: &mut DiscoveryLog,
    ) -> Result<DiscoveryResult, Error> {
        let found = |server| DiscoveryResult {
            resource: document.resource.clone(),
            document: Some(document.clone()),
            server,
            is_published: true,
        };
        if let Some(server) = &self.presets.server {
            return Ok(found(server.clone()));
        }
        let mut issuers: Vec<&String> = document.authorization_servers.iter().collect();
        // Configured credentials are valid at their own issuer only.
        if let Some(preferred) = &self.presets.issuer {
            issuers.sort_by_key(|issuer| !well_known::is_same_issuer(issuer, preferred));
        }
        let mut first = None;
        for issuer in issuers.into_iter().take(MAX_ISSUERS) {
            match self.issuer(issuer, log).await {
                Ok(server) => return Ok(found(server)),
                Err(error) => first = first.or(Some(error)),
            }
        }
        Err(first.unwrap_or_else(|| {
            log.error(
                ErrorKind::NoAuthorizationServer,
                "the metadata names no authorization server",
            )
        }))
    }

    /// Returns the metadata of an issuer.
    pub(crate) async fn issuer(
        &self,
        issuer: &str,
        log: &mut DiscoveryLog,
    ) -> Result<ServerMetadata, Error> {
        let Ok(base) = Url::parse(issuer) else {
            let issuer = quoted(issuer);
            let why = format!("the authorization server {issuer} is not a URL");
            return Err(log.error(ErrorKind::InvalidResponse, &why));
        };
        let mut failed = None;
        // The first document that lacks a required member. A later document might have this member.
        let mut partial = None;
        for url in well_known::issuer_metadata_urls(&base) {
            match self.document::<ServerMetadata>(&url, log).await {
                Ok(Some(document)) if well_known::is_same_issuer(&document.issuer, issuer) => {
                    if document.is_complete() {
                        return Ok(document);
                    }
                    partial = partial.or(Some(document));
                }
                Ok(Some(document)) => {
                    let said = quoted(&document.issuer);
                    log.reject(&format!(
                        "its issuer is {said}, but should be {}",
                        quoted(issuer)
                    ));
                    failed = Some(ErrorKind::Mismatch);
                }
                Ok(None) => {}
                Err(error) => failed = failed.or(Some(error.kind())),
            }
        }
        if let Some(document) = partial {
            return Ok(document);
        }
        let why = format!(
            "the authorization server {} has no usable metadata",
            quoted(issuer)
        );
        Err(log.error(failed.unwrap_or(ErrorKind::InvalidResponse), &why))
    }

    /// Returns the metadata of a server of 2025-03-26, which issues its tokens itself. The metadata is at the root of the server.
    /// Without metadata, the endpoints have default paths.
    ///
    /// Specification: [2025-03-26,
    /// authorization](https://modelcontextprotocol.io/specification/2025-03-26/basic/authorization).
    async fn without_resource_metadata(
        &self,
        log: &mut DiscoveryLog,
    ) -> Result<DiscoveryResult, Error> {
        let mut root = self.server.clone();
        root.set_path("");
        root.set_query(None);
        root.set_fragment(None);
        let issuer = well_known::canonical(&root);
        let resource = well_known::canonical(self.server);
        let found = |server, is_published| DiscoveryResult {
            resource,
            document: None,
            server,
            is_published,
        };
        if let Some(server) = &self.presets.server {
            return Ok(found(server.clone(), true));
        }
        for url in well_known::issuer_metadata_urls(&root) {
            if let Some(mut server) = self.document::<ServerMetadata>(&url, log).await? {
                // Revision 2025-03-26 does not compare issuers, but an issuer on another origin is never
                // legitimate.
                if Url::parse(&server.issuer).is_ok_and(|p| p.origin() == root.origin()) {
                    return Ok(found(server, true));
                }
                if server.issuer.is_empty() {
                    server.issuer = issuer;
                    return Ok(found(server, true));
                }
                log.reject("its issuer has another origin than the server");
                return Err(log.error(
                    ErrorKind::Mismatch,
                    "the metadata of the server cannot be used",
                ));
            }
        }
        let at = |path: &str| Some(format!("{issuer}{path}"));
        let server = ServerMetadata {
            authorization_endpoint: at("/authorize"),
            token_endpoint: at("/token"),
            registration_endpoint: at("/register"),
            issuer: issuer.clone(),
            ..ServerMetadata::default()
        };
        Ok(found(server, false))
    }

    /// Fetches one document. Returns `None` if the document does not exist, and an error if it may be available later.
    async fn document<T: serde::de::DeserializeOwned>(
        &self,
        url: &Url,
        log: &mut DiscoveryLog,
    ) -> Result<Option<T>, Error> {
        let reply = match self.http_client.get(url).await {
            Ok(reply) => reply,
            Err(error) => {
                log.add(redacted(url), &error.to_string());
                return Err(error);
            }
        };
        if !reply.status.is_success() {
            log.add(redacted(url), &reply.status.to_string());
            if reply.is_temporary() {
                let status = reply.status;
                let message = format!("{} responded with {status}; try again later", redacted(url));
                return Err(Error::unavailable(message));
            }
            return Ok(None);
        }
        match reply.json() {
            Ok(document) => {
                log.found(redacted(url));
                Ok(Some(document))
            }
            Err(error) => {
                log.add(redacted(url), &format!("not a valid document: {error}"));
                Ok(None)
            }
        }
    }
}

/// Each URL that a discovery has requested, in order, with the result.
#[derive(Debug, Clone, Default)]
pub struct DiscoveryLog(Vec<DiscoveryAttempt>);

/// A request of a discovery.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DiscoveryAttempt {
    /// The requested URL, without its query.
    pub url: String,
    /// The reason why the document cannot be used; `None` if it can be used.
    pub failure: Option<String>,
}

impl DiscoveryLog {
    /// Returns all requests of the discovery.
    pub fn attempts(&self) -> &[DiscoveryAttempt] {
        &self.0
    }

    pub(crate) fn add(&mut self, url: String, failure: &str) {
        tracing::debug!(url, failure, "metadata not found");
        self.0.push(DiscoveryAttempt {
            url,
            failure: Some(failure.to_owned()),
        });
    }

    pub(crate) fn found(&mut self, url: String) {
        tracing::debug!(url, "metadata found");
        self.0.push(DiscoveryAttempt { url, failure: None });
    }

    /// Records that the last document that was found cannot be used. `failure` is the reason.
    pub(crate) fn reject(&mut self, failure: &str) {
        if let Some(last) = self.0.last_mut() {
            tracing::debug!(url = last.url, failure, "metadata rejected");
            last.failure = Some(failure.to_owned());
        }
    }

    /// Creates an error that lists all requests of the discovery.
    pub(crate) fn error(&self, kind: ErrorKind, why: &str) -> Error {
        if self.0.is_empty() {
            return Error::new(kind, why);
        }
        Error::new(kind, format!("{why}; tried {self}"))
    }
}

impl fmt::Display for DiscoveryLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, attempt) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            let outcome = attempt.failure.as_deref().unwrap_or("found");
            write!(f, "{} ({outcome})", attempt.url)?;
        }
        Ok(())
    }
}
