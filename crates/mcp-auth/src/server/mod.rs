//! The server's side: who may call.
