//! Errors of calls through a host.

use std::fmt::{self, Write as _};

use crate::action_kind::ActionKind;
use crate::supervise::ServerState;
use crate::text::printable;

/// The error of a request through a host. The text of the error escapes control characters and invisible characters from the
/// server.
#[derive(Debug)]
#[non_exhaustive]
pub enum HostError {
    /// The server is not connected, and the host could not connect to it within the wait timeout. Nothing was sent.
    #[non_exhaustive]
    Unavailable {
        /// The name of the server.
        server: String,
        /// The state of the server.
        state: ServerState,
    },
    /// No tool of this host has this name. Nothing was sent.
    #[non_exhaustive]
    UnknownTool {
        /// The tool name that the model used.
        name: String,
        /// The most similar names of tools, at most five.
        similar: Vec<String>,
    },
    /// The model wrote arguments that are not a JSON object. Nothing was sent.
    #[non_exhaustive]
    Arguments {
        /// The name of the tool that the model used.
        name: String,
    },
    /// The connection ended during the call. It is unknown whether the tool has run.
    #[non_exhaustive]
    MayHaveRun {
        /// The name of the server.
        server: String,
        /// The name of the tool.
        tool: String,
        /// The reason why the connection ended.
        source: Box<mcp_client::Error>,
    },
    /// No server of this host has this name. Nothing was sent.
    #[non_exhaustive]
    UnknownServer {
        /// The unknown name.
        name: String,
    },
    /// No prompt of this host has this name. Nothing was sent.
    #[non_exhaustive]
    UnknownPrompt {
        /// The unknown name.
        name: String,
        /// The most similar names of prompts, at most five.
        similar: Vec<String>,
    },
    /// The server lists no skill with this URI. Nothing was sent.
    #[non_exhaustive]
    UnknownSkill {
        /// The name of the server.
        server: String,
        /// The URI of the skill.
        uri: String,
        /// Whether the server has returned its list of skills. If it has not, the log contains the reason.
        is_listed: bool,
    },
    /// The content of a skill cannot be used, because it differs from the list of the server or cannot be verified.
    #[non_exhaustive]
    Skill {
        /// The name of the server.
        server: String,
        /// The URI of the skill.
        uri: String,
        /// The reason why the content cannot be used.
        source: Box<mcp_skills::Error>,
    },
    /// The item would exceed the limits of a context ([`HostContext`](crate::HostContext)). Remove other items first.
    #[non_exhaustive]
    ContextFull {
        /// The name of the item.
        name: String,
        /// Maximum number of items.
        max_items: usize,
        /// Maximum size of all items in memory, in bytes.
        max_bytes: usize,
    },
    /// The action was not allowed. Nothing was sent.
    #[non_exhaustive]
    Denied {
        /// The name of the server.
        server: String,
        /// The kind of action: a call of a tool, or a request for a prompt, a resource or a skill.
        kind: ActionKind,
        /// The name that the server gives the tool or prompt, or the URI of the resource or skill.
        name: String,
        /// The reason for the denial: a rule of the policy, the user's decision, or missing consent.
        reason: String,
    },
    /// The action failed for another reason.
    #[non_exhaustive]
    Call {
        /// The name of the server.
        server: String,
        /// The kind of action: a call of a tool, or a request for a prompt, a resource or a skill.
        kind: ActionKind,
        /// The name that the server gives the tool or prompt, or the URI of the resource or skill.
        name: String,
        /// The reason why the action failed.
        source: Box<mcp_client::Error>,
    },
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write(&mut text)?;
        f.write_str(&printable(&text))
    }
}

impl HostError {
    fn write(&self, f: &mut String) -> fmt::Result {
        match self {
            Self::Unavailable { server, state } => {
                write!(f, "the server {server:?} is not available: {state}")
            }
            Self::UnknownTool { name, similar } => write_unknown(f, "tool", name, similar),
            Self::UnknownPrompt { name, similar } => write_unknown(f, "prompt", name, similar),
            Self::UnknownSkill { .. } | Self::Skill { .. } | Self::ContextFull { .. } => {
                self.write_of_item(f)
            }
            Self::UnknownServer { name } => write!(f, "there is no server named {name:?}"),
            Self::Arguments { name } => write!(
                f,
                "the arguments of {name:?} are not a JSON object; nothing was called"
            ),
            Self::Denied {
                server,
                kind,
                name,
                reason,
            } => write!(
                f,
                "{} {name:?} of the server {server:?} was denied: {reason}",
                noun(*kind)
            ),
            Self::MayHaveRun {
                server,
                tool,
                source,
            } => write!(
                f,
                "the connection to the server {server:?} ended during a call of {tool:?}, which may \
                 have run: {source}"
            ),
            Self::Call {
                server,
                kind,
                name,
                source,
            } => write!(
                f,
                "{} {name:?} of the server {server:?} failed: {source}",
                noun(*kind)
            ),
        }
    }
}

impl HostError {
    /// Writes an error of a skill or of a context.
    fn write_of_item(&self, f: &mut String) -> fmt::Result {
        match self {
            Self::UnknownSkill {
                server,
                uri,
                is_listed,
            } => {
                let reason = reason_of_absence(*is_listed);
                write!(
                    f,
                    "the server {server:?} does not list the skill {uri:?}{reason}"
                )
            }
            Self::Skill {
                server,
                uri,
                source,
            } => write!(
                f,
                "the skill {uri:?} of the server {server:?} cannot be used: {source}"
            ),
            Self::ContextFull {
                name,
                max_items,
                max_bytes,
            } => write!(
                f,
                "{name:?} cannot be attached: a context can have {max_items} items and {} MiB; remove others first",
                max_bytes >> 20
            ),
            _ => Ok(()),
        }
    }
}

/// Returns the reason why an item is not in a list, as the end of a sentence.
fn reason_of_absence(is_listed: bool) -> &'static str {
    match is_listed {
        true => "",
        false => "; its list could not be read, and the log has the reason",
    }
}

/// Returns the beginning of a sentence that names the kind of action.
fn noun(kind: ActionKind) -> &'static str {
    match kind {
        ActionKind::Prompt => "the request for the prompt",
        ActionKind::Resource => "the request for the resource",
        ActionKind::Skill => "the request for the skill",
        _ => "the call of",
    }
}

fn write_unknown(f: &mut String, what: &str, name: &str, similar: &[String]) -> fmt::Result {
    write!(f, "there is no {what} named {name:?}")?;
    match similar.is_empty() {
        true => Ok(()),
        false => write!(f, "; similar names: {}", similar.join(", ")),
    }
}

impl std::error::Error for HostError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::MayHaveRun { source, .. } | Self::Call { source, .. } => Some(&**source),
            Self::Skill { source, .. } => Some(&**source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mcp_client::{Error, ErrorObject};

    use super::*;

    #[test]
    fn texts_of_errors_and_states_have_no_hidden_characters_of_the_server() {
        let hidden = "\u{1b}[2K\u{202e}\u{200b}x";
        let (server, name, reason) = (String::new(), String::new(), Arc::from(hidden));
        let source = Box::new(Error::Rejected(ErrorObject::internal(hidden)));
        let call = HostError::Call {
            server,
            kind: ActionKind::CallTool,
            name,
            source,
        };
        let state = ServerState::Failed { reason };
        for text in [call.to_string(), state.to_string()] {
            assert!(text.contains(r"\u{1b}[2K\u{202e}\u{200b}x"), "{text:?}");
        }
    }
}
