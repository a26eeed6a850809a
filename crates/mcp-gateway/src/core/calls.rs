//! Forwards requests in the four combinations of session-based and stateless clients and servers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::{ErrorCode, ErrorObject, RawJson, decode, members, read_string};
use mcp_protocol::modern::may_require_input;
use mcp_protocol::{
    Answer, CallError, MethodName, Outcome, Payload, RequestContext, downgrade, gate,
};
use mcp_types::method;
use tokio::task::JoinSet;

use crate::caller::{Caller, RunningCall};
use crate::connection::{UpstreamConnection, hidden_response, no_response, within};
use crate::parked::{CONTINUATION, ParkableCall};
use crate::results;
use crate::shared::header_params;
use crate::text::{ObjectText, RawResult, may_have, member, with_elicitation_id};
use crate::upstream::{of_peer, of_server};

use super::Core;
use super::params::{ParamsChange, REQUEST_META, SessionClient};

/// Maximum number of round trips of one call to a stateless server.
const MAX_ROUND_TRIPS: u32 = 16;
/// Maximum number of input requests in one result.
const MAX_INPUT_REQUESTS: usize = 32;
/// Delay before a round trip that only sends `requestState` back to the server. The delay is multiplied by the number of the
/// round trip, which starts at 0.
const STATE_WAIT: Duration = Duration::from_millis(100);

impl Core {
    /// Sends a request of a client to the server and returns the response.
    pub(crate) async fn forward(
        self: Arc<Self>,
        method: MethodName,
        params: Option<RawJson>,
        context: RequestContext,
    ) -> Outcome {
        let is_stateless_client = context.rules().stateless;
        let is_stateless_server = self.shared.known().revision.is_stateless();
        match (is_stateless_client, is_stateless_server) {
            (false, false) => self.in_session(&method, params.as_deref(), &context).await,
            (true, true) => self.pass(&method, params.as_deref(), &context).await,
            (false, true) => self.round_trips(&method, params.as_deref(), &context).await,
            (true, false) => self.parkable(&method, params, &context).await,
        }
    }

    /// Forwards a request of a session-based client to a session-based server.
    async fn in_session(
        self: &Arc<Self>,
        method: &MethodName,
        params: Option<&str>,
        context: &RequestContext,
    ) -> Outcome {
        let connection = self.session_connection(context).await?;
        let subscribed = connection.routes().subscribed.as_ref();
        let added = subscribed.map_or(Ok(None), |subscribed| subscribed.record(method, params))?;
        let caller = Caller::new(context, params, None);
        let running = connection.routes().add(&caller);
        let change = ParamsChange {
            token: caller.wants_progress().then_some(running.token),
            ..ParamsChange::default()
        };
        let params = change.apply(params);
        let answer = self.send(&connection, method, params, Some(&running)).await;
        if let (Err(_), Some(subscribed), Some(uri)) = (&answer, subscribed, added) {
            subscribed.remove(&uri);
        }
        let is_newer = connection.client.revision() > context.session().revision();
        Ok(results::for_session(
            method,
            &answer?,
            context.rules(),
            is_newer,
        ))
    }

    /// Forwards a request and its metadata from a stateless client to a stateless server.
    async fn pass(
        self: &Arc<Self>,
        method: &MethodName,
        params: Option<&str>,
        context: &RequestContext,
    ) -> Outcome {
        let lease = self.stateless_lease(context).await?;
        let caller = Caller::new(context, params, None);
        let running = lease.connection.routes().add(&caller);
        let change = ParamsChange {
            token: caller.wants_progress().then_some(running.token),
            ..ParamsChange::default()
        };
        let params = change.apply(params);
        let sent = self.send(&lease.connection, method, params, Some(&running));
        let result = sent.await?;
        Ok(Payload::Boxed(Box::new(RawResult(result))))
    }

