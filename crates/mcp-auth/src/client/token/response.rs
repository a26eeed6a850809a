//! Responses of a token endpoint.

use serde::Deserialize;
use url::Url;

use super::TokenType;
use crate::Secret;
use crate::error::{Error, ErrorKind, quoted};
use crate::scopes::Scopes;
use crate::web::{Reply, redacted};

/// The content of a successful token response.
#[derive(Debug)]
pub(crate) struct TokenResponse {
    pub(crate) access: Secret,
    pub(crate) kind: TokenType,
    pub(crate) refresh: Option<Secret>,
    pub(crate) expires_in: Option<u64>,
    pub(crate) scopes: Option<Scopes>,
    /// The type of the issued token in a token exchange.
    pub(crate) issued: Option<String>,
}

#[derive(Deserialize)]
struct TokenResponseBody {
    access_token: Secret,
    token_type: Option<String>,
    refresh_token: Option<Secret>,
    // Some servers send a string or a fraction. An unreadable value is ignored.
    expires_in: Option<serde_json::Value>,
    scope: Option<Scopes>,
    issued_token_type: Option<String>,
}

/// An OAuth error response.
#[derive(Debug, Deserialize)]
pub(crate) struct TokenError {
    pub(crate) error: String,
    error_description: Option<String>,
}

impl TokenError {
    pub(crate) fn of(reply: &Reply) -> Option<Self> {
        if reply.status.is_success() {
            return None;
        }
        reply.json().ok()
    }

    fn kind(&self) -> ErrorKind {
        match &*self.error {
            "invalid_grant" => ErrorKind::Expired,
            "invalid_client" => ErrorKind::UnknownClient,
            "access_denied" | "invalid_scope" | "unauthorized_client" => ErrorKind::Denied,
            "temporarily_unavailable" | "server_error" | "slow_down" => ErrorKind::Unavailable,
            _ => ErrorKind::InvalidResponse,
        }
    }

    fn advice(&self) -> &'static str {
        match &*self.error {
            "invalid_client" => "; the client id or its credentials are not valid there",
            "invalid_target" => "; it does not issue tokens for this server",
            "unsupported_grant_type" | "unauthorized_client" => {
                "; this client may not use this grant"
            }
            _ => "",
        }
    }
}

impl TokenResponse {
    /// Reads a token response.
    pub(crate) fn read(url: &Url, reply: &Reply) -> Result<Self, Error> {
        let url = redacted(url);
        let status = reply.status;
        if reply.is_temporary() {
            let message = format!("{url} cannot issue tokens now ({status}); try again later");
            return Err(Error::unavailable(message));
        }
        if let Some(refusal) = TokenError::of(reply) {
            let said = refusal.error_description.as_deref().unwrap_or_default();
            let said = format!("{} {said}", refusal.error);
            let said = quoted(&said);
            let advice = refusal.advice();
            let message = format!("{url} issued no token ({status}) and reported {said}{advice}");
            return Err(Error::new(refusal.kind(), message));
        }
        if !status.is_success() {
            let message = format!("{url} issued no token ({status})");
            return Err(Error::invalid_response(message));
        }
        // The error of the parser might quote a token.
        let body: TokenResponseBody = reply.json().map_err(|_| {
            Error::invalid_response(format!("the response of {url} is not a token response"))
        })?;
        Self::checked(body, &url)
    }

    fn checked(body: TokenResponseBody, url: &str) -> Result<Self, Error> {
        let named = body.token_type.as_deref().unwrap_or("Bearer");
        let kind = match named {
            it if it.eq_ignore_ascii_case("DPoP") => TokenType::Dpop,
            // "N_A" is the type of a token that is not an access token, in a token exchange.
            it if it.eq_ignore_ascii_case("Bearer") || it.eq_ignore_ascii_case("N_A") => {
                TokenType::Bearer
            }
            other => {
                let other = quoted(other);
                let message = format!("{url} issued a token of the unknown type {other}");
                return Err(Error::invalid_response(message));
            }
        };
        let text = body.access_token.expose();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message =
                format!("the token of {url} has characters that are not valid in a token");
            return Err(Error::invalid_response(message));
        }
        Ok(Self {
            access: body.access_token,
            kind,
            refresh: body.refresh_token.filter(|r| !r.expose().is_empty()),
            expires_in: body.expires_in.as_ref().and_then(seconds),
            scopes: body.scope,
            issued: body.issued_token_type,
        })
    }
}

fn seconds(value: &serde_json::Value) -> Option<u64> {
    let text = value.as_str().map(str::to_owned);
    let text = text.unwrap_or_else(|| value.to_string());
    text.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, StatusCode};

    fn read(status: u16, body: &str) -> Result<TokenResponse, Error> {
        let reply = Reply {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: body.to_owned().into(),
        };
        TokenResponse::read(&Url::parse("https://as/token?key=secret").unwrap(), &reply)
    }

    #[test]
    fn lifetimes_are_read_in_any_notation() {
        for (body, seconds) in [
            ("60", Some(60)),
            ("\"60\"", Some(60)),
            ("60.5", Some(60)),
            ("null", None),
            ("[]", None),
            ("-1", None),
        ] {
            let body =
                format!(r#"{{"access_token":"t","token_type":"bearer","expires_in":{body}}}"#);
            assert_eq!(read(200, &body).unwrap().expires_in, seconds, "{body}");
        }
    }

    #[test]
    fn t42_an_unreadable_response_is_not_quoted() {
        for body in [
            r#"{"access_token":"canary","token_type":7}"#,
            r#"{"access_token":"canary\n","token_type":"Bearer"}"#,
            r#"{"access_token":canary}"#,
            r#"{"access_token":"canary","token_type":"mac"}"#,
        ] {
            let error = read(200, body).unwrap_err();
            let mut shown = format!("{error} {error:?}");
            let source = std::error::Error::source(&error);
            shown.extend(source.map(ToString::to_string));
            assert!(
                !shown.contains("canary") && !shown.contains("secret"),
                "{shown}"
            );
        }
    }

    #[test]
    fn an_error_response_decides_the_kind_of_error() {
        assert!(read(503, "").unwrap_err().is_temporary());
        assert!(
            read(429, r#"{"error":"slow_down"}"#)
                .unwrap_err()
                .is_temporary()
        );
        let expired = read(400, r#"{"error":"invalid_grant"}"#).unwrap_err();
        assert_eq!(expired.kind(), ErrorKind::Expired);
        let denied = read(400, r#"{"error":"access_denied","error_description":"no"}"#);
        assert!(denied.unwrap_err().is_denied());
        assert!(read(400, "<html>").unwrap_err().to_string().contains("400"));
    }
}
