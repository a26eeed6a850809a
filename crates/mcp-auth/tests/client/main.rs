//! Tests of the client against a scripted server and a scripted authorization server.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod grants;
mod registration;
mod renewal;
mod safety;
mod secrets;
mod services;
mod sign_in;
mod sign_out;
mod store;
mod support;
