//! The client's handle to a connection, and the handle of the task that moves the bytes.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use mcp_protocol::{BoxFuture, Closed, Connection, Link, Mux, TransportError};
use tokio::sync::{Notify, watch};

#[derive(Debug, Clone)]
enum Stage {
    Open,
    /// No more messages are sent or received. The value is the reason.
    Closed(Closed),
    /// All resources are released, except for the resources that the text names.
    Gone(Closed, Option<Arc<str>>),
}

#[derive(Debug, Default)]
struct Stop {
    wanted: Notify,
    /// Whether the client waits for the connection to end. The task then has time for a graceful shutdown.
    awaited: AtomicBool,
}

/// The client's handle. Dropping it closes the connection.
#[derive(Debug)]
pub(crate) struct Handle {
    mux: Arc<Mux>,
    stop: Arc<Stop>,
    stage: watch::Receiver<Stage>,
}

/// The task's handle. Dropping it reports that all resources are released.
pub(crate) struct Control {
    mux: Arc<Mux>,
    stop: Arc<Stop>,
    stage: watch::Sender<Stage>,
}

pub(crate) fn channel(mux: Arc<Mux>) -> (Arc<Handle>, Control) {
    let stop = Arc::<Stop>::default();
    let (sender, receiver) = watch::channel(Stage::Open);
    let handle = Handle {
        mux: Arc::clone(&mux),
        stop: Arc::clone(&stop),
        stage: receiver,
    };
    let control = Control {
        mux,
        stop,
        stage: sender,
    };
    (Arc::new(handle), control)
}

impl Control {
    /// Runs `work` until it completes or the client closes the connection. Returns `None` if the client closes the connection.
    pub(crate) async fn until_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut stop = pin!(self.stop.wanted.notified());
        let mut work = pin!(work);
        poll_fn(|cx| {
            if stop.as_mut().poll(cx).is_ready() {
                return Poll::Ready(None);
            }
            work.as_mut().poll(cx).map(Some)
        })
        .await
    }

    #[cfg(feature = "child")]
    /// Returns whether the client waits for a graceful shutdown.
    pub(crate) fn is_awaited(&self) -> bool {
        self.stop.awaited.load(Ordering::Acquire)
    }

    /// Fails all pending calls, and reports `reason` to the client's handle.
    pub(crate) fn close(&self, reason: Closed) {
        self.mux.close(reason.clone());
        self.stage.send_replace(Stage::Closed(reason));
    }

    /// Reports that all resources are released, except for the resources that `trouble` names. `reason` may contain more details
    /// than the reason that [`close`](Self::close) reported.
    pub(crate) fn gone(self, reason: Closed, trouble: Option<String>) {
        let trouble = trouble.map(Arc::from);
        self.stage.send_replace(Stage::Gone(reason, trouble));
    }
}

impl Connection for Handle {
    fn link(&self) -> Arc<dyn Link> {
        Arc::<Mux>::clone(&self.mux)
    }

    fn close(&self) -> BoxFuture<'static, Result<(), TransportError>> {
        // Set at once, so that dropping the handle before the first poll does not shorten the
        // shutdown.
        self.stop.awaited.store(true, Ordering::Release);
        let (mux, stop) = (Arc::clone(&self.mux), Arc::clone(&self.stop));
        let mut stage = self.stage.clone();
        Box::pin(async move {
            mux.close(Closed::local());
            stop.wanted.notify_one();
            let last = stage
                .wait_for(|stage| matches!(stage, Stage::Gone(..)))
                .await;
            match last.as_deref() {
                Ok(Stage::Gone(_, Some(trouble))) => Err(TransportError::new(&**trouble)),
                // The runtime has ended, which released all resources of the connection.
                _ => Ok(()),
            }
        })
    }

    fn closed(&self) -> BoxFuture<'static, Closed> {
        let mux = Arc::clone(&self.mux);
        let mut stage = self.stage.clone();
        Box::pin(async move {
            let last = stage.wait_for(|stage| !matches!(stage, Stage::Open)).await;
            match last.as_deref() {
                Ok(Stage::Closed(reason) | Stage::Gone(reason, _)) => reason.clone(),
                _ => mux.closed().cloned().unwrap_or_else(Closed::local),
            }
        })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.mux.close(Closed::local());
        self.stop.wanted.notify_one();
    }
}
