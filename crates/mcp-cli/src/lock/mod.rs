//! `mcp lock`: the definitions of servers in a file, and what has changed since.

mod compare;
mod list;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clap::ValueEnum as _;
use mcp_client::{Client, json_hash};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::args::{ListKind, Options, Words};
use crate::connect::Connection;
use crate::failure::{Code, Failure};
use crate::output;
use crate::target::Target;
use compare::{Class, Difference};
use list::{check_deviations, definitions};

/// The version of the file format.
const VERSION: u32 = 1;

/// The mode of the command.
#[derive(Debug)]
pub(crate) struct Mode {
    pub(crate) check: bool,
    pub(crate) github: bool,
    /// The kinds to lock; empty: those that the file has.
    pub(crate) only: Vec<ListKind>,
    /// The arguments whose defaults are ignored, as `TOOL:ARGUMENT`, in addition to those in the file.
    pub(crate) volatile_defaults: Vec<String>,
}

/// The lock file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LockFile {
    version: u32,
    /// By URL or command line.
    servers: BTreeMap<String, Snapshot>,
}

/// What one server offered.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Snapshot {
    name: String,
    version: String,
    revision: String,
    extensions: Vec<String>,
    instructions: Option<String>,
    /// The arguments whose defaults were removed from the definitions, as `TOOL:ARGUMENT`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    volatile_defaults: BTreeSet<String>,
    /// Items of a kind that is not locked are absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tools: Option<Definitions>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompts: Option<Definitions>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resources: Option<Definitions>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    templates: Option<Definitions>,
}

type Definitions = BTreeMap<String, Definition>;

/// A definition, and the SHA-256 of its JSON with sorted members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Definition {
    sha256: String,
    definition: Value,
}

impl Definition {
    fn new(definition: Value) -> Self {
        let sha256 = json_hash(&definition);
        Self { sha256, definition }
    }
}

impl Snapshot {
    async fn of(
        client: &Client,
        kinds: &[ListKind],
        known: BTreeSet<String>,
        new: &[String],
    ) -> Result<Self, Failure> {
        check_deviations(client)?;
        let extensions = client.capabilities().extensions.iter().flatten();
        let info = client.server_info();
        let read = |kind| async move {
            match kinds.contains(&kind) {
                true => definitions(client, kind).await.map(Some),
                false => Ok(None),
            }
        };
        let mut tools = read(ListKind::Tools).await?;
        for name in &known {
            remove_default(tools.as_mut(), name);
        }
        for name in new.iter().filter(|name| !known.contains(*name)) {
            if !remove_default(tools.as_mut(), name) {
                return Err(Failure::usage(format!(
                    "--volatile-default {name:?}: expected TOOL:ARGUMENT, and the server has no tool whose argument has this name and a default"
                )));
            }
        }
        let volatile_defaults = known.into_iter().chain(new.iter().cloned()).collect();
        let prompts = read(ListKind::Prompts).await?;
        let resources = read(ListKind::Resources).await?;
        let templates = read(ListKind::Templates).await?;
        check_deviations(client)?;
        Ok(Self {
            name: info.name.clone(),
            version: info.version.clone(),
            revision: client.revision().to_string(),
            extensions: extensions.map(|(id, _)| id.clone()).collect(),
            instructions: client.instructions().map(str::to_owned),
            volatile_defaults,
            tools,
            prompts,
            resources,
            templates,
        })
    }

