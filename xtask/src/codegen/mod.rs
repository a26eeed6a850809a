//! `cargo xtask codegen`: the types of `mcp-types` from the official schema.
//!
//! `schema.json` → [`build`] → [`model`] → [`compare`] → [`emit`] → `rustfmt` →
//! `crates/mcp-types/src/generated/`. The first revision is the canonical one; of a later one only what differs from it
//! is emitted.

mod bridge;
mod build;
mod compare;
mod docs;
mod emit;
mod lock;
mod model;
mod naming;
mod overrides;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use docs::Docs;
use emit::scope::Scope;
use lock::Lock;
use overrides::Overrides;

/// A revision that types are generated for.
struct Revision {
    /// Its date, also the folder of its schema.
    name: &'static str,
    /// Its module in the types crate; none for the canonical revision, whose types are at the root.
    module: Option<&'static str>,
    /// The folder its types go to.
    folder: &'static str,
    /// The round-trip table of the types tests.
    table: &'static str,
}

/// The canonical revision.
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

/// Runs the command: writes the generated files, or with `--check` compares them.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .ok_or("xtask has no parent folder")?;
    let mut files = generate(root, &options)?;
    for text in files.values_mut() {
        *text = format(text)?;
    }
    if options.check {
        check(root, &files)
    } else {
        write(root, &files)
    }
}

/// Every generated file by path, not yet formatted.
fn generate(root: &Path, options: &Options) -> Result<BTreeMap<PathBuf, String>, String> {
    let lock = Lock::load(root)?;
    let overrides = Overrides::load()?;
    let docs = Docs::load()?;
    let model = |revision: &Revision| {
        let text = lock.read(root, options.schema_dir.as_deref(), revision.name)?;
        let schema =
            serde_json::from_str(&text).map_err(|error| format!("{}: {error}", revision.name))?;
        build::build(&schema, &overrides).map_err(|error| format!("{}: {error}", revision.name))
    };
    let canonical = model(&CANONICAL)?;
    let mut files = Files::default();
    files.insert(CANONICAL.table, table::emit(&canonical, None));
    let (mut later, mut novel) = (Vec::new(), Vec::new());
    let shared = BTreeSet::new();
    for revision in LATER {
        let whole = model(revision)?;
        files.insert(revision.table, table::emit(&whole, revision.module));
        let plain = emit::plain(&whole);
        let split = compare::split(whole, &canonical, overrides.wrappers())?;
        let module = revision.module.unwrap_or_default();
        later.push(module);
        novel.extend(split.novel.into_iter().map(|method| (module, method)));
        let own = split.own.items.iter().map(|item| item.name.clone());
        let scope = Scope {
            docs: docs.of(revision.name),
            revision: revision.name,
            module: revision.module,
            own: own.collect(),
            shared: &split.shared,
            plain,
            later: &[],
            novel: &[],
        };
        files.extend(revision, emit::emit(&split.own, &scope)?);
        let bridged = bridge::bridged(&split.own.items, &canonical);
        let bridges = emit::bridges::emit(&split.own, &canonical, &bridged, &scope)?;
        files.insert(&format!("{}/bridges.rs", revision.folder), bridges);
    }
    let scope = Scope {
        docs: docs.of(CANONICAL.name),
        revision: CANONICAL.name,
        module: None,
        own: BTreeSet::new(),
        shared: &shared,
        plain: emit::plain(&canonical),
        later: &later,
        novel: &novel,
    };
    files.extend(&CANONICAL, emit::emit(&canonical, &scope)?);
    overrides.check()?;
    docs.check()?;
    Ok(files.0)
}

/// Generated texts by path.
#[derive(Default)]
struct Files(BTreeMap<PathBuf, String>);

impl Files {
    fn insert(&mut self, path: &str, text: String) {
        self.0.insert(PathBuf::from(path), text);
    }

    fn extend(&mut self, revision: &Revision, files: BTreeMap<String, String>) {
        let folder = Path::new(revision.folder);
        let files = files
            .into_iter()
            .map(|(name, text)| (folder.join(name), text));
        self.0.extend(files);
    }
}

