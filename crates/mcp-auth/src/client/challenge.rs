//! Challenges: the `WWW-Authenticate` header of a response with 401 or 403.
//!
//! Specification: [RFC 9110, section
//! 11.6.1](https://www.rfc-editor.org/rfc/rfc9110#section-11.6.1), [RFC 6750, section
//! 3](https://www.rfc-editor.org/rfc/rfc6750#section-3).

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;

use crate::scopes::Scopes;

/// Maximum number of challenges that are read from a response.
const MAX_CHALLENGES: usize = 16;

/// A challenge: a scheme and its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    scheme: String,
    parameters: Vec<(String, String)>,
}

impl Challenge {
    /// Returns the scheme in the spelling of the server. [`has_scheme`](Self::has_scheme) compares schemes without regard to
    /// case.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Returns whether the challenge has this scheme.
    pub fn has_scheme(&self, scheme: &str) -> bool {
        self.scheme.eq_ignore_ascii_case(scheme)
    }

    /// Returns the value of the first parameter with this name.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let mut all = self.parameters.iter();
        let found = all.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the scopes of the parameter `scope`.
    pub fn scopes(&self) -> Option<Scopes> {
        let scopes = Scopes::parse(self.parameter("scope")?);
        (!scopes.is_empty()).then_some(scopes)
    }

    /// Returns all challenges of a response. Malformed parts are skipped.
    pub fn all(headers: &HeaderMap) -> Vec<Self> {
        let mut all = Vec::new();
        for value in headers.get_all(WWW_AUTHENTICATE) {
            all.extend(Self::parse(&String::from_utf8_lossy(value.as_bytes())));
        }
        all.truncate(MAX_CHALLENGES);
        all
    }

    /// Returns the challenges of one value of `WWW-Authenticate`. Malformed parts are skipped.
    pub fn parse(value: &str) -> Vec<Self> {
        let mut all = Vec::new();
        ChallengeParser { rest: value }.read(&mut all);
        all.truncate(MAX_CHALLENGES);
        all
    }

    /// Returns a challenge with the scheme `Bearer` or `DPoP`: the first challenge that names metadata, otherwise the first
    /// challenge.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let all = Self::all(headers);
        let mut ours = all
            .into_iter()
            .filter(|i| i.has_scheme("Bearer") || i.has_scheme("DPoP"));
        let first = ours.next()?;
        // Prefers a challenge that leads to the metadata.
        if first.parameter("resource_metadata").is_some() {
            return Some(first);
        }
        let better = ours.find(|o| o.parameter("resource_metadata").is_some());
        Some(better.unwrap_or(first))
    }
}

/// Parses one header value from left to right.
struct ChallengeParser<'a> {
    rest: &'a str,
}

impl<'a> ChallengeParser<'a> {
    /// Parses all challenges. A comma can separate challenges or parameters: a name that is followed by `=` is a parameter, and
    /// any other name is a scheme.
    fn read(mut self, all: &mut Vec<Challenge>) {
        while all.len() <= MAX_CHALLENGES {
            self.skip(|c| c == ',' || is_space(c));
            if self.rest.is_empty() {
                return;
            }
            let word = self.take_while(is_token);
            if word.is_empty() {
                // Not a token: skips to the next comma.
                self.skip(|c| c != ',');
                continue;
            }
            let spaced = self.rest.starts_with(is_space);
            self.skip(is_space);
            if self.rest.starts_with('=') {
                self.rest = self.rest.strip_prefix('=').unwrap_or_default();
                self.skip(is_space);
                let value = self.value();
                if let Some(challenge) = all.last_mut() {
                    challenge.parameters.push((word.to_owned(), value));
                }
                continue;
            }
            all.push(Challenge {
                scheme: word.to_owned(),
                parameters: Vec::new(),
            });
            if spaced {
                self.skip_token68();
            }
        }
    }

    fn skip(&mut self, matches: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(matches);
    }

