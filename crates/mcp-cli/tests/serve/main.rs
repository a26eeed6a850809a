//! `mcp serve`, as an operator runs it.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod health;
mod observed;
mod support;
mod tokens;

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use support::*;

#[test]
fn servers_of_a_file_are_served_and_reloaded() {
    let (calc, file) = (calc(), file("reload"));
    let one = json!({ "one": { "command": calc } });
    write(&file, &one, json!({}));
    let mut gateway = Running::start(&file);
    let url = gateway.url();
    let add = |tool: &str| mcp(&["call", &url, tool, "a=2", "b=3"]);
    let called = add("one__add");
    assert_eq!(text(&called.stdout), "5\n", "{}", text(&called.stderr));
    assert!(!add("two__add").status.success());

    let two = json!({ "one": { "command": calc }, "two": { "command": calc } });
    let tools = json!({ "add": { "rename": "plus", "arguments": { "b": 10 } } });
    write(
        &file,
        &two,
        json!({ "servers": { "two": { "tools": tools } } }),
    );
    gateway.signal("HUP");
    gateway.logged("reloaded");
    let called = mcp(&["call", &url, "two__plus", "a=2"]);
    assert_eq!(text(&called.stdout), "12\n", "{}", text(&called.stderr));
    assert_eq!(text(&add("one__add").stdout), "5\n");

    // A file with an error changes nothing.
    std::fs::write(&file, r#"{"mcpServers":{},"gateway":{"servrs":{}}}"#).unwrap();
    gateway.signal("HUP");
    let line = gateway.logged("the new configuration is not used");
    assert!(
        line.contains("servrs") && line.contains("/gateway"),
        "{line}"
    );
    assert_eq!(text(&add("one__add").stdout), "5\n");

    write(&file, &one, json!({}));
    gateway.signal("HUP");
    gateway.logged("reloaded");
    assert!(!mcp(&["call", &url, "two__plus", "a=2"]).status.success());
    assert_eq!(text(&add("one__add").stdout), "5\n");

    gateway.signal("TERM");
    assert!(gateway.child.wait().unwrap().success());
}

#[test]
fn a_setting_that_returns_to_its_value_at_the_start_needs_no_restart() {
    let (servers, file) = (json!({ "one": { "command": calc() } }), file("restart"));
    write(&file, &servers, json!({}));
    let mut gateway = Running::start(&file);
    gateway.url();
    gateway.logged("one: connected");
    let other = json!({ "mcpServers": servers, "gateway": { "listen": "127.0.0.1:1" } });
    for _ in 0..2 {
        std::fs::write(&file, other.to_string()).unwrap();
        gateway.signal("HUP");
        gateway.logged("\"listen\" has changed; restart to use it");
        gateway.logged("reloaded");
    }
    write(&file, &servers, json!({}));
    gateway.signal("HUP");
    let line = gateway.logged("");
    assert_eq!(line, "one: connected");
}

#[test]
fn new_rules_apply_while_a_new_server_starts() {
    let (calc, file) = (calc(), file("rules"));
    write(&file, &json!({ "one": { "command": calc } }), json!({}));
    let mut gateway = Running::start(&file);
    let url = gateway.url();
    let add = || mcp(&["call", &url, "one__add", "a=2", "b=3"]);
    assert!(add().status.success());
    // A server that accepts a connection and sends no response.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = format!("http://{}/mcp", silent.local_addr().unwrap());
    let servers = json!({ "one": { "command": calc }, "other": { "url": other } });
    write(
        &file,
        &servers,
        json!({ "access": [{ "effect": "deny", "name": "add" }] }),
    );
    gateway.signal("HUP");
    // The gateway connects to the new server now.
    let connection = silent.accept();
    assert!(!add().status.success());
    drop(connection);
}

/// A server cannot imitate lines of the log.
#[test]
fn an_error_of_a_server_is_one_line_of_the_log() {
    let file = file("forged");
    let script = r#"n=0; while read line; do n=$((n+1));
        printf '{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"no\\nmcp_gateway: FORGED"}}\n' $n; done"#;
    let servers = json!({ "evil": { "command": "sh", "args": ["-c", script] } });
    write(&file, &servers, json!({}));
    let mut gateway = Running::start(&file);
    for _ in 0..2 {
        let line = gateway.logged("FORGED");
        assert!(!line.trim_start().starts_with("mcp_gateway"), "{line}");
        assert!(line.contains(r"no\nmcp_gateway"), "{line}");
    }
}

/// Filters of a changed server hold at once, although its program cannot be started.
#[test]
fn new_tool_filters_apply_while_the_replaced_server_is_still_used() {
    let (calc, file) = (calc(), file("filters"));
    write(&file, &json!({ "one": { "command": calc } }), json!({}));
    let mut gateway = Running::start(&file);
    let url = gateway.url();
    let add = || mcp(&["call", &url, "one__add", "a=2", "b=3"]);
    assert!(add().status.success());
    let broken = json!({ "command": "/no/such/program" });
    write(&file, &json!({ "one": broken }), json!({}));
    gateway.signal("HUP");
    gateway.logged("the previous server is still used");
    assert!(add().status.success());
    let filtered = json!({ "command": "/no/such/program", "deniedTools": ["add"] });
    write(&file, &json!({ "one": filtered }), json!({}));
    gateway.signal("HUP");
    gateway.logged("reloaded");
    assert!(!add().status.success());
}

#[test]
fn a_file_is_checked_without_starting() {
    let file = file("check");
    let path = file.to_str().unwrap();
    // This program is not started.
    write(
        &file,
        &json!({ "a": { "command": "/no/such/program" } }),
        json!({}),
    );
    let checked = mcp(&["serve", path, "--check"]);
    assert!(checked.status.success(), "{}", text(&checked.stderr));
    let lines: Vec<_> = text(&checked.stderr).lines().collect();
    let warning = "warning: /mcpServers/a: the program \"/no/such/program\" was not found";
    assert!(lines[0].starts_with(warning), "{lines:?}");
    let valid = format!("{path}: the configuration is valid: 1 server, 0 access rules");
    assert_eq!(lines[1..], [valid]);
    let access = json!([{ "name": "a" }, { "name": "b", "effect": "deny" }]);
    write(
        &file,
        &json!({ "a": { "command": calc() }, "b": { "url": "https://b.example.com/mcp" } }),
        json!({ "access": access }),
    );
    let checked = mcp(&["serve", path, "--check"]);
    let valid = format!("{path}: the configuration is valid: 2 servers, 2 access rules\n");
    assert_eq!(text(&checked.stderr), valid);
    // Some editors write a byte order mark.
    let config = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("\u{feff}{config}")).unwrap();
    let checked = mcp(&["serve", path, "--check"]);
    assert_eq!(text(&checked.stderr), valid);
    write(
        &file,
        &json!({ "a": { "command": "a", "urll": "b" } }),
        json!({}),
    );
    let checked = mcp(&["serve", path, "--check"]);
    assert_eq!(checked.status.code(), Some(1));
    let error = text(&checked.stderr);
    assert!(error.contains("urll") && error.contains(path), "{error}");
    let missing = mcp(&["serve", "/no/such/file.json"]);
    assert_eq!(missing.status.code(), Some(1));
    // An address that others can reach needs a URL, and with it a token.
    let open = json!({ "mcpServers": {}, "gateway": { "listen": "0.0.0.0:0" } });
    std::fs::write(&file, open.to_string()).unwrap();
    let refused = mcp(&["serve", path]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("publicUrl"), "{refused:?}");
}

