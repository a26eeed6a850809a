//! Capability gates: what one side may ask of the other.
//!
//! Both roles look here before they send, and a server again before it serves.
//! Specification: lifecycle, capability negotiation and operation.

use std::fmt;

use mcp_types::{ClientCapabilities, ServerCapabilities, method};

use crate::Rules;

/// A message the other side did not agree to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsupported {
    /// The peer did not declare this capability.
    Capability(&'static str),
    /// The negotiated revision does not know it.
    Revision {
        /// What is not known.
        what: &'static str,
        /// The negotiated revision.
        revision: &'static str,
    },
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capability(name) => write!(f, "capability {name:?} was not declared"),
            Self::Revision { what, revision } => {
                write!(f, "revision {revision} has no {what}")
            }
        }
    }
}

impl std::error::Error for Unsupported {}

pub(crate) fn known(
    known: bool,
    what: &'static str,
    rules: &'static Rules,
) -> Result<(), Unsupported> {
    if known {
        return Ok(());
    }
    Err(Unsupported::Revision {
        what,
        revision: rules.name,
    })
}

pub(crate) fn declared(declared: bool, name: &'static str) -> Result<(), Unsupported> {
    if declared {
        return Ok(());
    }
    Err(Unsupported::Capability(name))
}

/// Whether a server of this revision knows the method at all.
pub(crate) fn server_handles(method: &str, _rules: &Rules) -> bool {
    matches!(
        method,
        method::TOOLS_LIST
            | method::TOOLS_CALL
            | method::PROMPTS_LIST
            | method::PROMPTS_GET
            | method::RESOURCES_LIST
            | method::RESOURCES_TEMPLATES_LIST
            | method::RESOURCES_READ
            | method::RESOURCES_SUBSCRIBE
            | method::RESOURCES_UNSUBSCRIBE
            | method::COMPLETION_COMPLETE
            | method::LOGGING_SET_LEVEL
    )
}

/// Whether a server with these capabilities serves the method.
///
/// # Errors
/// Names the capability that is missing.
pub fn server_offers(
    method: &str,
    capabilities: &ServerCapabilities,
    rules: &'static Rules,
) -> Result<(), Unsupported> {
    match method {
        method::TOOLS_LIST | method::TOOLS_CALL => declared(capabilities.tools.is_some(), "tools"),
        method::PROMPTS_LIST | method::PROMPTS_GET => {
            declared(capabilities.prompts.is_some(), "prompts")
        }
        method::RESOURCES_LIST | method::RESOURCES_TEMPLATES_LIST | method::RESOURCES_READ => {
            declared(capabilities.resources.is_some(), "resources")
        }
        method::RESOURCES_SUBSCRIBE | method::RESOURCES_UNSUBSCRIBE => {
            let subscribe = capabilities.resources.as_ref().and_then(|r| r.subscribe);
            declared(subscribe == Some(true), "resources.subscribe")
        }
        // 2024-11-05 has the method without a capability for it.
        method::COMPLETION_COMPLETE if !rules.completions_capability => Ok(()),
        method::COMPLETION_COMPLETE => declared(capabilities.completions.is_some(), "completions"),
        method::LOGGING_SET_LEVEL => declared(capabilities.logging.is_some(), "logging"),
        method::TASKS_GET | method::TASKS_RESULT | method::TASKS_LIST | method::TASKS_CANCEL => {
            known(rules.tasks, "tasks", rules)?;
            declared(capabilities.tasks.is_some(), "tasks")
        }
        _ => Ok(()),
    }
}

/// Whether a client with these capabilities answers the method.
///
/// # Errors
/// Names the capability or the revision that is missing.
pub fn client_offers(
    method: &str,
    capabilities: &ClientCapabilities,
    rules: &'static Rules,
) -> Result<(), Unsupported> {
    match method {
        method::ROOTS_LIST => declared(capabilities.roots.is_some(), "roots"),
        method::SAMPLING_CREATE_MESSAGE => declared(capabilities.sampling.is_some(), "sampling"),
        method::ELICITATION_CREATE => {
            known(rules.elicitation, "elicitation", rules)?;
            declared(capabilities.elicitation.is_some(), "elicitation")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Revision;

    // proves: LIFE-020
    #[test]
    fn a_server_is_asked_only_for_what_it_declared() {
        let nothing = ServerCapabilities::default();
        let new = Revision::V2025_11_25.rules();
        for method in [
            method::TOOLS_CALL,
            method::PROMPTS_GET,
            method::RESOURCES_READ,
            method::RESOURCES_SUBSCRIBE,
            method::COMPLETION_COMPLETE,
            method::LOGGING_SET_LEVEL,
            method::TASKS_GET,
        ] {
            assert!(server_offers(method, &nothing, new).is_err(), "{method}");
        }
        let old = Revision::V2024_11_05.rules();
        assert!(server_offers(method::COMPLETION_COMPLETE, &nothing, old).is_ok());
        let everything: ServerCapabilities =
            serde_json::from_value(serde_json::json!({ "tasks": {}, "tools": {} })).unwrap();
        assert!(server_offers(method::TASKS_GET, &everything, new).is_ok());
        let refused = server_offers(method::TASKS_GET, &everything, old).unwrap_err();
        assert!(refused.to_string().contains("2024-11-05"), "{refused}");
    }
}
