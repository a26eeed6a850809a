//! The responses of the authorization server.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Buf as _;
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use http::{Method, Request, Response};
use http_body::Body as _;
use hyper::body::Incoming;
use mcp_protocol::BoxFuture;
use serde_json::{Value, json};
use tower_service::Service;
use url::Url;
use url::form_urlencoded;

use super::{
    AuthServer, Code, Grant, LIFE, ROBOT_ID, ROBOT_SECRET, SERVER_ID, SERVER_SECRET, sign,
};

type Fields = HashMap<String, String>;

/// The authorization server as a service.
#[derive(Debug, Clone)]
pub(super) struct Pages(pub(super) AuthServer);

impl Service<Request<Incoming>> for Pages {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let server = self.0.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = whole(body).await;
            let authorization = parts.headers.get(AUTHORIZATION);
            let authorization = authorization.and_then(|value| value.to_str().ok());
            let proof = parts
                .headers
                .get("dpop")
                .and_then(|value| value.to_str().ok());
            Ok(match (&parts.method, parts.uri.path()) {
                (&Method::GET, "/.well-known/oauth-authorization-server") => {
                    json(200, &server.metadata())
                }
                (&Method::GET, "/jwks") => json(200, &json!({ "keys": [server.0.signer.jwk()] })),
                (&Method::POST, "/register") => server.register(&body),
                (&Method::GET, "/authorize") => {
                    server.authorize(&fields(parts.uri.query().unwrap_or_default()))
                }
                (&Method::POST, "/token") => server.redeem(authorization, proof, fields(&body)),
                (&Method::POST, "/introspect") => server.introspect(authorization, &fields(&body)),
                _ => json(404, &json!({})),
            })
        })
    }
}

impl AuthServer {
    fn metadata(&self) -> Value {
        let issuer = self.issuer();
        let at = |path: &str| format!("{issuer}{path}");
        json!({
            "issuer": issuer,
            "authorization_endpoint": at("/authorize"),
            "token_endpoint": at("/token"),
            "registration_endpoint": at("/register"),
            "introspection_endpoint": at("/introspect"),
            "jwks_uri": at("/jwks"),
            "code_challenge_methods_supported": ["S256"],
            "dpop_signing_alg_values_supported": ["ES256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": true,
        })
    }

    fn register(&self, body: &str) -> Response<String> {
        let client: Value = serde_json::from_str(body).unwrap_or_default();
        let uris = client["redirect_uris"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let uris = uris
            .iter()
            .filter_map(|uri| uri.as_str().map(str::to_owned));
        let mut state = self.state();
        let id = format!("client-{}", state.clients.len() + 1);
        state.clients.insert(id.clone(), uris.collect());
        json(
            201,
            &json!({ "client_id": id, "redirect_uris": client["redirect_uris"] }),
        )
    }

    /// Redirects at once, because the user consents.
    fn authorize(&self, query: &Fields) -> Response<String> {
        let get = |name: &str| query.get(name).cloned().unwrap_or_default();
        let (client, redirect) = (get("client_id"), get("redirect_uri"));
        let known = self
            .state()
            .clients
            .get(&client)
            .cloned()
            .unwrap_or_default();
        // The browser is only redirected to URIs that the client registered.
        if !known.contains(&redirect) {
            return json(400, &json!({ "error": "invalid_request" }));
        }
        let is_code = get("response_type") == "code" && get("code_challenge_method") == "S256";
        assert!(is_code, "{query:?}");
        let code = self.secret("canary-code");
        let grant = Grant {
            client,
            scope: get("scope"),
            resource: get("resource"),
        };
        let kept = Code {
            grant,
            redirect: redirect.clone(),
            challenge: get("code_challenge"),
        };
        let mut state = self.state();
        state.codes.insert(code.clone(), kept);
        state.secrets.push(get("state"));
        drop(state);
        let mut to = Url::parse(&redirect).expect("a redirect URI");
        to.query_pairs_mut()
            .append_pair("code", &code)
            .append_pair("state", &get("state"))
            .append_pair("iss", self.issuer());
        let response = Response::builder()
            .status(302)
            .header(LOCATION, to.as_str());
        response.body(String::new()).expect("a response")
    }

    fn redeem(
        &self,
        authorization: Option<&str>,
        proof: Option<&str>,
        form: Fields,
    ) -> Response<String> {
        let get = |name: &str| form.get(name).cloned().unwrap_or_default();
        let grant = match get("grant_type").as_str() {
            "authorization_code" => {
                let verifier = get("code_verifier");
                let mut state = self.state();
                state.secrets.push(verifier.clone());
                // A code is valid once.
                let code = state.codes.remove(&get("code"));
                code.filter(|code| {
                    code.challenge == sign::challenge(&verifier)
                        && code.redirect == get("redirect_uri")
                        && code.grant.client == get("client_id")
                        && code.grant.resource == get("resource")
                })
                .map(|code| code.grant)
            }
            "refresh_token" => self.state().refreshes.remove(&get("refresh_token")),
            "client_credentials" => {
                let credentials = format!("{ROBOT_ID}:{ROBOT_SECRET}");
                let basic = format!(
                    "Basic {}",
                    data_encoding::BASE64.encode(credentials.as_bytes())
                );
                let is_posted =
                    get("client_id") == ROBOT_ID && get("client_secret") == ROBOT_SECRET;
                (is_posted || authorization == Some(&*basic)).then(|| Grant {
                    client: ROBOT_ID.to_owned(),
                    scope: get("scope"),
                    resource: get("resource"),
                })
            }
            _ => None,
        };
        self.state().asked.push(form);
        let Some(grant) = grant else {
            return json(400, &json!({ "error": "invalid_grant" }));
        };
        let subject = if grant.client == ROBOT_ID {
            ROBOT_ID
        } else {
            "alice"
        };
        let key = proof.map(sign::thumbprint);
        let token = self.bound_token(
            subject,
            &grant.client,
            &grant.scope,
            &grant.resource,
            key.as_deref(),
        );
        let kind = if key.is_some() { "DPoP" } else { "Bearer" };
        let refresh = self.secret("canary-refresh");
        let scope = grant.scope.clone();
        self.state().refreshes.insert(refresh.clone(), grant);
        let answer = json!({
            "access_token": token, "token_type": kind, "expires_in": LIFE, "scope": scope,
            "refresh_token": refresh,
        });
        json(200, &answer)
    }

    fn introspect(&self, authorization: Option<&str>, form: &Fields) -> Response<String> {
        let credentials = format!("{SERVER_ID}:{SERVER_SECRET}");
        let expected = format!(
            "Basic {}",
            data_encoding::BASE64.encode(credentials.as_bytes())
        );
        if authorization != Some(&*expected) {
            return json(401, &json!({ "error": "invalid_client" }));
        }
        let state = self.state();
        let known = form.get("token").and_then(|token| state.tokens.get(token));
        json(200, known.unwrap_or(&json!({ "active": false })))
    }
}

fn fields(text: &str) -> Fields {
    let pairs = form_urlencoded::parse(text.as_bytes());
    pairs.into_owned().collect()
}

fn json(status: u16, body: &Value) -> Response<String> {
    let response = Response::builder()
        .status(status)
        .header(CONTENT_TYPE, "application/json");
    response.body(body.to_string()).expect("a response")
}

async fn whole(mut body: Incoming) -> String {
    let mut text = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let Ok(Ok(data)) = frame.map(http_body::Frame::into_data) else {
            break;
        };
        text.extend_from_slice(data.chunk());
    }
    String::from_utf8(text).unwrap_or_default()
}
