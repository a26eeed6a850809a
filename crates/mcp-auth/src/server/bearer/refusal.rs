//! Refusals: the reasons why requests are not accepted, and the responses.
//!
//! Specification: authorization, error handling and scope challenge handling; [RFC 6750, section
//! 3](https://www.rfc-editor.org/rfc/rfc6750#section-3); [RFC 9449, section
//! 7.1](https://www.rfc-editor.org/rfc/rfc9449#section-7.1).

use std::borrow::Cow;

use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use serde_json::json;

use super::body::TextBody;
use crate::scopes::Scopes;
use crate::server::claims::Scheme;
use crate::server::dpop::{NONCE, ProofChecker};
use crate::server::verify::OTHER_AUDIENCE;

/// Maximum number of characters of a description.
const MAX_DESCRIPTION_CHARS: usize = 200;

/// The reason why a request is refused.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The request has no token.
    Missing,
    /// The request has no token, but its operation requires these scopes.
    Anonymous(Scopes),
    /// The `Authorization` header is malformed.
    Malformed(&'static str),
    /// The token is invalid.
    Invalid(Cow<'static, str>),
    /// The token is not for this server. The text is the `aud` claim of the token, as JSON.
    Audience(String),
    /// The proof for a bound token is missing or invalid.
    Proof(&'static str),
    /// The proof has no nonce from this server, or an old nonce.
    Nonce,
    /// The token lacks some of these scopes.
    Scope {
        required: Scopes,
        /// The scopes of the challenge: the required scopes and the scopes of the token.
        all: Scopes,
    },
    /// The token cannot be verified now.
    Unavailable,
}

/// The properties of the server that a challenge contains.
#[derive(Clone, Copy)]
pub(super) struct ChallengeContext<'a> {
    pub(super) metadata: &'a str,
    /// The scopes that every request requires.
    pub(super) scopes: &'a Scopes,
    /// The settings for bound tokens, if the server accepts them.
    pub(super) dpop: Option<&'a ProofChecker>,
    /// The scheme of the request; `None` if the request has no token.
    pub(super) scheme: Option<Scheme>,
}

impl ChallengeContext<'_> {
    /// Returns the schemes to offer. The challenge for the first scheme contains the error.
    fn schemes(&self, refusal: &Refusal) -> &'static [Scheme] {
        match (self.dpop, self.scheme) {
            (None, _) => &[Scheme::Bearer],
            (Some(dpop), _) if dpop.required => &[Scheme::Dpop],
            (Some(_), Some(Scheme::Dpop)) => &[Scheme::Dpop],
            // Another scheme does not help, because the token lacks scopes.
            (Some(_), Some(Scheme::Bearer)) if matches!(refusal, Refusal::Scope { .. }) => {
                &[Scheme::Bearer]
            }
            (Some(_), _) => &[Scheme::Bearer, Scheme::Dpop],
        }
    }
}

