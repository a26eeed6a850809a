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

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files;
use crate::workspace::root;
use docs::Docs;
use emit::Scope;
use overrides::Overrides;
use schema::Lock;

/// A revision that types are generated for.
struct Revision {
    /// Its date, also the folder of its schema.
    name: &'static str,
    /// Its module in the types crate; none for the canonical revision, whose types are at the root.
    module: Option<&'static str>,
    /// The folder of its types.
    folder: &'static str,
    /// The round-trip table of the types tests.
    table: &'static str,
}

const CANONICAL: Revision = Revision {
    name: "2025-11-25",
    module: None,
    folder: "crates/mcp-types/src/generated",
    table: "crates/mcp-types/tests/generated_table.rs",
};

/// Revisions of which only what differs is generated.
const LATER: &[Revision] = &[Revision {
    name: "2026-07-28",
    module: Some("v2026_07_28"),
    folder: "crates/mcp-types/src/generated/v2026_07_28",
    table: "crates/mcp-types/tests/generated_table_2026_07_28.rs",
}];

/// Generated texts by path from the root.
type Files = BTreeMap<String, String>;

/// Runs the command: writes the generated files, or with `--check` compares them.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (check, folder) = options(args)?;
    let root = root();
    let files = format(root, generate(root, folder.as_deref())?)?;
    apply(root, &files, check)
}

fn options(args: &[String]) -> Result<(bool, Option<PathBuf>), String> {
    let mut check = false;
    let mut folder = std::env::var_os("MCP_SCHEMA_DIR").map(PathBuf::from);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--check" => check = true,
            "--schema-dir" => {
                folder = Some(args.next().ok_or("--schema-dir needs a folder")?.into())
            }
            other => {
                return Err(format!(
                    "codegen knows --check and --schema-dir DIR, not {other}"
                ));
            }
        }
    }
    Ok((check, folder))
}

/// Every generated file, not yet formatted.
fn generate(root: &Path, folder: Option<&Path>) -> Result<Files, String> {
    let lock = Lock::load(root)?;
    let overrides = Overrides::load()?;
    let docs = Docs::load()?;
    let model = |revision: &Revision| {
        let schema = lock.read(root, folder, revision.name)?;
        build::build(&schema, &overrides).map_err(|error| format!("{}: {error}", revision.name))
    };
    let canonical = model(&CANONICAL)?;
    let mut files = Files::new();
    let mut novel = Vec::new();
    for revision in LATER {
        let whole = model(revision)?;
        files.insert(
            revision.table.to_owned(),
            emit::table(&whole, revision.module),
        );
        let split = compare::split(&whole, &canonical, &overrides.wrappers())?;
        let own = &split.own;
        let scope = Scope::new(docs.of(revision.name), revision.module, &whole, own);
        let mut put = |name: &str, text| files.insert(format!("{}/{name}", revision.folder), text);
        put(
            "bridges.rs",
            emit::bridges(&compare::bridged(own, &canonical), &scope)?,
        );
        for (area, text) in emit::areas(own, &scope)? {
            put(&area, text);
        }
        put(
            "methods.rs",
            emit::methods(own, &scope, &split.shared, &[])?,
        );
        put(
            "mod.rs",
            emit::later_root(own, revision.name, &split.shared),
        );
        let module = revision.module.unwrap_or_default();
        novel.extend(split.novel.into_iter().map(|method| (module, method)));
    }
    let scope = Scope::new(docs.of(CANONICAL.name), None, &canonical, &canonical);
    files.insert(CANONICAL.table.to_owned(), emit::table(&canonical, None));
    let mut put = |name: &str, text| files.insert(format!("{}/{name}", CANONICAL.folder), text);
    for (area, text) in emit::areas(&canonical, &scope)? {
        put(&area, text);
    }
    put(
        "methods.rs",
        emit::methods(&canonical, &scope, &BTreeSet::new(), &novel)?,
    );
    let later = LATER.iter().filter_map(|revision| revision.module);
    put("mod.rs", emit::root(&canonical, CANONICAL.name, later));
    overrides.check()?;
    docs.check()?;
    Ok(files)
}

/// Formats as `cargo fmt` would, so that the two never disagree. rustfmt reads the files below `target/codegen`.
fn format(root: &Path, files: Files) -> Result<Files, String> {
    let staged = root.join("target/codegen");
    // Files that are no longer generated would be formatted, too.
    let _ = fs::remove_dir_all(&staged);
    apply(&staged, &files, false)?;
    let mut command = Command::new("rustfmt");
    command
        .args(["--edition", "2024"])
        .args(files.keys())
        .current_dir(&staged);
    let status = command
        .status()
        .map_err(|error| format!("rustfmt: {error}"))?;
    if !status.success() {
        return Err("rustfmt refused the generated code".to_owned());
    }
    let formatted = files.into_keys().map(|path| files::load(&staged, path));
    formatted
        .map(|file| file.map(|file| (file.path, file.text)))
        .collect()
}

/// Writes the files that differ and removes files of the generated folders that nothing generates any more. A check only
/// lists them.
fn apply(root: &Path, files: &Files, check: bool) -> Result<(), String> {
    let folders = std::iter::once(&CANONICAL).chain(LATER);
    let folders: Vec<_> = folders.map(|revision| revision.folder).collect();
    let present = files::read(root, &folders, |path| path.ends_with(".rs"))?;
    let present = present.into_iter().map(|file| file.path);
    let mut stale: BTreeSet<String> = present.filter(|path| !files.contains_key(path)).collect();
    for (path, text) in files {
        if !fs::read_to_string(root.join(path)).is_ok_and(|present| present == *text) {
            stale.insert(path.clone());
        }
    }
    if check && !stale.is_empty() {
        let list = Vec::from_iter(stale).join("\n  ");
        return Err(format!(
            "generated files are out of date: run `cargo xtask codegen`\n  {list}"
        ));
    }
    for path in stale {
        let target = root.join(&path);
        let done = match files.get(&path) {
            None => fs::remove_file(&target),
            Some(text) => fs::create_dir_all(target.parent().unwrap_or(root))
                .and_then(|()| fs::write(&target, text)),
        };
        done.map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(())
}
