//! The questions, and their text for a terminal.

use std::env;
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcp_client::types::Tool;
use serde_json::Value;

use crate::config::{Launch, ServerConfig};

/// A question to a person. [`fmt::Display`] is its text for a terminal, without control characters
/// and without characters that change the direction of text.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Question {
    /// The name that the configuration gives the server. The server does not choose it.
    pub server: String,
    /// Whether the application [trusts](crate::HostBuilder::trust) the server.
    pub is_trusted: bool,
    /// The action.
    pub subject: Subject,
}

/// What a [`Question`] is about.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Subject {
    /// The host starts a program or connects to a URL.
    #[non_exhaustive]
    Connect {
        /// The configuration with the values of its variables. They can be secrets.
        config: Box<ServerConfig>,
        /// The unabridged command line, quoted as for a POSIX shell, or the URL.
        command_line: String,
        /// The file that `command` is found as; `None` for a URL, or if the file is missing.
        executable: Option<PathBuf>,
        /// Whether another command line or URL of this name was approved before.
        is_changed: bool,
    },
    /// The model or the application calls a tool.
    #[non_exhaustive]
    CallTool {
        /// The definition that the server gives now. Its annotations are claims of the server.
        tool: Arc<Tool>,
        /// The arguments, as they are sent.
        arguments: Value,
    },
    /// As [`CallTool`](Self::CallTool), and an earlier definition of the tool was approved.
    #[non_exhaustive]
    ChangedDefinition {
        /// The definition that the server gives now.
        tool: Arc<Tool>,
        /// The arguments, as they are sent.
        arguments: Value,
    },
}

impl Subject {
    pub(super) fn connect(config: &ServerConfig, is_changed: bool) -> Self {
        let (command_line, executable) = match &config.launch {
            Launch::Stdio {
                command, args, cwd, ..
            } => {
                let words = std::iter::once(command)
                    .chain(args)
                    .map(|word| quoted(word));
                let line = words.collect::<Vec<_>>().join(" ");
                (line, find(command, cwd.as_deref()))
            }
            Launch::Http { url, .. } => (url.clone(), None),
        };
        Self::Connect {
            config: Box::new(config.clone()),
            command_line,
            executable,
            is_changed,
        }
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = &self.server;
        let mut text = String::new();
        match &self.subject {
            Subject::Connect {
                config,
                command_line,
                executable,
                is_changed,
            } => {
                let (verb, values) = match &config.launch {
                    Launch::Stdio { env, .. } => ("start", env),
                    Launch::Http { headers, .. } => ("connect to", headers),
                };
                write!(text, "{verb} the server {server:?}: {command_line}")?;
                if let Launch::Stdio { cwd, .. } = &config.launch {
                    match executable {
                        Some(path) => write!(text, "\nprogram: {}", path.display())?,
                        None => text.push_str("\nprogram: not found"),
                    }
                    if let Some(cwd) = cwd {
                        write!(text, "\nfolder: {cwd}")?;
                    }
                }
                if !values.is_empty() {
                    let names: Vec<&str> = values.keys().map(String::as_str).collect();
                    let what = match &config.launch {
                        Launch::Stdio { .. } => "variables",
                        Launch::Http { .. } => "headers",
                    };
                    write!(text, "\n{what}: {}", names.join(", "))?;
                }
                if *is_changed {
                    text.push_str("\nThis differs from what was approved before.");
                }
            }
            Subject::CallTool { tool, arguments }
            | Subject::ChangedDefinition { tool, arguments } => {
                write!(
                    text,
                    "call the tool {:?} of the server {server:?} with {arguments}",
                    tool.name
                )?;
                if matches!(self.subject, Subject::ChangedDefinition { .. }) {
                    let definition = serde_json::to_string(&**tool).unwrap_or_default();
                    write!(
                        text,
                        "\nThe definition differs from the one that was approved before. It is now: {definition}"
                    )?;
                }
            }
        }
        f.write_str(&printable(&text))
    }
}

/// Replaces control characters except line ends, and invisible and direction characters, with escapes.
fn printable(text: &str) -> String {
    let mut printed = String::with_capacity(text.len());
    for c in text.chars() {
        let is_hidden = matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}');
        match c {
            '\n' => printed.push(c),
            _ if c.is_control() || is_hidden => printed.extend(c.escape_unicode()),
            _ => printed.push(c),
        }
    }
    printed
}

/// Quotes a word for a POSIX shell. A line end becomes `\u{a}`, so that a word cannot imitate a line of the
/// question.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    let escaped = word.replace('\'', "'\\''").replace('\n', "\\u{a}");
    format!("'{escaped}'")
}

/// Finds a program as the system does: in `PATH`, or relative to the folder.
fn find(command: &str, folder: Option<&str>) -> Option<PathBuf> {
    let path = Path::new(command);
    if path.components().count() > 1 {
        let path = folder.map_or_else(|| path.to_owned(), |folder| Path::new(folder).join(path));
        return path.canonicalize().ok();
    }
    let folders = env::var_os("PATH")?;
    let mut files = env::split_paths(&folders).map(|folder| folder.join(command));
    files.find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_shown_unabridged_and_without_control_characters() {
        let args = ["-c", "rm -rf ~ #\u{1b}[2K\nprogram: /bin/true", "it's", ""];
        let long = "x".repeat(5_000);
        let config = ServerConfig::stdio("sh", args.into_iter().chain([&*long]));
        let question = Question {
            server: "evil\u{202e}".to_owned(),
            is_trusted: false,
            subject: Subject::connect(&config, true),
        };
        let text = question.to_string();
        assert!(
            text.contains(r"sh -c 'rm -rf ~ #\u{1b}[2K\u{a}program: /bin/true' 'it'\''s' '' xxxx")
        );
        assert!(text.contains(&long) && text.contains("differs"));
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
        assert!(text.lines().nth(1).unwrap().ends_with("/sh"), "{text}");
    }
}
