//! The attributes `#[tool]`, `#[prompt]` and `#[resource]` of `mcp-server`, and `#[tools]`, `#[prompts]` and `#[resources]` for
//! methods.
//!
//! Use them through `mcp_server`, which re-exports them: the expansion refers to that crate only.
//! The annotated function does not change, so other functions and tests can call it. The macro adds
//! a type of the same name, whose method `tool()`, `prompt()` or `resource()` returns the item to
//! register: `add::tool()` for the function `add`. A `use` of the function imports both. The module
//! of the function cannot contain a module or type of the same name.

mod expand;
mod facade;
mod function;
mod methods;
mod options;
mod text;

use proc_macro::TokenStream;

use crate::options::Kind;

/// Turns a function into a tool. Doc comments describe the tool and its parameters.
///
/// ```
/// use mcp_server::{Ctx, Server, State, tool};
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
///     /// Maximum number of users to return.
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
/// let server = Server::builder("calc", "1.0.0")
///     .state(vec!["ada".to_owned(), "alan".to_owned()])
///     .tools([add::tool(), find::tool()]);
///
/// assert_eq!(add(1, 2), 3);
/// # let _ = server;
/// ```
///
/// # Parameters
///
/// Each parameter is an argument of the tool. The parameter's type implements `Deserialize` and `JsonSchema`. A parameter of type
/// `Option<T>` is an optional argument. The doc comment of the parameter is the description that the model reads.
///
/// | Attribute | Meaning |
/// | --- | --- |
/// | `#[arg(default = expr)]` | the value if the argument is absent; without `= expr`, `Default` |
/// | `#[arg(rename = "name")]` | its name in the protocol |
/// | `#[serde(..)]`, `#[schemars(..)]` | as on the field of a struct |
/// | `#[arg]` | an argument, although the name of its type is that of an extractor |
/// | `#[extract]` | not an argument: a type that implements `FromCall` |
///
/// `Ctx`, `State<T>`, `Args<T>`, `Ask<T>`, `Server<S>` and `Auth` are extractors without `#[extract]`. All other extractors need
/// `#[extract]`, including `Option<Ask<T>>` and `Result<Ask<T>, HandlerError>`. A function has at most eight parameters. All
/// arguments together count as one parameter.
///
/// # Options
///
/// `name = ".."` (1 to 128 characters out of `A-Z a-z 0-9 _ - .`), `title = ".."`, `description = ".."` (instead of the doc
/// comment), `icon = "uri"`; `meta = expr`, the `_meta` of the definition, of type `mcp_server::types::Meta`;
/// `scope = "word word"`, the scopes that a request needs to call the tool; `blocking`, which runs the function on a separate
/// thread because it blocks; `task` or `task = "required"`, which lets calls continue as tasks; `detachable` and `resumable`, for
/// tools with `task`; and the hints `read_only`, `destructive`, `idempotent` and `open_world`, each with `= false` for the
/// opposite.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::attribute(Kind::Tool, options.into(), &item.into()).into()
}

/// Turns the methods of an `impl` block that have `#[tool]` into tools. The tools share one value
/// of the type.
///
/// ```
/// use std::sync::atomic::{AtomicI64, Ordering};
///
/// use mcp_server::{Server, tools};
///
/// struct Counter(AtomicI64);
///
/// #[tools]
/// impl Counter {
///     /// Adds to the counter.
///     #[tool]
///     async fn count(&self, /** how much */ by: i64) -> i64 {
///         self.0.fetch_add(by, Ordering::Relaxed) + by
///     }
///
///     /// Returns the counter.
///     #[tool(read_only)]
///     fn value(&self) -> i64 {
///         self.0.load(Ordering::Relaxed)
///     }
/// }
///
/// let counter = Counter(AtomicI64::new(0));
/// let server = Server::builder("counter", "1.0.0").tools(counter.tools());
/// # let _ = server;
/// ```
///
/// The attribute adds the method `tools(self) -> Vec<Tool<S>>` to the type. A second `impl` block needs another name for this
/// method: `#[tools(name = more_tools)]`. Methods can have `#[cfg]`. Concurrent calls share the value, so the type must be
/// `Send`, `Sync` and `'static`, and each method with `#[tool]` takes `&self`. For the other parameters, the return type and the
/// options, the rules of [`macro@tool`] apply. Methods without `#[tool]` are not changed. `#[tool]` on a method needs no import.
#[proc_macro_attribute]
pub fn tools(options: TokenStream, item: TokenStream) -> TokenStream {
    methods::attribute(Kind::Tool, &options.into(), &item.into()).into()
}

