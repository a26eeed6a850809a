//! The tests that `docs/threats.md` names.

use std::collections::HashSet;

use crate::workspace::File;

const PAGE: &str = "docs/threats.md";

/// Checks that each test in the last column of a table exists. A test is named by its path in Rust; the last part is a function, or a
/// file or folder of tests.
pub(super) fn check(pages: &[File], rust: &[&File]) -> Vec<String> {
    let Some(page) = pages.iter().find(|page| page.path == PAGE) else {
        return Vec::new();
    };
    let mut known = HashSet::new();
    for file in rust {
        let folders = file.path.trim_end_matches(".rs").split('/');
        known.extend(folders);
        let functions = file.text.split("fn ").skip(1);
        known.extend(functions.filter_map(|rest| rest.split(['(', '<']).next()));
    }
    let mut violations = Vec::new();
    for (number, line) in page.text.lines().enumerate() {
        let Some(cell) = line
            .strip_suffix(" |")
            .and_then(|row| row.rsplit(" | ").next())
        else {
            continue;
        };
        for span in cell.split('`').skip(1).step_by(2) {
            let name = span.rsplit([' ', ':']).next().unwrap_or(span);
            if !known.contains(name) {
                violations.push(format!(
                    "{PAGE}:{}: there is no test {name:?}: name the test that shows the measure",
                    number + 1
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
    fn a_test_that_does_not_exist_is_reported() {
        let file = |path: &str, text: &str| File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let rust = file(
            "tests/suites/gateway/hostile.rs",
            "async fn a_flood() {}\nfn of<T>() {}",
        );
        let page = "| Threat | By | Test |\n| --- | --- | --- |\n\
                    | a | b | `gateway::hostile::a_flood`, `gateway::hostile`, `mcp-cli of` |\n| c | d | `a_drought` |\n";
        let violations = check(&[file(PAGE, page)], &[&rust]);
        assert_eq!(violations.len(), 1, "{violations:?}");
        assert!(violations[0].starts_with("docs/threats.md:4: there is no test \"a_drought\""));
    }
}
