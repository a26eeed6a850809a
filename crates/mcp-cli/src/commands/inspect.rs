//! `mcp inspect`.

use std::collections::HashSet;

use mcp_client::types::{Prompt, Resource, ResourceTemplate, Tool, method};
use mcp_client::{Client, Error, ErrorCode, Revision};
use mcp_schema::{Origin, Validator};
use serde_json::{Value, json};

use crate::args::{Options, RevisionChoice, Words};
use crate::connect::Connection;
use crate::failure::{Code, Failure};
use crate::output::{self, first_line};
use crate::target::Target;

/// All definitions of a server.
#[derive(Debug, Default)]
pub(crate) struct Offer {
    pub(crate) tools: Vec<Tool>,
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) templates: Vec<ResourceTemplate>,
    /// Problems that concern a list as a whole.
    pub(super) notes: Vec<String>,
    /// The failure of the first list that could not be read.
    failure: Option<Failure>,
}

/// Returns a text for each kind of deviation that was tolerated.
pub(super) fn deviations(client: &Client) -> Vec<String> {
    let tolerance = client.tolerance();
    let text = |(kind, detail)| {
        let count = tolerance.count(kind);
        format!(
            "the server deviates from the specification: {detail} ({count} deviations of this kind)"
        )
    };
    tolerance.details().into_iter().map(text).collect()
}

impl Offer {
    /// Reads the lists that the server declares. If one list fails, still reads the other lists.
    pub(crate) async fn of(client: &Client) -> Self {
        let (declared, mut offer) = (client.capabilities(), Self::default());
        if declared.tools.is_some() {
            offer.tools = offer.list(method::TOOLS_LIST, client.list_tools().await);
        }
        if declared.prompts.is_some() {
            offer.prompts = offer.list(method::PROMPTS_LIST, client.list_prompts().await);
        }
        if declared.resources.is_some() {
            offer.resources = offer.list(method::RESOURCES_LIST, client.list_resources().await);
            let templates = client.list_resource_templates().await;
            offer.templates = offer.list(method::RESOURCES_TEMPLATES_LIST, templates);
        }
        offer.notes.extend(deviations(client));
        offer
    }

