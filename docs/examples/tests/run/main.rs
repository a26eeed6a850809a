//! Runs each example as a user does: starts the program, and uses it with a client. `servers/testing.rs` has its tests inside.

#![allow(
    clippy::needless_pass_by_value,
    clippy::unwrap_used,
    reason = "a test may panic, and hands over what it has written"
)]

mod hosts;
mod http;
mod issuer;
mod program;
mod servers;

#[test]
fn the_outputs_in_the_list_are_those_that_the_tests_expect() {
    let tests = [
        include_str!("hosts.rs"),
        include_str!("http.rs"),
        include_str!("servers.rs"),
    ];
    let tests = tests.concat().replace("\\\"", "\"");
    let list = include_str!("../../README.md");
    let rows = list.lines().filter(|line| line.starts_with("| ["));
    let outputs = rows.filter_map(|row| row.rsplit(" | ").next());
    let mut count = 0;
    for output in outputs.flat_map(|cell| cell.split('`').skip(1).step_by(2)) {
        assert!(tests.contains(output), "no test expects {output}");
        count += 1;
    }
    assert!(count >= 15, "{count} outputs");
}
