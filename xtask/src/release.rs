//! `cargo xtask release`: publishes the crates under names with a prefix, because other projects own some of their names.
//!
//! The packages are renamed in a copy of the last commit. The libraries keep their names, so that no code changes.

use std::collections::BTreeSet;
use std::fs;

use toml_edit::{DocumentMut, Item, TableLike, value};

use crate::programs::{BUILD, SHORT, cargo, program, run as execute, target, watch};
use crate::workspace::{self, At as _, File, Result, say};

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The beginning of each package name, for example `acme-` for `acme-mcp-server`.
    #[arg(long, value_parser = checked_prefix)]
    prefix: String,
    /// The address of the repository, which the page of each package links to.
    #[arg(long)]
    repository: Option<String>,
    /// Uploads the packages. Without this flag they are only built.
    #[arg(long)]
    upload: bool,
}

fn checked_prefix(prefix: &str) -> Result<String, String> {
    match prefix.ends_with('-') {
        true => Ok(prefix.to_owned()),
        false => Err(format!("a prefix ends with a hyphen, such as {prefix}-")),
    }
}

pub(crate) fn run(options: &Options) -> Result {
    let Options {
        prefix,
        repository,
        upload,
    } = options;
    let copy = target().join("release-copy");
    // The copy exists only after an earlier run.
    let _ = fs::remove_dir_all(&copy);
    let mut git = program("git", "clone --quiet .");
    execute(git.arg(&copy), SHORT, say).at("git clone")?;
    let manifests = workspace::read(&copy, &[""], |path| path.ends_with("Cargo.toml"))?;
    let names = manifests.iter().filter_map(|file| crate_name(&file.path));
    let names: BTreeSet<&str> = names.collect();
    for file in &manifests {
        let library = file.path.replace("Cargo.toml", "src/lib.rs");
        let is_library = copy.join(library).is_file();
        let text = rename_packages(file, prefix, repository.as_deref(), &names, is_library)?;
        workspace::write(&copy.join(&file.path), &text)?;
    }
    let mode = if *upload { "" } else { "--dry-run" };
    let mut publish = cargo(&format!(
        "publish --workspace --allow-dirty {mode} --target-dir"
    ));
    publish.arg(target().join("release-target"));
    match watch(publish.current_dir(&copy), BUILD, |_| {})? {
        true => Ok(()),
        false => Err("cargo publish failed".to_owned()),
    }
}

/// The name of the published crate that has this manifest.
fn crate_name(path: &str) -> Option<&str> {
    let name = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
    (!name.contains('/')).then_some(name)
}

/// A manifest with the prefix before its own name and before the names of the crates that it depends on, and with the addresses of the
/// package.
fn rename_packages(
    File { path, text }: &File,
    prefix: &str,
    repository: Option<&str>,
    names: &BTreeSet<&str>,
    is_library: bool,
) -> Result<String> {
    let mut manifest: DocumentMut = text.parse().at(path)?;
    if let Some(name) = crate_name(path) {
        manifest["package"]["name"] = value(format!("{prefix}{name}"));
        manifest["package"]["documentation"] = value(format!("https://docs.rs/{prefix}{name}"));
        if let Some(repository) = repository {
            manifest["package"]["repository"] = value(repository);
        }
        if is_library {
            manifest["lib"]["name"] = value(name.replace('-', "_"));
        }
    }
    for table_path in [
        &["workspace", "dependencies"][..],
        &["dependencies"],
        &["dev-dependencies"],
    ] {
        let mut table: Option<&mut dyn TableLike> = Some(manifest.as_table_mut());
        for key in table_path {
            let item = table.and_then(|table| table.get_mut(key));
            table = item.and_then(Item::as_table_like_mut);
        }
        let dependencies = table.into_iter();
        for (name, dependency) in dependencies.flat_map(|table| table.iter_mut()) {
            if let Some(dependency) = dependency.as_table_like_mut()
                && dependency.contains_key("path")
                && names.contains(name.get())
            {
                dependency.insert("package", value(format!("{prefix}{}", name.get())));
            }
        }
    }
    Ok(manifest.to_string())
}

#[test]
fn packages_get_the_prefix_and_libraries_keep_their_names() {
    let names = BTreeSet::from(["mcp-a", "mcp-b"]);
    let renamed = |path, text| {
        rename_packages(
            &File::new(path, text),
            "x-",
            Some("https://x.y/"),
            &names,
            true,
        )
        .unwrap()
    };
    let text = "[package]\nname = \"mcp-a\"\n\n[dependencies]\nmcp-b.workspace = true\nserde = \"1\"\n\n\
        [dev-dependencies]\nmcp-b = { path = \"../mcp-b\" }\n\n[lib]\nproc-macro = true\n";
    let expected = "[package]\nname = \"x-mcp-a\"\ndocumentation = \"https://docs.rs/x-mcp-a\"\nrepository = \"https://x.y/\"\n\n\
        [dependencies]\nmcp-b.workspace = true\nserde = \"1\"\n\n\
        [dev-dependencies]\nmcp-b = { path = \"../mcp-b\" , package = \"x-mcp-b\" }\n\n[lib]\nproc-macro = true\nname = \"mcp_a\"\n";
    assert_eq!(renamed("crates/mcp-a/Cargo.toml", text), expected);
    let text = "[workspace.dependencies]\nmcp-a = { version = \"1\", path = \"crates/mcp-a\" }\nmcp-tests = { path = \"tests\" }\n";
    let expected = text.replace("mcp-a\" }", "mcp-a\" , package = \"x-mcp-a\" }");
    assert_eq!(renamed("Cargo.toml", text), expected);
}
