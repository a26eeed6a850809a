//! One call: options, timeout, decoding.

use std::any::Any;
use std::fmt;
use std::future::IntoFuture;
use std::marker::PhantomData;
use std::sync::Arc;

use mcp_jsonrpc::{RawJson, TreeSize};
use mcp_protocol::{BoxFuture, Timeouts};
use mcp_types::{LoggingLevel, Request, method};
use serde_json::Value;

use crate::Error;
use crate::exchange::run;
use crate::request::progress::Progress;
use crate::request::{self, RequestOptions, decode};
use crate::shared::Shared;
use crate::tolerant;

/// A request that is sent when it is awaited.
///
/// # Cancel safety
/// Dropping the future cancels the request at the server.
#[must_use = "a call is sent when it is awaited"]
pub struct Call<R: Request> {
    shared: Arc<Shared>,
    params: Result<Option<Value>, Error>,
    options: RequestOptions,
    result: PhantomData<fn() -> R>,
}

impl<R: Request> Call<R> {
    pub(crate) fn new(shared: &Arc<Shared>, params: &R::Params) -> Self {
        let params = serde_json::to_value(params)
            .map_err(|error| Error::invalid(format!("the params cannot be sent: {error}")));
        Self {
            params: params.map(Some),
            ..Self::without_params(shared)
        }
    }

    pub(crate) fn without_params(shared: &Arc<Shared>) -> Self {
        Self {
            shared: Arc::clone(shared),
            params: Ok(None),
            options: RequestOptions::default(),
            result: PhantomData,
        }
    }

    /// Sets the timeouts of this call.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.options.timeouts = Some(timeouts);
        self
    }

    /// Calls `callback` with each progress notification, in order. It runs where messages are
    /// received, so it must not block. Each round trip counts progress from the beginning.
    pub fn on_progress(mut self, callback: impl FnMut(Progress) + Send + 'static) -> Self {
        self.options.on_progress = Some(Box::new(callback));
        self
    }

    /// Bypasses the cache.
    pub fn fresh(mut self) -> Self {
        self.options.is_fresh = true;
        self
    }
}

impl<R: Request + 'static> IntoFuture for Call<R> {
    type Output = Result<R::Result, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.fetch(None).await })
    }
}

impl<R: Request + 'static> Call<R> {
    /// Sends the request and decodes its result. Before it is decoded, the estimated memory of the result
    /// is subtracted from `room`.
    pub(crate) async fn fetch(self, room: Option<&mut usize>) -> Result<R::Result, Error> {
        let params = self.params?;
        let shared = &self.shared;
        let method = match (R::METHOD, &shared.agreed.meta) {
            // The stateless revision has neither method: one belongs to sessions, and every
            // response replaces the other.
            (method::LOGGING_SET_LEVEL, Some(meta)) => {
                shared.offers(R::METHOD)?;
                meta.set_level(level(params)?);
                return decode::<R::Result>(R::METHOD, &RawJson::copy("{}"));
            }
            (method::PING, Some(_)) => method::SERVER_DISCOVER,
            (method, _) => method,
        };
        let mut request = request::Request::new(method, params);
        request.options = self.options;
        request.options.is_fresh |= R::METHOD == method::PING;
        let outcome = run(shared, &mut request).await?;
        if let Some(room) = room {
            let size = TreeSize::of(&outcome.raw).heap_bytes();
            *room = room.checked_sub(size).ok_or_else(|| Error::protocol(format!(
                    "{method} has pages that need more memory in total than ClientBuilder::max_list_bytes allows, which is {} bytes",
                    shared.max_list_bytes
                )))?;
        }
        let mut result: R::Result = tolerant::decode(R::METHOD, &outcome.raw, &shared.tolerance)?;
        if method == method::TOOLS_LIST {
            shared.tools.learn(&mut result as &mut dyn Any);
        }
        Ok(result)
    }
}

impl<R: Request> fmt::Debug for Call<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Call").field(&R::METHOD).finish()
    }
}

fn level(params: Option<Value>) -> Result<LoggingLevel, Error> {
    let level = params.and_then(|mut params| params.get_mut("level").map(Value::take));
    serde_json::from_value(level.unwrap_or_default())
        .map_err(|error| Error::invalid(format!("invalid log level: {error}")))
}
