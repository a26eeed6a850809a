//! The pages as the book has them, and the texts for programs that read Markdown: `llms.txt` and `llms-full.txt`.

use std::fmt::Write as _;

use super::summary::{BookPart, SUMMARY};
use crate::markdown::{LinkTarget, prose, resolve, with_targets, without_links};
use crate::workspace::File;

/// The folder of the pages, with the slash.
pub(super) const FOLDER: &str = "docs/";

/// Returns the path of a file in the book. A web server shows `index.html` of a folder, as a code host shows `README.md`.
pub(super) fn path_in_book(path: &str) -> String {
    let path = path.strip_prefix(FOLDER).unwrap_or(path);
    match path.strip_suffix("README.md") {
        Some(folder) => format!("{folder}index.md"),
        None => path.to_owned(),
    }
}

/// Returns the text of a page for the book. A link to a file outside of `docs` leads to the repository or, without the address of
/// the repository, is replaced by its text. `is_folder` says whether a path from the root is a folder.
pub(super) fn for_book(
    page: &File,
    repository: Option<&str>,
    is_folder: impl Fn(&str) -> bool,
) -> String {
    with_targets(&page.text, |address| {
        let (path, anchor) = address.split_at(address.find('#').unwrap_or(address.len()));
        if path.is_empty() {
            return LinkTarget::Same;
        }
        let target = resolve(&page.path, path);
        let is_in_book = target.starts_with(FOLDER) && target != SUMMARY && !is_folder(&target);
        if is_in_book {
            return match path.strip_suffix("README.md") {
                Some(folder) => LinkTarget::Other(format!("{folder}index.md{anchor}")),
                None => LinkTarget::Same,
            };
        }
        match repository {
            Some(repository) => {
                let repository = repository.trim_end_matches('/');
                LinkTarget::Other(format!("{repository}/blob/HEAD/{target}{anchor}"))
            }
            None => LinkTarget::Removed,
        }
    })
}

/// Returns the first sentence of a page, without links. It is in the first paragraph that is neither code, a table or a list, nor
/// names examples.
pub(super) fn first_sentence(text: &str) -> String {
    let lines: Vec<&str> = prose(text).map(|(_, line)| line).collect();
    let mut paragraphs = lines.split(|line| line.is_empty());
    let paragraph = paragraphs.find(|paragraph| {
        let starts = ["#", "|", "<", "- ", "Example"];
        let has_start = |line: &&str| starts.iter().any(|start| line.starts_with(start));
        paragraph.first().is_some_and(|line| !has_start(line))
    });
    let paragraph = without_links(&paragraph.unwrap_or_default().join(" "));
    let paragraph = paragraph.replace("**Context.** ", "");
    let end = paragraph
        .match_indices(". ")
        .find(|(at, _)| paragraph[..*at].matches('`').count().is_multiple_of(2));
    match end {
        Some((at, _)) => paragraph[..=at].to_owned(),
        None => paragraph,
    }
}

/// Returns `llms.txt`: the title, a summary, and each part of the book with a line for each page.
pub(super) fn index(title: &str, parts: &[BookPart], text_of: impl Fn(&str) -> String) -> String {
    let mut index = format!("# {title}\n");
    for part in parts {
        match part.title.as_str() {
            "" => {
                // The first paragraph of the first page is the summary.
                let start = text_of(&part.pages[0].path);
                let summary: Vec<&str> = start.split("\n\n").nth(1).into_iter().collect();
                let summary = without_links(&summary.concat());
                let words: Vec<&str> = summary.split_whitespace().collect();
                let _ = writeln!(
                    index,
                    "\n> {}\n\n- [All pages in one file](llms-full.txt)",
                    words.join(" ")
                );
            }
            title => _ = writeln!(index, "\n## {title}\n"),
        }
        for page in &part.pages {
            let about = first_sentence(&text_of(&page.path));
            let path = path_in_book(&page.path);
            let _ = writeln!(index, "- [{}]({path}): {about}", page.title);
        }
    }
    index
}

/// Returns `llms-full.txt`: all pages in their order, each after a line with its path.
pub(super) fn all(title: &str, parts: &[BookPart], text_of: impl Fn(&str) -> String) -> String {
    let mut all = format!("# {title}\n");
    for page in parts.iter().flat_map(|part| &part.pages) {
        let path = path_in_book(&page.path);
        let _ = writeln!(
            all,
            "\n---\n\nPage: {path}\n\n{}",
            text_of(&page.path).trim()
        );
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::summary::parts;
    use super::*;

    #[test]
    fn links_lead_to_pages_or_to_the_repository() {
        let text = "[a](../features.md#x) [b](../guide/README.md#y) [c](../../README.md) [d](#z) [e](../adr/) [f](../examples/a.rs)";
        let page = File::new("docs/guide/a.md", text);
        let is_folder = |path: &str| path == "docs/adr";
        let expected =
            "[a](../features.md#x) [b](../guide/index.md#y) c [d](#z) e [f](../examples/a.rs)";
        assert_eq!(for_book(&page, None, is_folder), expected);
        let expected = "[a](../features.md#x) [b](../guide/index.md#y) [c](https://x.example/r/blob/HEAD/README.md) [d](#z) \
            [e](https://x.example/r/blob/HEAD/docs/adr) [f](../examples/a.rs)";
        assert_eq!(
            for_book(&page, Some("https://x.example/r/"), is_folder),
            expected
        );
    }

    #[test]
    fn the_first_sentence_is_prose() {
        for (text, expected) in [
            (
                "# A\n\nExample: [b](b.rs).\n\nThe `a. b` of [c](c.md)\nis d. More.\n",
                "The `a. b` of c is d.",
            ),
            (
                "<!-- x -->\n\n# A\n\n**Context.** One thing\n\n- b\n",
                "One thing",
            ),
            (
                "# A\n\n```\ncargo\n\nb\n```\n\n`a` runs it:\n",
                "`a` runs it:",
            ),
            ("# A\n", ""),
        ] {
            assert_eq!(first_sentence(text), expected);
        }
    }

    #[test]
    fn the_index_has_a_summary_parts_and_pages() {
        let parts =
            parts("# Summary\n\n[Start](README.md)\n\n# Guides\n\n- [Servers](guide/README.md)\n");
        let text_of = |path: &str| match path {
            "docs/README.md" => "# Book\n\nAll [about](a.md) it.\nReally.\n".to_owned(),
            _ => "# Servers\n\nHow servers work.\n".to_owned(),
        };
        let expected = "# Book\n\n> All about it. Really.\n\n- [All pages in one file](llms-full.txt)\n\
            - [Start](index.md): All about it.\n\n## Guides\n\n- [Servers](guide/index.md): How servers work.\n";
        assert_eq!(index("Book", &parts, text_of), expected);
        let expected = "# Book\n\n---\n\nPage: index.md\n\n# Book\n\nAll [about](a.md) it.\nReally.\n\n---\n\nPage: guide/index.md\n\n# Servers\n\nHow servers work.\n";
        assert_eq!(all("Book", &parts, text_of), expected);
    }
}
