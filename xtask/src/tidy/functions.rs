//! Lengths of functions.

use super::syntax::{Source, Token};
use crate::workspace::say;

/// Numbers of lines, and how many functions may have more. These limits may only shrink.
const LIMITS: [(usize, usize); 2] = [(60, 8), (80, 0)];

/// A function with a body.
struct Function<'a> {
    name: &'a str,
    line: usize,
    length: usize,
}

/// Checks the functions of the crates and of this program.
pub(super) fn check(sources: &[Source]) -> Vec<String> {
    let is_checked = |path: &str| path.contains("/src/") && !path.starts_with("tests/");
    let sources = sources.iter().filter(|it| is_checked(&it.file.path));
    let all: Vec<_> = sources
        .flat_map(|source| functions(&source.tokens).map(|it| (&source.file.path, it)))
        .collect();
    let violation = |(lines, limit)| {
        let long = all.iter().filter(|(_, function)| function.length > lines);
        let long = long.map(|(path, Function { name, line, length })| {
            format!("{path}:{line}: {name} has {length}")
        });
        let long = Vec::from_iter(long);
        let count = long.len();
        say(&format!(
            "functions of more than {lines} lines: {count}, limit {limit}"
        ));
        (count > limit).then(|| {
            format!(
                "crates:1: {count} functions have more than {lines} lines, limit {limit}: give the steps of some of them names\n  {}",
                long.join("\n  ")
            )
        })
    };
    LIMITS.into_iter().filter_map(violation).collect()
}

/// Finds the functions, those in macros included.
fn functions(tokens: &[Token]) -> impl Iterator<Item = Function<'_>> {
    let starts = tokens.windows(2).enumerate();
    starts.filter_map(|(start, pair)| {
        let [keyword, name] = pair else { return None };
        if keyword.text != "fn" || !name.is_word() {
            return None;
        }
        let body = &tokens[start..];
        let mut brackets = 0_usize;
        let open = body.iter().position(|token| {
            match &*token.text {
                "(" | "[" => brackets += 1,
                ")" | "]" => brackets -= 1,
                _ => {}
            }
            brackets == 0 && (token.text == "{" || token.text.ends_with(';'))
        })?;
        let mut depth = 0_usize;
        let end = body[open..].iter().find(|token| {
            match &*token.text {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            depth == 0
        })?;
        Some(Function {
            name: &name.text,
            line: keyword.line,
            length: end.line + 1 - keyword.line,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::File;

    #[test]
    fn the_number_of_long_functions_is_limited() {
        for (lines, limit) in LIMITS {
            let check = |lines: usize, count| {
                let text = format!("fn f() {{{}}}\n", "\n".repeat(lines - 1)).repeat(count);
                let source = Source::parse(File::new("crates/a/src/a.rs", &text));
                check(&[source.unwrap()])
            };
            assert!(check(lines, limit + 1).len() < check(lines + 1, limit + 1).len());
            let violations = check(lines + 1, limit + 1);
            let violation = violations.last().unwrap();
            let count = limit + 1;
            let expected = format!("crates:1: {count} functions have more than {lines} lines");
            assert!(violation.starts_with(&expected), "{violation}");
            let expected = format!("crates/a/src/a.rs:1: f has {}", lines + 1);
            assert!(violation.contains(&expected), "{violation}");
        }
    }

    #[test]
    fn a_function_ends_with_its_body() {
        let text = "trait A { fn a(&self) -> A<B>;\n fn b<T>() where T: X<[u8; 2]>,\n { if x {\n } }\n}\n#[test]\nfn c() {}";
        let source = Source::parse(File::new("a.rs", text)).unwrap();
        let found = functions(&source.tokens).map(|it| (it.name.to_owned(), it.line, it.length));
        let expected = [("a", 1, 1), ("b", 2, 3), ("c", 7, 1)];
        assert!(found.eq(expected.map(|(name, line, length)| (name.to_owned(), line, length))));
    }
}
