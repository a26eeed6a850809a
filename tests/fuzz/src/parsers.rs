//! Parsers of what peers send.

use std::sync::LazyLock;

use http::{HeaderMap, HeaderValue, header};
use mcp_auth::Secret;
use mcp_auth::client::Challenge;
use mcp_auth::server::{Audience, Jwks, Jwt, Verify};
use mcp_jsonrpc::{Frame, Limits, Message, parse, write_notification, write_request};
use mcp_schema::{Origin, Validator};
use mcp_server::UriTemplate;
use serde_json::{Map, Value};

/// A message that is accepted is JSON, and is parsed to the same message again after it was written.
pub fn envelope(data: &[u8]) {
    let Ok(frame) = parse(data, &Limits::default()) else {
        return;
    };
    assert!(serde_json::from_slice::<&serde_json::value::RawValue>(data).is_ok());
    match frame {
        Frame::Single(message) => again(&message),
        Frame::Batch(batch) => {
            for message in batch.iter().flatten() {
                again(&message);
            }
        }
    }
}

fn again(message: &Message<'_>) {
    let mut text = Vec::new();
    match message {
        Message::Request(request) => {
            let params = request.params.map(str::as_bytes);
            write_request(&mut text, &request.id, &request.method, params);
        }
        Message::Notification(notification) => {
            let params = notification.params.map(str::as_bytes);
            write_notification(&mut text, &notification.method, params);
        }
        Message::Response(_) => return,
    }
    let parsed = parse(&text, &Limits::default());
    match (message, parsed) {
        (Message::Request(before), Ok(Frame::Single(Message::Request(after)))) => {
            assert_eq!((&before.id, &before.method), (&after.id, &after.method));
            assert_eq!(before.params, after.params);
        }
        (Message::Notification(before), Ok(Frame::Single(Message::Notification(after)))) => {
            assert_eq!(before.method, after.method);
            assert_eq!(before.params, after.params);
        }
        (before, after) => panic!("{before:?} became {after:?}"),
    }
}

/// The first line is a template, the second a URI.
pub fn uri_template(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (template, uri) = text.split_once('\n').unwrap_or((&text, ""));
    let Ok(template) = UriTemplate::parse(template) else {
        return;
    };
    let Some(values) = template.matches(uri) else {
        return;
    };
    // With operators, a variable that occurs twice may be expanded where it was absent or has other characters.
    let operators = ['+', '#', '.', '/', ';', '?', '&'];
    if !template.as_str().contains(operators) {
        let expanded = template.expand(&values);
        // Percent-encoding can exceed the maximum length of a URI.
        if expanded.len() <= 8 << 10 {
            assert_eq!(template.matches(&expanded), Some(values), "{expanded}");
        }
    }
}

/// The first line is a schema, the rest a value.
pub fn schema(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n');
    let (schema, value) = data.split_at(end.unwrap_or(data.len()));
    let Ok(schema) = serde_json::from_slice::<Map<String, Value>>(schema) else {
        return;
    };
    let Ok(validator) = Validator::compile(&schema, Origin::Foreign) else {
        return;
    };
    let value = serde_json::from_slice(value).unwrap_or(Value::Null);
    // Whether the value is valid is not known here.
    let _ = validator.check(&value);
}

/// Each line is a header.
pub fn www_authenticate(data: &[u8]) {
    let mut headers = HeaderMap::new();
    for line in data.split(|byte| *byte == b'\n').take(8) {
        if let Ok(value) = HeaderValue::from_bytes(line) {
            headers.append(header::WWW_AUTHENTICATE, value);
        }
    }
    for challenge in Challenge::all(&headers) {
        assert!(challenge.has_scheme(challenge.scheme()));
        let _ = (challenge.parameter("resource_metadata"), challenge.scopes());
    }
}

/// An access token. None is valid, because none is signed with the key, which is an example of RFC 7517.
pub fn token(data: &[u8]) {
    static VERIFIER: LazyLock<(Jwt, Audience)> = LazyLock::new(|| {
        let keys = r#"{"keys":[{"kty":"EC","crv":"P-256","alg":"ES256","kid":"1",
            "x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
            "y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}"#;
        let keys = Jwks::from_json(keys).expect("the key is valid");
        let verifier = Jwt::builder("https://issuer.example").keys(keys).build();
        let audience = Audience::new("https://mcp.example/mcp");
        (
            verifier.expect("the settings are valid"),
            audience.expect("the URL is valid"),
        )
    });
    let (verifier, audience) = &*VERIFIER;
    let token = Secret::from(&*String::from_utf8_lossy(data));
    let verified = crate::run(verifier.verify(&token, audience));
    assert!(verified.is_err());
}
