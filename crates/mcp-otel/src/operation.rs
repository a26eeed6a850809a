//! Records one request or notification as a span and as a measurement.

use std::borrow::Cow;
use std::time::Instant;

use mcp_jsonrpc::{is_member, members, read_string};
use mcp_protocol::middleware::{Direction, Notification, Request, Response};
use mcp_protocol::{CallError, RequestOrigin, Revision, SentId, gate};
use mcp_types::method;
use opentelemetry::trace::{
    Link, SpanBuilder, SpanKind, Status, TraceContextExt as _, Tracer as _,
};
use opentelemetry::{Context, KeyValue};

use crate::Telemetry;
use crate::attributes::{self as keys, clip, content, text};
use crate::names::{NameKind, OTHER};

/// The properties of a message that its span contains.
pub(crate) struct Message<'m> {
    direction: Direction,
    method: &'m str,
    id: Option<String>,
    sent_id: Option<SentId>,
    is_input: bool,
    target: Option<Target<'m>>,
    meta: Option<&'m str>,
    arguments: Option<&'m str>,
    revision: Option<Revision>,
    origin: RequestOrigin<'m>,
}

/// The tool, prompt or resource that a message names.
struct Target<'m> {
    key: &'static str,
    /// The kind of the name; `None` for names that never occur in metrics.
    kind: Option<NameKind>,
    name: Cow<'m, str>,
}

impl<'m> Target<'m> {
    fn of(method: &str, param: impl Fn(&'static str) -> Option<&'m str>) -> Option<Self> {
        let (key, kind, member) = match method {
            method::TOOLS_CALL => (keys::TOOL, Some(NameKind::Tool), "name"),
            method::PROMPTS_GET => (keys::PROMPT, Some(NameKind::Prompt), "name"),
            method::RESOURCES_READ
            | method::RESOURCES_SUBSCRIBE
            | method::RESOURCES_UNSUBSCRIBE
            | method::NOTIFICATIONS_RESOURCES_UPDATED => (keys::RESOURCE_URI, None, "uri"),
            _ => return None,
        };
        let name = read_string(param(member)?)?;
        Some(Self { key, kind, name })
    }
}

impl<'m> Message<'m> {
    pub(crate) fn of_request(request: &'m Request) -> Self {
        let direction = request.direction();
        Self {
            direction,
            method: request.method(),
            id: request.id().map(ToString::to_string),
            sent_id: request.sent_id().cloned(),
            is_input: direction == Direction::Outbound && request.sent_id().is_none(),
            target: Target::of(request.method(), |member| request.param(member)),
            meta: request.param("_meta"),
            arguments: request.param("arguments"),
            revision: request.revision(),
            origin: request.origin(),
        }
    }

    pub(crate) fn of_notification(notification: &'m Notification<'_>) -> Self {
        let param = |member: &str| {
            let mut all = members(notification.params().unwrap_or("{}")).filter_map(Result::ok);
            all.find_map(|(key, value)| is_member(key, member).then_some(value))
        };
        Self {
            direction: notification.direction(),
            method: notification.method(),
            id: None,
            sent_id: None,
            is_input: false,
            target: Target::of(notification.method(), param),
            meta: param("_meta"),
            arguments: None,
            revision: notification.revision(),
            origin: RequestOrigin::remote(),
        }
    }
}

/// The way in which an operation ended.
pub(crate) enum Outcome {
    /// A result. `is_proof` is set if the result proves that the names in the message exist.
    Success {
        is_proof: bool,
    },
    ToolError,
    Error {
        code: i64,
        message: String,
    },
    /// There is no response; the text is the type of the error.
    Failed(&'static str),
}

impl Outcome {
    pub(crate) fn of(response: &Response) -> Self {
        if let Some(error) = response.as_error() {
            return Self::Error {
                code: error.code.0,
                message: clip(&error.message),
            };
        }
        match response.as_failure() {
            None if response.is_tool_error() => Self::ToolError,
            None => Self::Success { is_proof: true },
            Some(CallError::Closed(_)) => Self::Failed("connection_closed"),
            Some(CallError::Malformed(_)) => Self::Failed("malformed_response"),
            Some(CallError::Busy { .. }) => Self::Failed("too_many_requests"),
            Some(CallError::Failed(_)) => Self::Failed("transport_failed"),
            Some(_) => Self::Failed("_OTHER"),
        }
    }
}

/// A running request or notification. If this value is dropped before [`end`](Self::end), the operation is recorded as cancelled.
pub(crate) struct Operation<'t> {
    telemetry: &'t Telemetry,
    context: Context,
    start: Instant,
    direction: Direction,
    method: Cow<'static, str>,
    /// Whether the method is custom. The peer may have invented the name of such a method.
    is_custom: bool,
    name: Option<(&'static str, NameKind, String)>,
    /// The attributes that are both in the span and in the metrics.
    shared: Vec<KeyValue>,
    sent_id: Option<SentId>,
    is_input: bool,
    is_ended: bool,
}

impl<'t> Operation<'t> {
    pub(crate) fn start(telemetry: &'t Telemetry, message: &Message<'_>) -> Self {
        let core = gate::core_method(message.method);
        let method = core.map_or_else(|| clip(message.method).into(), Cow::Borrowed);
        let mut shared = shared(message);
        let name = message.target.as_ref().and_then(|target| {
            let kind = target.kind?;
            Some((target.key, kind, clip(&target.name)))
        });
        if method == method::TOOLS_CALL {
            shared.push(KeyValue::new(keys::OPERATION, "execute_tool"));
        }
        let mut operation = Self {
            telemetry,
            context: Context::new(),
            start: Instant::now(),
            direction: message.direction,
            method,
            is_custom: core.is_none() && message.direction == Direction::Inbound,
            name,
            shared,
            sent_id: message.sent_id.clone(),
            is_input: message.is_input,
            is_ended: false,
        };
        operation.open_span(message);
        operation
    }

