use mcp_server::{prompt, resource, tool};

#[tool(readonly)]
fn unknown() {}

#[tool(title)]
fn no_value() {}

#[tool(title = "a", title = "b")]
fn given_twice() {}

#[tool(read_only = "yes")]
fn no_bool() {}

#[tool(blocking)]
async fn both() {}

#[prompt(read_only)]
fn hint() -> String {
    String::new()
}

#[resource(name = "x")]
fn no_uri() -> String {
    String::new()
}

#[resource("files:///{path*}")]
fn exploded(path: String) -> String {
    path
}

#[tool]
fn argument(#[arg(defualt = 1)] a: i64, #[arg(complete = argument)] b: i64) -> i64 {
    a + b
}

fn main() {}
