//! Requests of servers to the host and to its user.
//!
//! The host names the server of each request with the name in the configuration, which the server does not choose.

mod elicitation;
mod limits;
mod logs;
mod roots;
mod sampling;

use std::sync::Arc;

use mcp_client::ClientBuilder;

pub use elicitation::{ElicitationContent, ElicitationHandler, ElicitationRequest};
pub use limits::ServerLimits;
pub use logs::{LogMessage, LogStream};
pub use sampling::{Model, SamplingRequest};

pub(crate) use logs::LogQueue;
pub(crate) use roots::{RootPaths, Roots};

use crate::consent::ServerGate;
use crate::supervise::nesting::RunningCalls;
use elicitation::{Elicitations, ShowForm, show_form};
use logs::{OpenQueue, ServerLog};
use sampling::{AskModel, Sampling, ask_model};

/// The features of the host that servers can use.
#[derive(Default)]
pub(crate) struct Coordination {
    pub(crate) limits: ServerLimits,
    pub(crate) roots: Option<RootPaths>,
    pub(crate) has_logs: bool,
    model: Option<AskModel>,
    forms: Option<ShowForm>,
}

impl Coordination {
    pub(crate) fn set_model(&mut self, model: impl Model) {
        self.model = Some(ask_model(model));
    }

    pub(crate) fn set_elicitation(&mut self, forms: impl ElicitationHandler) {
        self.forms = Some(show_form(forms));
    }

    /// Creates the stream of log messages.
    pub(crate) fn log_stream(&self) -> LogStream {
        LogStream(LogQueue::new(&self.limits, !self.has_logs))
    }

    /// Returns the value that adds handlers to the client of each server.
    pub(crate) fn into_handlers(self, logs: &LogStream) -> Handlers {
        Handlers {
            queue: Arc::new(OpenQueue(Arc::clone(&logs.0))),
            coordination: self,
        }
    }
}

/// The handlers for server requests and log messages, for the clients of all servers.
pub(crate) struct Handlers {
    coordination: Coordination,
    queue: Arc<OpenQueue>,
}

impl Handlers {
    /// Adds the handlers to the client of one server. `gate` decides about the requests of this server.
    pub(crate) fn add(
        &self,
        mut client: ClientBuilder,
        gate: &Arc<ServerGate>,
        calls: &Arc<RunningCalls>,
    ) -> ClientBuilder {
        let coordination = &self.coordination;
        let limits = &coordination.limits;
        if let Some(model) = &coordination.model {
            let (model, gate) = (Arc::clone(model), Arc::clone(gate));
            let sampling = Arc::new(Sampling::new(model, gate, Arc::clone(calls), limits));
            client = client.on_sample(move |sample| Arc::clone(&sampling).answer(sample));
        }
        if let Some(show) = &coordination.forms {
            let elicitations = Elicitations::new(Arc::clone(show), Arc::clone(gate), limits);
            let forms = Arc::new(elicitations);
            let urls = Arc::clone(&forms);
            client = client
                .on_elicit(move |form| {
                    let forms = Arc::clone(&forms);
                    async move { forms.form(form).await }
                })
                .on_elicit_url(move |url| {
                    let urls = Arc::clone(&urls);
                    async move { urls.url(url).await }
                });
        }
        if coordination.has_logs {
            let server = gate.server().to_owned();
            let log = ServerLog::new(server, Arc::clone(&self.queue), limits);
            client = client.on_log(move |params| log.push(params));
        }
        client
    }
}
