//! `cargo xtask events`: the `tracing` events of the crates, from the sources. The result is `docs/reference/logged.md`.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use serde::Serialize;

use crate::page::render;
use crate::workspace::{self, At as _, File, Files, Result, root, say};

const PAGE: &str = "docs/reference/logged.md";
/// In the order of the page.
const LEVELS: &[&str] = &["error", "warn", "info", "debug", "trace"];
const TESTS: &str = "#[cfg(test)]\nmod tests {";

/// An event. The order is that of the rows.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Event {
    /// The index in [`LEVELS`].
    rank: usize,
    level: &'static str,
    message: String,
    fields: Vec<String>,
}

/// Runs the command: writes the page, or compares it.
pub(crate) fn run(check: bool) -> Result {
    let is_source = |path: &str| {
        let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
        path.contains("/src/") && path.ends_with(".rs") && !is_test
    };
    let sources = workspace::read(root(), &["crates"], is_source)?;
    let crates = events_of(&sources)?;
    let count: usize = crates.values().map(BTreeSet::len).sum();
    let page = render(
        include_str!("events.md.jinja"),
        minijinja::context! { crates },
    )?;
    let page = Files::from([(PAGE.to_owned(), page)]);
    let present = workspace::read(root(), &["docs"], |path| path == PAGE)?;
    let problem = "out of date, run `cargo xtask events` and commit it:";
    workspace::apply(root(), &page, present, check, problem)?;
    say(&format!("{count} events"));
    Ok(())
}

fn events_of(sources: &[File]) -> Result<BTreeMap<String, BTreeSet<Event>>> {
    let mut crates = BTreeMap::<String, BTreeSet<Event>>::new();
    for File { path, text } in sources {
        let name = path.split('/').nth(1).unwrap_or_default();
        let code = text.split(TESTS).next().unwrap_or_default();
        let tokens: TokenStream = code.parse().at(path)?;
        let mut found = BTreeSet::new();
        collect(tokens, &mut found);
        if !found.is_empty() {
            crates.entry(name.to_owned()).or_default().extend(found);
        }
    }
    Ok(crates)
}

/// Adds the events in these tokens: `tracing::warn!(..)`.
fn collect(tokens: TokenStream, found: &mut BTreeSet<Event>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else {
            continue;
        };
        let word = |back: usize| Some(tokens.get(at.checked_sub(back)?)?.to_string());
        let is_event = group.delimiter() == Delimiter::Parenthesis
            && word(1).as_deref() == Some("!")
            && word(5).as_deref() == Some("tracing");
        let level = word(2).filter(|_| is_event);
        let rank = level.and_then(|level| LEVELS.iter().position(|known| *known == level));
        match rank {
            Some(rank) => found.extend(event(rank, group.stream())),
            None => collect(group.stream(), found),
        }
    }
}

fn event(rank: usize, tokens: TokenStream) -> Option<Event> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_comma =
        |token: &TokenTree| matches!(token, TokenTree::Punct(comma) if comma.as_char() == ',');
    let mut fields = Vec::new();
    for part in tokens.split(is_comma) {
        if let [TokenTree::Literal(text)] = part {
            let message = syn::parse_str::<syn::LitStr>(&text.to_string()).ok()?;
            return Some(Event {
                rank,
                level: LEVELS.get(rank)?,
                message: message.value(),
                fields,
            });
        }
        fields.extend(field(part));
    }
    None
}

/// The name of a field: the words before `=`, or the last word of the value.
fn field(part: &[TokenTree]) -> Option<String> {
    let is_equals =
        |token: &TokenTree| matches!(token, TokenTree::Punct(sign) if sign.as_char() == '=');
    let name = part.split(is_equals).next()?;
    let mut words = name.iter().filter_map(|token| match token {
        TokenTree::Ident(word) => Some(word.to_string()),
        _ => None,
    });
    let name = words.next_back()?;
    let is_target = part.len() > 1 && name == "target" && part[1].to_string() == ":";
    (!is_target).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_found_with_their_fields() {
        let source = "fn f() { select! { tracing::warn!(%error, uri = ?self.uri, kind = f(a, b), \"a \\\n   failure\") } \
            tracing::debug!(\"done\"); other::warn!(\"no\"); }\n#[cfg(test)]\nmod tests { tracing::info!(\"x\"); }";
        let sources = [File::new("crates/mcp-a/src/lib.rs", source)];
        let crates = events_of(&sources).unwrap();
        let events = crates["mcp-a"].iter();
        let rows: Vec<_> = events
            .map(|event| (event.level, &*event.message, event.fields.join(" ")))
            .collect();
        let expected = [
            ("warn", "a failure", "error uri kind".to_owned()),
            ("debug", "done", String::new()),
        ];
        assert_eq!(rows, expected);
    }
}
