//! Calls, and the extractors that handlers take their parameters from.

use std::fmt;
use std::task::{Context, Poll};

use mcp_jsonrpc::decode;
use mcp_protocol::{BoxFuture, RequestContext};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::{HandlerError, Spec};

/// A call of a tool, prompt or resource, as extractors receive it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Call<'a> {
    /// The arguments: the text of a JSON object.
    pub arguments: &'a str,
    /// The context of the request.
    pub context: RequestContext,
}

impl<'a> Call<'a> {
    /// Creates a call.
    pub fn new(arguments: &'a str, context: RequestContext) -> Self {
        Self { arguments, context }
    }
}

/// An extractor: a type that can be a parameter of a handler.
///
/// Implement it to pass custom data to handlers. An extractor may end the call early with a
/// [`HandlerError`], and it may be asynchronous.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a handler on a server with state `{S}`",
    label = "not an extractor for this server",
    note = "a handler takes `Args<T>`, `State<T>`, `Ctx` and your own types that implement `FromCall<S>`",
    note = "for `State<T>`: give the server its state with `Server::new(..).state(value)` before adding handlers"
)]
pub trait FromCall<S>: Sized + Send + 'static {
    /// Whether the extractor keeps the [context](Call::context), for example to send requests,
    /// report progress or read `_meta`. `false` saves work in each call.
    #[doc(hidden)]
    const KEEPS_CONTEXT: bool = true;

    /// Extracts the parameter from the call.
    fn from_call(call: &Call<'_>, state: &S) -> Extraction<Self>;

    /// Adds the parameter to the definition, for example its input schema.
    fn describe(_spec: &mut Spec) {}
}

/// The result of an extraction.
#[expect(clippy::exhaustive_enums, reason = "handlers match all three")]
pub enum Extraction<T> {
    /// The parameter.
    Ready(T),
    /// The parameter will be available later, for example after a response of the user.
    Later(BoxFuture<'static, Result<T, HandlerError>>),
    /// The call ends with this error.
    End(HandlerError),
}

impl<T> Extraction<T> {
    /// Polls until the extraction has finished.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Self::Later(future) = self {
            *self = match future.as_mut().poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(value)) => Self::Ready(value),
                Poll::Ready(Err(error)) => Self::End(error),
            };
        }
        Poll::Ready(())
    }

    pub(crate) fn is_end(&self) -> bool {
        matches!(self, Self::End(_))
    }

    /// Returns the extracted value or the error.
    pub(crate) fn into_result(self) -> Result<T, HandlerError> {
        match self {
            Self::Ready(value) => Ok(value),
            Self::End(error) => Err(error),
            Self::Later(_) => Err(HandlerError::new(
                "a parameter of the handler was not extracted",
            )),
        }
    }
}

impl<T> fmt::Debug for Extraction<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ready(_) => "Ready",
            Self::Later(_) => "Later",
            Self::End(_) => "End",
        })
    }
}

/// The arguments of the call, decoded into `T`. The JSON Schema of `T` is the input schema.
///
/// For invalid arguments the handler is not called; the error names the place and the expected
/// value.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "taken apart in parameter lists")]
pub struct Args<T>(pub T);

impl<S, T: DeserializeOwned + JsonSchema + Send + 'static> FromCall<S> for Args<T> {
    const KEEPS_CONTEXT: bool = false;

    fn from_call(call: &Call<'_>, _state: &S) -> Extraction<Self> {
        match decode(call.arguments) {
            Ok(arguments) => Extraction::Ready(Self(arguments)),
            Err(error) => Extraction::End(HandlerError::from_decode(&error)),
        }
    }

    fn describe(spec: &mut Spec) {
        spec.input::<T>();
    }
}

/// The state of the server, or a part of it.
///
/// `State<T>` works for the state itself and for every `T` that implements [`FromState`].
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "taken apart in parameter lists")]
pub struct State<T>(pub T);

impl<S, T: FromState<S> + Send + 'static> FromCall<S> for State<T> {
    const KEEPS_CONTEXT: bool = false;

    fn from_call(_call: &Call<'_>, state: &S) -> Extraction<Self> {
        Extraction::Ready(Self(T::from_state(state)))
    }
}

/// A type that is part of the server's state.
#[diagnostic::on_unimplemented(
    message = "the server's state `{S}` does not provide `{Self}`",
    label = "missing state",
    note = "call `.state(value)` on the server before adding this handler, or implement `FromState<{S}>` for `{Self}`"
)]
pub trait FromState<S> {
    /// Returns the part.
    fn from_state(state: &S) -> Self;
}

impl<S: Clone> FromState<S> for S {
    fn from_state(state: &S) -> Self {
        state.clone()
    }
}
