//! Handlers: functions whose parameters are extractors. An extractor creates one parameter of the
//! handler from the call. Registration erases the type of the handler.

pub(crate) mod arguments;
pub(crate) mod ask;
pub(crate) mod ctx;
pub(crate) mod elicit;
mod extractors;
pub(crate) mod layered;
pub(crate) mod media;
pub(crate) mod output;
pub(crate) mod server;
pub(crate) mod spec;
pub(crate) mod text;

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use mcp_protocol::{BoxFuture, Outcome, Principal, Reply, RequestContext, log_panics};
use tracing::Instrument as _;

pub use self::extractors::{Args, Argument, FromState, State};
use crate::handler::output::{Finish, IntoOutput, Kind};
use crate::handler::server::CallServer;
use crate::handler::text::Spelling;
use crate::{HandlerError, Spec};

/// A function or closure, sync or async. Its parameters are extractors. Its return type converts to the result of a tool, prompt,
/// resource, completion or resource list.
///
/// `K` is the kind of handler, for example [`ForTool`](crate::ForTool), and `S` is the state of the
/// server. `M` distinguishes the signatures of functions and is always inferred.
#[diagnostic::on_unimplemented(
    message = "this function cannot be a handler",
    label = "not a handler",
    note = "its parameters must be extractors (`Args<T>`, `State<T>`, `Ctx`, ..), at most eight",
    note = "`Args<T>` needs `T: Deserialize + JsonSchema`",
    note = "its return type must convert to the result: text, numbers, `Json<T>`, content, or a `Result` of these",
    note = "an async handler's future must be `Send`: hold no `Rc` or lock guard across `.await`"
)]
pub trait Handler<K: Kind, S, M>: Clone + Send + Sync + 'static {
    /// Whether a parameter may keep the context of the call.
    #[doc(hidden)]
    const KEEPS_CONTEXT: bool = true;

    /// Calls the handler. If `blocking` is `true`, a sync function runs on a separate thread. For an async function, `blocking`
    /// has no effect.
    fn call(&self, call: &Call<'_>, state: &S, blocking: bool, finish: K::Finish) -> Reply;

    /// Collects the schemas and other parts of the definition from the types.
    fn describe(spec: &mut Spec);
}

/// A type-erased handler.
pub(crate) type Erased<K> = Arc<dyn Fn(&Call<'_>, <K as Kind>::Finish) -> Reply + Send + Sync>;

pub(crate) fn erase<K: Kind, S: Send + Sync + 'static, M>(
    handler: impl Handler<K, S, M>,
    state: S,
    blocking: bool,
) -> Erased<K> {
    Arc::new(move |call, finish| handler.call(call, &state, blocking, finish))
}

/// Like [`erase`], for a prompt or a URI template, whose arguments are text.
pub(crate) fn erase_text<K: Kind, S: Send + Sync + 'static, M>(
    handler: impl Handler<K, S, M>,
    spelling: Spelling,
    state: S,
) -> Erased<K> {
    let mut spec = Spec::default();
    describe(&handler, &mut spec);
    text::reading::<K>(&spec, spelling, erase(handler, state, false))
}

fn describe<K: Kind, S, M, H: Handler<K, S, M>>(_: &H, spec: &mut Spec) {
    H::describe(spec);
}

/// A marker type for functions that return their result directly.
#[derive(Debug)]
#[non_exhaustive]
pub struct Returns;

/// A marker type for functions that return a future of their result.
#[derive(Debug)]
#[non_exhaustive]
pub struct Awaits;

/// Returns whether asynchronous parameters are polled concurrently. This is the case on the stateless revision, so that their
/// input requests share one round trip.
fn together(call: &Call<'_>) -> bool {
    call.context.rules().stateless
}

