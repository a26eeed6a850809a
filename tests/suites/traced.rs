//! What is traced on the thread of a test.

use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use crate::prelude::*;

/// Collects the events of this thread as text, one line each.
#[derive(Clone, Default)]
pub(crate) struct Traced(Arc<Mutex<String>>);

impl Traced {
    /// Collects the events of this thread until the guard is dropped.
    pub(crate) fn start() -> (Self, DefaultGuard) {
        let traced = Self::default();
        let subscriber = tracing_subscriber::registry().with(traced.clone());
        (traced, tracing::subscriber::set_default(subscriber))
    }

    /// Returns the first line that contains this text.
    pub(crate) fn line(&self, fragment: &str) -> Option<String> {
        let text = self.0.lock().unwrap();
        let line = text.lines().find(|line| line.contains(fragment));
        line.map(str::to_owned)
    }
}

impl<S: tracing::Subscriber> Layer<S> for Traced {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        struct Visitor<'a>(&'a mut String);
        impl Visit for Visitor<'_> {
            fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                self.0.push_str(&format!("{}={value:?} ", field.name()));
            }
        }
        let mut text = self.0.lock().unwrap();
        event.record(&mut Visitor(&mut text));
        text.push('\n');
    }
}
