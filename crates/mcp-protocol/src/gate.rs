//! Capability checks: which requests one side may send to the other.
//!
//! Both sides check before they send, and a server checks again before it handles a request.
//! Specification: lifecycle, capability negotiation and operation.

use std::borrow::Cow;
use std::fmt;

use mcp_jsonrpc::{ErrorCode, ErrorObject, quote};
use mcp_types::v2026_07_28::TASKS_EXTENSION;
use mcp_types::{ClientCapabilities, ServerCapabilities, method};

use crate::{Revision, Rules};

/// The error for a message that the peer's capabilities or the negotiated revision do not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsupported {
    /// The peer did not declare this capability.
    Capability(&'static str),
    /// The negotiated revision does not have the feature.
    Revision {
        /// The missing feature.
        what: Cow<'static, str>,
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
        what: what.into(),
        revision: rules.name,
    })
}

pub(crate) fn declared(declared: bool, name: &'static str) -> Result<(), Unsupported> {
    if declared {
        return Ok(());
    }
    Err(Unsupported::Capability(name))
}

/// Returns whether a client can send the method as a request to a server in this revision.
pub(crate) fn server_handles(method: &str, rules: &Rules) -> bool {
    match method {
        method::RESOURCES_SUBSCRIBE | method::RESOURCES_UNSUBSCRIBE | method::LOGGING_SET_LEVEL => {
            return !rules.stateless;
        }
        method::SERVER_DISCOVER | method::SUBSCRIPTIONS_LISTEN | method::TASKS_UPDATE => {
            return rules.stateless;
        }
        method::TASKS_GET | method::TASKS_CANCEL => return rules.tasks || rules.stateless,
        method::TASKS_RESULT | method::TASKS_LIST => return rules.tasks,
        _ => {}
    }
    matches!(
        method,
        method::TOOLS_LIST
            | method::TOOLS_CALL
            | method::PROMPTS_LIST
            | method::PROMPTS_GET
            | method::RESOURCES_LIST
            | method::RESOURCES_TEMPLATES_LIST
            | method::RESOURCES_READ
            | method::COMPLETION_COMPLETE
    )
}

/// Returns the error for a request that the server does not handle in a revision.
pub(crate) fn not_handled(method: &str, revision: Revision) -> ErrorObject {
    let subscribes = matches!(
        method,
        method::RESOURCES_SUBSCRIBE | method::RESOURCES_UNSUBSCRIBE
    );
    if !is_core_method(method) {
        return ErrorObject::method_not_found(method);
    }
    let method = quote(method, 128);
    let hint = match subscribes {
        true => "; it has subscriptions/listen",
        false => "",
    };
    let revision = revision.as_str();
    let text = format!("method {method} is not available in revision {revision}{hint}");
    ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, text)
}

/// Returns whether the protocol has a method or notification with this name, in any revision or direction. Ignores the letter
/// case, because a custom name must not differ from a protocol name only in letter case.
pub fn is_core_method(name: &str) -> bool {
    CORE_METHODS
        .iter()
        .any(|core| core.eq_ignore_ascii_case(name))
}

/// Returns the constant for the name of a protocol method or notification. Returns `None` for other names, and for names in
/// another letter case.
pub fn core_method(name: &str) -> Option<&'static str> {
    CORE_METHODS.into_iter().find(|core| *core == name)
}

const CORE_METHODS: [&str; 36] = [
    method::COMPLETION_COMPLETE,
    method::ELICITATION_CREATE,
    method::INITIALIZE,
    method::LOGGING_SET_LEVEL,
    method::NOTIFICATIONS_CANCELLED,
    method::NOTIFICATIONS_ELICITATION_COMPLETE,
    method::NOTIFICATIONS_INITIALIZED,
    method::NOTIFICATIONS_MESSAGE,
    method::NOTIFICATIONS_PROGRESS,
    method::NOTIFICATIONS_PROMPTS_LIST_CHANGED,
    method::NOTIFICATIONS_RESOURCES_LIST_CHANGED,
    method::NOTIFICATIONS_RESOURCES_UPDATED,
    method::NOTIFICATIONS_ROOTS_LIST_CHANGED,
    method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED,
    method::NOTIFICATIONS_TASKS,
    method::NOTIFICATIONS_TASKS_STATUS,
    method::NOTIFICATIONS_TOOLS_LIST_CHANGED,
    method::PING,
    method::PROMPTS_GET,
    method::PROMPTS_LIST,
    method::RESOURCES_LIST,
    method::RESOURCES_READ,
    method::RESOURCES_SUBSCRIBE,
    method::RESOURCES_TEMPLATES_LIST,
    method::RESOURCES_UNSUBSCRIBE,
    method::ROOTS_LIST,
    method::SAMPLING_CREATE_MESSAGE,
    method::SERVER_DISCOVER,
    method::SUBSCRIPTIONS_LISTEN,
    method::TASKS_CANCEL,
    method::TASKS_GET,
    method::TASKS_LIST,
    method::TASKS_RESULT,
    method::TASKS_UPDATE,
    method::TOOLS_CALL,
    method::TOOLS_LIST,
];

/// Checks that a server with these capabilities supports the method.
///
/// # Errors
/// The capability is missing; the error contains the name of the capability.
pub fn server_offers(
    method: &str,
    capabilities: &ServerCapabilities,
    rules: &'static Rules,
) -> Result<(), Unsupported> {
    Offers::of(capabilities).serve(method, rules)
}

