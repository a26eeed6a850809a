//! Secrets that no text of the program shows: values of variables, and the user, password, query and fragment of a URL.
//!
//! Errors of libraries contain URLs and commands with the values of variables. Texts for people pass [`hide`] before they are printed;
//! results of servers on stdout do not.

use std::sync::Mutex;

use mcp_host::{ServerConfig, Variables};
use mcp_protocol::lock;
use url::Url;

/// Secrets, and what is shown instead. The longest secrets come first.
static SECRETS: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// Minimum length of a secret in bytes. Shorter texts are part of other words.
const MIN_BYTES: usize = 4;
/// Maximum number of secrets. If there are more, the first ones are kept.
const MAX_SECRETS: usize = 4_096;
/// What is shown instead of a part of a URL on the command line.
const HIDDEN: &str = "[hidden]";

/// Hides the values of the variables in the command, the arguments, the URL and the headers of a server: the reference is shown instead.
pub(crate) fn add_values(server: &ServerConfig, variables: &Variables) {
    for (reference, value) in server.values(variables) {
        add_value(&reference, &value);
    }
}

/// Hides the parts of a URL that [`shown`](crate::target::shown) leaves out.
pub(crate) fn add_url(url: &Url) {
    for part in secret_parts(url) {
        add(part, HIDDEN);
    }
}

/// Hides a value also as it is written in URLs and in quoted texts. If the value has the parts of a URL, each of them is hidden.
pub(crate) fn add_value(reference: &str, value: &str) {
    add(value, reference);
    add(&value.escape_debug().to_string(), reference);
    if let Ok(mut url) = Url::parse("http://host/") {
        url.set_path(value);
        url.set_query(Some(value));
        url.set_fragment(Some(value));
        add(url.path().trim_matches('/'), reference);
        add(url.query().unwrap_or_default(), reference);
        add(url.fragment().unwrap_or_default(), reference);
    }
    let url = Url::parse(value).ok().filter(Url::has_host);
    let Some(url) = url.or_else(|| Url::parse(&format!("http://{value}")).ok()) else {
        return;
    };
    add(url.path().trim_matches('/'), reference);
    for part in secret_parts(&url) {
        add(part, reference);
    }
    // The host of a URL is shown in lower case, so a value can be a part of it.
    if !value.contains('/') {
        add(url.host_str().unwrap_or_default(), reference);
    }
}

fn secret_parts(url: &Url) -> impl Iterator<Item = &str> {
    let user = Some(url.username());
    [user, url.password(), url.query(), url.fragment()]
        .into_iter()
        .flatten()
}

fn add(secret: &str, shown: &str) {
    let mut secrets = lock(&SECRETS);
    let is_known = secrets.iter().any(|(known, _)| known == secret);
    if secret.len() < MIN_BYTES || is_known || secrets.len() == MAX_SECRETS {
        return;
    }
    let at = secrets.partition_point(|(known, _)| known.len() >= secret.len());
    secrets.insert(at, (secret.to_owned(), shown.to_owned()));
}

/// Replaces all secrets in a text.
pub(crate) fn hide(text: impl Into<String>) -> String {
    let secrets = lock(&SECRETS);
    let mut hidden = text.into();
    for (secret, shown) in secrets.iter() {
        if hidden.contains(&**secret) {
            hidden = hidden.replace(&**secret, shown);
        }
    }
    hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_hidden_in_each_spelling() {
        add_value("${PART}", "Ab c\"d/é");
        add_value(
            "${URL}",
            "https://ada:passw0rd@host.example/s/T0ken?key=k3y9",
        );
        for text in [
            "at Ab c\"d/é",
            "Ab c\\\"d/é",
            "https://x/Ab%20c%22d/%C3%A9",
            "https://x/?Ab%20c%22d/%C3%A9",
        ] {
            let hidden = hide(text);
            assert!(hidden.contains("${PART}"), "{hidden}");
        }
        let hidden = hide("https://host.example/s/T0ken, passw0rd, key=k3y9");
        assert_eq!(hidden, "https://host.example/${URL}, ${URL}, ${URL}");
        add_value("${SHORT}", "abc");
        assert_eq!(hide("abc"), "abc");
    }
}