    fn open_span(&mut self, message: &Message<'_>) {
        let (parent, link) = self.parent(message);
        let kind = match self.direction {
            Direction::Inbound => SpanKind::Server,
            Direction::Outbound => SpanKind::Client,
        };
        let span = SpanBuilder::from_name(self.span_name())
            .with_kind(kind)
            .with_attributes(self.span_attributes(message))
            .with_links(link.into_iter().collect());
        let span = self.telemetry.tracer.build_with_context(span, &parent);
        self.context = parent.with_span(span);
    }

    /// Returns the parent of the span, and a link to the context of the transport. The parent is the context in the message or,
    /// if the message has no context, the context of the transport.
    fn parent(&self, message: &Message<'_>) -> (Context, Option<Link>) {
        let mut ambient = Context::current();
        if self.direction == Direction::Outbound {
            return (ambient, None);
        }
        let propagation = &self.telemetry.propagation;
        if !ambient.span().span_context().is_valid() {
            ambient = propagation.extract_headers(&ambient, message.origin);
        }
        let Some(meta) = message.meta else {
            return (ambient, None);
        };
        let parent = propagation.extract(&ambient, meta);
        let transport = ambient.span().span_context().clone();
        let is_other = transport.is_valid() && transport != *parent.span().span_context();
        let link = is_other.then(|| Link::new(transport, Vec::new(), 0));
        (parent, link)
    }

