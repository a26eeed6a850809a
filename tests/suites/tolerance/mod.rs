//! Deviations of foreign software that are harmless: tolerated by default, errors for a strict peer.

mod client;
mod server;
mod stream;
mod unreadable;
