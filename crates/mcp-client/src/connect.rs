//! From a transport to a server that is known: by a question, by a handshake, or by both.

use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::{ErrorObject, RawJson};
use mcp_protocol::modern::{Probe, ProbeOutcome, ProbeStep};
use mcp_protocol::{CallError, Connection, Delivery, Revision, Timeouts, Transport, downgrade};
use mcp_types::v2026_07_28::{DiscoverResult, UnsupportedProtocolVersion};
use mcp_types::{
    ClientCapabilities, Implementation, InitializeRequestParams, InitializeResult, JsonObject,
    method,
};
use serde::Deserialize as _;
use tokio::time::timeout;

use crate::Error;
use crate::agreed::Agreed;
use crate::call::decode;
use crate::envelope::Envelope;
use crate::inbound::ClientInbound;
use crate::negotiation::{Negotiation, Policy};

/// What this side says of itself, and how it goes about it.
pub(crate) struct Opening {
    pub(crate) info: Implementation,
    /// Whether requests say who sends them, where that is not required.
    pub(crate) anonymous: bool,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) timeouts: Timeouts,
    pub(crate) policy: Policy,
}

/// A connection, and what was agreed over it.
pub(crate) type Opened = (Arc<dyn Connection>, Agreed);

/// One way to a server, while its era is being found out.
struct Way<'a> {
    opening: &'a Opening,
    inbound: &'a Arc<ClientInbound>,
    connection: Arc<dyn Connection>,
    spare: Option<Box<dyn Transport>>,
}

/// What the server said to `server/discover`.
#[expect(clippy::large_enum_variant, reason = "there is one, and not for long")]
enum Said {
    Discovered(DiscoverResult, Envelope),
    Refused(ErrorObject),
    Foreign,
    Silent(Error),
    Gone(Error),
}

impl Opening {
    /// Connects, and finds out whom to.
    pub(crate) async fn open(
        &self,
        transport: impl Transport,
        inbound: &Arc<ClientInbound>,
    ) -> Result<Opened, Error> {
        if self.policy.spoken().next().is_none() {
            return Err(Error::Invalid(format!(
                "no revision up to {} is of the era that was chosen",
                self.policy.newest
            )));
        }
        let transport: Box<dyn Transport> = Box::new(transport);
        let spare = transport.reconnect();
        let shared: Arc<ClientInbound> = Arc::clone(inbound);
        let mut way = Way {
            opening: self,
            inbound,
            connection: transport.start(shared).await?,
            spare,
        };
        match way.negotiate().await {
            Ok(agreed) => Ok((way.connection, agreed)),
            Err(error) => {
                way.close().await;
                Err(error)
            }
        }
    }

    fn silence(&self, is_pipe: bool) -> Duration {
        let patience = self.timeouts.idle.min(self.timeouts.total);
        match self.policy.negotiation {
            // It is known to be modern, so silence is a failure.
            Negotiation::Prior(_) => patience,
            _ if is_pipe => self.policy.silence.min(patience),
            _ => patience,
        }
    }
}

