//! Features of all revisions, for a client with a session (2025-11-25) and a stateless one (2026-07-28).

mod client;
mod completion;
mod decorations;
mod lists;
mod messages;
mod prompts;
mod resources;
mod running;

pub(crate) use lists::LISTS;

use crate::peer::{Peer, named, text};
