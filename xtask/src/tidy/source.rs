//! Rules on what the code says.

use std::path::Path;

use super::Violation;
use super::code::{self, Line};
use crate::files::{self, File};

/// Words the first three crates never use, and what to do instead.
const PURE: &[(&str, &str)] = &[
    ("std::net", "no sockets here, they belong into a transport"),
    (
        "std::process",
        "no processes here, they belong into a transport",
    ),
    ("std::fs", "no files here, take the bytes as an argument"),
    (
        "Instant::now",
        "no clock here, take the time as an argument",
    ),
    (
        "SystemTime::now",
        "no clock here, take the time as an argument",
    ),
    (
        "tokio::",
        "no runtime here, it belongs into a transport or a role",
    ),
];

const PURE_CRATES: &[&str] = &["mcp-jsonrpc", "mcp-types", "mcp-protocol"];

/// Opens the comment that says why the line below has to sleep.
const SLEEP: &str = "// sleep: ";

/// Where the generator writes the method names.
const METHODS: &str = "crates/mcp-types/src/generated/methods.rs";

/// The method names of the protocol, from the generated constants.
pub(super) fn methods(root: &Path) -> Result<Vec<String>, String> {
    let file = files::load(root, METHODS.to_owned())?;
    let methods = constants(&file.text);
    if methods.is_empty() {
        return Err(format!("{METHODS}: no method constants found"));
    }
    Ok(methods)
}

fn constants(text: &str) -> Vec<String> {
    let lines = code::lines(text);
    let constants = lines
        .into_iter()
        .filter(|line| line.code.trim_start().starts_with("pub const "));
    constants.flat_map(|line| line.strings).collect()
}

/// Checks one file.
pub(super) fn check(file: &File, methods: &[String], violations: &mut Vec<Violation>) {
    let place = Place::of(&file.path);
    let mut above = "";
    for (line, (number, text)) in code::lines(&file.text).iter().zip(file.lines()) {
        let mut found = Vec::new();
        anywhere(line, &mut found);
        if place.is_test || line.in_test {
            if !above.trim_start().starts_with(SLEEP) {
                in_tests(line, &mut found);
            }
        } else if let Some(name) = place.library {
            in_library(name, line, methods, &mut found);
        }
        violations.extend(
            found
                .into_iter()
                .map(|what| Violation::new(&file.path, number, what)),
        );
        above = text;
    }
}

/// What kind of file a path names.
struct Place<'a> {
    /// Run by `cargo test`, and nothing else.
    is_test: bool,
    /// The crate, for the sources of a crate.
    library: Option<&'a str>,
}

impl<'a> Place<'a> {
    fn of(path: &'a str) -> Self {
        let inner = path.split_once("/src/");
        let in_src = inner.is_some_and(|(_, rest)| {
            rest.contains("/tests/")
                || rest.starts_with("tests/")
                || rest.ends_with("/tests.rs")
                || rest == "tests.rs"
        });
        let beside = path.starts_with("tests/suites/")
            || (path.starts_with("crates/") && inner.is_none() && path.contains("/tests/"));
        Self {
            is_test: in_src || beside,
            library: inner.and_then(|(member, _)| member.strip_prefix("crates/")),
        }
    }
}

fn anywhere(line: &Line, found: &mut Vec<String>) {
    let code = &line.code;
    if has_word(code, "unbounded_channel") {
        found.push("an unbounded channel, give the queue a limit".to_owned());
    }
    for stub in ["todo!", "unimplemented!"] {
        if has_word(code, stub) {
            found.push(format!("{stub}, write it or return an error that says so"));
        }
    }
    if code.contains("#[ignore") {
        found.push("an ignored test, fix it or remove it".to_owned());
    }
}

fn in_tests(line: &Line, found: &mut Vec<String>) {
    if !line.is_paused && has_word(&line.code, "sleep(") {
        found.push("a sleep in a test, wait for the event, pause the clock, or say why in `// sleep: ..` above"
                .to_owned(),
        );
    }
}

