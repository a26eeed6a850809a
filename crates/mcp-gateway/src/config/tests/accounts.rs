//! Accounts of users in configuration files.

use mcp_host::Launch;

use super::{error, *};

/// Returns the text of a configuration with a server `notes`, whose settings have these members.
fn with_notes(server: &str, auth: &str, settings: &str) -> String {
    format!(
        r#"{{"mcpServers":{{"notes":{server}}},
            "gateway":{{"publicUrl":"https://mcp.example.com/mcp"{auth},"servers":{{"notes":{settings}}}}}}}"#
    )
}

const URL: &str = r#"{"url":"https://notes.example.com/mcp","headers":{"Authorization":"Bearer ${OWN}","x-a":"1"}}"#;
const AUTH: &str = r#","auth":{"issuer":"https://id.example.com"}"#;

#[test]
fn the_header_of_an_account_replaces_that_of_the_server() {
    let accounts = r#"{"accounts":{"ada":{"headers":{"authorization":"Bearer ${ADA}"}}}}"#;
    let config = GatewayConfig::parse(&with_notes(URL, AUTH, accounts)).unwrap();
    assert_eq!(config.warnings(), [""; 0]);
    let variables = Variables::new().with_env(|name| Some(format!("secret-of-{name}")));
    let config = config.resolve(&variables).unwrap();
    let config = config.with_user_keys(|user| format!("key of {user}"));
    let entry = &config.servers["notes"];
    let headers = |server: &ServerConfig| match &server.launch {
        Launch::Http { headers, .. } => headers.clone(),
        launch => panic!("{launch:?}"),
    };
    let expected = [("authorization", "Bearer secret-of-ADA"), ("x-a", "1")];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(headers(&entry.accounts["key of ada"]), expected.into());
    assert_eq!(
        headers(&entry.server)["Authorization"],
        "Bearer secret-of-OWN"
    );
    assert!(!format!("{config:?}").contains("secret-of"), "{config:?}");
}

#[test]
fn a_variable_of_an_account_belongs_to_the_program_of_its_user() {
    let server = r#"{"command":"cargo","env":{"TOKEN":"own","LEVEL":"1"}}"#;
    let accounts = r#"{"accounts":{"ada":{"env":{"TOKEN":"of ada"}}}}"#;
    let config = GatewayConfig::parse(&with_notes(server, AUTH, accounts)).unwrap();
    let config = config.resolve(&Variables::new()).unwrap();
    let env = |server: &ServerConfig| match &server.launch {
        Launch::Stdio { env, .. } => (env["TOKEN"].clone(), env["LEVEL"].clone()),
        launch => panic!("{launch:?}"),
    };
    let entry = &config.servers["notes"];
    let one = || "1".to_owned();
    assert_eq!(env(&entry.accounts["ada"]), ("of ada".to_owned(), one()));
    assert_eq!(env(&entry.server), ("own".to_owned(), one()));
}

#[test]
fn an_account_that_cannot_be_used_is_an_error_with_its_place() {
    let command = r#"{"command":"notes"}"#;
    let headers = r#"{"accounts":{"ada":{"headers":{"authorization":"a"}}}}"#;
    for (server, auth, settings, expected) in [
        (
            URL,
            "",
            headers,
            "/gateway/servers/notes/accounts: users have no names without /gateway/auth",
        ),
        (
            URL,
            AUTH,
            r#"{"shared":true,"accounts":{"ada":{"headers":{"a":"b"}}}}"#,
            "/gateway/servers/notes/accounts: \"shared\": true says",
        ),
        (
            command,
            AUTH,
            headers,
            "/gateway/servers/notes/accounts/ada: the account of a server with a program has \"env\"",
        ),
        (
            URL,
            AUTH,
            r#"{"accounts":{"ada":{"env":{"A":"b"}}}}"#,
            "the account of a server with a URL has \"headers\"",
        ),
        (
            URL,
            AUTH,
            r#"{"accounts":{"ada":{}}}"#,
            "with at least one member",
        ),
        (
            URL,
            AUTH,
            r#"{"accounts":{"ada":{"header":{}}}}"#,
            "did you mean \"headers\"?",
        ),
    ] {
        let error = error(&with_notes(server, auth, settings));
        assert!(error.contains(expected), "{expected}: {error}");
    }
    let unset = r#"{"accounts":{"ada":{"headers":{"authorization":"${UNSET_OF_ADA}"}}}}"#;
    let config = GatewayConfig::parse(&with_notes(URL, AUTH, unset)).unwrap();
    let variables = Variables::new().with_env(|name| (name == "OWN").then(String::new));
    let error = config.resolve(&variables).unwrap_err().to_string();
    for part in ["/gateway/servers/notes/accounts/ada", "UNSET_OF_ADA"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_changed_account_needs_new_connections() {
    let entry = |accounts: &str| {
        let settings = format!(r#"{{"accounts":{accounts}}}"#);
        let config = GatewayConfig::parse(&with_notes(URL, AUTH, &settings)).unwrap();
        config.servers["notes"].clone()
    };
    let ada = entry(r#"{"ada":{"headers":{"authorization":"a"}}}"#);
    assert!(ada.connects_like(&ada));
    for other in [
        r#"{"ada":{"headers":{"authorization":"b"}}}"#,
        r#"{"bob":{"headers":{"authorization":"a"}}}"#,
        "{}",
    ] {
        assert!(!ada.connects_like(&entry(other)), "{other}");
    }
}
