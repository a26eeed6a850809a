//! The authorization request, to which the user consents, and its callback.
//!
//! Specification: authorization code protection and open redirection; [RFC
//! 7636](https://www.rfc-editor.org/rfc/rfc7636) (PKCE), [RFC
//! 9207](https://www.rfc-editor.org/rfc/rfc9207) (issuer of the callback).

use url::Url;

use crate::Secret;
use crate::client::discovery::{DiscoveryResult, lists};
use crate::client::registration::Registration;
use crate::client::signing_key::random;
use crate::client::uri_checks::parse_url;
use crate::client::user_agent::Callback;
use crate::digest::sha256;
use crate::error::{Error, ErrorKind, quoted};
use crate::scopes::{OFFLINE_ACCESS, Scopes};
use crate::web::{UrlPolicy, redacted};

/// An authorization request, and the values with which its callback is compared.
pub(crate) struct AuthorizationRequest {
    pub(crate) url: Url,
    state: Secret,
    verifier: Secret,
    issuer: String,
    expects_iss: bool,
}

/// An authorization code and its PKCE verifier.
pub(crate) struct AuthorizationCode {
    pub(crate) code: Secret,
    pub(crate) verifier: Secret,
}

impl AuthorizationRequest {
    /// Creates a request for these scopes.
    ///
    /// # Errors
    /// Returns an error if the authorization server does not support PKCE, or if its endpoint is
    /// not a safe address.
    pub(crate) fn new(
        policy: &UrlPolicy,
        found: &DiscoveryResult,
        client: &Registration,
        redirect_uri: &str,
        scopes: &Scopes,
    ) -> Result<Self, Error> {
        let server = &found.server;
        let issuer = &server.issuer;
        // The specification requires clients to abort if the metadata does not list S256.
        let methods = server.code_challenge_methods_supported.as_deref();
        if found.is_published && !lists(methods, "S256") {
            return Err(Error::invalid_response(format!(
                "{} does not support PKCE: its metadata does not list S256 in \
                     code_challenge_methods_supported; the sign-in is aborted",
                quoted(issuer)
            )));
        }
        let endpoint = server.authorization_endpoint.as_deref().ok_or_else(|| {
            let issuer = quoted(issuer);
            let message = format!("the metadata of {issuer} has no authorization_endpoint");
            Error::invalid_response(message)
        })?;
        let mut url = checked_endpoint(policy, endpoint)?;
        let state = Secret::new(random()?);
        let verifier = Secret::new(random()?);
        {
            let mut query = url.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", &client.client_id)
                .append_pair("redirect_uri", redirect_uri)
                .append_pair("code_challenge", &sha256(verifier.expose()))
                .append_pair("code_challenge_method", "S256")
                .append_pair("state", state.expose())
                .append_pair("resource", &found.resource);
            if !scopes.is_empty() {
                query.append_pair("scope", &scopes.to_string());
            }
            if scopes.contains(OFFLINE_ACCESS) {
                // OpenID Connect Core, section 11: without `prompt=consent`, the server ignores `offline_access`.
                query.append_pair("prompt", "consent");
            }
        }
        Ok(Self {
            url,
            state,
            verifier,
            issuer: issuer.clone(),
            expects_iss: server.authorization_response_iss_parameter_supported,
        })
    }

