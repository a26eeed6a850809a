//! The texts of the program: errors of the libraries name their settings for authors of programs, not for users.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;

use mcp_host::without_setting_names;

/// What is in front of a string that is not a text: attributes, and targets of log events.
const NO_TEXT: [&str; 5] = ["label =", "message =", "note =", "with =", "target:"];

fn is_text(before: &str) -> bool {
    let line = before.lines().last().unwrap_or_default().trim();
    let is_attribute =
        line.ends_with("skip_serializing_if =") || NO_TEXT.iter().any(|part| line.ends_with(part));
    !is_attribute || line.contains("let ")
}

/// Returns the string literals of Rust code without comments, test modules and attributes.
fn literals(code: &str) -> Vec<String> {
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let (mut texts, mut rest) = (Vec::new(), code);
    while let Some(start) = rest.find(['"', '\'', '/', '#']) {
        let at = &rest[start..];
        let length = if at.starts_with("//") {
            at.find('\n').unwrap_or(at.len())
        } else if at.starts_with('#') && rest[..start].ends_with('r') {
            let hashes = &at[..at.find(|c| c != '#').unwrap()];
            let end = format!("\"{hashes}");
            at.find(&end).map_or(at.len(), |end| end + hashes.len() + 1)
        } else if at.starts_with("'\\") {
            3 + at[3..].find('\'').unwrap() + 1
        } else if at.starts_with('\'') {
            let is_char = at.chars().nth(2) == Some('\'');
            if is_char {
                at.char_indices().nth(3).map_or(at.len(), |(end, _)| end)
            } else {
                1
            }
        } else if let Some(text) = at.strip_prefix('"') {
            let is_raw = rest[..start].ends_with('r');
            let end = end_of_string(text, is_raw).unwrap_or_else(|| panic!("no end: {at}"));
            if is_text(&rest[..start]) {
                texts.push(text[..end].to_owned());
            }
            end + 2
        } else {
            1
        };
        rest = &at[length.min(at.len())..];
    }
    texts
}

/// Returns the length of a string until the quote at its end.
fn end_of_string(text: &str, is_raw: bool) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped && !is_raw;
        is_end
    })
}

/// Returns whether a text has a name such as `Timeouts::idle`.
fn names_an_item(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && !"_:".contains(c));
    let mut paths = words.filter_map(|word| word.split_once("::"));
    paths.any(|(owner, name)| {
        let is_type = owner.starts_with(|c: char| c.is_ascii_uppercase());
        // Without a space, it is the target of log events.
        let is_path = owner.starts_with("mcp_") && text.contains(' ');
        (is_type || is_path) && !name.is_empty()
    })
}

fn check(folder: &Path, unknown: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && !["tests", "testing", "generated"].contains(&name) {
            check(&path, unknown);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            let texts = literals(&fs::read_to_string(&path).unwrap());
            let plain = texts.iter().map(|text| without_setting_names(text));
            let left = plain.filter(|text| names_an_item(text));
            unknown.extend(left.map(|text| format!("{}: {text}", path.display())));
        }
    }
}

#[test]
fn the_scanner_finds_user_visible_texts_in_code() {
    let code =
        "f(\"a \\\" b\"); // \"no\"\n['\"', '\\'', b'x'] r#\"r\"# #[serde(with = \"c\")] \"d\"";
    assert_eq!(literals(code), ["a \\\" b", "d"]);
    assert!(names_an_item("the limit of Unknown::with_x"));
    assert!(!names_an_item("at [::1], a::b"));
}

#[test]
fn no_text_of_the_program_names_a_rust_item_of_the_libraries() {
    let mut unknown = Vec::new();
    for name in [
        "auth",
        "cli",
        "client",
        "gateway",
        "host",
        "jsonrpc",
        "protocol",
        "schema",
        "transport-http",
        "transport-stdio",
        "types",
    ] {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        check(&crates.join(format!("mcp-{name}/src")), &mut unknown);
    }
    assert!(
        unknown.is_empty(),
        "add the types to TYPES in mcp-host/src/setting_names.rs, or use plain words:\n{}",
        unknown.join("\n")
    );
}
