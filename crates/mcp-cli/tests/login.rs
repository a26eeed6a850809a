//! Signing in, as a user does it: an authorization server and an MCP server in this process.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use mcp_auth::server::{Identity, require_bearer, static_tokens};
use mcp_server::{Server, Tool};
use mcp_transport_http::{Endpoint, ServerOptions, serve_layered, serve_with};
use serde_json::json;

/// `mcp` with a token file of its own.
struct Program {
    tokens: PathBuf,
}

impl Program {
    fn new(name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let folder = folder.join(format!("login-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let tokens = folder.join("tokens.json");
        Self { tokens }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp"));
        command.args(words).env("MCP_TOKENS", &self.tokens);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(Stdio::piped());
        command
    }

    /// Runs a command. Returns its exit code and its stderr.
    async fn run(&self, words: &[&str]) -> (Option<i32>, String) {
        let mut command = self.command(words);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        let Output { status, stderr, .. } = output.await.unwrap();
        (status.code(), String::from_utf8(stderr).unwrap())
    }

    /// Signs in. `visit` gets the address of the authorization page and the process.
    fn login<V: FnOnce(&str, &mut Child) + Send + 'static>(
        &self,
        words: &[&str],
        visit: V,
    ) -> impl Future<Output = String> + use<V> {
        let words = [&["login", "--no-browser"], words].concat();
        let mut command = self.command(&words);
        command.stdin(Stdio::piped());
        let done = tokio::task::spawn_blocking(move || {
            let mut child = command.spawn().unwrap();
            let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
            let mut said = String::new();
            let page = loop {
                let line = lines
                    .next()
                    .expect("the program printed no address")
                    .unwrap();
                writeln!(said, "{line}").unwrap();
                if let Some(page) = line.strip_prefix("Go to ") {
                    break page.to_owned();
                }
            };
            visit(&page, &mut child);
            for line in lines {
                writeln!(said, "{}", line.unwrap()).unwrap();
            }
            assert!(child.wait().unwrap().success(), "{said}");
            said
        });
        async { done.await.unwrap() }
    }
}

/// Returns a parameter of the address of a page.
fn parameter(page: &str, name: &str) -> Option<String> {
    let url = url::Url::parse(page).unwrap();
    let mut pairs = url.query_pairs();
    pairs
        .find(|(known, _)| known == name)
        .map(|(_, value)| value.into_owned())
}

/// The address to which the browser returns, with this code.
fn callback(page: &str, code: &str) -> String {
    let target = parameter(page, "redirect_uri").unwrap();
    let state = parameter(page, "state").unwrap();
    format!("{target}?code={code}&state={state}")
}

/// Opens an address like a browser.
fn open(address: &str) {
    let url = url::Url::parse(address).unwrap();
    let mut stream = TcpStream::connect((url.host_str().unwrap(), url.port().unwrap())).unwrap();
    let target = format!("{}?{}", url.path(), url.query().unwrap());
    write!(stream, "GET {target} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
}

/// An authorization server that issues the code as the token. It records its requests.
struct Issuer {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Issuer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let (issuer, requests) = (url.clone(), Arc::clone(&seen));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let request = read(&mut stream);
                let (status, body) = respond(&issuer, &request);
                requests.lock().unwrap().push(request);
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status} OK\r\ncontent-type: application/json\r\n\
                     content-length: {length}\r\nconnection: close\r\n\r\n"
                );
                let _ = stream.write_all((head + &body).as_bytes());
            }
        });
        Self { url, seen }
    }

    fn count(&self, start: &str) -> usize {
        let seen = self.seen.lock().unwrap();
        seen.iter()
            .filter(|request| request.starts_with(start))
            .count()
    }
}

/// Reads a request as its first line and its body.
fn read(stream: &mut TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).unwrap();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    format!("{} {}", first.trim(), String::from_utf8(body).unwrap())
}

