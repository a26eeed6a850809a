//! Connects to a server over a transport, and negotiates the revision by a probe (`server/discover`), a handshake (`initialize`),
//! or both.

pub(crate) mod keep_alive;
pub(crate) mod negotiation;

use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::{ErrorObject, RawJson, TreeSize};
use mcp_protocol::modern::{Probe, ProbeOutcome, ProbeStep};
use mcp_protocol::{
    CallError, Connection, Delivery, Deviation, Revision, Timeouts, Tolerance, Transport, downgrade,
};
use mcp_types::v2026_07_28::{DiscoverResult, UnsupportedProtocolVersion};
use mcp_types::{
    ClientCapabilities, Implementation, InitializeRequestParams, InitializeResult, JsonObject,
    LoggingLevel, method,
};
use serde::Deserialize as _;
use tokio::time::{Instant, timeout, timeout_at};

use crate::Error;
use crate::inbound::ClientInbound;
use crate::request::meta::MetaTemplate;
use crate::request::{member, within_idle};
use crate::shared::Agreed;
use crate::tolerant;
use negotiation::{Negotiation, Policy};

/// The declarations of the client to the server, and the options of the connection.
pub(crate) struct ConnectOptions {
    pub(crate) info: Implementation,
    /// Whether optional client information is omitted.
    pub(crate) anonymous: bool,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) timeouts: Timeouts,
    pub(crate) connect_timeout: Duration,
    pub(crate) policy: Policy,
    pub(crate) tolerance: Arc<Tolerance>,
    /// Whether there is a callback for log messages.
    pub(crate) wants_log: bool,
}

pub(crate) type Connected = (Arc<dyn Connection>, Agreed);

/// A connection whose revision is being negotiated.
struct Connector<'a> {
    options: &'a ConnectOptions,
    inbound: &'a Arc<ClientInbound>,
    connection: Arc<dyn Connection>,
    spare: Option<Box<dyn Transport>>,
    /// The reason why `server/discover` failed, if the failure does not show which revision the server uses.
    failed_probe: Option<String>,
    /// Whether `server/discover` was sent on this connection.
    is_probed: bool,
}

/// The server's reply to `server/discover`.
#[expect(clippy::large_enum_variant, reason = "created once and short-lived")]
enum DiscoverReply {
    Discovered(DiscoverResult, MetaTemplate),
    Rejected(ErrorObject),
    UnknownProtocol,
    TimedOut(Error),
    Closed(Error),
    /// The reply does not show which revision the server uses.
    Inconclusive(Error),
}

impl ConnectOptions {
    /// Connects and negotiates the revision.
    pub(crate) async fn connect(
        &self,
        transport: Box<dyn Transport>,
        inbound: &Arc<ClientInbound>,
    ) -> Result<Connected, Error> {
        if self.policy.revisions().next().is_none() {
            return Err(Error::invalid(format!(
                "Negotiation::Stateless needs a stateless revision, but ClientBuilder::revision allows only revisions up to {}; choose another negotiation or a newer revision",
                self.policy.newest
            )));
        }
        let spare = transport.reconnect();
        let shared: Arc<ClientInbound> = Arc::clone(inbound);
        let deadline = Instant::now() + self.connect_timeout;
        let started = timeout_at(deadline, transport.start(shared)).await;
        let mut connector = Connector {
            options: self,
            inbound,
            connection: started.map_err(|_| self.too_slow())??,
            spare,
            failed_probe: None,
            is_probed: false,
        };
        let agreed = timeout_at(deadline, connector.negotiate()).await;
        match agreed.unwrap_or_else(|_| Err(self.too_slow())) {
            Ok(agreed) => Ok((connector.connection, agreed)),
            Err(error) => {
                connector.close().await;
                Err(connector.explain(error).await)
            }
        }
    }

    fn too_slow(&self) -> Error {
        Error::Timeout {
            method: "connect".into(),
            setting: "ClientBuilder::connect_timeout",
            after: self.connect_timeout,
            reason: None,
        }
    }

    fn probe_timeout(&self, is_pipe: bool) -> Duration {
        let limit = self.timeouts.idle.min(self.timeouts.total);
        match self.policy.negotiation {
            // No handshake can follow, so a missing response is a failure.
            Negotiation::Prior(_) | Negotiation::Stateless => limit,
            _ if is_pipe => self.policy.probe_timeout.min(limit),
            _ => limit,
        }
    }
}

