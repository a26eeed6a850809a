//! One call: options, timeout, decoding.

use std::fmt;
use std::future::IntoFuture;
use std::marker::PhantomData;

use mcp_jsonrpc::RawJson;
use mcp_protocol::{BoxFuture, Timeouts, gate};
use mcp_types::{Request, method};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::client::Shared;
use crate::progress::Progress;
use crate::{Client, Error};

/// A request that is sent when it is awaited.
///
/// # Cancel safety
/// Dropping the future cancels the request on the wire.
#[must_use = "a call is sent when it is awaited"]
pub struct Call<R: Request> {
    client: Client,
    params: Result<Option<Value>, Error>,
    options: Options,
    result: PhantomData<fn() -> R>,
}

/// How to wait for the answer.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) timeouts: Option<Timeouts>,
    pub(crate) on_progress: Option<Box<dyn FnMut(Progress) + Send>>,
}

impl<R: Request> Call<R> {
    pub(crate) fn new(client: &Client, params: &R::Params) -> Self {
        let params = serde_json::to_value(params)
            .map_err(|error| Error::Invalid(format!("the params cannot be sent: {error}")));
        Self {
            client: client.clone(),
            params: params.map(Some),
            options: Options::default(),
            result: PhantomData,
        }
    }

    pub(crate) fn bare(client: &Client) -> Self {
        Self {
            client: client.clone(),
            params: Ok(None),
            options: Options::default(),
            result: PhantomData,
        }
    }

    /// Timeouts for this call, instead of the client's.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.options.timeouts = Some(timeouts);
        self
    }

    /// Calls `callback` with each progress notification, in order. It runs where messages are
    /// received, so it must not block.
    pub fn on_progress(mut self, callback: impl FnMut(Progress) + Send + 'static) -> Self {
        self.options.on_progress = Some(Box::new(callback));
        self
    }
}

impl<R: Request + 'static> IntoFuture for Call<R> {
    type Output = Result<R::Result, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let params = self.params?;
            let shared = self.client.shared();
            let raw = run(shared, R::METHOD, params, self.options).await?;
            decode::<R::Result>(R::METHOD, &raw)
        })
    }
}

impl<R: Request> fmt::Debug for Call<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Call").field(&R::METHOD).finish()
    }
}

pub(crate) fn decode<T: serde::de::DeserializeOwned>(
    method: &'static str,
    raw: &RawJson,
) -> Result<T, Error> {
    raw.decode()
        .map_err(|problem| Error::Answer { method, problem })
}

/// Sends a request, waits for its answer no longer than allowed, and gives the raw result.
pub(crate) async fn run(
    shared: &Shared,
    method: &'static str,
    mut params: Option<Value>,
    options: Options,
) -> Result<RawJson, Error> {
    gate::server_offers(method, shared.capabilities(), shared.rules())
        .map_err(|missing| Error::Unsupported { method, missing })?;
    let entry = reports_progress(method).then(|| shared.progress.open(options.on_progress));
    if let (Some(entry), Some(Value::Object(params))) = (&entry, &mut params) {
        let meta = params
            .entry("_meta")
            .or_insert_with(|| Value::Object(Default::default()));
        if let (Value::Object(meta), Ok(token)) = (meta, serde_json::to_value(entry.token())) {
            meta.insert("progressToken".to_owned(), token);
        }
    }
    let params = params.map(|params| params.to_string().into_bytes());
    let call = shared.link.request(method, params);
    tokio::pin!(call);
    let timeouts = options.timeouts.unwrap_or(shared.timeouts);
    let mut deadline = timeouts.start(Instant::now().into_std());
    loop {
        if let Ok(answer) = timeout_at(Instant::from_std(deadline.at()), &mut call).await {
            return answer?.map_err(Error::Rejected);
        }
        if let Some(last) = entry.as_ref().and_then(|entry| entry.last()) {
            deadline.progress(last.into_std());
        }
        if let Some((setting, after)) = deadline.expired(Instant::now().into_std()) {
            return Err(Error::Timeout {
                method,
                setting,
                after,
            });
        }
    }
}

/// Whether a server may have something to report while it works on this.
fn reports_progress(method: &str) -> bool {
    matches!(
        method,
        method::TOOLS_CALL | method::PROMPTS_GET | method::RESOURCES_READ
    )
}