/// The declared capabilities of a server, packed into two bytes. A server may have many sessions, and each session stores the
/// capabilities.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offers(u16);

impl Offers {
    const TOOLS: u16 = 1;
    const TOOLS_CHANGED: u16 = 1 << 1;
    const PROMPTS: u16 = 1 << 2;
    const PROMPTS_CHANGED: u16 = 1 << 3;
    const RESOURCES: u16 = 1 << 4;
    const RESOURCES_CHANGED: u16 = 1 << 5;
    const SUBSCRIBE: u16 = 1 << 6;
    const COMPLETIONS: u16 = 1 << 7;
    const LOGGING: u16 = 1 << 8;
    const TASKS: u16 = 1 << 9;
    const TASKS_LIST: u16 = 1 << 10;
    const TASKS_CANCEL: u16 = 1 << 11;
    const TASKS_EXTENSION: u16 = 1 << 12;

    pub(crate) fn of(capabilities: &ServerCapabilities) -> Self {
        let tools = capabilities.tools.as_ref();
        let prompts = capabilities.prompts.as_ref();
        let resources = capabilities.resources.as_ref();
        let tasks = capabilities.tasks.as_ref();
        let extensions = capabilities.extensions.as_ref();
        let yes = Some(true);
        let declared = [
            (tools.is_some(), Self::TOOLS),
            (
                tools.and_then(|declared| declared.list_changed) == yes,
                Self::TOOLS_CHANGED,
            ),
            (prompts.is_some(), Self::PROMPTS),
            (
                prompts.and_then(|declared| declared.list_changed) == yes,
                Self::PROMPTS_CHANGED,
            ),
            (resources.is_some(), Self::RESOURCES),
            (
                resources.and_then(|declared| declared.list_changed) == yes,
                Self::RESOURCES_CHANGED,
            ),
            (
                resources.and_then(|declared| declared.subscribe) == yes,
                Self::SUBSCRIBE,
            ),
            (capabilities.completions.is_some(), Self::COMPLETIONS),
            (capabilities.logging.is_some(), Self::LOGGING),
            (tasks.is_some(), Self::TASKS),
            (
                tasks.is_some_and(|declared| declared.list.is_some()),
                Self::TASKS_LIST,
            ),
            (
                tasks.is_some_and(|declared| declared.cancel.is_some()),
                Self::TASKS_CANCEL,
            ),
            (
                extensions.is_some_and(|declared| declared.contains_key(TASKS_EXTENSION)),
                Self::TASKS_EXTENSION,
            ),
        ];
        Self(
            declared
                .iter()
                .filter(|(is, _)| *is)
                .map(|(_, bit)| bit)
                .sum(),
        )
    }

    fn has(self, bit: u16) -> bool {
        self.0 & bit != 0
    }

    pub(crate) fn logging(self) -> bool {
        self.has(Self::LOGGING)
    }

    /// Returns whether the server declared that it sends this list-changed notification.
    pub(crate) fn announce(self, method: &str) -> bool {
        self.has(match method {
            method::NOTIFICATIONS_TOOLS_LIST_CHANGED => Self::TOOLS_CHANGED,
            method::NOTIFICATIONS_PROMPTS_LIST_CHANGED => Self::PROMPTS_CHANGED,
            method::NOTIFICATIONS_RESOURCES_LIST_CHANGED => Self::RESOURCES_CHANGED,
            _ => 0,
        })
    }

    pub(crate) fn serve(self, method: &str, rules: &'static Rules) -> Result<(), Unsupported> {
        let needs = |bit, name| declared(self.has(bit), name);
        match method {
            method::TOOLS_LIST | method::TOOLS_CALL => needs(Self::TOOLS, "tools"),
            method::PROMPTS_LIST | method::PROMPTS_GET => needs(Self::PROMPTS, "prompts"),
            method::RESOURCES_LIST | method::RESOURCES_TEMPLATES_LIST | method::RESOURCES_READ => {
                needs(Self::RESOURCES, "resources")
            }
            method::RESOURCES_SUBSCRIBE | method::RESOURCES_UNSUBSCRIBE => {
                needs(Self::SUBSCRIBE, "resources.subscribe")
            }
            // 2024-11-05 has the method without a capability.
            method::COMPLETION_COMPLETE if !rules.completions_capability => Ok(()),
            method::COMPLETION_COMPLETE => needs(Self::COMPLETIONS, "completions"),
            method::LOGGING_SET_LEVEL => needs(Self::LOGGING, "logging"),
            method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL if rules.stateless => {
                // On the stateless revision, a declaration of core tasks also declares the tasks extension.
                needs(Self::TASKS | Self::TASKS_EXTENSION, TASKS_EXTENSION)
            }
            method::TASKS_GET
            | method::TASKS_RESULT
            | method::TASKS_LIST
            | method::TASKS_CANCEL => {
                known(rules.tasks, "tasks", rules)?;
                match method {
                    method::TASKS_LIST => needs(Self::TASKS_LIST, "tasks.list"),
                    method::TASKS_CANCEL => needs(Self::TASKS_CANCEL, "tasks.cancel"),
                    _ => needs(Self::TASKS, "tasks"),
                }
            }
            _ => Ok(()),
        }
    }
}

/// Checks that a client with these capabilities answers the method.
///
/// # Errors
/// The client did not declare the capability, or the revision does not have the feature. The error contains the name of the
/// capability or feature.
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
    fn requests_need_a_declared_capability() {
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
