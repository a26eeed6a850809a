//! The request that a user says yes to, and the answer that comes back.
//!
//! Specification: authorization code protection and open redirection; [RFC 7636](https://www.rfc-editor.org/rfc/rfc7636)
//! (PKCE), [RFC 9207](https://www.rfc-editor.org/rfc/rfc9207) (who answers).

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

/// One request for consent, and everything that its answer is checked against.
pub(crate) struct AuthorizationRequest {
    pub(crate) url: Url,
    state: Secret,
    verifier: Secret,
    issuer: String,
    expects_iss: bool,
}

/// A code, and what proves that it was this client who asked for it.
pub(crate) struct AuthorizationCode {
    pub(crate) code: Secret,
    pub(crate) verifier: Secret,
}

impl AuthorizationRequest {
    /// A request for these scopes.
    ///
    /// # Errors
    /// The authorization server does not protect codes, or its endpoint is no safe address.
    pub(crate) fn new(
        policy: &UrlPolicy,
        found: &DiscoveryResult,
        client: &Registration,
        redirect_uri: &str,
        scopes: &Scopes,
    ) -> Result<Self, Error> {
        let server = &found.server;
        let issuer = &server.issuer;
        // MUST refuse to proceed if the metadata does not say that S256 is known.
        let methods = server.code_challenge_methods_supported.as_deref();
        if found.is_published && !lists(methods, "S256") {
            return Err(Error::new(
                ErrorKind::InvalidResponse,
                format!(
                    "{} does not protect authorization codes: its metadata does not list S256 in \
                     code_challenge_methods_supported, and without it nobody is sent there",
                    quoted(issuer)
                ),
            ));
        }
        let endpoint = server.authorization_endpoint.as_deref().ok_or_else(|| {
            let issuer = quoted(issuer);
            let message = format!("{issuer} has no authorization_endpoint to send the user to");
            Error::new(ErrorKind::InvalidResponse, message)
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
                // OpenID Connect Core, section 11: without it, the scope is ignored.
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

    /// The code in the answer to this request, and in no other.
    ///
    /// # Errors
    /// The answer is not to this request, is of another server, or says no.
    pub(crate) fn accept(self, callback: &Callback) -> Result<AuthorizationCode, Error> {
        let mismatch = |why: &str| {
            let issuer = quoted(&self.issuer);
            let message = format!("the callback is not the answer of {issuer}: {why}");
            Err(Error::new(ErrorKind::Mismatch, message))
        };
        if callback.repeats() {
            return mismatch("it says the same thing twice");
        }
        match callback.parameter("state") {
            None => return mismatch("it has no state"),
            Some(state) if state != self.state.expose() => {
                return mismatch("its state is not the one that was sent");
            }
            Some(_) => {}
        }
        // Compared to the letter, before anything else in it is looked at, errors included.
        match callback.parameter("iss") {
            None if self.expects_iss => {
                return mismatch(
                    "it does not say who answers (iss), which this server always does",
                );
            }
            Some(iss) if iss != self.issuer => {
                return mismatch(&format!("it is from {}", quoted(iss)));
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
            return Err(Error::new(kind, format!("{issuer} says no: {said}")));
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

/// The address to send a user to: somebody may hand it to a program that opens it, and nothing in
/// it may mean anything to a shell.
fn checked_endpoint(policy: &UrlPolicy, endpoint: &str) -> Result<Url, Error> {
    let url = parse_url(endpoint, "authorization_endpoint")?;
    policy.check(&url)?;
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-._~:/?#[]@!*+,=&%".contains(char);
    if !endpoint.chars().all(is_plain) || url.fragment().is_some() {
        let shown = redacted(&url);
        let message = format!(
            "the authorization_endpoint {shown} has characters that no such address has; \
             nobody is sent there"
        );
        return Err(Error::new(ErrorKind::Forbidden, message));
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
        let policy = UrlPolicy::new(&server, false).unwrap();
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
    fn the_request_has_what_it_must_have() {
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
    fn t37_no_request_without_s256() {
        for methods in [None, Some(vec![]), Some(vec!["plain".to_owned()])] {
            let mut found = found();
            found.server.code_challenge_methods_supported = methods;
            let error = request(&found).err().unwrap().to_string();
            assert!(error.contains("S256"), "{error}");
        }
        // A server of 2025-03-26 that publishes nothing has to know it.
        let mut silent = found();
        silent.server.code_challenge_methods_supported = None;
        silent.is_published = false;
        assert!(request(&silent).is_ok());
    }

    // proves: SEC-016, SEC-017, SEC-018, SEC-021
    #[test]
    fn t36_nobody_is_sent_to_an_address_that_does_more_than_open() {
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
    fn t33_a_code_for_another_request_is_not_taken() {
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
    fn t35_the_server_that_answers_is_the_one_that_was_asked() {
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
    fn a_no_is_told_in_the_words_of_the_server() {
        let error = answer(
            &found(),
            "error=access_denied&error_description=not+today&state=STATE",
        );
        let error = error.err().unwrap();
        assert!(error.is_denied());
        assert!(error.to_string().contains("not today"), "{error}");
    }
}
