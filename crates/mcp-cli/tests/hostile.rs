//! Servers and folders that attack a user of the program.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::json;

/// A folder of one test.
fn folder(name: &str) -> PathBuf {
    let folder = format!("hostile-{name}-{}", std::process::id());
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn mcp(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp"));
    let words = [&["--timeout", "20"], words].concat();
    command.args(words).stdin(Stdio::null()).output().unwrap()
}

/// Returns both outputs.
fn said(output: &Output) -> String {
    let text = [&output.stdout[..], b"\n", &output.stderr].concat();
    String::from_utf8(text).unwrap()
}

/// A server in `sh` whose texts contain `text`, a JSON string without quotes.
fn server(folder: &std::path::Path, text: &str) -> String {
    let script = r#"
while read -r line; do
  id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"completions":{},"experimental":{"e %s":{}}},"serverInfo":{"name":"s %s","version":"1 %s"},"instructions":"i %s"}}\n' "$id" "$text" "$text" "$text" "$text" ;;
    *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t","description":"d %s","inputSchema":{"type":"object"}}]}}\n' "$id" "$text" ;;
    *'"completion/complete"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"completion":{"values":["v %s"]}}}\n' "$id" "$text" ;;
    *'"ping"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"p %s"}}\n' "$id" "$text" ;;
    *'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"m %s"}}\n' "$id" "$text" ;;
  esac
done"#;
    let path = folder.join("server");
    std::fs::write(&path, format!("text='{text}'\n{script}")).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A line that looks like one of this program could make the user sign in elsewhere.
#[test]
fn line_ends_of_a_server_do_not_imitate_lines_of_the_program() {
    let folder = folder("lines");
    let forged = "FORGED: sign in with: mcp login https://evil.invalid";
    // Printed twice: by the shell with `%s`, and by the JSON parser.
    let server = server(
        &folder,
        &format!(r"\r\n\u000b\u0085\u2028\u001b[2K\n{forged}"),
    );
    let program = ["--revision", "sessions", "--", "sh", &server];
    for words in [
        &["inspect"][..],
        &["doctor"],
        &["list"],
        &["call", "t"],
        &["read", "x"],
        &["complete", "p", "a=b"],
        &["lock", "--file", folder.join("lock").to_str().unwrap()],
    ] {
        let said = said(&mcp(&[words, &program].concat()));
        let lines = said.lines().map(|line| line.trim_start_matches('\u{fffd}'));
        let imitated: Vec<_> = lines.filter(|line| line.starts_with("FORGED")).collect();
        assert!(imitated.is_empty(), "{words:?}: {said}");
        let control = |c: char| c.is_control() && c != '\n' || c == '\u{2028}';
        assert!(!said.contains(control), "{words:?}: {said:?}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn errors_do_not_show_the_values_of_options() {
    let url = "http://127.0.0.1:9/mcp";
    for words in [
        &["list", url, "--header", "Authorization Bearer s3cret"][..],
        &["list", url, "--header", "Authorization Bearer s3cret: x"],
        &["list", url, "--header", "X: s3cret\nY"],
        &["list", url, "--header", ": s3cret"],
        &["list", "--env", "=s3cret", "--", "sh"],
    ] {
        let output = mcp(words);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(!said.contains("s3cret"), "{said}");
    }
}

#[test]
fn no_header_is_sent_without_encryption_to_another_machine() {
    // An address for documentation, which is not reached.
    let url = "http://192.0.2.1/mcp?key=s3cret";
    for header in [
        "X-Api-Key: s3cret",
        "Cookie: s3cret",
        "Authorization: s3cret",
    ] {
        let output = mcp(&["list", url, "--header", header]);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("--allow-http"), "{said}");
        assert!(!said.contains("s3cret"), "{said}");
    }
    let folder = folder("headers");
    let server = json!({ "url": url, "headers": { "X-Api-Key": "s3cret" } });
    let file = folder.join("mcp.json");
    std::fs::write(&file, json!({ "mcpServers": { "a": server } }).to_string()).unwrap();
    let said = said(&mcp(&["list", "a", "--config", file.to_str().unwrap()]));
    assert!(
        said.contains("--allow-http") && !said.contains("s3cret"),
        "{said}"
    );
    std::fs::remove_dir_all(folder).unwrap();
}

/// Letters that look like others make a person read another host.
#[test]
fn the_host_of_the_connection_is_shown_if_it_differs_from_the_command_line() {
    for (url, part) in [
        ("http://127\u{3002}0.0.1:9/a", "http://127.0.0.1:9/a"),
        (
            "http://127.0.0.1:9\\@good.example/",
            "http://127.0.0.1:9/@good.example/",
        ),
        ("http://good.example@127.0.0.1:9/", "http://127.0.0.1:9/"),
    ] {
        let said = said(&mcp(&["list", url]));
        assert!(said.contains(&format!("connects to {part}\n")), "{said}");
    }
    let said = said(&mcp(&["list", "HTTP://127.0.0.1:9?x"]));
    assert!(!said.contains("connects to"), "{said}");
}

/// Another user who can write to the folder creates a link with the name of the temporary file.
#[test]
fn a_lock_file_is_not_written_through_a_link() {
    let folder = folder("link");
    let server = server(&folder, "x");
    std::fs::write(folder.join("victim"), "kept").unwrap();
    // `exec` keeps the process id.
    let script = r#"ln -s victim "mcp.lock.$$.tmp" && exec "$@""#;
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_mcp"), "lock"]);
    command.args(["--revision", "sessions", "--", "sh", &server]);
    let output = command.current_dir(&folder).stdin(Stdio::null()).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let victim = std::fs::read_to_string(folder.join("victim")).unwrap();
    assert_eq!(victim, "kept");
    assert!(
        std::fs::symlink_metadata(folder.join("mcp.lock"))
            .unwrap()
            .is_file()
    );
    std::fs::remove_dir_all(folder).unwrap();
}
