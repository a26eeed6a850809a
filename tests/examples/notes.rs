//! Data of several users: each user has notes, and no response or notification shows the notes of another user.
//!
//! `cargo run --example notes` serves the notes at `http://127.0.0.1:8000/mcp`. The tokens of this example are
//! `alice-on-a-laptop`, `alice-on-a-phone` and `bob-on-a-phone`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use mcp_auth::server::{Auth, Identity, require_bearer, static_tokens};
use mcp_server::types::Resource as Listed;
use mcp_server::{
    Change, CompletionRequest, Ctx, HandlerError, ResourcePage, Server, ServerBuilder, State,
    resource, tool,
};
use mcp_transport_http::{Endpoint, shutdown_signal};

/// The database: the texts of the notes by user and name.
#[derive(Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<BTreeMap<(String, String), String>>>);

impl Notes {
    fn rows(&self) -> MutexGuard<'_, BTreeMap<(String, String), String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a note; returns whether it is new.
    async fn write(&self, user: String, name: String, text: String) -> bool {
        self.rows().insert((user, name), text).is_none()
    }

    async fn read(&self, user: String, name: String) -> Option<String> {
        self.rows().get(&(user, name)).cloned()
    }

    /// Returns the names of all notes of a user.
    async fn names(&self, user: &str) -> Vec<String> {
        let rows = self.rows();
        let names = rows.keys().filter(|(owner, _)| owner == user);
        names.map(|(_, name)| name.clone()).collect()
    }
}

/// Returns the key of the user's data: the same for all clients of the user.
fn user(auth: &Auth) -> Result<String, HandlerError> {
    let identity = auth.identity();
    identity
        .map(Identity::user)
        .ok_or_else(|| HandlerError::new("notes need a token"))
}

fn uri(name: &str) -> String {
    format!("note:///{name}")
}

/// Writes a note.
#[tool]
async fn write_note(
    /** letters and digits */
    name: String,
    text: String,
    auth: Auth,
    State(notes): State<Notes>,
    cx: Ctx,
) -> Result<String, HandlerError> {
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(HandlerError::new(format!(
            "the name {name:?} must have only letters and digits"
        )));
    }
    let user = user(&auth)?;
    let is_new = notes.write(user.clone(), name.clone(), text).await;
    // Other users are not notified, even if they have a note of the same name.
    cx.changed(Change::Resource(uri(&name)).only_for(&user));
    if is_new {
        cx.changed(Change::Resources.only_for(&user));
    }
    Ok(format!("wrote {name}"))
}

/// A note of the user.
#[resource("note:///{name}", mime = "text/plain")]
async fn note(
    name: String,
    auth: Auth,
    State(notes): State<Notes>,
) -> Result<Option<String>, HandlerError> {
    Ok(notes.read(user(&auth)?, name).await)
}

/// Lists the notes of the user.
async fn list(auth: Auth, State(notes): State<Notes>) -> Result<ResourcePage, HandlerError> {
    let names = notes.names(&user(&auth)?).await;
    let listed = names.iter().map(|name| Listed::new(uri(name), name));
    Ok(listed.collect::<Vec<_>>().into())
}

/// Completes the name of a note from the notes of the user.
async fn complete(
    request: CompletionRequest,
    auth: Auth,
    State(notes): State<Notes>,
) -> Result<Vec<String>, HandlerError> {
    let mut names = notes.names(&user(&auth)?).await;
    names.retain(|name| name.starts_with(&request.value));
    Ok(names)
}

/// Creates the server.
pub(crate) fn server(notes: Notes) -> ServerBuilder<Notes> {
    Server::builder("notes", "1.0.0")
        .state(notes)
        .tool(write_note::tool())
        .resource(note::resource().complete("name", complete))
        .list_resources(list)
}

/// Creates the router: the server behind its authentication layer, and the metadata of the layer.
///
/// # Errors
/// The tokens or the server are not valid.
pub(crate) fn router(
    address: SocketAddr,
) -> Result<(Router, Endpoint), Box<dyn std::error::Error>> {
    let url = format!("http://{address}/mcp");
    let of = |user, client| Identity::new("https://notes.example", user).with_client(client);
    // A real server has random tokens in its configuration, or passes `Jwt::new("https://issuer.example")?`.
    let verifier = static_tokens([
        ("alice-on-a-laptop", of("alice", "laptop")),
        ("alice-on-a-phone", of("alice", "phone")),
        ("bob-on-a-phone", of("bob", "phone")),
    ])?;
    let layer = require_bearer(url, verifier).build()?;
    let endpoint = Endpoint::new(server(Notes::default()))?;
    let mut router = Router::new().route_service("/mcp", layer.layer(endpoint.clone()));
    for path in layer.metadata().paths() {
        router = router.route_service(path, layer.metadata());
    }
    Ok((router, endpoint))
}

#[allow(dead_code, reason = "the tests call what is above")]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    let (router, endpoint) = router(listener.local_addr()?)?;
    let shutdown = async move {
        shutdown_signal().await;
        endpoint.close().await;
    };
    Ok(axum::serve(listener, router)
        .with_graceful_shutdown(shutdown)
        .await?)
}