    /// Forwards a request of a session-based client to a stateless server, and makes the round trips for the client.
    async fn round_trips(
        self: &Arc<Self>,
        method: &MethodName,
        params: Option<&str>,
        context: &RequestContext,
    ) -> Outcome {
        let lease = self.stateless_lease(context).await?;
        let connection = &*lease.connection;
        let (session, rules) = (context.session(), context.rules());
        let mut retry: Vec<(&'static str, String)> = Vec::new();
        for round_trip in 0..=MAX_ROUND_TRIPS {
            let caller = Caller::new(context, params, None);
            let running = connection.routes().add(&caller);
            let change = ParamsChange {
                token: caller.wants_progress().then_some(running.token),
                without_meta: &REQUEST_META,
                client: Some(SessionClient {
                    session,
                    connection,
                }),
                with: &retry,
                ..ParamsChange::default()
            };
            let params = change.apply(params);
            let sent = self.send(connection, method, params, Some(&running));
            let result = match sent.await {
                Ok(result) => result,
                Err(error) => return results::error_for_session(method, error),
            };
            drop(running);
            // Searching text is faster than reading JSON.
            let can_require = may_require_input(method) && may_have(&result, "input_required");
            let result_type = || member(&result, "resultType").and_then(read_string);
            if !can_require || result_type().as_deref() != Some("input_required") {
                return Ok(results::for_session(method, &result, rules, true));
            }
            retry.clear();
            match member(&result, "inputRequests") {
                Some(requests) => {
                    let responses = Box::pin(ask_client(requests, context)).await?;
                    retry.push(("inputResponses", responses));
                }
                None => tokio::time::sleep(STATE_WAIT * round_trip).await,
            }
            if let Some(state) = member(&result, "requestState") {
                retry.push(("requestState", state.to_owned()));
            }
        }
        Err(ErrorObject::internal(format!(
            "the server {:?} asked for input more than {MAX_ROUND_TRIPS} times",
            self.upstream.name
        )))
    }

    /// Forwards a request of a stateless client to a session-based server. If the server sends a server request, the call is
    /// parked.
    async fn parkable(
        self: &Arc<Self>,
        method: &MethodName,
        params: Option<RawJson>,
        context: &RequestContext,
    ) -> Outcome {
        let text = params.as_deref();
        if !may_require_input(method) {
            let lease = self.lease(context, false).await?;
            let change = ParamsChange {
                without_meta: &REQUEST_META,
                ..ParamsChange::default()
            };
            let sent = self.send(&lease.connection, method, change.apply(text), None);
            let failed = |error| downgrade::handler_error(error, context.rules());
            let result = sent.await.map_err(failed)?;
            return Ok(results::for_stateless(method, result));
        }
        if let Some(state) = text.and_then(|params| member(params, "requestState")) {
            return Box::pin(self.continue_call(state, method, text, context)).await;
        }
        let mut lease = self.lease(context, true).await?;
        if let Some(level) = context.session().log_level() {
            Box::pin(lease.connection.set_level(level)).await;
        }
        let (sender, server_requests) = ParkableCall::channel();
        let caller = Caller::new(context, text, Some(sender));
        let running = lease.connection.routes().add(&caller);
        let change = ParamsChange {
            token: caller.wants_progress().then_some(running.token),
            without_meta: &REQUEST_META,
            without: &CONTINUATION,
            ..ParamsChange::default()
        };
        let sent = lease
            .connection
            .send(method, change.apply(text), None, Vec::new())?;
        let (core, rules) = (Arc::clone(self), context.rules());
        let name = method.clone();
        let response = Box::pin(async move {
            let answer = lease.response(running.response(sent)).await;
            drop((running, lease));
            let answer = answer.map_err(|error| core.no_response(&error))?;
            core.shared.responded();
            let failed = |error| downgrade::handler_error(core.error_of_server(error), rules);
            let result = answer.map_err(failed)?;
            let result = core.repairs.repaired(&name, result, &core.upstream.name);
            Ok(results::for_stateless(&name, result))
        });
        let call = ParkableCall {
            method: method.clone(),
            params,
            caller,
            server_requests,
            open: BTreeMap::new(),
            asked: 0,
            response,
        };
        self.run_parkable(call, context).await
    }

    /// Sends a request. If the server responds that the HTTP headers do not match the params, learns which params are echoed in
    /// headers. Then sends the request once more. `running` is the entry of the call; `None` if the request has no entry.
    pub(super) async fn send(
        &self,
        connection: &Arc<UpstreamConnection>,
        method: &MethodName,
        params: Option<String>,
        running: Option<&RunningCall>,
    ) -> Answer {
        let _in_use = connection.in_use();
        if !connection.has_headers() {
            return self.send_once(connection, method, params, running).await;
        }
        let copy = params.clone();
        let answer = self.send_once(connection, method, copy, running).await;
        match answer {
            Err(error) if error.code == ErrorCode::HEADER_MISMATCH => {
                Box::pin(self.learn_header_params(connection)).await;
                self.send_once(connection, method, params, running).await
            }
            Ok(result) if method == method::TOOLS_LIST => {
                Ok(results::without_invalid_tools(result))
            }
            answer => answer,
        }
    }

    async fn send_once(
        &self,
        connection: &UpstreamConnection,
        method: &MethodName,
        params: Option<String>,
        running: Option<&RunningCall>,
    ) -> Answer {
        let server = &*self.upstream.name;
        let name = connection.name_header(method, params.as_deref());
        let headers = match &name {
            Some(tool) if method == method::TOOLS_CALL => {
                self.param_headers(connection, tool, params.as_deref())?
            }
            _ => Vec::new(),
        };
        let sent = connection.send(method, params, name, headers)?;
        within(server, self.upstream.max_call_time(), async {
            let answer = match running {
                Some(running) => running.response(sent).await,
                None => sent.await,
            };
            let answer = answer.map_err(|error| self.no_response(&error))?;
            self.shared.responded();
            let result = answer.map_err(|error| self.error_of_server(error))?;
            let result = self.repairs.repaired(method, result, server);
            Ok(match self.upstream.has_accounts() {
                true => results::private(result),
                false => result,
            })
        })
        .await
    }

    fn error_of_server(&self, error: ErrorObject) -> ErrorObject {
        of_server(error, &self.upstream.name, &self.missing_scopes)
    }

    /// Creates the error for a call without a response; `error` is the reason. If the gateway has several servers, the created
    /// error does not contain their addresses.
    fn no_response(&self, error: &CallError) -> ErrorObject {
        let server = &*self.upstream.name;
        if let CallError::Failed(error) = error
            && error.is_temporary()
            && !error.is_possibly_executed()
        {
            // A stateless server has no lasting connection, so only a failed request shows that the server cannot be reached.
            self.shared.attempted(Some(error.to_string()));
        }
        match self.catalog.is_some() {
            true => hidden_response(server, error, &self.failures),
            false => no_response(server, error),
        }
    }

    /// Lists the tools again, to find the parameters that must be echoed in HTTP headers. Tools that are listed for a user are
    /// recorded only in the connections of this user.
    async fn learn_header_params(&self, connection: &UpstreamConnection) {
        if self.upstream.has_accounts() {
            connection.client.clear_cache();
            connection.set_header_params(header_params(&connection.client, None).await);
        } else {
            self.learn_tools(connection).await;
        }
    }

    /// Returns the headers that echo arguments of a tool call.
    fn param_headers(
        &self,
        connection: &UpstreamConnection,
        tool: &str,
        params: Option<&str>,
    ) -> Result<Vec<(String, String)>, ErrorObject> {
        let tool = match self.upstream.has_accounts() {
            true => connection.header_params().get(tool).cloned(),
            false => self.shared.known().header_params.get(tool).cloned(),
        };
        let Some(tool) = tool else {
            return Ok(Vec::new());
        };
        let arguments = params.and_then(|params| member(params, "arguments"));
        let arguments = arguments.unwrap_or("{}");
        let headers = tool
            .headers_for(arguments)
            .map_err(ErrorObject::invalid_params)?;
        Ok(headers
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect())
    }
}

/// Sends all input requests of a result to a session-based client at the same time, and returns the responses.
async fn ask_client(requests: &str, context: &RequestContext) -> Result<String, ErrorObject> {
    let mut asked: JoinSet<(String, Result<RawJson, ErrorObject>)> = JoinSet::new();
    let link = context.link();
    for (key, request) in members(requests).map_while(Result::ok) {
        if asked.len() == MAX_INPUT_REQUESTS {
            return Err(ErrorObject::internal(format!(
                "the server asked for more than {MAX_INPUT_REQUESTS} inputs at once"
            )));
        }
        let name = member(request, "method").and_then(|name| decode::<String>(name).ok());
        let name = name.as_deref().and_then(gate::core_method);
        let Some(name) = name.filter(|name| {
            matches!(
                *name,
                method::ELICITATION_CREATE | method::SAMPLING_CREATE_MESSAGE | method::ROOTS_LIST
            )
        }) else {
            return Err(ErrorObject::internal(
                "the server asked for an unknown kind of input",
            ));
        };
        let capabilities = context
            .session()
            .client_capabilities()
            .cloned()
            .unwrap_or_default();
        gate::client_offers(name, &capabilities, context.rules()).map_err(|missing| {
            ErrorObject::internal(format!("the server requests {name}, but {missing}"))
        })?;
        let params = member(request, "params").map(|params| match name {
            method::ELICITATION_CREATE => with_elicitation_id(params).into_bytes(),
            _ => params.as_bytes().to_vec(),
        });
        let (key, call) = (key.to_owned(), link.request(name, params));
        asked.spawn(async move {
            let answer = match call.await {
                Ok(answer) => answer,
                Err(error) => Err(ErrorObject::internal(format!(
                    "the client did not respond to {name}: {error}"
                ))),
            };
            (key, answer)
        });
    }
    let mut responses = ObjectText::new();
    while let Some(answered) = asked.join_next().await {
        let (key, answer) = answered.map_err(|error| ErrorObject::internal(error.to_string()))?;
        responses.copy(&key, &answer.map_err(of_peer)?);
    }
    Ok(responses.finish())
}
