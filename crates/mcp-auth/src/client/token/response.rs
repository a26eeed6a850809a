//! Responses of a token endpoint.

use serde_json::Value;
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

/// The members of a token response. If a member that the client does not need has another type, it is treated as missing.
struct TokenResponseBody {
    access_token: Secret,
    token_type: Option<String>,
    refresh_token: Option<Secret>,
    expires_in: Option<Value>,
    scope: Option<Scopes>,
    issued_token_type: Option<String>,
}

impl TokenResponseBody {
    /// Reads a response. Errors do not quote values of the response, because a value may be a token.
    fn read(reply: &Reply) -> Result<Self, &'static str> {
        let body: Value = reply.json().map_err(|_| "it is not JSON")?;
        let Value::Object(mut body) = body else {
            return Err("it is not an object");
        };
        let mut text = |name: &str| match body.shift_remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(()),
        };
        let access_token = match text("access_token") {
            Ok(Some(token)) => Secret::new(token),
            Ok(None) => return Err("it has no access_token"),
            Err(()) => return Err("its access_token is not a text"),
        };
        let token_type = text("token_type").map_err(|()| "its token_type is not a text")?;
        let refresh_token = text("refresh_token").ok().flatten().map(Secret::new);
        let issued_token_type = text("issued_token_type").ok().flatten();
        let scope = match body.shift_remove("scope") {
            Some(Value::String(scopes)) => Some(Scopes::parse(&scopes)),
            Some(Value::Array(scopes)) => Some(scopes.iter().filter_map(Value::as_str).collect()),
            _ => None,
        };
        Ok(Self {
            access_token,
            token_type,
            refresh_token,
            expires_in: body.shift_remove("expires_in"),
            scope,
            issued_token_type,
        })
    }
}

/// An OAuth error response.
#[derive(Debug)]
pub(crate) struct TokenError {
    pub(crate) error: String,
    error_description: Option<String>,
}

impl TokenError {
    /// Returns the error of a response, regardless of its status.
    pub(crate) fn of(reply: &Reply) -> Option<Self> {
        let body: Value = reply.json().ok()?;
        let has_token = reply.status.is_success() && body.get("access_token").is_some();
        let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
        let error = text("error").filter(|_| !has_token)?;
        let error_description = text("error_description");
        Some(Self {
            error,
            error_description,
        })
    }

    fn kind(&self) -> ErrorKind {
        match &*self.error {
            "invalid_grant" => ErrorKind::Expired,
            "invalid_client" => ErrorKind::UnknownClient,
            "access_denied" | "invalid_scope" | "invalid_target" | "unauthorized_client" => {
                ErrorKind::Denied
            }
            "temporarily_unavailable" | "server_error" | "slow_down" => ErrorKind::Unavailable,
            _ => ErrorKind::InvalidResponse,
        }
    }

    fn advice(&self) -> &'static str {
        match &*self.error {
            "invalid_client" => {
                "; the client id or the credentials are not valid at this authorization server"
            }
            "invalid_target" => "; the authorization server does not issue tokens for this server",
            "unsupported_grant_type" | "unauthorized_client" => {
                "; this client may not use this grant"
            }
            _ => "",
        }
    }
}

/// Returns an error if the status of a response is not a success. `action` is the failure for the error message, such as
/// `issued no token`.
pub(crate) fn check(url: &str, reply: &Reply, action: &str) -> Result<(), Error> {
    let status = reply.status;
    if reply.is_temporary() {
        let message = format!("{url} {action} now ({status}); try again later");
        return Err(Error::unavailable(message));
    }
    if let Some(refusal) = TokenError::of(reply) {
        let said = refusal.error_description.as_deref().unwrap_or_default();
        let said = format!("{} {said}", refusal.error);
        let said = quoted(&said);
        let advice = refusal.advice();
        let message = format!("{url} {action} ({status}) and reported {said}{advice}");
        return Err(Error::new(refusal.kind(), message));
    }
    match status.is_success() {
        true => Ok(()),
        false => Err(Error::invalid_response(format!(
            "{url} {action} ({status})"
        ))),
    }
}

impl TokenResponse {
    /// Reads a token response.
    pub(crate) fn read(url: &Url, reply: &Reply) -> Result<Self, Error> {
        let url = redacted(url);
        check(&url, reply, "issued no token")?;
        let body = TokenResponseBody::read(reply).map_err(|problem| {
            Error::invalid_response(format!(
                "the response of {url} is not a token response: {problem}"
            ))
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

/// Reads a number of seconds: a JSON number, which may have a fraction, or a number as text.
pub(crate) fn seconds(value: &Value) -> Option<u64> {
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
    fn a_refusal_names_its_reason_and_the_next_step() {
        for (code, advice) in [
            (
                "invalid_client",
                "the client id or the credentials are not valid at this authorization server",
            ),
            (
                "invalid_target",
                "the authorization server does not issue tokens for this server",
            ),
            ("unauthorized_client", "this client may not use this grant"),
            (
                "unsupported_grant_type",
                "this client may not use this grant",
            ),
        ] {
            let error = read(400, &format!(r#"{{"error":"{code}"}}"#));
            let error = error.err().unwrap().to_string();
            assert!(error.contains(code) && error.contains(advice), "{error}");
        }
    }

    #[test]
    fn token_lifetimes_are_read_as_numbers_and_as_text() {
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
    fn the_code_of_an_error_response_determines_the_error_kind() {
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
