//! A `tracing` layer that sends events to clients as log messages.

use std::fmt;
use std::sync::Weak;
use std::time::Instant;

use mcp_protocol::{Delivery, RequestContext};
use mcp_types::{LoggingLevel, LoggingMessageNotificationParams, method};
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::Server;
use crate::server::core::Core;
use crate::span;

/// The crates whose events are never sent to clients. Sending a log message creates events in these crates, which would be sent
/// again.
const OWN_CRATES: [&str; 10] = [
    "mcp_auth",
    "mcp_client",
    "mcp_jsonrpc",
    "mcp_protocol",
    "mcp_schema",
    "mcp_server",
    "mcp_store_redb",
    "mcp_transport_http",
    "mcp_transport_stdio",
    "mcp_types",
];

/// A layer that sends the `tracing` events of handlers to clients as log messages.
///
/// An event inside a handler is sent only to the client whose request the handler serves, on the stream of that request. The
/// client's log level and the [rate limit](crate::Ctx::log) must admit the event. The event's target becomes the logger, and its
/// fields become the data. `TRACE` and `DEBUG` both become `debug`.
///
/// Each handler runs in a span named `mcp.request` of level `INFO`, whose target begins with
/// `mcp_server`. The layer finds the client through this span: if a filter disables it, the
/// events of the handler are not sent. For work on another task, keep the span:
/// `tokio::spawn(work.in_current_span())` with `tracing::Instrument`.
///
/// Events outside of requests are not sent, unless [`broadcast`](Self::broadcast) is set. Events of
/// the crates of this SDK are never sent.
///
/// ```
/// use tracing_subscriber::layer::SubscriberExt as _;
///
/// let subscriber = tracing_subscriber::registry().with(mcp_server::LogLayer::new());
/// # let _ = subscriber;
/// ```
///
/// Specification:
/// [logging](https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging).
#[derive(Default)]
pub struct LogLayer {
    broadcast: Weak<Core>,
}

impl LogLayer {
    /// Creates a layer for `tracing_subscriber::registry().with(..)`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends events outside of requests to every session of `server` whose log level admits them.
    /// Default: such events are not sent.
    ///
    /// Every client can read these events. Therefore, broadcast only if no event contains data that only one user may see.
    /// Clients of the stateless revision do not receive them.
    ///
    /// The layer does not keep the server alive; when the last handle is dropped, broadcasts stop.
    /// A second call replaces the server of the first call.
    #[must_use]
    pub fn broadcast<S>(mut self, server: &Server<S>) -> Self {
        self.broadcast = server.weak_core();
        self
    }
}

impl fmt::Debug for LogLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogLayer")
    }
}

impl<R: Subscriber + for<'a> LookupSpan<'a>> Layer<R> for LogLayer {
    fn on_new_span(&self, _: &Attributes<'_>, id: &Id, context: Context<'_, R>) {
        let request = span::take_request();
        if let (Some(request), Some(span)) = (request, context.span(id)) {
            span.extensions_mut().insert(request);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, R>) {
        let (target, level) = (event.metadata().target(), event.metadata().level());
        let name = target.split("::").next().unwrap_or_default();
        if OWN_CRATES.contains(&name) {
            return;
        }
        let spans = context.event_scope(event).into_iter().flatten();
        let request = spans.into_iter().find_map(|span| {
            let extensions = span.extensions();
            extensions.get::<RequestContext>().cloned()
        });
        let level = level_of(*level);
        match request {
            Some(request) => {
                let data = Value::Object(fields_of(event));
                request.log(level, Some(target), data, Instant::now());
            }
            None => self.send_to_all(event, level),
        }
    }
}

impl LogLayer {
    fn send_to_all(&self, event: &Event<'_>, level: LoggingLevel) {
        let Some(core) = self.broadcast.upgrade() else {
            return;
        };
        let (sessions, now) = (core.sessions(), Instant::now());
        let mut sessions = sessions
            .iter()
            .filter(|session| session.admits_log(level, now))
            .peekable();
        if sessions.peek().is_none() {
            return;
        }
        let data = Value::Object(fields_of(event));
        let params = LoggingMessageNotificationParams::new(level, data)
            .with_logger(event.metadata().target());
        let Ok(params) = serde_json::to_vec(&params) else {
            return;
        };
        let method = method::NOTIFICATIONS_MESSAGE;
        for session in sessions {
            session.notify(method, Some(&params), Delivery::Lossy);
        }
    }
}

fn fields_of(event: &Event<'_>) -> Map<String, Value> {
    let mut fields = Fields(Map::new());
    event.record(&mut fields);
    fields.0
}

fn level_of(level: Level) -> LoggingLevel {
    match level {
        Level::ERROR => LoggingLevel::Error,
        Level::WARN => LoggingLevel::Warning,
        Level::INFO => LoggingLevel::Info,
        _ => LoggingLevel::Debug,
    }
}

struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0
            .insert(field.name().to_owned(), format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}
