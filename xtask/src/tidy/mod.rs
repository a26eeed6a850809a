//! `cargo xtask tidy`: the rules of the project that neither the compiler nor clippy checks.
//!
//! Each violation is one line: `path:line: problem: what to do`. Four rules have allowances, see [`allowances`].

mod allowances;
mod circles;
mod dependencies;
mod language;
mod manifest;
mod shape;
mod source;
mod syntax;
#[cfg(test)]
mod tests;

use std::path::Path;

use crate::files;
use crate::workspace::{flags, root};
use allowances::{Allowances, Places};
use syntax::Source;

pub(crate) use dependencies::counts as crates;

/// Runs the command.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let [shrink] = flags("tidy", ["--shrink"], args)?;
    let root = root();
    let mut allowances = Allowances::load(root)?;
    let mut violations = files_and_folders(root, &mut allowances)?;
    let manifests = manifest::load(root)?;
    violations.extend(manifest::check(&manifests));
    violations.extend(dependencies::check(root, &manifests)?);
    violations.extend(shape::root_folder(root)?);
    violations.extend(language::commits(root)?);
    if shrink {
        allowances.save(root)?;
    }
    if violations.is_empty() {
        return Ok(());
    }
    Err(violations.join("\n"))
}

fn files_and_folders(root: &Path, allowances: &mut Allowances) -> Result<Vec<String>, String> {
    // The expected error messages of the compiler belong to wrong code.
    let is_rust = |path: &str| path.ends_with(".rs") && !path.contains("/ui/");
    let rust = files::read(root, &["crates", "tests", "xtask"], is_rust)?;
    let rust = rust.into_iter().map(Source::parse);
    let rust = rust.collect::<Result<Vec<_>, _>>()?;
    let is_markdown = |path: &str| path.ends_with(".md");
    let mut markdown = files::read(root, &["crates", "docs", "tests", "xtask"], is_markdown)?;
    for name in ["README.md", "CHANGELOG.md"] {
        markdown.push(files::load(root, name.to_owned())?);
    }

    let methods = source::methods(root)?;
    let mut violations = Vec::new();
    let mut names = Vec::new();
    for source in &rust {
        violations.extend(shape::check(&source.file));
        violations.extend(source::check(source, &methods));
        names.extend(language::type_names(source));
    }
    let texts = rust.iter().map(|source| &source.file).chain(&markdown);
    let phrases = texts.flat_map(language::phrases).collect();
    let circles = circles::largest(&rust);
    let folders = shape::folders(rust.iter().map(|source| &source.file));
    violations.extend(allowances.check("circles", circles::LIMIT, &circles));
    violations.extend(allowances.check("files", shape::FOLDER, &folders));
    violations.extend(allowances.check("phrases", 0, &by_place(phrases)));
    violations.extend(allowances.check("types", 0, &by_place(names)));
    Ok(violations)
}

/// The violations by the part of the workspace that they are in: a crate, a folder of the root, or the root.
fn by_place(violations: Vec<String>) -> Places {
    let mut places = Places::new();
    for violation in violations {
        let (path, _) = violation.split_once(':').unwrap_or_default();
        let place = match path.split('/').collect::<Vec<_>>()[..] {
            ["crates", name, ..] => format!("crates/{name}"),
            [folder, _, ..] => folder.to_owned(),
            _ => ".".to_owned(),
        };
        places.entry(place).or_default().push(violation);
    }
    places
}
