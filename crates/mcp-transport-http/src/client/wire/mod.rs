//! HTTP requests, responses and their bodies.

pub(crate) mod authorize;
pub(crate) mod body;
pub(crate) mod connect;
pub(crate) mod connection;
pub(crate) mod content;
pub(crate) mod events;
pub(crate) mod service;
pub(crate) mod url;
