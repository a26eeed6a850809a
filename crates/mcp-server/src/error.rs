//! Errors of handlers and of registration.

use std::error::Error;
use std::fmt;

use mcp_jsonrpc::{DecodeError, ErrorCode, ErrorObject};
use mcp_protocol::AskError;
use mcp_types::{CallToolResult, ContentBlock, JsonObject};

/// The error of a handler. Any [`std::error::Error`] converts to it with `?`.
///
/// The error of a tool is a *result* with `isError`, which the model can read and react to; only
/// [`protocol`](Self::protocol), or a conversion from a JSON-RPC error, makes it a JSON-RPC error. For
/// prompts and resources every error is a JSON-RPC error.
///
/// `HandlerError` does not implement `std::error::Error`, so that `?` can convert every type that does.
/// Types that only convert to a boxed error, such as `anyhow::Error`, may be the error type of a
/// handler; see [`from_boxed`](Self::from_boxed) to convert them to this type.
///
/// ```
/// use mcp_server::{ErrorCode, ErrorObject, HandlerError, tool};
///
/// /// Reads a note.
/// #[tool]
/// async fn read(/** from 1 */ number: u32) -> Result<String, HandlerError> {
///     if number == 0 {
///         return Err(HandlerError::arguments("/number: expected at least 1"));
///     }
///     if number > 1_000 {
///         // For programs, which read the code.
///         return Err(ErrorObject::new(ErrorCode(1404), "there is no such note").into());
///     }
///     // The model reads the text of the error.
///     Ok(std::fs::read_to_string(format!("{number}.txt"))?)
/// }
/// # let _ = read::tool::<()>();
/// ```
#[derive(Debug)]
pub struct HandlerError {
    kind: Box<ErrorKind>,
    /// Texts of the error's sources (see `std::error::Error::source`). They are written to the log and not sent to the client.
    sources: Vec<String>,
}

/// Maximum number of sources of an error that are logged.
const MAX_SOURCES: usize = 16;

#[derive(Debug)]
pub(crate) enum ErrorKind {
    Message(String),
    Content(Vec<ContentBlock>),
    Arguments(String),
    Protocol(ErrorObject),
    /// Input requests for the client. The client answers them and repeats the call.
    InputRequired(JsonObject),
}

impl HandlerError {
    fn of_kind(kind: ErrorKind) -> Self {
        Self {
            kind: Box::new(kind),
            sources: Vec::new(),
        }
    }

    /// Creates an error with a message for the model.
    pub fn new(message: impl Into<String>) -> Self {
        Self::of_kind(ErrorKind::Message(message.into()))
    }

    /// Creates an error with content blocks.
    pub fn content(content: Vec<ContentBlock>) -> Self {
        Self::of_kind(ErrorKind::Content(content))
    }

    /// Creates an error for invalid arguments. `problem` names the invalid argument and the expected value.
    pub fn arguments(problem: impl Into<String>) -> Self {
        Self::of_kind(ErrorKind::Arguments(problem.into()))
    }

    /// Creates an error for arguments that cannot be decoded.
    #[cold]
    #[inline(never)]
    pub(crate) fn from_decode(error: &DecodeError) -> Self {
        Self::arguments(error.to_string())
    }

    /// Creates a JSON-RPC error, for an invalid request or a request that the server cannot serve
    /// at all.
    pub fn protocol(error: ErrorObject) -> Self {
        Self::of_kind(ErrorKind::Protocol(error))
    }

    /// Converts a boxed error, or an error that converts to a boxed error, such as `anyhow::Error`. `?` does not convert errors
    /// of these types. Write `.map_err(HandlerError::from_boxed)?`.
    pub fn from_boxed(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::of(&*error.into())
    }

