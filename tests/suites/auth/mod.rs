//! Protected servers: a real client, a real authorization server, and attackers.

mod anonymous;
mod bound;
mod bound_processes;
mod client_credentials;
mod processes;
mod secrets;
mod sessions;
mod sign_in;
mod step_up;
mod support;
mod unauthenticated;
