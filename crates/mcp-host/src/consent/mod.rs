//! Consent: what the host shows to the user before it acts for a server, and the decisions of the user.

mod approvals;
mod audit;
mod code_variables;
mod decisions;
mod flow;
mod gate;
mod plan;
mod policy;
mod redact;
mod request;

pub use crate::action_kind::ActionKind;
pub use approvals::{Approval, ApprovalFile, ApprovalKey, ApprovalStore, open_private_file};
pub use audit::AuditLog;
pub(crate) use flow::UntrustedSources;
pub(crate) use gate::{Basis, Gate, ServerGate};
pub use plan::LaunchPlan;
pub use policy::{Effect, Policy, PolicyRule, matches};
pub use request::{ConsentAction, ConsentRequest};

/// A handler that asks the user for consent. A closure from [`ConsentRequest`] to a future with a [`Decision`] implements it.
///
/// ```
/// use mcp_host::{Consent, Decision, ConsentRequest};
///
/// struct Terminal;
///
/// impl Consent for Terminal {
///     async fn ask(&self, request: ConsentRequest) -> Decision {
///         println!("{request}");
///         Decision::Deny // replace with the answer of the person
///     }
/// }
/// ```
pub trait Consent: Send + Sync + 'static {
    /// Shows the request and returns the decision. The host makes requests about the same server one after another, and
    /// requests about different servers at the same time.
    ///
    /// # Cancel safety
    /// The host drops the future when the decision is no longer needed, for example because the caller dropped its call. In this
    /// case, remove the request from the display.
    fn ask(&self, request: ConsentRequest) -> impl Future<Output = Decision> + Send;
}

impl<F, A> Consent for F
where
    F: Fn(ConsentRequest) -> A + Send + Sync + 'static,
    A: Future<Output = Decision> + Send,
{
    fn ask(&self, request: ConsentRequest) -> impl Future<Output = Decision> + Send {
        self(request)
    }
}

/// The decision about a [`ConsentRequest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Decision {
    /// The action is denied.
    Deny,
    /// The action is allowed once. If the action is a connection, it can be opened again without a new decision, until the
    /// application stops or restarts the server.
    AllowOnce,
    /// The action is allowed until the host ends or the definition of the item changes.
    AllowUntilExit,
    /// The action is allowed until the definition of the item changes, even after the host has ended and another host uses the
    /// same [`ApprovalStore`]. Without a store, this is the same as [`AllowUntilExit`](Self::AllowUntilExit).
    AllowAlways,
}
