//! Serves a proxy or gateway over HTTP.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;

use data_encoding::BASE64URL_NOPAD;
use http::{HeaderValue, Uri};
use mcp_auth::server::{
    Identity, Jwt, RequireBearer, StaticTokens, Verify, require_bearer, static_tokens,
};
use mcp_gateway::{ClientToken, TokenSource};
use mcp_host::NetworkConfig;
use mcp_protocol::Service;
use mcp_transport_http::{
    CORS_METHODS, CORS_RESPONSE_HEADERS, Endpoint, ServerOptions, serve_layered, shutdown_signal,
};
use tokio::net::TcpListener;
use tower_http::cors::{AllowHeaders, CorsLayer};
use tower_layer::Layer as _;

use super::health::{CheckReady, Health};
use super::serve::{Observed, Observer};
use crate::failure::Failure;
use crate::output;

/// The issuer of the tokens in a configuration. It is the same in all processes of a cluster.
const USERS: &str = "mcp-gateway";

/// The settings with which a command serves HTTP.
pub(super) struct HttpSettings<'a> {
    /// The URL for clients on other machines. These clients need a token.
    pub(super) public_url: Option<&'a str>,
    /// The name that error messages use for the setting of `public_url`.
    pub(super) public_url_setting: &'a str,
    pub(super) allowed_origins: &'a [String],
    /// The tokens of the configuration, and the scopes that every token must have. `None` if all clients have the same token.
    pub(super) authorization: Option<(TokenSource<'a>, &'a [String])>,
    /// Certificates and proxy for requests to the authorization server.
    pub(super) network: NetworkConfig,
    /// The scopes that clients request when they sign in.
    pub(super) scopes_supported: Vec<String>,
    /// The environment variable with the bearer token of all clients, if the configuration has no tokens.
    pub(super) token_variable: &'a str,
    /// The address at which other processes of the same gateway reach this process.
    pub(super) own_address: Option<&'a Uri>,
    /// The receiver of records of requests.
    pub(super) observer: Option<Arc<Observer>>,
    /// Whether the URL and a new token are printed to stderr instead of stdout.
    pub(super) announces_on_stderr: bool,
}

/// Listens on an address. `setting` is the name of the address in error messages.
pub(super) async fn listen(setting: &str, address: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        Failure::usage(format!(
            "{setting} {address}: {error}; expected an address with a free port, such as 127.0.0.1:8000"
        ))
    })
}

impl HttpSettings<'_> {
    /// Checks the settings before anything starts. `address` is the address to listen on.
    pub(super) fn check(&self, address: SocketAddr) -> Result<(), Failure> {
        cors(self.allowed_origins).map(drop)?;
        let setting = self.public_url_setting;
        let Some(url) = self.public_url else {
            if !address.ip().is_loopback() {
                return Err(Failure::usage(format!(
                    "{address}: other machines can reach this address; set {setting} to the URL that they use, \
                     such as https://mcp.example.com/mcp"
                )));
            }
            return self.configured(&local_url(address)).map(drop);
        };
        if self.configured(url)?.is_none() {
            self.common(url, "unused")?;
        }
        if !url.trim_end_matches('/').ends_with("/mcp") {
            output::say(&format!(
                "warning: {setting}: {url:?} does not end with /mcp, the path of the endpoint; clients use this URL as it is, and their tokens are issued for it"
            ));
        }
        Ok(())
    }

    /// Prints the URL or the token.
    fn announce(&self, line: &str) -> Result<(), Failure> {
        match self.announces_on_stderr {
            true => {
                output::say_whole(line);
                Ok(())
            }
            false => output::print(line),
        }
    }

    fn server_options(&self) -> ServerOptions {
        let origins = self.allowed_origins.iter();
        let options = ServerOptions::new();
        let mut options = origins.fold(options, |options, origin| options.allow_origin(origin));
        if let Some(own) = self.own_address {
            options = options.with_forwarding(own.clone());
        }
        match self.public_url {
            // The host check prevents DNS rebinding. It is not needed here, because a web page does not have the bearer token.
            Some(_) => options.allow_any_host(),
            None => options,
        }
    }

    /// Creates the layer that checks the tokens of the configuration; `None` if the configuration has no tokens.
    fn configured(&self, url: &str) -> Result<Option<RequireBearer>, Failure> {
        let layer = match self.authorization {
            None => return Ok(None),
            Some((TokenSource::Issuer(issuer), _)) => self.bearer(url, self.jwt(issuer)?),
            Some((TokenSource::Tokens(tokens), _)) => self.bearer(url, of_users(tokens)?),
        };
        layer.map(Some)
    }

    /// Creates the layer that requires the same token from all clients.
    fn common(&self, url: &str, token: &str) -> Result<RequireBearer, Failure> {
        let verifier = static_tokens([(token, Identity::new(url, "client"))]);
        let verifier = verifier.map_err(|error| problem(&error).about(self.token_variable));
        self.bearer(url, verifier?)
    }

    /// Creates the verifier for the tokens of an authorization server.
    fn jwt(&self, issuer: &str) -> Result<Jwt, Failure> {
        let mut verifier = Jwt::builder(issuer);
        let proxy = self.network.client_proxy();
        verifier = verifier.proxy(proxy.map_err(|error| problem(&error).about("/gateway/proxy"))?);
        let tls = self.network.tls();
        if let Some(tls) = tls.map_err(|error| problem(&error).about("/gateway/tls"))? {
            verifier = verifier.tls(tls);
        }
        let built = verifier.build();
        built.map_err(|error| problem(&error).about("/gateway/auth/issuer"))
    }

    /// Creates the layer that checks tokens.
    fn bearer(&self, url: &str, verifier: impl Verify) -> Result<RequireBearer, Failure> {
        let scopes = self.authorization.map_or(&[][..], |(_, scopes)| scopes);
        let layer = require_bearer(url, verifier);
        let layer = match self.authorization {
            Some(_) => layer.scopes_supported(&self.scopes_supported),
            None => layer,
        };
        let layer = scopes.iter().fold(layer, |layer, scope| layer.scope(scope));
        let setting = self.public_url_setting;
        layer
            .build()
            .map_err(|error| Failure::usage(format!("{setting}: {error}")))
    }
}

