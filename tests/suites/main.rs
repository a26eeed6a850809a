//! Integration suites across crates, in one binary.

#![allow(
    clippy::needless_pass_by_value,
    clippy::unwrap_used,
    reason = "a test may panic, and hands over what it has written"
)]

mod agent;
mod auth;
mod calls;
mod chaos;
mod client_answers;
mod client_features;
mod client_subscriptions;
mod example;
mod features;
mod gate;
mod gateway;
mod http;
mod http_attacks;
mod killed_servers;
mod lifecycle;
mod long_job;
mod macros;
mod middleware;
mod modern;
mod modern_client;
mod notes;
mod older;
mod peer;
mod prelude;
mod revisions;
mod scripted;
mod server_requests;
mod task_client;
mod tasks;
mod tolerance;
mod traced;
mod users;
mod wire;
