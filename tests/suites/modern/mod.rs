//! The stateless revision over a pipe: request metadata, multi round-trip requests, subscriptions.

mod admission;
mod base;
mod extensions;
mod lists;
mod round_trips;
mod running;
mod subscriptions;
mod transports;
mod users;

use crate::peer::{Peer, meta, named};
use crate::prelude::*;

/// Returns the text of a complete result.
fn text(result: &Value) -> &str {
    assert_eq!(result["resultType"], "complete", "{result}");
    crate::peer::text(result)
}
