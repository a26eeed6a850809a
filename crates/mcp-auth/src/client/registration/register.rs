//! Dynamic client registration.

use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::{AuthMethod, Registration};
use crate::Secret;
use crate::client::discovery::{ServerMetadata, lists};
use crate::client::token::seconds;
use crate::client::uri_checks::parse_url;
use crate::error::{Error, quoted};
use crate::scopes::Scopes;
use crate::web::{HttpClient, Reply, is_local, redacted};

/// The description of a client for its registration.
#[derive(Debug, Clone)]
pub(crate) struct ClientProfile {
    pub(crate) name: String,
    pub(crate) uri: Option<String>,
}

/// The members of a registration response that the client uses. A member that has another type is treated as missing.
struct RegistrationResponse {
    client_id: String,
    client_secret: Option<Secret>,
    /// The time of expiry, in seconds since 1970. The value 0 means that the registration does not expire.
    expires_at: u64,
    auth_method: Option<AuthMethod>,
    has_scope: bool,
}

impl RegistrationResponse {
    /// Reads a response. Errors do not quote values of the response, because a value may be a secret.
    fn read(reply: &Reply) -> Result<Self, String> {
        let body: Value = reply.json().map_err(|error| {
            let (line, column) = (error.line(), error.column());
            format!("it is not JSON (line {line}, column {column})")
        })?;
        let Value::Object(body) = body else {
            return Err("it is not an object".to_owned());
        };
        let text = |name: &str| match body.get(name) {
            Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        let client_id = text("client_id").ok_or_else(|| {
            let names: Vec<&str> = body.keys().map(String::as_str).take(16).collect();
            let names = quoted(&names.join(", ")).to_string();
            format!("it has no client_id; its members are {names}")
        })?;
        let method = body.get("token_endpoint_auth_method");
        Ok(Self {
            client_id,
            client_secret: text("client_secret").map(Secret::new),
            expires_at: body
                .get("client_secret_expires_at")
                .and_then(seconds)
                .unwrap_or(0),
            auth_method: method.and_then(Value::as_str).and_then(AuthMethod::parse),
            has_scope: body.get("scope").is_some_and(|scope| !scope.is_null()),
        })
    }
}

#[derive(Deserialize)]
struct RegistrationError {
    error: Option<String>,
    error_description: Option<String>,
}

/// Registers the client at the registration endpoint.
///
/// Specification: [RFC 7591](https://www.rfc-editor.org/rfc/rfc7591).
pub(crate) async fn register(
    http_client: &HttpClient,
    server: &ServerMetadata,
    profile: &ClientProfile,
    redirect_uri: &str,
    scopes: &Scopes,
) -> Result<Registration, Error> {
    let endpoint = server.registration_endpoint.as_deref().ok_or_else(|| {
        Error::setup(format!(
            "{} does not support dynamic client registration; register a client manually and \
                 set its id with OAuthBuilder::credentials",
            quoted(&server.issuer)
        ))
    })?;
    let endpoint = parse_url(endpoint, "registration_endpoint")?;
    let kind = application_type(redirect_uri);
    let other = if kind == "native" { "web" } else { "native" };
    let send = async |kind: &str| {
        let document = document(server, profile, redirect_uri, kind, scopes);
        let json = "application/json";
        http_client.post(&endpoint, json, &[], document).await
    };
    // Servers differ in the redirect URIs they allow for an application type. Revision 2026-07-28
    // permits an attempt with the other type.
    let mut reply = send(kind).await?;
    if is_about_redirects(&reply) {
        reply = send(other).await?;
    }
    if !reply.status.is_success() || names_error(&reply) {
        return Err(refused(&endpoint, &reply, redirect_uri));
    }
    let registered = RegistrationResponse::read(&reply).map_err(|problem| {
        let url = redacted(&endpoint);
        Error::invalid_response(format!(
            "the registration response of {url} cannot be used: {problem}"
        ))
    })?;
    let expires = registered.expires_at;
    Ok(Registration {
        issuer: server.issuer.clone(),
        client_id: registered.client_id,
        method: registered.auth_method.filter(|method| match method {
            AuthMethod::Basic | AuthMethod::Post => registered.client_secret.is_some(),
            AuthMethod::None => registered.client_secret.is_none(),
            AuthMethod::Key => false,
        }),
        secret: registered.client_secret,
        key: None,
        redirect_uri: Some(redirect_uri.to_owned()),
        // Stores the requested scopes, because a server that granted fewer scopes would do so again.
        scopes: registered.has_scope.then(|| scopes.clone()),
        expires_at: (expires > 0).then_some(expires),
        is_unanswered: false,
    })
}

/// Returns whether a response contains an error instead of a registration, regardless of its status.
fn names_error(reply: &Reply) -> bool {
    let error = reply.json::<RegistrationError>().ok();
    error.is_some_and(|error| error.error.is_some()) && RegistrationResponse::read(reply).is_err()
}

/// Returns the registration document that describes the client.
fn document(
    server: &ServerMetadata,
    profile: &ClientProfile,
    redirect_uri: &str,
    kind: &str,
    scopes: &Scopes,
) -> String {
    let mut document = json!({
        "client_name": profile.name,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": requested_method(server).name(),
        "application_type": kind,
    });
    if let Some(uri) = &profile.uri {
        document["client_uri"] = json!(uri);
    }
    if let Some(scope) = scopes.to_parameter() {
        document["scope"] = json!(scope);
    }
    document.to_string()
}

/// Returns the authentication method to request. A program on a user's machine cannot keep a
/// secret, so it prefers `none`.
fn requested_method(server: &ServerMetadata) -> AuthMethod {
    let supported = server.token_endpoint_auth_methods_supported.as_deref();
    let has = |method: &AuthMethod| lists(supported, method.name());
    let known = [AuthMethod::None, AuthMethod::Basic, AuthMethod::Post];
    known.into_iter().find(has).unwrap_or(AuthMethod::None)
}

/// Returns the application type of OpenID Connect Registration: `web` if a server on another machine receives the callback,
/// otherwise `native`.
fn application_type(redirect_uri: &str) -> &'static str {
    match Url::parse(redirect_uri) {
        Ok(url) if url.scheme() == "https" && !is_local(&url) => "web",
        _ => "native",
    }
}

