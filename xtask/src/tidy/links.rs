//! Relative links in Markdown: the file exists, and so does the heading.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::markdown::{Link, anchors, links, resolve};
use crate::workspace::File;

/// Checks the links of all pages.
pub(super) fn check(root: &Path, pages: &[File]) -> Vec<String> {
    let headings = pages.iter().map(|page| (&*page.path, anchors(&page.text)));
    let headings: BTreeMap<&str, BTreeSet<String>> = headings.collect();
    let mut violations = Vec::new();
    for page in pages {
        for Link { line, path, anchor } in links(&page.text) {
            let target = resolve(&page.path, path);
            let mut violation =
                |problem| violations.push(format!("{}:{line}: {problem}", page.path));
            if !headings.contains_key(&*target) && !root.join(&target).exists() {
                violation(format!("link to {path}: there is no {target}"));
            } else if let Some(anchor) = anchor
                && headings
                    .get(&*target)
                    .is_some_and(|known| !known.contains(anchor))
            {
                violation(format!(
                    "link to {path}#{anchor}: {target} has no such heading"
                ));
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_files_and_headings() {
        let first = "# A\n## Use `x`, and [y](b.md)\n## Use `x`, and [y](b.md)\n\
            [a](#a) [b](b.md#b) `[c](c.md)` [d](https://d.example#d)\n```\n[e](e.md)\n# F\n```\n\
            [g](../g.md) [h](b.md#h) [i](#f) [j](sub/) [k](#use-x-and-yb-md-1)\n";
        let first = first.replace("[y](b.md)", "y");
        let first = first.replace("#use-x-and-yb-md-1", "#use-x-and-y-1");
        let pages = [
            File::new("docs/a.md", &first),
            File::new("docs/b.md", "# B\n"),
        ];
        let violations = check(Path::new("/nowhere"), &pages);
        let expected = [
            "docs/a.md:9: link to ../g.md: there is no g.md",
            "docs/a.md:9: link to b.md#h: docs/b.md has no such heading",
            "docs/a.md:9: link to #f: docs/a.md has no such heading",
            "docs/a.md:9: link to sub/: there is no docs/sub",
        ];
        assert_eq!(violations, expected);
    }
}
