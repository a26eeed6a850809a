//! Servers as child processes.

use mcp_transport_stdio::Child;

use crate::support::{open, soon, tool};

/// The fixture as a program, built along with the tests.
fn echo() -> Child {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    Child::new(path.join("examples").join("echo"))
}

// proves: STDIO-001, STDIO-002
#[tokio::test]
async fn a_session_with_a_child() {
    let connection = open(echo()).await;
    assert_eq!(tool(&*connection, "echo", "hi").await.unwrap(), "hi");
    soon(connection.close()).await.unwrap();
    assert!(soon(connection.closed()).await.is_local());
}
