use std::rc::Rc;

use mcp_server::{Args, Ctx, Tool, prompt, tool};

struct Plain;

#[tool]
fn no_result() -> Plain {
    Plain
}

#[tool]
fn no_argument(plain: Plain) {
    drop(plain);
}

#[tool]
async fn no_send(cx: Ctx) {
    let shared = Rc::new(1);
    cx.cancelled().await;
    drop(shared);
}

#[tool]
fn no_error() -> Result<String, Plain> {
    Err(Plain)
}

#[prompt]
fn no_prompt() -> i64 {
    7
}

#[tool]
fn no_extractor(#[extract] plain: Plain) {
    drop(plain);
}

fn main() {
    let _ = mcp_server::Server::builder("s", "1").tool(no_extractor::tool());
    let _: Tool = Tool::new("no_schema", async |Args(plain): Args<Plain>| drop(plain));
}
