//! The program with its own token file, an authorization server, and a server with scopes.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use mcp_auth::server::{Identity, require_bearer, static_tokens};
use mcp_server::{Server, Tool};
use mcp_transport_http::{Endpoint, ServerOptions, serve_layered};
use serde_json::json;

/// `mcp` with a token file of its own.
pub(crate) struct Program {
    pub(crate) tokens: PathBuf,
}

impl Program {
    pub(crate) fn new(name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let folder = folder.join(format!("login-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let tokens = folder.join("tokens.json");
        Self { tokens }
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp"));
        command.args(words).env("MCP_TOKENS", &self.tokens);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(Stdio::piped());
        command
    }

    /// Runs a command. Returns its exit code and its stderr.
    pub(crate) async fn run(&self, words: &[&str]) -> (Option<i32>, String) {
        let mut command = self.command(words);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        let Output { status, stderr, .. } = output.await.unwrap();
        (status.code(), String::from_utf8(stderr).unwrap())
    }

    /// Signs in. `visit` gets the address of the authorization page and the process.
    pub(crate) fn login<V: FnOnce(&str, &mut Child) + Send + 'static>(
        &self,
        words: &[&str],
        visit: V,
    ) -> impl Future<Output = String> + use<V> {
        let ended = self.try_login(words, visit);
        async {
            let (code, said) = ended.await;
            assert_eq!(code, Some(0), "{said}");
            said
        }
    }

    /// Like `login`, for a sign-in that can fail. Returns the exit code and the text on stderr.
    pub(crate) fn try_login<V: FnOnce(&str, &mut Child) + Send + 'static>(
        &self,
        words: &[&str],
        visit: V,
    ) -> impl Future<Output = (Option<i32>, String)> + use<V> {
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
            (child.wait().unwrap().code(), said)
        });
        async { done.await.unwrap() }
    }
}

/// Returns a parameter of the address of a page.
pub(crate) fn parameter(page: &str, name: &str) -> Option<String> {
    let url = url::Url::parse(page).unwrap();
    let mut pairs = url.query_pairs();
    pairs
        .find(|(known, _)| known == name)
        .map(|(_, value)| value.into_owned())
}

/// The address to which the browser returns, with this code.
pub(crate) fn callback(page: &str, code: &str) -> String {
    let target = parameter(page, "redirect_uri").unwrap();
    let state = parameter(page, "state").unwrap();
    format!("{target}?code={code}&state={state}")
}

/// Opens an address like a browser; the page is the expected one.
pub(crate) fn open(address: &str) {
    visit(address, 200);
}

/// Opens an address like a browser, and returns the page.
pub(crate) fn visit(address: &str, status: u16) -> String {
    let url = url::Url::parse(address).unwrap();
    let mut stream = TcpStream::connect((url.host_str().unwrap(), url.port().unwrap())).unwrap();
    let target = format!("{}?{}", url.path(), url.query().unwrap());
    write!(stream, "GET {target} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    assert!(page.starts_with(&format!("HTTP/1.1 {status}")), "{page}");
    page
}

/// An authorization server that issues the code as the token. It records its requests.
pub(crate) struct Issuer {
    pub(crate) url: String,
    pub(crate) seen: Arc<Mutex<Vec<String>>>,
}

impl Issuer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        Self::at(listener, url)
    }

    /// Serves at a listener; clients use this URL.
    pub(crate) fn at(listener: TcpListener, url: String) -> Self {
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

    pub(crate) fn count(&self, start: &str) -> usize {
        let seen = self.seen.lock().unwrap();
        seen.iter()
            .filter(|request| request.starts_with(start))
            .count()
    }
}

/// Reads a request as its first line and its body.
pub(crate) fn read(stream: &mut TcpStream) -> String {
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
            "revocation_endpoint": format!("{issuer}/revoke"),
            "code_challenge_methods_supported": ["S256"],
        }),
        ("POST", "/revoke") if words[3].contains("token=unrevokable") => {
            return (503, String::new());
        }
        ("POST", "/revoke") => return (200, String::new()),
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
            let mut token =
                json!({ "access_token": code, "token_type": "Bearer", "expires_in": lifetime });
            match &**code {
                "read" => token["scope"] = json!("mcp"),
                // No server accepts this token, and it cannot be renewed.
                "unknown" => return (200, token.to_string()),
                _ => {}
            }
            token["refresh_token"] = json!("r");
            token
        }
        _ => return (404, String::new()),
    };
    (200, body.to_string())
}

/// A server whose tool `create` needs a scope that sign-ins do not request by themselves. Returns its URL.
pub(crate) async fn notes(issuer: &Issuer) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    notes_at(listener, &url, issuer).await;
    url
}

/// Serves the notes server on `listener`. Clients connect to `url`.
pub(crate) async fn notes_at(listener: tokio::net::TcpListener, url: &str, issuer: &Issuer) {
    let server = Server::builder("notes", "1")
        .tool(Tool::new("search", async || "found"))
        .tool(Tool::new("create", async || "created").scope("notes:write"));
    let identity = |scopes: &str| Identity::new(&issuer.url, "ada").with_scopes(scopes);
    let verifier = static_tokens([
        ("read", identity("mcp")),
        ("write", identity("mcp notes:write")),
    ]);
    let layer = require_bearer(url, verifier.unwrap())
        .authorization_server(&issuer.url)
        .scope("mcp")
        .build()
        .unwrap();
    let options = ServerOptions::new().allow_host("server.test");
    let endpoint = Endpoint::with_options(server.build().unwrap(), options).unwrap();
    let layered = move |route| layer.layer(route);
    tokio::spawn(serve_layered(
        listener,
        endpoint,
        layered,
        std::future::pending(),
    ));
}
