//! `cargo xtask tidy`: the rules of the project that neither the compiler nor clippy checks.
//!
//! Each violation is one line: `path:line: problem: what to do`. Four rules have allowances, see [`allowances`].

mod allowances;
mod budget;
mod circles;
mod graph;
mod language;
mod manifest;
mod shape;
mod source;
mod tokens;
mod violation;

use std::collections::BTreeMap;
use std::path::Path;

use crate::files::{self, File};
use crate::steps::say;
use crate::workspace::{flags, root};
use allowances::Allowances;
use tokens::Token;
use violation::Violation;

pub(crate) use budget::counts as crates;

/// The largest circle of imports that needs no allowance.
const CIRCLE: usize = 3;

/// Runs the command.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let [shrink] = flags("tidy", ["--shrink"], args)?;
    let root = root();
    let mut allowances = Allowances::load(root)?;
    let mut violations = sources(root, &mut allowances)?;
    let manifests = manifest::load(root)?;
    violations.extend(manifest::check(&manifests));
    violations.extend(graph::check(root, &manifests)?);
    violations.extend(shape::root_folder(root)?);
    violations.extend(budget::check(root)?);
    violations.extend(language::commits(root)?);
    if shrink {
        allowances.save(root)?;
    }
    if violations.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
    Err(lines.join("\n"))
}

fn sources(root: &Path, allowances: &mut Allowances) -> Result<Vec<Violation>, String> {
    let mut rust = Vec::new();
    // The expected error messages of the compiler belong to wrong code.
    for file in files::read(root, &["crates", "tests", "xtask"], |path| {
        path.ends_with(".rs") && !path.contains("/ui/")
    })? {
        let tokens = tokens::of(&file.text).map_err(|error| format!("{}: {error}", file.path))?;
        rust.push((file, tokens));
    }
    let methods = source::methods(root)?;
    let mut violations = Vec::new();
    for (file, tokens) in &rust {
        shape::check(file, &mut violations);
        source::check(file, tokens, &methods, &mut violations);
    }
    violations.extend(circle_sizes(&rust, allowances));
    let sizes = shape::folders(rust.iter().map(|(file, _)| file));
    violations.extend(allowances.check("files", shape::FOLDER, &sizes));
    violations.extend(phrases_and_names(root, &rust, allowances)?);
    for note in shape::long(rust.iter().map(|(file, _)| file)) {
        say(&format!("note: {note}"));
    }
    Ok(violations)
}

fn circle_sizes(rust: &[(File, Vec<Token>)], allowances: &mut Allowances) -> Vec<Violation> {
    let mut crates: BTreeMap<String, circles::Files<'_>> = BTreeMap::new();
    for (file, tokens) in rust {
        if let Some((name, inner)) = file.path.split_once("/src/")
            && let Some(module) = circles::module(inner)
            && !name.starts_with("tests/")
        {
            crates
                .entry(name.to_owned())
                .or_default()
                .insert(module, tokens);
        }
    }
    let mut sizes = BTreeMap::new();
    for (name, files) in &crates {
        let circle = circles::largest(files);
        if circle.len() > CIRCLE {
            say(&format!(
                "circle of imports in {name}, {} files: {}",
                circle.len(),
                circle.join(", ")
            ));
        }
        sizes.insert(name.clone(), circle.len());
    }
    allowances.check("circles", CIRCLE, &sizes)
}

fn phrases_and_names(
    root: &Path,
    rust: &[(File, Vec<Token>)],
    allowances: &mut Allowances,
) -> Result<Vec<Violation>, String> {
    let mut markdown = files::read(root, &["crates", "docs", "tests", "xtask"], |path| {
        path.ends_with(".md")
    })?;
    for name in ["README.md", "CHANGELOG.md"] {
        markdown.push(files::load(root, name.to_owned())?);
    }
    let rust_files = rust.iter().map(|(file, _)| file);
    let phrases = rust_files
        .chain(&markdown)
        .flat_map(language::phrases)
        .collect();
    let names = rust
        .iter()
        .flat_map(|(file, tokens)| language::type_names(file, tokens));
    let names = names.collect();
    let mut violations = counted("phrases", phrases, allowances);
    violations.extend(counted("types", names, allowances));
    Ok(violations)
}

/// The violations in places that have more of them than their allowance, after a line with the count.
fn counted(rule: &str, found: Vec<Violation>, allowances: &mut Allowances) -> Vec<Violation> {
    let mut places: BTreeMap<String, Vec<Violation>> = BTreeMap::new();
    for violation in found {
        places
            .entry(place(&violation.path))
            .or_default()
            .push(violation);
    }
    let counts = places
        .iter()
        .map(|(place, found)| (place.clone(), found.len()))
        .collect();
    let mut violations = allowances.check(rule, 0, &counts);
    for excess in violations
        .iter()
        .map(|violation| violation.path.clone())
        .collect::<Vec<_>>()
    {
        violations.extend(places.remove(&excess).unwrap_or_default());
    }
    violations
}

/// The part of the workspace that a file belongs to: a crate, a folder of the root, or the root.
fn place(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["crates", name, ..] => format!("crates/{name}"),
        [folder, _, ..] => (*folder).to_owned(),
        _ => ".".to_owned(),
    }
}
