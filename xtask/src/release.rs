//! `cargo xtask release`: publishes the crates under names with a prefix, because other projects own some of their names.
//!
//! The packages are renamed in a copy of the last commit, where each gets the licences and the page about vulnerabilities. The libraries
//! keep their names, so that no code changes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use toml_edit::{DocumentMut, Item, TableLike, value};

use crate::markdown::{LinkTarget, resolve, with_targets};
use crate::programs::{BUILD, SHORT, cargo, program, run as execute, target, watch};
use crate::workspace::{self, At as _, File, Result, say};

/// The page that says how to report a vulnerability. Each package has a copy.
const SECURITY: &str = ".github/SECURITY.md";
/// The text of [`SECURITY`] that `--security-contact` replaces.
const CONTACT: &str = "SECURITY-CONTACT";
/// Both licences ask for their text beside the code. Cargo packs only files of the folder of a package.
const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The beginning of each package name, for example `acme-` for `acme-mcp-server`.
    #[arg(long, value_parser = checked_prefix)]
    prefix: String,
    /// The address of the repository, which the page of each package links to.
    #[arg(long)]
    repository: Option<String>,
    /// An address of mail or of a form for reports of vulnerabilities, which each package names.
    #[arg(long, required_if_eq("upload", "true"))]
    security_contact: Option<String>,
    /// Packs and compiles the packages, and uploads nothing. This is the default.
    #[arg(long, conflicts_with = "upload")]
    check: bool,
    /// Packs the packages without compiling them.
    #[arg(long, conflicts_with = "upload")]
    no_verify: bool,
    /// Uploads the packages. Without this flag they are only built.
    #[arg(long)]
    upload: bool,
}

fn checked_prefix(prefix: &str) -> Result<String, String> {
    let is_allowed = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
    if !prefix.starts_with(|char: char| char.is_ascii_alphabetic())
        || !prefix.chars().all(is_allowed)
    {
        return Err(
            "a name on crates.io begins with a letter, and has only letters, digits, hyphens and underscores"
                .to_owned(),
        );
    }
    match prefix.ends_with('-') {
        true => Ok(prefix.to_owned()),
        false => Err(format!(
            "without a hyphen at its end, the name of a package would be {prefix}mcp-server: write {prefix}-"
        )),
    }
}

pub(crate) fn run(options: &Options) -> Result {
    let copy = target().join("release-copy");
    // The copy exists only after an earlier run.
    let _ = fs::remove_dir_all(&copy);
    let mut git = program("git", "clone --quiet .");
    execute(git.arg(&copy), SHORT, say).at("git clone")?;
    let manifests = workspace::read(&copy, &[""], |path| path.ends_with("Cargo.toml"))?;
    let names = manifests.iter().filter_map(|file| crate_name(&file.path));
    let names: BTreeSet<&str> = names.collect();
    let (prefix, repository) = (&options.prefix, options.repository.as_deref());
    for file in &manifests {
        let library = file.path.replace("Cargo.toml", "src/lib.rs");
        let is_library = copy.join(library).is_file();
        let text = rename_packages(file, prefix, repository, &names, is_library)?;
        workspace::write(&copy.join(&file.path), &text)?;
    }
    add_texts(&copy, &names, options)?;
    let mut progress = Progress::new(names.len(), options.upload);
    let mut publish = cargo(&publish_words(options));
    publish.arg(target().join("release-target"));
    let is_done = watch(publish.current_dir(&copy), BUILD, |line| {
        if let Some(step) = progress.step(line) {
            say(&step);
        }
    })?;
    match is_done {
        true => Ok(()),
        false => Err("cargo publish failed".to_owned()),
    }
}

/// The arguments of cargo. The folder that it builds into follows them.
fn publish_words(options: &Options) -> String {
    let mut words = "publish --workspace --allow-dirty".to_owned();
    if options.check || !options.upload {
        words += " --dry-run";
    }
    if options.no_verify {
        words += " --no-verify";
    }
    words + " --target-dir"
}

/// Writes the licences and the page about vulnerabilities into the folder of each crate.
fn add_texts(copy: &Path, names: &BTreeSet<&str>, options: &Options) -> Result {
    let licences = LICENCES.map(|name| workspace::load(copy, name));
    let mut texts = licences.into_iter().collect::<Result<Vec<_>>>()?;
    let page = workspace::load(copy, SECURITY)?;
    let contact = options.security_contact.as_deref();
    let text = security_page(&page, contact, options.repository.as_deref());
    texts.push(File::new("SECURITY.md", &text));
    for name in names {
        let folder = copy.join("crates").join(name);
        for File { path, text } in &texts {
            workspace::write(&folder.join(path), text)?;
        }
    }
    Ok(())
}

