//! Configuration files with and without mistakes.

use super::*;

fn error(text: &str) -> String {
    let checked = GatewayConfig::parse(text);
    let checked = checked.and_then(|config| config.resolve(&Variables::new()));
    checked.unwrap_err().to_string()
}

#[test]
fn unknown_keys_are_errors_with_their_place() {
    for (text, key, place) in [
        (r#"{"mcpServer":{}}"#, "mcpServer", ""),
        (
            r#"{"mcpServers":{},"gateway":{"listn":""}}"#,
            "listn",
            "/gateway",
        ),
        (
            r#"{"mcpServers":{"a":{"command":"a"}},"gateway":{"servers":{"a":{"read_only":true}}}}"#,
            "read_only",
            "/gateway/servers/a",
        ),
        (
            r#"{"mcpServers":{"a":{"command":"a"}},"gateway":{"servers":{"a":{"tools":{"t":{"hidden":true}}}}}}"#,
            "hidden",
            "/gateway/servers/a/tools/t",
        ),
        (
            r#"{"mcpServers":{"a":{"command":"a","deniedTool":["x"]}}}"#,
            "deniedTool",
            "\"a\"",
        ),
        (
            r#"{"mcpServers":{"a":{"command":"a"}},"gateway":{"servers":{"b":{}}}}"#,
            "b",
            "/gateway/servers/b",
        ),
    ] {
        let error = error(text);
        assert!(error.contains(key) && error.contains(place), "{error}");
    }
}

#[test]
fn wrong_values_are_errors_with_their_place() {
    for (text, part) in [
        (r#"{"mcpServers":{"a":{"command":7}}}"#, "server \"a\""),
        (
            r#"{"mcpServers":{"a":{"url":"file:///etc/passwd"}}}"#,
            "server \"a\"",
        ),
        (
            r#"{"mcpServers":{"a":{"command":"${env:MCP_UNSET_}"}}}"#,
            "MCP_UNSET_",
        ),
        (r#"{"mcpServers":{"a b":{"command":"a"}}}"#, "\"a b\""),
        (
            r#"{"mcpServers":{"a":{"command":"a"},"b":{"command":"b"}},"gateway":{"servers":{"a":{"namespace":"b"}}}}"#,
            "namespace \"b\"",
        ),
        (
            r#"{"mcpServers":{},"gateway":{"listTimeout":0}}"#,
            "/gateway/listTimeout",
        ),
        (
            r#"{"mcpServers":{},"gateway":{"servers":{"a":7}}}"#,
            "/gateway/servers/a",
        ),
        (
            r#"{"mcpServers":{"a":{"command":"a"}},"gateway":{"servers":{"a":{"tools":{"x":{"rename":"z"},"y":{"rename":"z"}}}}}}"#,
            "are both renamed to \"z\"",
        ),
        (
            r#"{"mcpServers":{},"gateway":{"access":[{"name":"a","effect":"deny","scope":"b"}]}}"#,
            "/gateway/access: rule 0",
        ),
        (
            r#"{"mcpServers":{},"gateway":{"limits":{"requestsPerMinute":0}}}"#,
            "/gateway/limits/requestsPerMinute",
        ),
        (
            r#"{"mcpServers":{},"gateway":{"auth":{"issuer":"https://login.example"}}}"#,
            "\"publicUrl\" is missing",
        ),
        ("{", "EOF"),
    ] {
        let error = error(text);
        assert!(error.contains(part), "{part}: {error}");
    }
}

/// The operator chooses the servers, so addresses of the own network are not refused.
#[test]
fn servers_of_the_own_network_are_valid() {
    for url in [
        "http://127.0.0.1:1/mcp",
        "http://10.0.0.1/mcp",
        "http://[::1]:1/mcp",
    ] {
        let text = format!(r#"{{"mcpServers":{{"a":{{"url":"{url}"}}}}}}"#);
        let config = GatewayConfig::parse(&text).unwrap();
        assert!(config.resolve(&Variables::new()).is_ok(), "{url}");
    }
}

#[test]
fn settings_have_defaults_and_disabled_servers_are_left_out() {
    let text = r#"{"mcpServers":{"a":{"command":"a","disabled":true},"b":{"command":"b","allowedTools":["x"]}},
        "gateway":{"servers":{"a":{},"b":{"namespace":"c","tools":{"x":{"rename":"y"}}}}}}"#;
    let config = GatewayConfig::parse(text).unwrap();
    assert_eq!(config.listen(), "127.0.0.1:8000");
    let names: Vec<_> = config.servers.keys().collect();
    assert_eq!(names, ["c"]);
    let expected = Transform::new()
        .show_only(["x".to_owned()])
        .rename("x", "y");
    assert_eq!(config.servers["c"].transform(), expected);
}