fn respond(issuer: &str, request: &str) -> (u16, String) {
    let words: Vec<&str> = request.splitn(4, ' ').collect();
    let body = match (words[0], words[1]) {
        ("GET", "/.well-known/oauth-authorization-server") => json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "registration_endpoint": format!("{issuer}/register"),
            "code_challenge_methods_supported": ["S256"],
        }),
        ("POST", "/register") => json!({ "client_id": "registered" }),
        ("POST", "/token") => {
            let form: Vec<_> = url::form_urlencoded::parse(words[3].as_bytes()).collect();
            let field = |name: &str| form.iter().find(|(known, _)| known == name);
            let Some((_, code)) = field("code") else {
                let error = json!({ "error": "invalid_grant", "error_description": "the account is locked" });
                return (400, error.to_string());
            };
            // The token "short" has expired when it is issued.
            let lifetime = if code == "short" { 0 } else { 3_600 };
            json!({ "access_token": code, "token_type": "Bearer", "expires_in": lifetime, "refresh_token": "r" })
        }
        _ => return (404, String::new()),
    };
    (200, body.to_string())
}

/// A server whose tool `create` needs a scope that sign-ins do not request by themselves. Returns its URL.
async fn notes(issuer: &Issuer) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = Server::builder("notes", "1")
        .tool(Tool::new("search", async || "found"))
        .tool(Tool::new("create", async || "created").scope("notes:write"));
    let identity = |scopes: &str| Identity::new(&issuer.url, "ada").with_scopes(scopes);
    let verifier = static_tokens([
        ("read", identity("mcp")),
        ("write", identity("mcp notes:write")),
    ]);
    let layer = require_bearer(&url, verifier.unwrap())
        .authorization_server(&issuer.url)
        .scope("mcp")
        .build()
        .unwrap();
    let endpoint = Endpoint::new(server.build().unwrap()).unwrap();
    let layered = move |route| layer.layer(route);
    tokio::spawn(serve_layered(
        listener,
        endpoint,
        layered,
        std::future::pending(),
    ));
    url
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_scope_names_the_command_that_requests_it() {
    let (program, issuer) = (Program::new("scope"), Issuer::start());
    let url = notes(&issuer).await;
    let (code, said) = program.run(&["call", &url, "search"]).await;
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("there is no stored sign-in"), "{said}");

    // The browser is on another machine: the user pastes the address of the last page.
    let said = program.login(&[&url], |page, child| {
        assert_eq!(parameter(page, "scope").as_deref(), Some("mcp"));
        let address = callback(page, "read");
        writeln!(child.stdin.as_mut().unwrap(), "hello\n{address}").unwrap();
    });
    assert!(said.await.contains("signed in"));
    let (code, said) = program.run(&["call", &url, "search"]).await;
    assert_eq!(code, Some(0), "{said}");

    let (code, said) = program.run(&["call", &url, "create"]).await;
    assert_eq!(code, Some(5), "{said}");
    let command = format!("mcp login {url} --scope \"mcp notes:write\"");
    assert!(said.contains(&command), "{said}");
    assert!(said.contains("tool \"create\""), "{said}");
    assert!(!said.contains("no stored sign-in"), "{said}");

    let words = [&url, "--scope", "mcp notes:write"];
    let said = program.login(&words, |page, _| {
        let scopes = parameter(page, "scope");
        assert_eq!(scopes.as_deref(), Some("mcp notes:write"));
        open(&callback(page, "write"));
    });
    assert!(said.await.contains("signed in"));
    let (code, said) = program.run(&["call", &url, "create"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(issuer.count("POST /register"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_given_client_and_port_are_used_and_a_client_can_be_forgotten() {
    let (program, issuer) = (Program::new("client"), Issuer::start());
    let url = notes(&issuer).await;
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port().to_string();
    drop(free);
    let words = [&*url, "--client-id", "given", "--callback-port", &port];
    let address = format!("http://127.0.0.1:{port}/callback");
    let login = program.login(&words, move |page, _| {
        assert_eq!(parameter(page, "client_id").as_deref(), Some("given"));
        assert_eq!(parameter(page, "redirect_uri"), Some(address));
        open(&callback(page, "read"));
    });
    login.await;
    assert_eq!(issuer.count("POST /register"), 0);

    let login = || program.login(&[&*url], |page, _| open(&callback(page, "read")));
    login().await;
    login().await;
    assert_eq!(issuer.count("POST /register"), 1);
    let (code, said) = program.run(&["logout", &url, "--forget-client"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the client id is forgotten"), "{said}");
    let stored = std::fs::read_to_string(&program.tokens).unwrap();
    assert!(!stored.contains("registered"), "{stored}");
    login().await;
    assert_eq!(issuer.count("POST /register"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_without_a_callback_does_not_keep_the_client() {
    let (program, issuer) = (Program::new("lost"), Issuer::start());
    let url = notes(&issuer).await;
    let login = || program.login(&[&*url], |page, _| open(&callback(page, "read")));
    login().await;
    // The page does not know the client, and the user ends the command.
    let mut command = program.command(&["login", "--no-browser", &url]);
    let ended = tokio::task::spawn_blocking(move || {
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().starts_with("Go to ")));
        child.kill().unwrap();
        child.wait().unwrap();
    });
    ended.await.unwrap();
    login().await;
    assert_eq!(issuer.count("POST /register"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_renewal_is_not_a_missing_sign_in() {
    let (program, issuer) = (Program::new("renewal"), Issuer::start());
    let url = notes(&issuer).await;
    let login = program.login(&[&*url], |page, _| open(&callback(page, "short")));
    login.await;
    let (code, said) = program.run(&["call", &url, "search"]).await;
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("could not be renewed"), "{said}");
    assert!(said.contains("the account is locked"), "{said}");
    assert!(!said.contains("no stored sign-in"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_token_is_reported_without_names_of_the_library() {
    let (program, issuer) = (Program::new("token"), Issuer::start());
    let url = notes(&issuer).await;
    let header = "authorization: Bearer old";
    let (code, said) = program.run(&["list", &url, "--header", header]).await;
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("the server refused the token"), "{said}");
    assert!(!said.contains("::") && !said.contains('{'), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_not_sent_in_the_clear_to_another_machine() {
    let program = Program::new("clear");
    let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
    // The program takes this address for one of another machine.
    let url = format!(
        "http://0.0.0.0:{}/mcp",
        listener.local_addr().unwrap().port()
    );
    let server = Server::builder("plain", "1").tool(Tool::new("t", async || "x"));
    let options = ServerOptions::new().allow_any_host();
    let endpoint = Endpoint::with_options(server.build().unwrap(), options).unwrap();
    tokio::spawn(serve_with(listener, endpoint, std::future::pending()));
    let header = ["--header", "authorization: Bearer x"];
    for (more, expected) in [
        (&[][..], 0),
        (&header, 1),
        (&[&header[..], &["--allow-http"]].concat(), 0),
    ] {
        let (code, said) = program.run(&[&["list", &url], more].concat()).await;
        assert_eq!(code, Some(expected), "{said}");
        assert_eq!(said.contains("--allow-http"), expected == 1, "{said}");
    }
    let (code, said) = program.run(&["doctor", &url]).await;
    assert_eq!(code, Some(0), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_reports_metadata_that_a_proxy_does_not_forward() {
    let program = Program::new("doctor");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let status = match read(&mut stream).contains(" /mcp ") {
                true => "401 Unauthorized\r\nwww-authenticate: Bearer",
                false => "404 Not Found",
            };
            let head =
                format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = stream.write_all(head.as_bytes());
        }
    });
    let mut command = program.command(&["doctor", &url]);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let shown = String::from_utf8(output.await.unwrap().stdout).unwrap();
    assert!(shown.contains("FAIL  sign-in"), "{shown}");
    let expected = url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp");
    assert!(
        shown.contains(&format!("must answer GET {expected}")),
        "{shown}"
    );
    assert!(
        !shown.contains("PKCE") && !shown.contains("registration"),
        "{shown}"
    );
}
