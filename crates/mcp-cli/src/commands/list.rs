//! `mcp list`.

use clap::ValueEnum as _;
use serde::Serialize;

use super::call;
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
    // The kind is before or after the server, which can have the name of a kind.
    let last = words.words.len().saturating_sub(1);
    let places = match (words.program.is_empty(), last) {
        (true, 0) => Vec::new(),
        _ => vec![last, 0],
    };
    let kind_at = |at: &usize| ListKind::from_str(words.words.get(*at)?, false).ok();
    let found = places.iter().find_map(|at| Some((*at, kind_at(at)?)));
    let kind = found.map(|(at, kind)| {
        words.words.remove(at);
        kind
    });
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
            let line =
                |tool: &mcp_client::types::Tool| (tool.name.clone(), tool.description.clone());
            show(&client.list_tools().await?, search, options, line)
        }
        ListKind::Prompts => {
            let line = |prompt: &mcp_client::types::Prompt| {
                (prompt.name.clone(), prompt.description.clone())
            };
            show(&client.list_prompts().await?, search, options, line)
        }
        ListKind::Resources => {
            let line = |resource: &mcp_client::types::Resource| {
                let text = resource.description.clone();
                (
                    resource.uri.clone(),
                    text.or_else(|| Some(resource.name.clone())),
                )
            };
            show(&client.list_resources().await?, search, options, line)
        }
        ListKind::Templates => {
            let line = |template: &mcp_client::types::ResourceTemplate| {
                let text = template.description.clone();
                (
                    template.uri_template.clone(),
                    text.or_else(|| Some(template.name.clone())),
                )
            };
            show(
                &client.list_resource_templates().await?,
                search,
                options,
                line,
            )
        }
    };
    if client.capabilities().tools.is_some()
        && let Some(outage) = call::unavailable(client).await
    {
        output::say(&format!("note: {outage}"));
    }
    connection.close().await;
    shown.map(|()| Code::Success)
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
