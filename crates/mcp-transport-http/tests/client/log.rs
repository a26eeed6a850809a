//! Everything that is logged by any test.

use std::fmt::{Debug, Write};
use std::sync::{Mutex, Once};

use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::{Layer, registry};

static LOG: Mutex<String> = Mutex::new(String::new());

/// Writes every event down, whatever its level.
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

/// Starts recording, for the whole process: a recorder of one thread misses what another has
/// decided not to log.
pub(crate) fn record() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(registry().with(Recorder)).unwrap());
}

/// What was logged so far.
pub(crate) fn log() -> String {
    LOG.lock().unwrap().clone()
}
