//! Records of the requests of a gateway, and the log of denied requests.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcp_jsonrpc::{ErrorObject, prefix, quote, read_string};
use mcp_protocol::modern::may_require_input;
use mcp_protocol::{LogLimit, Outcome, Reply, RequestContext, lock};

use super::access::{Item, ItemKind};
use super::mount::MountedServer;
use crate::parked::is_forwarded;
use crate::text::{may_have, member};
use crate::upstream::is_unavailable;

/// Maximum size of a method name or an item name in a record, in bytes.
const MAX_NAME: usize = 1 << 10;

/// The record of a request that has ended, for [`GatewayBuilder::on_request`](super::GatewayBuilder::on_request).
///
/// Names and arguments come from the client, which can write any text into them. Escape them before you print them.
#[derive(Debug)]
#[non_exhaustive]
pub struct ServedRequest<'a> {
    /// The method, cut to at most 1 KiB.
    pub method: &'a str,
    /// The context of the request: the session, the client and its principal.
    pub context: &'a RequestContext,
    /// The mount that served the request, or that has the item that was denied. `None` for a list, and if no mount has the item.
    pub mount: Option<Arc<str>>,
    /// The name of the tool or prompt at the server, or the URI of the resource, cut to at most 1 KiB. `None` if no mount has the
    /// item.
    pub name: Option<String>,
    /// Whether the server has listed the tool or prompt.
    pub is_listed: bool,
    /// The JSON text of the arguments of a tool call or a prompt. `None` without
    /// [`GatewayBuilder::record_arguments`](super::GatewayBuilder::record_arguments).
    pub arguments: Option<&'a str>,
    /// How the request ended.
    pub outcome: RequestOutcome,
    /// The code of the JSON-RPC error.
    pub error_code: Option<i64>,
    /// The numbers of items, if the request was a list request.
    pub list: Option<ListCounts>,
    /// The position of the access rule that denied the request, from 0.
    pub rule: Option<usize>,
    /// The time from the receipt of the request to its end.
    pub elapsed: Duration,
    /// The size of the params in bytes.
    pub bytes_in: usize,
    /// The size of the result in bytes, without the result metadata of the stateless revision. `None` for an error.
    pub bytes_out: Option<usize>,
}

/// The outcome of a request to a gateway. `Display` writes the name that metrics and audit logs use, such as `tool_error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RequestOutcome {
    /// The response was a result.
    Ok,
    /// The response was the result of a tool that failed (`isError`).
    ToolError,
    /// The response was a result that requests input from the client. The client continues the call with another request.
    InputRequired,
    /// The request was forwarded to the process of the gateway that runs the call. That process reports the request, too.
    Forwarded,
    /// The response was a JSON-RPC error of the server or of the gateway.
    RpcError,
    /// The response was an error, because the server could not be reached or did not respond.
    TransportError,
    /// The client has cancelled the request, or has disconnected.
    Cancelled,
    /// An access rule denies the item, or the rules cannot be applied to its URI.
    Denied,
    /// The access token does not have a scope that an access rule requires.
    MissingScope,
    /// The client has reached a limit.
    Limited,
}

impl fmt::Display for RequestOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "ok",
            Self::ToolError => "tool_error",
            Self::InputRequired => "input_required",
            Self::Forwarded => "forwarded",
            Self::RpcError => "rpc_error",
            Self::TransportError => "transport_error",
            Self::Cancelled => "cancelled",
            Self::Denied => "denied",
            Self::MissingScope => "missing_scope",
            Self::Limited => "limited",
        })
    }
}

/// The numbers of items in one page of a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListCounts {
    /// Number of items in the servers' pages.
    pub offered: usize,
    /// Number of items in the result. Each other item is denied or hidden, or another server has an item with the same name.
    pub listed: usize,
    /// Number of servers that were left out, because they did not respond or their list was not valid.
    pub unavailable: usize,
}

