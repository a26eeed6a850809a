//! Claims: a comment of the form `proves: ROW, ROW` directly above a test, or `# proves:` in a wire transcript.

use super::rows::is_id;
use crate::workspace::{self, File, Result};

/// One test and the rows it claims to prove.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Proof {
    /// `path:line` of the claim.
    pub(super) place: String,
    /// `crate::path::test_name`, or the path of a transcript.
    pub(super) test: String,
    /// In the order of the claim.
    pub(super) rows: Vec<String>,
}

/// Every claim of a file.
pub(super) fn read(file: &File) -> Result<Vec<Proof>> {
    let path = &file.path;
    let is_rust = path.ends_with(".rs");
    let mark = if is_rust { "// proves:" } else { "# proves:" };
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let mut proofs = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(claim) = line.strip_prefix(mark) else {
            continue;
        };
        let place = format!("{path}:{}", index + 1);
        let rows: Vec<String> = claim.split(',').map(|id| id.trim().to_owned()).collect();
        if !rows.iter().all(|id| is_id(id)) {
            let problem = "this is not a list of row ids; write AREA-NNN, separated by commas";
            return Err(format!("{place}: {problem}"));
        }
        let test = match (is_rust, tested(&lines[index + 1..])) {
            (true, Some(test)) => format!("{}::{test}", module(path)),
            (false, _) => path.clone(),
            (true, None) => {
                let problem = "no test follows, move the claim directly above its #[test]";
                return Err(format!("{place}: {problem}"));
            }
        };
        proofs.push(Proof { place, test, rows });
    }
    Ok(proofs)
}

/// The name of the test that these lines begin with: comments and attributes, one of them a test attribute, then `fn`.
fn tested<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let mut is_test = false;
    // Brackets of attributes that are open over several lines.
    let mut depth = 0;
    for line in lines {
        if depth > 0 || line.starts_with("#[") {
            let name = line.trim_start_matches("#[").split(['(', ']']).next()?;
            is_test |= name == "test" || name.ends_with("::test");
            depth += line.matches('[').count();
            depth -= line.matches(']').count();
        } else if !line.starts_with("//") {
            let words = line
                .trim_start_matches("pub(crate) ")
                .trim_start_matches("async ");
            let name = words.strip_prefix("fn ")?.split(['(', '<']).next()?;
            return is_test.then_some(name);
        }
    }
    None
}

/// `crates/mcp-a/src/b/mod.rs` is `mcp_a::b`, `crates/mcp-a/tests/c.rs` is `mcp_a::tests::c`.
fn module(path: &str) -> String {
    let mut parts = workspace::module(&path.trim_start_matches("crates/").replace('-', "_"));
    parts.retain(|part| part != "src");
    parts.join("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "crates/mcp-a/tests/suite/b.rs";

    #[test]
    fn a_claim_belongs_to_the_test_below_it_or_to_its_transcript() {
        let text = "    \x2f/ proves: A-001, M-B-002\n    // Why it matters.\n    #[tokio::test(\n        start_paused = true\n    )]\n    \
            async fn calls_end() {\n";
        let transcript = "tests/fixtures/wire/batch.txt";
        let test = "mcp_a::tests::suite::b::calls_end";
        let wire = "# proves: A-001\n> {}\n";
        for (path, text, test, rows) in [
            (PATH, text, test, &["A-001", "M-B-002"][..]),
            (transcript, wire, transcript, &["A-001"]),
        ] {
            let proof = &read(&File::new(path, text)).unwrap()[0];
            assert_eq!((&*proof.test, &*proof.place), (test, &*format!("{path}:1")));
            assert_eq!(proof.rows, rows);
        }
    }

    #[test]
    fn a_claim_without_a_test_or_with_malformed_ids_is_refused() {
        for text in [
            "\x2f/ proves: A-001\nfn helper() {}\n",
            "\x2f/ proves: A-001\n\n#[test]\nfn late() {}\n",
            "\x2f/ proves: A-1\n#[test]\nfn short() {}\n",
            "\x2f/ proves:\n#[test]\nfn empty() {}\n",
        ] {
            let error = read(&File::new(PATH, text)).unwrap_err();
            assert!(error.starts_with(&format!("{PATH}:1: ")), "{error}");
        }
    }

    #[test]
    fn modules_are_named_as_rust_names_them() {
        assert_eq!(module("crates/mcp-a/src/b/mod.rs"), "mcp_a::b");
        assert_eq!(module("crates/mcp-a/src/lib.rs"), "mcp_a");
        assert_eq!(module("tests/suites/ping.rs"), "tests::suites::ping");
        assert_eq!(module("xtask/src/steps.rs"), "xtask::steps");
    }
}
