//! `cargo xtask readmes`: a README for each crate, from the documentation of its root module, which package registries do not show.

use std::fmt::Write as _;

use crate::workspace::{self, File, Files, Result, root, say};

/// Runs the command: writes the pages, or compares them.
pub(crate) fn run(check: bool) -> Result {
    let is_wanted = |path: &str| {
        let place = path.splitn(3, '/').nth(2);
        matches!(place, Some("src/lib.rs" | "src/main.rs" | "README.md"))
    };
    let (present, roots): (Vec<_>, Vec<_>) = workspace::read(root(), &["crates"], is_wanted)?
        .into_iter()
        .partition(|file| file.path.ends_with(".md"));
    let pages: Files = roots.iter().filter_map(page).collect();
    let problem = "out of date, run `cargo xtask readmes` and commit them:";
    workspace::apply(root(), &pages, present, check, problem)?;
    say(&format!("{} pages", pages.len()));
    Ok(())
}

/// Returns the path and the text of the README of a crate; `None` for a file outside of a crate's `src`.
fn page(file: &File) -> Option<(String, String)> {
    let (folder, _) = file.path.split_once("/src/")?;
    let name = folder.strip_prefix("crates/")?;
    let lines = file.text.lines().map_while(|line| line.strip_prefix("//!"));
    let docs: Vec<_> = lines
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    let mut text = format!("# {name}\n\n{}\n", readable(&docs.join("\n")));
    text += "This crate is one of several; the [README of the workspace](../../README.md) says what the others are for. Licensed under MIT or Apache-2.0.\n";
    Some((format!("{folder}/README.md"), text))
}

/// Converts rustdoc to plain Markdown: removes the hidden lines of code blocks and the links to items.
fn readable(docs: &str) -> String {
    let mut out = String::new();
    // Text and code blocks alternate.
    for (number, part) in docs.split("```").enumerate() {
        match number % 2 {
            0 => out += &prose(part, docs),
            _ => {
                let (info, program) = part.split_once('\n').unwrap_or((part, ""));
                let language = match info.split(',').next() {
                    Some("" | "no_run" | "ignore" | "compile_fail") | None => "rust",
                    Some(language) => language,
                };
                let lines = program.lines();
                let shown = lines
                    .filter(|line| language != "rust" || !line.starts_with("# ") && *line != "#");
                let _ = writeln!(out, "```{language}");
                shown.for_each(|line| _ = writeln!(out, "{line}"));
                out += "```";
            }
        }
    }
    let mut out = out.trim_end().to_owned();
    out.push('\n');
    out
}

/// Converts the text between two code blocks: moves headings one level down, and replaces links to items by their texts.
fn prose(part: &str, docs: &str) -> String {
    let mut out = String::new();
    let mut rest = part;
    while let Some(at) = rest.find(['`', '[', '#']) {
        let (before, found) = rest.split_at(at);
        out += before;
        let is_heading = found.starts_with('#') && (out.is_empty() || out.ends_with('\n'));
        let length = match found.as_bytes()[0] {
            b'`' => 2 + found[1..].find('`').unwrap_or(found.len() - 2),
            b'[' => {
                let (shown, length) = link(found, docs);
                out += shown;
                rest = &found[length..];
                continue;
            }
            _ => {
                out += if is_heading { "#" } else { "" };
                1
            }
        };
        out += &found[..length];
        rest = &found[length..];
    }
    out + rest
}

/// Returns the text that replaces the link at the beginning of `found`, and the length of the link. `docs` has the addresses of reference links.
fn link<'a>(found: &'a str, docs: &str) -> (&'a str, usize) {
    let Some(end) = closing(found) else {
        return ("[", 1);
    };
    let (label, after) = (&found[1..end], &found[end + 1..]);
    let length = end + 1;
    let has_address = |name: &str| docs.contains(&format!("[{name}]: http"));
    if after.starts_with(": http") {
        return (&found[..length], length);
    }
    let target = match after.as_bytes().first() {
        Some(b'(') => after.find(')'),
        Some(b'[') => after.find(']'),
        _ => None,
    };
    match target {
        Some(close) => {
            let (whole, target) = (length + close + 1, &after[1..close]);
            let is_web = target.starts_with("http") || has_address(target);
            (if is_web { &found[..whole] } else { label }, whole)
        }
        None if label.starts_with('`') => (label, length),
        None => (&found[..length], length),
    }
}

/// Returns the position of the `]` that closes the `[` at the beginning of `found`. Brackets in code count, too.
fn closing(found: &str) -> Option<usize> {
    let mut depth = 0;
    found.char_indices().find_map(|(at, char)| {
        match char {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_no_hidden_lines_and_no_links_to_items() {
        let docs = "The [`parse`](crate::parse) of [#1](https://example.org) and [`Limits`], `a[0]`: see [spec] and [the\nrest][spec].

# Features

```no_run
#[tool]
# fn hidden() {}
#
let a = [1]; // # shown
```

```toml
# shown
```

[spec]: https://example.org/a";
        let expected = "The `parse` of [#1](https://example.org) and `Limits`, `a[0]`: see [spec] and [the\nrest][spec].

## Features

```rust
#[tool]
let a = [1]; // # shown
```

```toml
# shown
```

[spec]: https://example.org/a
";
        assert_eq!(readable(docs), expected);
        let path = "crates/mcp-a/src/lib.rs";
        let (path, text) = page(&File::new(path, "//! A.\n//!\n//! B.\n\nuse b;\n")).unwrap();
        assert_eq!(path, "crates/mcp-a/README.md");
        assert!(
            text.starts_with("# mcp-a\n\nA.\n\nB.\n\nThis crate"),
            "{text}"
        );
    }
}
