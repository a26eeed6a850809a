//! The signals that ask a process to exit.

use std::io;

/// Waits for a signal that asks the process to exit. On Unix, the signal is SIGINT (Ctrl-C) or SIGTERM, which service managers
/// and containers send. On other systems, the signal is Ctrl-C.
///
/// Pass its future as the `shutdown` argument of [`serve_with`](crate::serve_with) and [`serve_layered`](crate::serve_layered).
/// In another HTTP server, wait for this function and then call [`Endpoint::close`](crate::Endpoint::close).
///
/// If the signals cannot be handled, an error is logged and the future never completes. The signals
/// then end the process at once.
///
/// # Cancel safety
/// This function is cancel safe. From its first poll on, the signals no longer end the process, even
/// after the future is dropped.
pub async fn shutdown_signal() {
    if let Err(error) = received().await {
        tracing::error!(%error, "cannot handle the signals that end the process");
        std::future::pending::<()>().await;
    }
}

#[cfg(unix)]
async fn received() -> io::Result<()> {
    use std::task::Poll;

    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    std::future::poll_fn(|cx| {
        let is_asked = interrupt.poll_recv(cx).is_ready() || terminate.poll_recv(cx).is_ready();
        if is_asked {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    Ok(())
}

#[cfg(not(unix))]
async fn received() -> io::Result<()> {
    tokio::signal::ctrl_c().await
}
