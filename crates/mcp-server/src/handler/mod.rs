//! Handlers: functions with extractors, type-erased at registration.

pub(crate) mod ask;
pub(crate) mod call;
pub(crate) mod ctx;
pub(crate) mod form;
pub(crate) mod output;
pub(crate) mod spec;

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use mcp_protocol::Reply;

use crate::Spec;
use crate::handler::call::{Call, Extraction, FromCall};
use crate::handler::output::{Finish, IntoOutput, Kind};

/// A function or closure, sync or async, whose parameters are extractors and whose return type
/// converts to the result of a tool, prompt or resource.
///
/// `M` distinguishes the signatures of functions and is always inferred.
#[diagnostic::on_unimplemented(
    message = "this function cannot be a handler",
    label = "not a handler",
    note = "its parameters must be extractors (`Args<T>`, `State<T>`, `Ctx`, ..), at most eight",
    note = "its return type must fit: text, numbers, `Json<T>`, content, or a `Result` of these",
    note = "an async handler's future must be `Send`: hold no `Rc`, `RefCell` or lock guard across `.await`"
)]
pub trait Handler<K: Kind, S, M>: Clone + Send + Sync + 'static {
    /// Whether a parameter may keep the context of the call.
    #[doc(hidden)]
    const KEEPS_CONTEXT: bool = true;

    /// Calls the handler. With `blocking`, a sync function runs on a separate thread.
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

/// Marks functions that return their result.
#[derive(Debug)]
#[non_exhaustive]
pub struct Returns;

/// Marks functions that return a future of their result.
#[derive(Debug)]
#[non_exhaustive]
pub struct Awaits;

/// Whether asynchronous parameters are polled concurrently: on the stateless revision, their input
/// requests then share one round trip.
fn together(call: &Call<'_>) -> bool {
    call.context.rules().stateless
}

/// Waits for the parameters, in sequence or concurrently, until one ends the call.
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
            reason = "type parameters double as variables, and there may be none"
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
                let (handler, together) = (self.clone(), together(call));
                match ($($param,)*) {
                    ($(Extraction::Ready($param),)*) if blocking => Reply::Blocking(Box::new(
                        move || finish.finish(handler($($param),*).into_output()),
                    )),
                    ($(Extraction::Ready($param),)*) => {
                        Reply::Ready(finish.finish(handler($($param),*).into_output()))
                    }
                    ($($param,)*) => Reply::Pending(Box::pin(async move {
                        gather!(together; $($param)*);
                        $(let $param = match $param.into_result() {
                            Ok(value) => value,
                            Err(error) => return finish.finish(Err(error)),
                        };)*
                        finish.finish(handler($($param),*).into_output())
                    })),
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
            reason = "type parameters double as variables, and there may be none"
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