impl Connector<'_> {
    async fn negotiate(&mut self) -> Result<Agreed, Error> {
        let policy = self.options.policy;
        let prior = match policy.negotiation {
            Negotiation::Prior(known) => Some(known.revision()),
            _ => None,
        };
        let session_based = prior.filter(|known| !known.is_stateless() && *known <= policy.newest);
        if let Some(revision) = session_based {
            match self.initialize(revision).await {
                Err(Error::Rejected(error)) => {
                    tracing::debug!(%error, "the server changed since the last connection; \
                     negotiating again");
                }
                done => return done,
            }
        }
        let is_pipe = !self.connection.has_headers();
        self.probe(Probe::new(policy.revisions(), is_pipe)).await
    }

    async fn probe(&mut self, mut probe: Probe) -> Result<Agreed, Error> {
        let mut step = probe.first();
        loop {
            let next = match step {
                ProbeStep::Ask(revision) => self.ask(&mut probe, revision).await?,
                ProbeStep::Restart(revision) => {
                    self.restart().await?;
                    Continue(ProbeStep::Initialize(revision))
                }
                ProbeStep::Initialize(revision) => self.open(&mut probe, revision).await?,
                ProbeStep::Stateless(_)
                | ProbeStep::Surface
                | ProbeStep::NothingInCommon
                | ProbeStep::Unknown => {
                    return Err(Error::invalid(
                        "the negotiation settings allow no revision to connect with; change ClientBuilder::revision or ClientBuilder::negotiation".to_owned(),
                    ));
                }
            };
            step = match next {
                Continue(step) => step,
                Break(agreed) => return Ok(agreed),
            };
        }
    }

    /// Sends `server/discover`, and decides the next step.
    async fn ask(
        &mut self,
        probe: &mut Probe,
        revision: Revision,
    ) -> Result<ControlFlow<Agreed, ProbeStep>, Error> {
        let reply = self.discover(revision).await?;
        // A slow stateless server is not mistaken for a session-based one.
        let is_final = matches!(
            self.options.policy.negotiation,
            Negotiation::Prior(_) | Negotiation::Stateless
        );
        match &reply {
            DiscoverReply::TimedOut(_) | DiscoverReply::Inconclusive(_) if is_final => {
                return Err(reply.into_error());
            }
            DiscoverReply::TimedOut(error) | DiscoverReply::Inconclusive(error) => {
                self.failed_probe = Some(error.to_string());
            }
            _ => {}
        }
        match (probe.next(reply.outcome()), reply) {
            (ProbeStep::Stateless(revision), DiscoverReply::Discovered(result, meta)) => {
                Ok(Break(self.agree_on(revision, result, meta)))
            }
            (ProbeStep::NothingInCommon, DiscoverReply::Inconclusive(error)) => {
                self.failed_probe = None;
                Err(error)
            }
            (ProbeStep::NothingInCommon, reply) => Err(reply.no_common_revision(revision)),
            (ProbeStep::Surface | ProbeStep::Unknown, reply) => Err(reply.into_error()),
            (next, _) => {
                tracing::debug!(?next, "the server's revision");
                Ok(Continue(next))
            }
        }
    }

    /// Performs the handshake, and decides the next step if the server refuses it.
    async fn open(
        &mut self,
        probe: &mut Probe,
        revision: Revision,
    ) -> Result<ControlFlow<Agreed, ProbeStep>, Error> {
        let can_restart = self.spare.is_some() && self.is_probed;
        match self.initialize(revision).await {
            Err(Error::Rejected(error)) => match probe.reconsider(&error) {
                Some(step) => Ok(Continue(step)),
                // Some servers reject every message after they have received a message before `initialize`.
                None if can_restart && !self.connection.has_headers() => {
                    self.failed_probe = Some(error.to_string());
                    self.close().await;
                    Ok(Continue(ProbeStep::Restart(revision)))
                }
                None => Err(Error::Rejected(error)),
            },
            // In some servers, the unknown method `server/discover` ends the session, but the server
            // exits only at the next message.
            Err(Error::Closed(reason)) if can_restart && !reason.is_local() => {
                self.failed_probe = Some(format!(
                    "{reason}; the server might reject messages before initialize"
                ));
                Ok(Continue(ProbeStep::Restart(revision)))
            }
            done => done.map(Break),
        }
    }

    /// Sends `server/discover`. Returns an error if the reply does not show which revision the server uses.
    async fn discover(&mut self, revision: Revision) -> Result<DiscoverReply, Error> {
        let options = self.options;
        let info = (!options.anonymous).then_some(&options.info);
        let meta = MetaTemplate::new(revision, info, options.capabilities.clone())?;
        let params = meta.write(&JsonObject::new(), None, &[]);
        let link = self.connection.link();
        let method = method::SERVER_DISCOVER;
        let is_pipe = !self.connection.has_headers();
        let mut extras = meta.extras(None);
        if !matches!(
            options.policy.negotiation,
            Negotiation::Prior(_) | Negotiation::Stateless
        ) {
            extras.response_timeout = Some(options.policy.probe_timeout);
        }
        let call = link.request_with(method.into(), Some(params), extras);
        self.is_probed = true;
        let limit = options.probe_timeout(is_pipe);
        let Ok(answer) = timeout(limit, call).await else {
            let setting = if limit == options.policy.probe_timeout {
                "ClientBuilder::probe_timeout"
            } else {
                "Timeouts::idle"
            };
            return Ok(DiscoverReply::TimedOut(Error::Timeout {
                method: method::SERVER_DISCOVER.into(),
                setting,
                after: limit,
                reason: None,
            }));
        };
        if let Ok(Ok(result)) = &answer {
            check_size(method, result)?;
        }
        Ok(match answer {
            Ok(Ok(result)) => match tolerant::decode(method, &result, &options.tolerance) {
                Ok(result) => DiscoverReply::Discovered(result, meta),
                // Only a server of the stateless revision names its revisions.
                Err(error) if member(&result, "supportedVersions").is_some() => return Err(error),
                Err(error) => {
                    tracing::debug!(%error, "the server did not respond to server/discover");
                    DiscoverReply::UnknownProtocol
                }
            },
            Ok(Err(error)) => DiscoverReply::Rejected(error),
            Err(CallError::Failed(error)) if error.is_unknown_protocol() => {
                DiscoverReply::UnknownProtocol
            }
            Err(CallError::Failed(error)) if error.is_inconclusive() => {
                DiscoverReply::Inconclusive(CallError::Failed(error).into())
            }
            Err(CallError::Malformed(_)) => DiscoverReply::UnknownProtocol,
            Err(CallError::Closed(reason)) if reason.is_peer_gone() => {
                DiscoverReply::Closed(Error::Closed(reason))
            }
            Err(error) => return Err(error.into()),
        })
    }

    fn agree_on(
        &mut self,
        revision: Revision,
        result: DiscoverResult,
        meta: MetaTemplate,
    ) -> Agreed {
        if self.options.wants_log && result.capabilities.logging.is_some() {
            meta.set_level(LoggingLevel::Info);
        }
        let agreed = Agreed::from_discovery(revision, result, meta);
        self.connection.negotiated(revision.as_str());
        self.inbound.agree(
            revision,
            agreed.server.clone(),
            agreed.capabilities.extensions.clone(),
        );
        agreed
    }

    /// Performs the handshake.
    async fn initialize(&mut self, revision: Revision) -> Result<Agreed, Error> {
        let options = self.options;
        let (offered, rules) = (revision.as_str(), revision.rules());
        let mut info = options.info.clone();
        downgrade::implementation(&mut info, rules);
        // Before the negotiation, the offered revision decides which capabilities are declared.
        let mut capabilities = options.capabilities.clone();
        downgrade::client_capabilities(&mut capabilities, rules);
        let params = InitializeRequestParams::new(offered, capabilities, info);
        let params = serde_json::to_vec(&params).map_err(|e| Error::invalid(e.to_string()))?;
        let link = self.connection.link();
        let limit = options.timeouts.idle.min(options.timeouts.total);
        let call = link.request(method::INITIALIZE, Some(params));
        let answer = within_idle(method::INITIALIZE, limit, call).await?;
        let raw: RawJson = answer?.map_err(Error::Rejected)?;
        check_size(method::INITIALIZE, &raw)?;
        let tolerance = &options.tolerance;
        let result: InitializeResult = tolerant::decode(method::INITIALIZE, &raw, tolerance)?;
        let answered = self.answered(&result.protocol_version);
        let Some(revision) = answered.filter(|revision| !revision.is_stateless()) else {
            return Err(Error::Revision {
                offered,
                answered: result.protocol_version.chars().take(64).collect(),
            });
        };
        self.connection.negotiated(revision.as_str());
        self.inbound.agree(
            revision,
            result.server_info.clone(),
            result.capabilities.extensions.clone(),
        );
        link.notify(method::NOTIFICATIONS_INITIALIZED, None, Delivery::Always)
            .map_err(Error::Closed)?;
        Ok(Agreed::from_handshake(revision, result))
    }

    /// Returns the known revision for the `version` that the server has selected. If `version` is older than all known revisions,
    /// returns the oldest known revision.
    fn answered(&self, version: &str) -> Option<Revision> {
        let oldest = Revision::ALL[0];
        let is_date = version.len() == 10 && version.starts_with("202");
        if is_date
            && version < oldest.as_str()
            && self
                .options
                .tolerance
                .admits(Deviation::UnknownRevision, version)
        {
            return Some(oldest);
        }
        version.parse().ok()
    }

    /// Connects to the server again, because the server has ended the first connection.
    async fn restart(&mut self) -> Result<(), Error> {
        let reason = self.connection.closed().await;
        self.close().await;
        let Some(spare) = self.spare.take() else {
            return Err(Error::Closed(reason.with_detail(
                "the server ended the connection after server/discover, as some old servers do, and \
                 this transport cannot reconnect; use Negotiation::SessionBased",
            )));
        };
        tracing::debug!(%reason, "reconnecting to the server for a handshake");
        self.inbound.listener.reopen();
        let inbound: Arc<ClientInbound> = Arc::clone(self.inbound);
        self.connection = spare.start(inbound).await?;
        self.is_probed = false;
        Ok(())
    }

    /// Adds the transport's information about the peer to an error. Call it after [`close`](Self::close).
    async fn explain(&mut self, cause: Error) -> Error {
        let details = match &cause {
            // This error already contains the details.
            Error::Closed(_) => Vec::new(),
            _ => self.connection.closed().await.details().to_vec(),
        };
        let mut details = details;
        // If the server answers all requests with the same error, the error is reported once.
        let same = cause
            .to_string()
            .replace(method::INITIALIZE, method::SERVER_DISCOVER);
        let probe = self.failed_probe.take().filter(|error| *error != same);
        details.extend(probe.map(|error| format!("server/discover failed before: {error}")));
        Error::Connect {
            cause: Box::new(cause),
            details,
        }
    }

    async fn close(&mut self) {
        if let Err(error) = self.connection.close().await {
            tracing::debug!(%error, "closing failed");
        }
    }
}

