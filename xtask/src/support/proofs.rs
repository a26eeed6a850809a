//! Claims: a comment of the form `proves: ROW, ROW` directly above a test, or `# proves:` in a wire transcript.

use super::rows::is_id;
use crate::files::File;

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
pub(super) fn read(file: &File) -> Result<Vec<Proof>, String> {
    if file.path.ends_with(".rs") {
        source(file)
    } else {
        transcript(file)
    }
}

fn source(file: &File) -> Result<Vec<Proof>, String> {
    let mut proofs = Vec::new();
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    for (index, line) in lines.iter().enumerate() {
        let Some(claim) = line.strip_prefix("// proves:") else {
            continue;
        };
        let place = format!("{}:{}", file.path, index + 1);
        let test = tested(&lines[index + 1..]).ok_or_else(|| {
            format!("{place}: no test follows, move the claim directly above its #[test]")
        })?;
        proofs.push(Proof {
            rows: ids(claim).ok_or_else(|| malformed(&place))?,
            test: format!("{}::{test}", module(&file.path)),
            place,
        });
    }
    Ok(proofs)
}

fn transcript(file: &File) -> Result<Vec<Proof>, String> {
    let mut proofs = Vec::new();
    for (number, line) in file.lines() {
        let Some(claim) = line.strip_prefix("# proves:") else {
            continue;
        };
        let place = format!("{}:{number}", file.path);
        proofs.push(Proof {
            rows: ids(claim).ok_or_else(|| malformed(&place))?,
            test: file.path.clone(),
            place,
        });
    }
    Ok(proofs)
}

fn malformed(place: &str) -> String {
    format!("{place}: not a list of row ids, write them as AREA-NNN with commas between")
}

fn ids(claim: &str) -> Option<Vec<String>> {
    let ids: Vec<String> = claim.split(',').map(|id| id.trim().to_owned()).collect();
    ids.iter().all(|id| is_id(id)).then_some(ids)
}

/// The name of the test that these lines begin with: comments and attributes, one of them a test attribute, then `fn`.
fn tested<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let mut is_test = false;
    // Attributes that are open over several lines.
    let mut depth = 0i32;
    for line in lines {
        if depth > 0 || line.starts_with("#[") {
            is_test |= is_test_attribute(line);
            depth += balance(line);
            continue;
        }
        if line.starts_with("//") {
            continue;
        }
        let words = line.trim_start_matches("pub(crate) ");
        let words = words.strip_prefix("async ").unwrap_or(words);
        let name = words.strip_prefix("fn ")?.split(['(', '<']).next()?;
        return is_test.then_some(name);
    }
    None
}

fn is_test_attribute(line: &str) -> bool {
    let name = line.trim_start_matches("#[");
    let name = name.split(['(', ']']).next().unwrap_or_default();
    name == "test" || name.ends_with("::test")
}

fn balance(line: &str) -> i32 {
    line.chars().fold(0, |depth, c| match c {
        '[' => depth + 1,
        ']' => depth - 1,
        _ => depth,
    })
}

/// `crates/mcp-a/src/b/mod.rs` is `mcp_a::b`, `crates/mcp-a/tests/c.rs` is `mcp_a::tests::c`.
fn module(path: &str) -> String {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let path = path.strip_prefix("crates/").unwrap_or(path);
    let mut parts: Vec<String> = path.split('/').map(|part| part.replace('-', "_")).collect();
    parts.retain(|part| part != "src");
    if parts.len() > 1
        && parts
            .last()
            .is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main"))
    {
        parts.pop();
    }
    parts.join("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(text: &str) -> Result<Vec<Proof>, String> {
        read(&File::new("crates/mcp-a/tests/suite/b.rs", text))
    }

    #[test]
    fn a_claim_belongs_to_the_test_below_it() {
        let text = "    \x2f/ proves: A-001, M-B-002\n    // Why it matters.\n    #[tokio::test(\n        start_paused = true\n    )]\n    \
            async fn calls_end() {\n";
        let proof = &claims(text).unwrap()[0];
        assert_eq!(proof.test, "mcp_a::tests::suite::b::calls_end");
        assert_eq!(proof.rows, ["A-001", "M-B-002"]);
        assert_eq!(proof.place, "crates/mcp-a/tests/suite/b.rs:1");
    }

    #[test]
    fn a_claim_without_a_test_or_with_strange_ids_is_refused() {
        for text in [
            "\x2f/ proves: A-001\nfn helper() {}\n",
            "\x2f/ proves: A-001\n\n#[test]\nfn late() {}\n",
            "\x2f/ proves: A-1\n#[test]\nfn short() {}\n",
            "\x2f/ proves:\n#[test]\nfn empty() {}\n",
        ] {
            let error = claims(text).unwrap_err();
            assert!(
                error.starts_with("crates/mcp-a/tests/suite/b.rs:1: "),
                "{error}"
            );
        }
    }

    #[test]
    fn a_transcript_is_named_by_its_path() {
        let file = File::new("tests/fixtures/wire/batch.txt", "# proves: A-001\n> {}\n");
        let proof = &read(&file).unwrap()[0];
        assert_eq!(
            (proof.test.as_str(), proof.rows.len()),
            ("tests/fixtures/wire/batch.txt", 1)
        );
    }

    #[test]
    fn modules_are_named_as_rust_names_them() {
        assert_eq!(module("crates/mcp-a/src/b/mod.rs"), "mcp_a::b");
        assert_eq!(module("crates/mcp-a/src/lib.rs"), "mcp_a");
        assert_eq!(module("tests/suites/ping.rs"), "tests::suites::ping");
        assert_eq!(module("xtask/src/steps.rs"), "xtask::steps");
    }
}