fn is_about_redirects(reply: &Reply) -> bool {
    let refused = reply.json::<RegistrationError>().ok();
    let error = refused.and_then(|refused| refused.error);
    !reply.status.is_success() && error.as_deref() == Some("invalid_redirect_uri")
}

fn refused(endpoint: &Url, reply: &Reply, redirect_uri: &str) -> Error {
    let endpoint = redacted(endpoint);
    let status = reply.status;
    if reply.is_temporary() {
        let message = format!("{endpoint} cannot register clients now ({status}); try again later");
        return Error::unavailable(message);
    }
    if status.as_u16() == 404 {
        return Error::invalid_response(format!(
            "{endpoint} does not exist ({status}), so this client cannot register; if the server needs no sign-in, call it \
             without a token; otherwise use a client id that the authorization server has issued"
        ));
    }
    let said = reply.json::<RegistrationError>().ok().and_then(|refused| {
        let error = refused.error?;
        let more = refused.error_description.unwrap_or_default();
        Some(format!("; it says {}", quoted(&format!("{error} {more}"))))
    });
    let said = said.unwrap_or_default();
    Error::invalid_response(format!(
        "{endpoint} rejected the registration of a client with the redirect URI {} \
             ({status}){said}",
        quoted(redirect_uri)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::registration::Credentials;

    #[test]
    fn the_requested_authentication_method_is_supported_by_the_server() {
        let server = |methods: Option<&[&str]>| ServerMetadata {
            token_endpoint_auth_methods_supported: methods
                .map(|all| all.iter().map(|&i| i.to_owned()).collect()),
            ..ServerMetadata::default()
        };
        let public = Registration::of(&Credentials::new("c"), "i");
        let secret = Registration::of(&Credentials::new("c").secret("s"), "i");
        let post: &[&str] = &["client_secret_post"];
        assert_eq!(public.method(&server(None)), AuthMethod::None);
        assert_eq!(secret.method(&server(None)), AuthMethod::Basic);
        assert_eq!(secret.method(&server(Some(post))), AuthMethod::Post);
        assert_eq!(requested_method(&server(Some(post))), AuthMethod::Post);
        assert_eq!(
            requested_method(&server(Some(&["none", "client_secret_basic"]))),
            AuthMethod::None
        );
    }

    // proves: M-AUTH-071
    #[test]
    fn the_application_type_depends_on_the_redirect_uri() {
        assert_eq!(application_type("http://127.0.0.1:4711/callback"), "native");
        assert_eq!(application_type("http://localhost:3000/callback"), "native");
        assert_eq!(application_type("com.example.app:/callback"), "native");
        assert_eq!(application_type("https://app.example.com/callback"), "web");
    }
}
