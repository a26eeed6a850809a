//! The builder of [`OAuth`]: settings of a client before it signs in.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use url::Url;

use crate::client::discovery::{ResourceMetadata, ServerMetadata};
use crate::client::inner::{Clock, Inner, Settings, State};
use crate::client::oauth::OAuth;
use crate::client::progress::SignInProgress;
use crate::client::registration::{ClientDocument, ClientProfile, Credentials};
use crate::client::sign_in::{AssertionSource, Enterprise, Grant};
use crate::client::signing_key::SigningKey;
use crate::client::store::{MemoryTokenStore, TokenStore};
use crate::client::token::origin;
use crate::client::uri_checks::document_url;
use crate::client::user_agent::UserAgent;
use crate::error::{Error, ErrorKind, quoted};
use crate::scopes::Scopes;
use crate::web::{HttpSettings, Limits, PrivateNetworks, shared_setters};

/// A builder for the OAuth client of one server; see [`OAuth::client`].
///
/// By default, the client discovers the authorization server and the scopes, and registers itself.
#[must_use = "a builder has no effect until build() is called"]
pub struct OAuthBuilder {
    server: String,
    document: Option<String>,
    document_key: Option<SigningKey>,
    store: Arc<dyn TokenStore>,
    http_settings: HttpSettings,
    clock: Clock,
    settings: Settings,
}

impl OAuth {
    /// Returns a builder for the OAuth client of an MCP server. `server` is the URL of the MCP server. Pass the same URL to
    /// [`HttpTransport::new`](mcp_transport_http::HttpTransport::new).
    pub fn client(server: impl Into<String>) -> OAuthBuilder {
        OAuthBuilder {
            server: server.into(),
            document: None,
            document_key: None,
            store: Arc::new(MemoryTokenStore::new()),
            http_settings: HttpSettings::new(Limits::default()),
            clock: Arc::new(SystemTime::now),
            settings: Settings::default(),
        }
    }
}

impl OAuthBuilder {
    /// Makes the client act for a user. `agent` opens the browser of the user. See [`Loopback`](super::Loopback) for programs on
    /// the user's machine.
    pub fn user_agent(mut self, agent: impl UserAgent) -> Self {
        self.settings.grant = Grant::User(Arc::new(agent));
        self
    }

    /// Makes the client act for the program itself (client credentials grant). The client uses the credentials that
    /// [`credentials`](Self::credentials) sets.
    pub fn client_credentials(mut self) -> Self {
        self.settings.grant = Grant::Client;
        self
    }

    /// Makes the client act for the program itself (workload identity). The platform that runs the program supplies the
    /// assertion. The authorization server must trust this platform.
    pub fn workload(mut self, assertion: impl AssertionSource) -> Self {
        self.settings.grant = Grant::Assertion(Arc::new(assertion));
        self
    }

    /// Makes the client act for a user of an organisation whose identity provider authorizes access
    /// (enterprise-managed authorization).
    pub fn enterprise(mut self, enterprise: Enterprise) -> Self {
        self.settings.grant = Grant::Enterprise(Arc::new(enterprise));
        self
    }

