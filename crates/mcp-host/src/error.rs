//! Errors of calls through a host.

use std::fmt;

use crate::supervise::ServerState;
use crate::text::printable;

/// The error of a call through a host. Its text escapes control characters and invisible characters of the server.
#[derive(Debug)]
#[non_exhaustive]
pub enum HostError {
    /// The server is not connected, and did not connect within the time that a call waits. Nothing was sent.
    #[non_exhaustive]
    Unavailable {
        /// The name of the server.
        server: String,
        /// Its state.
        state: ServerState,
    },
    /// No tool of this host has this name. Nothing was sent.
    #[non_exhaustive]
    UnknownTool {
        /// The name.
        name: String,
        /// The names that are most like it, at most five.
        similar: Vec<String>,
    },
    /// The model wrote arguments that are not a JSON object. Nothing was sent.
    #[non_exhaustive]
    Arguments {
        /// The name of the tool for the model.
        name: String,
    },
    /// The connection ended during the call. The tool may have run, or may not.
    #[non_exhaustive]
    MayHaveRun {
        /// The name of the server.
        server: String,
        /// The name of the tool.
        tool: String,
        /// Why the connection ended.
        source: Box<mcp_client::Error>,
    },
    /// The call was not allowed. Nothing was sent.
    #[non_exhaustive]
    Denied {
        /// The name of the server.
        server: String,
        /// The name of the tool.
        tool: String,
        /// The reason: a rule of the policy, the user's decision, or missing consent.
        reason: String,
    },
    /// The call failed for another reason.
    #[non_exhaustive]
    Call {
        /// The name of the server.
        server: String,
        /// The name of the tool.
        tool: String,
        /// The reason.
        source: Box<mcp_client::Error>,
    },
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable { server, state } => {
                write!(f, "the server {server:?} is not available: {state}")
            }
            Self::UnknownTool { name, similar } => {
                write!(f, "there is no tool named {name:?}")?;
                match similar.is_empty() {
                    true => Ok(()),
                    false => write!(f, "; similar names: {}", similar.join(", ")),
                }
            }
            Self::Arguments { name } => write!(
                f,
                "the arguments of {name:?} are not a JSON object; nothing was called"
            ),
            Self::Denied {
                server,
                tool,
                reason,
            } => write!(
                f,
                "the call of {tool:?} of the server {server:?} was denied: {reason}"
            ),
            Self::MayHaveRun {
                server,
                tool,
                source,
            } => write!(
                f,
                "the connection to the server {server:?} ended during a call of {tool:?}, which may \
                 have run: {}",
                printable(&source.to_string())
            ),
            Self::Call {
                server,
                tool,
                source,
            } => write!(
                f,
                "the call of {tool:?} of the server {server:?} failed: {}",
                printable(&source.to_string())
            ),
        }
    }
}

impl std::error::Error for HostError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::MayHaveRun { source, .. } | Self::Call { source, .. } => Some(&**source),
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
        let (server, tool, reason) = (String::new(), String::new(), Arc::from(hidden));
        let source = Box::new(Error::Rejected(ErrorObject::internal(hidden)));
        let call = HostError::Call {
            server,
            tool,
            source,
        };
        let state = ServerState::Failed { reason };
        for text in [call.to_string(), state.to_string()] {
            assert!(text.contains(r"\u{1b}[2K\u{202e}\u{200b}x"), "{text:?}");
        }
    }
}
