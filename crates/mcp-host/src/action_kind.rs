//! The kinds of actions that rules, approvals and the audit log distinguish.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kind of an action that needs consent. Kinds are named in [policies](crate::Policy), [approvals](crate::ApprovalKey) and
/// the [audit log](crate::AuditLog).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ActionKind {
    /// Starting a server or connecting to its URL.
    Connect,
    /// A call of a tool.
    CallTool,
    /// A sampling request of a server, before the model receives it. [`AllowUntilExit`](crate::Decision::AllowUntilExit) and
    /// [`AllowAlways`](crate::Decision::AllowAlways) allow all later sampling requests of this server.
    SamplingRequest,
    /// The result of a sampling request, before the server receives it. [`AllowUntilExit`](crate::Decision::AllowUntilExit) and
    /// [`AllowAlways`](crate::Decision::AllowAlways) allow all later results for this server.
    SamplingResult,
    /// A form that a server sends for the user. The host shows the form unless a rule denies it, because the form itself asks for
    /// consent.
    ElicitForm,
    /// A URL that a server asks the user to open. The host shows the request unless a rule denies it.
    ElicitUrl,
    /// A prompt that the host gets from a server. The action is allowed if no rule denies it, because a person has chosen the
    /// prompt.
    Prompt,
    /// A resource that the host reads or watches. The action is allowed if no rule denies it, because a person or the application
    /// has chosen the resource.
    Resource,
    /// A skill whose instructions or files the host reads. Skills of [trusted](crate::HostBuilder::trust) servers are allowed if
    /// no rule denies them.
    Skill,
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
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::Skill => "skill",
        })
    }
}
