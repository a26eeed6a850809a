use mcp_server::{prompt, prompts, resources, tool, tools};

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

impl Calculator {
    #[prompt]
    fn explain(&self) -> String {
        String::new()
    }
}

#[prompts]
impl Calculator {
    #[prompt]
    fn associated() -> String {
        String::new()
    }
}

#[resources]
impl Calculator {
    #[resource]
    fn no_uri(&self) -> String {
        String::new()
    }
}

#[resources(name = "x")]
impl Calculator {}

fn main() {}
