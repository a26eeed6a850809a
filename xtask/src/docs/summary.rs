//! `docs/SUMMARY.md`: the pages of the book in their order.

use std::collections::BTreeMap;

use crate::markdown::{links, resolve};
use crate::workspace::File;

/// The list of the pages.
pub(crate) const SUMMARY: &str = "docs/SUMMARY.md";

/// A part of the book. The pages before the first heading are a part without a title.
#[derive(Debug, Default, PartialEq)]
pub(super) struct BookPart {
    pub(super) title: String,
    pub(super) pages: Vec<Entry>,
}

/// A page in the list.
#[derive(Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) title: String,
    /// From the root of the workspace.
    pub(super) path: String,
}

/// Reads the list: headings are parts, links are pages.
pub(super) fn parts(text: &str) -> Vec<BookPart> {
    let mut parts = vec![BookPart::default()];
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("# ")
            && title != "Summary"
        {
            parts.push(BookPart {
                title: title.to_owned(),
                pages: Vec::new(),
            });
        }
        let Some(link) = links(line).next() else {
            continue;
        };
        let title = line.split_once('[').and_then(|(_, rest)| {
            let (title, _) = rest.split_once("](")?;
            Some(title.to_owned())
        });
        if let Some(part) = parts.last_mut() {
            part.pages.push(Entry {
                title: title.unwrap_or_default(),
                path: resolve(SUMMARY, link.path),
            });
        }
    }
    parts.retain(|part| !part.pages.is_empty());
    parts
}

/// Checks that the list names each page of `docs` once. `tidy` also checks its links, as those of each page.
pub(crate) fn check(pages: &[File]) -> Vec<String> {
    let Some(summary) = pages.iter().find(|page| page.path == SUMMARY) else {
        return vec![format!("{SUMMARY}:1: the list of the pages is missing")];
    };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for page in parts(&summary.text).into_iter().flat_map(|part| part.pages) {
        *counts.entry(page.path).or_default() += 1;
    }
    let is_page = |page: &&File| page.path.starts_with("docs/") && page.path != SUMMARY;
    let missing = { pages.iter().filter(is_page) }.filter(|page| !counts.contains_key(&page.path));
    let missing = missing.map(|page| format!("{SUMMARY}:1: no line for {}: add one", page.path));
    let repeated = counts.iter().filter(|(_, count)| **count > 1);
    let repeated =
        repeated.map(|(path, count)| format!("{SUMMARY}:1: {count} lines for {path}: keep one"));
    missing.chain(repeated).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Summary\n\n[Start](README.md)\n\n# Guides\n\n- [Servers](guide/servers.md)\n  - [`mcp`](guide/cli.md)\n";

    #[test]
    fn headings_are_parts_and_links_are_pages() {
        let entry = |title: &str, path: &str| Entry {
            title: title.to_owned(),
            path: path.to_owned(),
        };
        let expected = [
            BookPart {
                title: String::new(),
                pages: vec![entry("Start", "docs/README.md")],
            },
            BookPart {
                title: "Guides".to_owned(),
                pages: vec![
                    entry("Servers", "docs/guide/servers.md"),
                    entry("`mcp`", "docs/guide/cli.md"),
                ],
            },
        ];
        assert_eq!(parts(TEXT), expected);
    }

    #[test]
    fn each_page_has_one_line() {
        let text = TEXT.to_owned() + "- [Again](guide/cli.md)\n";
        let page = |path: &str| File::new(path, "# A\n");
        let pages = [
            File::new(SUMMARY, &text),
            page("docs/README.md"),
            page("docs/guide/cli.md"),
            page("docs/guide/other.md"),
            page("docs/guide/servers.md"),
            page("README.md"),
        ];
        let expected = [
            "docs/SUMMARY.md:1: no line for docs/guide/other.md: add one",
            "docs/SUMMARY.md:1: 2 lines for docs/guide/cli.md: keep one",
        ];
        assert_eq!(check(&pages), expected);
    }
}
