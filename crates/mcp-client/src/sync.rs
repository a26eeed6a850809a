//! Waiting for one of two futures.

use std::future::poll_fn;
use std::task::Poll;

use mcp_protocol::BoxFuture;

/// Polls both futures, and returns the result of the future that completes first.
pub(crate) async fn race<T>(
    first: impl Future<Output = T> + Send,
    second: impl Future<Output = T> + Send,
) -> T {
    let mut first: BoxFuture<'_, T> = Box::pin(first);
    let mut second: BoxFuture<'_, T> = Box::pin(second);
    poll_fn(|cx| match first.as_mut().poll(cx) {
        Poll::Pending => second.as_mut().poll(cx),
        done => done,
    })
    .await
}