    fn span_attributes(&self, message: &Message<'_>) -> Vec<KeyValue> {
        let mut attributes = self.shared.clone();
        attributes.push(KeyValue::new(keys::METHOD, self.method.clone()));
        if let Some(id) = &message.id {
            attributes.push(text(keys::REQUEST_ID, id));
        }
        if let Some(target) = &message.target {
            attributes.push(text(target.key, &target.name));
        }
        if let Some(id) = message.origin.header("mcp-session-id") {
            attributes.push(text(keys::SESSION_ID, id));
        }
        if let Some((address, port)) = message.origin.network().and_then(|network| network.client) {
            attributes.push(KeyValue::new(keys::CLIENT_ADDRESS, address));
            attributes.push(KeyValue::new(keys::CLIENT_PORT, i64::from(port)));
        }
        if let (true, Some(arguments)) = (self.telemetry.records_content, message.arguments) {
            attributes.push(content(keys::ARGUMENTS, arguments));
        }
        attributes
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Returns whether this is an input request of the stateless revision. A server sends an input request in the result of a
    /// call. The handler of the call is dropped, and runs again with the response to the input request.
    pub(crate) fn is_input(&self) -> bool {
        self.is_input
    }

    /// Returns the params of an outbound message, with the trace context.
    pub(crate) fn inject(&self, params: Option<&str>) -> Option<String> {
        if self.direction == Direction::Inbound {
            return None;
        }
        self.telemetry.propagation.inject(&self.context, params)
    }

    pub(crate) fn set_attribute(&self, attribute: KeyValue) {
        self.context.span().set_attribute(attribute);
    }

    /// Sets the negotiated revision. Call it for the request that negotiates the revision.
    pub(crate) fn set_revision(&mut self, revision: Revision) {
        let attribute = KeyValue::new(keys::PROTOCOL_VERSION, revision.as_str());
        self.set_attribute(attribute.clone());
        self.shared.push(attribute);
    }

    /// Records the end of the operation.
    pub(crate) fn end(mut self, outcome: &Outcome) {
        self.finish(outcome);
    }

    fn finish(&mut self, outcome: &Outcome) {
        self.is_ended = true;
        let span = self.context.span();
        if let Some(id) = self.sent_id.as_ref().and_then(SentId::get) {
            span.set_attribute(KeyValue::new(keys::REQUEST_ID, id.to_string()));
        }
        let is_proof = match outcome {
            Outcome::Success { is_proof } => *is_proof,
            // Some servers report an unknown tool as a tool error, so a client does not learn names from tool errors.
            Outcome::ToolError => self.direction == Direction::Inbound,
            _ => false,
        };
        if is_proof && self.learn() {
            span.update_name(self.span_name());
        }
        let mut attributes = std::mem::take(&mut self.shared);
        attributes.push(KeyValue::new(keys::METHOD, self.known_method()));
        if let Some((key, kind, name)) = &self.name {
            let name = match self.telemetry.names.is_known(*kind, name) {
                true => name.clone().into(),
                false => Cow::Borrowed(OTHER),
            };
            attributes.push(KeyValue::new(*key, name));
        }
        self.set_error(outcome, &mut attributes);
        span.end();
        if !self.is_input {
            let instruments = match self.direction {
                Direction::Inbound => &self.telemetry.instruments.server,
                Direction::Outbound => &self.telemetry.instruments.client,
            };
            let seconds = self.start.elapsed().as_secs_f64();
            instruments.operation.record(seconds, &attributes);
        }
    }

    /// Adds the attributes of an error to the span and to the metric.
    fn set_error(&self, outcome: &Outcome, attributes: &mut Vec<KeyValue>) {
        let span = self.context.span();
        let (kind, message) = match outcome {
            Outcome::Success { .. } => return,
            Outcome::ToolError => (Cow::Borrowed("tool_error"), String::new()),
            Outcome::Failed(kind) => (Cow::Borrowed(*kind), String::new()),
            Outcome::Error { code, message } => {
                let code = code.to_string();
                span.set_attribute(KeyValue::new(keys::STATUS_CODE, code.clone()));
                if self.telemetry.names.learn(NameKind::ErrorCode, &code) {
                    attributes.push(KeyValue::new(keys::STATUS_CODE, code.clone()));
                    attributes.push(KeyValue::new(keys::ERROR_TYPE, code.clone()));
                } else {
                    attributes.push(KeyValue::new(keys::ERROR_TYPE, "_OTHER"));
                }
                span.set_attribute(KeyValue::new(keys::ERROR_TYPE, code));
                span.set_status(Status::error(message.clone()));
                return;
            }
        };
        attributes.push(KeyValue::new(keys::ERROR_TYPE, kind.clone()));
        span.set_attribute(KeyValue::new(keys::ERROR_TYPE, kind));
        span.set_status(Status::error(message));
    }

    /// Adds the names in the message to the known names, because the message has a result. Returns whether the name of the span
    /// changes as a consequence.
    fn learn(&self) -> bool {
        let names = &self.telemetry.names;
        let is_new = |kind, name: &str| !names.is_known(kind, name) && names.learn(kind, name);
        let method = self.is_custom && is_new(NameKind::Method, &self.method);
        let target = |(_, kind, name): &(_, NameKind, String)| is_new(*kind, name);
        method | self.name.as_ref().is_some_and(target)
    }

    fn known_method(&self) -> Cow<'static, str> {
        match self.is_custom
            && !self
                .telemetry
                .names
                .is_known(NameKind::Method, &self.method)
        {
            true => Cow::Borrowed(OTHER),
            false => self.method.clone(),
        }
    }

    fn span_name(&self) -> Cow<'static, str> {
        let method = self.known_method();
        match &self.name {
            Some((_, kind, name)) if self.telemetry.names.is_known(*kind, name) => {
                format!("{method} {name}").into()
            }
            _ => method,
        }
    }
}

impl Drop for Operation<'_> {
    fn drop(&mut self) {
        if self.is_ended {
            return;
        }
        let is_success = self.is_input && !std::thread::panicking();
        self.finish(&match is_success {
            // The handler waits for the response in the next round trip.
            true => Outcome::Success { is_proof: false },
            false if std::thread::panicking() => Outcome::Failed("panic"),
            false => Outcome::Failed("cancelled"),
        });
    }
}

/// Returns the attributes of the span and the metrics that are known at the start.
fn shared(message: &Message<'_>) -> Vec<KeyValue> {
    let mut attributes = Vec::with_capacity(12);
    if let Some(revision) = message.revision {
        attributes.push(KeyValue::new(keys::PROTOCOL_VERSION, revision.as_str()));
    }
    if message.origin.is_local() {
        attributes.push(KeyValue::new(keys::TRANSPORT, "pipe"));
    }
    if let Some(network) = message.origin.network() {
        attributes.push(KeyValue::new(keys::TRANSPORT, "tcp"));
        attributes.push(KeyValue::new(keys::NETWORK_PROTOCOL, network.protocol));
        if let Some(version) = network.version {
            attributes.push(KeyValue::new(keys::NETWORK_VERSION, version));
        }
        if let Some((address, port)) = network.server {
            attributes.push(KeyValue::new(keys::SERVER_ADDRESS, address));
            attributes.push(KeyValue::new(keys::SERVER_PORT, i64::from(port)));
        }
    }
    attributes
}
