//! `docs/template`, from which `cargo generate` makes a project: its manifest is valid, and its program is compiled as an example.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use toml::{Table, Value};

use crate::workspace::{self, At as _, File, Result};

const MANIFEST: &str = "docs/template/Cargo.toml.liquid";
const SETTINGS: &str = "docs/template/cargo-generate.toml";
const PROGRAM: &str = "docs/template/src/main.rs";
/// The package that compiles and tests the program.
const EXAMPLES: &str = "docs/examples/Cargo.toml";
const SDK: &str = "crates/mcp-sdk/Cargo.toml";
/// The folder of this repository, from the folder of a new project.
const CLONE: &str = "../mcp/";

/// The part of the settings that has the questions to the user.
#[derive(Deserialize)]
struct Settings {
    placeholders: BTreeMap<String, Placeholder>,
}

#[derive(Deserialize)]
struct Placeholder {
    default: String,
}

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let load = |path| workspace::load(root, path);
    let examples: Table = load(EXAMPLES)?.text.parse().at(EXAMPLES)?;
    let sdk: Table = load(SDK)?.text.parse().at(SDK)?;
    let manifest = expanded(&load(MANIFEST)?, &load(SETTINGS)?)?;
    let mut violations = dependencies(&manifest, &sdk);
    violations.extend(program(&load(PROGRAM)?, &examples));
    for path in paths(&manifest) {
        let is_here = |path: &str| root.join(path).join("Cargo.toml").is_file();
        if !path.strip_prefix(CLONE).is_some_and(is_here) {
            violations.push(format!("{SETTINGS}:1: there is no crate at {path}"));
        }
    }
    Ok(violations)
}

/// The manifest of a project for which the user has accepted all defaults.
fn expanded(manifest: &File, settings: &File) -> Result<Table> {
    let settings: Settings = toml::from_str(&settings.text).at(SETTINGS)?;
    let mut text = manifest.text.replace("{{project-name}}", "calc");
    for (name, Placeholder { default }) in settings.placeholders {
        text = text.replace(&format!("{{{{{name}}}}}"), &default);
    }
    match text.find("{{") {
        None => text.parse().at(MANIFEST),
        Some(at) => {
            let rest = text[at..].lines().next().unwrap_or_default();
            Err(format!("{MANIFEST}: no default in {SETTINGS} for {rest}"))
        }
    }
}

/// The entries for mcp-sdk.
fn entries(manifest: &Table) -> impl Iterator<Item = &Value> {
    let tables = ["dependencies", "dev-dependencies"];
    tables
        .into_iter()
        .filter_map(|table| manifest.get(table)?.get("mcp-sdk"))
}

fn paths(manifest: &Table) -> impl Iterator<Item = &str> {
    entries(manifest).filter_map(|entry| entry.get("path")?.as_str())
}

/// Checks that mcp-sdk is a dependency, and has the features that the template enables.
fn dependencies(manifest: &Table, sdk: &Table) -> Vec<String> {
    let mut violations = Vec::new();
    if entries(manifest).count() != 2 {
        violations.push(format!(
            "{MANIFEST}:1: mcp-sdk is not a dependency of both the program and its tests"
        ));
    }
    let features = entries(manifest).filter_map(|entry| entry.get("features")?.as_array());
    for feature in features.flatten().filter_map(Value::as_str) {
        let known = sdk.get("features").and_then(|known| known.get(feature));
        if known.is_none() {
            violations.push(format!("{MANIFEST}:1: mcp-sdk has no feature {feature}"));
        }
    }
    violations
}

/// Checks that the program is an example, with its tests, and that cargo-generate changes nothing in it.
fn program(program: &File, examples: &Table) -> Vec<String> {
    let mut violations = Vec::new();
    let listed = examples.get("example").and_then(Value::as_array);
    let is_program = |example: &&Value| {
        let path = example.get("path").and_then(Value::as_str);
        let is_tested = example.get("test").and_then(Value::as_bool);
        path == Some("../template/src/main.rs") && is_tested == Some(true)
    };
    if listed.into_iter().flatten().find(is_program).is_none() {
        violations.push(format!(
            "{EXAMPLES}:1: no example with the path of {PROGRAM} and test = true"
        ));
    }
    for tag in ["{{", "{%"] {
        if program.text.contains(tag) {
            violations.push(format!(
                "{PROGRAM}:1: cargo-generate replaces text after {tag}: write the program without it"
            ));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULT: &str =
        "[placeholders.sdk]\ntype = \"string\"\ndefault = \"path = \\\"../mcp/a\\\"\"\n";

    #[test]
    fn placeholders_get_their_defaults() {
        let text =
            "[package]\nname = \"{{project-name}}\"\n[dependencies]\nmcp-sdk = { {{sdk}} }\n";
        let settings = File::new(SETTINGS, DEFAULT);
        let manifest = expanded(&File::new(MANIFEST, text), &settings).unwrap();
        assert_eq!(manifest["package"]["name"].as_str(), Some("calc"));
        assert_eq!(Vec::from_iter(paths(&manifest)), ["../mcp/a"]);
        let other = File::new(MANIFEST, &text.replace("{{sdk}}", "{{path}} "));
        let error = expanded(&other, &settings).unwrap_err();
        assert!(error.contains("no default in"), "{error}");
    }

    #[test]
    fn mistakes_in_the_template_are_found() {
        let table = |text: &str| text.parse::<Table>().unwrap();
        let sdk = table("features.testing = []\n");
        let manifest =
            |features: &str| format!("[dependencies]\nmcp-sdk = {{ features = [{features}] }}\n");
        let found = dependencies(&table(&manifest("\"testing\", \"other\"")), &sdk);
        assert!(found[0].contains("not a dependency of both"), "{found:?}");
        assert!(found[1].ends_with("no feature other"), "{found:?}");

        let examples = table("[[example]]\npath = \"../template/src/main.rs\"\ntest = true\n");
        let source = |text| File::new(PROGRAM, text);
        assert!(program(&source("fn main() {}"), &examples).is_empty());
        let text = source("fn main() { print!(\"{{}}\") }");
        assert_eq!(program(&text, &examples).len(), 1);
        assert_eq!(program(&text, &Table::new()).len(), 2);
    }
}