    /// Removes and returns the failure of the first list that could not be read.
    pub(crate) fn take_failure(&mut self) -> Result<(), Failure> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Returns the items of a list. If the server declares a list but does not know its method, the list is empty.
    fn list<T>(&mut self, name: &str, listed: Result<Vec<T>, Error>) -> Vec<T> {
        match listed {
            Ok(items) => return items,
            Err(Error::Rejected(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => {
                self.notes.push(format!(
                    "the server declares this list, but does not know {name}"
                ))
            }
            Err(error) => {
                let failure = Failure::from(error);
                let failure = Failure::new(failure.code, format!("{name}: {failure}"));
                self.notes.push(failure.to_string());
                self.failure.get_or_insert(failure);
            }
        }
        Vec::new()
    }

    /// Returns warnings about lists and definitions that some hosts and models reject or cannot use.
    fn warnings(&self) -> Vec<String> {
        let mut warnings = self.defects();
        for tool in &self.tools {
            let name = &tool.name;
            if tool.description.as_deref().is_none_or(str::is_empty) {
                warnings.push(format!(
                    "tool {name}: no description, so a model cannot know when to use it"
                ));
            }
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            if name.len() > 64 || !name.chars().all(is_plain) {
                warnings.push(format!(
                    "tool {name}: some models reject names with more than 64 characters, or with characters other than letters, digits, _ and -"
                ));
            }
            let arguments = tool.input_schema.get("properties");
            for (argument, field) in arguments.and_then(Value::as_object).into_iter().flatten() {
                if field.get("description").is_none() {
                    warnings.push(format!(
                        "tool {name}: argument {argument} has no description"
                    ));
                }
            }
        }
        warnings
    }

    /// Returns a text for each problem of a list, for each tool that is listed twice, and for each invalid schema of a tool.
    pub(super) fn defects(&self) -> Vec<String> {
        let mut defects = self.notes.clone();
        let mut names = HashSet::new();
        for tool in &self.tools {
            let name = &tool.name;
            if !names.insert(name) {
                defects.push(format!(
                    "tool {name}: the list has this name twice, and a host calls only one of them"
                ));
            }
            let input = ("inputSchema", Some(&tool.input_schema));
            let output = ("outputSchema", tool.output_schema.as_ref());
            for (member, schema) in [input, output] {
                let compiled = schema.map(|schema| Validator::compile(schema, Origin::Foreign));
                if let Some(Err(error)) = compiled
                    && !error.is_missing_feature()
                {
                    defects.push(format!("tool {name}: {member}: {error}"));
                }
            }
        }
        defects
    }
}

pub(super) async fn run(words: Words, revisions: bool, options: &Options) -> Result<Code, Failure> {
    let (target, rest) = Target::take(words, options)?;
    if let Some(word) = rest.first() {
        return Err(Failure::usage(format!(
            "unexpected argument {word:?}; this command takes only a server"
        )));
    }
    if revisions {
        return all_revisions(&target, options).await;
    }
    let connection = Connection::open(&target, options).await?;
    let client = &connection.client;
    let mut offer = Offer::of(client).await;
    let warnings = offer.warnings();
    let shown = match options.json {
        true => output::json(&json!({
            "server": client.server_info(),
            "revision": client.revision().as_str(),
            "capabilities": client.capabilities(),
            "instructions": client.instructions(),
            "tools": offer.tools,
            "prompts": offer.prompts,
            "resources": offer.resources,
            "resourceTemplates": offer.templates,
            "warnings": warnings,
        })),
        false => page(client, &offer, &warnings),
    };
    connection.close().await;
    shown?;
    offer.take_failure().map(|()| Code::Success)
}

fn page(client: &Client, offer: &Offer, warnings: &[String]) -> Result<(), Failure> {
    let mut text = head(client);
    let tools = offer.tools.iter().map(|tool| {
        let schema = serde_json::to_value(&tool.input_schema).unwrap_or_default();
        let shown = format!("{}({})", tool.name, parameters(&schema));
        (shown, tool.description.as_deref())
    });
    section(&mut text, "Tools", tools);
    let prompts = offer.prompts.iter().map(|prompt| {
        let shown = format!("{}({})", prompt.name, arguments(prompt));
        (shown, prompt.description.as_deref())
    });
    section(&mut text, "Prompts", prompts);
    let resources = offer.resources.iter().map(|resource| {
        let description = resource.description.as_deref();
        (resource.uri.clone(), description.or(Some(&resource.name)))
    });
    section(&mut text, "Resources", resources);
    let templates = offer.templates.iter().map(|template| {
        let description = template.description.as_deref().or(Some(&template.name));
        (template.uri_template.clone(), description)
    });
    section(&mut text, "Resource templates", templates);
    let warnings = warnings.iter().map(|warning| (warning.clone(), None));
    section(&mut text, "Warnings", warnings);
    output::print(&text)
}

/// Returns the server's description of itself: name, version, revision, capabilities and instructions.
fn head(client: &Client) -> String {
    let info = client.server_info();
    let title = info.title.as_deref();
    let title = title.map_or(String::new(), |title| format!(" ({title})"));
    let mut text = format!(
        "{}\nrevision {}\n",
        output::one_line(&format!("{} {}{title}", info.name, info.version)),
        client.revision()
    );
    let capabilities = serde_json::to_value(client.capabilities()).unwrap_or_default();
    let names = |object: &Value| {
        let members = object.as_object().into_iter().flatten();
        let names: Vec<&str> = members.map(|(name, _)| &**name).collect();
        output::one_line(&names.join(", "))
    };
    text += &format!("capabilities {}\n", names(&capabilities));
    if capabilities["extensions"].is_object() {
        text += &format!("extensions {}\n", names(&capabilities["extensions"]));
    }
    if let Some(instructions) = client.instructions() {
        let lines = instructions.trim().lines();
        text.push('\n');
        text.extend(lines.map(|line| format!("  {line}\n")));
    }
    text
}

/// Adds a heading and one line for each item, if there are items.
fn section<'a>(
    text: &mut String,
    title: &str,
    items: impl Iterator<Item = (String, Option<&'a str>)>,
) {
    for (number, (name, description)) in items.enumerate() {
        if number == 0 {
            *text += &format!("\n{title}\n");
        }
        *text += &format!("  {}\n", output::clean_name(&name));
        if let Some(line) = description.map(first_line).filter(|line| !line.is_empty()) {
            *text += &format!("      {line}\n");
        }
    }
}

/// Returns the arguments of a prompt, with a question mark after each optional argument.
fn arguments(prompt: &Prompt) -> String {
    let arguments = prompt.arguments.iter().flatten();
    let shown = arguments.map(|argument| match argument.required {
        Some(true) => argument.name.clone(),
        _ => format!("{}?", argument.name),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// Returns the parameters of a tool as `name: type`, with a question mark after each optional parameter.
fn parameters(schema: &Value) -> String {
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let fields = schema["properties"].as_object().into_iter().flatten();
    let shown = fields.map(|(name, field)| {
        let mark = if is_required(name) { "" } else { "?" };
        match &field["type"] {
            Value::String(kind) => format!("{name}{mark}: {kind}"),
            _ => format!("{name}{mark}"),
        }
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// Connects once with each revision, and shows whether the server supports it.
async fn all_revisions(target: &Target, options: &Options) -> Result<Code, Failure> {
    let mut rows = Vec::new();
    for revision in Revision::ALL {
        let mut options = options.clone();
        options.revision = RevisionChoice::Exactly(revision);
        let outcome = match Connection::open(target, &options).await {
            Ok(connection) => {
                let agreed = connection.client.revision();
                connection.close().await;
                match agreed == revision {
                    true => "yes".to_owned(),
                    false => format!("answers with {agreed}"),
                }
            }
            Err(failure) => format!("no: {}", first_line(&failure.to_string())),
        };
        rows.push((revision.to_string(), outcome));
    }
    if options.json {
        let rows = rows
            .into_iter()
            .map(|(revision, outcome)| (revision, Value::String(outcome)));
        return output::json(&Value::Object(rows.collect())).map(|()| Code::Success);
    }
    let rows: Vec<(&str, &str)> = rows
        .iter()
        .map(|(revision, outcome)| (&**revision, &**outcome))
        .collect();
    output::print_table(&rows).map(|()| Code::Success)
}
