//! Metrics, status and audit log of a gateway.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::*;

/// Starts a gateway with these settings and metrics; returns it with its URL and a URL at the address for operators.
fn start(
    file: &Path,
    mut settings: Value,
    variables: &[(&str, &str)],
) -> (Running, String, String) {
    settings["metrics"] = json!("127.0.0.1:0");
    let servers = json!({ "one": { "command": calc() }, "two": { "command": calc() } });
    write(file, &servers, settings);
    let mut gateway = Running::with(file, variables);
    let line = gateway.logged("metrics: ");
    let operators = line.strip_prefix("metrics: ").unwrap();
    let operators = operators.replace("/metrics", "/mcp");
    let url = gateway.url();
    gateway.logged("two: connected");
    (gateway, url, operators)
}

fn body(response: &str) -> &str {
    response.split_once("\r\n\r\n").unwrap().1
}

fn metrics(operators: &str) -> String {
    let response = get(operators, "/metrics");
    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    body(&response).to_owned()
}

/// Ends the gateway, and returns the lines of its audit log.
fn lines(mut gateway: Running, audit: &Path) -> Vec<Value> {
    gateway.signal("TERM");
    assert!(gateway.child.wait().unwrap().success());
    let text = std::fs::read_to_string(audit).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn add(url: &str, tool: &str) -> String {
    post(
        "",
        url,
        &call(tool, &json!({ "a": 2, "b": 3, "password": "hush" })),
    )
}

#[test]
fn requests_are_counted_and_written_with_their_outcomes() {
    let file = file("observed");
    let audit = file.with_file_name("audit.jsonl");
    let _ = std::fs::remove_file(&audit);
    let access = json!([
        { "name": "*", "namespace": "one" },
        { "name": "add", "namespace": "two", "effect": "deny" },
    ]);
    let settings = json!({ "audit": audit, "access": access });
    let (gateway, url, operators) = start(&file, settings, &[]);
    assert!(add(&url, "one__add").contains("200 OK"));
    assert!(add(&url, "two__add").contains("-32602"));
    // Names of clients are no labels.
    for number in 0..200 {
        assert!(add(&url, &format!("one__{number}")).contains("error"));
    }
    let shown = metrics(&operators);
    for expected in [
        r#"mcp_gateway_calls_total{server="one",tool="add",outcome="ok"} 1"#,
        r#"mcp_gateway_calls_total{server="two",tool="add",outcome="denied"} 1"#,
        r#"mcp_gateway_rejected_total{reason="access"} 1"#,
        r#"mcp_gateway_upstream_up{server="one"} 1"#,
        r#"mcp_gateway_upstream_connections{server="two"} 1"#,
        "mcp_gateway_parked_calls 0",
        "mcp_gateway_sessions 0",
        "mcp_gateway_audit_lost_lines_total 0",
        r#"mcp_gateway_upstream_replacement_failing{server="one"} 0"#,
        r#"mcp_server_operation_duration_seconds_count{mcp_method_name="tools/call",gen_ai_tool_name="add",error_type="",server="one"} 1"#,
        "mcp_gateway_build_info{version=",
    ] {
        assert!(shown.contains(expected), "{expected} is not in {shown}");
    }
    assert!(shown.ends_with("# EOF\n"), "{shown}");
    let calls = shown
        .lines()
        .filter(|line| line.starts_with("mcp_gateway_calls_total"));
    assert!(calls.count() <= 4, "{shown}");

    let status = mcp(&["status", &operators]);
    assert!(status.status.success(), "{}", text(&status.stderr));
    let status = text(&status.stdout).to_owned();
    assert!(status.contains("one: connected, 20"), "{status}");
    assert!(status.contains(" tools, 0 prompts"), "{status}");

    let lines = lines(gateway, &audit);
    assert_eq!(lines.len(), 202, "{lines:?}");
    let first = &lines[0];
    for (name, expected) in [
        ("event", json!("request")),
        ("server", json!("one")),
        ("method", json!("tools/call")),
        ("name", json!("add")),
        ("outcome", json!("ok")),
        ("http", json!(200)),
        ("remote", json!("127.0.0.1")),
        ("revision", json!("2026-07-28")),
        ("client", json!({ "name": "test", "version": "1" })),
    ] {
        assert_eq!(first[name], expected, "{name}: {first}");
    }
    assert!(
        first["ms"].as_f64().is_some() && first["bytesOut"].as_u64() > Some(10),
        "{first}"
    );
    let denied = &lines[1];
    assert_eq!(
        (&denied["outcome"], &denied["rule"]),
        (&json!("denied"), &json!(1))
    );
    assert_eq!(
        (&denied["rpc"], &denied["server"]),
        (&json!(-32602), &json!("two"))
    );
    let all = std::fs::read_to_string(&audit).unwrap();
    assert!(!all.contains("hush") && !all.contains("arguments"), "{all}");
}

#[test]
fn the_audit_log_has_arguments_only_in_the_chosen_form() {
    for (form, expected) in [
        ("hash", "\"argumentsSha256\":\""),
        ("redacted", "\"password\":\"[redacted]\""),
    ] {
        let file = file(&format!("audit-{form}"));
        let audit = file.with_file_name("audit.jsonl");
        let _ = std::fs::remove_file(&audit);
        let settings = json!({ "audit": audit, "auditArguments": form });
        let (gateway, url, _) = start(&file, settings, &[]);
        add(&url, "one__add");
        let line = lines(gateway, &audit).remove(0).to_string();
        assert!(line.contains(expected) && !line.contains("hush"), "{line}");
    }
}

#[test]
fn the_audit_log_is_private_and_is_opened_again_after_a_signal() {
    let file = file("audit-moved");
    let (audit, moved) = (
        file.with_file_name("audit.jsonl"),
        file.with_file_name("audit.1"),
    );
    let _ = std::fs::remove_file(&audit);
    let (mut gateway, url, _) = start(&file, json!({ "audit": audit }), &[]);
    add(&url, "one__add");
    // The line is written after the response.
    while std::fs::read_to_string(&audit).unwrap().is_empty() {
        std::thread::yield_now();
    }
    std::fs::rename(&audit, &moved).unwrap();
    gateway.signal("HUP");
    gateway.logged("reloaded");
    add(&url, "two__add");
    let lines = lines(gateway, &audit);
    assert_eq!((lines.len(), &lines[0]["server"]), (1, &json!("two")));
    let before = std::fs::read_to_string(&moved).unwrap();
    assert!(
        before.contains("\"one\"") && !before.contains("\"two\""),
        "{before}"
    );
    let mode = std::fs::metadata(&audit).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_stops_no_request_and_is_counted() {
    let file = file("audit-full");
    let (mut gateway, url, operators) = start(&file, json!({ "audit": "/dev/full" }), &[]);
    for _ in 0..3 {
        assert!(add(&url, "one__add").contains("200 OK"));
    }
    gateway.logged("the audit log cannot be written");
    while !metrics(&operators).contains("mcp_gateway_audit_lost_lines_total 3") {}
}

#[test]
fn requests_without_a_token_are_counted_and_written() {
    let file = file("audit-token");
    let audit = file.with_file_name("audit.jsonl");
    let _ = std::fs::remove_file(&audit);
    let (gateway, url, operators) = start(&file, json!({ "audit": audit }), &[TOKEN]);
    let wrong = post("wrong", &url, &call("one__add", &json!({})));
    assert!(wrong.starts_with("HTTP/1.1 401 "), "{wrong}");
    assert!(post(TOKEN.1, &url, &call("one__add", &json!({ "a": 1, "b": 1 }))).contains("200 OK"));
    let shown = metrics(&operators);
    assert!(
        shown.contains(r#"mcp_gateway_rejected_total{reason="auth"} 1"#),
        "{shown}"
    );
    let lines = lines(gateway, &audit);
    assert_eq!(
        (&lines[0]["http"], &lines[0]["outcome"]),
        (&json!(401), &json!("refused"))
    );
    assert!(
        lines[0]["method"].is_null() && lines[1]["principal"].is_string(),
        "{lines:?}"
    );
}

#[test]
fn the_address_for_operators_is_not_for_web_pages_of_other_hosts() {
    let (_gateway, url, operators) = start(&file("operators"), json!({}), &[]);
    let response = exchange(&operators, "POST /metrics", "");
    assert!(response.starts_with("HTTP/1.1 405 "), "{response}");
    assert!(get(&operators, "/").starts_with("HTTP/1.1 404 "));
    assert!(get(&url, "/metrics").starts_with("HTTP/1.1 404 "));
    let rebound = "GET /status HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n";
    let address = operators.strip_prefix("http://").unwrap();
    let address = address.strip_suffix("/mcp").unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    std::io::Write::write_all(&mut stream, rebound.as_bytes()).unwrap();
    let mut response = String::new();
    std::io::Read::read_to_string(&mut stream, &mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 403 "), "{response}");
}

/// A listed tool has its name in metrics and lines, although all its calls are refused or fail.
#[test]
fn metrics_and_audit_lines_of_failed_calls_name_their_listed_tool() {
    let file = file("observed-limit");
    let audit = file.with_file_name("audit.jsonl");
    let _ = std::fs::remove_file(&audit);
    let settings = json!({ "audit": audit, "limits": { "requestsPerMinute": 1 } });
    let (gateway, url, operators) = start(&file, settings, &[]);
    let wrong = post("", &url, &call("one__add", &json!({ "a": "two" })));
    assert!(wrong.contains("200 OK"), "{wrong}");
    add(&url, "one__add");
    let shown = metrics(&operators);
    for outcome in ["tool_error", "denied"] {
        let expected = format!(r#"calls_total{{server="one",tool="add",outcome="{outcome}"}} 1"#);
        assert!(shown.contains(&expected), "{shown}");
    }
    let limited = &lines(gateway, &audit)[1];
    assert_eq!(limited["outcome"], "limited");
    assert_eq!(
        (&limited["server"], &limited["name"]),
        (&json!("one"), &json!("add"))
    );
}

/// A server's stderr can contain secrets, and the address for operators needs no token.
#[test]
fn the_status_says_why_a_server_failed_without_its_stderr() {
    let file = file("status-stderr");
    let script = "echo password=hunter2 >&2; exit 3";
    let servers = json!({ "bad": { "command": "sh", "args": ["-c", script] } });
    write(&file, &servers, json!({ "metrics": "127.0.0.1:0" }));
    let mut gateway = Running::start(&file);
    let line = gateway.logged("metrics: ");
    let operators = line
        .strip_prefix("metrics: ")
        .unwrap()
        .replace("/metrics", "/mcp");
    gateway.logged("hunter2");
    let status: Value = serde_json::from_str(body(&get(&operators, "/status"))).unwrap();
    let error = status["servers"][0]["error"].as_str().unwrap();
    assert!(
        error.contains("exit status: 3") || error.contains("exit status 3"),
        "{error}"
    );
    assert!(
        !error.contains("hunter2") && error.contains("the log has its stderr"),
        "{error}"
    );
}

#[test]
fn settings_of_the_audit_log_are_checked_without_starting_the_gateway() {
    for (name, settings, expected) in [
        ("folder", json!({ "audit": "/tmp" }), "expected a file"),
        ("empty", json!({ "audit": "" }), "expected a file"),
        (
            "missing",
            json!({ "audit": "/no/such/folder/a" }),
            "there is no folder /no/such/folder",
        ),
        (
            "arguments",
            json!({ "auditArguments": "hash" }),
            "there is no audit log",
        ),
    ] {
        let file = file(&format!("audit-check-{name}"));
        write(&file, &json!({}), settings);
        let output = mcp(&["serve", file.to_str().unwrap(), "--check"]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        let error = text(&output.stderr);
        assert!(
            error.contains(expected) && error.contains("/gateway/audit"),
            "{error}"
        );
    }
}

/// The collector of the lines must not receive the token of all clients.
#[test]
fn the_token_is_not_written_to_an_audit_log_on_stdout() {
    let file = file("audit-stdout");
    let settings = json!({ "audit": "-", "publicUrl": "https://mcp.example.com/mcp" });
    write(&file, &json!({ "one": { "command": calc() } }), settings);
    let mut gateway = Running::start(&file);
    gateway.logged("https://mcp.example.com/mcp");
    gateway.logged("Authorization: Bearer ");
    gateway.logged("one: connected");
    gateway.signal("TERM");
    assert!(gateway.child.wait().unwrap().success());
    assert!(gateway.out.next().is_none());
}

#[test]
fn a_pipe_is_refused_as_an_audit_log_without_blocking_the_start() {
    let file = file("audit-pipe");
    let pipe = file.with_file_name("pipe");
    let _ = std::fs::remove_file(&pipe);
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    write(&file, &json!({}), json!({ "audit": pipe }));
    let output = mcp(&["serve", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("/gateway/audit"),
        "{output:?}"
    );
}

/// A process that was killed, or a disk that was full, can leave a part of a line.
#[test]
fn an_audit_line_begins_on_a_new_line_after_an_incomplete_line() {
    let file = file("audit-part");
    let audit = file.with_file_name("audit.jsonl");
    std::fs::write(&audit, "{\"time\":1,\"na").unwrap();
    let (mut gateway, url, _) = start(&file, json!({ "audit": audit }), &[]);
    add(&url, "one__add");
    gateway.signal("TERM");
    assert!(gateway.child.wait().unwrap().success());
    let written = std::fs::read_to_string(&audit).unwrap();
    let last = written.lines().nth(1).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(last).unwrap()["server"],
        "one"
    );
    assert_eq!(written.lines().count(), 2);
}

/// A client that is over its limit must not fill the disk.
#[test]
fn audit_lines_of_rejected_requests_are_limited() {
    let file = file("audit-limit");
    let audit = file.with_file_name("audit.jsonl");
    let _ = std::fs::remove_file(&audit);
    let settings = json!({ "audit": audit, "limits": { "requestsPerMinute": 1 } });
    let (gateway, url, operators) = start(&file, settings, &[]);
    for _ in 0..300 {
        add(&url, "one__add");
    }
    let shown = metrics(&operators);
    assert!(
        shown.contains(r#"mcp_gateway_rejected_total{reason="rate"} 299"#),
        "{shown}"
    );
    let lines = lines(gateway, &audit);
    assert!(lines.len() < 250, "{}", lines.len());
}

#[test]
fn stdout_cannot_be_the_audit_log_of_a_gateway_on_stdio() {
    let file = file("audit-stdio");
    write(&file, &json!({}), json!({ "audit": "-" }));
    let output = mcp(&["serve", file.to_str().unwrap(), "--stdio"]);
    assert_eq!(output.status.code(), Some(1));
    let error = text(&output.stderr);
    assert!(
        error.contains("/gateway/audit: \"-\": stdout carries the protocol"),
        "{error}"
    );
}

/// The limits of clients do not count these requests.
#[test]
fn audit_lines_of_requests_that_reach_no_server_are_few_and_short() {
    let file = file("audit-unserved");
    let audit = file.with_file_name("audit.jsonl");
    let _ = std::fs::remove_file(&audit);
    let (gateway, url, operators) = start(&file, json!({ "audit": audit }), &[]);
    for _ in 0..300 {
        add(&url, "no__tool");
    }
    let shown = metrics(&operators);
    assert!(
        shown.contains(r#"mcp_gateway_calls_total{server="",tool="",outcome="rpc_error"} 300"#),
        "{shown}"
    );
    let lines = lines(gateway, &audit);
    assert!(lines.len() < 250, "{}", lines.len());
}
