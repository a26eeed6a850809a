//! Relative links in Markdown: the file exists, and so does the heading.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::workspace::File;

/// A link in the text of a page.
#[derive(Debug, PartialEq)]
pub(super) struct Link<'a> {
    pub(super) line: usize,
    /// The address without the anchor; empty for the page itself.
    pub(super) path: &'a str,
    pub(super) anchor: Option<&'a str>,
}

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

/// Finds the relative links outside of code.
pub(super) fn links(text: &str) -> impl Iterator<Item = Link<'_>> {
    prose_lines(text).flat_map(|(line, text)| {
        let code = |at: usize| text[..at].matches('`').count() % 2 == 1;
        let starts = text.match_indices("](").filter(move |(at, _)| !code(*at));
        let targets = starts.filter_map(|(at, open)| text[at + open.len()..].split(')').next());
        let relative = targets.filter(|target| !target.contains(':'));
        relative.map(move |target| {
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let anchor = (!anchor.is_empty()).then_some(anchor);
            Link { line, path, anchor }
        })
    })
}

/// The lines outside of code blocks, with their numbers.
pub(super) fn prose_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// Returns the path from the root of the link `path` in the page at `page`.
pub(super) fn resolve(page: &str, path: &str) -> String {
    if path.is_empty() {
        return page.to_owned();
    }
    let mut target = PathBuf::from(page);
    target.pop();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => {
                target.pop();
            }
            Component::CurDir => {}
            part => target.push(part),
        }
    }
    target.to_string_lossy().replace('\\', "/")
}

/// The anchors of the headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    for (_, heading) in headings(text) {
        let anchor = anchor(heading);
        let numbered = (1..).map(|number| format!("{anchor}-{number}"));
        let mut candidates = std::iter::once(anchor.clone()).chain(numbered);
        known.extend(candidates.find(|candidate| !known.contains(candidate)));
    }
    known
}

fn headings(text: &str) -> impl Iterator<Item = (usize, &str)> {
    prose_lines(text).filter_map(|(line, text)| {
        let heading = text.trim_start_matches('#');
        (heading.len() < text.len()).then(|| Some((line, heading.strip_prefix(' ')?)))?
    })
}

fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c => c.is_alphanumeric().then_some(c),
    });
    kept.collect::<String>().to_lowercase()
}

/// Returns the text below the heading with this anchor, up to the next heading of any level.
pub(super) fn section<'a>(text: &'a str, wanted: &str) -> Option<&'a str> {
    let mut headings = headings(text).skip_while(|(_, heading)| anchor(heading) != wanted);
    let (first, _) = headings.next()?;
    let end = headings.next().map(|(line, _)| line - 1);
    let start_of = |line: usize| text.split_inclusive('\n').take(line).map(str::len).sum();
    let start: usize = start_of(first);
    Some(&text[start..end.map_or(text.len(), start_of)])
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

    #[test]
    fn a_section_ends_at_the_next_heading() {
        let text = "# A\na\n```\n# b\n```\n## C d\nc\n";
        assert_eq!(section(text, "a"), Some("a\n```\n# b\n```\n"));
        assert_eq!(section(text, "c-d"), Some("c\n"));
        assert_eq!(section(text, "b"), None);
    }
}
