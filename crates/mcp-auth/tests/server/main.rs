//! The server half, from outside.
