//! Markdown pages: their relative links, headings and sections.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// A link in the text of a page.
#[derive(Debug, PartialEq)]
pub(crate) struct Link<'a> {
    pub(crate) line: usize,
    /// The address without the anchor; empty for the page itself.
    pub(crate) path: &'a str,
    pub(crate) anchor: Option<&'a str>,
}

/// Finds the relative links outside of code.
pub(crate) fn links(text: &str) -> impl Iterator<Item = Link<'_>> {
    prose(text).flat_map(|(line, text)| {
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

/// What becomes of a relative link.
#[derive(Debug, PartialEq)]
pub(crate) enum LinkTarget {
    /// The address stays.
    Same,
    /// The link leads to this address.
    Other(String),
    /// The text stays, without a link.
    Removed,
}

/// Returns the text with other addresses of its relative links. `target` receives an address, with its anchor.
pub(crate) fn with_targets(text: &str, target: impl Fn(&str) -> LinkTarget) -> String {
    change_links(text, |address| match address.contains(':') {
        true => LinkTarget::Same,
        false => target(address),
    })
}

/// Returns the text with the texts of its links in place of the links.
pub(crate) fn without_links(text: &str) -> String {
    change_links(text, |_| LinkTarget::Removed)
}

fn change_links(text: &str, target: impl Fn(&str) -> LinkTarget) -> String {
    let mut changed = String::with_capacity(text.len());
    let mut in_code = false;
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        let mut rest = line;
        while let Some(at) = rest.find("](").filter(|_| !in_code && !is_fence) {
            let before = line.len() - rest.len() + at;
            let is_code = line[..before].matches('`').count() % 2 == 1;
            let (text, link) = rest.split_at(at);
            changed += text;
            let address = link[2..].split(')').next().unwrap_or_default();
            rest = link.get(address.len() + 3..).unwrap_or_default();
            match target(address) {
                LinkTarget::Other(other) if !is_code => changed += &format!("]({other})"),
                LinkTarget::Removed if !is_code => remove_bracket(&mut changed),
                _ => changed += &link[..link.len() - rest.len()],
            }
        }
        changed += rest;
    }
    changed
}

/// Removes the bracket that opens the text of a link, which is at the end of `text`.
fn remove_bracket(text: &mut String) {
    let mut depth = 0_usize;
    let open = text.rmatch_indices(['[', ']']).find(|(_, bracket)| {
        if *bracket == "]" {
            depth += 1;
            return false;
        }
        depth = depth.wrapping_sub(1);
        depth == usize::MAX
    });
    if let Some((at, _)) = open {
        text.remove(at);
    }
}

/// The lines outside of code blocks, with their numbers.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// Returns the path from the root of the link `path` in the page at `page`.
pub(crate) fn resolve(page: &str, path: &str) -> String {
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
pub(crate) fn anchors(text: &str) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    for (_, heading) in headings(text) {
        let anchor = anchor(heading);
        let numbered = (1..).map(|number| format!("{anchor}-{number}"));
        let mut candidates = std::iter::once(anchor.clone()).chain(numbered);
        known.extend(candidates.find(|candidate| !known.contains(candidate)));
    }
    known
}

pub(crate) fn headings(text: &str) -> impl Iterator<Item = (usize, &str)> {
    prose(text).filter_map(|(line, text)| {
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
pub(crate) fn section<'a>(text: &'a str, wanted: &str) -> Option<&'a str> {
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
    fn a_section_ends_at_the_next_heading() {
        let text = "# A\na\n```\n# b\n```\n## C d\nc\n";
        assert_eq!(section(text, "a"), Some("a\n```\n# b\n```\n"));
        assert_eq!(section(text, "c-d"), Some("c\n"));
        assert_eq!(section(text, "b"), None);
    }

    #[test]
    fn links_get_other_addresses_or_are_removed() {
        let text = "[a](a.md#x) `[b](b.md)` [c](https://c.example) [d [e]](../d.md), ![f](f.svg)\n```\n[a](a.md)\n```\n[g\nh](../h.md)";
        let changed = with_targets(text, |address| match address {
            "a.md#x" => LinkTarget::Other("z.md#x".to_owned()),
            address if address.starts_with("..") => LinkTarget::Removed,
            _ => LinkTarget::Same,
        });
        let expected = "[a](z.md#x) `[b](b.md)` [c](https://c.example) d [e], ![f](f.svg)\n```\n[a](a.md)\n```\ng\nh";
        assert_eq!(changed, expected);
        assert_eq!(
            without_links("[c](https://c.example) `[b](b.md)`"),
            "c `[b](b.md)`"
        );
    }
}
