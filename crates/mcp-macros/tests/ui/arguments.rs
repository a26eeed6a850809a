//! Parameters that are not what they look like.

use mcp_server::{Ctx, tool, tools};

type Context = Ctx;

#[tool]
fn alias(cx: Context) {
    let _ = cx;
}

#[tool]
fn conditional(#[cfg(windows)] path: String) {}

#[tool]
fn both(#[arg] #[extract] cx: Ctx) {
    let _ = cx;
}

struct Service;

#[tools]
impl Service {
    #[tool]
    fn tools(&self) {}
}

#[tools(prefix = "a")]
impl Service {
    #[tool]
    fn other(&self) {}
}

fn main() {}