/// A script must not take an outage for a misspelled name.
#[test]
fn an_unavailable_server_behind_a_gateway_is_not_reported_as_a_misspelled_name() {
    let file = file("outage");
    let servers =
        json!({ "one": { "command": calc() }, "dead": { "url": "http://127.0.0.1:1/mcp" } });
    write(&file, &servers, json!({}));
    let mut gateway = Running::start(&file);
    let url = gateway.url();
    gateway.logged("dead: ");
    let called = mcp(&["call", &url, "dead__search"]);
    let error = text(&called.stderr);
    assert_eq!(called.status.code(), Some(2), "{error}");
    assert!(error.contains("not available: dead"), "{error}");
    let diagnosed = mcp(&["doctor", &url]);
    let page = text(&diagnosed.stdout);
    assert_eq!(diagnosed.status.code(), Some(2), "{page}");
    assert!(page.contains("FAIL  gateway"), "{page}");
    assert!(page.contains("not available: dead"), "{page}");
    let listed = mcp(&["list", &format!("{url}/")]);
    assert_eq!(listed.status.code(), Some(0), "a slash after the path");
    assert!(text(&listed.stdout).contains("one__add"));
    assert!(
        text(&listed.stderr).contains("not available: dead"),
        "{}",
        text(&listed.stderr)
    );
}

