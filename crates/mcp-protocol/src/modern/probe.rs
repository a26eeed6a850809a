//! What a client makes of a server whose era it does not know.
//!
//! The client asks for `server/discover` and does what [`Probe::next`] makes of the outcome. Only
//! what is positively modern keeps it from falling back to a handshake; no code of an error is
//! singled out.
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

/// What came of asking a server for `server/discover`.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_enums, reason = "the decision is over all of them")]
pub enum ProbeOutcome<'a> {
    /// It tells which revisions it speaks.
    Discovered(&'a [String]),
    /// It refuses, in words of this protocol.
    Refused(&'a ErrorObject),
    /// It was reached, and what it says is nothing of this protocol.
    UnknownProtocol,
    /// It says nothing, for long enough.
    TimedOut,
    /// The pipe ended.
    Closed,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a client has to know each of them")]
pub enum ProbeStep {
    /// It is modern; speak this revision from now on.
    Modern(Revision),
    /// Ask once more, in this revision.
    Ask(Revision),
    /// It is legacy; open with a handshake that offers this revision.
    Initialize(Revision),
    /// The same, over a new connection.
    Restart(Revision),
    /// It is modern, and its refusal stands.
    Surface,
    /// Nothing it speaks is spoken here.
    NothingInCommon,
    /// Its era is still unknown: the failure stands.
    Unknown,
}

/// Finds out the era of one server.
#[derive(Debug, Clone)]
pub struct Probe {
    spoken: Vec<Revision>,
    pipe: bool,
    asked_again: bool,
    reconsidered: bool,
}

impl Probe {
    /// A client that speaks these revisions. On a `pipe` silence and its end tell something, over
    /// HTTP they do not.
    pub fn new(spoken: impl IntoIterator<Item = Revision>, pipe: bool) -> Self {
        Self {
            spoken: spoken.into_iter().collect(),
            pipe,
            asked_again: false,
            reconsidered: false,
        }
    }

    /// Where to begin.
    pub fn first(&self) -> ProbeStep {
        match self.newest(true, |_| true) {
            Some(revision) => ProbeStep::Ask(revision),
            None => self.fall_back(),
        }
    }

    /// What to do after this outcome.
    pub fn next(&mut self, outcome: ProbeOutcome<'_>) -> ProbeStep {
        match outcome {
            ProbeOutcome::Discovered(versions) => match self.common(true, versions) {
                Some(revision) => ProbeStep::Modern(revision),
                None => self.handshake_at(versions),
            },
            ProbeOutcome::Refused(error) => self.refused(error),
            ProbeOutcome::UnknownProtocol => self.fall_back(),
            ProbeOutcome::TimedOut if self.pipe => self.fall_back(),
            ProbeOutcome::Closed if self.pipe => match self.fall_back() {
                ProbeStep::Initialize(revision) => ProbeStep::Restart(revision),
                other => other,
            },
            ProbeOutcome::TimedOut | ProbeOutcome::Closed => ProbeStep::Unknown,
        }
    }

    /// The handshake was refused. A slow server may have got the probe late: if it turns out to be
    /// modern it is asked once more. `None` if the refusal stands.
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

    fn common(&self, modern: bool, versions: &[String]) -> Option<Revision> {
        self.newest(modern, |it| versions.iter().any(|name| name == it.as_str()))
    }

    fn newest(&self, modern: bool, fits: impl Fn(Revision) -> bool) -> Option<Revision> {
        let spoken = self.spoken.iter().copied();
        spoken
            .filter(|it| it.is_stateless() == modern && fits(*it))
            .max()
    }
}

/// The revisions that an error lists which only a modern server answers with.
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

    /// The first two steps on a pipe and over HTTP.
    fn both(outcome: ProbeOutcome<'_>) -> (ProbeStep, ProbeStep) {
        let step = |pipe| {
            let mut probe = Probe::new(Revision::ALL, pipe);
            assert_eq!(probe.first(), ProbeStep::Ask(V2026_07_28));
            probe.next(outcome)
        };
        (step(true), step(false))
    }

    fn discovered(versions: &[&str]) -> (ProbeStep, ProbeStep) {
        let versions: Vec<String> = versions.iter().map(|it| (*it).to_owned()).collect();
        both(ProbeOutcome::Discovered(&versions))
    }

    fn alike(step: ProbeStep) -> (ProbeStep, ProbeStep) {
        (step, step)
    }

    // proves: M-VER-004, M-VER-010, M-VER-011, M-VER-023, M-STDIO-022, M-STDIO-023, M-STDIO-024
    // proves: M-STDIO-025, M-STDIO-027, M-HTTP-052, M-HTTP-053, M-HTTP-054
    #[test]
    fn each_outcome_has_its_step() {
        let modern = alike(ProbeStep::Modern(V2026_07_28));
        assert_eq!(discovered(&["2026-07-28"]), modern);
        let mixed = ["2099-01-01", "2026-07-28", "2025-11-25"];
        assert_eq!(discovered(&mixed), modern);
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
        // The number alone is no evidence.
        assert_eq!(refused(&refusal(-32022, json!("gone"))), newest);

        assert_eq!(both(ProbeOutcome::UnknownProtocol), newest);
        let handshake = ProbeStep::Initialize(V2025_11_25);
        assert_eq!(
            both(ProbeOutcome::TimedOut),
            (handshake, ProbeStep::Unknown)
        );
        let restart = ProbeStep::Restart(V2025_11_25);
        assert_eq!(both(ProbeOutcome::Closed), (restart, ProbeStep::Unknown));
    }

    #[test]
    fn a_server_that_names_what_it_refuses_is_asked_twice_and_no_more() {
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
    fn a_handshake_that_a_modern_server_refuses_leads_to_one_more_question() {
        let mut probe = Probe::new(Revision::ALL, true);
        let plain = refusal(-32601, json!({}));
        assert_eq!(probe.reconsider(&plain), None);
        assert_eq!(probe.reconsider(&unsupported(&["2025-11-25"])), None);
        let modern = unsupported(&["2026-07-28"]);
        assert_eq!(probe.reconsider(&modern), Some(ProbeStep::Ask(V2026_07_28)));
        assert_eq!(probe.reconsider(&modern), None);
    }

    // proves: M-VER-015, M-VER-021, M-STDIO-026
    #[test]
    fn who_speaks_one_era_does_not_pretend_to_speak_the_other() {
        let mut modern = Probe::new([V2026_07_28], true);
        assert_eq!(modern.first(), ProbeStep::Ask(V2026_07_28));
        let none = refusal(-32601, json!({}));
        for outcome in [
            ProbeOutcome::Refused(&none),
            ProbeOutcome::TimedOut,
            ProbeOutcome::Closed,
        ] {
            assert_eq!(modern.next(outcome), ProbeStep::NothingInCommon);
        }
        let legacy = Probe::new(Revision::WITH_SESSIONS, true);
        assert_eq!(legacy.first(), ProbeStep::Initialize(V2025_11_25));
    }
}
