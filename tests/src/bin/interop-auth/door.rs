//! Protected servers, and who gives out tokens for them.

use mcp_auth::server::{Algorithm, Auth, Introspection, Jwt, Verify, require_bearer};
use mcp_server::{HandlerError, Server, tool, tools};
use mcp_tests::auth_server::serve;
use mcp_tests::tcp::Answer;
use mcp_transport_http::Endpoint;
use serde_json::{Map, Value};
use tokio::net::TcpListener;
use url::Url;

use crate::report::Fault;
use crate::web;

/// How the authorization server knows those who ask about tokens.
const SERVER_ID: &str = "resource-server";
const SERVER_SECRET: &str = "secret of the resource server";

/// An authorization server.
pub(crate) struct Issuer {
    /// Its name.
    pub(crate) name: String,
    /// What it says of itself.
    pub(crate) document: Value,
}

impl Issuer {
    /// The one of this name, whose OpenID document is found where that of any issuer is.
    async fn of(name: String) -> Result<Self, Fault> {
        let url = format!("{name}/.well-known/openid-configuration");
        let document = web::json_of(&web::get(&url.parse()?, &[]).await?)?;
        Ok(Self { name, document })
    }

    /// One of its endpoints.
    pub(crate) fn endpoint(&self, name: &str) -> Result<Url, Fault> {
        let url = self.document[format!("{name}_endpoint")].as_str();
        Ok(url
            .ok_or_else(|| format!("there is no {name} endpoint"))?
            .parse()?)
    }

    /// Sends a form to one of its endpoints.
    pub(crate) async fn form(&self, name: &str, fields: &[(&str, &str)]) -> Result<Answer, Fault> {
        web::form(&self.endpoint(name)?, fields, &[]).await
    }
}

/// Everything on this machine that takes part. A server is its URL.
pub(crate) struct World {
    pub(crate) issuer: Issuer,
    /// Another one, at a path of the same host.
    pub(crate) tenant: Issuer,
    /// Takes signed tokens.
    pub(crate) signed: String,
    /// The same, and they last for a minute.
    pub(crate) brief: String,
    /// Asks about tokens, each time.
    pub(crate) opaque: String,
    /// Another that does.
    pub(crate) other: String,
    /// Takes those of the other issuer.
    pub(crate) foreign: String,
    /// Calls its issuer by another name than that does itself.
    pub(crate) misled: String,
}

impl World {
    /// Opens all doors.
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

/// As narrow as it can be: access tokens alone, of one algorithm.
fn signed(issuer: &str) -> Result<Jwt, Fault> {
    let narrow = Jwt::builder(issuer).algorithms([Algorithm::ES256]);
    Ok(narrow.require_at_jwt().build()?)
}

/// Everything that was said of the caller.
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

/// Serves orders on a port of this machine, to those with a token; gives the URL.
async fn open(path: &str, verifier: impl Verify) -> Result<String, Fault> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}{path}", listener.local_addr()?);
    let server = Server::new("orders", "1.0.0").tools(tools![whoami, list_orders, cancel_order]);
    let guard = require_bearer(&url, verifier)
        .scope("orders:read")
        .build()?;
    serve(listener, guard.layer(Endpoint::new(server)?));
    Ok(url)
}
