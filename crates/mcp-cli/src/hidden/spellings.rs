//! Computes the spellings of a secret and of its parts.
//!
//! A text can contain only a part of a secret, for example if a URL is shown without its query. In quoted texts and in URLs, some
//! characters are escaped.

use url::Url;

/// Minimum length of a secret in bytes. A shorter text often occurs within other words.
pub(super) const MIN_BYTES: usize = 4;
/// Maximum number of parts of each kind for one secret.
const MAX_PARTS: usize = 1_024;
/// The words with which values of the header `Authorization` begin.
const SCHEMES: [&str; 2] = ["Basic", "Bearer"];
/// For each way of escaping a URL, the characters that are not escaped, and the spelling of a space. Letters, digits, `-`, `.`
/// and `_` are never escaped. The order is: RFC 3986, `quote`, `encodeURIComponent`, `encodeURI`, HTML forms, `quote_plus`.
const PERCENT: [(&str, &str); 6] = [
    ("~", "%20"),
    ("~/", "%20"),
    ("~!*'()", "%20"),
    ("~!*'();,/?:@&=+$#", "%20"),
    ("*", "+"),
    ("~", "+"),
];

/// Returns all spellings of a text and of its parts.
pub(super) fn spellings(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    // URL parsers remove tabs and line ends, and also remove control characters and spaces at both ends.
    let without_lines = text.replace(['\t', '\n', '\r'], "");
    let trimmed = without_lines.trim_matches(|c| c <= ' ');
    let mut in_urls = vec![text, &without_lines, trimmed];
    in_urls.dedup();
    for part in in_urls.into_iter().flat_map(parts) {
        add_spellings(&mut all, part);
    }
    all
}

/// Returns the text, and the parts of at least [`MIN_BYTES`] bytes between delimiters.
fn parts(text: &str) -> Vec<&str> {
    let mut all = vec![text];
    for delimiters in ["?#", "?#@", "?#@/\\", "?#@/\\:;&=+,"] {
        let parts = text.split(|c| delimiters.contains(c));
        all.extend(parts.filter(|part| part.len() >= MIN_BYTES).take(MAX_PARTS));
    }
    // A word that consists only of lower-case letters is a usual word, so it does not become a part.
    let is_usual = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    let words = text.split(' ').filter(|word| !is_usual(word));
    // No spelling changes the ASCII characters of these parts.
    let words = words.flat_map(|word| word.split(|c: char| c.is_ascii() && !is_plain(c)));
    let words = words.filter(|part| part.len() >= MIN_BYTES && !SCHEMES.contains(part));
    all.extend(words.take(MAX_PARTS));
    all.sort_unstable();
    all.dedup();
    all
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_')
}

fn add_spellings(all: &mut Vec<String>, part: &str) {
    all.push(part.to_owned());
    if part.chars().all(is_plain) {
        return;
    }
    let mut written: Vec<String> = vec![part.to_owned()];
    written.extend(PERCENT.map(|(unchanged, space)| percent(part, unchanged, space)));
    written.extend(in_urls(part));
    for text in written {
        // The text of an error can be quoted twice.
        let once = without_quotes(&format!("{text:?}"));
        let twice = without_quotes(&format!("{once:?}"));
        let json = serde_json::to_string(&text).map(|json| without_quotes(&json));
        let escaped = text.escape_debug().to_string();
        all.extend([text, once, twice, escaped]);
        all.extend(json);
    }
}

fn without_quotes(quoted: &str) -> String {
    quoted[1..quoted.len() - 1].to_owned()
}

/// Returns the text in the forms that it has in a URL: as user, path, query, fragment and host.
fn in_urls(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    if let Ok(mut url) = Url::parse("http://host/") {
        url.set_path(text);
        url.set_query(Some(text));
        url.set_fragment(Some(text));
        // Fails only for URLs that cannot have a user.
        let _ = url.set_username(text);
        let path = url.path().trim_matches('/');
        let parts = [
            Some(path),
            url.query(),
            url.fragment(),
            Some(url.username()),
        ];
        all.extend(parts.into_iter().flatten().map(str::to_owned));
    }
    if let Ok(url) = Url::parse(&format!("http://{text}")) {
        all.extend(url.host_str().map(str::to_owned));
    }
    all
}

/// Escapes all characters except letters, digits and the characters in `unchanged`: writes each byte of a character as `%XX`.
fn percent(text: &str, unchanged: &str, space: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' ' => written.push_str(space),
            c if is_plain(c) || unchanged.contains(c) => written.push(c),
            c => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    written.push_str(&format!("%{byte:02x}"));
                }
            }
        }
    }
    written
}
