//! `auth` of the configuration file: which tokens the clients of a gateway must send.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use mcp_host::Variables;
use mcp_protocol::InvalidServer;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Minimum number of characters of a token.
const MIN_TOKEN_CHARS: usize = 16;

/// The source of the tokens that the clients of a gateway send.
#[expect(
    clippy::exhaustive_enums,
    reason = "a program that ignored a kind of tokens would serve without them"
)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TokenSource<'a> {
    /// The authorization server with this URL issues access tokens.
    Issuer(&'a str),
    /// The configuration has the tokens.
    Tokens(&'a [ClientToken]),
}

/// A token of a gateway's configuration, with its user and scopes. [`fmt::Debug`] omits the token.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(try_from = "TokenMembers")]
pub struct ClientToken {
    token: String,
    subject: String,
    scopes: Vec<String>,
}

/// The members of a token in a file.
#[derive(Deserialize)]
struct TokenMembers {
    token: Option<String>,
    subject: Option<String>,
    #[serde(default)]
    scopes: Vec<String>,
    #[serde(flatten)]
    others: BTreeMap<String, IgnoredAny>,
}

impl TryFrom<TokenMembers> for ClientToken {
    type Error = &'static str;

    // A token can be in the place of another member or of a name, so nothing is quoted.
    fn try_from(members: TokenMembers) -> Result<Self, Self::Error> {
        if !members.others.is_empty() {
            return Err(
                "a token has an unknown member; its members are \"token\", \"subject\" and \"scopes\"",
            );
        }
        match (members.token, members.subject) {
            (Some(token), Some(subject)) => Ok(Self {
                token,
                subject,
                scopes: members.scopes,
            }),
            (None, _) => Err("a token has no member \"token\""),
            (_, None) => Err("a token has no member \"subject\"; name its user"),
        }
    }
}

impl ClientToken {
    /// Returns the token. It is a secret.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns the name of the user.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Returns the scopes of the user.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Replaces the variables, and checks the token and the subject.
    fn resolve(&mut self, variables: &Variables) -> Result<(), InvalidServer> {
        for (name, value) in [("token", &mut self.token), ("subject", &mut self.subject)] {
            let expanded = variables.expand(value);
            let expanded = expanded.map_err(|error| invalid(format!("/{name}: {error}")))?;
            // A variable with the content of a file often ends with a line break.
            expanded.trim().clone_into(value);
        }
        if self.subject.is_empty() {
            return Err(invalid("/subject: the subject is empty; name the user"));
        }
        let problem = match self.token.chars().count() {
            0 => "is empty".to_owned(),
            1..MIN_TOKEN_CHARS => format!("has fewer than {MIN_TOKEN_CHARS} characters"),
            _ => return Ok(()),
        };
        Err(invalid(format!(
            "/token: the token {problem}; use a random token, as `openssl rand -hex 16` prints it"
        )))
    }
}

impl fmt::Debug for ClientToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientToken")
            .field("subject", &self.subject)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// The object `auth`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Members")]
pub(super) struct AuthSection {
    source: Source,
    /// The scopes that every token must have.
    pub(super) scopes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum Source {
    Issuer(String),
    Tokens(Vec<ClientToken>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Members {
    issuer: Option<String>,
    tokens: Option<Vec<ClientToken>>,
    #[serde(default)]
    scopes: Vec<String>,
}

impl AuthSection {
    /// Returns whether a user with this name can exist.
    pub(super) fn may_have(&self, user: &str) -> bool {
        match &self.source {
            Source::Issuer(_) => !user.is_empty(),
            Source::Tokens(tokens) => tokens.iter().any(|token| token.subject == user),
        }
    }

    /// Returns whether several users can exist.
    pub(super) fn has_several_users(&self) -> bool {
        match &self.source {
            Source::Issuer(_) => true,
            Source::Tokens(tokens) => tokens
                .iter()
                .any(|token| token.subject != tokens[0].subject),
        }
    }
}

impl TryFrom<Members> for AuthSection {
    type Error = &'static str;

    fn try_from(members: Members) -> Result<Self, Self::Error> {
        let source = match (members.issuer, members.tokens) {
            (Some(issuer), None) => Source::Issuer(issuer),
            (None, Some(tokens)) if tokens.is_empty() => {
                return Err("\"tokens\" is empty, so no client could use the gateway; add a token");
            }
            (None, Some(tokens)) => Source::Tokens(tokens),
            (Some(_), Some(_)) => {
                return Err("\"issuer\" and \"tokens\" exclude each other; remove one");
            }
            (None, None) => return Err("neither \"issuer\" nor \"tokens\" is given; add one"),
        };
        let scopes = members.scopes;
        Ok(Self { source, scopes })
    }
}

impl AuthSection {
    pub(super) fn source(&self) -> TokenSource<'_> {
        match &self.source {
            Source::Issuer(issuer) => TokenSource::Issuer(issuer),
            Source::Tokens(tokens) => TokenSource::Tokens(tokens),
        }
    }

    /// Replaces the variables of the tokens, and checks each token. If an authorization server issues the tokens, `publicUrl` is
    /// required.
    pub(super) fn resolve(
        &mut self,
        variables: &Variables,
        public_url: Option<&str>,
    ) -> Result<(), InvalidServer> {
        match (&mut self.source, public_url) {
            (Source::Issuer(_), None) => Err(invalid(
                ": \"publicUrl\" is missing; the authorization server issues tokens for this URL",
            )),
            (Source::Issuer(_), Some(_)) => Ok(()),
            (Source::Tokens(tokens), _) => {
                for (index, token) in tokens.iter_mut().enumerate() {
                    let resolved = token.resolve(variables);
                    resolved.map_err(|error| invalid(format!("/tokens/{index}{error}")))?;
                }
                Ok(())
            }
        }
    }

    /// Returns warnings about three mistakes: a token lacks a scope that all requests need; a token has a scope that no rule
    /// uses; a rule needs a scope that no token has.
    pub(super) fn scope_warnings<'a>(
        &'a self,
        of_rules: impl IntoIterator<Item = &'a str>,
    ) -> Vec<String> {
        let Source::Tokens(tokens) = &self.source else {
            return Vec::new();
        };
        let words = |scopes: &'a [String]| scopes.iter().flat_map(|text| text.split_whitespace());
        let required: BTreeSet<&str> = words(&self.scopes).collect();
        let of_rules: BTreeSet<&str> = of_rules.into_iter().collect();
        let (mut warnings, mut known) = (Vec::new(), BTreeSet::new());
        for (index, token) in tokens.iter().enumerate() {
            let has: BTreeSet<&str> = words(&token.scopes).collect();
            if let Some(scope) = required.difference(&has).next() {
                warnings.push(format!(
                    "/gateway/auth/tokens/{index}: {:?} lacks the scope {scope:?} of /gateway/auth/scopes, so every request is refused",
                    token.subject
                ));
            }
            // If no rule needs a scope, scopes are not reported: they may be for the servers, or for later rules.
            let useless = has.iter().filter(|scope| {
                !of_rules.is_empty() && !of_rules.contains(*scope) && !required.contains(*scope)
            });
            warnings.extend(useless.map(|scope| {
                format!(
                    "/gateway/auth/tokens/{index}: {:?} has the scope {scope:?}, which no rule of /gateway/access needs; check its spelling, or remove it",
                    token.subject
                )
            }));
            known.extend(has);
        }
        warnings.extend(of_rules.difference(&known).map(|scope| {
            format!("/gateway/access: no token of /gateway/auth/tokens has the scope {scope:?}, so no client can use the items that need this scope")
        }));
        warnings
    }
}

fn invalid(text: impl Into<String>) -> InvalidServer {
    InvalidServer::new(text)
}

#[cfg(test)]
mod tests {
    use super::super::GatewayConfig;
    use super::*;

    const TOKEN: &str = "9p4wJ0cY2mXqT7vLr3sZ";

    fn resolved(auth: &serde_json::Value) -> Result<GatewayConfig, InvalidServer> {
        let text = serde_json::json!({ "mcpServers": {}, "gateway": { "auth": auth } });
        let variables = Variables::new().with_env(|name| match name {
            "ALICE" => Some(format!("{TOKEN}\n")),
            "EMPTY" => Some(String::new()),
            _ => None,
        });
        GatewayConfig::parse(&text.to_string())?.resolve(&variables)
    }

    fn one(token: &str, subject: &str) -> serde_json::Value {
        serde_json::json!({ "tokens": [{ "token": token, "subject": subject, "scopes": ["a"] }] })
    }

    #[test]
    fn tokens_come_from_variables_and_need_no_public_url() {
        let config = resolved(&one("${env:ALICE}", "alice")).unwrap();
        let Some((TokenSource::Tokens([alice]), [])) = config.authorization() else {
            panic!("{config:?}");
        };
        assert_eq!((alice.token(), alice.subject()), (TOKEN, "alice"));
        assert_eq!(alice.scopes(), ["a"]);
    }

    #[test]
    fn mistakes_in_tokens_are_errors_that_name_the_location() {
        let issuer = serde_json::json!({ "issuer": "https://login.example", "tokens": [] });
        for (auth, problem) in [
            (
                one("${env:UNSET}", "a"),
                "/gateway/auth/tokens/0/token: the variable",
            ),
            (
                one("${env:EMPTY}", "a"),
                "/gateway/auth/tokens/0/token: the token is empty",
            ),
            (
                one("123456789012345", "a"),
                "/gateway/auth/tokens/0/token: the token has fewer than 16 characters",
            ),
            (
                one("${env:ALICE}", " "),
                "/gateway/auth/tokens/0/subject: the subject is empty",
            ),
            (
                issuer,
                "/gateway/auth: \"issuer\" and \"tokens\" exclude each other",
            ),
            (
                serde_json::json!({}),
                "/gateway/auth: neither \"issuer\" nor \"tokens\"",
            ),
            (
                serde_json::json!({ "tokens": [{ "tokn": "" }] }),
                "/gateway/auth/tokens/0: a token has an unknown member",
            ),
        ] {
            let error = resolved(&auth).unwrap_err().to_string();
            assert!(error.contains(problem), "{problem}: {error}");
        }
    }

    #[test]
    fn no_debug_output_or_error_contains_a_token() {
        let config = resolved(&one(TOKEN, "alice")).unwrap();
        let shown = format!("{config:?} {:?}", config.authorization());
        assert!(shown.contains("alice") && !shown.contains(TOKEN), "{shown}");
        for tokens in [
            serde_json::json!(TOKEN),
            serde_json::json!([TOKEN]),
            serde_json::json!([{ TOKEN: "alice" }]),
            serde_json::json!([{ "token": "alice", "subject": TOKEN }]),
        ] {
            let error = resolved(&serde_json::json!({ "tokens": tokens })).unwrap_err();
            assert!(!error.to_string().contains(TOKEN), "{error}");
        }
    }
}
