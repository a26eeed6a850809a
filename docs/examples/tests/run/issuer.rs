//! An authorization server on this machine. Its only user, Ada, consents to everything.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderName, StatusCode};
use axum::routing::{get, post};
use data_encoding::BASE64URL_NOPAD;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::form_urlencoded;

type Fields = HashMap<String, String>;
type Page = (StatusCode, [(HeaderName, String); 1], String);

#[derive(Clone)]
pub(crate) struct Issuer(Arc<Inner>);

struct Inner {
    url: String,
    key: EcdsaKeyPair,
    /// The authorization requests by their codes.
    codes: Mutex<HashMap<String, Fields>>,
}

impl Issuer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let issuer = Self(Arc::new(Inner {
            url: format!("http://{}", listener.local_addr().unwrap()),
            key: EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).unwrap(),
            codes: Mutex::default(),
        }));
        let router = Router::new()
            .route("/.well-known/oauth-authorization-server", get(metadata))
            .route("/jwks", get(keys))
            .route("/register", post(register))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .with_state(issuer.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        issuer
    }

    pub(crate) fn url(&self) -> &str {
        &self.0.url
    }

    /// Signs an access token of Ada for the server with the URL `audience`.
    pub(crate) fn token(&self, audience: &str, scope: &str) -> String {
        let expiry = SystemTime::now() + Duration::from_secs(300);
        let expiry = expiry.duration_since(UNIX_EPOCH).unwrap().as_secs();
        let header = json!({ "typ": "at+jwt", "alg": "ES256", "kid": "1" });
        let claims = json!({
            "iss": self.0.url, "sub": "ada", "aud": audience, "exp": expiry, "scope": scope, "client_id": "test"
        });
        let part = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
        let message = format!("{}.{}", part(&header), part(&claims));
        let signature = self
            .0
            .key
            .sign(&SystemRandom::new(), message.as_bytes())
            .unwrap();
        format!("{message}.{}", BASE64URL_NOPAD.encode(signature.as_ref()))
    }
}

fn page(status: StatusCode, body: &Value) -> Page {
    (
        status,
        [(CONTENT_TYPE, "application/json".to_owned())],
        body.to_string(),
    )
}

fn fields(text: &str) -> Fields {
    form_urlencoded::parse(text.as_bytes())
        .into_owned()
        .collect()
}

async fn metadata(State(issuer): State<Issuer>) -> Page {
    let url = issuer.url();
    let metadata = json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
        "registration_endpoint": format!("{url}/register"),
        "jwks_uri": format!("{url}/jwks"),
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": true
    });
    page(StatusCode::OK, &metadata)
}

async fn keys(State(issuer): State<Issuer>) -> Page {
    let (x, y) = issuer.0.key.public_key().as_ref()[1..].split_at(32);
    let [x, y] = [x, y].map(|part| BASE64URL_NOPAD.encode(part));
    let key = json!({ "kty": "EC", "crv": "P-256", "kid": "1", "alg": "ES256", "x": x, "y": y });
    page(StatusCode::OK, &json!({ "keys": [key] }))
}

async fn register(body: String) -> Page {
    let mut client: Value = serde_json::from_str(&body).unwrap();
    client["client_id"] = "test".into();
    page(StatusCode::CREATED, &client)
}

async fn authorize(State(issuer): State<Issuer>, RawQuery(query): RawQuery) -> Page {
    let request = fields(&query.unwrap());
    assert_eq!(request["code_challenge_method"], "S256");
    let mut codes = issuer.0.codes.lock().unwrap();
    let code = format!("code-{}", codes.len());
    let callback = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([
            ("code", &*code),
            ("state", &request["state"]),
            ("iss", issuer.url()),
        ])
        .finish();
    let callback = format!("{}?{callback}", request["redirect_uri"]);
    codes.insert(code, request);
    (StatusCode::FOUND, [(LOCATION, callback)], String::new())
}

async fn token(State(issuer): State<Issuer>, body: String) -> Page {
    let form = fields(&body);
    let request = issuer.0.codes.lock().unwrap()[&form["code"]].clone();
    let challenge = digest(&SHA256, form["code_verifier"].as_bytes());
    assert_eq!(
        request["code_challenge"],
        BASE64URL_NOPAD.encode(challenge.as_ref())
    );
    let scope = request.get("scope").map_or("", String::as_str);
    let token = issuer.token(&request["resource"], scope);
    let body =
        json!({ "access_token": token, "token_type": "Bearer", "expires_in": 300, "scope": scope });
    page(StatusCode::OK, &body)
}
