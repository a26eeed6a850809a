//! Finds prompts, skills and resources that a person names in a text.

use std::ops::Range;

use super::Host;
use super::names::resource_name;

/// A prompt, skill or resource that a person names in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mention {
    /// `/mcp__server__prompt` at the beginning of the text.
    #[non_exhaustive]
    Prompt {
        /// The name of the prompt for [`Host::get_prompt`].
        name: String,
        /// The text after the name, without spaces at both ends.
        rest: String,
    },
    /// `@server:uri` with the URI of a skill that the server lists.
    #[non_exhaustive]
    Skill {
        /// The name of the server.
        server: String,
        /// The URI of the skill.
        uri: String,
        /// The position of the mention in the text, in bytes.
        range: Range<usize>,
    },
    /// `@server:uri`, or `@"server:uri"` for a URI that has spaces and is not in a list.
    #[non_exhaustive]
    Resource {
        /// The name of the server.
        server: String,
        /// The URI of the resource.
        uri: String,
        /// The position of the mention in the text, in bytes.
        range: Range<usize>,
    },
}

/// Maximum number of listed URIs with spaces that are searched for in a text.
const MAX_SPACED: usize = 1_000;
/// Maximum number of mentions in a text.
const MAX_MENTIONS: usize = 100;

impl Host {
    /// Returns the prompts, skills and resources that a text names, in the order of the text, at most 100.
    ///
    /// A prompt is a command at the beginning of the text, such as `/mcp__git__commit fix the typo`, with the
    /// [name](super::HostPrompt::name) of a known prompt. A resource or skill is `@server:uri` at the beginning of a word, with
    /// the name of a server of this host; see [`HostResource::name`](super::HostResource::name). The URI ends before the next
    /// white space, or before punctuation and brackets at the end of the word. A URI with spaces is recognized if the server
    /// lists it, such as `@git:file:///a b.txt`. If several listed URIs match, the longest URI is used.
    pub fn mentions(&self, text: &str) -> Vec<Mention> {
        let mut mentions = Vec::new();
        if let Some(command) = text.trim_start().strip_prefix('/') {
            let (name, rest) = command
                .split_once(char::is_whitespace)
                .unwrap_or((command, ""));
            if self.prompts().iter().any(|prompt| prompt.name == name) {
                mentions.push(Mention::Prompt {
                    name: name.to_owned(),
                    rest: rest.trim().to_owned(),
                });
            }
        }
        let spaced = self.resources().into_iter().map(|one| one.name);
        let mut spaced: Vec<String> = spaced
            .filter(|name| is_spaced(name))
            .take(MAX_SPACED)
            .collect();
        spaced.sort_by_key(|name| std::cmp::Reverse(name.len()));
        let servers: Vec<(String, String)> = self
            .servers()
            .iter()
            .map(|server| (resource_name(server.name(), ""), server.name().to_owned()))
            .collect();
        let mut from = 0;
        while let Some(at) = text[from..].find('@').map(|at| from + at) {
            from = at + 1;
            let is_word = text[..at].chars().next_back().is_none_or(begins_word);
            let found = is_word.then(|| named(&text[from..], &spaced, &servers));
            let Some((server, uri, length)) = found.flatten() else {
                continue;
            };
            let range = at..from + length;
            let is_skill = self.server(&server).is_some_and(|server| {
                let skills = server.skills();
                skills.items.iter().any(|skill| skill.uri == uri)
            });
            mentions.push(match is_skill {
                true => Mention::Skill { server, uri, range },
                false => Mention::Resource { server, uri, range },
            });
            from += length;
            if mentions.len() >= MAX_MENTIONS {
                break;
            }
        }
        mentions
    }
}

/// Returns whether a word can begin after this character. After a letter or digit, an `@` belongs to a mail address.
fn begins_word(before: char) -> bool {
    !before.is_alphanumeric() && !matches!(before, '_' | '-' | '.' | '+')
}

/// Returns the server and the URI of the resource name with which a text begins, and the length of this name.
fn named(
    text: &str,
    spaced: &[String],
    servers: &[(String, String)],
) -> Option<(String, String, usize)> {
    let (inner, quotes) = match text.strip_prefix('"') {
        Some(quoted) => (&quoted[..quoted.find('"')?], 2),
        None => (text, 0),
    };
    let (prefix, server) = servers
        .iter()
        .find(|(prefix, _)| inner.starts_with(prefix))?;
    let uri = &inner[prefix.len()..];
    let end = match quotes {
        0 => {
            let ends = |name: &&String| {
                let rest = inner.strip_prefix(name.as_str());
                rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
            };
            let listed = spaced.iter().find(ends);
            listed.map_or_else(|| word_end(uri), |name| name.len() - prefix.len())
        }
        _ => uri.len(),
    };
    let uri = &uri[..end];
    (!uri.is_empty()).then(|| (server.clone(), uri.to_owned(), prefix.len() + end + quotes))
}

/// Returns whether a resource name has spaces, so that a text does not show where the name ends. Returns `false` for a name with
/// `@`, because it could hide the name of another resource.
fn is_spaced(name: &str) -> bool {
    name.contains(' ') && !name.contains(|c: char| c == '@' || c != ' ' && c.is_whitespace())
}

/// Returns the end of the first word, before punctuation and closing brackets at the end of the word.
fn word_end(text: &str) -> usize {
    let word = text.split(char::is_whitespace).next().unwrap_or_default();
    let is_after = |c: char| ".,;:!?)]}>'\"\u{2019}\u{201d}\u{bb}".contains(c);
    word.trim_end_matches(is_after).len()
}