/// Waits for the parameters, in sequence or concurrently. Stops early if a parameter ends the call.
macro_rules! gather {
    ($together:expr; $($param:ident)*) => {
        $(let mut $param = $param;)*
        poll_fn(|cx| {
            let mut waits = false;
            $(
                if $param.poll(cx).is_pending() {
                    if !$together {
                        return Poll::Pending;
                    }
                    waits = true;
                } else if $param.is_end() {
                    return Poll::Ready(());
                }
            )*
            if waits { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
    };
}

macro_rules! handlers {
    ($($param:ident)*) => {
        #[allow(
            non_snake_case,
            unused_variables,
            unreachable_patterns,
            unused_mut,
            reason = "each parameter of the macro names a type and a variable, and there may be none"
        )]
        impl<K, S, F, R, M, $($param,)*> Handler<K, S, (Returns, M, $($param,)*)> for F
        where
            K: Kind,
            F: Fn($($param),*) -> R + Clone + Send + Sync + 'static,
            R: IntoOutput<K, M>,
            $($param: FromCall<S>,)*
        {
            const KEEPS_CONTEXT: bool = false $(|| <$param as FromCall<S>>::KEEPS_CONTEXT)*;

            fn call(&self, call: &Call<'_>, state: &S, blocking: bool, finish: K::Finish) -> Reply {
                $(let $param = match $param::from_call(call, state) {
                    Extraction::End(error) => return Reply::Ready(finish.finish(Err(error))),
                    extracted => extracted,
                };)*
                match ($($param,)*) {
                    ($(Extraction::Ready($param),)*) if blocking => {
                        let handler = self.clone();
                        Reply::Blocking(Box::new(move || {
                            finish.finish(handler($($param),*).into_output())
                        }))
                    }
                    ($(Extraction::Ready($param),)*) => {
                        Reply::Ready(finish.finish(self($($param),*).into_output()))
                    }
                    ($($param,)*) => {
                        let (handler, together) = (self.clone(), together(call));
                        Reply::Pending(Box::pin(async move {
                            gather!(together; $($param)*);
                            $(let $param = match $param.into_result() {
                                Ok(value) => value,
                                Err(error) => return finish.finish(Err(error)),
                            };)*
                            finish.finish(handler($($param),*).into_output())
                        }))
                    }
                }
            }

            fn describe(spec: &mut Spec) {
                $($param::describe(spec);)*
                R::describe(spec);
            }
        }

        #[allow(
            non_snake_case,
            unused_variables,
            unreachable_patterns,
            unused_mut,
            reason = "each parameter of the macro names a type and a variable, and there may be none"
        )]
        impl<K, S, F, R, O, M, $($param,)*> Handler<K, S, (Awaits, M, $($param,)*)> for F
        where
            K: Kind,
            F: Fn($($param),*) -> R + Clone + Send + Sync + 'static,
            R: Future<Output = O> + Send + 'static,
            O: IntoOutput<K, M>,
            $($param: FromCall<S>,)*
        {
            const KEEPS_CONTEXT: bool = false $(|| <$param as FromCall<S>>::KEEPS_CONTEXT)*;

            fn call(&self, call: &Call<'_>, state: &S, _: bool, finish: K::Finish) -> Reply {
                $(let $param = match $param::from_call(call, state) {
                    Extraction::End(error) => return Reply::Ready(finish.finish(Err(error))),
                    extracted => extracted,
                };)*
                match ($($param,)*) {
                    ($(Extraction::Ready($param),)*) => {
                        let future = self($($param),*);
                        Reply::Pending(Box::pin(async move {
                            finish.finish(future.await.into_output())
                        }))
                    }
                    ($($param,)*) => {
                        let (handler, together) = (self.clone(), together(call));
                        Reply::Pending(Box::pin(async move {
                            gather!(together; $($param)*);
                            $(let $param = match $param.into_result() {
                                Ok(value) => value,
                                Err(error) => return finish.finish(Err(error)),
                            };)*
                            finish.finish(handler($($param),*).await.into_output())
                        }))
                    }
                }
            }

            fn describe(spec: &mut Spec) {
                $($param::describe(spec);)*
                O::describe(spec);
            }
        }
    };
}

handlers!();
handlers!(A1);
handlers!(A1 A2);
handlers!(A1 A2 A3);
handlers!(A1 A2 A3 A4);
handlers!(A1 A2 A3 A4 A5);
handlers!(A1 A2 A3 A4 A5 A6);
handlers!(A1 A2 A3 A4 A5 A6 A7);
handlers!(A1 A2 A3 A4 A5 A6 A7 A8);

/// The call for which an extractor creates a parameter.
#[non_exhaustive]
pub struct Call<'a> {
    /// The arguments as JSON text; an object for tools, prompts and resource templates.
    pub arguments: &'a str,
    /// The context of the request.
    pub context: RequestContext,
    pub(crate) server: &'a dyn CallServer,
    /// The reason why the arguments do not match their schema; `None` if they match.
    pub(crate) problem: Option<&'a str>,
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("arguments", &self.arguments)
            .field("context", &self.context)
            .finish_non_exhaustive()
    }
}

