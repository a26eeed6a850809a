//! What a client answers to its server.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use mcp_jsonrpc::{ErrorObject, Notification, ParseError, ParseErrorKind, Request, decode};
use mcp_protocol::gate::client_offers;
use mcp_protocol::{
    Closed, Exchange, Inbound, Outcome, Payload, Reply, Revision, form, lower, sampling,
};
use mcp_types::{
    ClientCapabilities, CreateMessageRequestParams, ElicitAction, ElicitRequestFormParams,
    ElicitRequestParams, ElicitRequestUrlParams, ElicitResult, Implementation, ListRootsResult,
    Root, SamplingMessageContentBlock, ToolChoiceMode, method,
};
use serde::de::DeserializeOwned;

use crate::lock;
use crate::progress::Table;
use crate::questions::{Changed, ElicitForm, ElicitUrl, Handlers, Sample};
use crate::subscription::Subscriptions;

/// Questions a server may have open at once; more are refused.
const MAX_QUESTIONS: usize = 16;
/// Accepted URLs that are waited for.
const MAX_URLS: usize = 256;

/// A client's side of its connection.
pub(crate) struct ClientInbound {
    handlers: Handlers,
    capabilities: ClientCapabilities,
    roots: Mutex<Vec<Root>>,
    progress: Arc<Table>,
    subscriptions: Arc<Subscriptions>,
    agreed: OnceLock<(Revision, Implementation)>,
    questions: Arc<AtomicUsize>,
    urls: Arc<Mutex<HashSet<String>>>,
}

impl ClientInbound {
    pub(crate) fn new(
        handlers: Handlers,
        capabilities: ClientCapabilities,
        roots: Vec<Root>,
        progress: Arc<Table>,
    ) -> Self {
        Self {
            handlers,
            capabilities,
            roots: Mutex::new(roots),
            progress,
            subscriptions: Arc::default(),
            agreed: OnceLock::new(),
            questions: Arc::default(),
            urls: Arc::default(),
        }
    }

    /// The handshake is done: from now on the server may ask.
    pub(crate) fn agree(&self, revision: Revision, server: Implementation) {
        if self.agreed.set((revision, server)).is_err() {
            tracing::error!("a second handshake on one connection");
        }
    }

    pub(crate) fn subscriptions(&self) -> &Arc<Subscriptions> {
        &self.subscriptions
    }

    /// Replaces the roots; `false` if they were never declared.
    pub(crate) fn set_roots(&self, roots: Vec<Root>) -> bool {
        *lock(&self.roots) = roots;
        self.capabilities.roots.is_some()
    }

    fn ask(&self, request: &Request<'_>) -> Result<Reply, ErrorObject> {
        let Some((revision, server)) = self.agreed.get() else {
            return Err(ErrorObject::invalid_request(
                "the handshake is not complete; only ping is answered",
            ));
        };
        let method = &*request.method;
        client_offers(method, &self.capabilities, revision.rules())
            .map_err(|_| ErrorObject::method_not_found(method))?;
        match method {
            method::ROOTS_LIST => {
                let mut roots = lock(&self.roots).clone();
                let rules = revision.rules();
                roots.iter_mut().for_each(|root| lower::root(root, rules));
                Ok(Reply::ok(Payload::of(ListRootsResult::new(roots))))
            }
            method::ELICITATION_CREATE => match params(request.params)? {
                ElicitRequestParams::Form(params) => self.form(params, server, *revision),
                ElicitRequestParams::Url(params) => self.url(params, server, *revision),
                _ => Err(ErrorObject::invalid_params("unknown elicitation mode")),
            },
            method::SAMPLING_CREATE_MESSAGE => {
                self.sample(params(request.params)?, server, *revision)
            }
            other => Err(ErrorObject::method_not_found(other)),
        }
    }

    fn form(
        &self,
        params: ElicitRequestFormParams,
        server: &Implementation,
        revision: Revision,
    ) -> Result<Reply, ErrorObject> {
        let Some(handler) = &self.handlers.form else {
            return Err(ErrorObject::invalid_params(
                "elicitation by form was not declared",
            ));
        };
        let place = self.place()?;
        let schema = params.requested_schema.clone();
        let answer = handler(ElicitForm {
            params,
            server: server.clone(),
        });
        Ok(Reply::Pending(Box::pin(async move {
            let mut result = answer.await?;
            drop(place);
            if result.action == ElicitAction::Accept {
                let content = result.content.get_or_insert_with(BTreeMap::new);
                form::apply_defaults(&schema, content);
                // The problem quotes what the user typed, so it is neither logged nor sent.
                form::check(&schema, content).map_err(|_| {
                    tracing::error!("the answer does not fit the form; it was not sent");
                    ErrorObject::internal("the user's answer does not fit the form")
                })?;
            } else {
                result.content = None;
            }
            finish_elicitation(result, revision)
        })))
    }

    fn url(
        &self,
        params: ElicitRequestUrlParams,
        server: &Implementation,
        revision: Revision,
    ) -> Result<Reply, ErrorObject> {
        let handler = match &self.handlers.url {
            Some(handler) if revision.rules().elicitation_modes => handler,
            _ => {
                return Err(ErrorObject::invalid_params(
                    "elicitation by URL was not declared",
                ));
            }
        };
        let place = self.place()?;
        let id = params.elicitation_id.clone();
        let urls = Arc::clone(&self.urls);
        let answer = handler(ElicitUrl {
            params,
            server: server.clone(),
        });
        Ok(Reply::Pending(Box::pin(async move {
            let mut result = answer.await?;
            drop(place);
            result.content = None;
            if let (ElicitAction::Accept, Some(id)) = (&result.action, id) {
                let mut urls = lock(&urls);
                if urls.len() < MAX_URLS {
                    urls.insert(id);
                }
            }
            finish_elicitation(result, revision)
        })))
    }

