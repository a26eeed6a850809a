//! What the types promise, tested from outside.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod elicitation;
mod generate;
mod generated_table;
mod meta;
mod methods;
mod roundtrip;
mod sampling;
mod support;
mod tasks;
mod tools;
mod unions;
