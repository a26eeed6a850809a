//! Who the client is, what it offers, and how it waits.

use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{Connection, Revision, Timeouts, Transport, lower};
use mcp_types::{
    ClientCapabilities, CreateMessageResult, ElicitResult, ElicitationCapability, Icon,
    Implementation, InitializeRequest, InitializeRequestParams, InitializeResult, JsonObject,
    LoggingMessageNotificationParams, Request, Root, RootsCapability, SamplingCapability, method,
};
use serde_json::Value;

use crate::client::Shared;
use crate::inbound::ClientInbound;
use crate::progress::Table;
use crate::questions::{Changed, ElicitForm, ElicitUrl, Handlers, Sample};
use crate::{Client, Error, InvalidRoot, call, roots};

/// Pings that watch over a connection.
///
/// Specification: [ping](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct KeepAlive {
    /// Time between pings, and how long each may take.
    pub interval: Duration,
    /// Pings without an answer, one after the other, that end the connection.
    pub misses: u32,
}

impl KeepAlive {
    /// Pings every `interval`; `misses` of them unanswered end the connection.
    pub fn new(interval: Duration, misses: u32) -> Self {
        Self { interval, misses }
    }
}

/// Describes a client before it connects.
///
/// Giving a handler declares the capability behind it.
#[derive(Debug, Clone)]
#[must_use = "nothing happens before `connect`"]
pub struct Builder {
    info: Implementation,
    handlers: Handlers,
    roots: Option<Result<Vec<Root>, InvalidRoot>>,
    timeouts: Timeouts,
    offer: Revision,
    keep_alive: Option<KeepAlive>,
    experimental: std::collections::BTreeMap<String, JsonObject>,
}

