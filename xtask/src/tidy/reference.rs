//! The pages of `docs/reference` whose rows come from the sources: codes and statuses, error types, environment variables, messages.

use std::collections::BTreeSet;

use crate::markdown::prose;
use crate::workspace::{File, say};

const ERRORS: &str = "docs/reference/errors.md";
const ENVIRONMENT: &str = "docs/reference/environment.md";
const DIAGNOSTICS: &str = "docs/reference/diagnostics.md";
/// The file with the constants of JSON-RPC codes.
const CODES: &str = "crates/mcp-jsonrpc/src/code.rs";
/// The sources whose HTTP statuses the page has.
const STATUSES: &[&str] = &[
    "crates/mcp-transport-http/src/server/",
    "crates/mcp-transport-http/src/legacy/server",
    "crates/mcp-auth/src/server/",
    "crates/mcp-cli/src/commands/",
];
/// The folders whose TOML and JSON blocks are parsed.
const FOLDERS: &[&str] = &["docs/reference/", "docs/moving/", "docs/agents/"];
/// Maximum number of characters of the description of a skill.
const MAX_DESCRIPTION: usize = 1_024;
/// Fixed parts of a message with fewer characters are not searched.
const SHORT: usize = 4;
/// At least one fixed part of a message has this many characters.
const LONG: usize = 10;

/// Checks the pages. `api` contains the lists of public items.
pub(super) fn check(pages: &[File], rust: &[&File], api: &[File]) -> Vec<String> {
    let page = |path: &str| pages.iter().find(|page| page.path == path);
    let mut violations = Vec::new();
    if let Some(page) = page(ERRORS) {
        violations.extend(codes(page, rust));
        violations.extend(statuses(page, rust));
        violations.extend(variants(page, api));
    }
    if let Some(page) = page(ENVIRONMENT) {
        violations.extend(variables(page, rust));
    }
    if let Some(page) = page(DIAGNOSTICS) {
        violations.extend(messages(page, rust));
    }
    let is_checked = |page: &&File| FOLDERS.iter().any(|folder| page.path.starts_with(folder));
    for page in pages.iter().filter(is_checked) {
        violations.extend(blocks(page));
        violations.extend(front_matter(page));
    }
    violations
}

/// Each TOML and JSON block can be parsed.
fn blocks(page: &File) -> Vec<String> {
    let mut violations = Vec::new();
    let mut lines = (1..).zip(page.text.lines());
    while let Some((line, fence)) = lines.next() {
        let Some(language) = fence.strip_prefix("```") else {
            continue;
        };
        let block = lines.by_ref().map(|(_, text)| text);
        let block: Vec<&str> = block.take_while(|text| *text != "```").collect();
        let text = block.join("\n");
        let error = match language {
            "toml" => toml::from_str::<toml::Table>(&text)
                .err()
                .map(|e| e.to_string()),
            "json" => serde_json::from_str::<serde_json::Value>(&text)
                .err()
                .map(|error| error.to_string()),
            _ => None,
        };
        violations.extend(error.map(|error| format!("{}:{line}: {error}", page.path)));
    }
    violations
}

/// A skill begins with its name, which is that of its folder, and its description (Agent Skills, specification).
fn front_matter(page: &File) -> Option<String> {
    let folder = page.path.strip_suffix("/SKILL.md")?;
    let name = folder.rsplit('/').next()?;
    let rest = page
        .text
        .strip_prefix(&format!("---\nname: {name}\ndescription: "));
    let description = rest.and_then(|rest| rest.split('\n').next());
    let is_valid = description.is_some_and(|text| (1..=MAX_DESCRIPTION).contains(&text.len()));
    (!is_valid).then(|| {
        format!(
            "{}:1: the front matter needs the name {name:?} and a description of at most {MAX_DESCRIPTION} characters",
            page.path
        )
    })
}

