//! The clients whose calls run on an upstream connection: they receive the server's requests and notifications.

mod routes;
mod subscribed;

use std::sync::{Arc, Mutex};

use mcp_jsonrpc::{ErrorObject, RawJson};
use mcp_protocol::{Delivery, Link, Owner, Payload, Reply, RequestContext, Session, gate, lock};
use mcp_types::method;
use tokio::sync::{mpsc, oneshot};

pub(crate) use self::routes::{Routes, RunningCall};
pub(crate) use self::subscribed::{MayNotify, Subscribed};
use crate::text::{ObjectText, RawResult, member};

/// Maximum number of notifications that are kept for a call whose client is not connected.
const MAX_KEPT: usize = 64;
/// Maximum total size of the params of the kept notifications of a call, in bytes of JSON.
const MAX_KEPT_BYTES: usize = 16 << 10;
/// Maximum number of server requests that wait for the client of one call.
pub(crate) const MAX_SERVER_REQUESTS: usize = 16;

/// The answer of a client to a server request: JSON text, or its error.
pub(crate) type ClientAnswer = Result<RawJson, ErrorObject>;

/// A server request for a client of the stateless revision.
#[derive(Debug)]
pub(crate) struct ServerRequest {
    pub(crate) method: &'static str,
    pub(crate) params: Option<RawJson>,
    pub(crate) answer: oneshot::Sender<ClientAnswer>,
}

/// The client of one running call.
pub(crate) struct Caller {
    session: Arc<Session>,
    client: Owner,
    output: Mutex<Output>,
    /// The channel for server requests to a stateless client, to which the gateway cannot send requests. If it is `None`, server
    /// requests are sent on the link of the client.
    server_requests: Option<mpsc::Sender<ServerRequest>>,
}

enum Output {
    Connected {
        link: Arc<dyn Link>,
        /// The client's progress token as JSON text.
        token: Option<String>,
    },
    /// The notifications that are kept until the client continues the call.
    Kept(Vec<(String, Option<String>)>),
}

impl Caller {
    pub(crate) fn new(
        context: &RequestContext,
        params: Option<&str>,
        server_requests: Option<mpsc::Sender<ServerRequest>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            session: Arc::clone(context.session()),
            client: context.owner(),
            output: Mutex::new(Output::Connected {
                link: context.link(),
                token: progress_token(params),
            }),
            server_requests,
        })
    }

    pub(crate) fn wants_progress(&self) -> bool {
        matches!(
            &*lock(&self.output),
            Output::Connected { token: Some(_), .. }
        )
    }

    /// Keeps notifications from now on, instead of sending them, because the response of the client's current request is being
    /// sent.
    pub(crate) fn disconnect(&self) {
        *lock(&self.output) = Output::Kept(Vec::new());
    }

    /// Sends the kept notifications, and all later notifications, on the link of the request with which the client continues the
    /// call.
    pub(crate) fn reconnect(&self, context: &RequestContext, params: Option<&str>) {
        let connected = Output::Connected {
            link: context.link(),
            token: progress_token(params),
        };
        let kept = std::mem::replace(&mut *lock(&self.output), connected);
        if let Output::Kept(kept) = kept {
            for (method, params) in kept {
                self.notify(&method, params.as_deref());
            }
        }
    }

    fn notify(&self, method: &str, params: Option<&str>) {
        match &mut *lock(&self.output) {
            Output::Connected { link, token } => {
                let with_token;
                let params = match (method, token, params) {
                    (method::NOTIFICATIONS_PROGRESS, Some(token), Some(params)) => {
                        let mut text = ObjectText::new();
                        text.copy_all(params, &["progressToken"]);
                        text.add("progressToken", token);
                        with_token = text.finish();
                        Some(&*with_token)
                    }
                    (method::NOTIFICATIONS_PROGRESS, ..) => return,
                    _ => params,
                };
                let params = params.map(str::as_bytes);
                if let Err(error) = link.notify(method, params, Delivery::Lossy) {
                    tracing::debug!(method, %error, "a notification was not passed to the client");
                }
            }
            Output::Kept(kept) => {
                let sizes = kept
                    .iter()
                    .map(|(_, params)| params.as_ref().map_or(0, String::len));
                let bytes = sizes.sum::<usize>() + params.map_or(0, str::len);
                if kept.len() < MAX_KEPT && bytes <= MAX_KEPT_BYTES {
                    kept.push((method.to_owned(), params.map(str::to_owned)));
                } else {
                    tracing::debug!(method, "dropped a notification of a parked call");
                }
            }
        }
    }

    /// Passes a server request to the client.
    fn ask(&self, name: &'static str, params: Option<&str>) -> Result<Reply, ErrorObject> {
        check(&self.session, name)?;
        let params = params.map(RawJson::copy);
        let Some(server_requests) = &self.server_requests else {
            let link = match &*lock(&self.output) {
                Output::Connected { link, .. } => Arc::clone(link),
                Output::Kept(_) => return Err(no_client(name)),
            };
            return Ok(ask_on(&link, name, params));
        };
        let (answer, answered) = oneshot::channel();
        let server_request = ServerRequest {
            method: name,
            params,
            answer,
        };
        server_requests.try_send(server_request).map_err(|_| {
            ErrorObject::internal(format!(
                "{MAX_SERVER_REQUESTS} server requests of this call wait for the client, which is the limit; \
                 wait for an answer before the next request"
            ))
        })?;
        Ok(Reply::Pending(Box::pin(async move {
            let answer = answered.await.unwrap_or_else(|_| Err(no_client(name)));
            answer.map(|result| Payload::Boxed(Box::new(RawResult(result))))
        })))
    }
}

/// Returns the progress token of a request as JSON text.
fn progress_token(params: Option<&str>) -> Option<String> {
    let token = member(member(params?, "_meta")?, "progressToken")?;
    Some(token.to_owned())
}

/// Checks that a client can answer a server request.
fn check(session: &Session, name: &str) -> Result<(), ErrorObject> {
    let Some(capabilities) = session.client_capabilities() else {
        return Err(ErrorObject::method_not_found(name));
    };
    let offered = gate::client_offers(name, capabilities, session.revision().rules());
    offered.map_err(|missing| {
        ErrorObject::new(
            mcp_jsonrpc::ErrorCode::METHOD_NOT_FOUND,
            format!("the client does not support {name}: {missing}"),
        )
    })
}

/// Sends a server request to a client with a session.
fn ask_on(link: &Arc<dyn Link>, name: &'static str, params: Option<RawJson>) -> Reply {
    let params = params.map(|params| params.as_bytes().to_vec());
    let call = link.request(name, params);
    Reply::Pending(Box::pin(async move {
        match call.await {
            Ok(Ok(result)) => Ok(Payload::Boxed(Box::new(RawResult(result)))),
            Ok(Err(error)) => Err(error),
            Err(error) => Err(ErrorObject::internal(format!(
                "the client did not respond: {error}"
            ))),
        }
    }))
}

fn no_client(name: &str) -> ErrorObject {
    ErrorObject::internal(format!("no client that can answer {name} is connected"))
}
