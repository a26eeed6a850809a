//! What a program says of itself before a client can sign in.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use http::{Request, Response};
use http_body::Body;
use tower_service::Service;
use url::Url;

use crate::client::discovery::{Presets, ResourceMetadata, ServerMetadata};
use crate::client::inner::{Clock, Inner, ProgressCallback, Settings, State};
use crate::client::oauth::OAuth;
use crate::client::progress::SignInProgress;
use crate::client::registration::{ClientDocument, ClientProfile, Credentials};
use crate::client::sign_in::{AssertionSource, Enterprise, Grant};
use crate::client::signing_key::SigningKey;
use crate::client::store::{MemoryStore, TokenStore};
use crate::client::uri_checks::document_url;
use crate::client::user_agent::UserAgent;
use crate::error::{Error, ErrorKind, quoted};
use crate::scopes::Scopes;
use crate::web::{BoxError, FormBody, HttpSettings, Limits, Resolver};

/// Describes the client of one server; see [`OAuth::client`].
///
/// What is not said is found out: who gives out tokens, who the client is there, which scopes it
/// needs.
#[must_use = "it does nothing until it is built"]
pub struct OAuthBuilder {
    server: String,
    name: String,
    uri: Option<String>,
    grant: Grant,
    presets: Presets,
    credentials: Option<Credentials>,
    document: Option<String>,
    document_key: Option<SigningKey>,
    scopes: Option<Scopes>,
    offline: bool,
    require_dpop: bool,
    consent_timeout: Duration,
    store: Arc<dyn TokenStore>,
    http_settings: HttpSettings,
    clock: Clock,
    on_progress: Option<ProgressCallback>,
}

impl OAuth {
    /// Describes the client of the server at this URL, the one that is given to
    /// [`Http::new`](mcp_transport_http::Http::new).
    pub fn client(server: impl Into<String>) -> OAuthBuilder {
        OAuthBuilder::new(server.into())
    }
}

impl OAuthBuilder {
    pub(crate) fn new(server: String) -> Self {
        Self {
            server,
            name: "MCP client".to_owned(),
            uri: None,
            grant: Grant::Unset,
            presets: Presets::default(),
            credentials: None,
            document: None,
            document_key: None,
            scopes: None,
            offline: true,
            require_dpop: false,
            consent_timeout: Duration::from_secs(300),
            store: Arc::new(MemoryStore::new()),
            http_settings: HttpSettings::new(Limits::default()),
            clock: Arc::new(SystemTime::now),
            on_progress: None,
        }
    }

    /// Acts for a user, who is asked through this. See [`Loopback`](super::Loopback) for programs
    /// on the user's machine.
    pub fn user_agent(mut self, agent: impl UserAgent) -> Self {
        self.grant = Grant::User(Arc::new(agent));
        self
    }

    /// Acts for itself, with the credentials of [`credentials`](Self::credentials).
    pub fn client_credentials(mut self) -> Self {
        self.grant = Grant::Client;
        self
    }

    /// Acts for itself, with what its platform says of it (workload identity): an assertion that
    /// the authorization server trusts.
    pub fn workload(mut self, assertion: impl AssertionSource) -> Self {
        self.grant = Grant::Assertion(Arc::new(assertion));
        self
    }

    /// Acts for a user who signed in to their organisation, which decides for them.
    pub fn enterprise(mut self, enterprise: Enterprise) -> Self {
        self.grant = Grant::Enterprise(Arc::new(enterprise));
        self
    }

