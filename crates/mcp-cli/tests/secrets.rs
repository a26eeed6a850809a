//! Values of variables and parts of URLs that are secrets: no text of the program shows them, also not in errors, hints and JSON.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const SECRET: &str = "Hunter2secret";
/// Maximum time of a command.
const DEADLINE: Duration = Duration::from_secs(60);

fn folder(name: &str) -> PathBuf {
    let folder = format!("secrets-{name}-{}", std::process::id());
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Starts a server that rejects every request with this status and repeats its first line and its `x-` headers in the response. Returns the port.
fn refuse(status: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 1 << 12];
            let count = stream.read(&mut request).unwrap_or(0);
            let head = String::from_utf8_lossy(&request[..count]).into_owned();
            let repeated = |line: &&str| line.starts_with("POST ") || line.starts_with("x-");
            let body: Vec<&str> = head.lines().filter(repeated).collect();
            let body = format!("no: {}", body.join(" "));
            let response = format!(
                "HTTP/1.1 {status}\r\nwww-authenticate: Bearer error=\"invalid_token\"\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            // The client may have closed the connection.
            let _ = stream.write_all(response.as_bytes());
        }
    });
    port
}

/// Runs `mcp` in a folder with its configuration. Returns the exit code and both outputs.
fn mcp(folder: &Path, words: &[&str]) -> (Option<i32>, String) {
    mcp_with(folder, words, SECRET)
}

/// Runs `mcp` with this value of `SECRET_KEY`.
fn mcp_with(folder: &Path, words: &[&str], secret: &str) -> (Option<i32>, String) {
    let (out, err) = (folder.join("out"), folder.join("err"));
    let create = |path: &Path| Stdio::from(std::fs::File::create(path).unwrap());
    let mut child = Command::new(env!("CARGO_BIN_EXE_mcp"))
        .args(["--timeout", "10"])
        .args(words)
        .current_dir(folder)
        .env("HOME", folder)
        .env("MCP_TOKENS", folder.join("tokens.json"))
        .env("MCP_LOG", "debug,hyper_util=off")
        .env("SECRET_KEY", secret)
        .env(
            "SECRET_URL",
            format!("http://127.0.0.1:9/{SECRET}?key={SECRET}"),
        )
        .stdin(Stdio::null())
        .stdout(create(&out))
        .stderr(create(&err))
        .spawn()
        .unwrap();
    let start = Instant::now();
    let code = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status.code(),
            None if start.elapsed() > DEADLINE => {
                child.kill().unwrap();
                panic!("{words:?} does not end");
            }
            // sleep: there is no event for the end of a process with a deadline.
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    (code, read(&out) + &read(&err))
}

/// Servers with the secret in one part of a URL or command each.
fn servers() -> Value {
    let (refused, forbidden) = (refuse("401 Unauthorized"), refuse("403 Forbidden"));
    let mut servers = json!({
        "whole": { "url": "${SECRET_URL}" },
        "relative": { "url": "${SECRET_KEY}" },
        "scheme": { "url": "${SECRET_KEY}://127.0.0.1:9/" },
        "host": { "url": "http://${SECRET_KEY}.invalid:9/mcp" },
        "port": { "url": "http://127.0.0.1:${SECRET_KEY}/mcp" },
        "number": { "url": "http://127.0.0.1:99999/?key=${SECRET_KEY}" },
        "user": { "url": "http://${SECRET_KEY}@127.0.0.1:9/mcp" },
        "password": { "url": "http://ada:${SECRET_KEY}@127.0.0.1:9/mcp" },
        "command": { "command": "/nowhere/${SECRET_KEY}" },
        "searched": { "command": "${env:SECRET_KEY}" },
        "argument": { "command": "false", "args": ["--key", "${SECRET_KEY}"] },
        "folder": { "command": "false", "cwd": "/nowhere/${SECRET_KEY}" }
    });
    for (name, port) in [("401", refused), ("403", forbidden), ("down", 9)] {
        for (part, rest) in [
            ("path", "${SECRET_KEY}/mcp"),
            ("query", "mcp?key=${SECRET_KEY}"),
            ("fragment", "mcp#${SECRET_KEY}"),
        ] {
            let url = format!("http://127.0.0.1:{port}/{rest}");
            servers[format!("{name}-{part}")] = json!({ "url": url });
        }
    }
    servers
}

