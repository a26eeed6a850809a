//! One handler that elicits a confirmation, requires a scope, writes to a database and returns a struct.
//!
//! `cargo run --example orders` serves it over stdio and waits for a client; the user that starts the server may do everything. The
//! database has the orders 7 and 8.
//! `cargo run --example orders -- --http 127.0.0.1:8000` serves it over HTTP with bearer tokens; in this example
//! the tokens are the words `reader` and `clerk`. The handler is the same for every transport and protocol revision.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_auth::server::{Identity, Rejection, RequireBearer, require_bearer};
use mcp_server::{Ask, HandlerError, Json, Server, ServerBuilder, State, tool};
use mcp_transport_http::{Endpoint, serve_layered, shutdown_signal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Really cancel the order?
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Confirm {
    /// Yes, cancel it.
    pub(crate) sure: bool,
}

/// A cancelled order.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Receipt {
    /// The order that was cancelled.
    pub(crate) order: u32,
    /// The refund, in cents.
    pub(crate) refund: u32,
}

/// Cancels an order and pays it back.
#[tool(scope = "orders:write", destructive)]
pub(crate) async fn cancel_order(
    /** number of the order */
    order: u32,
    Ask(confirm): Ask<Confirm>,
    State(orders): State<Orders>,
) -> Result<Json<Receipt>, HandlerError> {
    if !confirm.sure {
        return Err(HandlerError::new("the order stays"));
    }
    let refund = orders.take(order).await?;
    Ok(Json(Receipt { order, refund }))
}

/// The database: orders and what they cost, in cents.
#[derive(Debug, Clone, Default)]
pub(crate) struct Orders(Arc<Mutex<BTreeMap<u32, u32>>>);

impl Orders {
    /// Creates a database with example orders.
    pub(crate) fn sample() -> Self {
        Self(Arc::new(Mutex::new(BTreeMap::from([(7, 1_250), (8, 990)]))))
    }

    /// Removes an order and returns its price.
    ///
    /// # Errors
    /// The order does not exist.
    pub(crate) async fn take(&self, order: u32) -> Result<u32, HandlerError> {
        let mut orders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let price = orders.remove(&order);
        price.ok_or_else(|| HandlerError::new(format!("there is no order {order}")))
    }

    /// Returns the number of orders.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// Creates the server, for any transport.
pub(crate) fn server(orders: Orders) -> ServerBuilder<Orders> {
    Server::builder("orders", "1.0.0")
        .instructions(format!("There were {} orders at the start.", orders.len()))
        .state(orders)
        .tool(cancel_order::tool())
}

/// The scopes of each token. A real server passes `Jwt::new("https://issuer.example")?` to `require_bearer` instead.
///
/// # Errors
/// Clients cannot reach the URL.
pub(crate) fn door(url: &str) -> Result<RequireBearer, mcp_auth::server::Error> {
    let verifier = async |token: mcp_auth::Secret| {
        let scopes = match token.expose() {
            "reader" => "orders:read",
            "clerk" => "orders:read orders:write",
            _ => return Err(Rejection::invalid("the token is not known")),
        };
        Ok(Identity::new("https://issuer.example", token.expose()).with_scopes(scopes))
    };
    require_bearer(url, verifier)
        .authorization_server("https://issuer.example")
        .scopes_supported(["orders:read", "orders:write"])
        .build()
}

#[allow(dead_code, reason = "the tests call what is above")]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = server(Orders::sample());
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() != Some("--http") {
        return Ok(mcp_transport_stdio::serve(server).await?);
    }
    let listener =
        tokio::net::TcpListener::bind(words.next().as_deref().unwrap_or("127.0.0.1:8000")).await?;
    let door = door(&format!("http://{}/mcp", listener.local_addr()?))?;
    let endpoint = Endpoint::new(server)?;
    Ok(serve_layered(
        listener,
        endpoint,
        |site| door.layer(site),
        shutdown_signal(),
    )
    .await?)
}
