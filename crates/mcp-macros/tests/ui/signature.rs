use mcp_server::{Args, prompt, resource, tool};
use serde_json::Value;

#[tool]
fn generic<T: ToString>(value: T) -> String {
    value.to_string()
}

#[tool]
unsafe fn dangerous(a: i64) -> i64 {
    a
}

#[tool]
fn borrowed(text: &str, list: &[i64], both: impl ToString) -> String {
    format!("{text}{}{}", list.len(), both.to_string())
}

#[tool]
fn unnamed((a, b): (i64, i64), _: i64) -> i64 {
    a + b
}

#[tool]
fn twice(Args(all): Args<Value>, more: i64) -> String {
    format!("{all} {more}")
}

#[prompt]
fn not_text(count: i64, list: Option<Vec<String>>) -> String {
    format!("{count} {list:?}")
}

#[resource("users://{name}")]
fn variables(name: String, other: String) -> String {
    name + &other
}

fn main() {
    // What is wrong with a function is said once, at the function.
    let _: [mcp_server::Tool; 3] = [generic::tool(), borrowed::tool(), unnamed::tool()];
}