impl DiscoverReply {
    fn outcome(&self) -> ProbeOutcome<'_> {
        match self {
            Self::Discovered(result, _) => ProbeOutcome::Discovered(&result.supported_versions),
            Self::Rejected(error) => ProbeOutcome::Refused(error),
            Self::UnknownProtocol => ProbeOutcome::UnknownProtocol,
            Self::TimedOut(_) => ProbeOutcome::TimedOut,
            Self::Closed(_) => ProbeOutcome::Closed,
            Self::Inconclusive(_) => ProbeOutcome::Inconclusive,
        }
    }

    /// Creates the error for a server that supports no revision of this client.
    fn no_common_revision(self, offered: Revision) -> Error {
        let answered = match &self {
            Self::Discovered(result, _) => result.supported_versions.join(", "),
            Self::Rejected(error) => listed(error).unwrap_or_else(|| error.to_string()),
            Self::UnknownProtocol => "a response that is not an MCP message".to_owned(),
            Self::TimedOut(error) | Self::Closed(error) | Self::Inconclusive(error) => {
                error.to_string()
            }
        };
        Error::Revision {
            offered: offered.as_str(),
            answered: answered.chars().take(256).collect(),
        }
    }

    /// Returns the error for a reply after which the client cannot connect.
    fn into_error(self) -> Error {
        match self {
            Self::Rejected(error) => Error::Rejected(error),
            Self::TimedOut(error) | Self::Closed(error) | Self::Inconclusive(error) => error,
            Self::Discovered(..) | Self::UnknownProtocol => {
                Error::protocol("the server does not say which revisions it supports".to_owned())
            }
        }
    }
}

fn listed(error: &ErrorObject) -> Option<String> {
    let data = UnsupportedProtocolVersion::deserialize(error.data.as_ref()?);
    data.ok().map(|data| data.supported.join(", "))
}

/// Maximum memory of the server information from the handshake, in bytes. A client keeps this information as long as the
/// connection, and a gateway keeps it for each connection.
const MAX_SERVER_BYTES: usize = 1 << 20;

fn check_size(method: &str, result: &RawJson) -> Result<(), Error> {
    let bytes = TreeSize::of(result).heap_bytes();
    match bytes > MAX_SERVER_BYTES {
        true => Err(Error::protocol(format!(
            "the description of the server in the result of {method} needs {bytes} bytes of memory; the limit is {MAX_SERVER_BYTES}"
        ))),
        false => Ok(()),
    }
}