impl Refusal {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Missing
            | Self::Anonymous(_)
            | Self::Invalid(_)
            | Self::Audience(_)
            | Self::Proof(_)
            | Self::Nonce => StatusCode::UNAUTHORIZED,
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::Scope { .. } => StatusCode::FORBIDDEN,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Returns the OAuth error code. A request without a token has no code, because it is not an error.
    fn code(&self) -> Option<&'static str> {
        match self {
            Self::Missing | Self::Anonymous(_) => None,
            Self::Malformed(_) => Some("invalid_request"),
            Self::Invalid(_) | Self::Audience(_) => Some("invalid_token"),
            Self::Proof(_) => Some("invalid_dpop_proof"),
            Self::Nonce => Some("use_dpop_nonce"),
            Self::Scope { .. } => Some("insufficient_scope"),
            Self::Unavailable => Some("temporarily_unavailable"),
        }
    }

    pub(super) fn description(&self) -> Cow<'_, str> {
        match self {
            Self::Missing | Self::Anonymous(_) => "send an access token for this server".into(),
            Self::Malformed(why) | Self::Proof(why) => (*why).into(),
            Self::Nonce => "send a proof with the nonce of the header DPoP-Nonce".into(),
            Self::Invalid(why) => printable(why).into(),
            Self::Audience(_) => OTHER_AUDIENCE.into(),
            Self::Scope { required, .. } => {
                printable(&format!("send an access token with the scopes {required}")).into()
            }
            Self::Unavailable => "tokens cannot be verified now, try again later".into(),
        }
    }

    fn scopes<'a>(&'a self, context: ChallengeContext<'a>) -> &'a Scopes {
        match self {
            Self::Scope { all: scopes, .. } | Self::Anonymous(scopes) => scopes,
            _ => context.scopes,
        }
    }

    /// Sets `WWW-Authenticate`, with one value for each scheme, and `DPoP-Nonce` if the client needs a nonce.
    pub(super) fn challenge(&self, context: ChallengeContext<'_>, headers: &mut HeaderMap) {
        let schemes = context.schemes(self);
        headers.remove(WWW_AUTHENTICATE);
        for (at, scheme) in schemes.iter().enumerate() {
            let value = self.challenge_for(*scheme, at == 0, context);
            headers.append(WWW_AUTHENTICATE, value);
        }
        let nonce = context.dpop.and_then(ProofChecker::nonce);
        if let Some(nonce) = nonce.filter(|_| schemes.contains(&Scheme::Dpop)) {
            headers.insert(NONCE, nonce);
        }
    }

    fn challenge_for(
        &self,
        scheme: Scheme,
        with_error: bool,
        context: ChallengeContext<'_>,
    ) -> HeaderValue {
        let name = match scheme {
            Scheme::Bearer => "Bearer",
            Scheme::Dpop => "DPoP",
        };
        let mut text = format!("{name} ");
        let mut add = |name: &str, value: &str| {
            if !text.ends_with(' ') {
                text.push_str(", ");
            }
            // No value contains a quote or a backslash.
            text.extend([name, "=\"", value, "\""]);
        };
        if let Some(code) = self.code().filter(|_| with_error) {
            add("error", code);
            add("error_description", &printable(&self.description()));
        }
        let scopes = self.scopes(context);
        if !scopes.is_empty() {
            add("scope", &scopes.to_string());
        }
        add("resource_metadata", context.metadata);
        if let Some(dpop) = context.dpop.filter(|_| scheme == Scheme::Dpop) {
            add("algs", &dpop.names);
        }
        text.try_into().unwrap_or(HeaderValue::from_static(name))
    }

    pub(super) fn response(&self, context: ChallengeContext<'_>) -> Response<TextBody> {
        let mut body = json!({
            "error": self.code().unwrap_or("unauthorized"),
            "error_description": self.description(),
        });
        let is_unavailable = matches!(self, Self::Unavailable);
        if !is_unavailable {
            body["resource_metadata"] = context.metadata.into();
            let scopes = self.scopes(context);
            if !scopes.is_empty() {
                body["scope"] = scopes.to_string().into();
            }
        }
        let mut response = Response::new(TextBody::new(body.to_string()));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if is_unavailable {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("5"));
        } else {
            self.challenge(context, headers);
        }
        response
    }
}

/// Replaces characters that are not valid in a quoted string, and truncates the text.
fn printable(text: &str) -> String {
    let chars = text.chars().take(MAX_DESCRIPTION_CHARS);
    let keep = |c: char| c == ' ' || (c.is_ascii_graphic() && c != '"' && c != '\\');
    chars.map(|c| if keep(c) { c } else { '\'' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(scopes: &Scopes) -> ChallengeContext<'_> {
        ChallengeContext {
            metadata: "https://h/.well-known/oauth-protected-resource/mcp",
            scopes,
            dpop: None,
            scheme: None,
        }
    }

    fn challenge(refusal: &Refusal, scopes: &Scopes) -> String {
        let mut headers = HeaderMap::new();
        refusal.challenge(context(scopes), &mut headers);
        headers[WWW_AUTHENTICATE].to_str().unwrap().to_owned()
    }

    #[test]
    fn a_challenge_has_error_scope_and_metadata() {
        let scopes = Scopes::parse("a b");
        let challenge = |refusal: &Refusal| challenge(refusal, &scopes);
        let metadata = "resource_metadata=\"https://h/.well-known/oauth-protected-resource/mcp\"";
        assert_eq!(
            challenge(&Refusal::Missing),
            format!("Bearer scope=\"a b\", {metadata}")
        );
        assert_eq!(
            challenge(&Refusal::Scope {
                required: Scopes::parse("c"),
                all: Scopes::parse("c"),
            }),
            format!(
                "Bearer error=\"insufficient_scope\", error_description=\"send an \
                 access token with the scopes c\", scope=\"c\", {metadata}"
            )
        );
    }

    #[test]
    fn a_description_cannot_inject_a_header() {
        let nasty = "a\" \\ b\r\nSet-Cookie: x=1\u{e9}\0, Basic realm=\"";
        let refusal = Refusal::Invalid(nasty.repeat(100).into());
        let text = challenge(&refusal, &Scopes::default());
        assert_eq!(text.matches('"').count(), 6, "{text}");
        assert!(
            !text.contains(['\\', '\r', '\n']) && text.len() < 400,
            "{text}"
        );
    }
}
