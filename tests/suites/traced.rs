//! What is traced on the thread of a test.

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

use crate::prelude::*;

/// Collects the fields of spans and events of this thread as text; each event ends a line, with the name of its span.
#[derive(Clone, Default)]
pub(crate) struct Traced(Arc<Mutex<String>>);

impl Traced {
    /// Collects the events of this thread until the guard is dropped.
    pub(crate) fn start() -> (Self, DefaultGuard) {
        let traced = Self::default();
        let subscriber = tracing_subscriber::registry().with(traced.clone());
        let guard = tracing::subscriber::set_default(subscriber);
        // A call site that another thread has used without a subscriber is disabled otherwise.
        tracing::callsite::rebuild_interest_cache();
        (traced, guard)
    }

    /// Returns the text so far.
    pub(crate) fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }

    /// Returns the first line that contains this text.
    pub(crate) fn line(&self, fragment: &str) -> Option<String> {
        let text = self.text();
        let line = text.lines().find(|line| line.contains(fragment));
        line.map(str::to_owned)
    }
}

struct Visitor<'a>(&'a mut String);

impl Visit for Visitor<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.push_str(&format!("{}={value:?} ", field.name()));
    }
}

impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Traced {
    fn on_new_span(&self, span: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        span.record(&mut Visitor(&mut self.0.lock().unwrap()));
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
        values.record(&mut Visitor(&mut self.0.lock().unwrap()));
    }

    fn on_event(&self, event: &tracing::Event<'_>, context: Context<'_, S>) {
        let mut text = self.0.lock().unwrap();
        event.record(&mut Visitor(&mut text));
        if let Some(span) = context.event_span(event) {
            text.push_str(&format!("span={}", span.name()));
        }
        text.push('\n');
    }
}
