//! Features of all revisions, for a client with a session (2025-11-25) and a stateless one (2026-07-28).

mod cancellation;
mod client;
mod completion;
mod decorations;
mod lists;
mod logging;
mod messages;
mod progress;
mod prompts;
mod resources;
mod tools;

pub(crate) use cancellation::waiting;
pub(crate) use lists::LISTS;

use crate::peer::{Peer, named, text};
