//! A `tracing` layer that forwards events to clients as log messages.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Instant;

use mcp_protocol::Delivery;
use mcp_types::{LoggingLevel, LoggingMessageNotificationParams, method};
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::Server;
use crate::server::core::Core;

/// Forwards `tracing` events to every connected client whose log level admits them.
///
/// The target becomes the logger, the fields become the data. Events of the crates of this SDK are
/// not forwarded, because sending a message creates such events. Never trace secrets.
///
/// Specification:
/// [logging](https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging).
pub struct LogLayer(Weak<Core>);

impl<S> Server<S> {
    /// Returns a layer for `tracing_subscriber::registry().with(..)`.
    pub fn log_layer(&self) -> LogLayer {
        LogLayer(Arc::downgrade(&self.core))
    }
}

impl fmt::Debug for LogLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogLayer")
    }
}

impl<S: Subscriber> Layer<S> for LogLayer {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let metadata = event.metadata();
        if metadata.target().starts_with("mcp_") {
            return;
        }
        let Some(core) = self.0.upgrade() else {
            return;
        };
        let (level, now) = (level_of(*metadata.level()), Instant::now());
        let sessions = core.sessions();
        let mut sessions = sessions
            .iter()
            .filter(|s| s.admits_log(level, now))
            .peekable();
        if sessions.peek().is_none() {
            return;
        }
        let mut fields = Fields(Map::new());
        event.record(&mut fields);
        let params = LoggingMessageNotificationParams::new(level, Value::Object(fields.0))
            .with_logger(metadata.target());
        let Ok(params) = serde_json::to_vec(&params) else {
            return;
        };
        for session in sessions {
            session.notify(
                method::NOTIFICATIONS_MESSAGE,
                Some(&params),
                Delivery::Lossy,
            );
        }
    }
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
