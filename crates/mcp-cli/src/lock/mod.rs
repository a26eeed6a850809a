//! `mcp lock`: the definitions of servers in a file, and what has changed since.

mod compare;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use mcp_client::{Client, json_hash};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::args::{Options, Words};
use crate::commands::inspect::Offer;
use crate::connect::Connection;
use crate::failure::{Code, Failure};
use crate::output;
use crate::target::Target;
use compare::{Class, Difference};

/// The version of the file format.
const VERSION: u32 = 1;

/// The mode of the command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mode {
    pub(crate) check: bool,
    pub(crate) github: bool,
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
    tools: Definitions,
    prompts: Definitions,
    resources: Definitions,
    templates: Definitions,
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
    async fn of(client: &Client) -> Result<Self, Failure> {
        let mut offer = Offer::of(client).await;
        offer.take_failure()?;
        let extensions = client.capabilities().extensions.iter().flatten();
        let info = client.server_info();
        Ok(Self {
            name: info.name.clone(),
            version: info.version.clone(),
            revision: client.revision().to_string(),
            extensions: extensions.map(|(id, _)| id.clone()).collect(),
            instructions: client.instructions().map(str::to_owned),
            tools: definitions(&offer.tools, |tool| &tool.name)?,
            prompts: definitions(&offer.prompts, |prompt| &prompt.name)?,
            resources: definitions(&offer.resources, |resource| &resource.uri)?,
            templates: definitions(&offer.templates, |template| &template.uri_template)?,
        })
    }
}

fn definitions<T: Serialize>(
    items: &[T],
    name: impl Fn(&T) -> &String,
) -> Result<Definitions, Failure> {
    let mut all = Definitions::new();
    for item in items {
        let value =
            serde_json::to_value(item).map_err(|error| Failure::usage(error.to_string()))?;
        let (name, definition) = (name(item), Definition::new(value));
        let earlier = all.insert(name.clone(), definition.clone());
        if earlier.is_some_and(|earlier| earlier != definition) {
            return Err(Failure::new(
                Code::Protocol,
                format!(
                    "the server lists {name:?} twice with different definitions, and a host may use either of them"
                ),
            ));
        }
    }
    Ok(all)
}

pub(crate) async fn run(
    words: Words,
    mode: Mode,
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
    let connection = Connection::open(&target, options).await?;
    let found = Snapshot::of(&connection.client).await?;
    connection.close().await;
    let differences = match file.servers.get(&key) {
        Some(locked) => compare::compare(locked, &found),
        None => Vec::new(),
    };
    show(&differences, mode, path, options)?;
    if mode.check {
        return Ok(match differences[..] {
            [] => Code::Success,
            _ => Code::LockMismatch,
        });
    }
    let counts = [
        (found.tools.len(), "tool"),
        (found.prompts.len(), "prompt"),
        (found.resources.len(), "resource"),
        (found.templates.len(), "template"),
    ];
    let counts = counts.map(|(count, name)| match count {
        1 => format!("1 {name}"),
        count => format!("{count} {name}s"),
    });
    let counts = counts.join(", ");
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
    let all = file.servers.values().flat_map(|server| {
        [
            &server.tools,
            &server.prompts,
            &server.resources,
            &server.templates,
        ]
    });
    for (name, definition) in all.flatten() {
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
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.tmp", std::process::id()));
    let written = std::fs::write(&temporary, text).and_then(|()| std::fs::rename(&temporary, path));
    written.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

fn show(
    differences: &[Difference],
    mode: Mode,
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
