//! The log of all tests.

use std::fmt::{Debug, Write};
use std::sync::{Mutex, Once};

use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::{Layer, registry};

static LOG: Mutex<String> = Mutex::new(String::new());

/// A subscriber that records every event of any level.
struct Recorder;

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl<S: tracing::Subscriber> Layer<S> for Recorder {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let mut line = String::new();
        event.record(&mut Fields(&mut line));
        LOG.lock().unwrap().push_str(&(line + "\n"));
    }
}

/// Starts recording for the whole process: a subscriber of one thread misses events that another
/// thread has disabled.
pub(crate) fn record() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(registry().with(Recorder)).unwrap());
}

/// Returns the log so far.
pub(crate) fn log() -> String {
    LOG.lock().unwrap().clone()
}
