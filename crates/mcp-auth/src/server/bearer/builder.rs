//! The builder of [`RequireBearer`].

use std::fmt;
use std::sync::Arc;

use serde_json::json;

use mcp_protocol::LogLimit;

use super::metadata::Metadata;
use super::policy::Policy;
use super::service::RequireBearer;
use crate::error::{Error, quoted};
use crate::scopes::{OFFLINE_ACCESS, Scopes};
use crate::server::audience::{Audience, public_url};
use crate::server::dpop::Dpop;
use crate::server::verify::Verify;

/// Returns a builder for a layer that protects the server at this URL; the same as [`RequireBearer::builder`].
pub fn require_bearer(resource: impl Into<String>, verifier: impl Verify) -> RequireBearerBuilder {
    RequireBearer::builder(resource, verifier)
}

impl RequireBearer {
    /// Returns a builder. `resource` is the public URL of the server; `verifier` verifies its
    /// tokens.
    pub fn builder(resource: impl Into<String>, verifier: impl Verify) -> RequireBearerBuilder {
        RequireBearerBuilder {
            resource: resource.into(),
            verifier: Arc::new(verifier),
            audiences: Vec::new(),
            servers: Vec::new(),
            scopes: Vec::new(),
            supported: Vec::new(),
            published: Vec::new(),
            implied: Vec::new(),
            name: None,
            documentation: None,
            allows_anonymous: false,
            dpop: None,
        }
    }
}

/// A builder for [`RequireBearer`]; see [`require_bearer`](super::require_bearer).
#[must_use = "a builder has no effect until build() is called"]
pub struct RequireBearerBuilder {
    resource: String,
    verifier: Arc<dyn Verify>,
    audiences: Vec<String>,
    servers: Vec<String>,
    scopes: Vec<String>,
    supported: Vec<String>,
    /// The scopes that tools require. They appear only in the metadata.
    published: Vec<String>,
    implied: Vec<(String, String)>,
    name: Option<String>,
    documentation: Option<String>,
    allows_anonymous: bool,
    dpop: Option<Dpop>,
}

impl RequireBearerBuilder {
    /// Also accepts tokens with this audience, for example `api://my-server`. Use it for an authorization server that does not
    /// support resource indicators.
    pub fn audience(mut self, name: impl Into<String>) -> Self {
        self.audiences.push(name.into());
        self
    }

    /// Adds an issuer to the metadata of the server. The issuer of the verifier is included
    /// automatically.
    pub fn authorization_server(mut self, issuer: impl Into<String>) -> Self {
        self.servers.push(issuer.into());
        self
    }

    /// Requires these scopes, separated by spaces, for every request. To set the scopes of a single tool, use
    /// [`Tool::scope`](mcp_server::Tool::scope).
    pub fn scope(mut self, scopes: impl Into<String>) -> Self {
        self.scopes.push(scopes.into());
        self
    }

    /// Sets the scopes that clients request if a challenge names no scopes. Set as few as possible. Default: the scopes of
    /// [`scope`](Self::scope).
    pub fn scopes_supported(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.supported.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Adds to the metadata the scopes that the tools of this server require, so that clients and users know which scopes exist.
    /// The metadata also contains the scopes of [`scope`](Self::scope) and [`scopes_supported`](Self::scopes_supported).
    pub fn scopes_of<S: Clone + Send + Sync + 'static>(
        mut self,
        server: &mcp_server::Server<S>,
    ) -> Self {
        self.published.extend(server.scopes());
        self
    }

    /// Declares that a token with the scope `broad` also has the scopes in `narrow`, separated by
    /// spaces.
    pub fn implies(mut self, broad: impl Into<String>, narrow: impl Into<String>) -> Self {
        self.implied.push((broad.into(), narrow.into()));
        self
    }

    /// Sets the name of the server for consent pages.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the URL of the documentation of the server.
    pub fn documentation(mut self, url: impl Into<String>) -> Self {
        self.documentation = Some(url.into());
        self
    }

    /// Also accepts requests without an `Authorization` header. Such a request has no identity and no scopes. If the tool or
    /// [`Auth::require`](crate::server::Auth::require) requires a scope, the response is 401 with a challenge. The client can
    /// then sign in and call again. Lists, prompts, resources and tools are public if they require no scope. For prompts and
    /// resources, use [`Auth::require`](crate::server::Auth::require) to require a scope.
    ///
    /// A session belongs to the principal that opened it, so a client that signs in during an anonymous session has to open a new
    /// session. The client of this SDK opens a new session and returns an error for the call. The call has not run and can be
    /// repeated.
    ///
    /// Default: requests without a token receive 401.
    pub fn allow_anonymous(mut self) -> Self {
        self.allows_anonymous = true;
        self
    }

