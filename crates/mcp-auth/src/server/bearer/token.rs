//! The token of a request and its scheme.
//!
//! Specification: authorization, token requirements; [RFC 6750, section
//! 2.1](https://www.rfc-editor.org/rfc/rfc6750#section-2.1); [RFC 9449, section
//! 7.1](https://www.rfc-editor.org/rfc/rfc9449#section-7.1).

use http::header::AUTHORIZATION;
use http::request::Parts;
use mcp_transport_http::RemovedAuthorization;

use super::refusal::Refusal;
use crate::Secret;
use crate::server::claims::Scheme;

/// Removes the token from the request, so that the inner service does not see it. An endpoint can still forward the request with
/// its token to another process of this server. The scheme `DPoP` is recognized only if the server accepts it.
pub(super) fn take(parts: &mut Parts, with_dpop: bool) -> Result<(Scheme, Secret), Refusal> {
    let in_query = names_token(parts.uri.query().unwrap_or_default());
    let mut values = parts.headers.get_all(AUTHORIZATION).iter();
    let (first, second) = (values.next(), values.next());
    let Some(value) = first else {
        // A token in the URL is ignored, because URLs appear in logs.
        return Err(Refusal::Missing);
    };
    if second.is_some() || in_query {
        return Err(Refusal::Malformed(
            "send exactly one token, in one Authorization header",
        ));
    }
    let Ok(text) = value.to_str() else {
        return Err(Refusal::Malformed("the Authorization header is not text"));
    };
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    let scheme = match scheme {
        _ if scheme.eq_ignore_ascii_case("Bearer") => Scheme::Bearer,
        _ if with_dpop && scheme.eq_ignore_ascii_case("DPoP") => Scheme::Dpop,
        _ => return Err(Refusal::Missing),
    };
    let token = token.trim_matches(' ');
    if !is_token(token) {
        return Err(Refusal::Malformed(
            "the Authorization header does not consist of a scheme and a token",
        ));
    }
    let token = Secret::new(token);
    if let Some(value) = parts.headers.remove(AUTHORIZATION) {
        let removed = RemovedAuthorization::new(value);
        parts.extensions.insert(removed);
    }
    Ok((scheme, token))
}

/// Returns whether the query of the request contains a token. RFC 6750, section 2.3, permits this, but MCP forbids it.
fn names_token(query: &str) -> bool {
    let mut pairs = query.split('&');
    pairs.any(|pair| pair.split('=').next() == Some("access_token"))
}

/// Returns whether a text has only characters that a token can have.
pub(in crate::server) fn is_token(text: &str) -> bool {
    let bare = text.trim_end_matches('=');
    let is_68 = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    !bare.is_empty() && bare.bytes().all(is_68)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn taken(uri: &str, headers: &[&str]) -> Result<String, Refusal> {
        let mut request = Request::get(uri);
        for value in headers {
            request = request.header(AUTHORIZATION, *value);
        }
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        let (_, token) = take(&mut parts, false)?;
        assert!(!parts.headers.contains_key(AUTHORIZATION));
        Ok(token.expose().to_owned())
    }

    #[test]
    fn a_token_is_read_from_one_authorization_header() {
        for value in ["Bearer a.b-c_d~e+f/g==", "bearer   abc", "BEARER abc "] {
            taken("/mcp", &[value]).unwrap();
        }
        assert_eq!(
            taken("/mcp?x=access_token", &["Bearer abc"]).unwrap(),
            "abc"
        );
    }

    #[test]
    fn an_invalid_authorization_header_is_malformed_or_has_no_token() {
        for (uri, headers) in [
            ("/mcp", &["Bearer"][..]),
            ("/mcp", &["Bearer "]),
            ("/mcp", &["Bearer =="]),
            ("/mcp", &["Bearer a b"]),
            ("/mcp", &["Bearer a, Bearer b"]),
            ("/mcp", &["Bearer \"a\""]),
            ("/mcp", &["Bearer a\tb"]),
            ("/mcp", &["Bearer a", "Bearer a"]),
            ("/mcp", &["Basic a", "Bearer a"]),
            ("/mcp?access_token=b", &["Bearer a"]),
            ("/mcp?x&access_token", &["Bearer a"]),
        ] {
            let refusal = taken(uri, headers).unwrap_err();
            assert!(matches!(refusal, Refusal::Malformed(_)), "{headers:?}");
        }
        for (uri, headers) in [
            ("/mcp", &[][..]),
            ("/mcp?access_token=a", &[]),
            ("/mcp", &["Basic dTpw"]),
            ("/mcp", &["DPoP a"]),
            ("/mcp", &["Bearers a"]),
            ("/mcp", &[""]),
        ] {
            let refusal = taken(uri, headers).unwrap_err();
            assert!(matches!(refusal, Refusal::Missing), "{headers:?}");
        }
    }

    #[test]
    fn only_servers_that_accept_bound_tokens_recognize_their_scheme() {
        let scheme = |value: &str, with_dpop| {
            let request = Request::get("/mcp").header(AUTHORIZATION, value);
            let (mut parts, ()) = request.body(()).unwrap().into_parts();
            take(&mut parts, with_dpop).map(|(scheme, _)| scheme)
        };
        assert_eq!(scheme("dpop a", true).unwrap(), Scheme::Dpop);
        assert_eq!(scheme("Bearer a", true).unwrap(), Scheme::Bearer);
        assert!(matches!(scheme("DPoP a", false), Err(Refusal::Missing)));
        assert!(matches!(scheme("DPoP", true), Err(Refusal::Malformed(_))));
    }
}
