//! Translates the file formats of other hosts to one structure.

use std::ffi::OsStr;
use std::path::Path;

use serde_json::{Map, Value};
use strsim::levenshtein;

use super::error::ConfigError;
use super::hosts::{ConfigFormat, HOSTS, KnownHost, References, host_of};
use super::inputs::ConfigInput;
use super::syntax;
use crate::text_file::without_mark;

/// Maximum edit distance between a misspelled key and the correct key.
const MAX_DIFFERENCES: usize = 2;
/// Maximum number of servers of a file.
const MAX_SERVERS: usize = 1_000;

/// The servers of a file.
pub(super) struct ConfigContent {
    /// The host whose files have this structure.
    pub(super) host: &'static KnownHost,
    /// Whether the file has a list of servers.
    pub(super) has_list: bool,
    pub(super) servers: Vec<Written>,
    pub(super) inputs: Vec<ConfigInput>,
    /// A key of the file that is probably a misspelling, and the correct key of a server list.
    pub(super) misspelled: Option<(String, &'static str)>,
}

/// A server as it is written in a file.
pub(super) struct Written {
    pub(super) name: String,
    /// The JSON pointer to the server.
    pub(super) pointer: String,
    pub(super) value: Value,
}

impl ConfigFormat {
    /// Returns the format of the file at this path. A path at which a known host has a file gives the format of this host. Any
    /// other path gives the format of Codex if it ends with `.toml`, [`Yaml`](Self::Yaml) if it ends with `.yaml` or `.yml`, and
    /// otherwise [`Standard`](Self::Standard).
    pub fn of_path(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        match host_of(path) {
            Some(host) => host.format,
            None => match path.extension().and_then(OsStr::to_str) {
                Some("toml") => Self::Codex,
                Some("yaml" | "yml") => Self::Yaml,
                _ => Self::Standard,
            },
        }
    }

    /// Returns the hosts whose files can have this format, the most likely host first.
    fn hosts(self, path: Option<&Path>) -> impl Iterator<Item = &'static KnownHost> {
        let by_path = path.and_then(host_of).filter(|host| host.format == self);
        let own = move |host: &&KnownHost| host.format == self;
        // The content decides between the hosts with JSON files.
        let other = move |host: &&KnownHost| !own(host) && self.is_json() && host.format.is_json();
        let hosts = HOSTS.iter().filter(own).chain(HOSTS.iter().filter(other));
        by_path.into_iter().chain(hosts)
    }

    fn is_json(self) -> bool {
        matches!(self, Self::Standard | Self::VsCode | Self::Gemini)
    }

    /// Reads a text. `path` is the path of the file with the text, if it is known. A file of Claude Code can have servers for
    /// several folders. The servers for `folder` take precedence over the servers for all folders.
    pub(super) fn read(
        self,
        text: &str,
        path: Option<&Path>,
        folder: &Path,
    ) -> Result<ConfigContent, ConfigError> {
        let Value::Object(mut root) = syntax::parse(without_mark(text), self)? else {
            return Err(syntax::error("the file must contain an object"));
        };
        let own = folder_servers(&mut root, folder);
        let list = self.hosts(path).find_map(|host| {
            let servers = take_list(&mut root, host.list)?;
            Some((host, servers))
        });
        let inputs = root.shift_remove("inputs");
        let inputs = inputs.or_else(|| Some(root.get_mut("mcp")?.get_mut("inputs")?.take()));
        let mut found = ConfigContent {
            host: list.as_ref().map_or(&HOSTS[0], |(host, _)| host),
            has_list: list.is_some() || own.is_some(),
            servers: Vec::new(),
            inputs: ConfigInput::read(inputs),
            misspelled: None,
        };
        match list {
            Some((host, servers)) => found.add(host.list, servers)?,
            None => found.misspelled = self.misspelled(&root),
        }
        if let Some((folder, servers)) = own {
            found.add(&["projects", &folder, "mcpServers"], servers)?;
        }
        Ok(found)
    }

    fn misspelled(self, root: &Map<String, Value>) -> Option<(String, &'static str)> {
        let near = |key: &String| {
            let lower = key.to_lowercase();
            let is_near = |known: &&str| {
                lower.len().abs_diff(known.len()) <= MAX_DIFFERENCES
                    && levenshtein(&lower, &known.to_lowercase()) <= MAX_DIFFERENCES
            };
            // `mcp` is left out, because many short keys are similar to `mcp`.
            let mut known = self.keys().into_iter().filter(|known| *known != "mcp");
            known.find(is_near)
        };
        root.keys().find_map(|key| Some((key.clone(), near(key)?)))
    }

    /// Returns the keys that a list of servers can have at the root of a file.
    pub(super) fn keys(self) -> Vec<&'static str> {
        let mut keys = Vec::new();
        for key in self.hosts(None).map(|host| host.list[0]) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }
}

