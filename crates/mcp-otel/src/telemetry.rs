//! The middleware for telemetry, and its settings.

use std::fmt;
use std::time::Instant;

use mcp_jsonrpc::{ParseErrorKind, is_member, members, read_string};
use mcp_protocol::middleware::{
    BlockingWork, Discarded, Middleware, Next, NextNotification, Notification, OpenedSession,
    Request, Response, Role, SessionEnd,
};
use mcp_protocol::{BoxFuture, Outcome as McpOutcome, Revision};
use mcp_types::method;
use opentelemetry::global::BoxedTracer;
use opentelemetry::metrics::{Meter, MeterProvider};
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{FutureExt as _, Span, Tracer, TracerProvider};
use opentelemetry::{Context, InstrumentationScope, KeyValue, global};

use crate::attributes::{self as keys, content};
use crate::instruments::Instruments;
use crate::names::Names;
use crate::operation::{Message, Operation, Outcome};
use crate::propagation::Propagation;

/// Default maximum number of names of each kind.
const MAX_NAMES: usize = 1_000;

/// Middleware that records spans and metrics of requests, for a server or a client.
///
/// Add it first, so that it is the outermost middleware: `Server::builder(..).layer(Telemetry::new())` or
/// `Client::builder(..).layer(Telemetry::new())`.
pub struct Telemetry {
    pub(crate) tracer: BoxedTracer,
    pub(crate) instruments: Instruments,
    pub(crate) propagation: Propagation,
    pub(crate) names: Names,
    pub(crate) records_content: bool,
    records_notifications: bool,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self::new()
    }
}

impl Telemetry {
    /// Creates telemetry with the current providers of `opentelemetry::global`. Set these providers before this call. The
    /// global propagator is read for each message.
    pub fn new() -> Self {
        Self {
            tracer: global::tracer_with_scope(scope()),
            instruments: Instruments::new(&global::meter_with_scope(scope())),
            propagation: Propagation::default(),
            names: Names::new(MAX_NAMES),
            records_content: false,
            records_notifications: false,
        }
    }

    /// Sets the provider that receives spans. Default: the global provider.
    #[must_use]
    pub fn with_tracer_provider<P>(mut self, provider: &P) -> Self
    where
        P: TracerProvider,
        P::Tracer: Tracer<Span: Span + Send + Sync + 'static> + Send + Sync + 'static,
    {
        self.tracer = BoxedTracer::new(Box::new(provider.tracer_with_scope(scope())));
        self
    }

    /// Sets the provider that receives metrics. Default: the global provider.
    #[must_use]
    pub fn with_meter_provider(mut self, provider: &impl MeterProvider) -> Self {
        let meter: Meter = provider.meter_with_scope(scope());
        self.instruments = Instruments::new(&meter);
        self
    }

    /// Sets the propagator, which defines the format of the trace context in `params._meta`. Default: the global propagator,
    /// which does nothing until the program sets one. SEP-414 uses the fields of W3C, which `TraceContextPropagator` and
    /// `BaggagePropagator` of the OpenTelemetry SDK write.
    #[must_use]
    pub fn with_propagator(
        mut self,
        propagator: impl TextMapPropagator + Send + Sync + 'static,
    ) -> Self {
        self.propagation = Propagation(Some(Box::new(propagator)));
        self
    }

    /// Records the arguments and results of tools in spans, up to 16 KiB each. Arguments and results may be secret.
    #[must_use]
    pub fn with_content(mut self) -> Self {
        self.records_content = true;
        self
    }

    /// Records notifications, including progress and log messages. Sent notifications then contain the trace context.
    #[must_use]
    pub fn with_notifications(mut self) -> Self {
        self.records_notifications = true;
        self
    }

    /// Sets the maximum number of names of tools, of prompts and of custom methods in metrics and span names. Default: 1,000 of
    /// each kind. Further names are replaced by `_other`.
    ///
    /// On a server, a name is known after a request with this name has had a result. On a client, the result must also not be a
    /// tool error, because some servers report an unknown tool as a tool error. Before a name is known, it is only in the
    /// attribute `gen_ai.tool.name` or `gen_ai.prompt.name` of the span. At most 100 different error codes are recorded in
    /// metrics.
    #[must_use]
    pub fn with_max_names(mut self, names: usize) -> Self {
        self.names = Names::new(names);
        self
    }
}

