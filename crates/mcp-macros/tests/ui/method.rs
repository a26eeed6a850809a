use mcp_server::tool;

struct Calculator;

impl Calculator {
    #[tool]
    fn add(&self, a: i64) -> i64 {
        a
    }
}

#[tool]
struct NoFunction;

fn main() {}