impl ConfigContent {
    /// Adds the servers of the list at the path `list`, a chain of member names. If the list is an array, each item contains the
    /// name of its server.
    fn add(&mut self, list: &[&str], servers: Value) -> Result<(), ConfigError> {
        let pointer: String = list.iter().map(|member| pointer_to(member)).collect();
        let count = match &servers {
            Value::Object(servers) => servers.len(),
            Value::Array(servers) => servers.len(),
            _ => 0,
        };
        if self.servers.len() + count > MAX_SERVERS {
            return Err(syntax::error(format!(
                "{pointer} has {count} servers, but a file can have at most {MAX_SERVERS}; remove servers"
            )));
        }
        match servers {
            Value::Object(servers) => {
                for (name, value) in servers {
                    let pointer = pointer.clone() + &pointer_to(&name);
                    self.add_server(name, pointer, value);
                }
                Ok(())
            }
            Value::Array(servers) => {
                for (index, mut value) in servers.into_iter().enumerate() {
                    let pointer = format!("{pointer}/{index}");
                    let name = value.as_object_mut().and_then(|it| it.shift_remove("name"));
                    let Some(Value::String(name)) = name else {
                        return Err(syntax::error(format!(
                            "{pointer} must be an object with \"name\""
                        )));
                    };
                    self.add_server(name, pointer, value);
                }
                Ok(())
            }
            _ => Err(syntax::error(format!(
                "{pointer} must be an object of servers by name"
            ))),
        }
    }

    fn add_server(&mut self, name: String, pointer: String, mut value: Value) {
        self.host.references.translate(&mut value);
        self.servers.push(Written {
            name,
            pointer,
            value,
        });
    }
}

/// Returns the part of a JSON pointer that leads to this member.
pub(super) fn pointer_to(member: &str) -> String {
    format!("/{}", member.replace('~', "~0").replace('/', "~1"))
}

/// Removes and returns the list of servers at the path `list`, a chain of member names.
fn take_list(root: &mut Map<String, Value>, list: &[&str]) -> Option<Value> {
    let (last, outer) = list.split_last()?;
    let mut members = root;
    for member in outer {
        members = members.get_mut(*member)?.as_object_mut()?;
    }
    // Below `mcp`, a file can have common settings of all servers instead of a list of servers.
    if *last == "mcp"
        && !members
            .get(*last)?
            .as_object()?
            .values()
            .all(Value::is_object)
    {
        return None;
    }
    members.shift_remove(*last)
}

/// Removes the list of servers for one folder from a file of Claude Code. Returns the list and the name of the folder.
fn folder_servers(root: &mut Map<String, Value>, folder: &Path) -> Option<(String, Value)> {
    let folder = folder.to_str()?;
    let project = root.get_mut("projects")?.get_mut(folder)?;
    let servers = project.get_mut("mcpServers")?.take();
    servers.is_object().then(|| (folder.to_owned(), servers))
}

impl References {
    /// Rewrites each reference in the texts of a server to the form `${NAME}`.
    fn translate(self, value: &mut Value) {
        match self {
            Self::Braces => {}
            Self::Dollar => change_texts(value, &brace_variables),
            Self::Kinds => change_texts(value, &|text| {
                let text = text.replace("{env:", "${env:").replace("{file:", "${file:");
                text.replace("$${", "${")
            }),
            Self::Templates => change_texts(value, &replace_templates),
            // In this file, `${` is plain text. It is escaped, so that it is not replaced as a reference later.
            Self::None => change_texts(value, &|text| text.replace("${", "${$}{")),
        }
    }
}

/// Changes all strings in a value.
fn change_texts(value: &mut Value, change: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(items) => items.iter_mut().for_each(|it| change_texts(it, change)),
        Value::Object(members) => members.values_mut().for_each(|it| change_texts(it, change)),
        _ => {}
    }
}

/// Rewrites `$NAME` as `${NAME}`.
fn brace_variables(text: &str) -> String {
    let mut parts = text.split('$');
    let mut braced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = part.find(|c| !is_name(c)).unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        match name.is_empty() {
            true => braced.extend(["$", rest]),
            false => braced.extend(["${", name, "}", rest]),
        }
    }
    braced
}

/// Rewrites `${{ secrets.NAME }}` as `${NAME}`, and `${{ inputs.NAME }}` as `${input:NAME}`.
fn replace_templates(text: &str) -> String {
    let mut parts = text.split("${{");
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let reference = part.split_once("}}").and_then(|(reference, rest)| {
            let (kind, name) = reference.trim().split_once('.')?;
            let kind = match kind {
                "secrets" => "",
                "inputs" => "input:",
                _ => return None,
            };
            Some(format!("${{{kind}{name}}}{rest}"))
        });
        match reference {
            Some(reference) => replaced.push_str(&reference),
            None => replaced.extend(["${{", part]),
        }
    }
    replaced
}
