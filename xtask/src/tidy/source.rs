//! Rules on the tokens of a source file.

use std::path::Path;

use super::tokens::{self, Token};
use super::violation::Violation;
use crate::files::{self, File};

/// Paths that the pure crates may not use, and the alternative.
const PURE: &[(&[&str], &str)] = &[
    (&["std", "net"], "sockets belong in a transport"),
    (&["std", "process"], "processes belong in a transport"),
    (&["std", "fs"], "take the bytes as an argument"),
    (&["Instant", "now"], "take the time as an argument"),
    (&["SystemTime", "now"], "take the time as an argument"),
    (&["tokio"], "the runtime belongs in a transport or a role"),
];

const PURE_CRATES: &[&str] = &["mcp-jsonrpc", "mcp-types", "mcp-schema", "mcp-protocol"];

/// Opens the comment that justifies a sleep on the line below it.
const SLEEP: &str = "// sleep: ";

/// The generated constants of the method names.
const METHODS: &str = "crates/mcp-types/src/generated/methods.rs";

const COMPARISONS: &[&str] = &["==", "!=", "<=", ">=", "<", ">"];

/// The method names of the protocol, from the generated constants.
pub(super) fn methods(root: &Path) -> Result<Vec<String>, String> {
    let file = files::load(root, METHODS.to_owned())?;
    let methods = constants(&tokens::of(&file.text)?);
    if methods.is_empty() {
        return Err(format!("{METHODS} has no method constants"));
    }
    Ok(methods)
}

/// The values of `const NAME: &str = "value";`.
fn constants(tokens: &[Token]) -> Vec<String> {
    let values = tokens
        .split(|token| token.text == ";")
        .filter_map(|item| match item {
            [.., equals, value] if equals.text == "=" => value.string(),
            _ => None,
        });
    values.map(str::to_owned).collect()
}

/// Checks one file.
pub(super) fn check(
    file: &File,
    tokens: &[Token],
    methods: &[String],
    violations: &mut Vec<Violation>,
) {
    let lines: Vec<&str> = file.text.lines().collect();
    let is_justified = |line: usize| {
        let above = line.checked_sub(2).and_then(|above| lines.get(above));
        above.is_some_and(|above| above.trim_start().starts_with(SLEEP))
    };
    let is_test_file = is_test(&file.path);
    let library = file
        .path
        .strip_prefix("crates/")
        .and_then(|path| path.split_once("/src/"))
        .map(|(name, _)| name);
    let mut found = |line, what: String| violations.push(Violation::new(&file.path, line, what));
    for (at, token) in tokens.iter().enumerate() {
        let follows = |texts: &[&str]| {
            texts
                .iter()
                .enumerate()
                .all(|(n, text)| tokens.get(at + n).is_some_and(|token| token.text == *text))
        };
        if follows(&["#", "[", "ignore"]) {
            found(token.line, "ignored test: fix it or remove it".to_owned());
        }
        if is_test_file || token.in_test {
            if follows(&["sleep", "("]) && !token.is_paused && !is_justified(token.line) {
                found(
                    token.line,
                    "sleep in a test: wait for the event, pause the clock, or give the reason in `// sleep: ...` above".to_owned(),
                );
            }
            continue;
        }
        let Some(library) = library else { continue };
        if PURE_CRATES.contains(&library) {
            for (path, advice) in PURE {
                let mut texts = path.join(" :: ");
                if path.len() == 1 {
                    texts += " ::";
                }
                if follows(&texts.split(' ').collect::<Vec<_>>()) {
                    found(
                        token.line,
                        format!("{} in {library}: {advice}", path.join("::")),
                    );
                }
            }
        }
        if library != "mcp-protocol" && follows(&["Revision", "::"]) && is_compared(tokens, at) {
            found(
                token.line,
                "comparison of revisions outside mcp-protocol: use a rule of the revision"
                    .to_owned(),
            );
        }
        if library != "mcp-types"
            && let Some(text) = token.string()
            && methods.iter().any(|method| method == text)
        {
            found(
                token.line,
                format!("method name \"{text}\": use its constant in mcp_types::method"),
            );
        }
    }
}