impl Builder {
    pub(crate) fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            info: Implementation::new(name, version),
            handlers: Handlers::default(),
            roots: None,
            timeouts: Timeouts::default(),
            offer: Revision::LATEST_LEGACY,
            keep_alive: None,
            experimental: std::collections::BTreeMap::new(),
        }
    }

    /// The name to show to people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.info.title = Some(title.into());
        self
    }

    /// Adds an icon.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.info.icons.get_or_insert_default().push(icon);
        self
    }

    /// Timeouts of every call that brings none of its own.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// The revision to offer; default: the newest.
    pub fn revision(mut self, revision: Revision) -> Self {
        self.offer = revision;
        self
    }

    /// Watches over the connection with pings; default: no.
    pub fn keep_alive(mut self, keep_alive: KeepAlive) -> Self {
        self.keep_alive = Some(keep_alive);
        self
    }

    /// Declares an experimental capability.
    pub fn experimental(mut self, name: impl Into<String>, value: JsonObject) -> Self {
        self.experimental.insert(name.into(), value);
        self
    }

    /// Answers forms.
    pub fn on_elicit<F>(mut self, handler: impl Fn(ElicitForm) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ElicitResult> + Send + 'static,
    {
        self.handlers.form = Some(Arc::new(move |form| {
            let answer = handler(form);
            Box::pin(async move { Ok(answer.await) })
        }));
        self
    }

    /// Answers requests to open a URL.
    pub fn on_elicit_url<F>(
        mut self,
        handler: impl Fn(ElicitUrl) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ElicitResult> + Send + 'static,
    {
        self.handlers.url = Some(Arc::new(move |url| {
            let answer = handler(url);
            Box::pin(async move { Ok(answer.await) })
        }));
        self
    }

    /// Is told, with the elicitation's id, when what happens behind an accepted URL is done.
    pub fn on_elicit_url_done(mut self, handler: impl Fn(String) + Send + Sync + 'static) -> Self {
        self.handlers.url_done = Some(Arc::new(handler));
        self
    }

    /// Answers questions to the model. Let a person see and refuse them.
    pub fn on_sample<F>(mut self, handler: impl Fn(Sample) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<CreateMessageResult, ErrorObject>> + Send + 'static,
    {
        self.handlers.sample = Some(Arc::new(move |sample| Box::pin(handler(sample))));
        self
    }

    /// Declares that the model behind [`on_sample`](Self::on_sample) can use tools.
    pub fn sampling_tools(mut self) -> Self {
        self.handlers.sampling_tools = true;
        self
    }

    /// Declares that [`on_sample`](Self::on_sample) honours `includeContext`.
    pub fn sampling_context(mut self) -> Self {
        self.handlers.sampling_context = true;
        self
    }

    /// Offers roots; they can be changed later with [`Client::set_roots`].
    pub fn roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        let roots: Vec<Root> = roots.into_iter().collect();
        let checked = roots.iter().try_for_each(roots::check);
        self.roots = Some(checked.map(|()| roots));
        self
    }

    /// Is told what the server logs.
    pub fn on_log(
        mut self,
        handler: impl Fn(LoggingMessageNotificationParams) + Send + Sync + 'static,
    ) -> Self {
        self.handlers.log = Some(Arc::new(handler));
        self
    }

    /// Is told when a list of the server changed.
    pub fn on_change(mut self, handler: impl Fn(Changed) + Send + Sync + 'static) -> Self {
        self.handlers.changed = Some(Arc::new(handler));
        self
    }

    /// Is asked, with name and arguments, before a tool is called; `false` stops the call.
    pub fn approve(
        mut self,
        approve: impl Fn(&str, &Value) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.handlers.approve = Some(Arc::new(approve));
        self
    }

    fn capabilities(&self) -> ClientCapabilities {
        let mut capabilities = ClientCapabilities::default();
        if self.handlers.form.is_some() || self.handlers.url.is_some() {
            let mut elicitation = ElicitationCapability::default();
            elicitation.form = self.handlers.form.as_ref().map(|_| JsonObject::new());
            elicitation.url = self.handlers.url.as_ref().map(|_| JsonObject::new());
            capabilities.elicitation = Some(elicitation);
        }
        if self.handlers.sample.is_some() {
            let mut sampling = SamplingCapability::default();
            sampling.tools = self.handlers.sampling_tools.then(JsonObject::new);
            sampling.context = self.handlers.sampling_context.then(JsonObject::new);
            capabilities.sampling = Some(sampling);
        }
        if self.roots.is_some() {
            capabilities.roots = Some(RootsCapability::default().with_list_changed(true));
        }
        if !self.experimental.is_empty() {
            capabilities.experimental = Some(self.experimental.clone());
        }
        capabilities
    }

    /// Connects and completes the handshake.
    ///
    /// # Errors
    /// The transport cannot be started, the server does not answer in time or refuses, or there
    /// is no common revision. The connection is closed then.
    ///
    /// # Cancel safety
    /// Dropping the future drops the connection.
    pub async fn connect(self, transport: impl Transport) -> Result<Client, Error> {
        let roots = self
            .roots
            .clone()
            .transpose()
            .map_err(|error| Error::Invalid(error.to_string()))?;
        // Before anything is agreed, the offer decides what the server may know of.
        let mut capabilities = self.capabilities();
        lower::client_capabilities(&mut capabilities, self.offer.rules());
        let progress = Arc::new(Table::default());
        let inbound = Arc::new(ClientInbound::new(
            self.handlers.clone(),
            capabilities.clone(),
            roots.unwrap_or_default(),
            Arc::clone(&progress),
        ));
        let connection = Box::new(transport)
            .start(Arc::<ClientInbound>::clone(&inbound))
            .await?;
        match self.shake_hands(&connection, &inbound, capabilities).await {
            Ok((server, revision)) => {
                let shared = Shared {
                    link: connection.link(),
                    connection,
                    inbound,
                    progress,
                    server,
                    revision,
                    timeouts: self.timeouts,
                    approve: self.handlers.approve,
                    outputs: std::sync::Mutex::default(),
                };
                Ok(Client::start(shared, self.keep_alive))
            }
            Err(error) => {
                if let Err(failure) = connection.close().await {
                    tracing::debug!(%failure, "closing after a failed handshake failed too");
                }
                Err(error)
            }
        }
    }

    async fn shake_hands(
        &self,
        connection: &Arc<dyn Connection>,
        inbound: &ClientInbound,
        capabilities: ClientCapabilities,
    ) -> Result<(InitializeResult, Revision), Error> {
        let offered = self.offer.as_str();
        let mut info = self.info.clone();
        lower::implementation(&mut info, self.offer.rules());
        let params = InitializeRequestParams::new(offered, capabilities, info);
        let params = serde_json::to_vec(&params).map_err(|e| Error::Invalid(e.to_string()))?;
        let link = connection.link();
        let limit = self.timeouts.idle.min(self.timeouts.cap);
        let answer = tokio::time::timeout(limit, link.request(method::INITIALIZE, Some(params)));
        let answer = answer.await.map_err(|_| Error::Timeout {
            method: method::INITIALIZE,
            setting: "idle",
            after: limit,
        })?;
        let raw = answer?.map_err(Error::Rejected)?;
        let result: InitializeResult = call::decode(InitializeRequest::METHOD, &raw)?;
        let Ok(revision) = result.protocol_version.parse::<Revision>() else {
            return Err(Error::Revision {
                offered,
                answered: result.protocol_version.chars().take(64).collect(),
            });
        };
        connection.negotiated(revision.as_str());
        inbound.agree(revision, result.server_info.clone());
        link.notify(
            method::NOTIFICATIONS_INITIALIZED,
            None,
            mcp_protocol::Delivery::Always,
        )
        .map_err(Error::Closed)?;
        Ok((result, revision))
    }
}