    /// Returns the authorization code from the callback of this request.
    ///
    /// # Errors
    /// Returns an error if the callback belongs to another request or another server, or reports an
    /// error.
    pub(crate) fn accept(self, callback: &Callback) -> Result<AuthorizationCode, Error> {
        let mismatch = |why: &str| {
            let issuer = quoted(&self.issuer);
            let message = format!("the callback does not belong to the request to {issuer}: {why}");
            Err(Error::mismatch(message))
        };
        if callback.repeats() {
            return mismatch("it repeats a parameter");
        }
        match callback.parameter("state") {
            None => return mismatch("it has no state"),
            Some(state) if state != self.state.expose() => {
                return mismatch("its state differs from the state of the request");
            }
            Some(_) => {}
        }
        // The issuer is compared byte for byte, before the code or the error in the callback is
        // used.
        match callback.parameter("iss") {
            None if self.expects_iss => {
                return mismatch("it has no iss, although this server always sends it");
            }
            Some(iss) if iss != self.issuer => {
                return mismatch(&format!("its iss is {}", quoted(iss)));
            }
            _ => {}
        }
        if let Some(error) = callback.parameter("error") {
            let more = callback.parameter("error_description").unwrap_or_default();
            let said = format!("{error} {more}");
            let said = quoted(&said);
            let kind = match error {
                "temporarily_unavailable" | "server_error" => ErrorKind::Unavailable,
                _ => ErrorKind::Denied,
            };
            let issuer = quoted(&self.issuer);
            return Err(Error::new(
                kind,
                format!("{issuer} denied the request: {said}"),
            ));
        }
        match callback.parameter("code").filter(|code| !code.is_empty()) {
            Some(code) => Ok(AuthorizationCode {
                code: code.into(),
                verifier: self.verifier,
            }),
            None => mismatch("it has neither a code nor an error"),
        }
    }
}

