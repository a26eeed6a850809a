//! Servers that ask who calls: a real client, a real authorization server, and thieves.

mod doors;
mod robots;
mod secrets;
mod sessions;
mod sign_in;
mod step_up;
mod support;