impl Way<'_> {
    async fn negotiate(&mut self) -> Result<Agreed, Error> {
        let policy = self.opening.policy;
        let prior = match policy.negotiation {
            Negotiation::Prior(verdict) => Some(verdict.revision()),
            _ => None,
        };
        let legacy = prior.filter(|it| !it.is_stateless() && *it <= policy.newest);
        if let Some(revision) = legacy {
            match self.initialize(revision).await {
                Err(Error::Rejected(error)) => {
                    tracing::debug!(%error, "the server is not what it was; finding out anew");
                }
                done => return done,
            }
        }
        let is_pipe = !self.connection.has_headers();
        self.find_out(Probe::new(policy.spoken(), is_pipe)).await
    }

    async fn find_out(&mut self, mut probe: Probe) -> Result<Agreed, Error> {
        let negotiation = self.opening.policy.negotiation;
        let mut step = probe.first();
        loop {
            step = match step {
                ProbeStep::Ask(revision) => {
                    let said = self.discover(revision).await?;
                    // What was modern before is not taken for legacy because it is slow.
                    if let (Said::Silent(_), Negotiation::Prior(_)) = (&said, negotiation) {
                        return Err(said.failure());
                    }
                    match (probe.next(said.probed()), said) {
                        (ProbeStep::Modern(revision), Said::Discovered(result, envelope)) => {
                            return Ok(self.agree_on(revision, result, envelope));
                        }
                        (ProbeStep::NothingInCommon, said) => return Err(said.nothing(revision)),
                        (ProbeStep::Surface | ProbeStep::Unknown, said) => {
                            return Err(said.failure());
                        }
                        (next, _) => {
                            tracing::debug!(?next, "what the server is");
                            next
                        }
                    }
                }
                ProbeStep::Restart(revision) => {
                    self.restart().await?;
                    ProbeStep::Initialize(revision)
                }
                ProbeStep::Initialize(revision) => match self.initialize(revision).await {
                    Err(Error::Rejected(error)) => match probe.reconsider(&error) {
                        Some(step) => step,
                        None => return Err(Error::Rejected(error)),
                    },
                    done => return done,
                },
                ProbeStep::Modern(_)
                | ProbeStep::Surface
                | ProbeStep::NothingInCommon
                | ProbeStep::Unknown => {
                    return Err(Error::Invalid("there is nothing to begin with".to_owned()));
                }
            };
        }
    }

    /// Asks the server what it is. What says nothing of that is an error.
    async fn discover(&mut self, revision: Revision) -> Result<Said, Error> {
        let opening = self.opening;
        let info = (!opening.anonymous).then_some(&opening.info);
        let envelope = Envelope::new(revision, info, opening.capabilities.clone())?;
        let params = envelope.params(&JsonObject::new());
        let link = self.connection.link();
        let call = link.request(method::SERVER_DISCOVER, Some(params));
        let patience = opening.silence(!self.connection.has_headers());
        let Ok(answer) = timeout(patience, call).await else {
            let setting = if patience == opening.policy.silence {
                "probe_timeout"
            } else {
                "idle"
            };
            return Ok(Said::Silent(Error::Timeout {
                method: method::SERVER_DISCOVER,
                setting,
                after: patience,
            }));
        };
        Ok(match answer {
            Ok(Ok(result)) => match result.decode() {
                Ok(result) => Said::Discovered(result, envelope),
                Err(error) => {
                    tracing::debug!(%error, "the server did not say what it is");
                    Said::Foreign
                }
            },
            Ok(Err(error)) => Said::Refused(error),
            Err(CallError::Failed(error)) if error.is_unknown_protocol() => Said::Foreign,
            Err(CallError::Malformed(_)) => Said::Foreign,
            Err(CallError::Closed(reason)) if reason.is_peer_gone() => {
                Said::Gone(Error::Closed(reason))
            }
            Err(error) => return Err(error.into()),
        })
    }

    fn agree_on(
        &mut self,
        revision: Revision,
        result: DiscoverResult,
        envelope: Envelope,
    ) -> Agreed {
        let agreed = Agreed::discovered(revision, result, envelope);
        self.connection.negotiated(revision.as_str());
        self.inbound.agree(revision, agreed.server.clone());
        agreed
    }

    /// The handshake.
    async fn initialize(&mut self, revision: Revision) -> Result<Agreed, Error> {
        let opening = self.opening;
        let (offered, rules) = (revision.as_str(), revision.rules());
        let mut info = opening.info.clone();
        downgrade::implementation(&mut info, rules);
        // Before anything is agreed, the offer decides what the server may know of.
        let mut capabilities = opening.capabilities.clone();
        downgrade::client_capabilities(&mut capabilities, rules);
        let params = InitializeRequestParams::new(offered, capabilities, info);
        let params = serde_json::to_vec(&params).map_err(|e| Error::Invalid(e.to_string()))?;
        let link = self.connection.link();
        let limit = opening.timeouts.idle.min(opening.timeouts.total);
        let answer = timeout(limit, link.request(method::INITIALIZE, Some(params)));
        let answer = answer.await.map_err(|_| Error::Timeout {
            method: method::INITIALIZE,
            setting: "idle",
            after: limit,
        })?;
        let raw: RawJson = answer?.map_err(Error::Rejected)?;
        let result: InitializeResult = decode(method::INITIALIZE, &raw)?;
        let answered = result.protocol_version.parse::<Revision>().ok();
        let Some(revision) = answered.filter(|it| !it.is_stateless()) else {
            return Err(Error::Revision {
                offered,
                answered: result.protocol_version.chars().take(64).collect(),
            });
        };
        self.connection.negotiated(revision.as_str());
        self.inbound.agree(revision, result.server_info.clone());
        link.notify(method::NOTIFICATIONS_INITIALIZED, None, Delivery::Always)
            .map_err(Error::Closed)?;
        Ok(Agreed::by_handshake(revision, result))
    }

    /// Another connection to the same server, which ended the first one.
    async fn restart(&mut self) -> Result<(), Error> {
        let reason = self.connection.closed().await;
        self.close().await;
        let Some(spare) = self.spare.take() else {
            return Err(Error::Closed(reason.with_detail(
                "it ended when it was asked for server/discover, as old servers may, and this \
                 transport cannot be started again; use Negotiation::Legacy",
            )));
        };
        tracing::debug!(%reason, "starting the server again, for a handshake");
        self.inbound.listener.reopen();
        let inbound: Arc<ClientInbound> = Arc::clone(self.inbound);
        self.connection = spare.start(inbound).await?;
        Ok(())
    }

    async fn close(&mut self) {
        if let Err(error) = self.connection.close().await {
            tracing::debug!(%error, "closing failed");
        }
    }
}

impl Said {
    fn probed(&self) -> ProbeOutcome<'_> {
        match self {
            Self::Discovered(result, _) => ProbeOutcome::Discovered(&result.supported_versions),
            Self::Refused(error) => ProbeOutcome::Refused(error),
            Self::Foreign => ProbeOutcome::UnknownProtocol,
            Self::Silent(_) => ProbeOutcome::TimedOut,
            Self::Gone(_) => ProbeOutcome::Closed,
        }
    }

    /// The error for a server with which nothing can be spoken.
    fn nothing(self, offered: Revision) -> Error {
        let answered = match &self {
            Self::Discovered(result, _) => result.supported_versions.join(", "),
            Self::Refused(error) => listed(error).unwrap_or_else(|| error.to_string()),
            Self::Foreign => "nothing of this protocol".to_owned(),
            Self::Silent(error) | Self::Gone(error) => error.to_string(),
        };
        Error::Revision {
            offered: offered.as_str(),
            answered: answered.chars().take(256).collect(),
        }
    }

    /// The error, if nothing follows from what was said.
    fn failure(self) -> Error {
        match self {
            Self::Refused(error) => Error::Rejected(error),
            Self::Silent(error) | Self::Gone(error) => error,
            Self::Discovered(..) | Self::Foreign => {
                Error::Protocol("the server does not say what it is".to_owned())
            }
        }
    }
}

/// The revisions that a refusal names.
fn listed(error: &ErrorObject) -> Option<String> {
    let data = UnsupportedProtocolVersion::deserialize(error.data.as_ref()?);
    data.ok().map(|data| data.supported.join(", "))
}
