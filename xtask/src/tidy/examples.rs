//! The table of features, `docs/features.md`, and the programs in `docs/examples` with their list.

use crate::markdown::{Link, links, resolve, section};
use crate::workspace::{File, say};

/// The page with one row for each feature of the protocol.
const FEATURES: &str = "docs/features.md";
/// The features for which an SDK of tier 1 has documentation with an example.
const COUNT: usize = 48;
/// The list of the programs.
const LIST: &str = "docs/examples/README.md";
/// Maximum number of lines of a program.
const LINES: usize = 120;

/// Checks that each feature is explained and has an example.
pub(super) fn features(pages: &[File]) -> Vec<String> {
    let page_at = |path: &str| pages.iter().find(|page| page.path == path);
    let Some(page) = page_at(FEATURES) else {
        return vec![format!("{FEATURES}:1: the page is missing")];
    };
    let is_prose = |link: &Link<'_>| {
        let target = resolve(FEATURES, link.path);
        page_at(&target).is_some() && link.anchor.is_some()
    };
    // A program, or a section with code.
    let is_example = |link: &Link<'_>| {
        let target = resolve(FEATURES, link.path);
        let section = page_at(&target)
            .zip(link.anchor)
            .and_then(|(page, anchor)| section(&page.text, anchor));
        target.ends_with(".rs") || section.is_some_and(|section| section.contains("```"))
    };
    let (mut violations, mut numbers, mut documented) = (Vec::new(), Vec::new(), 0);
    for (line, text) in (1..).zip(page.text.lines()) {
        let cells: Vec<&str> = text.split('|').map(str::trim).collect();
        let ["", number, feature, prose, examples, ""] = cells[..] else {
            continue;
        };
        let Ok(number) = number.parse::<usize>() else {
            continue;
        };
        numbers.push(number);
        let before = violations.len();
        let mut violation =
            |problem| violations.push(format!("{FEATURES}:{line}: {feature}: {problem}"));
        if !links(prose).any(|link| is_prose(&link)) {
            violation("no link to a section of a guide");
        }
        if !links(examples).any(|link| is_example(&link)) {
            violation("no link to an example: a program, or a section with code");
        }
        documented += usize::from(violations.len() == before);
    }
    say(&format!("documented features: {documented} of {COUNT}"));
    if !numbers.iter().copied().eq(1..=COUNT) {
        violations.push(format!(
            "{FEATURES}:1: {} rows; the features have the numbers 1 to {COUNT}, in this order",
            numbers.len()
        ));
    }
    violations
}

/// Checks that each program is short, and has a row in the list.
pub(super) fn programs<'a>(rust: impl Iterator<Item = &'a File>, pages: &[File]) -> Vec<String> {
    let list = pages.iter().find(|page| page.path == LIST);
    let listed = list.into_iter().flat_map(|page| links(&page.text));
    let listed: Vec<String> = listed.map(|link| resolve(LIST, link.path)).collect();
    let mut violations = Vec::new();
    for File { path, text } in rust {
        if !path.starts_with("docs/examples/") || path.contains("/tests/") {
            continue;
        }
        let lines = text.lines().count();
        if lines > LINES {
            violations.push(format!(
                "{path}:1: {lines} lines, limit {LINES}: show one thing"
            ));
        }
        if !listed.contains(path) {
            violations.push(format!("{LIST}:1: no row for {path}"));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_needs_prose_and_an_example() {
        let row = |number: usize, prose: &str, example: &str| {
            format!("| {number} | Feature {number} | {prose} | {example} |\n")
        };
        let good = |number| row(number, "[a](guide/a.md#a)", "[b](examples/b.rs)");
        let mut text: String = (1..=COUNT - 3).map(good).collect();
        text += &row(COUNT - 2, "[a](guide/a.md#a)", "[a](guide/a.md#a)");
        text += &row(COUNT - 1, "[a](guide/a.md)", "[c](guide/a.md#c)");
        let guide = File::new("docs/guide/a.md", "# A\n```\ncode\n```\n# C\n");
        let violations = features(&[File::new(FEATURES, &text), guide]);
        assert_eq!(violations.len(), 3, "{violations:?}");
        let start = format!("{FEATURES}:{0}: Feature {0}: no link to ", COUNT - 1);
        assert!(
            violations[..2]
                .iter()
                .all(|violation| violation.starts_with(&start))
        );
        assert!(
            violations[2].starts_with(&format!("{FEATURES}:1: 47 rows")),
            "{violations:?}"
        );
    }

    #[test]
    fn programs_are_short_and_listed() {
        let list = File::new(LIST, "[a](http/a.rs)");
        let program = |path: &str, lines| File::new(path, &"//! A.\n".repeat(lines));
        let programs = [
            program("docs/examples/http/a.rs", LINES),
            program("docs/examples/http/b.rs", LINES + 1),
            program("docs/examples/tests/run/main.rs", LINES + 1),
        ];
        let violations = super::programs(programs.iter(), &[list]);
        let expected = [
            "docs/examples/http/b.rs:1: 121 lines, limit 120: show one thing",
            "docs/examples/README.md:1: no row for docs/examples/http/b.rs",
        ];
        assert_eq!(violations, expected);
    }
}
