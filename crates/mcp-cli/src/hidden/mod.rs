//! Hides secrets in the texts of this program. Secrets are the values of variables, and the user, password, query and fragment of
//! a URL.
//!
//! Errors of libraries can contain URLs, and commands with the values of variables. Before a text for people is printed, [`hide`]
//! removes the secrets from it. Results of servers on stdout are not changed.

mod spellings;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use mcp_host::{Launch, ServerConfig, Variables, is_secret_name};
use mcp_protocol::lock;
use url::Url;

use spellings::{MIN_BYTES, spellings};

/// The secrets of this process.
static SECRETS: Mutex<Secrets> = Mutex::new(Secrets(Vec::new()));

/// Maximum number of stored spellings of secrets. Further spellings are not stored.
const MAX_SECRETS: usize = 8_192;
/// The text that replaces a hidden part of a URL on the command line.
pub(crate) const HIDDEN: &str = "[hidden]";
/// The character at the end of a truncated text.
const CUT: char = '…';

/// Hides the values of variables in the command, the arguments, the URL and the headers of a server. In texts, each value is
/// replaced by its reference, such as `${TOKEN}`.
pub(crate) fn add_values(server: &ServerConfig, variables: &Variables) {
    for (reference, value) in server.values(variables) {
        add_value(&reference, &value);
    }
}

/// Hides the values of a program's variables and of headers if their names say that the values are secret. The program can write
/// its variables to stderr, and a server can repeat the headers. In `launch`, references must already be replaced by values.
pub(crate) fn add_named_values(launch: &Launch) {
    let (Launch::Stdio { env: named, .. } | Launch::Http { headers: named, .. }) = launch else {
        return;
    };
    for (name, value) in named {
        add_named(name, value);
    }
}

/// Hides the value of a variable or header if its name marks it as secret.
pub(crate) fn add_named(name: &str, value: &str) {
    if is_secret_name(name) {
        add_value(&format!("${{{name}}}"), value);
    }
}

/// Hides the secrets in all words of the command line that are URLs.
pub(crate) fn add_words(words: impl Iterator<Item = String>) {
    for word in words {
        let option = word
            .strip_prefix("--")
            .and_then(|word| word.split_once('='));
        let word = option.map_or(&*word, |(_, value)| value);
        match (Url::parse(word), word.split_once("://")) {
            (Ok(url), _) => add_url(&url),
            // For example, the password has a character that ends the host.
            (Err(_), Some(("http" | "https", rest))) => add_value(HIDDEN, rest),
            (Err(_), _) => {}
        }
    }
}

/// Hides the parts of a URL that [`shown`](crate::target::shown) omits.
pub(crate) fn add_url(url: &Url) {
    secrets().add_url(url);
}

/// Hides a value and its parts in all their spellings.
pub(crate) fn add_value(reference: &str, value: &str) {
    secrets().add_value(reference, value);
}

/// Replaces all secrets in a text.
pub(crate) fn hide(text: impl Into<String>) -> String {
    secrets().hide(text.into())
}

fn secrets() -> MutexGuard<'static, Secrets> {
    lock(&SECRETS)
}

/// The secrets in lower case, the longest first, each with the text that replaces it.
struct Secrets(Vec<(String, String)>);

impl Secrets {
    fn add_url(&mut self, url: &Url) {
        for part in user_and_fragment(url) {
            self.add_value(HIDDEN, part);
        }
        self.add(url.query().unwrap_or_default(), HIDDEN);
        // Names of parameters are usual words, so a name is hidden only if it has no value.
        for (name, value) in url.query_pairs() {
            self.add_value(HIDDEN, if value.is_empty() { &name } else { &value });
        }
    }

    fn add_value(&mut self, reference: &str, value: &str) {
        self.add(value, reference);
        // The scheme, host and port of a URL are not secrets.
        if let Some(url) = http_url(value) {
            self.add(url.as_str(), reference);
            self.add_parts(reference, url.path().trim_matches('/'));
            self.add_parts(reference, url.query().unwrap_or_default());
            for part in user_and_fragment(&url) {
                self.add_parts(reference, part);
            }
            return;
        }
        let path = Path::new(value);
        if path.is_absolute() && path.exists() {
            // Names of folders are usual words, so only the whole path is hidden.
            self.add(value.trim_matches('/'), reference);
            self.add(&value.escape_debug().to_string(), reference);
            return;
        }
        self.add_parts(reference, value);
    }

    /// Adds a text and its parts in all their spellings.
    fn add_parts(&mut self, reference: &str, text: &str) {
        for spelling in spellings(text) {
            self.add(&spelling, reference);
        }
    }

    fn add(&mut self, secret: &str, shown: &str) {
        let secret = secret.to_ascii_lowercase();
        let Self(all) = self;
        let is_known = all.iter().any(|(known, _)| *known == secret);
        if secret.len() < MIN_BYTES || is_known || all.len() == MAX_SECRETS {
            return;
        }
        let at = all.partition_point(|(known, _)| known.len() >= secret.len());
        all.insert(at, (secret, shown.to_owned()));
    }

    /// Replaces all secrets, in upper or lower case, even if they overlap.
    fn hide(&self, text: String) -> String {
        let lower = text.to_ascii_lowercase();
        // For each byte of the text, the text that replaces it; `None` for a byte that is not hidden.
        let mut marks: Vec<Option<&str>> = Vec::new();
        for (secret, shown) in &self.0 {
            for (start, _) in lower.match_indices(&**secret) {
                marks.resize(text.len(), None);
                for mark in &mut marks[start..start + secret.len()] {
                    mark.get_or_insert(shown);
                }
            }
        }
        let mut start = 0;
        for (end, cut) in text.match_indices(CUT) {
            let before = &lower[start..end];
            start = end + cut.len();
            if let Some((bytes, shown)) = self.cut_secret(before) {
                marks.resize(text.len(), None);
                for mark in &mut marks[end - bytes..end] {
                    mark.get_or_insert(shown);
                }
            }
        }
        if marks.is_empty() {
            return text;
        }
        let (mut hidden, mut last) = (String::with_capacity(text.len()), None);
        for (at, c) in text.char_indices() {
            match marks[at] {
                None => hidden.push(c),
                shown if shown == last => {}
                Some(shown) => hidden.push_str(shown),
            }
            last = marks[at];
        }
        hidden
    }

    /// Finds the beginning of a secret at the end of a truncated text. Returns the size of the longest such beginning in bytes,
    /// and the text that replaces it.
    fn cut_secret(&self, text: &str) -> Option<(usize, &str)> {
        let beginnings = self.0.iter().filter_map(|(secret, shown)| {
            let lengths = MIN_BYTES..secret.len().min(text.len() + 1);
            let mut longest = lengths
                .rev()
                .filter(|length| secret.is_char_boundary(*length));
            let bytes = longest.find(|length| text.ends_with(&secret[..*length]))?;
            Some((bytes, &**shown))
        });
        beginnings.max_by_key(|(bytes, _)| *bytes)
    }
}

fn http_url(value: &str) -> Option<Url> {
    let (scheme, _) = value.split_once("://")?;
    let is_http = ["http", "https"]
        .iter()
        .any(|http| scheme.eq_ignore_ascii_case(http));
    is_http.then(|| Url::parse(value).ok()).flatten()
}

fn user_and_fragment(url: &Url) -> impl Iterator<Item = &str> {
    let user = Some(url.username());
    [user, url.password(), url.fragment()].into_iter().flatten()
}