/// Checks the URL that is opened for the user. A program may pass the URL to a shell by mistake, so it must not contain
/// characters with a meaning in a shell.
fn checked_endpoint(policy: &UrlPolicy, endpoint: &str) -> Result<Url, Error> {
    let url = parse_url(endpoint, "authorization_endpoint")?;
    policy.check(&url)?;
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-._~:/?#[]@!*+,=&%".contains(char);
    if !endpoint.chars().all(is_plain) || url.fragment().is_some() {
        let shown = redacted(&url);
        let message = format!(
            "the authorization_endpoint {shown} has a fragment, or characters that are not safe in a shell; the \
             browser is not opened"
        );
        return Err(Error::forbidden(message));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::discovery::ServerMetadata;
    use crate::client::registration::Credentials;

    fn found() -> DiscoveryResult {
        let mut server = ServerMetadata::new("https://as.example", "https://as.example/token");
        server.authorization_endpoint = Some("https://as.example/authorize?p=1".to_owned());
        server.code_challenge_methods_supported = Some(vec!["S256".to_owned()]);
        DiscoveryResult {
            resource: "https://mcp.example".to_owned(),
            document: None,
            server,
            is_published: true,
        }
    }

    fn request(found: &DiscoveryResult) -> Result<AuthorizationRequest, Error> {
        let server = Url::parse("https://mcp.example").unwrap();
        let policy = UrlPolicy::new(&server, crate::web::PrivateNetworks::Forbidden).unwrap();
        let client = Registration::of(&Credentials::new("c&c"), "https://as.example");
        let scopes = Scopes::parse("a b");
        AuthorizationRequest::new(&policy, found, &client, "http://127.0.0.1:1/cb", &scopes)
    }

    fn parameter(request: &AuthorizationRequest, name: &str) -> Option<String> {
        let mut all = request.url.query_pairs();
        all.find(|(known, _)| known == name)
            .map(|(_, value)| value.into_owned())
    }

    // proves: AUTH-046, AUTH-087, AUTH-089, AUTH-097, M-AUTH-082
    #[test]
    fn the_authorization_request_has_the_required_parameters() {
        let one = request(&found()).unwrap();
        for (name, value) in [
            ("p", "1"),
            ("response_type", "code"),
            ("client_id", "c&c"),
            ("redirect_uri", "http://127.0.0.1:1/cb"),
            ("resource", "https://mcp.example"),
            ("scope", "a b"),
            ("code_challenge_method", "S256"),
        ] {
            assert_eq!(parameter(&one, name).as_deref(), Some(value), "{name}");
        }
        let challenge = parameter(&one, "code_challenge").unwrap();
        assert_eq!(challenge, sha256(one.verifier.expose()));
        let two = request(&found()).unwrap();
        assert_ne!(parameter(&one, "state"), parameter(&two, "state"));
        assert_ne!(Some(challenge), parameter(&two, "code_challenge"));
    }

    // proves: AUTH-088, AUTH-090, AUTH-091, AUTH-092, AUTH-093, M-AUTH-081, M-AUTH-093
    #[test]
    fn t37_no_authorization_request_is_made_without_s256() {
        for methods in [None, Some(vec![]), Some(vec!["plain".to_owned()])] {
            let mut found = found();
            found.server.code_challenge_methods_supported = methods;
            let error = request(&found).err().unwrap().to_string();
            assert!(error.contains("S256"), "{error}");
        }
        // A server of 2025-03-26 without metadata is required to support PKCE.
        let mut silent = found();
        silent.server.code_challenge_methods_supported = None;
        silent.is_published = false;
        assert!(request(&silent).is_ok());
    }

    // proves: SEC-016, SEC-017, SEC-018, SEC-021
    #[test]
    fn t36_unsafe_authorization_endpoints_are_rejected() {
        for endpoint in [
            "javascript:alert(1)",
            "file:///etc/passwd",
            "data:text/html,x",
            "cmd:calc",
            "http://as.example/authorize",
            "https://user:pw@as.example/authorize",
            "https://as.example/$(calc.exe)",
            "https://as.example/`calc`",
            "https://as.example/a;calc",
            "https://as.example/a|calc",
            "https://as.example/a\"calc",
            "https://as.example/a'calc",
            "https://as.example/a^calc",
            "https://as.example/a<b>",
            "https://as.example/a b",
            "https://as.example/a\nb",
            "https://as.example/{a}",
            "https://as.example/a\\b",
            "https://as.example/a#b",
            "//as.example",
            "",
        ] {
            let mut found = found();
            found.server.authorization_endpoint = Some(endpoint.to_owned());
            assert!(request(&found).is_err(), "{endpoint:?}");
        }
    }

    fn answer(found: &DiscoveryResult, query: &str) -> Result<AuthorizationCode, Error> {
        let request = request(found).unwrap();
        let state = parameter(&request, "state").unwrap();
        let callback = Callback::parse(&query.replace("STATE", &state));
        request.accept(&callback)
    }

    // proves: AUTH-098, M-AUTH-084
    #[test]
    fn t33_the_code_of_another_request_is_rejected() {
        let code = answer(&found(), "code=x&state=STATE").unwrap();
        assert_eq!(code.code.expose(), "x");
        for query in [
            "code=x",
            "code=x&state=",
            "code=x&state=other",
            "code=x&state=STATEx",
            "code=x&state=STATE&state=other",
            "code=x&code=y&state=STATE",
        ] {
            assert!(
                answer(&found(), query).err().unwrap().is_mismatch(),
                "{query}"
            );
        }
    }

    // proves: M-AUTH-019, M-AUTH-022, M-AUTH-023, M-AUTH-024, M-AUTH-025, M-AUTH-026
    #[test]
    fn t35_a_callback_of_another_issuer_is_rejected() {
        let mut naming = found();
        naming.server.authorization_response_iss_parameter_supported = true;
        let good = "code=x&state=STATE&iss=https%3A%2F%2Fas.example";
        assert!(answer(&naming, good).is_ok());
        assert!(answer(&found(), good).is_ok());
        assert!(answer(&naming, "code=x&state=STATE").is_err());
        for iss in [
            "https://as.example/",
            "https://AS.example",
            "https://as.example:443",
            "https://evil.example",
            "",
        ] {
            for found in [&naming, &found()] {
                let error = answer(
                    found,
                    &format!("error=canary&error_description=canary&state=STATE&iss={iss}"),
                );
                let error = error.err().unwrap();
                assert!(error.is_mismatch(), "{iss}");
                assert!(!error.to_string().contains("canary"), "{error}");
            }
        }
    }

    #[test]
    fn the_error_for_a_denied_request_quotes_the_server() {
        let error = answer(
            &found(),
            "error=access_denied&error_description=not+today&state=STATE",
        );
        let error = error.err().unwrap();
        assert!(error.is_denied());
        assert!(error.to_string().contains("not today"), "{error}");
    }
}
