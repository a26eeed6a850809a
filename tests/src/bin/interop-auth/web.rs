//! HTTP requests of the tests themselves, each on a separate connection.

use mcp_tests::tcp::{Answer, Conn, Request};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use url::Url;
use url::form_urlencoded::Serializer;

use crate::report::{Fault, same};

/// Requests a page.
pub(crate) async fn get(url: &Url, headers: &[(&str, &str)]) -> Result<Answer, Fault> {
    send(url, "GET", Request::get().with("accept", "*/*"), headers).await
}

/// Sends a form.
pub(crate) async fn form(
    url: &Url,
    fields: &[(impl AsRef<str>, impl AsRef<str>)],
    headers: &[(&str, &str)],
) -> Result<Answer, Fault> {
    let body = Serializer::new(String::new()).extend_pairs(fields).finish();
    let request = Request::post(body).with("content-type", "application/x-www-form-urlencoded");
    send(url, "POST", request, headers).await
}

/// Sends JSON.
pub(crate) async fn post(
    url: &Url,
    body: &Value,
    headers: &[(&str, &str)],
) -> Result<Answer, Fault> {
    send(url, "POST", Request::post(body.to_string()), headers).await
}

/// Sends a request with a token to a protected server.
pub(crate) async fn knock(server: &str, scheme: &str, token: &str) -> Result<Answer, Fault> {
    let hello = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": mcp_tests::wire::initialize_params("2025-11-25", json!({})),
    });
    let value = format!("{scheme} {token}");
    post(&server.parse()?, &hello, &[("authorization", &value)]).await
}

/// Fails unless the server rejects the token for this reason, with a challenge that a client can parse.
pub(crate) fn refused(answer: &Answer, reason: &str) -> Result<(), Fault> {
    same("the status", answer.status, 401)?;
    let challenge = answer.header("www-authenticate").unwrap_or_default();
    crate::report::says("the challenge", challenge, "error=\"invalid_token\"")?;
    crate::report::says("the challenge", challenge, reason)
}

/// The JSON of a successful answer.
pub(crate) fn json_of(answer: &Answer) -> Result<Value, Fault> {
    if !matches!(answer.status, 200 | 201) {
        return Err(format!("{} {:?}", answer.status, answer.text()).into());
    }
    Ok(serde_json::from_slice(&answer.body)?)
}

async fn send(
    url: &Url,
    method: &str,
    request: Request,
    headers: &[(&str, &str)],
) -> Result<Answer, Fault> {
    let host = url.authority();
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let request = request.line(&format!("{method} {target} HTTP/1.1"));
    let request = headers.iter().fold(
        request.with("host", host).with("connection", "close"),
        |request, (name, value)| request.with(name, value),
    );
    let stream = TcpStream::connect(host)
        .await
        .map_err(|error| format!("{url}: {error}"))?;
    Ok(Conn::new(stream).ask(&request).await)
}
