//! Servers with TLS: private CAs, and certificates that people get wrong.

use std::net::TcpListener as StdListener;
use std::path::{Path, PathBuf};

use mcp_transport_http::ServerOptions;
use serde_json::{Value, json};

use crate::support::{Issuer, Program, callback, notes, open};
use crate::terminator;

fn certificate(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.join("tests/login/certificates").join(name)
}

/// Starts a listener with this certificate for the server at the port `plain`. Returns the port of the listener.
async fn end_tls(name: &str, plain: u16) -> u16 {
    let (chain, key) = (certificate(name), certificate("server.key"));
    terminator::end_tls((&chain, &key), None, plain).await
}

/// Starts a server without TLS. Returns its port.
async fn plain() -> u16 {
    terminator::plain(ServerOptions::new()).await
}

/// The URL of a server with this certificate.
async fn secure(name: &str) -> String {
    format!(
        "https://localhost:{}/mcp",
        end_tls(name, plain().await).await
    )
}

fn ca() -> String {
    certificate("ca.pem").to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_ca_is_trusted_with_an_option() {
    let (program, url) = (Program::new("ca"), secure("valid.pem").await);
    let (code, said) = program.run(&["list", &url]).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("issued by a CA that this client does not trust"),
        "{said}"
    );
    assert!(said.contains("--ca FILE"), "{said}");
    assert!(!said.contains("UnknownIssuer"), "{said}");
    let (code, said) = program.run(&["list", &url, "--ca", &ca()]).await;
    assert_eq!(code, Some(0), "{said}");
    for (file, expected) in [
        ("server.key", "there is no certificate"),
        ("no.pem", "No such file"),
    ] {
        let file = certificate(file).to_str().unwrap().to_owned();
        let (code, said) = program.run(&["list", &url, "--ca", &file]).await;
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(expected) && said.contains(&file), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_errors_say_what_to_do() {
    let program = Program::new("tls");
    let port = plain().await;
    for (url, reason) in [
        (
            secure("self-signed.pem").await,
            "basicConstraints=critical,CA:FALSE",
        ),
        (secure("expired.pem").await, "days ago; renew it"),
        (
            secure("other-name.pem").await,
            "is for other.example, not for \"localhost\"",
        ),
        (
            format!("https://localhost:{port}/mcp"),
            "use http:// if the server runs on this machine",
        ),
    ] {
        let (code, said) = program.run(&["list", &url, "--ca", &ca()]).await;
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(reason), "{said}");
        for name in [
            "CaUsedAsEndEntity",
            "InvalidContentType",
            "invalid peer certificate",
        ] {
            assert!(!said.contains(name), "{said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_prints_a_tls_error_once() {
    let (program, url) = (Program::new("tls-doctor"), secure("self-signed.pem").await);
    let run = |words: &[&str]| {
        let mut command = program.command(words);
        tokio::task::spawn_blocking(move || command.output().unwrap())
    };
    let output = run(&["doctor", &url]).await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8(printed).unwrap();
    assert_eq!(printed.matches("openssl req -x509").count(), 1, "{printed}");

    let output = run(&["doctor", "--json", &url]).await.unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["ok"], json!(false), "{report}");
    let steps = report["steps"].as_array().unwrap();
    let steps: Vec<_> = steps
        .iter()
        .map(|step| (&step["step"], &step["ok"]))
        .collect();
    let expected = [
        (&json!("proxy"), &json!(true)),
        (&json!("address"), &json!(true)),
        (&json!("port"), &json!(true)),
        (&json!("connection"), &json!(false)),
    ];
    assert_eq!(steps, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authorization_server_with_a_private_ca_is_trusted_with_an_option() {
    let program = Program::new("ca-login");
    let inner = StdListener::bind("127.0.0.1:0").unwrap();
    let port = inner.local_addr().unwrap().port();
    let issuer = format!("https://localhost:{}", end_tls("valid.pem", port).await);
    let issuer = Issuer::at(inner, issuer);
    let url = notes(&issuer).await;
    let (code, said) = program.run(&["login", "--no-browser", &url]).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("issued by a CA that this client does not trust"),
        "{said}"
    );
    let login = program.login(&[&url, "--ca", &ca()], |page, _| {
        open(&callback(page, "read"));
    });
    assert!(login.await.contains("signed in"));
    assert_eq!(issuer.count("POST /token"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_trusts_a_private_ca_of_its_file_and_of_the_option() {
    let (program, url) = (Program::new("ca-gateway"), secure("valid.pem").await);
    let file = program.tokens.with_file_name("gateway.json");
    let file_text = |ca: Value| {
        let servers = json!({ "notes": { "url": url } });
        let gateway = json!({ "listen": "127.0.0.1:0", "tls": { "ca": ca }, "servers": { "notes": { "required": true } } });
        json!({ "mcpServers": servers, "gateway": gateway }).to_string()
    };
    let path = file.to_str().unwrap();
    std::fs::write(&file, file_text(json!(certificate("no.pem")))).unwrap();
    let (code, said) = program.run(&["serve", path, "--check"]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("no.pem"), "{said}");

    for (ca_of_file, words) in [
        (json!(ca()), vec![]),
        (Value::Null, vec!["--ca".to_owned(), ca()]),
    ] {
        std::fs::write(&file, file_text(ca_of_file)).unwrap();
        // The end of stdin ends the gateway.
        let words: Vec<&str> = [
            "call",
            "notes__ready",
            "--",
            env!("CARGO_BIN_EXE_mcp"),
            "serve",
            path,
            "--stdio",
        ]
        .into_iter()
        .chain(words.iter().map(String::as_str))
        .collect();
        let (code, said) = program.run(&words).await;
        assert_eq!(code, Some(0), "{said}");
    }
}
