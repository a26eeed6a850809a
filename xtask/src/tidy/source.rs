//! Rules on the tokens of a source file.

use std::path::Path;

use super::dependencies::RULES;
use super::syntax::{Source, Token, is_test};
use crate::workspace::{self, Result};

/// Tokens that the pure crates may not use, and the alternative.
const IMPURE: &[(&str, &str)] = &[
    ("std :: net", "sockets belong in a transport"),
    ("std :: process", "processes belong in a transport"),
    ("std :: fs", "take the bytes as an argument"),
    ("Instant :: now", "take the time as an argument"),
    ("SystemTime :: now", "take the time as an argument"),
    ("tokio ::", "the runtime belongs in a transport or a role"),
];

/// Opens the comment that justifies a sleep on the line below it.
const SLEEP: &str = "// sleep: ";

/// The generated constants of the method names.
const METHODS: &str = "crates/mcp-types/src/generated/methods.rs";

const COMPARISONS: &[&str] = &["==", "!=", "<=", ">=", "<", ">"];

/// The page that says of each unexpected optimisation what it saves, and when to remove it.
pub(super) const FENCES: &str = "docs/adr/0056-fenced-optimisations.md";

/// The optimisations that need a row of [`FENCES`].
const FENCED: &[&str] = &["inline ( always )", "thread_local !"];

/// Finds optimisations in files that the page `fences` does not name.
pub(super) fn fenced(Source { file, tokens }: &Source, fences: &str) -> Vec<String> {
    let path = file.path.strip_prefix("crates/");
    let is_library = path.is_some_and(|path| path.contains("/src/"));
    let Some(path) = path.filter(|path| is_library && !fences.contains(&format!("`{path}`")))
    else {
        return Vec::new();
    };
    let found = tokens.iter().enumerate().filter_map(|(at, token)| {
        let texts = FENCED.iter().find(|texts| follows(&tokens[at..], texts))?;
        let (what, line) = (texts.replace(' ', ""), token.line);
        Some(format!(
            "crates/{path}:{line}: {what} in a file without a row in {FENCES}: add a row with the figure, or remove it"
        ))
    });
    found.collect()
}

/// The method names of the protocol, from the generated constants `const NAME: &str = "value";`.
pub(super) fn methods(root: &Path) -> Result<Vec<String>> {
    let source = Source::parse(workspace::load(root, METHODS)?)?;
    let constants = source.tokens.windows(3);
    let constants = constants.filter(|texts| follows(texts, "str ="));
    let methods = constants.filter_map(|texts| Some(texts[2].string()?.to_owned()));
    let methods: Vec<String> = methods.collect();
    if methods.is_empty() {
        return Err(format!("{METHODS} has no method constants"));
    }
    Ok(methods)
}

pub(super) fn check(source: &Source, methods: &[String]) -> Vec<String> {
    let Source { file, tokens, .. } = source;
    let lines: Vec<&str> = file.text.lines().collect();
    let is_justified = |line: usize| {
        let above = line.checked_sub(2).and_then(|above| lines.get(above));
        above.is_some_and(|above| above.trim_start().starts_with(SLEEP))
    };
    let is_test = is_test(&file.path);
    let inner = file.path.strip_prefix("crates/");
    let library = inner.and_then(|path| path.split_once("/src/"));
    let mut violations = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let problem = if follows(&tokens[at..], "# [ ignore") {
            Some("ignored test: fix it or remove it".to_owned())
        } else if is_test || token.marks.in_test {
            let is_sleep = follows(&tokens[at..], "sleep (") && !token.marks.is_paused;
            (is_sleep && !is_justified(token.line)).then(|| {
                format!("sleep in a test: wait for the event, pause the clock, or give the reason in `{SLEEP}...` above")
            })
        } else {
            library.and_then(|(library, _)| in_library(library, tokens, at, methods))
        };
        let violation = |problem| format!("{}:{}: {problem}", file.path, token.line);
        violations.extend(problem.map(violation));
    }
    violations
}

/// What is wrong with the token `at` outside of tests.
fn in_library(library: &str, tokens: &[Token], at: usize, methods: &[String]) -> Option<String> {
    let here = &tokens[at..];
    let impure = IMPURE.iter().find(|(path, _)| follows(here, path));
    if let Some((path, advice)) = impure.filter(|_| RULES.pure.iter().any(|pure| pure == library)) {
        let path = path.replace(' ', "");
        return Some(format!("{path} in {library}: {advice}"));
    }
    if library != "mcp-protocol" && follows(here, "Revision ::") && is_compared(tokens, at) {
        let problem = "comparison of revisions outside mcp-protocol: use a rule of the revision";
        return Some(problem.to_owned());
    }
    let method = here[0].string().filter(|_| library != "mcp-types")?;
    let is_method = methods.iter().any(|known| known == method);
    is_method.then(|| format!("method name \"{method}\": use its constant in mcp_types::method"))
}

/// Whether the texts of the next tokens are these, separated by spaces.
fn follows(tokens: &[Token], texts: &str) -> bool {
    let mut tokens = tokens.iter();
    let is_next = |text| tokens.next().is_some_and(|token| token.text == text);
    texts.split(' ').all(is_next)
}

/// Whether the constant of `Revision` at this token is an operand of a comparison.
fn is_compared(tokens: &[Token], at: usize) -> bool {
    let is_comparison = |token: &Token| COMPARISONS.contains(&token.text.as_str());
    let is_operand = |token: &&Token| token.is_word() || matches!(&*token.text, "::" | "&");
    let before = tokens[..at].iter().rev().find(|token| !is_operand(token));
    before.is_some_and(is_comparison) || tokens.get(at + 3).is_some_and(is_comparison)
}