/// The page about vulnerabilities for a package: with the contact, and with links into the repository.
fn security_page(page: &File, contact: Option<&str>, repository: Option<&str>) -> String {
    let text = with_targets(&page.text, |address| {
        let Some(repository) = repository else {
            return LinkTarget::Removed;
        };
        let (path, anchor) = address.split_at(address.find('#').unwrap_or(address.len()));
        let target = resolve(&page.path, path);
        let repository = repository.trim_end_matches('/');
        LinkTarget::Other(format!("{repository}/blob/HEAD/{target}{anchor}"))
    });
    text.replace(CONTACT, contact.unwrap_or(CONTACT))
}

/// Counts the packages that cargo reports.
struct Progress {
    packages: usize,
    /// What cargo writes before the name of a package, what it does then, and how many packages it has done that with.
    steps: Vec<(&'static str, &'static str, usize)>,
}

impl Progress {
    fn new(packages: usize, upload: bool) -> Self {
        let mut steps = vec![("Packaging", "packing", 0), ("Verifying", "compiling", 0)];
        // A dry run reports it, too.
        if upload {
            steps.push(("Uploading", "uploading", 0));
        }
        Self { packages, steps }
    }

    /// What cargo does with the next package, if the line of its output begins with that.
    fn step(&mut self, line: &str) -> Option<String> {
        let mut words = line.split_whitespace();
        let (first, name) = (words.next()?, words.next()?);
        let mut steps = self.steps.iter_mut();
        let (_, does, count) = steps.find(|(word, ..)| *word == first)?;
        *count += 1;
        Some(format!("== {does} {name}, {count} of {}", self.packages))
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

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_prefix_is_the_beginning_of_a_name_and_ends_with_a_hyphen() {
        for (prefix, problem) in [
            ("acme-", None),
            ("a1_b-c-", None),
            ("acme", Some("acmemcp-server: write acme-")),
            ("", Some("begins with a letter")),
            ("-", Some("begins with a letter")),
            ("1-", Some("begins with a letter")),
            ("a b-", Some("only letters")),
        ] {
            let error = checked_prefix(prefix).err();
            assert_eq!(error.is_some(), problem.is_some(), "{prefix}: {error:?}");
            let error = error.unwrap_or_default();
            assert!(error.contains(problem.unwrap_or_default()), "{error}");
        }
    }

    #[test]
    fn each_package_is_reported_with_its_number() {
        let lines = [
            "    Updating crates.io index",
            "   Packaging x-mcp-a v0.1.0 (/copy/crates/mcp-a)",
            "    Packaged 12 files, 60.0KiB (20.0KiB compressed)",
            "   Packaging x-mcp-b v0.1.0 (/copy/crates/mcp-b)",
            "   Verifying x-mcp-a v0.1.0 (/copy/crates/mcp-a)",
            "   Uploading x-mcp-a v0.1.0 (/copy/crates/mcp-a)",
            "",
        ];
        let steps = |upload| {
            let mut progress = Progress::new(2, upload);
            let steps = lines.iter().filter_map(|line| progress.step(line));
            Vec::from_iter(steps)
        };
        let expected = [
            "== packing x-mcp-a, 1 of 2",
            "== packing x-mcp-b, 2 of 2",
            "== compiling x-mcp-a, 1 of 2",
            "== uploading x-mcp-a, 1 of 2",
        ];
        assert_eq!(steps(false), expected[..3]);
        assert_eq!(steps(true), expected);
    }

    #[test]
    fn the_page_about_vulnerabilities_names_the_contact_and_links_into_the_repository() {
        let page = File::new(
            SECURITY,
            "Write to SECURITY-CONTACT. See [a](../docs/a.md#b) and [c](https://c.example).\n",
        );
        let expected = "Write to s@x.y. See [a](https://x.y/r/blob/HEAD/docs/a.md#b) and [c](https://c.example).\n";
        let text = security_page(&page, Some("s@x.y"), Some("https://x.y/r/"));
        assert_eq!(text, expected);
        let expected = "Write to SECURITY-CONTACT. See a and [c](https://c.example).\n";
        assert_eq!(security_page(&page, None, None), expected);
        let committed = workspace::load(workspace::root(), SECURITY).unwrap();
        assert!(committed.text.contains(CONTACT));
    }

    #[test]
    fn packages_are_compiled_unless_the_flag_says_otherwise() {
        let words = |upload, no_verify| {
            publish_words(&Options {
                prefix: "x-".to_owned(),
                repository: None,
                security_contact: None,
                check: false,
                no_verify,
                upload,
            })
        };
        let publish = "publish --workspace --allow-dirty";
        let expected = format!("{publish} --dry-run --target-dir");
        assert_eq!(words(false, false), expected);
        let expected = format!("{publish} --dry-run --no-verify --target-dir");
        assert_eq!(words(false, true), expected);
        assert_eq!(words(true, false), format!("{publish} --target-dir"));
    }
}
