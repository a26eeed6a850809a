//! Compares two snapshots of a server and returns the changes.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::definition::Definitions;
use super::excerpt::{common_prefix, excerpt};
use super::revisions;
use super::snapshot::Snapshot;

/// Maximum number of changed values that are shown for each member of a definition.
const MAX_VALUES: usize = 8;

/// The effect of a change on users of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Calls that were valid before the change now fail.
    Breaking,
    /// The model reads a different text, or metadata that hosts rely on has changed, such as annotations.
    Risky,
    /// An item or an optional argument was added.
    Safe,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Breaking => "breaking",
            Self::Risky => "risky",
            Self::Safe => "safe",
        })
    }
}

/// One change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) class: Class,
    /// The kind and name of the changed item.
    pub(super) item: String,
    pub(super) text: String,
}

/// Returns all changes, the most severe changes first.
pub(super) fn compare(old: &Snapshot, new: &Snapshot) -> Vec<Difference> {
    let mut all = Changes(Vec::new());
    all.text("revision", &old.revision, &new.revision);
    all.text("version", &old.version, &new.version);
    all.text("name", &old.name, &new.name);
    if old.instructions != new.instructions {
        all.add(Class::Risky, "instructions", "changed");
    }
    for extension in &old.extensions {
        if !new.extensions.contains(extension) {
            all.add(
                Class::Breaking,
                &format!("extension {extension}"),
                "removed",
            );
        }
    }
    for extension in &new.extensions {
        if !old.extensions.contains(extension) {
            all.add(Class::Safe, &format!("extension {extension}"), "added");
        }
    }
    if let (Some(old), Some(new)) = (&old.outside, &new.outside) {
        for (name, new) in new {
            // A list that is not in both snapshots is not compared, because its kind was not selected.
            if let Some(old) = old.get(name).filter(|old| *old != new) {
                let reported = all.0.len();
                all.members(reported, name, &old.definition, &new.definition);
            }
        }
    }
    // A kind that is not in both snapshots is not compared, because the kind was not selected.
    for ((_, kind, old), (_, _, new)) in old.kinds().into_iter().zip(new.kinds()) {
        if let (Some(old), Some(new)) = (old, new) {
            all.definitions(kind, old, new);
        }
    }
    let more = revisions::changes(old, new, &all.0);
    all.0.extend(more);
    let Changes(mut all) = all;
    all.sort_by(|a, b| (a.class, &a.item).cmp(&(b.class, &b.item)));
    all
}

struct Changes(Vec<Difference>);

impl Changes {
    fn add(&mut self, class: Class, item: &str, text: impl Into<String>) {
        let (item, text) = (item.to_owned(), text.into());
        self.0.push(Difference { class, item, text });
    }

    fn text(&mut self, item: &str, old: &str, new: &str) {
        if old != new {
            self.add(Class::Risky, item, format!("{old} is now {new}"));
        }
    }

    fn definitions(&mut self, kind: &str, old: &Definitions, new: &Definitions) {
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for name in names {
            let item = format!("{kind} {name}");
            let (old, new) = match (old.get(name), new.get(name)) {
                (Some(old), Some(new)) if old == new => continue,
                (Some(old), Some(new)) => (&old.definition, &new.definition),
                (Some(_), None) => {
                    self.add(Class::Breaking, &item, "removed");
                    continue;
                }
                (None, _) => {
                    self.add(Class::Safe, &item, "added");
                    continue;
                }
            };
            let reported = self.0.len();
            match kind {
                "tool" => tool(self, &item, [old, new]),
                "prompt" => prompt(self, &item, [old, new]),
                _ => {}
            }
            self.members(reported, &item, old, new);
        }
    }

    /// Reports the changes of the members of an object. `reported` is the number of changes that were reported before this
    /// object. If nothing is reported for this object, reports that the object has changed.
    fn members(&mut self, reported: usize, item: &str, old: &Value, new: &Value) {
        let objects = [old, new].into_iter().filter_map(Value::as_object);
        let members: BTreeSet<&String> = objects.flat_map(serde_json::Map::keys).collect();
        for member in members.into_iter().filter(|name| old[*name] != new[*name]) {
            self.member(item, member, &old[member], &new[member]);
        }
        // For example, a member whose value is `null` was removed.
        if self.0.len() == reported {
            self.add(Class::Risky, item, "changed");
        }
    }

