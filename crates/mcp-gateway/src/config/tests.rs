//! Valid and invalid configuration files.

mod accounts;

use super::*;
use crate::catalog::Transform;

fn error(text: &str) -> String {
    let checked = GatewayConfig::parse(text);
    let checked = checked.and_then(|config| config.resolve(&Variables::new()));
    checked.unwrap_err().to_string()
}

#[test]
fn unknown_keys_are_errors_that_name_the_location() {
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
fn wrong_values_are_errors_that_name_the_location() {
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
            r#"{"mcpServers":{"a":{"command":"a"}},"gateway":{"servers":{"a":{"namespace":"b"}},"access":[{"namespace":"a","name":"x"}]}}"#,
            "/gateway/access/0: the rule for \"x\": no server has the namespace \"a\"",
        ),
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
            "/gateway/access/0: the rule",
        ),
        (
            r#"{"mcpServers":{},"gateway":{"limits":{"requestsPerMinute":0}}}"#,
            "/gateway/limits/requestsPerMinute",
        ),
        (
            r#"{"mcpServers":{},"gateway":{"auth":{"issuer":"https://login.example"}}}"#,
            "\"publicUrl\" is missing",
        ),
        (
            r#"{"mcpServers":{},"gateway":{"cluster":{"address":"http://10.0.0.7:8000/mcp"}}}"#,
            "/gateway/cluster: missing field `key`",
        ),
        ("{", "EOF"),
    ] {
        let error = error(text);
        assert!(error.contains(part), "{part}: {error}");
    }
}

const KEY: &str = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";

/// Returns a configuration for a process of a cluster with this address and this key.
fn clustered(address: &str, key: &str) -> Result<GatewayConfig, InvalidServer> {
    let cluster = serde_json::json!({ "address": address, "key": key });
    let text = serde_json::json!({ "mcpServers": {}, "gateway": { "cluster": cluster } });
    let values = [("OWN_URL", "http://10.0.0.7:8000/mcp"), ("KEY", KEY)];
    let variables = Variables::new().with_env(move |name| {
        let found = values.iter().find(|(known, _)| *known == name)?;
        Some(found.1.to_owned())
    });
    GatewayConfig::parse(&text.to_string())?.resolve(&variables)
}

#[test]
fn the_address_and_the_key_of_a_cluster_are_checked() {
    let config = clustered("${env:OWN_URL}", "${env:KEY}\n").unwrap();
    let cluster = config.cluster().unwrap();
    assert_eq!(*cluster.address(), "http://10.0.0.7:8000/mcp");
    let shown = format!("{config:?} {cluster:?}");
    assert!(
        shown.contains("10.0.0.7") && !shown.contains(KEY),
        "{shown}"
    );
    for (address, key, part) in [
        (
            "https://10.0.0.7/mcp",
            KEY,
            "/gateway/cluster/address: the address https://10.0.0.7/mcp",
        ),
        ("10.0.0.7", KEY, "is not an http URL with a host"),
        (
            "http://a b",
            KEY,
            "/gateway/cluster/address: \"http://a b\" is not a URL",
        ),
        ("${env:UNSET}", KEY, "/gateway/cluster/address: "),
        ("${env:OWN_URL}", "${env:UNSET}", "/gateway/cluster/key: "),
        (
            "${env:OWN_URL}",
            "c2VjcmV0",
            "/gateway/cluster/key: the key has 6 bytes; expected 32",
        ),
        (
            "${env:OWN_URL}",
            "secret!",
            "/gateway/cluster/key: the key is not base64",
        ),
    ] {
        let error = clustered(address, key).unwrap_err().to_string();
        assert!(error.contains(part), "{part}: {error}");
        assert!(
            !error.contains("secret") && !error.contains("c2Vj"),
            "{error}"
        );
    }
}