/// A misspelled name must not leave the gateway less strict without a sign.
#[test]
fn a_tool_name_without_the_prefix_of_its_server_suggests_the_whole_name() {
    let file = file("prefix");
    write(&file, &json!({ "calc": { "command": calc() } }), json!({}));
    let mut gateway = Running::start(&file);
    let called = mcp(&["call", &gateway.url(), "add", "a=2", "b=3"]);
    let said = text(&called.stderr);
    assert!(said.contains("did you mean \"calc__add\"?"), "{said}");
}

#[test]
fn a_setting_for_an_unknown_tool_is_reported() {
    let file = file("unknown-tool");
    let servers = json!({ "one": { "command": calc(), "deniedTools": ["ad"] } });
    let tools = json!({ "substract": { "hide": true } });
    write(
        &file,
        &servers,
        json!({ "servers": { "one": { "tools": tools } } }),
    );
    let mut gateway = Running::start(&file);
    gateway.url();
    for name in ["ad", "substract"] {
        let line = gateway.logged("does not list");
        assert!(line.contains(name) && line.contains("one"), "{line}");
    }
}

/// After a reload, an operator reads the same reports as at the start.
#[test]
fn a_misspelled_fixed_argument_is_reported_at_the_start_and_after_each_reload() {
    let file = file("unknown-argument");
    let servers = json!({ "one": { "command": calc(), "deniedTools": ["ad"] } });
    let tools = json!({ "add": { "arguments": { "aa": 1 } } });
    write(
        &file,
        &servers,
        json!({ "servers": { "one": { "tools": tools } } }),
    );
    let mut gateway = Running::start(&file);
    let url = gateway.url();
    for is_reload in [false, true] {
        if is_reload {
            gateway.signal("HUP");
        }
        let line = gateway.logged("does not list");
        assert!(line.contains("\"ad\""), "{line}");
        let line = gateway.logged("is not offered");
        for part in ["one", "\"add\"", "\"aa\"", "did you mean \"a\"?"] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
    let tools = mcp(&["list", "tools", &url]);
    assert!(!text(&tools.stdout).contains("one__add"), "{tools:?}");
}

#[test]
fn a_rule_for_an_unknown_name_is_reported() {
    let file = file("unknown-rule");
    let servers = json!({ "one": { "command": calc() } });
    let rules = json!([
        { "name": "ad", "effect": "deny" },
        { "name": "add" },
        { "namespace": "one", "name": "sub*" },
        { "name": "notes://*", "effect": "deny" },
        { "name": "*", "effect": "deny" },
    ]);
    write(&file, &servers, json!({ "access": rules }));
    let mut gateway = Running::start(&file);
    gateway.url();
    for (number, name) in [
        ("/gateway/access/0: ", "\"ad\""),
        ("/gateway/access/2: ", "\"sub*\""),
    ] {
        let line = gateway.logged("such a tool");
        assert!(line.contains(number) && line.contains(name), "{line}");
    }
}

/// What `mcp serve` would refuse is found before a server starts.
#[test]
fn check_reports_the_errors_that_serve_would_report() {
    let file = file("check-address");
    let path = file.to_str().unwrap();
    let servers = json!({ "one": { "command": calc() } });
    for (gateway, problem) in [
        (json!({ "listen": "0.0.0.0:8000" }), "publicUrl"),
        (
            json!({ "listen": "nowhere" }),
            "gateway.json: /gateway/listen",
        ),
        (
            json!({ "publicUrl": "https://a.example/mcp", "auth": { "issuer": "ftp://127.0.0.1" } }),
            "gateway.json: /gateway/auth/issuer",
        ),
        (
            json!({ "servers": { "one": { "requird": true } } }),
            "did you mean \"required\"?",
        ),
        (
            json!({ "access": [{ "name": "add", "user": "bob" }] }),
            "rules cannot name users",
        ),
        (
            json!({ "access": [{ "name": "" }] }),
            "/gateway/access/0: the rule",
        ),
        (
            json!({ "publicUrl": "http://mcp.example.com/mcp" }),
            "https",
        ),
        (json!({ "allowedOrigins": ["a\nb"] }), "origin"),
        (
            json!({ "access": [{ "name": "add", "scope": "calc" }] }),
            "\"auth\"",
        ),
    ] {
        let config = json!({ "mcpServers": servers, "gateway": gateway });
        std::fs::write(&file, config.to_string()).unwrap();
        for words in [&["serve", path, "--check"][..], &["serve", path]] {
            let checked = mcp(words);
            let error = text(&checked.stderr);
            assert_eq!(checked.status.code(), Some(1), "{gateway}: {error}");
            assert!(error.contains(problem), "{gateway}: {error}");
            assert!(!error.contains("connected"), "{gateway}: {error}");
        }
    }
    std::fs::write(&file, "{ \"mcpServers\": { \"one\": ").unwrap();
    let error = mcp(&["serve", path, "--check"]).stderr;
    assert!(text(&error).contains("line 1"), "{}", text(&error));
    // Clients and the issuer use the URL as it is.
    let public = "https://a.example/tools";
    write(&file, &servers, json!({ "publicUrl": public }));
    let checked = mcp(&["serve", path, "--check"]);
    let warning = "warning: /gateway/publicUrl: \"https://a.example/tools\" does not end with /mcp";
    assert!(text(&checked.stderr).contains(warning), "{checked:?}");
    assert!(checked.status.success(), "{checked:?}");
}

/// A browser asks before it sends a request with a token or an `mcp-` header.
#[test]
fn pages_of_an_allowed_origin_can_read_responses() {
    let file = file("cors");
    let servers = json!({ "one": { "command": calc() } });
    let origin = "https://app.example.com";
    let (address, public) = (chosen_address(), "https://mcp.example.com/mcp");
    let settings = json!({ "listen": address, "allowedOrigins": [origin], "publicUrl": public });
    let config = json!({ "mcpServers": servers, "gateway": settings });
    std::fs::write(&file, config.to_string()).unwrap();
    let mut gateway = Running::with(&file, &[TOKEN]);
    assert_eq!(gateway.url(), public);
    let url = format!("http://{address}/mcp");
    let preflight = |origin: &str| {
        let headers = "access-control-request-method: POST\r\naccess-control-request-headers: content-type,mcp-method,mcp-param-city";
        let response = exchange(
            &url,
            "OPTIONS /mcp",
            &format!("origin: {origin}\r\n{headers}\r\n\r\n"),
        );
        response.to_ascii_lowercase()
    };
    let allowed = preflight(origin);
    assert!(allowed.starts_with("http/1.1 200"), "{allowed}");
    for part in [
        "access-control-allow-origin: https://app.example.com\r\n",
        "mcp-param-city",
        "access-control-allow-methods: post,get,delete",
    ] {
        assert!(allowed.contains(part), "{allowed}");
    }
    let denied = preflight("https://evil.example.com");
    assert!(!denied.contains("access-control-allow-origin"), "{denied}");
    // A refusal can be read, too: it says where to sign in.
    let refused = exchange(
        &url,
        "POST /mcp",
        &format!("origin: {origin}\r\ncontent-length: 0\r\n\r\n"),
    );
    let refused = refused.to_ascii_lowercase();
    assert!(refused.starts_with("http/1.1 401"), "{refused}");
    for part in [
        "access-control-allow-origin: https://app.example.com",
        "www-authenticate",
        "mcp-session-id",
    ] {
        assert!(refused.contains(part), "{refused}");
    }
}

/// A host that only starts programs can use a gateway too.
#[test]
fn a_gateway_is_served_over_stdio() {
    let file = file("stdio");
    write(&file, &json!({ "one": { "command": calc() } }), json!({}));
    let gateway = [env!("CARGO_BIN_EXE_mcp"), "serve", file.to_str().unwrap()];
    let mut words = vec!["call", "one__add", "a=2", "b=3", "--"];
    words.extend(gateway);
    words.push("--stdio");
    let called = mcp(&words);
    assert_eq!(text(&called.stdout), "5\n", "{}", text(&called.stderr));
}

/// Writes the configuration of a process of a cluster that listens on this address.
fn write_process(file: &Path, address: &str) {
    let cluster = json!({ "address": "${env:OWN_URL}", "key": "${env:CLUSTER_KEY}" });
    let config = json!({
        "mcpServers": { "one": { "command": example("ask") } },
        "gateway": {
            "listen": address,
            "publicUrl": "https://mcp.example.com/mcp",
            "cluster": cluster,
            "servers": { "one": { "shared": true } },
        }
    });
    std::fs::write(file, config.to_string()).unwrap();
}

#[test]
fn a_parked_call_continues_at_another_process() {
    let processes = ["first", "second"].map(|name| {
        let (file, address) = (file(name), chosen_address());
        write_process(&file, &address);
        let url = format!("http://{address}/mcp");
        let variables = [("OWN_URL", &*url), ("CLUSTER_KEY", KEY), TOKEN];
        let mut process = Running::with(&file, &variables);
        assert_eq!(process.url(), "https://mcp.example.com/mcp");
        (url, process)
    });
    let [(first, _), (second, _)] = &processes;
    for (one, other) in [(first, second), (second, first)] {
        let parked = ask(one, json!({}));
        let accepted = json!({ "action": "accept", "content": { "name": "Ada" } });
        let answer = json!({
            "inputResponses": { "q1": accepted }, "requestState": parked["requestState"],
        });
        assert_eq!(ask(other, answer)["content"][0]["text"], "Ada");
    }
}

#[test]
fn the_settings_of_a_cluster_are_checked() {
    let file = file("cluster");
    let path = file.to_str().unwrap();
    write_process(&file, "127.0.0.1:0");
    let run = |url: &str, key: &str, check: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp"));
        command
            .args(["serve", path])
            .args(check.then_some("--check"));
        command.env("OWN_URL", url).env("CLUSTER_KEY", key);
        command.env_remove(TOKEN.0).stdin(Stdio::null());
        command.output().unwrap()
    };
    let url = "http://10.0.0.7:8000/mcp";
    assert!(run(url, KEY, true).status.success());
    for (url, key, part) in [
        (
            "10.0.0.7:8000",
            KEY,
            "/gateway/cluster/address: the address 10.0.0.7:8000",
        ),
        ("https://a/mcp", KEY, "is not an http URL with a host"),
        (
            url,
            "c2hvcnQ=",
            "/gateway/cluster/key: the key has 5 bytes; expected 32",
        ),
        (url, "?", "/gateway/cluster/key: the key is not base64"),
    ] {
        let checked = run(url, key, true);
        assert_eq!(checked.status.code(), Some(1));
        let error = text(&checked.stderr);
        assert!(error.contains(part) && error.contains(path), "{error}");
    }
    // Each process would create another token, and would reject requests with that of another process.
    let refused = run(url, KEY, false);
    assert_eq!(refused.status.code(), Some(1));
    let error = text(&refused.stderr);
    assert!(error.contains("MCP_GATEWAY_TOKEN is not set"), "{error}");
}