    fn kinds(&self) -> [(ListKind, &'static str, Option<&Definitions>); 4] {
        [
            (ListKind::Tools, "tool", self.tools.as_ref()),
            (ListKind::Prompts, "prompt", self.prompts.as_ref()),
            (ListKind::Resources, "resource", self.resources.as_ref()),
            (ListKind::Templates, "template", self.templates.as_ref()),
        ]
    }
}

/// Removes the default of the argument `TOOL:ARGUMENT` from the definition of the tool. Returns whether it has one.
fn remove_default(tools: Option<&mut Definitions>, name: &str) -> bool {
    let Some((tool, argument)) = name.rsplit_once(':') else {
        return false;
    };
    let Some(known) = tools.and_then(|tools| tools.get_mut(tool)) else {
        return false;
    };
    let mut definition = known.definition.clone();
    let schema = definition.get_mut("inputSchema");
    let arguments = schema.and_then(|schema| schema.get_mut("properties"));
    let argument = arguments.and_then(|arguments| arguments.get_mut(argument));
    let members = argument.and_then(Value::as_object_mut);
    let has_default = members.is_some_and(|members| members.shift_remove("default").is_some());
    if has_default {
        *known = Definition::new(definition);
    }
    has_default
}

pub(crate) async fn run(
    words: Words,
    mode: &Mode,
    path: &Path,
    options: &Options,
) -> Result<Code, Failure> {
    let (target, rest) = Target::take(words, options)?;
    if let Some(word) = rest.first() {
        return Err(Failure::usage(format!(
            "unexpected argument {word:?}; this command takes only a server"
        )));
    }
    let mut file = read(path)?;
    let key = target.to_string();
    if mode.check && !file.servers.contains_key(&key) {
        let known: Vec<&str> = file.servers.keys().map(|key| &**key).collect();
        return Err(Failure::usage(format!(
            "{} has no entry for {key:?}; it has {known:?}. Run `mcp lock` without --check to add it. \
             A server of a configuration file keeps its entry when its command or URL changes",
            path.display()
        )));
    }
    let locked = file.servers.get(&key);
    let kinds: Vec<ListKind> = match (&mode.only[..], locked) {
        ([], Some(locked)) => { locked.kinds().into_iter() }
            .filter_map(|(kind, _, items)| items.map(|_| kind))
            .collect(),
        ([], None) => ListKind::value_variants().to_vec(),
        (only, _) => only.to_vec(),
    };
    let known = locked.map(|locked| locked.volatile_defaults.clone());
    let new = &mode.volatile_defaults;
    let connection = Connection::open(&target, options).await?;
    let found = Snapshot::of(&connection.client, &kinds, known.unwrap_or_default(), new).await?;
    connection.close().await;
    let differences = locked.map_or_else(Vec::new, |locked| compare::compare(locked, &found));
    show(&differences, mode, path, options)?;
    if mode.check {
        let is_of_resource = |one: &Difference| one.item.starts_with("resource ");
        if !differences.is_empty() && differences.iter().all(is_of_resource) {
            output::say(
                "note: only resources differ; to leave them out of the file, run `mcp lock --only tools,prompts,templates`",
            );
        }
        return Ok(match differences[..] {
            [] => Code::Success,
            _ => Code::LockMismatch,
        });
    }
    let counts = found.kinds().into_iter().filter_map(|(_, name, items)| {
        Some(match items?.len() {
            1 => format!("1 {name}"),
            count => format!("{count} {name}s"),
        })
    });
    let counts = counts.collect::<Vec<_>>().join(", ");
    file.servers.insert(key, found);
    write(path, &file)?;
    output::say(&format!("locked {counts} in {}", path.display()));
    Ok(Code::Success)
}

fn read(path: &Path) -> Result<LockFile, Failure> {
    let problem = |why: String| Failure::usage(format!("{}: {why}", path.display()));
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let servers = BTreeMap::new();
            return Ok(LockFile {
                version: VERSION,
                servers,
            });
        }
        Err(error) => return Err(problem(error.to_string())),
    };
    let file: LockFile =
        mcp_jsonrpc::decode_document(&text).map_err(|error| problem(error.to_string()))?;
    if file.version != VERSION {
        return Err(problem(format!(
            "lock file format {} is not supported (this program: {VERSION}); update mcp",
            file.version
        )));
    }
    let all = file.servers.values().flat_map(Snapshot::kinds);
    for (name, definition) in all.filter_map(|(.., items)| items).flatten() {
        if Definition::new(definition.definition.clone()) != *definition {
            return Err(problem(format!(
                "{name}: its sha256 does not match, so the definition was edited; restore the file, or delete it and run `mcp lock`"
            )));
        }
    }
    Ok(file)
}

/// Replaces the file at once, so that a reader never sees a part of it.
fn write(path: &Path, file: &LockFile) -> Result<(), Failure> {
    let text = output::text_of(file)? + "\n";
    let written = mcp_host::replace_file(path, text.as_bytes(), false);
    written.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

fn show(
    differences: &[Difference],
    mode: &Mode,
    path: &Path,
    options: &Options,
) -> Result<(), Failure> {
    if mode.github {
        for Difference { class, item, text } in differences {
            let level = if *class == Class::Safe {
                "notice"
            } else {
                "error"
            };
            let line = output::clean(&format!("{class}: {item}: {text}"))
                .replace('%', "%25")
                .replace('\n', "%0A");
            output::write(format!("::{level} file={}::{line}\n", path.display()).as_bytes())?;
        }
        return Ok(());
    }
    if options.json {
        let rows: Vec<Value> = differences
            .iter()
            .map(
                |one| json!({ "class": one.class.to_string(), "item": one.item, "text": one.text }),
            )
            .collect();
        return output::json(&rows);
    }
    let rows: Vec<(String, String)> = differences
        .iter()
        .map(|one| {
            (
                format!("{:8}  {}", one.class.to_string(), one.item),
                one.text.clone(),
            )
        })
        .collect();
    output::print_table(
        &rows
            .iter()
            .map(|(item, text)| (&**item, &**text))
            .collect::<Vec<_>>(),
    )
}
