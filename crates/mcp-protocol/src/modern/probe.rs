//! Selection of the revision of an unknown server.
//!
//! A client sends `server/discover` and passes the outcome to [`Probe::next`]. The client falls back to `initialize` unless the
//! outcome proves that the server supports the stateless revision. A single error code is not such a proof.
//!
//! Specification: backward compatibility, of [versioning][1], [stdio][2] and [HTTP][3].
//!
//! [1]: https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions
//! [2]: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#backward-compatibility
//! [3]: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#backward-compatibility

use mcp_jsonrpc::{ErrorCode, ErrorObject};
use mcp_types::v2026_07_28::UnsupportedProtocolVersion;
use serde::Deserialize;

use crate::Revision;

/// The outcome of `server/discover`.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the probe decides over all outcomes"
)]
pub enum ProbeOutcome<'a> {
    /// The server has returned its supported revisions.
    Discovered(&'a [String]),
    /// The server has returned a JSON-RPC error.
    Refused(&'a ErrorObject),
    /// The server was reached, but its response is not MCP.
    UnknownProtocol,
    /// The server did not answer in time.
    TimedOut,
    /// The connection was closed.
    Closed,
    /// The server was reached, but its response does not show the revision. An example is an HTTP status about overload. The
    /// request may not have reached an MCP server, so the client tries `initialize`.
    Inconclusive,
}

/// The next step of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a client must handle every step")]
pub enum ProbeStep {
    /// The server supports the stateless revision; use this revision.
    Stateless(Revision),
    /// Send `server/discover` with this revision.
    Ask(Revision),
    /// The server is session-based; send `initialize` with this revision.
    Initialize(Revision),
    /// Open a new connection and send `initialize` with this revision.
    Restart(Revision),
    /// The server supports the stateless revision. Report its error to the caller.
    Surface,
    /// Client and server have no revision in common.
    NothingInCommon,
    /// The revision is still unknown. Report the failure to the caller.
    Unknown,
}

/// A probe. It decides which requests a client sends to find out the revision of one server.
#[derive(Debug, Clone)]
pub struct Probe {
    spoken: Vec<Revision>,
    pipe: bool,
    asked_again: bool,
    reconsidered: bool,
}

impl Probe {
    /// Creates a probe for a client that supports these revisions. If `pipe` is `true`, a closed connection means that the server
    /// is session-based. Over HTTP, a closed connection does not show the revision.
    pub fn new(spoken: impl IntoIterator<Item = Revision>, pipe: bool) -> Self {
        Self {
            spoken: spoken.into_iter().collect(),
            pipe,
            asked_again: false,
            reconsidered: false,
        }
    }

    /// Returns the first step of the client.
    pub fn first(&self) -> ProbeStep {
        match self.newest(true, |_| true) {
            Some(revision) => ProbeStep::Ask(revision),
            None => self.fall_back(),
        }
    }

    /// Returns the step that follows this outcome.
    pub fn next(&mut self, outcome: ProbeOutcome<'_>) -> ProbeStep {
        match outcome {
            ProbeOutcome::Discovered(versions) => match self.common(true, versions) {
                Some(revision) => ProbeStep::Stateless(revision),
                None => self.handshake_at(versions),
            },
            ProbeOutcome::Refused(error) => self.refused(error),
            ProbeOutcome::UnknownProtocol => self.fall_back(),
            ProbeOutcome::TimedOut | ProbeOutcome::Inconclusive => self.fall_back(),
            ProbeOutcome::Closed if self.pipe => match self.fall_back() {
                ProbeStep::Initialize(revision) => ProbeStep::Restart(revision),
                other => other,
            },
            ProbeOutcome::Closed => ProbeStep::Unknown,
        }
    }

    /// Returns the step that follows a rejected `initialize`. A stateless server may have answered the probe too late. If the
    /// error shows that the server is stateless, the step is to send `server/discover` once more. Returns `None` if the error
    /// must be reported.
    pub fn reconsider(&mut self, error: &ErrorObject) -> Option<ProbeStep> {
        let revision = self.common(true, &supported(error)?)?;
        (!std::mem::replace(&mut self.reconsidered, true)).then_some(ProbeStep::Ask(revision))
    }

    fn refused(&mut self, error: &ErrorObject) -> ProbeStep {
        if let Some(versions) = supported(error) {
            return match self.common(true, &versions) {
                Some(_) if std::mem::replace(&mut self.asked_again, true) => ProbeStep::Surface,
                Some(revision) => ProbeStep::Ask(revision),
                None => self.handshake_at(&versions),
            };
        }
        match error.code {
            ErrorCode::HEADER_MISMATCH | ErrorCode::MISSING_CLIENT_CAPABILITY => ProbeStep::Surface,
            _ => self.fall_back(),
        }
    }

    fn handshake_at(&self, versions: &[String]) -> ProbeStep {
        self.common(false, versions)
            .map_or(ProbeStep::NothingInCommon, ProbeStep::Initialize)
    }

    fn fall_back(&self) -> ProbeStep {
        self.newest(false, |_| true)
            .map_or(ProbeStep::NothingInCommon, ProbeStep::Initialize)
    }

    fn common(&self, stateless: bool, versions: &[String]) -> Option<Revision> {
        self.newest(stateless, |revision| {
            versions.iter().any(|name| name == revision.as_str())
        })
    }

    fn newest(&self, stateless: bool, fits: impl Fn(Revision) -> bool) -> Option<Revision> {
        let spoken = self.spoken.iter().copied();
        spoken
            .filter(|revision| revision.is_stateless() == stateless && fits(*revision))
            .max()
    }
}

/// Returns the supported revisions from an error that only servers of the stateless revision send. Returns `None` for other
/// errors.
fn supported(error: &ErrorObject) -> Option<Vec<String>> {
    if error.code != UnsupportedProtocolVersion::CODE {
        return None;
    }
    let data = UnsupportedProtocolVersion::deserialize(error.data.as_ref()?);
    data.ok().map(|data| data.supported)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use Revision::{V2025_06_18, V2025_11_25, V2026_07_28};

    fn unsupported(versions: &[&str]) -> ErrorObject {
        let data = json!({ "supported": versions, "requested": "2026-07-28" });
        refusal(-32022, data)
    }

    fn refusal(code: i64, data: Value) -> ErrorObject {
        ErrorObject::new(ErrorCode(code), "no").with_data(data)
    }

    /// Returns the step after `outcome`, first on a pipe and then over HTTP.
    fn both(outcome: ProbeOutcome<'_>) -> (ProbeStep, ProbeStep) {
        let step = |pipe| {
            let mut probe = Probe::new(Revision::ALL, pipe);
            assert_eq!(probe.first(), ProbeStep::Ask(V2026_07_28));
            probe.next(outcome)
        };
        (step(true), step(false))
    }

    fn discovered(versions: &[&str]) -> (ProbeStep, ProbeStep) {
        let versions: Vec<String> = versions
            .iter()
            .map(|version| (*version).to_owned())
            .collect();
        both(ProbeOutcome::Discovered(&versions))
    }

    fn alike(step: ProbeStep) -> (ProbeStep, ProbeStep) {
        (step, step)
    }

    // proves: M-VER-004, M-VER-010, M-VER-011, M-VER-023, M-STDIO-022, M-STDIO-023, M-STDIO-024
    // proves: M-STDIO-025, M-STDIO-027, M-HTTP-052, M-HTTP-053, M-HTTP-054
    #[test]
    fn each_outcome_leads_to_the_right_step() {
        let stateless = alike(ProbeStep::Stateless(V2026_07_28));
        assert_eq!(discovered(&["2026-07-28"]), stateless);
        let mixed = ["2099-01-01", "2026-07-28", "2025-11-25"];
        assert_eq!(discovered(&mixed), stateless);
        let newest = alike(ProbeStep::Initialize(V2025_11_25));
        assert_eq!(discovered(&["2025-06-18", "2025-11-25"]), newest);
        let older = alike(ProbeStep::Initialize(V2025_06_18));
        assert_eq!(discovered(&["2099-01-01", "2025-06-18"]), older);
        assert_eq!(
            discovered(&["2099-01-01"]),
            alike(ProbeStep::NothingInCommon)
        );
        assert_eq!(discovered(&[]), alike(ProbeStep::NothingInCommon));

        let refused = |error: &ErrorObject| both(ProbeOutcome::Refused(error));
        let again = alike(ProbeStep::Ask(V2026_07_28));
        assert_eq!(refused(&unsupported(&["2026-07-28"])), again);
        assert_eq!(refused(&unsupported(&["2025-11-25"])), newest);
        assert_eq!(refused(&unsupported(&["2025-06-18"])), older);
        let nothing = alike(ProbeStep::NothingInCommon);
        assert_eq!(refused(&unsupported(&["2099-01-01"])), nothing);
        assert_eq!(refused(&unsupported(&[])), nothing);
        for code in [-32020, -32021] {
            assert_eq!(
                refused(&refusal(code, json!({}))),
                alike(ProbeStep::Surface)
            );
        }
        for code in [-32601, -32602, -32600, -32000, -32001, -32603, -32700, -1] {
            assert_eq!(refused(&refusal(code, json!({}))), newest, "{code}");
        }
        // The error code alone does not decide.
        assert_eq!(refused(&refusal(-32022, json!("gone"))), newest);

        assert_eq!(both(ProbeOutcome::UnknownProtocol), newest);
        let handshake = ProbeStep::Initialize(V2025_11_25);
        for outcome in [ProbeOutcome::TimedOut, ProbeOutcome::Inconclusive] {
            assert_eq!(both(outcome), alike(handshake));
        }
        let restart = ProbeStep::Restart(V2025_11_25);
        assert_eq!(both(ProbeOutcome::Closed), (restart, ProbeStep::Unknown));
    }

    #[test]
    fn a_server_that_rejects_a_listed_version_is_probed_at_most_twice() {
        let mut probe = Probe::new(Revision::ALL, true);
        let error = unsupported(&["2026-07-28"]);
        assert_eq!(
            probe.next(ProbeOutcome::Refused(&error)),
            ProbeStep::Ask(V2026_07_28)
        );
        assert_eq!(
            probe.next(ProbeOutcome::Refused(&error)),
            ProbeStep::Surface
        );
    }

    #[test]
    fn an_initialize_rejected_by_a_stateless_server_leads_to_one_more_probe() {
        let mut probe = Probe::new(Revision::ALL, true);
        let plain = refusal(-32601, json!({}));
        assert_eq!(probe.reconsider(&plain), None);
        assert_eq!(probe.reconsider(&unsupported(&["2025-11-25"])), None);
        let stateless = unsupported(&["2026-07-28"]);
        assert_eq!(
            probe.reconsider(&stateless),
            Some(ProbeStep::Ask(V2026_07_28))
        );
        assert_eq!(probe.reconsider(&stateless), None);
    }

    // proves: M-VER-015, M-VER-021, M-STDIO-026
    #[test]
    fn a_client_restricted_to_one_kind_of_revisions_does_not_use_the_other_kind() {
        let mut stateless = Probe::new([V2026_07_28], true);
        assert_eq!(stateless.first(), ProbeStep::Ask(V2026_07_28));
        let none = refusal(-32601, json!({}));
        for outcome in [
            ProbeOutcome::Refused(&none),
            ProbeOutcome::TimedOut,
            ProbeOutcome::Closed,
        ] {
            assert_eq!(stateless.next(outcome), ProbeStep::NothingInCommon);
        }
        let session_based = Probe::new(Revision::WITH_SESSIONS, true);
        assert_eq!(session_based.first(), ProbeStep::Initialize(V2025_11_25));
    }
}