/// The part of a file before its tests.
fn code(file: &File) -> &str {
    let end = file
        .text
        .find("#[cfg(test)]\nmod tests {")
        .unwrap_or(file.text.len());
    &file.text[..end]
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// Each constant of a code has a row with its number.
fn codes(page: &File, rust: &[&File]) -> Vec<String> {
    let Some(file) = rust.iter().find(|file| file.path == CODES) else {
        return Vec::new();
    };
    let constants = code(file).lines().filter_map(|line| {
        let (name, value) = line
            .trim()
            .strip_prefix("pub const ")?
            .split_once(": Self = Self(")?;
        Some((name, value.strip_suffix(");")?))
    });
    let missing = constants.filter(|(name, value)| {
        let start = format!("| {value} | `{name}` |");
        !page.text.lines().any(|line| line.starts_with(&start))
    });
    missing
        .map(|(name, value)| format!("{ERRORS}:1: no row for the code {value}, {name}"))
        .collect()
}

/// Each status of a response has a row.
fn statuses(page: &File, rust: &[&File]) -> Vec<String> {
    let rows = page.text.to_lowercase();
    let mut names = BTreeSet::new();
    for file in rust {
        if is_test(&file.path) || !STATUSES.iter().any(|start| file.path.starts_with(start)) {
            continue;
        }
        for rest in code(file).split("StatusCode::").skip(1) {
            let name = rest
                .split(|c: char| !(c.is_ascii_uppercase() || c == '_'))
                .next();
            names.extend(name.filter(|name| name.len() > 1));
        }
    }
    let phrase = |name: &str| format!(" {} |", name.to_lowercase().replace('_', " "));
    let missing = names.iter().filter(|name| !rows.contains(&phrase(name)));
    missing
        .map(|name| format!("{ERRORS}:1: no row for the status {name}"))
        .collect()
}

/// Each public enum of errors is on the page, with its variants behind its path: in its section, or in its line.
fn variants(page: &File, api: &[File]) -> Vec<String> {
    let mut violations = Vec::new();
    for line in api.iter().flat_map(|file| file.text.lines()) {
        let Some((_, path)) = line.split_once("pub enum ") else {
            continue;
        };
        if !(path.ends_with("Error") || path.ends_with("ErrorKind")) {
            continue;
        }
        let Some(section) = section_of(&page.text, path) else {
            violations.push(format!("{ERRORS}:1: no section for {path}"));
            continue;
        };
        let variants = api.iter().flat_map(|file| file.text.lines());
        let variants = variants.filter_map(|line| variant(line, path));
        let missing = variants.filter(|variant| !section.contains(&format!("`{variant}`")));
        violations.extend(missing.map(|variant| {
            format!("{ERRORS}:1: the section for {path} does not have the variant {variant}")
        }));
    }
    violations
}

/// The variant of the enum at `path` that this line of a list of public items contains.
fn variant<'a>(line: &'a str, path: &str) -> Option<&'a str> {
    let line = line.strip_prefix("#[non_exhaustive] ").unwrap_or(line);
    let name = line
        .strip_prefix("pub ")?
        .strip_prefix(path)?
        .strip_prefix("::")?;
    let end = name
        .find(|c: char| !c.is_alphanumeric())
        .unwrap_or(name.len());
    let is_field = name[end..].starts_with("::");
    (!is_field && name.starts_with(char::is_uppercase)).then_some(&name[..end])
}

/// The text about a type: the section whose heading has its path, or a row of a table.
fn section_of<'a>(page: &'a str, path: &str) -> Option<&'a str> {
    let at = page.find(&format!("`{path}`"))?;
    let start = page[..at].rfind('\n').map_or(0, |end| end + 1);
    let text = &page[start..];
    let end = match text.starts_with('#') {
        true => text.find("\n#"),
        false => text.find('\n'),
    };
    Some(&text[..end.unwrap_or(text.len())])
}

