use mcp_server::{Server, State, tool};

#[derive(Clone)]
struct Database;

#[tool]
fn count(State(_db): State<Database>) -> i64 {
    0
}

#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = Server::builder("s", "1").tool(count::tool());
    let _ = Server::builder("s", "1").state(7).tool(count::tool());
    let _ = Server::builder("s", "1").tool(count::tool()).state(Database);
    let _ = Server::builder("s", "1").tool(add);
}
