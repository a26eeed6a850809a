//! Consent: what the host asks a person before it acts for a server, and the answers.

mod approvals;
mod audit;
mod flow;
mod gate;
mod policy;
mod question;
mod redact;
mod text;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use approvals::{Approval, ApprovalFile, ApprovalKey, ApprovalStore};
pub use audit::AuditLog;
pub(crate) use flow::FlowLabels;
pub(crate) use gate::{Basis, Gate, ServerGate};
pub use policy::{Effect, Policy, PolicyRule};
pub use question::{Question, Subject};
pub use text::printable;
pub(crate) use text::{plain_url, quote_lines};

/// Asks a person. A closure from [`Question`] to a future with a [`Decision`] implements it.
///
/// ```
/// use mcp_host::{Consent, Decision, Question};
///
/// struct Terminal;
///
/// impl Consent for Terminal {
///     async fn ask(&self, question: Question) -> Decision {
///         println!("{question}");
///         Decision::No // replace with the answer of the person
///     }
/// }
/// ```
pub trait Consent: Send + Sync + 'static {
    /// Shows the question and returns the answer. Questions about one server are asked one after
    /// another, those about several servers at the same time.
    ///
    /// # Cancel safety
    /// The host drops the future when the answer is no longer needed, for example because the
    /// caller dropped its call. Remove the question from the display then.
    fn ask(&self, question: Question) -> impl Future<Output = Decision> + Send;
}

impl<F, A> Consent for F
where
    F: Fn(Question) -> A + Send + Sync + 'static,
    A: Future<Output = Decision> + Send,
{
    fn ask(&self, question: Question) -> impl Future<Output = Decision> + Send {
        self(question)
    }
}

/// The answer to a [`Question`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Decision {
    /// The action is denied.
    No,
    /// The action is allowed this time. A connection that ends is made again without a question,
    /// until the application stops or restarts the server.
    Once,
    /// The action is allowed until the host ends, or until the definition changes.
    Session,
    /// The action is allowed until the definition changes, also for later hosts with the same
    /// [`ApprovalStore`]. Without a store it is as [`Session`](Self::Session).
    Always,
}

/// The kind of an action that needs consent: a name in [policies](Policy), [approvals](ApprovalKey) and
/// the [audit log](AuditLog).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ActionKind {
    /// Starting a server or connecting to its URL.
    Connect,
    /// A call of a tool.
    CallTool,
    /// A sampling request of a server, before the model gets it. An answer for longer than once is for all
    /// later requests of the server.
    SamplingRequest,
    /// The result of a sampling request, before the server gets it. An answer for longer than once is for all
    /// later results for the server.
    SamplingResult,
    /// A form of a server. It is shown if no rule denies it: the form is the question.
    ElicitForm,
    /// A URL that a server asks the user to open. It is shown if no rule denies it.
    ElicitUrl,
}

impl fmt::Display for ActionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connect",
            Self::CallTool => "callTool",
            Self::SamplingRequest => "samplingRequest",
            Self::SamplingResult => "samplingResult",
            Self::ElicitForm => "elicitForm",
            Self::ElicitUrl => "elicitUrl",
        })
    }
}
