//! Claims: a comment of the form `proves: ROW, ROW` directly above a test, or `# proves:` in a wire transcript.

use super::rows::is_row_id;
use crate::workspace::{self, File, Result};

/// The claim that a test proves a row.
pub(super) struct Proof {
    /// `path:line`.
    pub(super) place: String,
    pub(super) id: String,
    /// `crate::path::test_name`, or the path of a transcript.
    pub(super) test: String,
}

/// Every claim of a file.
pub(super) fn read(File { path, text }: &File) -> Result<Vec<Proof>> {
    let is_rust = path.ends_with(".rs");
    let mark = if is_rust { "// proves:" } else { "# proves:" };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut claims = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(ids) = line.strip_prefix(mark) else {
            continue;
        };
        let place = format!("{path}:{}", index + 1);
        let test = match (is_rust, tested(&lines[index + 1..])) {
            (true, Some(test)) => format!("{}::{test}", module(path)),
            (false, _) => path.clone(),
            (true, None) => {
                let problem = "no test follows, move the claim directly above its #[test]";
                return Err(format!("{place}: {problem}"));
            }
        };
        for id in ids.split(',').map(str::trim) {
            if !is_row_id(id) {
                let problem = "this is not a list of row ids; write AREA-NNN, separated by commas";
                return Err(format!("{place}: {problem}"));
            }
            let [place, id, test] = [&place, id, &test].map(str::to_owned);
            claims.push(Proof { place, id, test });
        }
    }
    Ok(claims)
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
