//! Rust files: the tokens without comments, with line numbers, and marked where only tests see them.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

use crate::workspace::{At as _, File, Result};

pub(super) struct Source {
    pub(super) file: File,
    pub(super) tokens: Vec<Token>,
}

impl Source {
    pub(super) fn parse(file: File) -> Result<Self> {
        let code: TokenStream = file.text.parse().at(&file.path)?;
        let mut tokens = Vec::new();
        append(code, Marks::default(), &mut tokens);
        Ok(Self { file, tokens })
    }
}

/// Whether only tests compile this file.
pub(super) fn is_test(path: &str) -> bool {
    let inner = path.strip_prefix("tests/").unwrap_or(path);
    inner.starts_with("suites/") || inner.contains("/tests/") || inner.ends_with("/tests.rs")
}

/// One token. Joint punctuation, such as `::` or `==`, is one token.
pub(super) struct Token {
    /// Its text; a string literal keeps its quotes.
    pub(super) text: String,
    pub(super) line: usize,
    pub(super) marks: Marks,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Marks {
    /// Whether the token belongs to an item under `#[cfg(test)]`.
    pub(super) in_test: bool,
    /// Whether the token belongs to a test with a paused clock.
    pub(super) is_paused: bool,
}

impl Token {
    /// The content of a plain or raw string literal, as written.
    pub(super) fn string(&self) -> Option<&str> {
        let raw = self.text.strip_prefix('r').map(|raw| raw.trim_matches('#'));
        raw.unwrap_or(&self.text)
            .strip_prefix('"')?
            .strip_suffix('"')
    }

    /// Whether it is a name or a keyword.
    pub(super) fn is_word(&self) -> bool {
        self.text
            .starts_with(|c: char| c.is_alphabetic() || c == '_')
            && self.text.chars().all(|c| c.is_alphanumeric() || c == '_')
    }
}

fn append(code: TokenStream, outer: Marks, tokens: &mut Vec<Token>) {
    let mut marks = outer;
    let mut is_joint = false;
    let mut is_attribute = false;
    for tree in code {
        let line = tree.span().start().line;
        let token = |text, line| Token { text, line, marks };
        let was_joint = std::mem::take(&mut is_joint);
        let was_attribute = std::mem::take(&mut is_attribute);
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                let end = group.span_close().start().line;
                tokens.push(token(open.to_owned(), line));
                append(group.stream(), marks, tokens);
                tokens.push(token(close.to_owned(), end));
                if was_attribute {
                    let text = group.stream().to_string();
                    marks.in_test |= matches!(&*text, "cfg (test)" | "cfg(test)");
                    marks.is_paused |= text.contains("start_paused = true");
                }
                // The marks of an attribute end with the body of its item.
                if group.delimiter() == Delimiter::Brace {
                    marks = outer;
                }
            }
            TokenTree::Punct(punct) => {
                is_attribute = punct.as_char() == '#' || (was_attribute && punct.as_char() == '!');
                is_joint = punct.spacing() == Spacing::Joint;
                match tokens.last_mut() {
                    Some(last) if was_joint => last.text.push(punct.as_char()),
                    _ => tokens.push(token(punct.to_string(), line)),
                }
                if punct.as_char() == ';' {
                    marks = outer;
                }
            }
            other => tokens.push(token(other.to_string(), line)),
        }
    }
}