    /// Reports the change of a member. Leaves out changes in schemas and arguments that were already reported as breaking.
    fn member(&mut self, item: &str, member: &str, old: &Value, new: &Value) {
        let is_reported = self.0.iter().any(|one| {
            one.item == item
                && one.class == Class::Breaking
                && matches!(member, "inputSchema" | "outputSchema" | "arguments")
        });
        let without_arguments = (member == "inputSchema").then(|| without_additions(old, new));
        let new = without_arguments.as_ref().unwrap_or(new);
        let mut changes = Vec::new();
        if new != old {
            changed_values(member, old, new, is_reported, &mut changes);
        }
        let more = changes.len().saturating_sub(MAX_VALUES);
        changes.truncate(MAX_VALUES);
        for change in changes {
            self.add(Class::Risky, item, change);
        }
        if more > 0 {
            self.add(Class::Risky, item, format!("{member}: {more} more changes"));
        }
    }
}

/// Adds a description of each value that differs, with its path. If `is_reported`, leaves out the changes that break callers,
/// because these were already reported.
fn changed_values(
    path: &str,
    old: &Value,
    new: &Value,
    is_reported: bool,
    changes: &mut Vec<String>,
) {
    let breaks_callers = |name: &str| matches!(name, "type" | "enum" | "required");
    // An argument can also have one of these names, but the schema of an argument is an object.
    let breaks_callers = !old.is_object() && path.rsplit('.').next().is_some_and(breaks_callers);
    if is_reported && (new.is_null() || breaks_callers) {
        return;
    }
    if let (Value::Object(before), Value::Object(after)) = (old, new) {
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names.into_iter().filter(|name| old[*name] != new[*name]) {
            let path = format!("{path}.{name}");
            changed_values(&path, &old[name], &new[name], is_reported, changes);
        }
        return;
    }
    let [before, after] = [old, new].map(|value| match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    });
    let same = common_prefix(&before, &after);
    let [before, after] = [excerpt(&before, same), excerpt(&after, same)];
    changes.push(match (old, new) {
        (Value::Null, _) => format!("{path} added: {after}"),
        (_, Value::Null) => format!("{path} removed: {before}"),
        _ => format!("{path}: {before:?} is now {after:?}"),
    });
}

/// Returns the new input schema without the arguments that the old schema does not have. [`input`] reports the additional
/// arguments.
fn without_additions(old: &Value, new: &Value) -> Value {
    let mut rest = new.clone();
    if let (Some(old), Some(rest)) = (
        old["properties"].as_object(),
        rest.get_mut("properties").and_then(Value::as_object_mut),
    ) {
        rest.retain(|name, _| old.contains_key(name));
        for (name, field) in rest.iter_mut() {
            *field = without_additions(&old[name], field);
        }
    }
    rest
}

/// Adds the changes of a tool's schemas that break callers.
fn tool(all: &mut Changes, item: &str, [old, new]: [&Value; 2]) {
    input(all, item, &old["inputSchema"], &new["inputSchema"], "");
    let (old, new) = (&old["outputSchema"], &new["outputSchema"]);
    if !old.is_null() && new.is_null() {
        all.add(Class::Breaking, item, "structured output removed");
    }
    for (name, field) in old["properties"].as_object().into_iter().flatten() {
        match new["properties"].get(name) {
            None if !new.is_null() => {
                all.add(Class::Breaking, item, format!("output {name} removed"))
            }
            Some(now) if now["type"] != field["type"] => {
                all.add(
                    Class::Breaking,
                    item,
                    format!("output {name} has another type"),
                );
            }
            _ => {}
        }
    }
}