    /// Accepts tokens that are bound to a key of the client, if the request has a proof. Default: bound tokens are rejected.
    pub fn dpop(mut self, dpop: Dpop) -> Self {
        self.dpop = Some(dpop);
        self
    }

    /// Builds the layer.
    ///
    /// # Errors
    /// Returns an error in these cases: a URL is not `https` (or `http` on this machine); a scope or a DPoP setting is invalid;
    /// the verifier [needs an authorization server](Verify::needs_authorization_server), but none is set;
    /// [`allow_anonymous`](Self::allow_anonymous) is combined with [`scope`](Self::scope).
    pub fn build(self) -> Result<RequireBearer, Error> {
        let servers = self.authorization_servers()?;
        let mut audience = Audience::new(&self.resource)?;
        for name in self.audiences {
            audience = audience.with_alias(name);
        }
        let required = scopes(&self.scopes)?;
        if self.allows_anonymous && !required.is_empty() {
            return Err(Error::setup(
                "allow_anonymous() cannot be combined with scope(), which applies to every request; set the scopes of single tools with Tool::scope",
            ));
        }
        let supported = scopes(&self.supported)?;
        let implied = self.implied.iter().map(|(broad, narrow)| {
            let broad = scopes(std::slice::from_ref(broad))?;
            Ok((broad, scopes(std::slice::from_ref(narrow))?))
        });
        let implied = implied.collect::<Result<Vec<_>, Error>>()?;
        let mut document = json!({
            "resource": audience.resource(),
            "bearer_methods_supported": ["header"],
        });
        if !servers.is_empty() {
            document["authorization_servers"] = servers.into();
        }
        let beginning = if supported.is_empty() {
            &required
        } else {
            &supported
        };
        let published = beginning.union(&scopes(&self.published)?);
        if !published.is_empty() {
            document["scopes_supported"] = published.iter().collect();
        }
        if let Some(name) = self.name {
            document["resource_name"] = name.into();
        }
        if let Some(url) = self.documentation {
            document["resource_documentation"] = url.into();
        }
        let dpop = self.dpop.map(Dpop::build).transpose()?;
        if let Some(dpop) = &dpop {
            let names = dpop.algorithms.iter().map(|algorithm| algorithm.as_str());
            document["dpop_signing_alg_values_supported"] = names.collect();
            document["dpop_bound_access_tokens_required"] = dpop.required.into();
        }
        Ok(RequireBearer(Arc::new(Policy {
            allows_anonymous: self.allows_anonymous,
            dpop,
            metadata: Metadata::new(&audience, &document),
            audience,
            verifier: self.verifier,
            required,
            implied,
            refusals: LogLimit::default(),
        })))
    }

    /// Returns the authorization servers. The authorization server of the verifier comes first.
    fn authorization_servers(&self) -> Result<Vec<String>, Error> {
        let mut servers: Vec<String> = Vec::new();
        servers.extend(self.verifier.issuer().map(str::to_owned));
        for server in &self.servers {
            public_url(server, "the authorization server")?;
            if !servers.contains(server) {
                servers.push(server.clone());
            }
        }
        if servers.is_empty() && self.verifier.needs_authorization_server() {
            return Err(Error::setup(
                "the server has no authorization server; add an issuer with authorization_server()",
            ));
        }
        Ok(servers)
    }
}

/// Parses the scopes of a setting, which are separated by spaces.
fn scopes(texts: &[String]) -> Result<Scopes, Error> {
    let text = texts.join(" ");
    let scopes = Scopes::parse(&text);
    for word in text.split_ascii_whitespace() {
        if !scopes.contains(word) {
            let message = format!("{} is not a scope", quoted(word));
            return Err(Error::setup(message));
        }
        // 2026-07-28, authorization, refresh tokens: a server must not require this scope.
        if word == OFFLINE_ACCESS {
            let message = "offline_access is a scope between clients and authorization servers; \
             a server cannot require it";
            return Err(Error::setup(message));
        }
    }
    Ok(scopes)
}

impl fmt::Debug for RequireBearerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequireBearerBuilder")
            .field("resource", &self.resource)
            .field("servers", &self.servers)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}