    /// Who the client is, if an authorization server knows it already. Otherwise its
    /// [document](Self::client_metadata_url) is shown, or it is registered.
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.presets.issuer.clone_from(&credentials.issuer);
        self.credentials = Some(credentials);
        self
    }

    /// The `https` URL of a document that describes this client. It is its id where authorization
    /// servers support that.
    pub fn client_metadata_url(mut self, url: impl Into<String>) -> Self {
        self.document = Some(url.into());
        self
    }

    /// The key that the document of [`client_metadata_url`](Self::client_metadata_url) names: the
    /// client signs with it at the token endpoint (`private_key_jwt`).
    pub fn client_metadata_key(mut self, key: SigningKey) -> Self {
        self.document_key = Some(key);
        self
    }

    /// How the client is called where it is registered, and where people can read about it.
    pub fn client_name(mut self, name: impl Into<String>, uri: Option<String>) -> Self {
        self.name = name.into();
        self.uri = uri;
        self
    }

    /// Asks for these scopes, separated by spaces, instead of those that the server suggests. What
    /// the server demands is asked for too.
    pub fn scopes(mut self, scopes: &str) -> Self {
        self.scopes = Some(Scopes::parse(scopes));
        self
    }

    /// Does not ask for tokens that outlive the user's visit (`offline_access`). By default they
    /// are asked for where the authorization server gives them out.
    pub fn without_offline_access(mut self) -> Self {
        self.offline = false;
        self
    }

    /// Takes only tokens that are bound to a key of this client (DPoP), which are of no use to
    /// whoever steals them. By default they are used where the server demands them.
    pub fn require_dpop(mut self) -> Self {
        self.require_dpop = true;
        self
    }

    /// Where tokens and registrations are kept. Default: in memory, until the program ends.
    pub fn store(mut self, store: impl TokenStore) -> Self {
        self.store = Arc::new(store);
        self
    }

    /// Uses this instead of the server's own metadata.
    pub fn resource_metadata(mut self, document: ResourceMetadata) -> Self {
        self.presets.resource = Some(document);
        self
    }

    /// Uses this instead of the authorization server's own metadata.
    pub fn server_metadata(mut self, document: ServerMetadata) -> Self {
        self.presets.server = Some(document);
        self
    }

    /// Does not sign in to servers of 2025-03-26, which have no metadata of their own and give out
    /// their own tokens.
    pub fn require_resource_metadata(mut self) -> Self {
        self.presets.require_resource_metadata = true;
        self
    }

    /// Lets servers name authorization servers in private networks. The services that hand out the
    /// credentials of machines stay out of reach.
    pub fn allow_private_networks(mut self) -> Self {
        self.http_settings.allow_private = true;
        self
    }

    /// Sets the maximum size of a response in bytes. Default: 1 MiB.
    pub fn max_response_bytes(mut self, bytes: usize) -> Self {
        self.http_settings.limits.max_response_bytes = bytes;
        self
    }

    /// Sets the timeout of a request to an authorization server, from the first byte sent to the
    /// last byte read, redirects included. Default: 10 s.
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.http_settings.limits.timeout = timeout;
        self
    }

    /// Sets how many redirects of a metadata request are followed. Default: 3.
    pub fn max_redirects(mut self, redirects: usize) -> Self {
        self.http_settings.limits.max_redirects = redirects;
        self
    }

    /// Sets how long a user may take to decide. Default 5 minutes.
    pub fn consent_timeout(mut self, timeout: Duration) -> Self {
        self.consent_timeout = timeout;
        self
    }

    /// Finds addresses in this way instead of asking the system. They are checked all the same.
    pub fn resolver(mut self, resolver: impl Resolver) -> Self {
        self.http_settings.resolver = Arc::new(resolver);
        self
    }

    /// Sends requests through this instead of the HTTP client that comes with this crate. It has
    /// to keep away from addresses in private networks by itself: only what is written in a URL is
    /// checked before a request is given to it. It may not follow redirects.
    pub fn service<S, B>(mut self, service: S) -> Self
    where
        S: Service<Request<FormBody>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
        B: Body + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.http_settings.set_service(service);
        self
    }

    /// What time it is. Default: what the system says.
    pub fn clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Is told of every step. They are logged too, at level DEBUG.
    pub fn on_progress(
        mut self,
        on_progress: impl Fn(&SignInProgress) + Send + Sync + 'static,
    ) -> Self {
        self.on_progress = Some(Arc::new(on_progress));
        self
    }

    /// The client.
    ///
    /// # Errors
    /// Something that was said cannot be, such as a server that is not reached by TLS.
    pub fn build(self) -> Result<OAuth, Error> {
        let server = Url::parse(self.server.trim()).map_err(|error| {
            let shown = quoted(self.server.split('?').next().unwrap_or_default());
            let message = format!("{shown} is not a URL; write it as in https://example.com/mcp");
            Error::caused(ErrorKind::Setup, message, error)
        })?;
        let http_client = self.http_settings.build(&server)?;
        let url = self.document.as_deref().map(document_url).transpose()?;
        let key = self.document_key;
        let document = url.map(|url| ClientDocument { url, key });
        let needs = matches!(self.grant, Grant::Client | Grant::Enterprise(_));
        if needs && self.credentials.is_none() {
            return Err(Error::new(
                ErrorKind::Setup,
                "a client that acts for itself or for an organisation has to be known to the \
                 authorization server; give its credentials with Builder::credentials",
            ));
        }
        let settings = Settings {
            grant: self.grant,
            presets: self.presets,
            credentials: self.credentials,
            document,
            profile: ClientProfile {
                name: self.name,
                uri: self.uri,
            },
            scopes: self.scopes,
            offline: self.offline,
            require_dpop: self.require_dpop,
            consent_timeout: self.consent_timeout,
            clock: self.clock,
            on_progress: self.on_progress,
        };
        let inner = Inner {
            server,
            http_client,
            settings,
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
        f.debug_struct("Builder")
            .field("credentials", &self.credentials)
            .field("document", &self.document)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}
