//! The tokens of a Rust source file: without comments, with line numbers, and marked where only tests see them.

use std::str::FromStr as _;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// One token. Joint punctuation, such as `::` or `==`, is one token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// Its text; a string literal keeps its quotes.
    pub(super) text: String,
    pub(super) line: usize,
    /// Whether it belongs to an item under `#[cfg(test)]`.
    pub(super) in_test: bool,
    /// Whether it belongs to a test with a paused clock.
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

/// The tokens of a file.
pub(super) fn of(text: &str) -> Result<Vec<Token>, String> {
    let stream = TokenStream::from_str(text).map_err(|error| format!("no Rust: {error}"))?;
    let mut tokens = Vec::new();
    flatten(stream, Marks::default(), &mut tokens);
    Ok(tokens)
}

#[derive(Clone, Copy, Default)]
struct Marks {
    in_test: bool,
    is_paused: bool,
}

impl Marks {
    fn token(self, text: String, line: usize) -> Token {
        Token {
            text,
            line,
            in_test: self.in_test,
            is_paused: self.is_paused,
        }
    }
}

fn flatten(stream: TokenStream, outer: Marks, tokens: &mut Vec<Token>) {
    let mut marks = outer;
    let mut is_joint = false;
    let mut is_attribute = false;
    for tree in stream {
        let line = tree.span().start().line;
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
                if was_attribute {
                    let text = group.stream().to_string();
                    marks.in_test |= text == "cfg (test)" || text == "cfg(test)";
                    marks.is_paused |= text.contains("start_paused = true");
                }
                tokens.push(marks.token(open.to_owned(), line));
                flatten(group.stream(), marks, tokens);
                let end = group.span_close().start().line;
                tokens.push(marks.token(close.to_owned(), end));
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
                    _ => tokens.push(marks.token(punct.to_string(), line)),
                }
                if punct.as_char() == ';' {
                    marks = outer;
                }
            }
            TokenTree::Ident(ident) => tokens.push(marks.token(ident.to_string(), line)),
            TokenTree::Literal(literal) => tokens.push(marks.token(literal.to_string(), line)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        of(text).unwrap().into_iter().map(|t| t.text).collect()
    }

    #[test]
    fn comments_are_left_out_and_operators_are_one_token() {
        assert_eq!(
            texts("a /* b */ == c::D; // todo!()"),
            ["a", "==", "c", "::", "D", ";"]
        );
    }

    #[test]
    fn strings_are_found_by_content() {
        let tokens = of("f(\"a\", r#\"b\"#, b\"c\", 'd')").unwrap();
        let strings: Vec<&str> = tokens.iter().filter_map(Token::string).collect();
        assert_eq!(strings, ["a", "b"]);
    }

    #[test]
    fn marks_end_with_their_item() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() {}\n}\nfn c() {}\n#[cfg(test)]\nmod d;\n\
                    #[tokio::test(start_paused = true)]\nasync fn e() { f() }\nfn g() {}\n";
        let tokens = of(text).unwrap();
        let marked = |mark: fn(&Token) -> bool| -> Vec<&str> {
            let names = tokens.iter().filter(|token| mark(token));
            let names = names.map(|token| token.text.as_str());
            names
                .filter(|name| name.len() == 1 && name.chars().all(char::is_alphabetic))
                .collect()
        };
        assert_eq!(marked(|token| token.in_test), ["b", "d"]);
        assert_eq!(marked(|token| token.is_paused), ["e", "f"]);
    }
}
