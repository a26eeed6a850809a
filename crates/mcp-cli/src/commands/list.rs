//! `mcp list`.

use clap::ValueEnum as _;
use mcp_client::types::{Prompt, Resource, ResourceTemplate, Tool};
use serde::Serialize;

use super::call;
use super::inspect::deviations;
use crate::args::{ListKind, Options, Words};
use crate::connect::Connection;
use crate::failure::{Code, Failure};
use crate::output;
use crate::target::Target;

pub(super) async fn run(
    mut words: Words,
    search: Option<&str>,
    options: &Options,
) -> Result<Code, Failure> {
    let kind = take_kind(&mut words);
    let (target, rest) = Target::take(words, options)?;
    if let Some(word) = rest.first() {
        let text = format!(
            "{word:?}: unexpected argument; this command takes tools, prompts, resources or templates, and a server"
        );
        return Err(Failure::usage(text));
    }
    let connection = Connection::open(&target, options).await?;
    let client = &connection.client;
    let shown = match kind.unwrap_or(ListKind::Tools) {
        ListKind::Tools => {
            let line = |tool: &Tool| (tool.name.clone(), tool.description.clone());
            show(&client.list_tools().await?, search, options, line)
        }
        ListKind::Prompts => {
            let line = |prompt: &Prompt| (prompt.name.clone(), prompt.description.clone());
            show(&client.list_prompts().await?, search, options, line)
        }
        ListKind::Resources => {
            let line = |it: &Resource| (it.uri.clone(), described(&it.description, &it.name));
            show(&client.list_resources().await?, search, options, line)
        }
        ListKind::Templates => {
            let line = |it: &ResourceTemplate| {
                let text = described(&it.description, &it.name);
                (it.uri_template.clone(), text)
            };
            let templates = client.list_resource_templates().await?;
            show(&templates, search, options, line)
        }
    };
    if client.capabilities().tools.is_some()
        && let Some(outage) = call::unavailable_servers(client).await
    {
        output::say(&format!("note: {outage}"));
    }
    for deviation in deviations(client) {
        output::say(&format!("note: {}", output::one_line(&deviation)));
    }
    connection.close().await;
    shown.map(|()| Code::Success)
}

/// Removes the kind from the words and returns it. The kind can be before or after the server, and the name of a server can be
/// equal to a kind.
fn take_kind(words: &mut Words) -> Option<ListKind> {
    let last = words.words.len().saturating_sub(1);
    let places = match (words.program.is_empty(), last) {
        (true, 0) => Vec::new(),
        _ => vec![last, 0],
    };
    let kind_at = |at: usize| ListKind::from_str(words.words.get(at)?, false).ok();
    let (at, kind) = places.into_iter().find_map(|at| Some((at, kind_at(at)?)))?;
    words.words.remove(at);
    Some(kind)
}

/// Returns the description of an item; if it has no description, its name.
fn described(description: &Option<String>, name: &str) -> Option<String> {
    description.clone().or_else(|| Some(name.to_owned()))
}

/// Prints the items that contain the searched text.
fn show<T: Serialize>(
    items: &[T],
    search: Option<&str>,
    options: &Options,
    line: impl Fn(&T) -> (String, Option<String>),
) -> Result<(), Failure> {
    let search = search.map(str::to_lowercase);
    let is_found = |item: &&T| {
        let (name, text) = line(item);
        let text = format!("{name}\n{}", text.unwrap_or_default()).to_lowercase();
        search.as_ref().is_none_or(|search| text.contains(search))
    };
    let found: Vec<&T> = items.iter().filter(is_found).collect();
    if options.json {
        return output::json(&found);
    }
    let lines: Vec<(String, Option<String>)> = found.into_iter().map(line).collect();
    output::print_table(
        &lines
            .iter()
            .map(|(name, text)| (&**name, text.as_deref().unwrap_or_default()))
            .collect::<Vec<_>>(),
    )
}
