//! The server of the campaign, over stdio or HTTP, with a tool that reports the sizes of its tables.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mcp_server::{Args, Ctx, LoggingLevel, Resource, Server, ServerBuilder, Tool};
use mcp_store_redis::RedisStore;
use mcp_transport_http::{Endpoint, ServerOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::sleep;

use super::options::Options;
use crate::bench::{Fault, listen, server::MOST_BYTES, server::MOST_STEPS};

/// How long an unused session is kept, so that a run sees many sessions expire.
const SESSION_IDLE: Duration = Duration::from_secs(30);

#[derive(Deserialize, JsonSchema)]
struct Echo {
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Count {
    count: usize,
    /// How long a step takes.
    #[serde(default)]
    millis: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Micros {
    micros: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Uri {
    uri: String,
}

/// The sizes of the tables of a server.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(super) struct Tables {
    pub(super) pid: u32,
    /// Tasks of the runtime that have not ended.
    pub(super) tasks: usize,
    pub(super) sessions: usize,
    pub(super) in_flight: usize,
    pub(super) subscriptions: usize,
}

fn server(endpoint: Arc<OnceLock<Endpoint>>) -> ServerBuilder {
    let tables = move || {
        let http = endpoint.get();
        let tables = Tables {
            pid: std::process::id(),
            tasks: Handle::current().metrics().num_alive_tasks(),
            sessions: http.map_or(0, Endpoint::sessions),
            in_flight: http.map_or(0, Endpoint::in_flight),
            subscriptions: http.map_or(0, Endpoint::subscriptions),
        };
        serde_json::to_string(&tables).unwrap_or_default()
    };
    Server::builder("reliability", "1.0.0")
        .tool(Tool::new("echo", |Args(echo): Args<Echo>| echo.message))
        .tool(Tool::new(
            "steps",
            async |Args(steps): Args<Count>, cx: Ctx| {
                for step in 1..=steps.count.min(MOST_STEPS) {
                    cx.progress(step as f64, None);
                    match steps.millis {
                        0 => tokio::task::yield_now().await,
                        millis => sleep(Duration::from_millis(millis)).await,
                    }
                }
                "done"
            },
        ))
        .tool(Tool::new("big", |Args(big): Args<Count>| {
            "x".repeat(big.count.min(MOST_BYTES))
        }))
        .tool(Tool::new("flood", |Args(flood): Args<Count>, cx: Ctx| {
            for _ in 0..flood.count.min(MOST_STEPS) {
                cx.log(LoggingLevel::Error, "x".repeat(32 << 10));
            }
            "done"
        }))
        .tool(Tool::new("work", async |Args(work): Args<Micros>| {
            static POOL: Semaphore = Semaphore::const_new(4);
            let permit = POOL.acquire().await;
            sleep(Duration::from_micros(work.micros)).await;
            drop(permit);
            "done"
        }))
        .tool(Tool::new("wait", async |cx: Ctx| {
            cx.log(LoggingLevel::Error, "waits");
            std::future::pending::<&str>().await
        }))
        .tool(Tool::new("touch", |Args(touch): Args<Uri>, cx: Ctx| {
            cx.resource_updated(&touch.uri);
            "done"
        }))
        .tool(Tool::new("tables", tables))
        .resource(Resource::new("any:///{path}", "any", || "text"))
}

pub(super) async fn run(options: &Options) -> Result<(), Fault> {
    let endpoint = Arc::new(OnceLock::new());
    let server = server(Arc::clone(&endpoint));
    let Some(address) = options.value("--http") else {
        return Ok(mcp_transport_stdio::serve(server).await?);
    };
    let settings = match options.value("--redis") {
        Some(redis) => crate::cluster::options(address, &RedisStore::connect(redis).await?)?,
        None => ServerOptions::new(),
    };
    let settings = match options.value("--memory") {
        Some(bytes) => settings.with_memory(bytes.parse()?),
        None => settings,
    };
    let settings = settings.with_timeouts(|timeouts| timeouts.session_idle = SESSION_IDLE);
    let served = Endpoint::with_options(server, settings)?;
    // It was empty until now.
    let _ = endpoint.set(served.clone());
    listen::own(address, served).await
}