/// A function that receives the record of each request.
pub(super) type OnRequest = Arc<dyn Fn(&ServedRequest<'_>) + Send + Sync>;

/// The function that receives the records of a gateway, and whether the records contain arguments.
#[derive(Clone)]
pub(super) struct Observer {
    pub(super) on_request: OnRequest,
    pub(super) keeps_arguments: bool,
}

/// A client request, with the notes for its record. There are no notes if the gateway has no observer.
#[derive(Clone)]
pub(super) struct ClientRequest {
    pub(super) context: RequestContext,
    notes: Option<Arc<Mutex<Notes>>>,
}

/// The facts that the gateway has collected so far for the record of a request.
#[derive(Debug, Default)]
struct Notes {
    mount: Option<Arc<str>>,
    name: Option<String>,
    is_listed: bool,
    refusal: Option<RequestOutcome>,
    rule: Option<usize>,
    list: Option<ListCounts>,
}

impl Deref for ClientRequest {
    type Target = RequestContext;

    fn deref(&self) -> &RequestContext {
        &self.context
    }
}

impl ClientRequest {
    pub(super) fn new(context: RequestContext, is_recorded: bool) -> Self {
        let notes = is_recorded.then(Arc::default);
        Self { context, notes }
    }

    fn note(&self, note: impl FnOnce(&mut Notes)) {
        if let Some(notes) = &self.notes {
            note(&mut lock(notes));
        }
    }

    /// Notes the tool, prompt or resource that the request names.
    pub(super) fn note_item(&self, mount: &MountedServer, item: &Item<'_>) {
        self.note(|notes| {
            notes.mount = Some(Arc::clone(&mount.name));
            notes.name = Some(prefix(item.name, MAX_NAME).to_owned());
            notes.is_listed = match item.kind {
                ItemKind::Resource => false,
                kind => (mount.catalog).lists_item(kind == ItemKind::Prompt, item.name),
            };
        });
    }

    /// Notes that the gateway refuses the request.
    pub(super) fn note_refusal(&self, refusal: RequestOutcome, rule: Option<usize>) {
        self.note(|notes| (notes.refusal, notes.rule) = (Some(refusal), rule));
    }

    pub(super) fn note_list(&self, counts: ListCounts) {
        self.note(|notes| notes.list = Some(counts));
    }
}

/// A running request that will be recorded. If this value is dropped before the request has ended, the request is recorded as
/// cancelled.
struct Recording {
    on_request: OnRequest,
    request: ClientRequest,
    method: String,
    arguments: Option<String>,
    bytes_in: usize,
    started: Instant,
    is_done: bool,
}

impl Recording {
    fn end(&mut self, outcome: Option<&Outcome>) {
        self.is_done = true;
        let notes = self
            .request
            .notes
            .as_deref()
            .map(|notes| std::mem::take(&mut *lock(notes)));
        let notes = notes.unwrap_or_default();
        let error = outcome.and_then(|outcome| outcome.as_ref().err());
        (self.on_request)(&ServedRequest {
            method: &self.method,
            context: &self.request.context,
            mount: notes.mount,
            name: notes.name,
            is_listed: notes.is_listed,
            arguments: self.arguments.as_deref(),
            outcome: match (outcome, notes.refusal) {
                (None, _) => RequestOutcome::Cancelled,
                (Some(Err(_)), Some(refusal)) => refusal,
                (Some(outcome), _) => outcome_of(&self.method, outcome),
            },
            error_code: error.map(|error| error.code.0),
            list: notes.list,
            rule: notes.rule,
            elapsed: self.started.elapsed(),
            bytes_in: self.bytes_in,
            bytes_out: outcome.and_then(|outcome| Some(outcome.as_ref().ok()?.as_text()?.len())),
        });
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if !self.is_done {
            self.end(None);
        }
    }
}

fn outcome_of(method: &str, outcome: &Outcome) -> RequestOutcome {
    match outcome {
        Ok(result) if result.is_tool_error() => RequestOutcome::ToolError,
        Ok(result) if result.as_text().is_some_and(requires_input) => RequestOutcome::InputRequired,
        Ok(_) => RequestOutcome::Ok,
        Err(error) if is_unavailable(error) => RequestOutcome::TransportError,
        Err(error) if may_require_input(method) && is_forwarded(error) => RequestOutcome::Forwarded,
        Err(_) => RequestOutcome::RpcError,
    }
}

fn requires_input(result: &str) -> bool {
    // A search in the text is faster than parsing the JSON.
    may_have(result, "input_required")
        && member(result, "resultType")
            .and_then(read_string)
            .as_deref()
            == Some("input_required")
}

/// Serves a request, and reports the request to the observer when it has ended.
pub(super) fn recorded(
    observer: &Observer,
    method: &str,
    params: Option<&str>,
    context: RequestContext,
    serve: impl FnOnce(ClientRequest) -> Result<Reply, ErrorObject>,
) -> Reply {
    let request = ClientRequest::new(context, true);
    let mut recording = Recording {
        on_request: Arc::clone(&observer.on_request),
        request: request.clone(),
        method: prefix(method, MAX_NAME).to_owned(),
        arguments: observer
            .keeps_arguments
            .then(|| member(params?, "arguments").map(str::to_owned))
            .flatten(),
        bytes_in: params.map_or(0, str::len),
        started: Instant::now(),
        is_done: false,
    };
    match serve(request).unwrap_or_else(Reply::error) {
        Reply::Pending(running) => Reply::Pending(Box::pin(async move {
            let outcome = running.await;
            recording.end(Some(&outcome));
            outcome
        })),
        Reply::Ready(outcome) => {
            recording.end(Some(&outcome));
            Reply::Ready(outcome)
        }
        // The gateway has no blocking handlers.
        other => other,
    }
}

/// Maximum number of characters of a name or URI in a log message.
pub(super) const MAX_LOGGED: usize = 200;

/// A log for a limited number of denials.
#[derive(Debug, Default)]
pub(super) struct DenialLog(LogLimit);

impl DenialLog {
    /// Logs that a request for an item was denied.
    pub(super) fn item(&self, item: &Item<'_>, reason: &str, context: &ClientRequest) {
        let Some(omitted) = self.0.admit(Instant::now()) else {
            return;
        };
        let client = context.owner();
        let kind = match item.kind {
            ItemKind::Tool => "tool",
            ItemKind::Prompt => "prompt",
            ItemKind::Resource => "resource",
        };
        let name = quote(item.name, MAX_LOGGED);
        tracing::warn!(%client, mount = item.mount, kind, %name, reason, omitted, "a request was denied");
    }

    /// Logs that a request was refused because its client has reached a limit.
    pub(super) fn limit(&self, error: &ErrorObject, context: &ClientRequest) {
        if let Some(omitted) = self.0.admit(Instant::now()) {
            let client = context.owner();
            tracing::warn!(%client, reason = %error.message, omitted, "a request was denied");
        }
    }
}
