//! One call: options, timeout, decoding.

use std::any::Any;
use std::fmt;
use std::future::IntoFuture;
use std::marker::PhantomData;

use mcp_jsonrpc::RawJson;
use mcp_protocol::{BoxFuture, Timeouts};
use mcp_types::{LoggingLevel, Request, method};
use serde_json::Value;

use crate::exchange::{Ask, run};
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
    /// Ask, though the answer may be known.
    pub(crate) fresh: bool,
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
    /// received, so it must not block. Each round of a call that the server answers with questions
    /// counts from the beginning.
    pub fn on_progress(mut self, callback: impl FnMut(Progress) + Send + 'static) -> Self {
        self.options.on_progress = Some(Box::new(callback));
        self
    }

    /// Asks the server even if an earlier answer may still be used.
    pub fn fresh(mut self) -> Self {
        self.options.fresh = true;
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
            let method = match (R::METHOD, &shared.agreed.envelope) {
                // Neither exists where there are no sessions: the one is about a session, the
                // other asks what any answer tells.
                (method::LOGGING_SET_LEVEL, Some(envelope)) => {
                    shared.offers(R::METHOD)?;
                    envelope.set_level(level(params)?);
                    return decode::<R::Result>(R::METHOD, &RawJson::copy("{}"));
                }
                (method::PING, Some(_)) => method::SERVER_DISCOVER,
                (method, _) => method,
            };
            let mut ask = Ask::new(method, params);
            ask.options = self.options;
            ask.options.fresh |= R::METHOD == method::PING;
            let raw = run(shared, &mut ask).await?;
            let mut result = decode::<R::Result>(R::METHOD, &raw)?;
            if method == method::TOOLS_LIST {
                shared.tools.learn(&mut result as &mut dyn Any);
            }
            Ok(result)
        })
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
        .map_err(|error| Error::Invalid(format!("a log level: {error}")))
}

pub(crate) fn decode<T: serde::de::DeserializeOwned>(
    method: &'static str,
    raw: &RawJson,
) -> Result<T, Error> {
    raw.decode()
        .map_err(|problem| Error::Answer { method, problem })
}
