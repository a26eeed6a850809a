//! Allocations per call, as the tests of the budgets count them.

use std::path::Path;
use std::process::Command;

use crate::programs::{BUILD, run_to_end};
use crate::steps::cargo;

/// The beginning of each line that the tests print.
const MARK: &str = "allocations of ";

/// Runs the tests and returns their counts. A failure of the tests is ignored: the counts are about to be written.
pub(super) fn count(root: &Path) -> Result<Vec<(String, f64)>, String> {
    let words = "test -p mcp-tests --test budgets -- --nocapture --test-threads 1";
    let mut command = Command::new(cargo());
    command.args(words.split(' ')).current_dir(root);
    let mut counts = Vec::new();
    let ended = run_to_end(&mut command, BUILD, |line| counts.extend(counted(line)))
        .map_err(|error| format!("cargo {words}: {error}"))?;
    if counts.is_empty() {
        return Err(format!(
            "cargo {words}: the tests printed no counts\n{}",
            ended.errors
        ));
    }
    Ok(counts)
}

/// The gate and the count in a line, if it has them.
fn counted(line: &str) -> Option<(String, f64)> {
    let (_, rest) = line.split_once(MARK)?;
    let (name, count) = rest.split_once(": ")?;
    Some((name.to_owned(), count.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_in_the_output_of_tests() {
        assert_eq!(
            counted("test a ... allocations of http-modern: 17.01"),
            Some(("http-modern".to_owned(), 17.01))
        );
        assert_eq!(counted("test result: ok"), None);
    }
}