fn scope() -> InstrumentationScope {
    InstrumentationScope::builder("mcp-otel")
        .with_version(env!("CARGO_PKG_VERSION"))
        .build()
}

impl Middleware for Telemetry {
    async fn request(&self, mut request: Request, next: Next) -> Response {
        let mut operation = Operation::start(self, &Message::of_request(&request));
        // The params of an input request are not changed, because they are compared with the params of the last round trip.
        if let Some(params) = operation
            .inject(request.params())
            .filter(|_| !operation.is_input())
        {
            request.set_raw_params(Some(params));
        }
        let is_initialize = request.method() == method::INITIALIZE;
        let records_result = self.records_content && request.method() == method::TOOLS_CALL;
        // `run` itself may call the handler, so it is called within the context too.
        let context = operation.context().clone();
        let response = async move { next.run(request).await }
            .with_context(context)
            .await;
        if is_initialize && let Some(revision) = negotiated(&response) {
            operation.set_revision(revision);
        }
        if records_result && let Some(result) = response.result_text() {
            operation.set_attribute(content(keys::RESULT, &result));
        }
        operation.end(&Outcome::of(&response));
        response
    }

    fn notification(&self, mut notification: Notification<'_>, next: NextNotification<'_>) {
        if !self.records_notifications {
            return next.run(notification);
        }
        let operation = Operation::start(self, &Message::of_notification(&notification));
        if let Some(params) = operation.inject(notification.params()) {
            notification.set_raw_params(Some(params));
        }
        let _guard = operation.context().clone().attach();
        next.run(notification);
        operation.end(&Outcome::Success { is_proof: false });
    }

    fn blocking(&self, work: BlockingWork) -> BlockingWork {
        let context = Context::current();
        Box::new(move || {
            let _guard = context.attach();
            work()
        })
    }

    fn background(
        &self,
        handler: BoxFuture<'static, McpOutcome>,
    ) -> BoxFuture<'static, McpOutcome> {
        Box::pin(handler.with_current_context())
    }

    fn session(&self, session: OpenedSession) -> Option<SessionEnd> {
        let histogram = self.instruments.of(session.role).session.clone();
        let start = Instant::now();
        Some(Box::new(move |reason| {
            let version = session.revision.as_str();
            let mut attributes = vec![KeyValue::new(keys::PROTOCOL_VERSION, version)];
            if !reason.is_local() && !reason.is_peer_gone() {
                attributes.push(KeyValue::new(keys::ERROR_TYPE, "connection_failed"));
            }
            histogram.record(start.elapsed().as_secs_f64(), &attributes);
        }))
    }

    fn discarded(&self, role: Role, message: Discarded<'_>) {
        let instruments = self.instruments.of(role);
        let kind = match message {
            Discarded::UnknownResponse(_) => return instruments.responses.add(1, &[]),
            Discarded::Batch => "batch",
            Discarded::Malformed(error) => match error.kind() {
                ParseErrorKind::Syntax => "syntax",
                ParseErrorKind::Invalid => "invalid",
                ParseErrorKind::Limit => "limit",
                ParseErrorKind::TooLong => "too_long",
                _ => "_OTHER",
            },
            _ => "_OTHER",
        };
        let attributes = [KeyValue::new(keys::ERROR_TYPE, kind)];
        instruments.frames.add(1, &attributes);
    }
}

/// Returns the revision in the result of `initialize`.
fn negotiated(response: &Response) -> Option<Revision> {
    let result = response.result_text()?;
    let mut all = members(&result).filter_map(Result::ok);
    let (_, version) = all.find(|(key, _)| is_member(key, "protocolVersion"))?;
    read_string(version)?.parse().ok()
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry")
            .field("records_content", &self.records_content)
            .field("records_notifications", &self.records_notifications)
            .finish_non_exhaustive()
    }
}
