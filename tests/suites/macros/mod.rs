//! The attributes of `mcp-macros`, used through `mcp-server`.

mod prompts;
mod resources;
mod tools;

use crate::prelude::*;

async fn open<S: Clone + Send + Sync + 'static>(server: Server<S>) -> PipeEnd {
    PipeEnd::session(server).await
}

async fn call(wire: &mut PipeEnd, name: &str, arguments: Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    wire.call("tools/call", params).await
}
