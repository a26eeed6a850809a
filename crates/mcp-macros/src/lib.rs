//! The attributes `#[tool]`, `#[prompt]` and `#[resource]` of `mcp-server`.
//!
//! Use them through `mcp_server`, which re-exports them: what they expand to names that crate
//! and nothing else. A function that carries one of them stays the function it is, to be called
//! by other functions and by tests. Beside it, in the namespace of types, stands a type of the
//! same name from which `tools!`, `prompts!` and `resources!` make the thing to register; so an
//! `use` of the function brings both.

mod docs;
mod expand;
mod function;
mod options;
mod template;

use proc_macro::TokenStream;

use crate::options::Kind;

/// Makes a tool from a function: plain parameters, described by their doc comments.
///
/// ```
/// use mcp_server::{Ctx, Server, State, tool, tools};
///
/// /// Adds two numbers.
/// #[tool(read_only)]
/// fn add(/** left */ a: i64, /** right */ b: i64) -> i64 {
///     a + b
/// }
///
/// /// Finds a user by name.
/// #[tool(name = "users.find", title = "Find a user")]
/// async fn find(
///     /// Part of the name.
///     query: String,
///     /// Most users to return.
///     #[arg(default = 10)]
///     limit: u32,
///     State(users): State<Vec<String>>,
///     cx: Ctx,
/// ) -> Result<String, std::io::Error> {
///     cx.progress(1.0, 1.0);
///     let found = users.iter().filter(|user| user.contains(&query));
///     Ok(found.take(limit as usize).cloned().collect::<Vec<_>>().join(", "))
/// }
///
/// let server = Server::new("calc", "1.0.0")
///     .state(vec!["ada".to_owned(), "alan".to_owned()])
///     .tools(tools![add, find]);
///
/// assert_eq!(add(1, 2), 3);
/// # let _ = server;
/// ```
///
/// # Parameters
///
/// A parameter is an argument of the tool: its type implements `Deserialize` and `JsonSchema`,
/// `Option<T>` may be left out, and its doc comment is the description that the model reads.
///
/// | Attribute | Meaning |
/// | --- | --- |
/// | `#[arg(default = expr)]` | the value if it is left out; without `= expr`, `Default` |
/// | `#[arg(rename = "name")]` | its name on the wire |
/// | `#[serde(..)]`, `#[schemars(..)]` | as on the field of a struct |
/// | `#[extract]` | no argument, but any type that implements `FromCall` |
///
/// `Ctx`, `State<T>`, `Args<T>`, `Ask<T>` and `Auth` are known to be no arguments.
///
/// # Options
///
/// `name = ".."` (1 to 128 characters out of `A-Z a-z 0-9 _ - .`), `title = ".."`,
/// `description = ".."` (instead of the doc comment), `icon = "uri"`; `scope = "word word"`,
/// without which a request may not call it; `blocking`, which moves a function that blocks to a
/// thread of its own; `task` or `task = "required"`, with which calls may outlive their request,
/// and for such tools `detachable` and `resumable`; and the hints `read_only`, `destructive`,
/// `idempotent` and `open_world`, each with `= false` for the opposite.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::attribute(Kind::Tool, options.into(), &item.into()).into()
}

/// Makes a prompt from a function. Arguments are text.
///
/// ```
/// use mcp_server::{CompletionRequest, Server, prompt, prompts};
///
/// fn languages(_: CompletionRequest) -> Vec<String> {
///     vec!["Rust".to_owned(), "Ruby".to_owned()]
/// }
///
/// /// Asks for a review.
/// #[prompt]
/// fn review(
///     /// What to review.
///     code: String,
///     #[arg(complete = languages)] language: Option<String>,
/// ) -> String {
///     format!("Review this {}:\n{code}", language.as_deref().unwrap_or("code"))
/// }
///
/// let server = Server::new("reviews", "1.0.0").prompts(prompts![review]);
/// # let _ = server;
/// ```
///
/// Parameters are those of [`macro@tool`], with types that are read from text: `String`,
/// `Option<String>`, fieldless enums. `#[arg(complete = function)]` suggests values. Options are
/// `name`, `title`, `description` and `icon`.
#[proc_macro_attribute]
pub fn prompt(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::attribute(Kind::Prompt, options.into(), &item.into()).into()
}

/// Makes a resource from a function, or with variables in its URI a family of resources.
///
/// ```
/// use mcp_server::{Server, resource, resources};
///
/// /// The readme of the project.
/// #[resource("project:///readme", mime = "text/markdown")]
/// fn readme() -> &'static str {
///     "# Read me"
/// }
///
/// /// A user's profile; `None` says that there is no such user.
/// #[resource("users://{name}{?lang}", title = "Profile")]
/// fn profile(name: String, lang: Option<String>) -> Option<String> {
///     (name == "ada").then(|| format!("ada ({})", lang.unwrap_or_default()))
/// }
///
/// let server = Server::new("users", "1.0.0").resources(resources![readme, profile]);
/// # let _ = server;
/// ```
///
/// Plain parameters are variables of the URI template (RFC 6570), by name; their types are read
/// from text, and `Option<T>` is for those that may be absent. `#[arg(complete = function)]`
/// suggests values. Options are the URI first, then `name`, `title`, `description`, `mime` and
/// `icon`.
#[proc_macro_attribute]
pub fn resource(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::attribute(Kind::Resource, options.into(), &item.into()).into()
}
