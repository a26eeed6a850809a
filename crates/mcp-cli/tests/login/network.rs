//! Corporate networks: proxies, private CAs, and servers that require a client certificate.

use std::net::TcpListener as StdListener;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use mcp_client::Client;
use mcp_transport_http::{ClientOptions, ClientProxy, ClientTls, HttpTransport, ServerOptions};
use serde_json::json;
use tokio::net::TcpListener;

use crate::proxy::{Behaviour, TestProxy};
use crate::support::{Issuer, Program, callback, notes_at, open};
use crate::terminator;

/// Returns the path of a certificate or key.
fn file(name: &str) -> String {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp-transport-http/tests/certificates");
    folder.join(name).to_str().unwrap().to_owned()
}

/// Starts a listener that terminates TLS for the server at the port `plain`. Returns the port of the listener.
async fn end_tls(plain: u16, requires_certificate: bool) -> u16 {
    let (chain, key, ca) = (file("server.pem"), file("server.key"), file("ca.pem"));
    let ca = requires_certificate.then(|| Path::new(&ca));
    terminator::end_tls((chain.as_ref(), key.as_ref()), ca, plain).await
}

/// Starts a server without TLS. Returns its port.
async fn plain() -> u16 {
    terminator::plain(ServerOptions::new().allow_host("server.test")).await
}