    fn sample(
        &self,
        params: CreateMessageRequestParams,
        server: &Implementation,
        revision: Revision,
    ) -> Result<Reply, ErrorObject> {
        let Some(handler) = &self.handlers.sample else {
            return Err(ErrorObject::method_not_found(
                method::SAMPLING_CREATE_MESSAGE,
            ));
        };
        if (params.tools.is_some() || params.tool_choice.is_some()) && !self.handlers.sampling_tools
        {
            return Err(ErrorObject::invalid_params(
                "capability sampling.tools was not declared",
            ));
        }
        sampling::check(&params).map_err(ErrorObject::invalid_params)?;
        let place = self.place()?;
        let choice = params
            .tool_choice
            .as_ref()
            .and_then(|choice| choice.mode.clone());
        let answer = handler(Sample {
            params,
            server: server.clone(),
        });
        Ok(Reply::Pending(Box::pin(async move {
            let mut result = answer.await?;
            drop(place);
            let uses = |block: &SamplingMessageContentBlock| {
                matches!(block, SamplingMessageContentBlock::ToolUse(_))
            };
            let used = result.content.iter().any(uses);
            let wrong = match choice {
                Some(ToolChoiceMode::None) if used => Some("the model used a tool it may not use"),
                Some(ToolChoiceMode::Required) if !used => Some("the model used no tool"),
                _ => None,
            };
            if let Some(wrong) = wrong {
                return Err(ErrorObject::internal(wrong));
            }
            lower::create_message_result(&mut result, revision.rules())
                .map_err(|missing| ErrorObject::internal(missing.to_string()))?;
            Ok(Payload::of(result))
        })))
    }

    /// A place among the open questions.
    fn place(&self) -> Result<Place, ErrorObject> {
        let place = Place(Arc::clone(&self.questions));
        if place.0.fetch_add(1, Ordering::Relaxed) >= MAX_QUESTIONS {
            return Err(ErrorObject::internal(format!(
                "{MAX_QUESTIONS} questions are open, the limit; ask again when one is answered"
            )));
        }
        Ok(place)
    }
}

/// Given back on drop.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn finish_elicitation(mut result: ElicitResult, revision: Revision) -> Outcome {
    if matches!(result.action, ElicitAction::Unknown(_)) {
        result.action = ElicitAction::Cancel;
    }
    lower::elicit_result(&mut result, revision.rules())
        .map_err(|missing| ErrorObject::internal(missing.to_string()))?;
    Ok(Payload::of(result))
}

fn params<T: DeserializeOwned>(params: Option<&str>) -> Result<T, ErrorObject> {
    decode(params.unwrap_or("{}"))
        .map_err(|error| ErrorObject::invalid_params(format!("invalid params: {error}")))
}

impl Inbound for ClientInbound {
    fn request(&self, request: &Request<'_>, _exchange: Exchange) -> Reply {
        if request.method == method::PING {
            return Reply::ok(Payload::Empty);
        }
        self.ask(request).unwrap_or_else(Reply::error)
    }

    fn notification(&self, notification: &Notification<'_>) {
        let text = notification.params.unwrap_or("{}");
        match &*notification.method {
            method::NOTIFICATIONS_PROGRESS => match decode(text) {
                Ok(params) => self.progress.deliver(params),
                Err(error) => tracing::debug!(%error, "ignored malformed progress"),
            },
            method::NOTIFICATIONS_MESSAGE => match (decode(text), &self.handlers.log) {
                (Ok(params), Some(log)) => log(params),
                (Ok(_), None) => {}
                (Err(error), _) => tracing::debug!(%error, "ignored a malformed log message"),
            },
            method::NOTIFICATIONS_RESOURCES_UPDATED => {
                if let Ok(params) = decode::<mcp_types::ResourceUpdatedNotificationParams>(text) {
                    self.subscriptions.updated(&params.uri);
                }
            }
            method::NOTIFICATIONS_ELICITATION_COMPLETE => {
                let params = decode::<mcp_types::ElicitationCompleteNotificationParams>(text);
                if let (Ok(params), Some(done)) = (params, &self.handlers.url_done)
                    && lock(&self.urls).remove(&params.elicitation_id)
                {
                    done(params.elicitation_id);
                }
            }
            other => {
                let changed = match other {
                    method::NOTIFICATIONS_TOOLS_LIST_CHANGED => Changed::Tools,
                    method::NOTIFICATIONS_PROMPTS_LIST_CHANGED => Changed::Prompts,
                    method::NOTIFICATIONS_RESOURCES_LIST_CHANGED => Changed::Resources,
                    _ => return,
                };
                if let Some(tell) = &self.handlers.changed {
                    tell(changed);
                }
            }
        }
    }

    fn accepts_batches(&self) -> bool {
        self.agreed
            .get()
            .is_some_and(|(revision, _)| revision.rules().batches)
    }

    /// Text that is no JSON is the server's program printing where it must not. It is not
    /// answered; the transport, which knows the lines, counts and quotes it. Nor is anything else
    /// that has no id, where error answers need one; only JSON-RPC itself demands that of arrays.
    fn unreadable(&self, frame: &[u8], error: &ParseError) -> bool {
        let agreed = self.agreed.get();
        error.id().is_some()
            || error.kind() != ParseErrorKind::Syntax
                && (frame.trim_ascii_start().starts_with(b"[")
                    || agreed.is_none_or(|(revision, _)| revision.rules().error_without_id))
    }

    fn closed(&self, reason: &Closed) {
        tracing::debug!(%reason, "connection ended");
        self.subscriptions.close();
    }
}
