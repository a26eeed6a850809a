//! Protected servers: a real client, a real authorization server, and attackers.

mod doors;
mod robots;
mod secrets;
mod sessions;
mod sign_in;
mod step_up;
mod support;