#[test]
fn no_output_shows_a_secret_of_a_url_or_a_command() {
    let folder = folder("all");
    let servers = servers();
    let file = folder.join("mcp.json");
    std::fs::write(&file, json!({ "mcpServers": servers }).to_string()).unwrap();
    for name in servers.as_object().unwrap().keys() {
        let name = name.as_str();
        for words in [
            &["inspect", name][..],
            &["inspect", "--revisions", name],
            &["inspect", "--json", name],
            &["list", name],
            &["list", "--verbose", name],
            &["call", name, "tool", "a=b"],
            &["read", name, "x:y"],
            &["get", name, "prompt"],
            &["complete", name, "prompt", "a=b"],
            &["repl", name],
            &["watch", name],
            &["bridge", name, "--stdio"],
            &["bridge", name, "--listen", "127.0.0.1:0"],
            &["doctor", name],
            &["doctor", "--json", name],
            &["lock", name],
            &["lock", name, "--check"],
            &["login", "--no-browser", name],
            &["logout", name],
            &["logout", "--forget-client", name],
        ] {
            let (code, said) = mcp(&folder, words);
            let shows = said.to_lowercase().contains(&SECRET.to_lowercase());
            assert!(!shows, "{words:?}: {said}");
            // These need no server.
            let may_succeed = matches!(words[0], "logout" | "repl" | "watch");
            let is_revisions = words.contains(&"--revisions");
            assert!(
                may_succeed || is_revisions || code != Some(0),
                "{words:?}: {said}"
            );
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Passwords have such characters, which end a part of a URL, or are written in another way in quoted texts.
#[test]
fn no_output_shows_a_part_of_a_secret_with_delimiters_or_quotes() {
    let folder = folder("delimiters");
    let servers = servers();
    let file = folder.join("mcp.json");
    std::fs::write(&file, json!({ "mcpServers": servers }).to_string()).unwrap();
    for secret in [
        "Hunter2First?Second4x",
        "Hunter2First#Second4x",
        "Hunter2First/Second4x@Third6x",
        "Hunter2First;Second4x:Third6x",
        "Hunter2First'\"Second4x\\Third6x",
    ] {
        for name in servers.as_object().unwrap().keys() {
            for words in [
                &["list", name][..],
                &["doctor", "--json", name],
                &["lock", name],
                &["login", "--no-browser", name],
            ] {
                let (_, said) = mcp_with(&folder, words, secret);
                for part in ["hunter2first", "second4x", "third6x"] {
                    let shows = said.to_lowercase().contains(part);
                    assert!(!shows, "{words:?}: {secret}: {said}");
                }
            }
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A program writes its key to stderr and ends; a server repeats a header.
#[test]
fn no_output_shows_a_variable_or_header_whose_name_says_that_it_is_secret() {
    let folder = folder("named");
    let script = "echo \"bad key $API_KEY $Access_Token $OTHER\" >&2; exit 3";
    let port = refuse("400 Bad Request");
    let url = format!("http://127.0.0.1:{port}/mcp");
    let servers = json!({
        "program": {
            "command": "sh",
            "args": ["-c", script],
            "env": { "API_KEY": "${SECRET_KEY}", "Access_Token": "Literal4Token", "OTHER": "shown" }
        },
        "http": { "url": url, "headers": { "X-Api-Key": "Literal4Token" } }
    });
    std::fs::write(
        folder.join("mcp.json"),
        json!({ "mcpServers": servers }).to_string(),
    )
    .unwrap();
    let header = format!("X-Secret: {SECRET}");
    for (words, shown) in [
        (
            &["list", "program"][..],
            "bad key ${API_KEY} ${Access_Token} shown",
        ),
        (
            &["doctor", "--json", "program"],
            "bad key ${API_KEY} ${Access_Token} shown",
        ),
        (&["list", "http"], "x-api-key: [secret]"),
        (&["list", &url, "--header", &header], "x-secret: [secret]"),
    ] {
        let (code, said) = mcp(&folder, words);
        assert_ne!(code, Some(0), "{said}");
        assert!(said.contains(shown), "{words:?}: {said}");
        assert!(
            !said.contains(SECRET) && !said.contains("Literal4Token"),
            "{said}"
        );
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_gateway_that_cannot_start_its_servers_shows_no_secret() {
    let folder = folder("serve");
    for (name, server) in servers().as_object().unwrap() {
        let config =
            json!({ "mcpServers": { name: server }, "gateway": { "listen": "127.0.0.1:0" } });
        std::fs::write(folder.join("gateway.json"), config.to_string()).unwrap();
        for words in [
            &["serve", "gateway.json", "--check"][..],
            // Ends because stdin is at its end.
            &["serve", "gateway.json", "--stdio"],
        ] {
            let (_, said) = mcp(&folder, words);
            let shows = said.to_lowercase().contains(&SECRET.to_lowercase());
            assert!(!shows, "{name}: {words:?}: {said}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// The user gives the URL, for example with a variable of a shell.
#[test]
fn no_output_shows_the_query_or_the_user_of_a_url_of_the_command_line() {
    let folder = folder("line");
    let port = refuse("401 Unauthorized");
    for url in [
        format!("http://127.0.0.1:{port}/mcp?key={SECRET}"),
        format!("http://127.0.0.1:{port}/mcp#{SECRET}"),
        format!("http://{SECRET}@127.0.0.1:{port}/mcp"),
        format!("http://ada:{SECRET}@127.0.0.1:{port}/mcp"),
        format!("http://127.0.0.1:99999/?key={SECRET}"),
        format!("http://ada:{SECRET}@127.0.0.1:99999/"),
        format!("htp://127.0.0.1/?key={SECRET}"),
        format!("127.0.0.1:9/mcp?key={SECRET}"),
        format!("http://ada:{SECRET}#x@127.0.0.1/mcp"),
        format!("http://ada:{SECRET}?x@127.0.0.1/mcp"),
        format!("http://ada:{SECRET}/x@127.0.0.1/mcp"),
        format!("http:\\\\ada:{SECRET}@127.0.0.1:1/"),
        format!("mongodb://ada:{SECRET}@127.0.0.1/x"),
    ] {
        for words in [
            &["list", &url][..],
            &["doctor", "--json", &url],
            &["login", "--no-browser", &url],
            &["logout", &url],
            &["list", "x", &url],
            &["list", &url, &url],
        ] {
            let (_, said) = mcp(&folder, words);
            let shows = said.to_lowercase().contains(&SECRET.to_lowercase());
            assert!(!shows, "{words:?}: {said}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn no_output_shows_the_query_of_a_url_that_is_given_as_a_file() {
    let folder = folder("file");
    let url = format!("http://ada:{SECRET}@127.0.0.1/mcp?key={SECRET}");
    let option = format!("--config={url}");
    for words in [
        &["serve", &url][..],
        &["list", "x", "--config", &url],
        &["list", "x", &option],
    ] {
        let (code, said) = mcp(&folder, words);
        assert_eq!(code, Some(1), "{said}");
        assert!(!said.contains(SECRET), "{words:?}: {said}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A user copies the command into a shell.
#[test]
fn a_command_to_sign_in_names_the_configured_server() {
    let folder = folder("hint");
    let port = refuse("401 Unauthorized");
    let url = |rest: &str| json!({ "url": format!("http://127.0.0.1:{port}/{rest}") });
    let servers = json!({
        "plain": url("$(touch x);id?y=`id`"), "a;b $(id)": url(""), "-x": url("")
    });
    let config = json!({ "mcpServers": servers });
    std::fs::write(folder.join("mcp.json"), config.to_string()).unwrap();
    for (name, command) in [
        ("plain", "`mcp login plain`"),
        ("a;b $(id)", "`mcp login SERVER`"),
    ] {
        let (code, said) = mcp(&folder, &["list", name]);
        assert_eq!(code, Some(5), "{said}");
        assert!(said.contains(command), "{said}");
    }
    let (_, said) = mcp(&folder, &["list", "--", "-x"]);
    assert!(!said.contains("mcp login -x"), "{said}");
    let (_, said) = mcp(
        &folder,
        &["list", &format!("http://127.0.0.1:{port}/$(id);a")],
    );
    assert!(said.contains("`mcp login SERVER`"), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
}