/// The operator chooses the servers, so addresses in the operator's network are not refused.
#[test]
fn servers_in_the_private_network_of_the_operator_are_valid() {
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

#[test]
fn a_file_can_have_comments_and_trailing_commas_and_errors_keep_their_lines() {
    let text = |name: &str| {
        format!(
            "{{ // servers\n\"mcpServers\": {{ \"a\": {{ \"command\": \"x\", }}, }}, /* more\n */\n{name}: {{ }} }}"
        )
    };
    let config = GatewayConfig::parse(&text("\"gateway\"")).unwrap();
    assert_eq!(config.counts(), (1, 0));
    assert!(
        error(&text("gateway")).contains("line 4"),
        "{}",
        error(&text("gateway"))
    );
    // A key in a comment is not a key, and a repeated key is still an error.
    let repeated = text("\"gateway\"").replace("/* more\n */", "\"gateway\": {},");
    assert!(error(&repeated).contains("gateway"), "{}", error(&repeated));
}

#[test]
fn authorization_and_scopes_are_read_from_the_file() {
    let config = |gateway: &str| {
        GatewayConfig::parse(&format!(r#"{{"mcpServers":{{}},"gateway":{gateway}}}"#)).unwrap()
    };
    let open = config(r#"{"access":[{"name":"a"}]}"#);
    assert_eq!(open.authorization(), None);
    assert!(open.scopes_supported().is_empty());
    let closed = config(
        r#"{"publicUrl":"https://a.example/mcp","auth":{"issuer":"https://login.example","scopes":["mcp"]},
            "access":[{"name":"a","scope":"write read"},{"name":"b","scope":"read"}]}"#,
    );
    let (source, scopes) = closed.authorization().unwrap();
    assert_eq!(source, TokenSource::Issuer("https://login.example"));
    assert_eq!(scopes, ["mcp"]);
    assert_eq!(closed.scopes_supported(), ["mcp", "read", "write"]);
}

#[test]
fn one_account_for_all_users_is_a_warning_unless_the_file_says_that_it_is_intended() {
    let warnings = |auth: &str, server: &str, settings: &str| {
        let text = format!(
            r#"{{"mcpServers":{{"notes":{server}}},
                "gateway":{{"publicUrl":"https://mcp.example.com/mcp"{auth},"servers":{{"notes":{settings}}}}}}}"#
        );
        GatewayConfig::parse(&text).unwrap().warnings()
    };
    let issuer = r#","auth":{"issuer":"https://id.example.com"}"#;
    let tokens = |users: [&str; 2]| {
        let tokens = users.map(|user| format!(r#"{{"token":"${{X}}","subject":"{user}"}}"#));
        format!(r#","auth":{{"tokens":[{}]}}"#, tokens.join(","))
    };
    let url = r#"{"url":"https://notes.example.com/mcp"}"#;
    for server in [
        url,
        r#"{"command":"notes"}"#,
        r#"{"command":"mcp","args":["bridge","https://n.example/mcp","--stdio"]}"#,
    ] {
        for auth in [issuer, &tokens(["ada", "bob"])] {
            let found = warnings(auth, server, "{}");
            assert_eq!(found.len(), 1, "{found:?}");
            for part in ["/mcpServers/notes", "\"accounts\"", "\"gateway\""] {
                assert!(found[0].contains(part), "{found:?}");
            }
        }
    }
    for (auth, settings) in [
        (issuer, r#"{"accounts":"gateway"}"#),
        (issuer, r#"{"shared":true}"#),
        ("", "{}"),
        (&tokens(["ada", "ada"]), "{}"),
    ] {
        assert_eq!(warnings(auth, url, settings), [""; 0]);
    }
}

#[test]
fn a_disabled_server_cannot_be_required() {
    let text = r#"{"mcpServers":{"notes":{"command":"notes","disabled":true}},
        "gateway":{"servers":{"notes":{"required":true}}}}"#;
    let error = error(text);
    assert!(error.contains("/gateway/servers/notes/required"), "{error}");
}

#[test]
fn a_header_that_is_sent_without_encryption_is_a_warning() {
    let warnings = |url: &str, headers: &str| {
        let text = format!(
            r#"{{"mcpServers":{{"notes":{{"url":"{url}","headers":{headers}}}}},"gateway":{{}}}}"#
        );
        GatewayConfig::parse(&text).unwrap().warnings()
    };
    let key = r#"{"x-key":"secret"}"#;
    let found = warnings("http://192.0.2.2/mcp", key);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("\"x-key\" is sent without encryption"),
        "{found:?}"
    );
    assert!(!found[0].contains("secret"), "{found:?}");
    let helper = r#"{},"headersHelper":"get-token""#;
    let found = warnings("http://192.0.2.2/mcp", helper);
    assert!(
        found[0].contains("output of \"headersHelper\" is sent without encryption"),
        "{found:?}"
    );
    for (url, headers) in [
        ("https://notes.example.com/mcp", key),
        ("http://127.0.0.1:1/mcp", key),
        ("http://192.0.2.2/mcp", "{}"),
    ] {
        assert_eq!(warnings(url, headers), [""; 0], "{url}");
    }
}

#[test]
fn type_errors_name_the_place_in_the_file_and_no_rust_type() {
    for (gateway, expected) in [
        (
            r#"{"limits":{"requestsPerMinute":0}}"#,
            "/gateway/limits/requestsPerMinute: 0 is not possible; expected a number from 1 to 4294967295",
        ),
        (
            r#"{"tls":7}"#,
            "/gateway/tls: expected an object, found a number",
        ),
        (
            r#"{"access":{}}"#,
            "/gateway/access: expected a list, found an object",
        ),
        (
            r#"{"allowedOrigins":"a"}"#,
            "/gateway/allowedOrigins: expected a list, found text",
        ),
        (
            r#"{"servers":{"a":{"tools":[]}}}"#,
            "/gateway/servers/a/tools: expected an object, found a list",
        ),
        (
            r#"{"cluster":"a"}"#,
            "/gateway/cluster: expected an object, found text",
        ),
    ] {
        let text = format!(r#"{{"mcpServers":{{"a":{{"command":"a"}}}},"gateway":{gateway}}}"#);
        assert_eq!(error(&text), expected);
    }
}

#[test]
fn a_misspelled_key_of_the_gateway_suggests_the_nearest_known_key() {
    for (gateway, expected) in [
        (r#"{"acess":[]}"#, "; did you mean \"access\"?"),
        (r#"{"lisen":"a"}"#, "; did you mean \"listen\"?"),
        (r#"{"publicURL":"a"}"#, "; did you mean \"publicUrl\"?"),
        (r#"{"listTimeOut":1}"#, "; did you mean \"listTimeout\"?"),
        (
            r#"{"auditArgument":1}"#,
            "; did you mean \"auditArguments\"?",
        ),
    ] {
        let error = error(&format!(r#"{{"mcpServers":{{}},"gateway":{gateway}}}"#));
        assert!(error.ends_with(expected), "{expected}: {error}");
    }
}

#[test]
fn a_misspelled_key_of_a_server_suggests_the_nearest_known_key() {
    for (server, expected) in [
        (
            r#"{"commnd":"a"}"#,
            "/mcpServers: server \"a\": neither \"command\" nor \"url\" is given; the key \"commnd\" is unknown; did you mean \"command\"?",
        ),
        (
            r#"{"type":"stdio","comand":"a"}"#,
            "the key \"comand\" is unknown; did you mean \"command\"?",
        ),
        (
            r#"{"command":"a","arg":["b"]}"#,
            "/mcpServers: server \"a\": the key \"arg\" is unknown; did you mean \"args\"?",
        ),
        (
            r#"{"url":"http://127.0.0.1:1/mcp","environment":{}}"#,
            "the key \"environment\" is for servers with \"command\", but this server has \"url\"; remove the key",
        ),
        (
            r#"{"command":"a","colour":"red"}"#,
            "the key \"colour\" is not used; remove the key, unless another program reads it (at /mcpServers/a/colour)",
        ),
    ] {
        let error = error(&format!(r#"{{"mcpServers":{{"a":{server}}}}}"#));
        assert!(error.contains(expected), "{expected}: {error}");
        assert!(!error.contains("no effect"), "{error}");
    }
}
