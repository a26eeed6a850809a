//! Middleware around the handler of one tool, prompt or resource.

use std::sync::Arc;

use mcp_jsonrpc::{is_member, members};
use mcp_protocol::middleware::{Layers, Request, SharedMiddleware};
use mcp_protocol::{BoxFuture, Outcome, guarded};
use serde_json::json;

use super::output::Kind;
use super::{Call, Erased};

/// Returns a handler that runs `run` inside the middleware. The middleware receives a request with two params: `arguments`, and
/// the member that `target` returns, which is the name or URI.
pub(crate) fn layered<K: Kind>(
    middleware: Vec<SharedMiddleware>,
    run: Erased<K>,
    method: &'static str,
    target: impl Fn(&K::Finish) -> (&'static str, String) + Send + Sync + 'static,
) -> Erased<K> {
    let Some(layers) = Layers::new(middleware, run_blocking) else {
        return run;
    };
    Arc::new(move |call: &Call<'_>, finish: K::Finish| {
        let (member, name) = target(&finish);
        let params = format!(
            "{{{}:{},\"arguments\":{}}}",
            json!(member),
            json!(name),
            call.arguments
        );
        let exchange = call.context.exchange();
        let request = mcp_jsonrpc::Request::new(exchange.id().clone(), method, Some(&params));
        let revision = call.context.session().revision();
        let request = Request::inbound(&request, Some(revision), exchange.link());
        let mut context = call.context.clone();
        context.add_layers(&layers);
        let (run, server) = (Arc::clone(&run), call.server.to_boxed());
        layers.inbound(request, move |request| {
            let mut all = members(request.params().unwrap_or("{}")).filter_map(Result::ok);
            let arguments = all.find(|(member, _)| is_member(member, "arguments"));
            let arguments = arguments.map_or("{}", |(_, arguments)| arguments);
            run(&Call::new(arguments, context, &*server), finish)
        })
    })
}

/// Runs a blocking handler inside the middleware. Runs it on the tokio runtime or, without a runtime, on a separate thread.
pub(crate) fn run_blocking(
    work: Box<dyn FnOnce() -> Outcome + Send>,
) -> BoxFuture<'static, Outcome> {
    use mcp_jsonrpc::ErrorObject;
    let work = move || guarded(work).and_then(|outcome| outcome);
    #[cfg(feature = "tasks")]
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        let done = runtime.spawn_blocking(work);
        return Box::pin(async move {
            done.await
                .unwrap_or_else(|_| Err(ErrorObject::internal("the runtime stopped the handler")))
        });
    }
    let (done, outcome) = oneshot::channel();
    let thread = std::thread::Builder::new().spawn(move || done.send(work()));
    Box::pin(async move {
        match thread {
            Ok(_) => outcome.await,
            Err(_) => Err(ErrorObject::internal(
                "no thread could be started; retry later",
            )),
        }
    })
}

/// A channel that carries one outcome.
mod oneshot {
    use std::pin::Pin;
    use std::sync::{Arc, Mutex};
    use std::task::{Context, Poll, Waker};

    use mcp_protocol::{Outcome, lock};

    #[derive(Default)]
    struct State {
        outcome: Option<Outcome>,
        waker: Option<Waker>,
    }

    pub(super) struct OutcomeSender(Arc<Mutex<State>>);
    pub(super) struct OutcomeReceiver(Arc<Mutex<State>>);

    pub(super) fn channel() -> (OutcomeSender, OutcomeReceiver) {
        let state = Arc::<Mutex<State>>::default();
        (OutcomeSender(Arc::clone(&state)), OutcomeReceiver(state))
    }

    impl OutcomeSender {
        pub(super) fn send(self, outcome: Outcome) {
            let mut state = lock(&self.0);
            state.outcome = Some(outcome);
            let waker = state.waker.take();
            drop(state);
            waker.into_iter().for_each(Waker::wake);
        }
    }

    impl Future for OutcomeReceiver {
        type Output = Outcome;

        fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
            let mut state = lock(&self.0);
            match state.outcome.take() {
                Some(outcome) => Poll::Ready(outcome),
                None => {
                    state.waker = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        }
    }
}
