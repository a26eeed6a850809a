//! Tests of the types through their public interface.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod elicitation;
mod examples;
mod generate;
mod generated_table;
mod generated_table_2026_07_28;
mod meta;
mod methods;
mod revision_2026_07_28;
mod roundtrip;
mod sampling;
mod support;
mod tasks;
mod tools;
mod unions;
