//! Middleware and custom messages of a client, against a server of this SDK over a pipe.

use std::future::IntoFuture as _;
use std::pin::Pin;
use std::task::{Context, Poll};

use mcp_client::middleware::{Direction, Middleware, Next, NextNotification, Notification};
use mcp_client::middleware::{PassingRequest, Request as Passing, Response, TowerMiddleware};
use mcp_server::{Json, ServerBuilder};

use crate::prelude::*;

/// Records what passes.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

impl Recorder {
    fn add(&self, direction: Direction, what: &str) {
        let arrow = match direction {
            Direction::Inbound => "<",
            Direction::Outbound => ">",
        };
        self.0.lock().unwrap().push(format!("{arrow} {what}"));
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Middleware for Recorder {
    async fn request(&self, request: Passing, next: Next) -> Response {
        self.add(request.direction(), request.method());
        next.run(request).await
    }

    fn notification(&self, notification: Notification<'_>, next: NextNotification<'_>) {
        self.add(notification.direction(), notification.method());
        next.run(notification);
    }
}

/// A request that the protocol does not have, in both directions.
struct Weigh;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Load {
    grams: f64,
}

impl mcp_types::method::Request for Weigh {
    const METHOD: &'static str = "com.example/weigh";
    type Params = Load;
    type Result = Load;
}

impl mcp_types::method::Notification for Weigh {
    const METHOD: &'static str = "com.example/weighed";
    type Params = Load;
}

fn scales(heard: Arc<Mutex<Vec<f64>>>) -> ServerBuilder {
    Server::builder("scales", "1")
        .method(
            "com.example/weigh",
            async |Args(load): Args<Load>, cx: Ctx| {
                let load = Load {
                    grams: load.grams * 2.0,
                };
                cx.send_notification::<Weigh>(&load);
                Json(load)
            },
        )
        .on_notification("com.example/weighed", move |Args(load): Args<Load>| {
            heard.lock().unwrap().push(load.grams);
        })
        .tool(Tool::new("ask", async |cx: Ctx| {
            let asked = cx.send_request::<Weigh>(&Load { grams: 3.0 }).await;
            match asked {
                Ok(load) => load.grams.to_string(),
                Err(error) => error.to_string(),
            }
        }))
        .tool(Tool::new("form", async |cx: Ctx| {
            let asked = cx.elicit::<Load>("How much?").await;
            asked.is_ok().to_string()
        }))
}

async fn connect(revision: Revision, server: ServerBuilder, builder: ClientBuilder) -> Client {
    let transport = mcp_transport_stdio::in_memory(server);
    let client = builder.revision(revision).connect(transport).await.unwrap();
    assert_eq!(client.revision(), revision);
    client
}

#[tokio::test]
async fn custom_messages_go_in_both_directions() {
    for revision in Revision::ALL {
        let heard = Arc::<Mutex<Vec<f64>>>::default();
        let (told, mut tellings) = tokio::sync::mpsc::channel(8);
        let builder = Client::builder("host", "1")
            .method("com.example/weigh", async |load: Load| {
                Ok(Load {
                    grams: load.grams + 0.5,
                })
            })
            .on_notification("com.example/weighed", move |load: Load| {
                told.try_send(load.grams).unwrap();
            });
        let client = connect(revision, scales(Arc::clone(&heard)), builder).await;
        client.notify::<Weigh>(&Load { grams: 7.0 }).unwrap();
        let load = client.request::<Weigh>(&Load { grams: 1.5 }).await.unwrap();
        assert_eq!(load, Load { grams: 3.0 }, "{revision}");
        assert_eq!(tellings.recv().await, Some(3.0), "{revision}");
        assert_eq!(*heard.lock().unwrap(), [7.0], "{revision}");
        let asked = client
            .call_tool("ask", json!({}))
            .await
            .unwrap()
            .joined_text();
        if revision.is_stateless() {
            assert!(asked.contains("requests to the client"), "{asked}");
        } else {
            assert_eq!(asked, "3.5", "{revision}");
        }
        client.close().await.unwrap();
    }
}

#[tokio::test]
async fn the_middleware_of_a_client_receives_every_message() {
    for revision in Revision::ALL {
        let recorder = Recorder::default();
        let builder = Client::builder("host", "1")
            .on_elicit(async |form| form.accept(json!({ "grams": 1 })))
            .layer(recorder.clone());
        let client = connect(revision, scales(Arc::default()), builder).await;
        let expected: &[&str] = match revision.is_stateless() {
            true => &["> server/discover"],
            false => &["> initialize", "> notifications/initialized"],
        };
        assert_eq!(recorder.take(), expected, "{revision}");
        client.call_tool("form", json!({})).await.unwrap();
        let expected: &[&str] = match (revision.is_stateless(), revision.rules().elicitation) {
            (true, _) => &["> tools/call", "< elicitation/create", "> tools/call"],
            (_, true) => &["> tools/call", "< elicitation/create"],
            (_, false) => &["> tools/call"],
        };
        let mut seen = recorder.take();
        seen.retain(|line| line != "> tools/list");
        assert_eq!(seen, expected, "{revision}");
        client.request::<Weigh>(&Load { grams: 1.0 }).await.unwrap();
        let expected = ["> com.example/weigh", "< com.example/weighed"];
        assert_eq!(recorder.take(), expected, "{revision}");
        client.close().await.unwrap();
    }
}

#[tokio::test]
async fn the_middleware_of_a_client_can_answer_and_change_messages() {
    for revision in Revision::ALL {
        let builder =
            Client::builder("host", "1").layer(async |mut request: Passing, next: Next| {
                let mut params: JsonObject = request.decode_params().unwrap();
                if params.get("grams") == Some(&json!(0.0)) {
                    return Response::result(json!({ "grams": -1.0 }));
                }
                if let Some(grams) = params.get_mut("grams") {
                    *grams = json!(10.0);
                    request.set_params(&params).unwrap();
                }
                next.run(request).await
            });
        let client = connect(revision, scales(Arc::default()), builder).await;
        for (sent, received) in [(0.0, -1.0), (1.0, 20.0)] {
            let load = client
                .request::<Weigh>(&Load { grams: sent })
                .await
                .unwrap();
            assert_eq!(load.grams, received, "{revision}");
        }
        client.close().await.unwrap();
    }
}

#[tokio::test]
async fn dropping_a_call_drops_its_middleware_once() {
    struct CountDrops(Arc<AtomicUsize>);
    impl Drop for CountDrops {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let drops = Arc::<AtomicUsize>::default();
    let (started, mut starts) = tokio::sync::mpsc::channel(8);
    let counted = Arc::clone(&drops);
    let layer = move |request: Passing, next: Next| {
        let guard = CountDrops(Arc::clone(&counted));
        async move {
            let response = next.run(request).await;
            drop(guard);
            response
        }
    };
    let server = Server::builder("s", "1").tool(Tool::new("hang", move || {
        started.try_send(()).unwrap();
        std::future::pending::<()>()
    }));
    let builder = Client::builder("host", "1").layer(layer);
    let client = connect(Revision::LATEST, server, builder).await;
    let before = drops.load(Ordering::SeqCst);
    let call = tokio::spawn(client.call_tool("hang", json!({})).into_future());
    starts.recv().await.unwrap();
    call.abort();
    call.await.unwrap_err();
    let after = drops.load(Ordering::SeqCst);
    assert_eq!(after - before, 1);
    client.close().await.unwrap();
}

#[tokio::test]
async fn a_client_rejects_custom_methods_with_protocol_names() {
    let server = mcp_transport_stdio::in_memory(scales(Arc::default()));
    let builder =
        Client::builder("host", "1").on_notification("Notifications/Message", |_: Load| {});
    let error = builder.connect(server).await.unwrap_err().to_string();
    assert!(
        error.contains("\"Notifications/Message\": the protocol already uses this name"),
        "{error}"
    );
}

/// A tower layer that fails requests while another one runs.
#[derive(Clone)]
struct OneAtATime<S>(S, Arc<Semaphore>);

impl<S> tower_service::Service<PassingRequest> for OneAtATime<S>
where
    S: tower_service::Service<PassingRequest, Response = Response> + Clone + Send + 'static,
    S::Error: std::error::Error + Send + Sync + 'static,
    S::Future: Send,
{
    type Response = Response;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, passing: PassingRequest) -> Self::Future {
        let (is_call, busy) = (
            passing.request.method() == "tools/call",
            Arc::clone(&self.1),
        );
        let response = self.0.call(passing);
        Box::pin(async move {
            let _permit = match is_call {
                true => Some(busy.try_acquire().map_err(|_| "one call at a time")?),
                false => None,
            };
            Ok(response.await?)
        })
    }
}

#[tokio::test]
async fn a_tower_layer_can_be_used_as_middleware() {
    let (started, mut starts) = tokio::sync::mpsc::channel(8);
    let done = Arc::new(Notify::new());
    let wait = Arc::clone(&done);
    let server = Server::builder("s", "1")
        .tool(Tool::new("wait", move || {
            let (started, wait) = (started.clone(), Arc::clone(&wait));
            async move {
                started.try_send(()).unwrap();
                wait.notified().await;
                "done"
            }
        }))
        .layer(TowerMiddleware::new(tower_layer::layer_fn(|next| {
            OneAtATime(next, Arc::new(Semaphore::new(1)))
        })));
    let client = connect(Revision::LATEST, server, Client::builder("host", "1")).await;
    let first = tokio::spawn(client.call_tool("wait", json!({})).into_future());
    starts.recv().await.unwrap();
    let error = refused(client.call_tool("wait", json!({})).await);
    assert_eq!(error.message, "one call at a time");
    done.notify_one();
    assert_eq!(first.await.unwrap().unwrap().joined_text(), "done");
    client.close().await.unwrap();
}

struct Scales(Arc<Mutex<Vec<f64>>>, Vec<String>);

const SCALES: &str = "com.example/scales";

impl mcp_client::Extension for Scales {
    fn id(&self) -> &str {
        SCALES
    }

    fn requires(&self) -> Vec<String> {
        self.1.clone()
    }

    fn install(self, client: ClientBuilder) -> ClientBuilder {
        client
            .method("com.example/weigh", async |load: Load| Ok(load))
            .on_notification("com.example/weighed", move |load: Load| {
                self.0.lock().unwrap().push(load.grams);
            })
    }
}

#[tokio::test]
async fn handlers_of_a_client_extension_run_only_if_the_server_declares_it() {
    for revision in Revision::ALL {
        for is_declared in [true, false] {
            let mut server = scales(Arc::default());
            if is_declared {
                server = server.extension(SCALES, JsonObject::new());
            }
            let heard = Arc::<Mutex<Vec<f64>>>::default();
            let host = Client::builder("host", "1").with(Scales(Arc::clone(&heard), Vec::new()));
            let client = connect(revision, server, host).await;
            let asked = client.call_tool("ask", json!({})).await.unwrap();
            if !revision.is_stateless() {
                let expected = if is_declared { "3" } else { "-32601" };
                let text = asked.joined_text();
                assert!(text.contains(expected), "{revision}, {is_declared}: {text}");
            }
            client.request::<Weigh>(&Load { grams: 2.0 }).await.unwrap();
            let expected: &[f64] = if is_declared { &[4.0] } else { &[] };
            assert_eq!(*heard.lock().unwrap(), expected, "{revision}");
            client.close().await.unwrap();
        }
    }
}

#[tokio::test]
async fn client_extensions_are_installed_whole_or_not_at_all() {
    let scales_of = |requires: &[&str]| {
        let requires = requires.iter().map(|&id| id.to_owned());
        Scales(Arc::default(), requires.collect())
    };
    let refused = async |builder: ClientBuilder| {
        let transport = mcp_transport_stdio::in_memory(scales(Arc::default()));
        builder.connect(transport).await.unwrap_err().to_string()
    };
    let host = || Client::builder("host", "1");
    let own = host().on_notification("com.example/weighed", |_: Load| {});
    let error = refused(own.with(scales_of(&[]))).await;
    assert!(error.contains("has a handler already"), "{error}");
    let error = refused(host().with(scales_of(&[])).with(scales_of(&[]))).await;
    assert!(error.contains("installed already"), "{error}");
    let error = refused(host().with(scales_of(&["com.example/other"]))).await;
    assert!(
        error.contains("requires the extension \"com.example/other\""),
        "{error}"
    );
    let both = host().with(scales_of(&["com.example/other"]));
    let both = both.extension("com.example/other", JsonObject::new());
    let client = connect(Revision::LATEST, scales(Arc::default()), both).await;
    client.close().await.unwrap();
}

/// A request with `_meta` on both sides.
struct Annotated;

impl mcp_types::method::Request for Annotated {
    const METHOD: &'static str = "com.example/annotated";
    type Params = JsonObject;
    type Result = JsonObject;
}

#[tokio::test]
async fn unknown_metadata_passes_in_both_directions() {
    for revision in Revision::ALL {
        let server = Server::builder("s", "1").method("com.example/annotated", |cx: Ctx| {
            let meta = cx.meta().and_then(|meta| meta.get("com.example/sent"));
            Json(json!({ "_meta": { "com.example/received": meta } }))
        });
        let client = connect(revision, server, Client::builder("host", "1")).await;
        let sent = json!({ "deep": [1, { "big": 1e300 }] });
        let params = json!({ "_meta": { "com.example/sent": sent } });
        let Value::Object(params) = params else {
            unreachable!()
        };
        let result = client.request::<Annotated>(&params).await.unwrap();
        assert_eq!(result["_meta"]["com.example/received"], sent, "{revision}");
        client.close().await.unwrap();
    }
}
