//! The extractors of arguments and state, and extractors that may fail.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::arguments::{arguments_error, decode_arguments};
use super::{Call, Extraction, FromCall};
use crate::{HandlerError, Spec};

/// The arguments of the call, decoded into `T`. The JSON Schema of `T` is the input schema.
///
/// If the arguments are invalid, the handler is not called, and the error names the position, as in
/// `/limit`, and the expected value. For a tool the error is a result with `isError`, which the
/// model reads; for a prompt or resource it is a JSON-RPC error.
///
/// ```
/// use mcp_server::{Args, Tool};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Query {
///     /// What to search for.
///     text: String,
///     #[schemars(range(min = 1, max = 100))]
///     limit: Option<u8>,
/// }
///
/// let search = Tool::<()>::new("search", |Args(query): Args<Query>| {
///     format!("{} of at most {} hits", query.text, query.limit.unwrap_or(10))
/// });
/// # let _ = search;
/// ```
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "taken apart in parameter lists")]
pub struct Args<T>(pub T);

impl<S, T: DeserializeOwned + JsonSchema + Send + 'static> FromCall<S> for Args<T> {
    const KEEPS_CONTEXT: bool = false;

    fn from_call(call: &Call<'_>, _state: &S) -> Extraction<Self> {
        if let Some(problem) = call.problem {
            return Extraction::End(HandlerError::arguments(problem));
        }
        match decode_arguments(call.arguments) {
            Ok(arguments) => Extraction::Ready(Self(arguments)),
            Err(error) => Extraction::End(arguments_error::<T>(call.arguments, &error)),
        }
    }

    fn describe(spec: &mut Spec) {
        spec.arguments::<T>();
    }
}

/// A type whose values can be arguments of a call, for the parameters of functions with `#[tool]` or a similar attribute. Every
/// type that implements `JsonSchema` implements this trait. The code that these attributes generate requires `Deserialize`
/// separately.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument",
    label = "not an argument",
    note = "write `#[extract]` before the parameter if it is an extractor, such as an alias of `Ctx`",
    note = "derive `Deserialize` and `JsonSchema` for the type of an argument"
)]
pub trait Argument {}

impl<T: JsonSchema> Argument for T {}

/// The value of any extractor `T`, or its error, for example if arguments cannot be decoded. The
/// handler runs in both cases.
impl<S, T: FromCall<S>> FromCall<S> for Result<T, HandlerError> {
    const KEEPS_CONTEXT: bool = T::KEEPS_CONTEXT;

    fn from_call(call: &Call<'_>, state: &S) -> Extraction<Self> {
        match T::from_call(call, state) {
            Extraction::Ready(value) => Extraction::Ready(Ok(value)),
            Extraction::Later(value) => Extraction::Later(Box::pin(async {
                // Input requests must reach the client.
                match value.await {
                    Err(error) if error.is_input_required() => Err(error),
                    result => Ok(result),
                }
            })),
            Extraction::End(error) => Extraction::Ready(Err(error)),
        }
    }

    fn describe(spec: &mut Spec) {
        T::describe(spec);
        spec.takes_errors = true;
    }
}

/// The value of any extractor `T`, or `None` if it cannot be extracted. The handler runs in both
/// cases.
impl<S, T: FromCall<S>> FromCall<S> for Option<T> {
    const KEEPS_CONTEXT: bool = T::KEEPS_CONTEXT;

    fn from_call(call: &Call<'_>, state: &S) -> Extraction<Self> {
        match Result::<T, HandlerError>::from_call(call, state) {
            Extraction::Ready(value) => Extraction::Ready(value.ok()),
            Extraction::Later(value) => {
                Extraction::Later(Box::pin(async { Ok(value.await?.ok()) }))
            }
            Extraction::End(error) => Extraction::End(error),
        }
    }

    fn describe(spec: &mut Spec) {
        T::describe(spec);
        spec.takes_errors = true;
    }
}

/// The state of the server, or a part of it.
///
/// `T` is the type of the state, or a type that implements [`FromState`] for it. The value is
/// cloned for each call.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// use mcp_server::{FromState, Server, State, Tool};
///
/// #[derive(Clone)]
/// struct App {
///     calls: Arc<AtomicU64>,
///     motto: &'static str,
/// }
///
/// /// A part of the state, for handlers that need nothing else.
/// struct Motto(&'static str);
///
/// impl FromState<App> for Motto {
///     fn from_state(app: &App) -> Self {
///         Self(app.motto)
///     }
/// }
///
/// let count = |State(app): State<App>| app.calls.fetch_add(1, Ordering::Relaxed) + 1;
/// let motto = |State(Motto(text)): State<Motto>| text;
/// let server = Server::builder("app", "1.0.0")
///     .state(App { calls: Arc::default(), motto: "simple" })
///     .tool(Tool::new("count", count))
///     .tool(Tool::new("motto", motto));
/// # let _ = server;
/// ```
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "taken apart in parameter lists")]
pub struct State<T>(pub T);

impl<S, T: FromState<S> + Send + 'static> FromCall<S> for State<T> {
    const KEEPS_CONTEXT: bool = false;

    fn from_call(_call: &Call<'_>, state: &S) -> Extraction<Self> {
        Extraction::Ready(Self(T::from_state(state)))
    }
}

/// A part of the server's state. Implement this trait for the type of the part. [`State`] can then extract the part.
#[diagnostic::on_unimplemented(
    message = "the server's state `{S}` does not provide `{Self}`",
    label = "missing state",
    note = "call `.state(value)` on the builder before adding this handler, or implement `FromState<{S}>` for `{Self}`"
)]
pub trait FromState<S> {
    /// Returns the part, usually a clone.
    fn from_state(state: &S) -> Self;
}

impl<S: Clone> FromState<S> for S {
    fn from_state(state: &S) -> Self {
        state.clone()
    }
}
