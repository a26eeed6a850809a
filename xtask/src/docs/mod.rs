//! `cargo xtask docs`: builds the pages of `docs` as a book with mdBook, and writes them as Markdown beside the HTML, with
//! `llms.txt` and `llms-full.txt`.
//!
//! mdBook reads a copy of the pages. In the copy, each `README.md` is `index.md`, and links out of `docs` lead to the repository.

mod built;
mod pages;
mod serve;
mod summary;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::markdown::{links, resolve};
use crate::programs::{BUILD, SHORT, cargo, executable, program, run as execute, target};
use crate::workspace::{self, At as _, File, Result, none_of, root, say, write};

pub(crate) use summary::check;

/// The version of mdBook.
const VERSION: &str = "0.5.4";

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Serves the book on the loopback interface after it is built.
    #[arg(long)]
    serve: bool,
    /// The port of `--serve`; 0 is a free port.
    #[arg(long, default_value_t = 3000, requires = "serve")]
    port: u16,
    /// The address of the repository, to which links out of the folder `docs` lead. Default: `repository` of the workspace.
    #[arg(long)]
    repository: Option<String>,
}

/// The parts of `docs/book.toml` and of the manifest of the workspace that this command reads.
#[derive(Deserialize)]
struct BookSettings {
    book: Book,
}

#[derive(Deserialize)]
struct Book {
    title: String,
}

#[derive(Deserialize)]
struct Manifest {
    workspace: Workspace,
}

#[derive(Deserialize)]
struct Workspace {
    package: Package,
}

#[derive(Deserialize)]
struct Package {
    repository: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result {
    let repository = match &options.repository {
        Some(repository) => Some(repository.clone()),
        None => {
            let manifest = workspace::load(root(), "Cargo.toml")?;
            let manifest: Manifest = toml::from_str(&manifest.text).at("Cargo.toml")?;
            manifest.workspace.package.repository
        }
    };
    let book = target().join("book");
    build(&book, repository.as_deref())?;
    say(&format!("{}", book.join("index.html").display()));
    match options.serve {
        true => serve::serve(&book, options.port),
        false => Ok(()),
    }
}

/// Builds the book, and checks it.
fn build(book: &Path, repository: Option<&str>) -> Result {
    let tool = install()?;
    let all = workspace::read(root(), &["docs"], |path| path.ends_with(".md"))?;
    let all: BTreeMap<String, File> = all
        .into_iter()
        .map(|page| (page.path.clone(), page))
        .collect();
    let list = workspace::load(root(), summary::SUMMARY)?;
    let parts = summary::parts(&list.text);
    let is_folder = |path: &str| root().join(path).is_dir();
    let text_of = |path: &str| {
        all.get(path).map_or_else(String::new, |page| {
            pages::for_book(page, repository, is_folder)
        })
    };

    let source = target().join("book-source");
    for folder in [&source, book] {
        // Of an earlier run, which had pages that were removed since.
        let _ = fs::remove_dir_all(folder);
    }
    let settings = workspace::load(root(), "docs/book.toml")?;
    write(&source.join("book.toml"), &settings.text)?;
    for path in all.keys() {
        write(&source.join(pages::path_in_book(path)), &text_of(path))?;
    }
    let mut command = program(&tool, "build --dest-dir");
    execute(command.arg(book).arg(&source), SHORT, say).at("mdbook build")?;

    let settings: BookSettings = toml::from_str(&settings.text).at("docs/book.toml")?;
    let title = settings.book.title;
    for path in parts.iter().flat_map(|part| &part.pages) {
        let text = text_of(&path.path);
        write(&book.join(pages::path_in_book(&path.path)), &text)?;
    }
    copy_linked(book, &all)?;
    write(
        &book.join("llms.txt"),
        &pages::index(&title, &parts, text_of),
    )?;
    write(
        &book.join("llms-full.txt"),
        &pages::all(&title, &parts, text_of),
    )?;
    // mdBook copies its settings like an image.
    let _ = fs::remove_file(book.join("book.toml"));
    let html = workspace::read(book, &[""], |path| path.ends_with(".html"))?;
    none_of(&built::check(book, &html))
}

/// Returns the path of mdBook, and installs it if it is missing.
fn install() -> Result<PathBuf> {
    let tools = target().join("tools");
    let tool = executable(&tools.join("bin"), "mdbook");
    if !tool.is_file() {
        // Without its own server, which would build the pages again.
        let mut install = cargo(&format!(
            "install --locked mdbook --version {VERSION} --no-default-features --features search --root"
        ));
        execute(install.arg(&tools), BUILD, say).at("cargo install mdbook")?;
    }
    Ok(tool)
}

/// Copies the files of `docs` that are not pages and to which pages link: programs, figures.
fn copy_linked(book: &Path, all: &BTreeMap<String, File>) -> Result {
    for page in all.values() {
        for link in links(&page.text) {
            let path = resolve(&page.path, link.path);
            let from = root().join(&path);
            if !path.starts_with(pages::FOLDER) || path.ends_with(".md") || !from.is_file() {
                continue;
            }
            let to = book.join(pages::path_in_book(&path));
            let folder = to.parent().unwrap_or(book);
            fs::create_dir_all(folder)
                .and_then(|()| fs::copy(&from, &to))
                .at(&path)?;
        }
    }
    Ok(())
}