    /// Sets the credentials of a client that is already registered with the authorization server.
    /// Without them, the client uses its [metadata document](Self::client_metadata_url) or
    /// registers dynamically.
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.settings.presets.issuer.clone_from(&credentials.issuer);
        self.settings.credentials = Some(credentials);
        self
    }

    /// Sets the `https` URL of the client's metadata document. The URL is the client id at
    /// authorization servers that support such documents.
    pub fn client_metadata_url(mut self, url: impl Into<String>) -> Self {
        self.document = Some(url.into());
        self
    }

    /// Sets the private key of the client. The metadata document of [`client_metadata_url`](Self::client_metadata_url) must name
    /// the matching public key. With this key, the client signs its authentication at the token endpoint (`private_key_jwt`).
    pub fn client_metadata_key(mut self, key: SigningKey) -> Self {
        self.document_key = Some(key);
        self
    }

    /// Sets the name and the home page of the client for dynamic registration.
    pub fn client_name(mut self, name: impl Into<String>, uri: Option<String>) -> Self {
        self.settings.profile = ClientProfile {
            name: name.into(),
            uri,
        };
        self
    }

    /// Sets the scopes to request, separated by spaces, instead of the scopes in the metadata of the server. The client also
    /// requests the scopes of a challenge.
    pub fn scopes(mut self, scopes: &str) -> Self {
        self.settings.scopes = Some(Scopes::parse(scopes));
        self
    }

    /// Makes the client request no refresh tokens (scope `offline_access`). By default, the client requests them if the
    /// authorization server supports them.
    pub fn without_offline_access(mut self) -> Self {
        self.settings.offline = false;
        self
    }

    /// Accepts only tokens that are bound to a key of this client (DPoP). A stolen token is useless without the key. By default,
    /// the client uses DPoP only if the server requires it.
    pub fn require_dpop(mut self) -> Self {
        self.settings.require_dpop = true;
        self
    }

    /// Sets the store of tokens and registrations. Default: a [`MemoryTokenStore`], which keeps them until the program ends.
    pub fn store(mut self, store: impl TokenStore) -> Self {
        self.store = Arc::new(store);
        self
    }

    /// Sets the protected resource metadata of the server. The client then does not fetch the metadata.
    pub fn resource_metadata(mut self, document: ResourceMetadata) -> Self {
        self.settings.presets.resource = Some(document);
        self
    }

    /// Sets the metadata of the authorization server. The client then does not fetch the metadata.
    pub fn server_metadata(mut self, document: ServerMetadata) -> Self {
        self.settings.presets.server = Some(document);
        self
    }

    /// Requires protected resource metadata. Servers of 2025-03-26 do not have this metadata and issue their tokens themselves.
    /// With this setting, the client does not sign in to such servers.
    pub fn require_resource_metadata(mut self) -> Self {
        self.settings.presets.require_resource_metadata = true;
        self
    }

    /// Accepts protected resource metadata for a parent path of the server's URL, such as `https://example.com` for
    /// `https://example.com/mcp`. The token is then valid for all servers below that path. By default, the resource in the
    /// metadata must be the URL of the server.
    pub fn allow_parent_resource(mut self) -> Self {
        self.settings.presets.allow_parent_resource = true;
        self
    }

    shared_setters!();

    /// Allows authorization servers in private networks, but only if the MCP server itself is in a private network or on this
    /// machine. This is the case if its URL contains a private address, or if its host name has only private addresses. The
    /// metadata of a public server then cannot direct requests into the network of the user.
    pub fn allow_private_networks_for_private_server(mut self) -> Self {
        self.http_settings.private = PrivateNetworks::OfPrivateServer(Arc::default());
        self
    }

    /// Sets the maximum size of a response in bytes. Default: 1 MiB.
    pub fn max_response_bytes(mut self, bytes: usize) -> Self {
        self.http_settings.limits.max_response_bytes = bytes;
        self
    }

    /// Sets the timeout of a request to an authorization server, from the first byte that is sent to the last byte that is read.
    /// The timeout includes redirects. Default: 10 s.
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.http_settings.limits.timeout = timeout;
        self
    }

    /// Sets the maximum number of redirects that a metadata request follows. Default: 3.
    pub fn max_redirects(mut self, redirects: usize) -> Self {
        self.http_settings.limits.max_redirects = redirects;
        self
    }

    /// Sets the maximum time that a user may take to give consent. Default: 5 minutes.
    pub fn consent_timeout(mut self, timeout: Duration) -> Self {
        self.settings.consent_timeout = timeout;
        self
    }

    /// Sets a callback for the progress of sign-ins. Progress is also logged at level DEBUG.
    pub fn on_progress(
        mut self,
        on_progress: impl Fn(&SignInProgress) + Send + Sync + 'static,
    ) -> Self {
        self.settings.on_progress = Some(Arc::new(on_progress));
        self
    }

    /// Builds the client.
    ///
    /// # Errors
    /// Returns an error if a setting is invalid, for example if the URL of the server is not
    /// `https`.
    pub fn build(self) -> Result<OAuth, Error> {
        let server = Url::parse(self.server.trim()).map_err(|error| {
            let shown = quoted(self.server.split('?').next().unwrap_or_default());
            let message =
                format!("{shown} is not a URL; use a URL such as https://example.com/mcp");
            Error::caused(ErrorKind::Setup, message, error)
        })?;
        let http_client = self.http_settings.build(&server)?;
        let url = self.document.as_deref().map(document_url).transpose()?;
        let key = self.document_key;
        let document = url.map(|url| ClientDocument { url, key });
        let needs = matches!(self.settings.grant, Grant::Client | Grant::Enterprise(_));
        if needs && self.settings.credentials.is_none() {
            return Err(Error::setup(
                "client_credentials() and enterprise() need a registered client: set the credentials of the client with \
                 OAuthBuilder::credentials",
            ));
        }
        if let Some(credentials) = &self.settings.credentials
            && credentials.issuer.is_none()
            && !credentials.accepts_any_issuer
            && self.settings.presets.server.is_none()
            && (credentials.secret.is_some()
                || credentials.key.is_some()
                || matches!(self.settings.grant, Grant::Assertion(_)))
        {
            return Err(Error::setup(format!(
                "the credentials of the client {} could be sent to any issuer that the server names; \
                 set the issuer with Credentials::issuer, or accept the server's choice with \
                 Credentials::accept_any_issuer",
                quoted(&credentials.client_id)
            )));
        }
        let settings = Settings {
            document,
            ..self.settings
        };
        let origin = server.as_str().parse().map(|uri| origin(&uri));
        let inner = Inner {
            origin: origin.unwrap_or_default(),
            server,
            http_client,
            settings,
            clock: self.clock,
            store: self.store,
            nonces: crate::client::token::Nonces::default(),
            renewal_lock: Arc::default(),
            state: Mutex::new(State::default()),
        };
        Ok(OAuth {
            inner: Arc::new(inner),
        })
    }
}

impl fmt::Debug for OAuthBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthBuilder")
            .field("credentials", &self.settings.credentials)
            .field("document", &self.document)
            .field("scopes", &self.settings.scopes)
            .finish_non_exhaustive()
    }
}
