//! `mcp lock`: stores the definitions of servers in a file, and shows later changes.

mod compare;
mod definition;
mod excerpt;
mod handshake;
mod list;
mod revisions;
mod snapshot;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use clap::ValueEnum as _;
use mcp_host::without_type_names;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::args::{ListKind, Options, RevisionChoice, Words};
use crate::failure::{Code, Failure};
use crate::login::is_plain;
use crate::output;
use crate::target::Target;
use compare::{Class, Difference};
use definition::Definition;
use snapshot::{LockConnection, Snapshot};

/// The version of the file format. A snapshot of version 1 had no `Snapshot::outside`. A snapshot of version 2 contained the
/// definitions of at most one other revision. Files of both versions can still be read.
const VERSION: u32 = 3;

/// The mode of the command: write or compare.
#[derive(Debug)]
pub(crate) struct Mode {
    pub(crate) check: bool,
    pub(crate) github: bool,
    /// The kinds to lock. If this list is empty, the kinds in the file are locked.
    pub(crate) only: Vec<ListKind>,
    /// The arguments whose defaults are ignored, as `TOOL:ARGUMENT`, in addition to the arguments in the file.
    pub(crate) volatile_defaults: Vec<String>,
}

/// The lock file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LockFile {
    version: u32,
    /// The snapshots, by the configured name, URL or command line of the server.
    servers: BTreeMap<String, Snapshot>,
}

/// Returns the failure of a comparison if the lock file has no entry for the server.
fn missing_entry(path: &Path, file: &LockFile, key: &str) -> Failure {
    let shown = path.display();
    if !path.exists() {
        return Failure::usage(format!(
            "{shown} does not exist; run `mcp lock` without --check to create it"
        ));
    }
    let known: Vec<&str> = file.servers.keys().map(|key| &**key).collect();
    Failure::usage(format!(
        "{shown} has no entry for {key:?}; it has {known:?}. Run `mcp lock` without --check to add it. \
         A server of a configuration file keeps its entry when its command or URL changes"
    ))
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
        return Err(missing_entry(path, &file, &key));
    }
    let locked = file.servers.get(&key);
    let kinds = kinds(&mode.only, locked);
    check_format(locked, mode, path, &key)?;
    let known = locked.map(|locked| locked.volatile_defaults.clone());
    let known = known.unwrap_or_default();
    let new = &mode.volatile_defaults;
    let recorded = LockConnection::open(&target, options).await?;
    let mut found = recorded.snapshot(&kinds, known.clone(), new).await?;
    found.others = match options.revision {
        RevisionChoice::Auto => Some(revisions::read(&target, &found, &kinds, options).await?),
        // The definitions for other revisions were not read, so the locked definitions are kept.
        _ => locked.and_then(|locked| revisions::moved(locked, &found)),
    };
    let differences = locked.map_or_else(Vec::new, |locked| compare::compare(locked, &found));
    show(&differences, mode, path, options)?;
    if mode.check {
        advise(&differences, locked, &found);
        return Ok(match differences[..] {
            [] => Code::Success,
            _ => Code::LockMismatch,
        });
    }
    let counts = counts(&found);
    file.version = VERSION;
    file.servers.insert(key, found);
    write(path, &file)?;
    output::say(&format!("locked {counts} in {}", path.display()));
    Ok(Code::Success)
}

/// Prints how to exclude resources and defaults, which may change with each request.
fn advise(differences: &[Difference], locked: Option<&Snapshot>, found: &Snapshot) {
    let is_of_resource = |one: &Difference| one.item.starts_with("resource ");
    if !differences.is_empty() && differences.iter().all(is_of_resource) {
        output::say(
            "note: only resources differ; to leave them out of the file, run `mcp lock --only tools,prompts,templates`",
        );
    }
    let defaults = locked.map_or_else(Vec::new, |locked| locked.changed_defaults(found));
    if let Some(argument) = defaults.first() {
        // A name of the server is part of a command only if it has no meaning in a shell.
        let word = if is_plain(argument) {
            argument
        } else {
            "TOOL:ARGUMENT"
        };
        output::say(&format!(
            "note: the default of {argument} differs; if the server computes it at each start, `mcp lock --volatile-default {word}` leaves it out of comparisons"
        ));
    }
}

/// Returns the kinds to compare: the kinds in `only`. If `only` is empty, these are the kinds in the entry of the lock file.
/// Without an entry, these are all kinds.
fn kinds(only: &[ListKind], locked: Option<&Snapshot>) -> Vec<ListKind> {
    match (only, locked) {
        ([], Some(locked)) => {
            let kinds = locked.kinds().into_iter();
            kinds
                .filter_map(|(kind, _, items)| items.map(|_| kind))
                .collect()
        }
        ([], None) => ListKind::value_variants().to_vec(),
        (only, _) => only.to_vec(),
    }
}

/// Returns a text with the number of definitions of each kind.
fn counts(snapshot: &Snapshot) -> String {
    let counts = snapshot
        .kinds()
        .into_iter()
        .filter_map(|(_, name, items)| Some(output::counted(items?.len(), name)));
    counts.collect::<Vec<_>>().join(", ")
}

/// Checks that the entry of a server contains everything that is compared. A comparison with an entry of format 1 would not see
/// the changes outside of items.
fn check_format(
    locked: Option<&Snapshot>,
    mode: &Mode,
    path: &Path,
    key: &str,
) -> Result<(), Failure> {
    if locked.is_none_or(|locked| locked.outside.is_some()) {
        return Ok(());
    }
    let path = path.display();
    if mode.check {
        return Err(Failure::usage(format!(
            "{path}: the entry of {key:?} has format 1, which did not contain the description of the server and the members outside of \
             items; run `mcp lock` without --check, and review the file"
        )));
    }
    output::say(&format!(
        "note: {path}: the entry of {key:?} had format 1; review its new member \"outside\""
    ));
    Ok(())
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
    let file: LockFile = mcp_jsonrpc::decode_document(&text)
        .map_err(|error| problem(without_type_names(&error.to_string())))?;
    if !(1..=VERSION).contains(&file.version) {
        return Err(problem(format!(
            "lock file format {} is not supported (this program: 1 to {VERSION}); update mcp",
            file.version
        )));
    }
    let offers = || { file.servers.values() }.flat_map(Snapshot::with_others);
    let kinds = offers().flat_map(Snapshot::kinds);
    let outside = offers().map(|server| server.outside.as_ref());
    let all = kinds.map(|(.., items)| items).chain(outside);
    for (name, definition) in all.flatten().flatten() {
        if Definition::new(definition.definition.clone()) != *definition {
            return Err(problem(format!(
                "{name}: its sha256 does not match, so the definition was edited; restore the file, or delete it and run `mcp lock`"
            )));
        }
    }
    Ok(file)
}

/// Replaces the file atomically, so that a reader never sees a part of the content.
fn write(path: &Path, file: &LockFile) -> Result<(), Failure> {
    let text = output::text_of(file)? + "\n";
    // One server must not make the file unreadable for the others.
    mcp_jsonrpc::decode_document::<IgnoredAny>(&text).map_err(|error| {
        let path = path.display();
        Failure::new(Code::Protocol, format!(
            "{path} is not written, because it could not be read again: {error}; use --only, or another --file for this server"
        ))
    })?;
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
