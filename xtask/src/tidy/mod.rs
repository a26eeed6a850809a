//! `cargo xtask tidy`: the rules of the project that neither the compiler nor clippy checks.
//!
//! Each violation is one line: `path:line: problem: what to do`.

mod circles;
mod dependencies;
mod examples;
mod functions;
mod language;
mod links;
mod reference;
mod shape;
mod source;
mod syntax;
mod template;
#[cfg(test)]
mod tests;
mod threats;

use std::path::Path;

use crate::docs;
use crate::workspace::{self, Result, none_of, root};
use syntax::Source;

pub(crate) use dependencies::{counts as crates, tree};

/// Files that are neither Rust nor Markdown and contain prose.
const OTHER_TEXTS: &[&str] = &["toml", "jinja", "mjs", "py", "lua", "yml"];

pub(crate) fn run() -> Result {
    let root = root();
    let mut violations = files_and_folders(root)?;
    violations.extend(dependencies::check_manifests(&dependencies::load(root)?));
    violations.extend(dependencies::check(root)?);
    violations.extend(shape::root_folder(root)?);
    violations.extend(template::check(root)?);
    violations.extend(language::commits()?);
    none_of(&violations)
}

fn files_and_folders(root: &Path) -> Result<Vec<String>> {
    // The expected error messages of the compiler belong to wrong code.
    let is_rust = |path: &str| path.ends_with(".rs") && !path.contains("/ui/");
    let rust = workspace::read(root, &["crates", "docs", "tests", "xtask"], is_rust)?;
    let rust = rust.into_iter().map(Source::parse);
    let rust = rust.collect::<Result<Vec<_>, _>>()?;
    let with_extension = |extensions: &'static [&str]| {
        let is_wanted = |path: &str| {
            let extension = path.rsplit_once('.').map(|(_, extension)| extension);
            extension.is_some_and(|extension| extensions.contains(&extension))
        };
        let folders = [".github", "crates", "docs", "tests", "xtask"];
        workspace::read(root, &folders, is_wanted)
    };
    let mut markdown = with_extension(&["md"])?;
    let mut others = with_extension(OTHER_TEXTS)?;
    let in_root = |name| workspace::load(root, name);
    for name in ["README.md", "CHANGELOG.md"] {
        markdown.push(in_root(name)?);
    }
    for name in ["Cargo.toml", "clippy.toml", "deny.toml"] {
        others.push(in_root(name)?);
    }

    let methods = source::methods(root)?;
    let fences = workspace::load(root, source::FENCES)?.text;
    let mut violations = circles::check(&rust);
    violations.extend(functions::check(&rust));
    for source in &rust {
        violations.extend(shape::check(&source.file));
        violations.extend(source::check(source, &methods));
        violations.extend(source::fenced(source, &fences));
        violations.extend(language::type_names(source));
    }
    let texts = || rust.iter().map(|source| &source.file);
    violations.extend(shape::folders(texts()));
    violations.extend(threats::check(&markdown, &texts().collect::<Vec<_>>()));
    violations.extend(links::check(root, &markdown));
    let is_list = |path: &str| path.ends_with(".txt");
    let api = workspace::read(root, &["docs/api"], is_list)?;
    violations.extend(reference::check(
        &markdown,
        &texts().collect::<Vec<_>>(),
        &api,
    ));
    violations.extend(docs::check(&markdown));
    violations.extend(examples::features(&markdown));
    violations.extend(examples::programs(texts(), &markdown));
    let prose = texts().chain(&markdown).chain(&others);
    violations.extend(prose.flat_map(language::phrases));
    Ok(violations)
}