/// Who sets a token expects that it is needed.
#[test]
fn clients_on_this_machine_need_the_token_if_it_is_set() {
    let file = file("local-token");
    write(&file, &json!({ "one": { "command": calc() } }), json!({}));
    let mut gateway = Running::with(&file, &[TOKEN]);
    let url = gateway.url();
    let refused = get(&url, "/mcp").to_lowercase();
    assert!(refused.starts_with("http/1.1 401 "), "{refused}");
    let header = format!("authorization: Bearer {}", TOKEN.1);
    let called = mcp(&["call", &url, "one__add", "a=2", "b=3", "--header", &header]);
    assert_eq!(text(&called.stdout), "5\n", "{}", text(&called.stderr));
}

#[test]
fn clients_need_a_token_of_the_authorization_server_of_the_file() {
    let (calc, file) = (calc(), file("auth"));
    let address = chosen_address();
    let config = json!({
        "mcpServers": { "one": { "command": calc } },
        "gateway": {
            "listen": address,
            "publicUrl": format!("http://{address}/mcp"),
            "auth": { "issuer": "https://login.example.com", "scopes": ["tools"] },
            "access": [{ "name": "add", "scope": "math:add" }],
        }
    });
    std::fs::write(&file, config.to_string()).unwrap();
    let mut gateway = Running::start(&file);
    let url = gateway.url();
    let refused = get(&url, "/mcp").to_lowercase();
    assert!(refused.starts_with("http/1.1 401 "), "{refused}");
    assert!(refused.contains("scope=\"tools\""), "{refused}");
    let metadata = get(&url, "/.well-known/oauth-protected-resource/mcp");
    assert!(metadata.contains("https://login.example.com"), "{metadata}");
    assert!(metadata.contains(r#"["math:add","tools"]"#), "{metadata}");
}

/// Reading a pipe would block the gateway.
#[test]
fn a_pipe_that_replaces_the_configuration_does_not_block_the_gateway() {
    let path = file("pipe");
    write(&path, &json!({ "calc": { "command": calc() } }), json!({}));
    let mut gateway = Running::start(&path);
    let url = gateway.url();
    gateway.logged("calc: connected");
    std::fs::remove_file(&path).unwrap();
    let created = Command::new("mkfifo").arg(&path).status();
    assert!(created.unwrap().success());
    gateway.signal("HUP");
    gateway.logged("not a regular file");
    assert!(status(&url, "/readyz").contains("200"));
    std::fs::remove_file(&path).unwrap();
    write(&path, &json!({ "calc": { "command": calc() } }), json!({}));
    gateway.signal("HUP");
    gateway.logged("reloaded");
}

/// An idle program is killed, for example because the memory of the machine is used up.
#[test]
fn a_program_that_was_killed_is_reported() {
    let file = file("killed");
    let id_file = file.with_file_name("id");
    let script = format!("echo $$ > '{}'; exec \"$0\"", id_file.display());
    let server = json!({ "command": "sh", "args": ["-c", script, calc()] });
    write(&file, &json!({ "calc": server }), json!({}));
    let mut gateway = Running::start(&file);
    gateway.url();
    gateway.logged("calc: connected");
    let id = std::fs::read_to_string(&id_file).unwrap();
    assert!(
        Command::new("kill")
            .args(["-9", id.trim()])
            .status()
            .unwrap()
            .success()
    );
    let line = gateway.logged("the connection to the server has ended");
    assert!(line.contains("calc") && line.contains("SIGKILL"), "{line}");
}

/// Each program needs half a second after the end of its input.
#[test]
fn a_gateway_ends_its_programs_at_the_same_time() {
    let file = file("end");
    let script = r#""$0"; sleep 0.5"#;
    let server = json!({ "command": "sh", "args": ["-c", script, calc()] });
    let servers: serde_json::Map<_, _> = (0..20)
        .map(|number| (format!("s{number}"), server.clone()))
        .collect();
    write(&file, &json!(servers), json!({}));
    let mut gateway = Running::start(&file);
    gateway.url();
    gateway.logged("s9: connected");
    let start = Instant::now();
    gateway.signal("TERM");
    assert!(gateway.child.wait().unwrap().success());
    let took = start.elapsed();
    assert!(took < Duration::from_secs(8), "{took:?}");
}

/// Many systems allow 1,024 open files, and more if a program asks for them.
#[cfg(target_os = "linux")]
#[test]
fn the_limit_of_open_files_is_raised() {
    let file = file("files");
    write(&file, &json!({}), json!({}));
    let limit_of = |first: &str| {
        let mut running = Running::after(first, &file);
        // The limit is raised before the first connection is accepted.
        status(&running.url(), "/healthz");
        let limits = format!("/proc/{}/limits", running.child.id());
        let limits = std::fs::read_to_string(limits).unwrap();
        let files = limits
            .lines()
            .find(|line| line.starts_with("Max open files"));
        let soft = files.unwrap().split_whitespace().nth(3).unwrap();
        (soft.parse::<u64>().unwrap(), running)
    };
    let (raised, _running) = limit_of("ulimit -S -n 256");
    assert!(raised >= 4_096, "{raised}");
    let (fixed, mut running) = limit_of("ulimit -n 256");
    assert_eq!(fixed, 256);
    let warning = running.log.find_map(|line| {
        let line = line.unwrap();
        line.contains("limit of open files allows").then_some(line)
    });
    assert!(warning.unwrap().contains("files=256 connections=1"));
}
