//! What the user can do about a sign-in that fails: the kind of the error decides, not its text, which can have words of the server.

use std::io::Write as _;
use std::net::TcpListener;

use serde_json::json;

use crate::support::{Issuer, Program, notes, read};

const METADATA: &str = "must answer GET requests for its metadata";
const TOKENS_ONLY: &str = "configured tokens only";

/// A server whose metadata describes another resource. Returns its URL.
fn mismatched(resource: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let issuer = listener.local_addr().unwrap();
    let document = json!({
        "resource": resource,
        "authorization_servers": [format!("http://{issuer}")],
    });
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (status, body) = match read(&mut stream).contains(" /mcp ") {
                true => (
                    "401 Unauthorized\r\nwww-authenticate: Bearer",
                    String::new(),
                ),
                false => (
                    "200 OK\r\ncontent-type: application/json",
                    document.to_string(),
                ),
            };
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
            );
            let _ = stream.write_all((head + &body).as_bytes());
        }
    });
    url
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sign_in_hint_does_not_depend_on_text_of_the_server() {
    let program = Program::new("words");
    for words in [
        "other",
        "names no authorization server",
        "the stored sign-in",
        "mcp login",
    ] {
        let url = mismatched(&format!("https://a.example/{words}"));
        let (code, said) = program.run(&["list", &url]).await;
        assert_eq!(code, Some(5), "{said}");
        assert!(said.contains(words), "{said}");
        assert!(
            said.contains("the URL by which the server calls itself"),
            "{said}"
        );
        assert!(!said.contains(TOKENS_ONLY), "{words}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_token_file_is_not_reported_as_an_error_of_the_server() {
    let (program, issuer) = (Program::new("unreadable"), Issuer::start());
    let url = notes(&issuer).await;
    std::fs::write(&program.tokens, "{").unwrap();
    let (code, said) = program.run(&["list", &url]).await;
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("tokens.json"), "{said}");
    for hint in [METADATA, TOKENS_ONLY] {
        assert!(!said.contains(hint), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hint_for_a_missing_sign_in_names_login_and_the_token_option() {
    let (program, issuer) = (Program::new("none"), Issuer::start());
    let url = notes(&issuer).await;
    let (code, said) = program.run(&["list", &url]).await;
    assert_eq!(code, Some(5), "{said}");
    for part in ["there is no stored sign-in", "--header", "mcp login"] {
        assert_eq!(said.matches(part).count(), 1, "{part}: {said}");
    }
    assert!(said.contains(&format!("mcp login {url}")), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hint_for_a_refused_header_names_the_header_and_the_login() {
    let (program, issuer) = (Program::new("refused"), Issuer::start());
    let url = notes(&issuer).await;
    let (code, said) = program
        .run(&["list", &url, "--header", "Authorization: Bearer x"])
        .await;
    assert_eq!(code, Some(5), "{said}");
    let advice = format!("sign in with `mcp login {url}`, or pass a valid token with --header");
    assert!(said.contains(&advice), "{said}");
    assert!(!said.contains(TOKENS_ONLY), "{said}");
}
