//! Checks of the built book: its links lead somewhere, and its pages load nothing from other hosts.

use std::collections::BTreeSet;
use std::path::Path;

use crate::markdown::resolve;
use crate::workspace::File;

/// Checks all pages of a book, whose paths begin in the folder `book`.
pub(super) fn check(book: &Path, pages: &[File]) -> Vec<String> {
    let mut violations = Vec::new();
    for page in pages {
        let mut violation = |problem: String| violations.push(format!("{}: {problem}", page.path));
        for link in attributes(&page.text, "href") {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            // The page that is shown for a wrong address has links from the root.
            if link.contains(':') || link.starts_with('/') || link.starts_with("//") {
                continue;
            }
            let target = resolve(&page.path, path);
            let found = pages.iter().find(|other| other.path == target);
            match found {
                None if !book.join(&target).is_file() => violation(format!("dead link {link}")),
                Some(found) if !anchor.is_empty() && !ids(&found.text).contains(anchor) => {
                    violation(format!("{target} has no heading with the id {anchor}"));
                }
                _ => {}
            }
        }
        for loaded in loads(&page.text) {
            violation(format!("loads {loaded}"));
        }
    }
    violations
}

/// Returns the addresses on other hosts of scripts, images, fonts and style sheets.
fn loads(html: &str) -> impl Iterator<Item = &str> {
    let style = html
        .split("<link")
        .skip(1)
        .filter_map(|tag| attributes(tag.split('>').next()?, "href").next());
    let is_foreign = |address: &&str| {
        address.starts_with("http:") || address.starts_with("https:") || address.starts_with("//")
    };
    attributes(html, "src").chain(style).filter(is_foreign)
}

fn ids(html: &str) -> BTreeSet<&str> {
    attributes(html, "id").collect()
}

/// Returns the values of an attribute.
fn attributes<'a>(html: &'a str, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    let start = format!(" {name}=\"");
    let mut rest = html;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(&start)?;
        let (value, after) = after.split_once('"')?;
        rest = after;
        Some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_and_foreign_files_are_found() {
        let first = r##"<link rel="stylesheet" href="https://fonts.example/a.css"><script src="//cdn.example/a.js"></script>
            <h2 id="x">X</h2> <a href="b.html#y">b</a> <a href="b.html#z">z</a> <a href="c.html">c</a> <a href="https://d.example">d</a> <a href="#x">x</a>"##;
        let pages = [
            File::new("guide/a.html", first),
            File::new("guide/b.html", r#"<h1 id="y">Y</h1>"#),
        ];
        let expected = [
            "guide/a.html: guide/b.html has no heading with the id z",
            "guide/a.html: dead link c.html",
            "guide/a.html: loads //cdn.example/a.js",
            "guide/a.html: loads https://fonts.example/a.css",
        ];
        assert_eq!(check(Path::new("/nowhere"), &pages), expected);
    }
}