/// Returns the key that identifies a user. Accounts in the configuration are assigned to users by this key.
pub(super) fn user_key(issuer: Option<&str>, subject: &str) -> String {
    Identity::new(issuer.unwrap_or(USERS), subject).user()
}

/// Creates the verifier for the tokens in a configuration.
///
/// # Errors
/// Two tokens are equal, a token cannot be sent, or a scope is not valid. The message names the user and does not contain the
/// token.
pub(super) fn of_users(tokens: &[ClientToken]) -> Result<StaticTokens, Failure> {
    let failed = |text: String| Failure::usage(text).about("/gateway/auth/tokens");
    let mut known = Vec::new();
    for token in tokens {
        let subject = token.subject();
        let identity = Identity::new(USERS, subject).with_scopes(&token.scopes().join(" "));
        let mut scopes = token.scopes().iter();
        if let Some(scope) = scopes.find(|scope| !identity.scopes().contains(scope)) {
            return Err(failed(format!(
                "{subject:?}: {scope:?} is not a scope; write one scope without spaces in each text"
            )));
        }
        known.push((token.token(), identity));
    }
    static_tokens(known).map_err(|error| failed(error.to_string()))
}

fn local_url(address: SocketAddr) -> String {
    format!("http://{address}/mcp")
}

fn problem(error: &dyn Display) -> Failure {
    Failure::usage(error.to_string())
}

/// Lets web pages of these origins read responses. A browser sends preflight requests without a token, so this layer must run
/// before authentication.
fn cors(origins: &[String]) -> Result<CorsLayer, Failure> {
    let values = origins.iter().map(|origin| {
        HeaderValue::from_str(origin.trim_end_matches('/')).map_err(|_| {
            Failure::usage(format!(
                "{origin:?} in the list of allowed origins is not an origin, such as https://app.example.com"
            ))
        })
    });
    Ok(CorsLayer::new()
        .allow_origin(values.collect::<Result<Vec<_>, _>>()?)
        .allow_methods(CORS_METHODS)
        // The names of headers for arguments of tools are not known here.
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(CORS_RESPONSE_HEADERS))
}

/// Serves HTTP until Ctrl-C or a signal to end. The settings must have been [checked](HttpSettings::check).
pub(super) async fn serve(
    listener: TcpListener,
    service: impl Service,
    settings: HttpSettings<'_>,
    check_ready: CheckReady,
) -> Result<(), Failure> {
    let observer = settings.observer.clone();
    let address = listener.local_addr().map_err(|error| problem(&error))?;
    let cors = cors(settings.allowed_origins)?;
    let local_url = local_url(address);
    let url = settings.public_url.unwrap_or(&local_url);
    let endpoint = Endpoint::with_options(service, settings.server_options());
    let endpoint = endpoint.map_err(|error| problem(&error))?;
    let (layer, new_token) = match settings.configured(url)? {
        Some(layer) => (layer, None),
        None if settings.public_url.is_none()
            && std::env::var_os(settings.token_variable).is_none() =>
        {
            settings.announce(url)?;
            let layered = |route| {
                let inner = Observed {
                    inner: route,
                    observer,
                };
                cors.layer(Health::new(inner, check_ready))
            };
            return serve_layered(listener, endpoint, layered, shutdown_signal())
                .await
                .map_err(|error| problem(&error));
        }
        None => {
            let (token, is_new) = token(settings.token_variable)?;
            if is_new && settings.own_address.is_some() {
                return Err(Failure::usage(format!(
                    "{} is not set, but all processes of a cluster need the same token; set it to the same value in every process",
                    settings.token_variable
                )));
            }
            (settings.common(url, &token)?, is_new.then_some(token))
        }
    };
    settings.announce(url)?;
    if let Some(token) = new_token {
        settings.announce(&format!("Authorization: Bearer {token}"))?;
    }
    let layered = |route| {
        let inner = layer.layer(route);
        cors.layer(Health::new(Observed { inner, observer }, check_ready))
    };
    serve_layered(listener, endpoint, layered, shutdown_signal())
        .await
        .map_err(|error| problem(&error))
}

/// Returns the bearer token, and whether it was newly generated.
fn token(variable: &str) -> Result<(String, bool), Failure> {
    match std::env::var(variable) {
        Ok(token) => Ok((token, false)),
        Err(std::env::VarError::NotUnicode(_)) => Err(Failure::usage(format!(
            "the value of {variable} is not text"
        ))),
        Err(std::env::VarError::NotPresent) => {
            let mut random = [0; 32];
            getrandom::fill(&mut random)
                .map_err(|error| Failure::usage(format!("no random bytes: {error}")))?;
            Ok((BASE64URL_NOPAD.encode(&random), true))
        }
    }
}
