//! The imports and helpers that most suites need.

use std::fmt::Display;
pub(crate) use std::net::SocketAddr;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
pub(crate) use std::sync::{Arc, Mutex};
pub(crate) use std::time::Duration;

pub(crate) use ::http::{Method, StatusCode};
pub(crate) use bytes::Bytes;
pub(crate) use mcp_client::{Client, ClientBuilder, Error, Negotiation};
pub(crate) use mcp_jsonrpc::ErrorObject;
pub(crate) use mcp_protocol::{Deviation, Principal, Revision, Strictness};
pub(crate) use mcp_server::{Args, Ctx, HandlerError, Prompt, Resource, Server, Tool};
pub(crate) use mcp_tests::everything;
pub(crate) use mcp_tests::http::StatelessPeer;
pub(crate) use mcp_tests::wire::{PipeEnd, connect};
pub(crate) use mcp_transport_http::{Endpoint, HttpTransport, ServerOptions};
pub(crate) use mcp_types::{CallToolResult, JsonObject, LoggingLevel};
pub(crate) use schemars::JsonSchema;
pub(crate) use serde::{Deserialize, Serialize};
pub(crate) use serde_json::{Value, json};
pub(crate) use tokio::net::TcpListener;
pub(crate) use tokio::sync::{Notify, Semaphore};
pub(crate) use tokio::task::JoinHandle;

/// Binds a free port of this machine.
pub(crate) async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Calls a tool; returns the text of its result.
pub(crate) async fn called(client: &Client, tool: &str, arguments: Value) -> String {
    let result = client.call_tool(tool, arguments).await;
    result.unwrap().joined_text()
}

/// Returns the error object with which the peer refused a request.
pub(crate) fn refused<T>(outcome: Result<T, Error>) -> ErrorObject {
    let error = outcome.err().expect("an error");
    error.rejection().expect("a response").clone()
}

/// The arguments of a tool that returns its message.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Echo {
    pub(crate) message: String,
}

/// The arguments or the form with a name.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Name {
    pub(crate) name: String,
}

/// Returns the members of an object.
pub(crate) fn object(value: Value) -> JsonObject {
    value.as_object().expect("an object").clone()
}

/// Runs work of a client in the background.
pub(crate) fn spawned<T, F>(client: &Client, work: impl FnOnce(Client) -> F) -> JoinHandle<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    tokio::spawn(work(client.clone()))
}

/// Asserts that the message of an error, or of an error response, contains this text.
pub(crate) fn says(answer: &Value, fragment: &str) {
    let error = answer.get("error").unwrap_or(answer);
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.contains(fragment), "no {fragment:?} in {answer}");
}

/// Asserts that an outcome is an error whose text contains this.
pub(crate) fn fails_with<T>(outcome: Result<T, impl Display>, fragment: &str) {
    let error = outcome.err().expect("an error").to_string();
    assert!(error.contains(fragment), "no {fragment:?} in {error}");
}

/// Asserts that an outcome is this error.
macro_rules! assert_fails {
    ($outcome:expr, $error:pat) => {
        match $outcome {
            Err($error) => {}
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("no error"),
        }
    };
}
pub(crate) use assert_fails;
