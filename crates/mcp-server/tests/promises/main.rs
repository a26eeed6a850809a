//! What a definition promises is what the server does: for many types, the values that an advertised schema admits are decoded, and the
//! values that it rejects are rejected.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod outputs;
mod text;
mod tools;
mod types;
mod values;