/// Each environment variable that the sources read is on the page.
fn variables(page: &File, rust: &[&File]) -> Vec<String> {
    let mut names = BTreeSet::new();
    for file in rust {
        let is_source = file.path.contains("/src/") && !file.path.starts_with("tests/");
        if !is_source || is_test(&file.path) || file.path.starts_with("docs/") {
            continue;
        }
        names.extend(variables_in(code(file)));
    }
    let missing = names.iter().filter(|name| !page.text.contains(**name));
    missing
        .map(|name| format!("{ENVIRONMENT}:1: no row for the variable {name}"))
        .collect()
}

/// Finds texts that are names of variables: arguments of functions that read one, and texts with a prefix of this project.
fn variables_in(code: &str) -> impl Iterator<Item = &str> {
    const READERS: &[&str] = &["var(", "var_os(", "variable(", "set(", "Variable("];
    const PREFIXES: &[&str] = &["MCP_", "XTASK_"];
    let lines = code.lines();
    let lines = lines.filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| {
        let starts = line.match_indices('"').map(|(at, _)| at);
        starts.filter_map(move |at| {
            let name = line[at + 1..].split('"').next()?;
            let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
            let is_read = READERS.iter().any(|reader| line[..at].ends_with(reader));
            let is_ours = PREFIXES.iter().any(|prefix| name.starts_with(prefix));
            (name.len() > 1 && name.chars().all(is_name) && (is_read || is_ours)).then_some(name)
        })
    })
}

/// The fixed parts of each message are in the sources. A message is the code in the first cell of a row; `{..}` is a variable part.
fn messages(page: &File, rust: &[&File]) -> Vec<String> {
    let sources = rust.iter().filter(|file| file.path.starts_with("crates/"));
    let sources: String = sources.map(|file| joined(code(file))).collect();
    let (mut violations, mut count) = (Vec::new(), 0);
    for (line, text) in prose(&page.text) {
        let Some(message) = message(text) else {
            continue;
        };
        count += 1;
        let parts = fixed_parts(message);
        let is_long = parts.iter().any(|part| part.len() >= LONG);
        let missing = parts.iter().filter(|part| part.len() >= SHORT);
        let missing: Vec<&str> = missing
            .copied()
            .filter(|part| !sources.contains(part))
            .collect();
        if !is_long {
            violations.push(format!(
                "{DIAGNOSTICS}:{line}: the message has no long fixed part"
            ));
        }
        for part in missing {
            violations.push(format!(
                "{DIAGNOSTICS}:{line}: no source has the text {part:?}"
            ));
        }
    }
    say(&format!("messages in {DIAGNOSTICS}: {count}"));
    violations
}

/// The text of a file with its texts on single lines, without escapes.
fn joined(code: &str) -> String {
    let mut parts = code.split("\\\n");
    let mut text = parts.next().unwrap_or_default().to_owned();
    parts.for_each(|part| text += part.trim_start());
    text.replace("\\\"", "\"")
}

/// The message of a row: the code in its first cell.
fn message(row: &str) -> Option<&str> {
    let cell = row.strip_prefix("| `")?.split(" | ").next()?;
    let cell = cell.strip_suffix('`')?;
    // A message with backticks is between two of them.
    let inner = cell
        .strip_prefix('`')
        .and_then(|cell| cell.strip_suffix('`'));
    Some(inner.map_or(cell, str::trim))
}

