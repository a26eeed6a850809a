//! Protected servers and their authorization servers.

use mcp_auth::server::{Algorithm, Auth, Introspection, Jwt, Verify, require_bearer};
use mcp_server::{HandlerError, Server, tool};
use mcp_tests::auth_server::serve;
use mcp_tests::tcp::Answer;
use mcp_transport_http::Endpoint;
use serde_json::{Map, Value};
use tokio::net::TcpListener;
use url::Url;

use crate::report::Fault;
use crate::web;

/// The client id for token introspection.
const SERVER_ID: &str = "resource-server";
const SERVER_SECRET: &str = "secret of the resource server";

/// An authorization server.
pub(crate) struct Issuer {
    /// The issuer.
    pub(crate) name: String,
    /// The metadata document.
    pub(crate) document: Value,
}

impl Issuer {
    /// Creates the authorization server of this issuer from its OpenID document at the usual path.
    async fn of(name: String) -> Result<Self, Fault> {
        let url = format!("{name}/.well-known/openid-configuration");
        let document = web::json_of(&web::get(&url.parse()?, &[]).await?)?;
        Ok(Self { name, document })
    }

    /// Returns the URL of an endpoint.
    pub(crate) fn endpoint(&self, name: &str) -> Result<Url, Fault> {
        let url = self.document[format!("{name}_endpoint")].as_str();
        Ok(url
            .ok_or_else(|| format!("there is no {name} endpoint"))?
            .parse()?)
    }

    /// Sends a form to an endpoint.
    pub(crate) async fn form(&self, name: &str, fields: &[(&str, &str)]) -> Result<Answer, Fault> {
        web::form(&self.endpoint(name)?, fields, &[]).await
    }
}

/// The authorization servers, and the URLs of the protected servers.
pub(crate) struct World {
    pub(crate) issuer: Issuer,
    /// Another authorization server, at a path of the same host.
    pub(crate) tenant: Issuer,
    /// Accepts signed tokens.
    pub(crate) signed: String,
    /// Accepts signed tokens that are valid for one minute.
    pub(crate) brief: String,
    /// Introspects each token.
    pub(crate) opaque: String,
    /// Another server that introspects.
    pub(crate) other: String,
    /// Accepts tokens of the other issuer.
    pub(crate) foreign: String,
    /// Names an issuer whose metadata has a different name.
    pub(crate) misled: String,
}

impl World {
    /// Starts all servers.
    pub(crate) async fn open(issuer: &str) -> Result<Self, Fault> {
        let tenant = format!("{issuer}/tenant");
        let asking = || {
            Introspection::builder(issuer, SERVER_ID, SERVER_SECRET)
                .cache_ttl(std::time::Duration::ZERO)
                .build()
        };
        let misled = issuer.replace("127.0.0.1", "localhost");
        Ok(Self {
            signed: open("/signed/mcp", signed(issuer)?).await?,
            brief: open("/brief/mcp", signed(issuer)?).await?,
            opaque: open("/opaque/mcp", asking()?).await?,
            other: open("/opaque/mcp", asking()?).await?,
            foreign: open("/signed/mcp", signed(&tenant)?).await?,
            misled: open("/signed/mcp", signed(&misled)?).await?,
            issuer: Issuer::of(issuer.to_owned()).await?,
            tenant: Issuer::of(tenant).await?,
        })
    }
}

/// Verifies signed tokens: only access tokens (`typ`), with one algorithm.
fn signed(issuer: &str) -> Result<Jwt, Fault> {
    let narrow = Jwt::builder(issuer).algorithms([Algorithm::ES256]);
    Ok(narrow.require_at_jwt().build()?)
}

/// Returns the identity of the caller.
#[tool]
fn whoami(auth: Auth) -> Result<String, HandlerError> {
    let none = Map::new();
    let claims = auth.identity().map_or(&none, |it| it.claims());
    Ok(Value::Object(claims.clone()).to_string())
}

/// Lists the orders.
#[tool(scope = "orders:read")]
fn list_orders() -> &'static str {
    "7, 8"
}

/// Cancels an order.
#[tool(scope = "orders:write", destructive)]
fn cancel_order(
    /** number of the order */
    order: u32,
) -> String {
    format!("order {order} is cancelled")
}

/// Serves orders on a local port to clients with a token; returns the URL.
async fn open(path: &str, verifier: impl Verify) -> Result<String, Fault> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}{path}", listener.local_addr()?);
    let server = Server::builder("orders", "1.0.0").tools([
        whoami::tool(),
        list_orders::tool(),
        cancel_order::tool(),
    ]);
    let guard = require_bearer(&url, verifier)
        .scope("orders:read")
        .build()?;
    serve(listener, guard.layer(Endpoint::new(server)?));
    Ok(url)
}