impl Call<'_> {
    /// Runs a handler in the span of the request: `mcp.request` with the fields `method`, `target`, `subject` and `session`.
    pub(crate) fn run<F>(
        &self,
        handler: &(dyn Fn(&Call<'_>, F) -> Reply + Send + Sync),
        method: &str,
        target: &str,
        finish: F,
    ) -> Reply {
        let span = self.span(method, target);
        if span.is_disabled() {
            return handler(self, finish);
        }
        match span.in_scope(|| log_panics(|| handler(self, finish))) {
            Reply::Pending(mut future) => Reply::Pending(Box::pin(
                poll_fn(move |cx| log_panics(|| future.as_mut().poll(cx))).instrument(span),
            )),
            Reply::Blocking(work) => {
                Reply::Blocking(Box::new(move || span.in_scope(|| log_panics(work))))
            }
            reply => reply,
        }
    }

    /// Returns the outcome of a call whose arguments are not valid, and logs the problem in the span of the request.
    #[cold]
    pub(crate) fn refuse<O>(
        &self,
        problem: String,
        method: &str,
        target: &str,
        finish: impl Finish<O>,
    ) -> Outcome {
        let refuse = || finish.finish(Err(HandlerError::arguments(problem)));
        self.span(method, target).in_scope(refuse)
    }

    // Inlined into `run`: returning the span costs instructions in each call.
    #[inline]
    fn span(&self, method: &str, target: &str) -> tracing::Span {
        let create = || {
            let session = self.context.session();
            let subject = self.context.principal().map(Principal::user);
            let session = (!session.revision().is_stateless()).then(|| session.number());
            tracing::info_span!("mcp.request", method, target, subject, session)
        };
        #[cfg(feature = "log")]
        return crate::span::request_span(&self.context, create);
        #[cfg(not(feature = "log"))]
        create()
    }
}

impl<'a> Call<'a> {
    pub(crate) fn new(
        arguments: &'a str,
        context: RequestContext,
        server: &'a dyn CallServer,
    ) -> Self {
        Self {
            arguments,
            context,
            server,
            problem: None,
        }
    }
}

/// An extractor: a type that can be a parameter of a handler.
///
/// Implement this trait to pass custom data to handlers. An extractor can end the call before the handler runs, with a
/// [`HandlerError`]. An extractor can be asynchronous: see [`Extraction`]. In functions with `#[tool]`, custom extractors need
/// the attribute `#[extract]`.
///
/// ```
/// use mcp_server::{Call, Extraction, FromCall, Server, tool};
///
/// /// The user whose data a handler may see.
/// struct User(String);
///
/// impl<S> FromCall<S> for User {
///     fn from_call(call: &Call<'_>, _state: &S) -> Extraction<Self> {
///         let user = call.context.principal().map(|principal| principal.user().to_owned());
///         // Over stdio there is no principal: the caller is the user of this process.
///         Extraction::Ready(Self(user.unwrap_or_else(|| "local".to_owned())))
///     }
/// }
///
/// /// Names the caller.
/// #[tool]
/// fn who(#[extract] User(user): User) -> String {
///     user
/// }
/// # let _ = Server::builder("users", "1.0.0").tool(who::tool());
/// ```
///
/// To wrap another extractor, convert its [`Extraction`] with [`map`](Extraction::map).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a handler on a server with state `{S}`",
    label = "not an extractor for this server",
    note = "a handler takes `Args<T>`, `State<T>`, `Ctx` and your own types that implement `FromCall<S>`",
    note = "for `State<T>`: give the server its state with `Server::builder(..).state(value)` before adding handlers"
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
    /// The parameter is available now.
    Ready(T),
    /// The parameter is available when the future completes, for example after a response of the
    /// user.
    Later(BoxFuture<'static, Result<T, HandlerError>>),
    /// The call ends with this error; the handler does not run.
    End(HandlerError),
}

impl<T: Send + 'static> Extraction<T> {
    /// Converts the parameter when it is available.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U + Send + 'static) -> Extraction<U> {
        match self {
            Self::Ready(value) => Extraction::Ready(convert(value)),
            Self::Later(future) => {
                Extraction::Later(Box::pin(async move { future.await.map(convert) }))
            }
            Self::End(error) => Extraction::End(error),
        }
    }
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
                "the extraction of a handler parameter has not finished",
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