/// Starts a server with TLS. Returns its URL, with a host name that only the test proxies can resolve.
async fn secure() -> String {
    let port = end_tls(plain().await, false).await;
    format!("https://server.test:{port}/mcp")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_opens_tunnels_and_sees_only_the_name_of_the_server() {
    let (program, url) = (Program::new("tunnel"), secure().await);
    let proxy = TestProxy::start(Behaviour::Http).await;
    let with_login = format!("http://ada:pass%20word@127.0.0.1:{}", proxy.port);
    let words = [
        "call",
        &url,
        "ready",
        "--ca",
        &file("ca.pem"),
        "--proxy",
        &with_login,
    ];
    let (code, said) = program.run(&words).await;
    assert_eq!(code, Some(0), "{said}");
    let seen = proxy.seen();
    assert!(!seen.is_empty());
    let authority = url.trim_start_matches("https://").trim_end_matches("/mcp");
    for head in seen {
        // "ada:pass word" in base64
        let expected = format!(
            "CONNECT {authority} HTTP/1.1\r\nhost: {authority}\r\nproxy-authorization: Basic YWRhOnBhc3Mgd29yZA==\r\n\r\n"
        );
        assert_eq!(head, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_names_the_proxy_and_its_exceptions() {
    let (program, url) = (Program::new("environment"), secure().await);
    let proxy = TestProxy::start(Behaviour::Http).await;
    let run = async |variables: &[(&str, &str)], words: &[&str]| {
        let mut command =
            program.command(&[&["call", &url, "ready", "--ca", &file("ca.pem")], words].concat());
        command.envs(variables.iter().copied());
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        let Output { status, stderr, .. } = output.await.unwrap();
        (status.code(), String::from_utf8(stderr).unwrap())
    };
    let address = proxy.url();
    let (code, said) = run(&[("HTTPS_PROXY", &address)], &[]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(!proxy.seen().is_empty());
    for (variables, words) in [
        (
            vec![("HTTPS_PROXY", &*address), ("NO_PROXY", "test")],
            vec![],
        ),
        (vec![("https_proxy", &*address)], vec!["--proxy", "none"]),
        (vec![("HTTP_PROXY", &*address)], vec![]),
    ] {
        let (code, said) = run(&variables, &words).await;
        assert_eq!(code, Some(2), "{variables:?}: {said}");
        assert!(proxy.seen().is_empty(), "{variables:?}");
    }
    let (code, said) = run(&[("HTTPS_PROXY", "ftp://ada:secret@proxy.test")], &[]).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("HTTPS_PROXY") && said.contains("ftp"),
        "{said}"
    );
    assert!(!said.contains("secret"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_forwards_requests_to_a_server_without_tls() {
    let program = Program::new("forward");
    let url = format!("http://server.test:{}/mcp", plain().await);
    let proxy = TestProxy::start(Behaviour::Http).await;
    let (code, said) = program
        .run(&["call", &url, "ready", "--proxy", &proxy.url()])
        .await;
    assert_eq!(code, Some(0), "{said}");
    let seen = proxy.seen();
    assert!(!seen.is_empty());
    for head in seen {
        assert!(
            head.starts_with(&format!("POST {url} HTTP/1.1\r\n")),
            "{head}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socks_proxy_gets_the_name_of_the_server() {
    let (program, url) = (Program::new("socks"), secure().await);
    let proxy = TestProxy::start(Behaviour::Socks).await;
    let address = format!("socks5h://ada:secret@127.0.0.1:{}", proxy.port);
    let words = [
        "call",
        &url,
        "ready",
        "--ca",
        &file("ca.pem"),
        "--proxy",
        &address,
    ];
    let (code, said) = program.run(&words).await;
    assert_eq!(code, Some(0), "{said}");
    let authority = url.trim_start_matches("https://").trim_end_matches("/mcp");
    assert_eq!(proxy.seen()[0], format!("ada secret {authority}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_can_have_tls() {
    let (program, url) = (Program::new("secure-proxy"), secure().await);
    let proxy = TestProxy::start(Behaviour::Http).await;
    let address = format!("https://localhost:{}", end_tls(proxy.port, false).await);
    let words = ["call", &url, "ready", "--proxy", &address];
    let (code, said) = program.run(&words).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains(&format!("the proxy {address} cannot be reached")),
        "{said}"
    );
    assert!(
        said.contains("CA that this client does not trust"),
        "{said}"
    );
    assert!(proxy.seen().is_empty());
    let (code, said) = program
        .run(&[&words[..], &["--ca", &file("ca.pem")]].concat())
        .await;
    assert_eq!(code, Some(0), "{said}");
    assert!(proxy.seen()[0].starts_with("CONNECT server.test:"));
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_to_this_machine_never_use_a_proxy() {
    let program = Program::new("local");
    let port = plain().await;
    let proxy = TestProxy::start(Behaviour::Http).await;
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("http://{host}:{port}/mcp");
        let (code, said) = program
            .run(&["call", &url, "ready", "--proxy", &proxy.url()])
            .await;
        assert_eq!(code, Some(0), "{said}");
    }
    assert!(proxy.seen().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn proxy_errors_name_the_status_of_the_response() {
    let program = Program::new("proxy-failures");
    let urls = [secure().await, "http://server.test:9/mcp".to_owned()];
    for (answer, expected) in [
        ("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n", "403"),
        (
            "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n",
            "needs credentials; write them in the URL of the proxy",
        ),
        ("", "the proxy http://127.0.0.1"),
        ("SSH-2.0-OpenSSH\r\n", "the proxy http://127.0.0.1"),
        (
            "HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Negotiate\r\ncontent-length: 0\r\n\r\n",
            "requires credentials of the kind \"Negotiate\", and only Basic is supported",
        ),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", "101"),
    ] {
        let proxy = TestProxy::start(Behaviour::Answers(answer)).await;
        for url in &urls {
            let is_forwarded = url.starts_with("http:");
            if is_forwarded && !answer.contains("407") {
                continue;
            }
            let (code, said) = program.run(&["list", url, "--proxy", &proxy.url()]).await;
            assert_eq!(code, Some(2), "{answer:?}: {said}");
            assert!(said.contains(expected), "{answer:?}: {said}");
        }
    }
    let closed = StdListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let address = format!("http://ada:secret@{closed}");
    let (code, said) = program.run(&["list", &urls[0], "--proxy", &address]).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains(&format!("the proxy http://{closed} cannot be reached")),
        "{said}"
    );
    assert!(!said.contains("secret"), "{said}");
    let (code, said) = program
        .run(&["list", &urls[0], "--proxy", "gopher://x"])
        .await;
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("--proxy") && said.contains("socks5h"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_does_not_answer_or_sends_too_much_causes_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}", listener.local_addr().unwrap());
    let long = Box::leak(format!("HTTP/1.1 200 OK\r\nx: {}", "x".repeat(1 << 20)).into_boxed_str());
    let flooding = TestProxy::start(Behaviour::Answers(long)).await.url();
    for (proxy, expected) in [
        (
            silent.clone(),
            &*format!("no connection through the proxy {silent} within 0.2 s"),
        ),
        (flooding, "did not open a tunnel"),
    ] {
        let options = ClientOptions::new().with_connect_timeout(Duration::from_millis(200));
        let transport = HttpTransport::new("https://server.test/mcp").unwrap();
        let transport = transport.proxy(ClientProxy::new(&proxy).unwrap());
        let failed = Client::builder("test", "1")
            .connect(transport.options(options))
            .await;
        let error = failed.err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_can_require_a_certificate_of_the_client() {
    let program = Program::new("client-certificate");
    let url = format!(
        "https://localhost:{}/mcp",
        end_tls(plain().await, true).await
    );
    let (ca, certificate, key) = (file("ca.pem"), file("client.pem"), file("client.key"));
    let words = ["call", &url, "ready", "--ca", &ca];
    let (code, said) = program.run(&words).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("the server requires a client certificate"),
        "{said}"
    );
    assert!(said.contains("--client-cert FILE"), "{said}");
    let with = ["--client-cert", &certificate, "--client-key", &key];
    let (code, said) = program.run(&[&words[..], &with].concat()).await;
    assert_eq!(code, Some(0), "{said}");

    let both = program.tokens.with_file_name("both.pem");
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    std::fs::write(&both, read(&key) + &read(&certificate)).unwrap();
    let with = ["--client-cert", both.to_str().unwrap()];
    let (code, said) = program.run(&[&words[..], &with].concat()).await;
    assert_eq!(code, Some(0), "{said}");

    let other = file("server.key");
    for (with, expected) in [
        (
            vec!["--client-cert", &*certificate],
            "there is no private key",
        ),
        (
            vec!["--client-cert", &*key],
            "there is no client certificate",
        ),
        (
            vec!["--client-cert", &*certificate, "--client-key", &*other],
            "cannot be used together",
        ),
        (vec!["--client-key", &*key], "--client-cert"),
        (vec!["--client-cert", "no.pem"], "no.pem"),
    ] {
        let (code, said) = program.run(&[&words[..], &with].concat()).await;
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(expected), "{said}");
        let secret = read(&key).lines().nth(1).unwrap().to_owned();
        assert!(!said.contains(&secret), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ssl_cert_file_adds_trusted_certificates() {
    let program = Program::new("ssl-cert-file");
    let url = format!(
        "https://localhost:{}/mcp",
        end_tls(plain().await, false).await
    );
    let mut command = program.command(&["list", &url]);
    command.env("SSL_CERT_FILE", file("ca.pem"));
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_uses_the_proxy_for_the_server_and_the_authorization_server() {
    let program = Program::new("proxy-login");
    let inner = StdListener::bind("127.0.0.1:0").unwrap();
    let port = end_tls(inner.local_addr().unwrap().port(), false).await;
    let issuer = Issuer::at(inner, format!("https://issuer.test:{port}"));
    let inner = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let outer = end_tls(inner.local_addr().unwrap().port(), false).await;
    let url = format!("https://server.test:{outer}/mcp");
    notes_at(inner, &url, &issuer).await;
    let proxy = TestProxy::start(Behaviour::Http).await;
    let network = ["--ca", &file("ca.pem"), "--proxy", &proxy.url()];
    let words = [&[&*url], &network[..]].concat();
    let login = program.login(&words, |page, _| open(&callback(page, "read")));
    assert!(login.await.contains("signed in"));
    assert_eq!(issuer.count("POST /token"), 1);
    let seen = proxy.seen().join("");
    assert!(
        seen.contains(&format!("CONNECT issuer.test:{port} ")),
        "{seen}"
    );
    assert!(
        seen.contains(&format!("CONNECT server.test:{outer} ")),
        "{seen}"
    );
    let (code, said) = program
        .run(&[&["call", &url, "search"], &network[..]].concat())
        .await;
    assert_eq!(code, Some(0), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn proxy_and_tls_settings_of_a_gateway_apply_to_all_servers_or_to_one_server() {
    let program = Program::new("network-gateway");
    let proxy = TestProxy::start(Behaviour::Http).await;
    let mutual = end_tls(plain().await, true).await;
    let servers = json!({
        "far": { "url": secure().await },
        "near": { "url": format!("https://localhost:{mutual}/mcp") },
    });
    let path = program.tokens.with_file_name("gateway.json");
    let words = |tool: &'static str| {
        let program = env!("CARGO_BIN_EXE_mcp");
        // The end of stdin ends the gateway.
        [
            "call",
            tool,
            "--env",
            "PROXY",
            "--",
            program,
            "serve",
            path.to_str().unwrap(),
            "--stdio",
        ]
    };
    let gateway = json!({
        "proxy": "${PROXY}",
        "tls": { "ca": file("ca.pem") },
        "servers": {
            "far": { "required": true },
            "near": { "required": true, "tls": { "certificate": file("client.pem"), "key": file("client.key") } },
        },
    });
    let text = json!({ "mcpServers": servers, "gateway": gateway }).to_string();
    std::fs::write(&path, text).unwrap();
    for tool in ["far__ready", "near__ready"] {
        let mut command = program.command(&words(tool));
        command.env("PROXY", proxy.url());
        let output = tokio::task::spawn_blocking(move || command.output().unwrap())
            .await
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(!proxy.seen().is_empty());
    }
    let mut command = program.command(&["serve", path.to_str().unwrap(), "--check"]);
    command.env("PROXY", "gopher://ada:secret@proxy.test");
    let output = tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("/gateway/proxy") && said.contains("gopher"),
        "{said}"
    );
    assert!(!said.contains("secret"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_says_which_proxy_is_used_and_why() {
    let program = Program::new("proxy-doctor");
    let proxy = TestProxy::start(Behaviour::Http).await;
    let (url, address) = (secure().await, proxy.url());
    let mut command = program.command(&["doctor", &url, "--ca", &file("ca.pem")]);
    command.env(
        "HTTPS_PROXY",
        format!("http://ada:secret@127.0.0.1:{}", proxy.port),
    );
    let output = tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}");
    let expected = format!("ok    proxy         {address}: the environment variable HTTPS_PROXY");
    assert!(printed.contains(&expected), "{printed}");
    assert!(!printed.contains("secret"), "{printed}");
    assert!(
        printed.contains(&format!("ok    port          {}", proxy.port)),
        "{printed}"
    );
}

#[test]
fn debug_omits_the_client_certificate() {
    let read = |name: &str| std::fs::read(file(name)).unwrap();
    let tls = ClientTls::new().with_client_certificate(read("client.pem"), read("client.key"));
    let shown = format!("{:?}", tls.unwrap());
    assert_eq!(
        shown,
        "ClientTls { root_certificates: 0, has_client_certificate: true, .. }"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_in_the_tls_settings_of_a_gateway_name_the_location() {
    let program = Program::new("network-check");
    let path = program.tokens.with_file_name("gateway.json");
    let servers = json!({ "bank": { "url": "https://bank.test/mcp" } });
    let none = json!({});
    for (common, own, expected) in [
        (json!({ "ca": "no.pem" }), &none, "/gateway/tls: no.pem"),
        (
            none.clone(),
            &json!({ "key": file("client.key") }),
            "/gateway/servers/bank/tls: ",
        ),
        (
            json!({ "key": file("client.key") }),
            &none,
            "/gateway/tls: ",
        ),
    ] {
        let gateway = json!({ "tls": common, "servers": { "bank": { "tls": own } } });
        let text = json!({ "mcpServers": servers, "gateway": gateway }).to_string();
        std::fs::write(&path, text).unwrap();
        let (code, said) = program
            .run(&["serve", path.to_str().unwrap(), "--check"])
            .await;
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(expected), "{said}");
    }
    let servers = json!({ "child": { "command": "calc" } });
    for setting in ["proxy", "tls"] {
        let value = match setting {
            "proxy" => json!("http://proxy.test:3128"),
            _ => json!({ "ca": file("ca.pem") }),
        };
        let gateway = json!({ "servers": { "child": { setting: value } } });
        let text = json!({ "mcpServers": servers, "gateway": gateway }).to_string();
        std::fs::write(&path, text).unwrap();
        let (code, said) = program
            .run(&["serve", path.to_str().unwrap(), "--check"])
            .await;
        assert_eq!(code, Some(1), "{said}");
        let place = format!("/gateway/servers/child/{setting}: a program on stdio");
        assert!(said.contains(&place), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn certificate_files_are_regular_files() {
    let program = Program::new("network-devices");
    let (code, said) = program
        .run(&["list", "https://server.test/mcp", "--ca", "/dev/zero"])
        .await;
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("/dev/zero: it is not a regular file"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_password_of_a_proxy_is_not_shown_when_a_program_is_started() {
    let program = Program::new("proxy-password");
    let path = program.tokens.with_file_name("mcp.json");
    let env = json!({ "HTTPS_PROXY": "${COMPANY_PROXY}" });
    let servers = json!({ "git": { "command": "/no/such/program", "env": env } });
    std::fs::write(&path, json!({ "mcpServers": servers }).to_string()).unwrap();
    for command in ["list", "doctor"] {
        let mut command = program.command(&[command, "git", "--config", path.to_str().unwrap()]);
        command.env("COMPANY_PROXY", "http://ada:hunter2secret@proxy.test:3128");
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        let output = output.await.unwrap();
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8(printed).unwrap();
        assert!(
            printed.contains("HTTPS_PROXY=\"http://[redacted]@proxy.test:3128\""),
            "{printed}"
        );
        assert!(!printed.contains("hunter2secret"), "{printed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_presents_the_client_certificate_only_to_the_server() {
    for requires_certificate in [false, true] {
        let program = Program::new(&format!("own-certificate-{requires_certificate}"));
        let inner = StdListener::bind("127.0.0.1:0").unwrap();
        let port = inner.local_addr().unwrap().port();
        let port = end_tls(port, requires_certificate).await;
        let issuer = Issuer::at(inner, format!("https://issuer.test:{port}"));
        let inner = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let outer = end_tls(inner.local_addr().unwrap().port(), true).await;
        let url = format!("https://server.test:{outer}/mcp");
        notes_at(inner, &url, &issuer).await;
        let proxy = TestProxy::start(Behaviour::Http).await;
        let (ca, certificate, key) = (file("ca.pem"), file("client.pem"), file("client.key"));
        let words = [
            "--ca",
            &ca,
            "--client-cert",
            &certificate,
            "--client-key",
            &key,
            "--proxy",
            &proxy.url(),
            &url,
        ];
        if requires_certificate {
            let (code, said) = program
                .run(&[&["login", "--no-browser"], &words[..]].concat())
                .await;
            assert_eq!(code, Some(2), "{said}");
            assert!(said.contains("requires a client certificate"), "{said}");
        } else {
            let login = program.login(&words, |page, _| open(&callback(page, "read")));
            assert!(login.await.contains("signed in"));
        }
    }
}