fn fixed_parts(message: &str) -> Vec<&str> {
    let parts = message.split('{').enumerate();
    let parts = parts.map(|(at, part)| match at {
        0 => part,
        _ => part.split_once('}').map_or(part, |(_, rest)| rest),
    });
    parts
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(page: &str, text: &str, source: (&str, &str), api: &str) -> Vec<String> {
        let source = File::new(source.0, source.1);
        super::check(
            &[File::new(page, text)],
            &[&source],
            &[File::new("docs/api/a.txt", api)],
        )
    }

    #[test]
    fn each_code_and_status_has_a_row() {
        let source = "pub const A: Self = Self(-1);\npub const B: Self = Self(-2);\n";
        let found = check(ERRORS, "| -1 | `A` |\n| -2 | `C` |", (CODES, source), "");
        assert_eq!(found, [format!("{ERRORS}:1: no row for the code -2, B")]);
        let source =
            "StatusCode::NOT_FOUND, StatusCode::OK\n#[cfg(test)]\nmod tests {}\nStatusCode::GONE";
        let path = "crates/mcp-auth/src/server/a.rs";
        let found = check(ERRORS, "| 404 Not Found | when |", (path, source), "");
        assert_eq!(found, [format!("{ERRORS}:1: no row for the status OK")]);
    }

    #[test]
    fn each_variant_is_in_the_section_of_its_type() {
        let api = "#[non_exhaustive] pub enum a::Error\npub a::Error::Full(u8)\n\
            #[non_exhaustive] pub a::Error::Lost\npub a::Error::Lost::why: u8\npub fn a::Error::kind()\n\
            pub enum b::ErrorKind\npub b::ErrorKind::Odd\npub enum c::Error\npub enum Kind";
        let page = "## `a::Error`\n\n`Full`\n\n## More\n`Lost`\n| `b::ErrorKind` | `Odd` |\n";
        let found = check(ERRORS, page, ("x.rs", ""), api);
        let expected = [
            "the section for a::Error does not have the variant Lost",
            "no section for c::Error",
        ];
        assert_eq!(found, expected.map(|text| format!("{ERRORS}:1: {text}")));
    }

    #[test]
    fn each_variable_is_on_the_page() {
        let source = "const A: &str = \"MCP_A\";\nvar(\"HOME\"); other(\"GET\");\n// var(\"NO\")\n#[cfg(test)]\nmod tests {}\nvar(\"B\")";
        let path = "crates/a/src/lib.rs";
        assert!(check(ENVIRONMENT, "`HOME`, `MCP_A`", (path, source), "").is_empty());
        let found = check(ENVIRONMENT, "`HOME`", (path, source), "");
        assert_eq!(
            found,
            [format!("{ENVIRONMENT}:1: no row for the variable MCP_A")]
        );
    }

    #[test]
    fn blocks_and_front_matter_are_valid() {
        let page = |text: &str| {
            let page = File::new("docs/agents/write-it/SKILL.md", text);
            super::check(&[page], &[], &[])
        };
        let good = "---\nname: write-it\ndescription: Writes.\n---\n```toml\na = 1\n```\n```json\n{}\n```\n```rust\n{\n```\n";
        assert_eq!(page(good), [""; 0]);
        let bad = good.replace("a = 1", "a =").replace("{}", "{");
        let found = page(&bad.replace("name: write-it", "name: other"));
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(
            found[1].starts_with("docs/agents/write-it/SKILL.md:8: EOF"),
            "{found:?}"
        );
        assert!(
            found[2].contains("needs the name \"write-it\""),
            "{found:?}"
        );
    }

    #[test]
    fn each_message_is_in_a_source() {
        let source =
            "f(\"the tool {name:?} has a \\\n     \\\"bad\\\" name\"); g(\"`{T}` cannot be used\")";
        let path = "crates/a/src/lib.rs";
        let page = "| Message | Cause |\n| `the tool {name} has a \"bad\" name` | x |\n| `` `{T}` cannot be used `` | x |\n";
        assert_eq!(check(DIAGNOSTICS, page, (path, source), ""), [""; 0]);
        let found = check(
            DIAGNOSTICS,
            "| `the tool {a} is missing` | x |\n| `bad` | y |",
            (path, source),
            "",
        );
        let expected = [
            "1: no source has the text \"is missing\"",
            "2: the message has no long fixed part",
            "2: no source has the text \"bad\"",
        ];
        assert_eq!(found[0], format!("{DIAGNOSTICS}:{}", expected[0]));
        assert_eq!(found[1], format!("{DIAGNOSTICS}:{}", expected[1]));
    }
}
