//! One call: options, timeouts, decoding.

use std::any::Any;
use std::fmt;
use std::future::IntoFuture;
use std::marker::PhantomData;
use std::sync::Arc;

use mcp_jsonrpc::{RawJson, TreeSize};
use mcp_protocol::{BoxFuture, MethodName};
use mcp_types::{CompleteRequest, GetPromptRequest, LoggingLevel, Request, method};
use serde_json::{Map, Value, json};

use crate::Error;
use crate::exchange::{run, run_undeclared};
use crate::request::{self, RequestOptions, decode, option_setters};
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

    pub(crate) fn with_options(mut self, options: RequestOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets a member of the params.
    fn with_param(mut self, name: &str, value: Option<Value>) -> Self {
        if let (Ok(Some(Value::Object(params))), Some(value)) = (&mut self.params, value) {
            params.insert(name.to_owned(), value);
        }
        self
    }

    option_setters!(options, fresh);
}

impl<R: Request + 'static> IntoFuture for Call<R> {
    type Output = Result<R::Result, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.fetch(None).await })
    }
}

impl<R: Request + 'static> Call<R> {
    /// Sends the request and decodes the result. If `room` is set, it is the memory that is left for a list, in bytes.
    /// Before decoding, subtracts the estimated memory of the result from `room`, and fails if `room` is too small.
    pub(crate) async fn fetch(self, room: Option<&mut usize>) -> Result<R::Result, Error> {
        let params = self.params?;
        let shared = &self.shared;
        let method = match (R::METHOD, &shared.agreed.meta) {
            // The stateless revision has neither method: each request contains the log level, and
            // `server/discover` replaces `ping`.
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
                    "the pages of {method} need more memory in total than {} bytes, the limit of ClientBuilder::max_list_bytes",
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

impl Call<GetPromptRequest> {
    /// Sets the arguments of the prompt. Default: none.
    pub fn arguments<K: Into<String>, V: Into<String>>(
        self,
        arguments: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        self.with_param("arguments", texts(arguments))
    }
}

impl Call<CompleteRequest> {
    /// Sets the arguments that the user has already filled in. Only servers of revision 2025-06-18 and later receive them.
    /// Default: none.
    pub fn resolved<K: Into<String>, V: Into<String>>(
        self,
        arguments: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let known = texts(arguments).filter(|_| self.shared.rules().completion_context);
        self.with_param("context", known.map(|known| json!({ "arguments": known })))
    }
}

/// Converts pairs of name and text to a JSON object. Returns `None` if there are no pairs.
fn texts<K: Into<String>, V: Into<String>>(
    texts: impl IntoIterator<Item = (K, V)>,
) -> Option<Value> {
    let texts = texts.into_iter();
    let texts: Map<String, Value> = texts
        .map(|(name, text)| (name.into(), Value::String(text.into())))
        .collect();
    (!texts.is_empty()).then_some(Value::Object(texts))
}

impl<R: Request> fmt::Debug for Call<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Call").field(&R::METHOD).finish()
    }
}

/// A request whose method is known only at run time, sent when this value is awaited. The result is the unchanged JSON text from
/// the server. It contains unknown members, and numbers as the server wrote them. The handlers of the client answer input
/// requests of the server.
///
/// # Errors
/// The errors of every call, and [`Error::Invalid`] if the params are neither an object nor null.
///
/// # Cancel safety
/// Dropping the future cancels the request at the server.
#[must_use = "a call is sent when it is awaited"]
pub struct RawCall {
    shared: Arc<Shared>,
    method: MethodName,
    params: Result<Option<Value>, Error>,
    options: RequestOptions,
    is_declared: bool,
}

impl RawCall {
    pub(crate) fn new(shared: &Arc<Shared>, method: MethodName, params: Value) -> Self {
        let params = match params {
            Value::Null => Ok(None),
            Value::Object(_) => Ok(Some(params)),
            _ => Err(not_an_object(&method)),
        };
        Self {
            shared: Arc::clone(shared),
            method,
            params,
            options: RequestOptions::default(),
            is_declared: true,
        }
    }

    /// Sends the request even if the server has not declared the capability that the method needs. Use it only in programs that
    /// examine a server. Other programs should respect the declared capabilities. A server rejects a method that it does not know
    /// with [`ErrorCode::METHOD_NOT_FOUND`](mcp_jsonrpc::ErrorCode::METHOD_NOT_FOUND).
    pub fn undeclared(mut self) -> Self {
        self.is_declared = false;
        self
    }

    option_setters!(options, fresh);
}

impl IntoFuture for RawCall {
    type Output = Result<RawJson, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let mut request = request::Request::new(self.method, self.params?);
            request.options = self.options;
            let outcome = match self.is_declared {
                true => run(&self.shared, &mut request).await?,
                false => run_undeclared(&self.shared, &mut request).await?,
            };
            Ok(outcome.raw)
        })
    }
}

impl fmt::Debug for RawCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RawCall").field(&&*self.method).finish()
    }
}

/// Creates the error for params that are not an object.
pub(crate) fn not_an_object(method: &str) -> Error {
    Error::invalid(format!("{method}: the params must be a JSON object"))
}

fn level(params: Option<Value>) -> Result<LoggingLevel, Error> {
    let level = params.and_then(|mut params| params.get_mut("level").map(Value::take));
    serde_json::from_value(level.unwrap_or_default())
        .map_err(|error| Error::invalid(format!("invalid log level: {error}")))
}
