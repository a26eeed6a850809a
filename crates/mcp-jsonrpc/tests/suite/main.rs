//! The envelope, tested through the public interface.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod decode;
mod envelope;
mod hostile;
mod properties;