/// Whether only `cargo test` compiles this file.
fn is_test(path: &str) -> bool {
    let inner = path.split_once("/src/");
    let in_src = inner.is_some_and(|(_, rest)| {
        rest.contains("/tests/")
            || rest.starts_with("tests/")
            || rest.ends_with("/tests.rs")
            || rest == "tests.rs"
    });
    in_src
        || path.starts_with("tests/suites/")
        || (path.starts_with("crates/") && inner.is_none() && path.contains("/tests/"))
}

/// Whether the constant of `Revision` at this token is an operand of a comparison.
fn is_compared(tokens: &[Token], at: usize) -> bool {
    let is_comparison = |token: &Token| COMPARISONS.contains(&token.text.as_str());
    let before = tokens[..at]
        .iter()
        .rev()
        .find(|token| !(token.is_word() || matches!(token.text.as_str(), "::" | "&")));
    before.is_some_and(is_comparison) || tokens.get(at + 3).is_some_and(is_comparison)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let methods = ["tools/call", "ping"].map(str::to_owned);
        let mut violations = Vec::new();
        let file = File::new(path, text);
        check(&file, &tokens::of(text).unwrap(), &methods, &mut violations);
        violations.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn pure_crates_have_no_clock_and_no_sockets() {
        let text = "use std::net::TcpStream;\nlet now = Instant::now();\nfn f(now: Instant) {}\n// Instant::now\n";
        let errors = found("crates/mcp-protocol/src/mux/a.rs", text);
        assert_eq!(errors.len(), 2);
        assert!(errors[0].starts_with("crates/mcp-protocol/src/mux/a.rs:1: std::net"));
        assert!(found("crates/mcp-client/src/a.rs", text).is_empty());
        assert_eq!(
            found("crates/mcp-types/src/a.rs", "tokio::spawn(x)").len(),
            1
        );
    }

    #[test]
    fn revisions_are_compared_in_one_crate_only() {
        for code in [
            "if revision >= Revision::V2025_06_18 {}",
            "Revision::V2025_06_18 == x",
            "assert!(x != mcp_protocol::Revision::V2024_11_05)",
            "if x < Revision::LATEST {}",
        ] {
            assert_eq!(found("crates/mcp-server/src/a.rs", code).len(), 1, "{code}");
            assert!(found("crates/mcp-protocol/src/a.rs", code).is_empty());
            assert!(found("crates/mcp-server/src/tests.rs", code).is_empty());
        }
        for code in [
            "x => Revision::V2025_06_18,",
            "Vec::<Revision>::new()",
            "fn f() -> Revision { Revision::LATEST }",
            "let x: Vec<Revision> = Revision::ALL.to_vec();",
        ] {
            assert!(
                found("crates/mcp-server/src/a.rs", code).is_empty(),
                "{code}"
            );
        }
    }

    #[test]
    fn method_names_are_constants_outside_the_types() {
        let text = "/// `tools/call`\nfn g() { f(\"tools/call\"); }\n#[cfg(test)]\nmod tests { const A: &str = \"ping\"; }\n";
        assert_eq!(
            found("crates/mcp-client/src/a.rs", text),
            [
                "crates/mcp-client/src/a.rs:2: method name \"tools/call\": use its constant in mcp_types::method"
            ]
        );
        assert!(found("crates/mcp-types/src/a.rs", text).is_empty());
        assert!(found("tests/suites/a.rs", text).is_empty());
    }

    #[test]
    fn tests_neither_sleep_nor_are_ignored() {
        let text = "tokio::time::sleep(x).await;\n#[ignore = \"slow\"]\n";
        assert_eq!(found("tests/suites/a.rs", text).len(), 2);
        let paused = "#[tokio::test(start_paused = true)]\nasync fn a() { sleep(x).await }\n";
        assert!(found("tests/suites/a.rs", paused).is_empty());
        let reason = "// sleep: the end of a process sends no event\nsleep(x).await;\n";
        assert!(found("tests/suites/a.rs", reason).is_empty());
        // Fixtures may be slow on purpose.
        assert_eq!(found("tests/src/everything/a.rs", text).len(), 1);
    }

    #[test]
    fn the_methods_are_the_generated_constants() {
        let text = "pub mod method {\n    pub const PING: &str = \"ping\";\n}\nfn f() { \"x\" }\n";
        assert_eq!(constants(&tokens::of(text).unwrap()), ["ping"]);
    }
}