/// Turns the methods of an `impl` block that have `#[prompt]` into prompts, as [`macro@tools`] does for tools.
///
/// ```
/// use mcp_server::{Server, prompts, tools};
///
/// #[derive(Clone)]
/// struct Reviews {
///     language: String,
/// }
///
/// #[tools]
/// impl Reviews {
///     /// Returns the language of the project.
///     #[tool]
///     fn language(&self) -> String {
///         self.language.clone()
///     }
/// }
///
/// #[prompts]
/// impl Reviews {
///     /// Asks for a review.
///     #[prompt]
///     fn review(&self, code: String) -> String {
///         format!("Review this {}:\n{code}", self.language)
///     }
/// }
///
/// let reviews = Reviews { language: "Rust".to_owned() };
/// let server = Server::builder("reviews", "1.0.0").tools(reviews.clone().tools()).prompts(reviews.prompts());
/// # let _ = server;
/// ```
///
/// The attribute adds the method `prompts(self) -> Vec<Prompt<S>>` to the type. A type with tools and prompts has one `impl`
/// block for the tools and one for the prompts. If both change the same data, put the data into an `Arc`, which all clones of the
/// value share.
#[proc_macro_attribute]
pub fn prompts(options: TokenStream, item: TokenStream) -> TokenStream {
    methods::attribute(Kind::Prompt, &options.into(), &item.into()).into()
}

/// Turns the methods of an `impl` block that have `#[resource]` into resources, as [`macro@tools`] does for tools.
///
/// ```
/// use std::collections::HashMap;
///
/// use mcp_server::{Server, resources};
///
/// struct Notes(HashMap<String, String>);
///
/// #[resources]
/// impl Notes {
///     /// One note.
///     #[resource("notes://{name}")]
///     async fn note(&self, name: String) -> Option<String> {
///         self.0.get(&name).cloned()
///     }
/// }
///
/// let notes = Notes(HashMap::new());
/// let server = Server::builder("notes", "1.0.0").resources(notes.resources());
/// # let _ = server;
/// ```
///
/// The attribute adds the method `resources(self) -> Vec<Resource<S>>` to the type.
#[proc_macro_attribute]
pub fn resources(options: TokenStream, item: TokenStream) -> TokenStream {
    methods::attribute(Kind::Resource, &options.into(), &item.into()).into()
}

/// Turns a function into a prompt. Its arguments are text, and it returns text, messages or a
/// `GetPromptResult`.
///
/// ```
/// use mcp_server::{CompletionRequest, Server, prompt};
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
/// let server = Server::builder("reviews", "1.0.0").prompt(review::prompt());
/// # let _ = server;
/// ```
///
/// The rules for the parameters of [`macro@tool`] apply, but arguments are read from text. Their types can be `String`, numbers,
/// other types with the schema of a number, and fieldless enums. A parameter of another type that implements `FromStr` needs
/// `#[arg(parse)]`. Each of these types can be inside an `Option`. `#[arg(complete = function)]` sets the completer of an
/// argument. Options are `name`, `title`, `description`, `icon` and `meta`.
#[proc_macro_attribute]
pub fn prompt(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::attribute(Kind::Prompt, options.into(), &item.into()).into()
}

/// Turns a function into a resource, or into a resource template if the URI has variables.
///
/// ```
/// use mcp_server::{Server, resource};
///
/// /// The readme of the project.
/// #[resource("project:///readme", mime = "text/markdown")]
/// fn readme() -> &'static str {
///     "# Read me"
/// }
///
/// /// A user's profile; `None` means that the user does not exist.
/// #[resource("users://{name}{?lang}", title = "Profile")]
/// fn profile(name: String, lang: Option<String>) -> Option<String> {
///     (name == "ada").then(|| format!("ada ({})", lang.unwrap_or_default()))
/// }
///
/// let server = Server::builder("users", "1.0.0").resources([readme::resource(), profile::resource()]);
/// # let _ = server;
/// ```
///
/// Each parameter that is not an extractor receives the variable of the URI template (RFC 6570) that has the parameter's name.
/// Parameters are read from text as for [`macro@prompt`]. A variable that may be absent needs a parameter of type `Option<T>`.
/// `#[arg(complete = function)]` sets the completer of a variable. The first option is the URI. The other options are `name`,
/// `title`, `description`, `mime`, `icon` and `meta`.
#[proc_macro_attribute]
pub fn resource(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::attribute(Kind::Resource, options.into(), &item.into()).into()
}

macro_rules! of_facade {
    ($($name:ident = $attribute:ident;)*) => { $(
        #[doc = concat!("The attribute [`macro@", stringify!($attribute), "`] for programs that depend on `mcp-sdk`.")]
        #[proc_macro_attribute]
        pub fn $name(options: TokenStream, item: TokenStream) -> TokenStream {
            facade::redirect($attribute(options, item).into()).into()
        }
    )* };
}

of_facade! {
    sdk_tool = tool;
    sdk_tools = tools;
    sdk_prompt = prompt;
    sdk_prompts = prompts;
    sdk_resource = resource;
    sdk_resources = resources;
}
