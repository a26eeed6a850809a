//! The server of a command: a URL or a program.

use std::fmt;

use url::Url;

use crate::args::Words;
use crate::failure::Failure;

/// The server of a command.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    Url(Url),
    /// A program and its arguments.
    Program(Vec<String>),
}

impl Target {
    /// Takes the server out of the words: the program if there is one, else the first word.
    pub(crate) fn take(words: Words) -> Result<(Self, Vec<String>), Failure> {
        let Words { mut words, program } = words;
        if !program.is_empty() {
            return Ok((Self::Program(program), words));
        }
        if words.is_empty() {
            return Err(Failure::usage(
                "no server: give a URL first, or a program after `--`",
            ));
        }
        Ok((Self::url(&words.remove(0))?, words))
    }

    pub(crate) fn url(text: &str) -> Result<Self, Failure> {
        if !is_url(text) {
            return Err(Failure::usage(format!(
                "{text:?} is not the URL of a server, such as https://example.com/mcp; a program follows `--`, as in \
                 `mcp list -- {text}`"
            )));
        }
        let url =
            Url::parse(text).map_err(|error| Failure::usage(format!("URL {text:?}: {error}")))?;
        Ok(Self::Url(url))
    }
}

fn is_url(word: &str) -> bool {
    let lower = word.get(..8).unwrap_or(word).to_ascii_lowercase();
    lower.starts_with("http://") || lower.starts_with("https://")
}

/// The URL without user, password and query, or the program with its arguments: the name in lock files and messages.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => {
                let mut url = url.clone();
                // These fail only for URLs that cannot have a user.
                let _ = url.set_username("");
                let _ = url.set_password(None);
                url.set_query(None);
                url.set_fragment(None);
                f.write_str(url.as_str())
            }
            Self::Program(words) => f.write_str(&words.join(" ")),
        }
    }
}
