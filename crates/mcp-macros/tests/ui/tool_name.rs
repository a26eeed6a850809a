use mcp_server::tool;

#[tool(name = "say hello")]
fn hello() {}

#[tool(name = "")]
fn empty() {}

#[tool]
fn größe() {}

fn main() {}
