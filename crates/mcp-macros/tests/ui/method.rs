use mcp_server::{tool, tools};

struct Calculator;

impl Calculator {
    #[tool]
    fn add(&self, a: i64) -> i64 {
        a
    }
}

#[tools]
impl Calculator {
    #[tool]
    fn increment(&mut self, a: i64) -> i64 {
        a
    }

    #[tool]
    fn consume(self, a: i64) -> i64 {
        a
    }
}

#[tools]
impl Calculator {
    fn no_tool(&self) {}
}

#[tools]
fn no_impl() {}

#[tool]
struct NoFunction;

fn main() {}
