//! `mcp call`.

use std::io::{self, IsTerminal as _, Write as _};

use mcp_client::types::method;
use mcp_client::{CallToolResult, Client, Error, Progress};
use mcp_host::{argument_names, nearest_name};
use serde_json::{Map, Value, json};

use crate::args::{Options, Words};
use crate::arguments;
use crate::connect::Connection;
use crate::failure::{Code, Failure};
use crate::output::{self, one_line};
use crate::sign_in_hint;
use crate::target::Target;

pub(super) async fn run(words: Words, as_task: bool, options: &Options) -> Result<Code, Failure> {
    let (target, words) = Target::take(words, options)?;
    let Some((name, words)) = words.split_first() else {
        return Err(Failure::usage(
            "the name of a tool is missing; write the arguments of the tool after the name",
        ));
    };
    let connection = Connection::open(&target, options).await?;
    let outcome = call(&connection.client, name, words, as_task, options).await;
    connection.close().await;
    let result = match outcome? {
        Ok(result) => result,
        Err(error) => {
            let failure = sign_in_hint::explain(&target, options, error).await;
            return Err(match failure.code {
                Code::ActionRequired => failure.about(&format!("tool {name:?}")),
                _ => failure,
            });
        }
    };
    if options.json {
        output::json(&result)?;
    } else {
        output::print(&output::result_text(&result)?)?;
    }
    match result.is_error {
        Some(true) => Ok(Code::Tool),
        _ => Ok(Code::Success),
    }
}

/// Calls the tool. Returns a failure if the call cannot be sent, otherwise the outcome of the call.
async fn call(
    client: &Client,
    name: &str,
    words: &[String],
    as_task: bool,
    options: &Options,
) -> Result<Result<CallToolResult, Error>, Failure> {
    let tools = client.list_tools().await?;
    let schema = match tools.iter().find(|tool| tool.name == name) {
        Some(tool) => serde_json::to_value(&tool.input_schema).unwrap_or_default(),
        None => {
            if let Some(outage) = unavailable_servers(client).await {
                return Err(Failure::new(
                    Code::Connection,
                    format!("there is no tool {name:?}; {outage}"),
                ));
            }
            let names = tools.iter().map(|tool| &*tool.name);
            let near = names
                .clone()
                .find(|tool| is_without_prefix(name, tool))
                .or_else(|| nearest_name(name, candidates(name, names)));
            let text = match near {
                Some(near) => format!("there is no tool {name:?}; did you mean {near:?}?"),
                None => format!("there is no tool {name:?}; `mcp list` shows the tools"),
            };
            return Err(Failure::usage(text));
        }
    };
    let arguments = arguments::of_tool(words, &schema)?;
    check_names(name, &arguments, &schema)?;
    let mut call = client.call_tool(name, Value::Object(arguments));
    if as_task {
        call = call.as_task(None);
    }
    let is_shown = io::stderr().is_terminal() || options.verbose;
    let mut bar = Bar::default();
    let result = call
        .on_progress(move |progress| {
            if is_shown {
                bar.show(&progress);
            }
        })
        .on_status(move |state| {
            if is_shown && let Some(message) = &state.message {
                output::say(message);
            }
        })
        .await;
    Ok(result)
}

/// Returns whether `name` is the name of the tool without the prefix of its server behind a gateway.
fn is_without_prefix(name: &str, tool: &str) -> bool {
    tool.split_once("__").is_some_and(|(_, own)| own == name)
}

/// Returns the tools to suggest for a misspelled name. If the name has the prefix of a server behind a gateway, suggests only the
/// tools of this server.
fn candidates<'a>(name: &str, tools: impl Iterator<Item = &'a str> + Clone) -> Vec<&'a str> {
    let prefix = name.find("__").map_or("", |end| &name[..end + 2]);
    let of_server = tools.clone().filter(|tool| tool.starts_with(prefix));
    let of_server: Vec<&str> = of_server.collect();
    match of_server.is_empty() {
        true => tools.collect(),
        false => of_server,
    }
}

/// Checks that the schema has each argument. If the schema allows other arguments, only warns about an unknown argument, because
/// it may be a typing error.
fn check_names(tool: &str, arguments: &Map<String, Value>, schema: &Value) -> Result<(), Failure> {
    let Some(names) = argument_names(schema) else {
        return Ok(());
    };
    let is_open = schema.get("additionalProperties") != Some(&Value::Bool(false));
    for name in arguments.keys().filter(|name| !names.contains(&&***name)) {
        let advice = match nearest_name(name, names.iter().copied()) {
            Some(near) => format!("did you mean {near:?}?"),
            None if names.is_empty() => "it has no arguments".to_owned(),
            None => format!("it has {}", names.join(", ")),
        };
        let text = format!("the tool {tool:?} has no argument {name:?}; {advice}");
        match is_open {
            true => output::say(&format!("warning: {text}")),
            false => return Err(Failure::usage(text)),
        }
    }
    Ok(())
}

/// Maximum length of the list of unavailable servers behind a gateway, in characters.
const MAX_SERVERS_CHARS: usize = 2_000;

/// Returns a text that names the servers whose tools are missing in the list of a gateway; `None` if no server is missing, or if
/// the server is not a gateway.
pub(super) async fn unavailable_servers(client: &Client) -> Option<String> {
    let listed = client
        .request_raw(method::TOOLS_LIST.to_owned(), json!({}))
        .await;
    let list: Value = listed.ok()?.decode().ok()?;
    let servers = list["_meta"]["mcp-gateway/unavailable"].as_object()?;
    let servers = servers.iter().map(|(name, reason)| match reason.as_str() {
        Some(reason) => format!("{name} ({reason})"),
        None => name.clone(),
    });
    let servers = one_line(&servers.collect::<Vec<_>>().join(", "));
    let servers: String = servers.chars().take(MAX_SERVERS_CHARS).collect();
    Some(format!(
        "these servers behind the gateway are not available: {}",
        servers
    ))
}

/// The display of progress on stderr: on a terminal, in one line that changes; otherwise, in one line for each report.
#[derive(Default)]
struct Bar {
    /// Number of characters in the line that is shown.
    width: usize,
}

impl Bar {
    fn show(&mut self, progress: &Progress) {
        let message = one_line(progress.message.as_deref().unwrap_or_default());
        let text = match progress.total.filter(|total| *total > 0.0) {
            Some(total) => {
                let percent = (progress.progress / total * 100.0).clamp(0.0, 100.0);
                format!("{percent:3.0} % {message}")
            }
            None => format!("{} {message}", progress.progress),
        };
        let mut err = io::stderr();
        // If stderr is closed, progress is not shown.
        let _ = match err.is_terminal() {
            true => write!(err, "\r{text:width$}", width = self.width),
            false => writeln!(err, "{}", text.trim_end()),
        };
        self.width = text.chars().count();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.width > 0 && io::stderr().is_terminal() {
            // If stderr is closed, the line end is not written.
            let _ = writeln!(io::stderr());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_of_other_servers_of_a_gateway_are_not_suggested() {
        let tools = ["notes__list", "mine__delete_note"];
        let of = |name| candidates(name, tools.into_iter());
        assert_eq!(of("notes__delete_note"), ["notes__list"]);
        assert_eq!(of("nots__list"), tools);
        assert_eq!(of("lst"), tools);
    }
}