fn in_library(name: &str, line: &Line, methods: &[String], found: &mut Vec<String>) {
    if PURE_CRATES.contains(&name) {
        for (word, advice) in PURE {
            if has_word(&line.code, word) {
                found.push(format!("{word} in {name}: {advice}"));
            }
        }
    }
    if name != "mcp-protocol" && compares_revisions(&line.code) {
        found.push(
            "a comparison of revisions outside mcp-protocol, ask a rule of the revision instead"
                .to_owned(),
        );
    }
    if name != "mcp-types" {
        for method in line.strings.iter().filter(|text| methods.contains(text)) {
            found.push(format!(
                "the method name \"{method}\", use its constant in mcp_types::method"
            ));
        }
    }
}

/// Whether the word stands there, not as the end of a longer one.
fn has_word(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        !code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_')
    })
}

/// Whether a `Revision` constant stands on either side of a comparison.
fn compares_revisions(code: &str) -> bool {
    code.match_indices("Revision::").any(|(at, word)| {
        let before = code[..at].trim_end();
        let after = code[at + word.len()..]
            .trim_start_matches(|c: char| c.is_alphanumeric() || c == '_')
            .trim_start();
        ends_in_comparison(before) || starts_with_comparison(after)
    })
}

fn ends_in_comparison(code: &str) -> bool {
    // The path in front of the type, if there is one.
    let code = code.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
    let code = code.trim_end();
    // A generic's brackets have no space in front of them, a comparison's sign has.
    ["==", "!=", "<=", ">=", " <", " >"]
        .iter()
        .any(|sign| code.ends_with(sign))
}

fn starts_with_comparison(code: &str) -> bool {
    ["==", "!=", "<=", ">=", "< ", "> "]
        .iter()
        .any(|sign| code.starts_with(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let methods = ["tools/call", "ping"].map(str::to_owned);
        let mut violations = Vec::new();
        check(&File::new(path, text), &methods, &mut violations);
        violations.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_first_three_crates_have_no_clock_and_no_sockets() {
        let text = "use std::net::TcpStream;\nlet now = Instant::now();\nfn f(now: Instant) {}\n// Instant::now\n";
        let found_there = found("crates/mcp-protocol/src/mux/a.rs", text);
        assert_eq!(found_there.len(), 2);
        assert!(found_there[0].starts_with("crates/mcp-protocol/src/mux/a.rs:1: std::net"));
        assert!(found("crates/mcp-client/src/a.rs", text).is_empty());
        assert!(found("crates/mcp-types/src/a.rs", "tokio::spawn(x)").len() == 1);
    }

    #[test]
    fn revisions_are_compared_in_one_crate_only() {
        for code in [
            "if revision >= Revision::V2025_06_18 {",
            "Revision::V2025_06_18 == x",
            "x != mcp_protocol::Revision::V2024_11_05",
            "if x < Revision::LATEST {",
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
        let text = "/// `tools/call`\nf(\"tools/call\");\n#[cfg(test)]\nmod tests { const A: &str = \"ping\"; }\n";
        assert_eq!(
            found("crates/mcp-client/src/a.rs", text),
            [
                "crates/mcp-client/src/a.rs:2: the method name \"tools/call\", use its constant in mcp_types::method"
            ]
        );
        assert!(found("crates/mcp-types/src/a.rs", text).is_empty());
        assert!(found("tests/suites/a.rs", text).is_empty());
    }

    #[test]
    fn tests_do_not_sleep_and_nothing_is_left_undone() {
        let text = "tokio::time::sleep(x).await;\n#[ignore = \"slow\"]\nlet (a, b) = mpsc::unbounded_channel();\ntodo!()\n";
        assert_eq!(found("tests/suites/a.rs", text).len(), 4);
        let paused = "#[tokio::test(start_paused = true)]\nasync fn a() { sleep(x).await }\n";
        assert!(found("tests/suites/a.rs", paused).is_empty());
        let reason = "// sleep: a process tells nobody that it is gone\nsleep(x).await;\n";
        assert!(found("tests/suites/a.rs", reason).is_empty());
        // Fixtures may be slow on purpose.
        assert_eq!(found("tests/src/everything/a.rs", text).len(), 3);
        assert!(found("tests/suites/a.rs", "\"todo!() #[ignore]\"; f(sleepless)").is_empty());
    }

    #[test]
    fn the_methods_are_the_generated_constants() {
        let text = "pub mod method {\n    /// See.\n    pub const PING: &str = \"ping\";\n}\nfn f() { \"x\" }\n";
        assert_eq!(constants(text), ["ping"]);
    }
}
