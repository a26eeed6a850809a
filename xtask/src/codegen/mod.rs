//! `cargo xtask codegen`: the types of `mcp-types` from the official schema.
//!
//! `schema.json` → [`schema`] → [`build`] → [`model`] → [`compare`] → [`emit`] → `rustfmt` →
//! `crates/mcp-types/src/generated/`. The first revision is the canonical one; of a later one only what differs from it
//! is emitted.

mod build;
mod compare;
mod docs;
mod emit;
mod model;
mod overrides;
mod schema;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use crate::programs::{SHORT, program, run as execute};
use crate::workspace::{self, At as _, Files, Result, root, say};
use docs::Docs;
use emit::Scope;
use overrides::Overrides;
use schema::SchemaPin;

/// The revision whose types are at the root of the types crate.
const CANONICAL: &str = "2025-11-25";

/// Revisions of which only what differs is generated, each into a module.
const LATER: &[&str] = &["2026-07-28"];

/// The folder of the canonical types; the module of a later revision is a folder in it.
const FOLDER: &str = "crates/mcp-types/src/generated";

/// The round-trip tables of the types tests, and their folder.
const TABLES: &str = "crates/mcp-types/tests";
const TABLE: &str = "crates/mcp-types/tests/generated_table";

/// Runs the command: writes the generated files, or compares them.
pub(crate) fn run(check: bool) -> Result {
    let files = format(root(), generate(root(), &schema_folder())?)?;
    apply(root(), &files, check)
}

/// The folder of the schemas: `MCP_SCHEMA_DIR`, else the one beside the workspace, else the one for downloads.
pub(crate) fn schema_folder() -> PathBuf {
    let beside = root().join("../shared/schema");
    match std::env::var_os("MCP_SCHEMA_DIR") {
        Some(folder) => folder.into(),
        None if beside.is_dir() => beside,
        None => root().join("target/schema"),
    }
}

/// Every generated file, not yet formatted.
fn generate(root: &Path, schemas: &Path) -> Result<Files> {
    let overrides = Overrides::load()?;
    let docs = Docs::load()?;
    let model = |revision: &str| {
        let pin = SchemaPin::load(root, revision)?;
        let schema = pin.read(schemas, revision)?;
        Ok::<_, String>((build::build(&schema, &overrides).at(revision)?, pin.commit))
    };
    let (canonical, commit) = model(CANONICAL)?;
    let mut scope = Scope::new(&docs, CANONICAL, &commit, &canonical, None);
    let mut files = Files::new();
    for revision in LATER {
        let (later, commit) = model(revision)?;
        let split = compare::split(&later, &canonical)?;
        let date = revision.replace('-', "_");
        let module = format!("v{date}");
        let split_module = Some((module.clone(), &split));
        let own_scope = Scope::new(&docs, revision, &commit, &later, split_module);
        files.insert(
            format!("{TABLE}_{date}.rs"),
            emit::table(&later, &own_scope)?,
        );
        let own = split.own.items.iter();
        let bridged = own.filter(|item| overrides.has("bridge", &item.name));
        let bridged =
            bridged.filter_map(|item| Some((item, compare::find(&canonical, &item.name)?)));
        let bridges = emit::bridges(&Vec::from_iter(bridged), &own_scope)?;
        files.insert(format!("{FOLDER}/{module}/bridges.rs"), bridges);
        for (name, text) in emit::files(&split.own, &own_scope)? {
            files.insert(format!("{FOLDER}/{module}/{name}.rs"), text);
        }
        scope.later.insert(module, split.novel);
    }
    files.insert(format!("{TABLE}.rs"), emit::table(&canonical, &scope)?);
    for (name, text) in emit::files(&canonical, &scope)? {
        files.insert(format!("{FOLDER}/{name}.rs"), text);
    }
    overrides.check()?;
    docs.check()?;
    Ok(files)
}

/// Formats as `cargo fmt` would, so that the two never disagree. rustfmt reads the files below `target/codegen`.
fn format(root: &Path, files: Files) -> Result<Files> {
    let staged = root.join("target/codegen");
    // Files that are no longer generated would be formatted, too.
    let _ = fs::remove_dir_all(&staged);
    apply(&staged, &files, false)?;
    let mut command = program("rustfmt", "--edition 2024");
    command.args(files.keys()).current_dir(&staged);
    execute(&mut command, SHORT, say).at("rustfmt of the generated code")?;
    let formatted = |path: String| workspace::load(&staged, &path).map(|file| (path, file.text));
    files.into_keys().map(formatted).collect()
}

/// Writes the files, and removes files that nothing generates any more. A check only lists them.
fn apply(root: &Path, files: &Files, check: bool) -> Result {
    let is_generated = |path: &str| path.starts_with(FOLDER) || path.starts_with(TABLE);
    let present = workspace::read(root, &[FOLDER, TABLES], is_generated)?;
    let problem = "generated files are out of date: run `cargo xtask codegen`";
    workspace::apply(root, files, present, check, problem)
}