#[derive(Default)]
struct Options {
    check: bool,
    schema_dir: Option<PathBuf>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self {
            schema_dir: std::env::var_os("MCP_SCHEMA_DIR").map(PathBuf::from),
            ..Self::default()
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--check" => options.check = true,
                "--schema-dir" => {
                    options.schema_dir =
                        Some(args.next().ok_or("--schema-dir needs a folder")?.into());
                }
                other => {
                    return Err(format!(
                        "codegen knows --check and --schema-dir DIR, not {other}"
                    ));
                }
            }
        }
        Ok(options)
    }
}

/// Formats as `cargo fmt` would, so that the two never disagree.
fn format(text: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("rustfmt: {error}");
    let mut command = Command::new("rustfmt");
    command
        .args(["--edition", "2024", "--emit", "stdout"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    let mut stdin = child.stdin.take().ok_or("rustfmt has no stdin")?;
    let input = text.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().map_err(failed)?;
    writer
        .join()
        .map_err(|_| "rustfmt: the writer panicked")?
        .map_err(failed)?;
    if !output.status.success() {
        return Err("rustfmt refused the generated code".to_owned());
    }
    String::from_utf8(output.stdout).map_err(|error| format!("rustfmt: {error}"))
}

/// Files of the generated folders that nothing generates any more.
fn leftovers(root: &Path, files: &BTreeMap<PathBuf, String>) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for revision in std::iter::once(&CANONICAL).chain(LATER) {
        let folder = Path::new(revision.folder);
        let Ok(entries) = fs::read_dir(root.join(folder)) else {
            continue;
        };
        for entry in entries {
            let name = entry
                .map_err(|error| format!("{}: {error}", folder.display()))?
                .file_name();
            let path = folder.join(name);
            if path.extension().is_some_and(|extension| extension == "rs")
                && !files.contains_key(&path)
            {
                found.push(path);
            }
        }
    }
    Ok(found)
}

fn check(root: &Path, files: &BTreeMap<PathBuf, String>) -> Result<(), String> {
    let mut stale = leftovers(root, files)?;
    for (path, text) in files {
        if fs::read_to_string(root.join(path)).ok().as_ref() != Some(text) {
            stale.push(path.clone());
        }
    }
    if stale.is_empty() {
        return Ok(());
    }
    let list: Vec<_> = stale
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    Err(format!(
        "generated files are out of date: run `cargo xtask codegen`\n  {}",
        list.join("\n  ")
    ))
}

fn write(root: &Path, files: &BTreeMap<PathBuf, String>) -> Result<(), String> {
    for path in leftovers(root, files)? {
        fs::remove_file(root.join(&path))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    for (path, text) in files {
        let target = root.join(path);
        if fs::read_to_string(&target).ok().as_ref() == Some(text) {
            continue;
        }
        let folder = target.parent().unwrap_or(root);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&target, text));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_or_foreign_file_fails_the_check_with_the_command_that_fixes_it() {
        let root = std::env::temp_dir().join(format!("xtask-check-{}", std::process::id()));
        let file = Path::new(CANONICAL.folder).join("a.rs");
        let files = BTreeMap::from([(file.clone(), "new\n".to_owned())]);
        write(&root, &files).unwrap();
        assert_eq!(check(&root, &files), Ok(()));
        fs::write(root.join(&file), "old\n").unwrap();
        fs::write(root.join(CANONICAL.folder).join("gone.rs"), "").unwrap();
        let error = check(&root, &files).unwrap_err();
        assert!(error.contains("run `cargo xtask codegen`"), "{error}");
        assert!(
            error.contains("a.rs") && error.contains("gone.rs"),
            "{error}"
        );
        write(&root, &files).unwrap();
        assert_eq!(check(&root, &files), Ok(()));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn unknown_flags_are_refused() {
        assert!(Options::parse(&["--chek".to_owned()]).is_err());
        assert!(Options::parse(&["--schema-dir".to_owned()]).is_err());
        assert!(Options::parse(&["--check".to_owned()]).is_ok_and(|options| options.check));
    }
}