    fn take_while(&mut self, matches: impl Fn(char) -> bool) -> &'a str {
        let all = self.rest;
        self.skip(matches);
        all.strip_suffix(self.rest).unwrap_or_default()
    }

    fn value(&mut self) -> String {
        let Some(inside) = self.rest.strip_prefix('"') else {
            return self.take_while(|c| c != ',' && !is_space(c)).to_owned();
        };
        let mut value = String::new();
        let mut chars = inside.chars();
        while let Some(char) = chars.next() {
            match char {
                '"' => break,
                '\\' => value.extend(chars.next()),
                char => value.push(char),
            }
        }
        self.rest = chars.as_str();
        value
    }

    /// Skips credentials that a challenge has instead of parameters, as in `Negotiate YII=`.
    fn skip_token68(&mut self) {
        let end = self.rest.find([',', ' ', '\t']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        let bare = word.trim_end_matches('=');
        let is_68 = bare
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-._~+/".contains(c));
        let ends = rest.trim_start_matches(is_space);
        if !bare.is_empty() && is_68 && (ends.is_empty() || ends.starts_with(',')) {
            self.rest = ends;
        }
    }
}

fn is_space(char: char) -> bool {
    matches!(char, ' ' | '\t')
}

fn is_token(char: char) -> bool {
    char.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(char)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(values: &[&str]) -> Vec<Challenge> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(WWW_AUTHENTICATE, value.parse().unwrap());
        }
        Challenge::all(&headers)
    }

    // proves: AUTH-022, M-AUTH-059
    #[test]
    fn challenges_with_quoted_strings_and_mixed_case_are_parsed() {
        let found = all(&[
            r#"Basic realm="a, b=\"c\"" , bEaRer Scope="x y",resource_metadata = "https://h/a", ERROR=invalid_token"#,
            "Negotiate YII+/=, DPoP algs=\"ES256\"",
        ]);
        let schemes: Vec<&str> = found.iter().map(Challenge::scheme).collect();
        assert_eq!(schemes, ["Basic", "bEaRer", "Negotiate", "DPoP"]);
        assert_eq!(found[0].parameter("realm"), Some("a, b=\"c\""));
        assert!(found[1].has_scheme("Bearer"));
        assert_eq!(found[1].parameter("resource_metadata"), Some("https://h/a"));
        assert_eq!(found[1].parameter("error"), Some("invalid_token"));
        assert_eq!(found[1].scopes().unwrap().to_string(), "x y");
        assert_eq!(found[2].parameter("YII+/"), None);
        assert_eq!(found[3].parameter("algs"), Some("ES256"));
    }

    #[test]
    fn a_bare_scheme_is_a_challenge() {
        assert_eq!(all(&["Bearer"])[0].scheme(), "Bearer");
        let two = all(&["Bearer, Basic realm=x"]);
        assert_eq!(two.len(), 2);
        assert_eq!(two[1].parameter("realm"), Some("x"));
    }

    #[test]
    fn malformed_challenges_do_not_panic() {
        for text in [
            "",
            ",",
            ",,,",
            "=",
            "=x",
            "\"",
            "Bearer \"",
            "Bearer a=",
            "Bearer a=\"",
            "Bearer a=\"\\",
            "a=b",
            "Bearer scope",
            "Bearer scope=\"x\" error",
            "{}",
            "Bearer a==b",
            "((((",
            "x=\"y\"z",
        ] {
            let _ = all(&[text]);
        }
        let many = "Bearer, ".repeat(10_000);
        assert!(all(&[&many]).len() <= MAX_CHALLENGES);
    }

    #[test]
    fn the_challenge_with_metadata_is_preferred() {
        let mut headers = HeaderMap::new();
        let value = "Basic realm=x, Bearer realm=y, DPoP resource_metadata=\"https://h/m\"";
        headers.append(WWW_AUTHENTICATE, value.parse().unwrap());
        assert!(Challenge::of(&headers).unwrap().has_scheme("DPoP"));
    }
}
