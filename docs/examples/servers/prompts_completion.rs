//! Prompts: without and with arguments, with an image and a resource, and completion while a user types an argument.
//!
//! ```sh
//! cargo build --example prompts_completion
//! mcp get translate text=Hello language=German -- target/debug/examples/prompts_completion
//! mcp complete translate language=G -- target/debug/examples/prompts_completion
//! ```
//!
//! The second line prints the message `Translate into German: Hello`, the third `German` and `Greek`.

use mcp_sdk::server::{
    CompletionRequest, ContentBlock, HandlerError, Prompt, PromptMessage, ResourceContents, Server,
};
use mcp_sdk::server::{image, prompt, resource, tool};

const LANGUAGES: [&str; 4] = ["French", "German", "Greek", "Italian"];

/// Asks for a summary of the conversation.
#[prompt]
fn summary() -> &'static str {
    "Summarize this conversation in three sentences."
}

/// Translates a text.
#[prompt]
fn translate(
    text: String,
    /** the language of the translation */
    #[arg(complete = languages)]
    language: String,
) -> String {
    format!("Translate into {language}: {text}")
}

/// Completes the name of a language. A completer is a handler: it can be async, and take the state.
fn languages(CompletionRequest { value, .. }: CompletionRequest) -> Vec<String> {
    let names = LANGUAGES.iter().filter(|name| name.starts_with(&value));
    names.map(|name| (*name).to_owned()).collect()
}

/// Asks for a comparison of the logo with the rules. Messages can have images and resources, and both roles.
#[prompt]
fn review_logo() -> Vec<PromptMessage> {
    let logo = "<svg xmlns='http://www.w3.org/2000/svg'><circle r='8'/></svg>";
    let rules = ResourceContents::text("rules:///logo", "One colour, no text.")
        .with_mime_type("text/plain");
    vec![
        PromptMessage::user(image(logo, "image/svg+xml")),
        PromptMessage::user(ContentBlock::resource(rules)),
        PromptMessage::user("Does the logo follow the rules?"),
        PromptMessage::assistant("I check each rule."),
    ]
}

/// Words of a language. The variable of the URI is completed as an argument of a prompt is.
#[resource("words:///{language}")]
fn words(language: String) -> Option<String> {
    LANGUAGES
        .contains(&&*language)
        .then(|| format!("Words of {language}: .."))
}

/// Adds a prompt while the server runs. Connected clients are notified, and list the prompts again.
#[tool]
fn add_prompt(
    /** the name of the prompt */
    name: String,
    text: String,
    server: Server,
) -> Result<String, HandlerError> {
    server
        .prompts()
        .add(Prompt::new(&name, move || text.clone()))?;
    Ok(format!("added the prompt {name}"))
}

#[tokio::main]
async fn main() -> Result<(), mcp_sdk::Error> {
    let server = Server::builder("translator", "1.0.0")
        .prompts([
            summary::prompt(),
            translate::prompt(),
            review_logo::prompt(),
        ])
        .resource(words::resource().complete("language", languages))
        .tool(add_prompt::tool());
    Ok(mcp_sdk::stdio::serve(server).await?)
}
