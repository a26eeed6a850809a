use mcp_server::{Server, State, tool, tools};

#[derive(Clone)]
struct Database;

#[tool]
fn count(State(_db): State<Database>) -> i64 {
    0
}

fn main() {
    let _ = Server::new("s", "1").tools(tools![count]);
    let _ = Server::new("s", "1").state(7).tool(count::tool());
}