    fn of(error: &(dyn Error + 'static)) -> Self {
        if let Some(object) = error.downcast_ref::<ErrorObject>() {
            return Self::protocol(object.clone());
        }
        match error.downcast_ref::<AskError>() {
            Some(AskError::Undeclared(object)) => Self::protocol(object.clone()),
            _ => {
                let sources = std::iter::successors(error.source(), |&error| error.source());
                let sources = sources.take(MAX_SOURCES).map(ToString::to_string);
                Self {
                    sources: sources.collect(),
                    ..Self::new(error.to_string())
                }
            }
        }
    }

    /// Logs the error with its sources, in the span of the request. `is_internal` says whether the client receives the error with
    /// code -32603 (internal error).
    #[cold]
    pub(crate) fn log(&self, is_internal: bool) {
        let sources = self.sources.join(": ");
        // The client does not receive the sources, so the operator must see them.
        let is_hidden = is_internal || !sources.is_empty();
        match &*self.kind {
            ErrorKind::Arguments(problem) if !is_internal => {
                tracing::debug!(problem, "the arguments are not valid")
            }
            _ if is_hidden => tracing::warn!(error = %self, sources, "a handler failed"),
            _ => tracing::info!(error = %self, "a handler returned an error"),
        }
    }

    /// Returns whether the client receives the error with code -32603 (internal error). `is_tool` says whether a tool handler
    /// returned the error.
    pub(crate) fn is_internal(&self, is_tool: bool) -> bool {
        match &*self.kind {
            ErrorKind::Protocol(error) => error.code == ErrorCode::INTERNAL_ERROR,
            ErrorKind::Message(_) | ErrorKind::Content(_) => !is_tool,
            ErrorKind::Arguments(_) | ErrorKind::InputRequired(_) => false,
        }
    }

    /// Creates the error with which a handler ends a round trip. `requests` are the input requests for the client.
    pub(crate) fn input_required(requests: JsonObject) -> Self {
        Self::of_kind(ErrorKind::InputRequired(requests))
    }

    /// Returns whether the handler ended with input requests.
    pub(crate) fn is_input_required(&self) -> bool {
        matches!(*self.kind, ErrorKind::InputRequired(_))
    }

    /// Returns the input requests if the handler ended with input requests. Otherwise returns the error.
    pub(crate) fn into_input_requests(mut self) -> Result<JsonObject, Self> {
        match &mut *self.kind {
            ErrorKind::InputRequired(requests) => Ok(std::mem::take(requests)),
            _ => Err(self),
        }
    }

    /// Converts the error of a tool handler to the tool result for the model, or to a JSON-RPC error.
    pub(crate) fn into_tool_result(self) -> Result<CallToolResult, ErrorObject> {
        let content = match *self.kind {
            ErrorKind::Message(message) => vec![ContentBlock::text(message)],
            ErrorKind::Arguments(problem) => {
                vec![ContentBlock::text(format!("invalid arguments: {problem}"))]
            }
            ErrorKind::Content(content) => content,
            ErrorKind::Protocol(error) => return Err(error),
            ErrorKind::InputRequired(_) => return Err(cannot_request_input()),
        };
        Ok(CallToolResult::new(content).with_is_error(true))
    }

    /// Logs the error of a handler, and converts it to a JSON-RPC error. For an error of a tool handler, use
    /// [`into_tool_result`](Self::into_tool_result).
    #[cold]
    pub(crate) fn into_logged_error(self) -> ErrorObject {
        self.log(self.is_internal(false));
        self.into_error()
    }

    /// Converts the error of a handler to a JSON-RPC error. For an error of a tool handler, use
    /// [`into_tool_result`](Self::into_tool_result).
    pub(crate) fn into_error(self) -> ErrorObject {
        match *self.kind {
            ErrorKind::Arguments(problem) => {
                ErrorObject::invalid_params(format!("invalid arguments: {problem}"))
            }
            ErrorKind::Message(message) => ErrorObject::internal(message),
            ErrorKind::Content(_) => ErrorObject::internal("the handler failed"),
            ErrorKind::Protocol(error) => error,
            ErrorKind::InputRequired(_) => cannot_request_input(),
        }
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.kind {
            ErrorKind::Message(message) => f.write_str(message),
            ErrorKind::Content(_) => f.write_str("failed with content"),
            ErrorKind::Arguments(problem) => write!(f, "invalid arguments: {problem}"),
            ErrorKind::Protocol(error) => error.fmt(f),
            ErrorKind::InputRequired(_) => f.write_str("the client must provide input first"),
        }
    }
}

impl<E: Error + 'static> From<E> for HandlerError {
    /// Converts an error. The model reads the text of the error, without its sources. An [`ErrorObject`] stays a JSON-RPC error.
    /// If the client lacks the capability for an input request, the error of this input request also stays a JSON-RPC error.
    fn from(error: E) -> Self {
        Self::of(&error)
    }
}

fn cannot_request_input() -> ErrorObject {
    ErrorObject::internal("this handler cannot request input from the client")
}

/// The error type `E` of a handler that returns `Result<T, E>`. It is [`HandlerError`], or a type that converts to a boxed error,
/// such as any [`std::error::Error`], text, `anyhow::Error` or `eyre::Report`. `M` is always inferred.
///
/// To choose a JSON-RPC error code for a custom error type, implement `IntoHandlerError<Self>` for the custom type. The custom
/// type must not implement `std::error::Error`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a handler",
    note = "use `HandlerError`, text, or an error that converts to `Box<dyn Error + Send + Sync>`, such as `anyhow::Error`; or implement `IntoHandlerError<Self>` for the custom error type"
)]
pub trait IntoHandlerError<M> {
    /// Converts the error to a [`HandlerError`].
    fn into_handler_error(self) -> HandlerError;
}

/// A marker type for the parameter `M` of [`IntoHandlerError`]: the error converts to a boxed error.
#[doc(hidden)]
#[derive(Debug)]
#[non_exhaustive]
pub struct Boxed;

#[diagnostic::do_not_recommend]
impl<E: Into<Box<dyn Error + Send + Sync>>> IntoHandlerError<Boxed> for E {
    fn into_handler_error(self) -> HandlerError {
        HandlerError::from_boxed(self)
    }
}

impl IntoHandlerError<Self> for HandlerError {
    fn into_handler_error(self) -> Self {
        self
    }
}

impl IntoHandlerError<Self> for Box<dyn Error> {
    fn into_handler_error(self) -> HandlerError {
        HandlerError::of(&*self)
    }
}

/// The reason why a tool, prompt or resource cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistrationError(String);

impl RegistrationError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for RegistrationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for RegistrationError {}

/// The reasons why a server cannot be built. The error text lists every problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError(Vec<RegistrationError>);

impl BuildError {
    pub(crate) fn new(problems: Vec<RegistrationError>) -> Self {
        Self(problems)
    }

    /// Returns the problems: first the items that cannot be registered, in the order in which they
    /// were added, then the items whose name or URI is already registered.
    pub fn problems(&self) -> &[RegistrationError] {
        &self.0
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("; ")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl Error for BuildError {}
