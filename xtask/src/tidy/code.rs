//! Source text told apart: code, string literals, and the lines that only tests see.

/// One line of a source file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// The code, without comments and without what is inside string literals.
    pub(super) code: String,
    /// The string literals that begin on this line, as written.
    pub(super) strings: Vec<String>,
    /// Whether it belongs to an item under `#[cfg(test)]`.
    pub(super) in_test: bool,
    /// Whether it belongs to a test with a clock that stands still.
    pub(super) is_paused: bool,
}

/// The lines of a file.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let mut scanner = Scanner {
        rest: text,
        lines: vec![Line::default()],
    };
    while scanner.step() {}
    let mut lines = scanner.lines;
    mark(
        &mut lines,
        |code| code.starts_with("#[cfg(test)]"),
        |line| line.in_test = true,
    );
    mark(
        &mut lines,
        |code| code.starts_with("#[") && code.contains("start_paused = true"),
        |line| line.is_paused = true,
    );
    lines
}

struct Scanner<'a> {
    rest: &'a str,
    lines: Vec<Line>,
}

impl Scanner<'_> {
    /// Takes one token; false at the end.
    fn step(&mut self) -> bool {
        let rest = self.rest;
        let Some(first) = rest.chars().next() else {
            return false;
        };
        if rest.starts_with("//") {
            self.skip(rest.find('\n').unwrap_or(rest.len()));
        } else if rest.starts_with("/*") {
            self.skip(block_comment(rest));
        } else if first == '"' {
            self.string(1, None);
        } else if let Some((open, close)) = raw_string(rest) {
            self.string(open, Some(&close));
        } else if first == '\'' {
            self.take(quote(rest));
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            let end = end.unwrap_or(rest.len());
            // A prefix of a string, as in b"..", is no word of its own.
            self.take(end);
        } else {
            self.take(first.len_utf8());
        }
        true
    }

    /// Moves on, keeping line breaks only.
    fn skip(&mut self, length: usize) {
        let (skipped, rest) = self.rest.split_at(length);
        for _ in skipped.matches('\n') {
            self.lines.push(Line::default());
        }
        self.rest = rest;
    }

    /// Moves on, keeping the text as code.
    fn take(&mut self, length: usize) {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        if taken == "\n" {
            self.lines.push(Line::default());
        } else if let Some(line) = self.lines.last_mut() {
            line.code.push_str(taken);
        }
    }

    /// Moves past a string literal whose content starts at `open`; a raw one says what closes it.
    fn string(&mut self, open: usize, raw: Option<&str>) {
        let content = &self.rest[open..];
        let length = match raw {
            Some(close) => content.find(close).unwrap_or(content.len()),
            None => escaped_end(content),
        };
        let close = raw.map_or(1, str::len);
        if let Some(line) = self.lines.last_mut() {
            line.code.push_str("\"\"");
            line.strings.push(content[..length].to_owned());
        }
        self.skip((open + length + close).min(self.rest.len()));
    }
}

/// The length of a comment that may hold others.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find(['/', '*']) {
        at += found;
        let pair = text.get(at..at + 2).unwrap_or_default();
        match pair {
            "/*" => depth += 1,
            "*/" => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Where a raw string's content starts, and what ends it.
fn raw_string(text: &str) -> Option<(usize, String)> {
    let after = ["r", "br", "cr"]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    after[hashes..].starts_with('"').then(|| {
        (
            text.len() - after.len() + hashes + 1,
            format!("\"{}", "#".repeat(hashes)),
        )
    })
}

/// Where the closing quote is, escapes skipped.
fn escaped_end(content: &str) -> usize {
    let mut escaped = false;
    for (at, c) in content.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at,
            _ => {}
        }
    }
    content.len()
}

/// The length of a character literal, or of the quote of a lifetime.
fn quote(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => {
            // The escaped character, then everything up to the quote.
            let Some((after, _)) = chars.nth(1) else {
                return text.len();
            };
            text[after..]
                .find('\'')
                .map_or(text.len(), |end| after + end + 1)
        }
        Some(_) => match chars.next() {
            Some((end, '\'')) => end + 1,
            _ => 1,
        },
        None => 1,
    }
}

/// Marks the item after each attribute for which `begins` holds.
fn mark(lines: &mut [Line], begins: impl Fn(&str) -> bool, set: impl Fn(&mut Line)) {
    let mut at = 0;
    while at < lines.len() {
        if begins(lines[at].code.trim_start()) {
            let end = item_end(&lines[at..]);
            lines[at..=at + end].iter_mut().for_each(&set);
            at += end;
        }
        at += 1;
    }
}

/// The index of the line that ends the item these lines begin with: its closing brace, or a semicolon before any.
fn item_end(lines: &[Line]) -> usize {
    let mut depth = 0usize;
    for (index, line) in lines.iter().enumerate() {
        for c in line.code.chars() {
            match c {
                '{' => depth += 1,
                '}' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return index;
                    }
                }
                ';' if depth == 0 => return index,
                _ => {}
            }
        }
    }
    lines.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Vec<String> {
        lines(text).into_iter().map(|line| line.code).collect()
    }

    #[test]
    fn comments_go_and_strings_are_kept_apart() {
        let found = lines("let a = \"x \\\" // y\"; // todo!()\nb /* c\n/* d */ */ e");
        assert_eq!(found[0].code, "let a = \"\"; ");
        assert_eq!(found[0].strings, ["x \\\" // y"]);
        assert_eq!(found[1].code, "b ");
        assert_eq!(found[2].code, " e");
    }

    #[test]
    fn raw_strings_end_where_they_say() {
        let found = lines("f(r#\"a \"quoted\" // b\n\"#, b\"c\", br\"d\\\");\ng");
        assert_eq!(found[0].strings, ["a \"quoted\" // b\n"]);
        assert_eq!(found[1].strings, ["c", "d\\"]);
        assert_eq!(found[2].code, "g");
    }

    #[test]
    fn lifetimes_and_characters_are_no_strings() {
        assert_eq!(
            code("fn f<'a>(x: &'a str) { g('\"', '\\'', '\\u{1F600}', 'é', \"'\") }"),
            ["fn f<'a>(x: &'a str) { g('\"', '\\'', '\\u{1F600}', 'é', \"\") }"]
        );
    }

    #[test]
    fn the_item_under_cfg_test_is_marked_and_nothing_else() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { \"}\" }\n}\nfn c() {}\n#[cfg(test)]\nmod d;\nfn e() {}\n";
        let marks: Vec<bool> = lines(text).iter().map(|line| line.in_test).collect();
        assert_eq!(
            marks,
            [
                false, true, true, true, true, false, true, true, false, false
            ]
        );
    }

    #[test]
    fn a_test_with_a_paused_clock_is_marked_to_its_end() {
        let text = "#[tokio::test(start_paused = true)]\nasync fn a() {\n    b();\n}\nfn c() {}\n";
        let marks: Vec<bool> = lines(text).iter().map(|line| line.is_paused).collect();
        assert_eq!(marks, [true, true, true, true, false, false]);
    }
}
