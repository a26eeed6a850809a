//! `#[prompt]`: definitions, calls, completion.

use mcp_server::{CompletionRequest, State, prompt};

use crate::prelude::*;

#[expect(
    clippy::needless_pass_by_value,
    reason = "completers own what they take"
)]
fn languages(typed: CompletionRequest) -> Vec<String> {
    let known = ["Ruby", "Rust"].into_iter().map(str::to_owned);
    known
        .filter(|name| name.starts_with(&typed.value))
        .collect()
}

/// Asks for a review.
#[prompt(title = "Review", icon = "https://example.com/review.png")]
async fn review(
    State(team): State<String>,
    /// What to review.
    code: String,
    #[arg(complete = languages, rename = "Language")] a_language: Option<String>,
) -> String {
    format!("{team}: {} {code}", a_language.unwrap_or_default())
}

#[prompt(name = "hello there", description = "Says hello.")]
fn hello() -> &'static str {
    "hello"
}

#[test]
fn arguments_keep_the_order_of_the_parameters() {
    let made: Prompt<String> = review::prompt();
    assert_eq!(
        json!(made.definition()),
        json!({
            "name": "review",
            "title": "Review",
            "description": "Asks for a review.",
            "icons": [{"src": "https://example.com/review.png"}],
            "arguments": [
                {"name": "code", "description": "What to review.", "required": true},
                {"name": "Language", "required": false},
            ],
        })
    );
    let made: Prompt = hello::prompt();
    assert_eq!(made.definition().name, "hello there");
    assert_eq!(hello(), "hello");
}

#[tokio::test]
async fn prompt_functions_create_messages_and_complete_arguments() {
    let server = Server::builder("s", "1")
        .state("we".to_owned())
        .prompts([review::prompt(), hello::prompt()]);
    let mut wire = PipeEnd::session(server).await;
    let params = json!({"name": "review", "arguments": {"code": "x", "Language": "Rust"}});
    let result = wire.call("prompts/get", params).await;
    assert_eq!(result["messages"][0]["content"]["text"], "we: Rust x");

    let params = json!({
        "ref": {"type": "ref/prompt", "name": "review"},
        "argument": {"name": "Language", "value": "Ru"},
    });
    let result = wire.call("completion/complete", params).await;
    assert_eq!(result["completion"]["values"], json!(["Ruby", "Rust"]));
}