/// Adds the changes of an input schema, and of the objects in the schema, that make the tool reject arguments which it accepted
/// before.
fn input(all: &mut Changes, item: &str, old: &Value, new: &Value, path: &str) {
    for one in new["required"].as_array().into_iter().flatten() {
        let name = one.as_str().unwrap_or_default();
        if !requires(old, name) {
            let text = format!("argument {path}{name} is required now");
            all.add(Class::Breaking, item, text);
        }
    }
    for (name, was) in old["properties"].as_object().into_iter().flatten() {
        let Some(is) = new["properties"].get(name) else {
            let text = format!("argument {path}{name} removed");
            all.add(Class::Breaking, item, text);
            continue;
        };
        values(all, item, was, is, &format!("{path}{name}"));
        // The parser limits the depth.
        input(all, item, was, is, &format!("{path}{name}."));
    }
    for (name, _) in new["properties"].as_object().into_iter().flatten() {
        if old["properties"].get(name).is_some() {
            continue;
        }
        let (class, text) = match (requires(old, name), requires(new, name)) {
            // Reported above.
            (false, true) => continue,
            (_, false) => (Class::Safe, format!("optional argument {path}{name} added")),
            (true, true) => (
                Class::Risky,
                format!("required argument {path}{name} has a schema now"),
            ),
        };
        all.add(class, item, text);
    }
}

fn requires(schema: &Value, name: &str) -> bool {
    let required = schema["required"].as_array();
    required.is_some_and(|all| all.iter().any(|one| one == name))
}

/// Adds the types and values that an argument no longer accepts.
fn values(all: &mut Changes, item: &str, was: &Value, is: &Value, argument: &str) {
    let listed = |field: &Value| -> Option<BTreeSet<String>> {
        let all = field["enum"].as_array()?.iter();
        Some(all.map(Value::to_string).collect())
    };
    let kinds = lost(&types(was), &types(is));
    let (values, is_limited) = match (listed(was), listed(is)) {
        (_, None) => (None, false),
        (None, Some(_)) => (None, true),
        (Some(was), Some(is)) => (lost(&was, &is), false),
    };
    for lost in [kinds, values].into_iter().flatten() {
        let text = format!("argument {argument} does not accept {lost} any more");
        all.add(Class::Breaking, item, text);
    }
    if is_limited {
        let text = format!("argument {argument} accepts only some values now");
        all.add(Class::Breaking, item, text);
    }
}

/// Returns the JSON types that a field accepts; an empty list means all types.
fn types(field: &Value) -> BTreeSet<String> {
    match &field["type"] {
        Value::String(one) => BTreeSet::from([one.clone()]),
        Value::Array(all) => all
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        _ => BTreeSet::new(),
    }
}

/// Returns the values that the old schema accepts and the new schema rejects.
fn lost(was: &BTreeSet<String>, is: &BTreeSet<String>) -> Option<String> {
    if is.is_empty() {
        return None;
    }
    if was.is_empty() {
        return Some("other types".to_owned());
    }
    let widened = |kind: &&String| *kind == "integer" && is.contains("number");
    let lost: Vec<&str> = was
        .iter()
        .filter(|kind| !is.contains(*kind) && !widened(kind))
        .map(|kind| &**kind)
        .collect();
    (!lost.is_empty()).then(|| lost.join(", "))
}

/// Adds the changes of a prompt's arguments that break callers.
fn prompt(all: &mut Changes, item: &str, [old, new]: [&Value; 2]) {
    let arguments = |prompt: &Value| prompt["arguments"].as_array().cloned().unwrap_or_default();
    let (old, new) = (arguments(old), arguments(new));
    let find = |all: &[Value], name: &Value| all.iter().find(|one| one["name"] == *name).cloned();
    for argument in &old {
        if find(&new, &argument["name"]).is_none() {
            all.add(
                Class::Breaking,
                item,
                format!("argument {} removed", argument["name"]),
            );
        }
    }
    for argument in new.iter().filter(|argument| argument["required"] == true) {
        if find(&old, &argument["name"]).is_none_or(|was| was["required"] != true) {
            all.add(
                Class::Breaking,
                item,
                format!("argument {} is required now", argument["name"]),
            );
        }
    }
}
