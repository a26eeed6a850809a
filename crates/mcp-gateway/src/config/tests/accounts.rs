//! Accounts of users in configuration files.

use mcp_host::Launch;

use super::{error, *};

/// Returns the text of a configuration with a server `notes`. The settings of the server have these members.
fn with_notes(server: &str, auth: &str, settings: &str) -> String {
    format!(
        r#"{{"mcpServers":{{"notes":{server}}},
            "gateway":{{"publicUrl":"https://mcp.example.com/mcp"{auth},"servers":{{"notes":{settings}}}}}}}"#
    )
}

const URL: &str = r#"{"url":"https://notes.example.com/mcp","headers":{"Authorization":"Bearer ${OWN}","x-a":"1"}}"#;
const AUTH: &str = r#","auth":{"issuer":"https://id.example.com"}"#;

#[test]
fn the_headers_of_an_account_replace_all_headers_of_the_server() {
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
    let accounts = entry.accounts.as_ref().unwrap();
    let own = headers(&accounts["key of ada"]);
    assert_eq!(own["authorization"], "Bearer secret-of-ADA");
    assert_eq!(own.len(), 1, "{:?}", own.keys());
    assert_eq!(
        headers(&entry.server)["Authorization"],
        "Bearer secret-of-OWN"
    );
    assert!(!format!("{config:?}").contains("secret-of"), "{config:?}");
}

/// Returns the warnings about a server for which the user `ada` has an account with this header or variable.
fn warnings_beside_account(server: &str, name: &str) -> Vec<String> {
    let member = match server.contains("url\"") {
        true => "headers",
        false => "env",
    };
    let accounts = format!(r#"{{"accounts":{{"ada":{{"{member}":{{"{name}":"a"}}}}}}}}"#);
    let config = GatewayConfig::parse(&with_notes(server, AUTH, &accounts)).unwrap();
    // `mcp serve` replaces the variables and the names of users before it prints the warnings.
    let variables = Variables::new().with_env(|_| Some("x".to_owned()));
    let config = config.resolve(&variables).unwrap();
    let config = config.with_user_keys(|user| format!("key of {user}"));
    config.warnings()
}

/// Accounts replace only headers and variables.
#[test]
fn a_credential_that_accounts_do_not_replace_is_a_warning() {
    let args = |words: &str| format!(r#"{{"command":"x","args":[{words}]}}"#);
    let url = |end: &str| format!(r#"{{"url":"https://n.example/{end}"}}"#);
    let bridge = |command: &str, words: &str| {
        format!(r#"{{"command":"{command}","args":[{words}"bridge","https://n.example/mcp"]}}"#)
    };
    let default_file = "/accounts/\"ada\": without the variable \"MCP_TOKENS\"";
    for (server, variable, found) in [
        (args(r#""--token","SECRET0011""#), "A", "argument 1 "),
        (args(r#""-v","--token=SECRET0011""#), "A", "argument 2 "),
        (args(r#""--token SECRET0011""#), "A", "argument 1 "),
        (
            args(r#""--env","API_TOKEN=SECRET0011""#),
            "A",
            "argument 2 ",
        ),
        (
            args(r#""--header=Authorization: Bearer SECRET0011""#),
            "A",
            "argument 1 ",
        ),
        (
            args(r#""-H","Authorization:SECRET0011""#),
            "A",
            "argument 2 ",
        ),
        (
            args(r#""${HOME}","${env:GIT_TOKEN:-SECRET0011}""#),
            "A",
            "argument 2 ",
        ),
        (
            args(r#""https://n.example/mcp?key=SECRET0011""#),
            "A",
            "argument 1 ",
        ),
        (args(r#""key","https://n.example/token""#), "A", ""),
        (url("mcp?key=SECRET0011"), "A", "the URL "),
        (url("${env:API_KEY}/mcp"), "A", "the URL "),
        (url("key?a=token"), "A", ""),
        (bridge("/bin/mcp", ""), "A", default_file),
        (bridge("mcp", r#""--timeout","5","#), "A", default_file),
        (bridge("nice", r#""mcp","#), "A", default_file),
        (bridge("mcp", ""), "MCP_TOKENS", ""),
    ] {
        let warnings = warnings_beside_account(&server, variable);
        assert_eq!(
            warnings.is_empty(),
            found.is_empty(),
            "{server} {warnings:?}"
        );
        assert!(
            warnings.iter().all(|text| text.contains(found)),
            "{warnings:?}"
        );
        assert!(!format!("{warnings:?}").contains("SECRET"), "{warnings:?}");
    }
}

#[test]
fn equal_accounts_of_two_users_are_a_warning() {
    let warnings = |ada: &str, bob: &str| {
        let account = |token: &str| format!(r#"{{"headers":{{"authorization":"{token}"}}}}"#);
        let (ada, bob) = (account(ada), account(bob));
        let accounts = format!(r#"{{"accounts":{{"ada":{ada},"bob":{bob}}}}}"#);
        GatewayConfig::parse(&with_notes(URL, AUTH, &accounts))
            .unwrap()
            .warnings()
    };
    assert_eq!(warnings("Bearer ${ADA}", "Bearer ${BOB}"), [""; 0]);
    let found = warnings("Bearer SECRET0011", "Bearer SECRET0011");
    assert!(found[0].contains("\"ada\" and \"bob\""), "{found:?}");
    assert!(!found[0].contains("SECRET"), "{found:?}");
}

#[test]
fn a_variable_of_an_account_belongs_to_the_program_of_its_user() {
    let server = r#"{"command":"cargo","env":{"TOKEN":"own","LEVEL":"1"},"envFile":"own.env"}"#;
    let accounts = r#"{"accounts":{"ada":{"env":{"TOKEN":"of ada"}}}}"#;
    let config = GatewayConfig::parse(&with_notes(server, AUTH, accounts)).unwrap();
    let env = |server: &ServerConfig| match &server.launch {
        Launch::Stdio { env, env_file, .. } => format!("{env:?} {env_file:?}"),
        launch => panic!("{launch:?}"),
    };
    let entry = &config.servers["notes"];
    let accounts = entry.accounts.as_ref().unwrap();
    assert_eq!(env(&accounts["ada"]), r#"{"TOKEN": "of ada"} None"#);
    assert_eq!(
        env(&entry.server),
        r#"{"LEVEL": "1", "TOKEN": "own"} Some("own.env")"#
    );
}

#[test]
fn an_account_that_cannot_be_used_is_an_error_that_names_the_location() {
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
            "/gateway/servers/notes/accounts/\"ada\": an account must have \"env\" with at least one member",
        ),
        (
            URL,
            AUTH,
            r#"{"accounts":{"ada":{"env":{"A":"b"}}}}"#,
            "an account must have \"headers\" with at least one member",
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
            "an account has an unknown member; use \"headers\" for a server with a URL, or \"env\" for a server with a command",
        ),
    ] {
        let error = error(&with_notes(server, auth, settings));
        assert!(error.contains(expected), "{expected}: {error}");
    }
    let unset = r#"{"accounts":{"ada":{"headers":{"authorization":"${UNSET_OF_ADA}"}}}}"#;
    let config = GatewayConfig::parse(&with_notes(URL, AUTH, unset)).unwrap();
    let variables = Variables::new().with_env(|name| (name == "OWN").then(String::new));
    let error = config.resolve(&variables).unwrap_err().to_string();
    for part in ["/gateway/servers/notes/accounts/\"ada\"", "UNSET_OF_ADA"] {
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
        r#"{"ada":{"headers":{"authorization":"a"}},"bob":{"headers":{"authorization":"a"}}}"#,
    ] {
        assert!(!ada.connects_like(&entry(other)), "{other}");
    }
}

#[test]
fn incomplete_accounts_and_accounts_of_unknown_users_are_errors() {
    let tokens = r#","auth":{"tokens":[{"token":"0123456789abcdef","subject":"ada"}]}"#;
    let account = |headers: &str| format!(r#"{{"accounts":{{"ada":{{"headers":{headers}}}}}}}"#);
    let error_of = |settings: &str, auth: &str| {
        let config = GatewayConfig::parse(&with_notes(URL, auth, settings));
        let variables = Variables::new().with_env(|_| Some(String::new()));
        let config = config.and_then(|config| config.resolve(&variables));
        config.unwrap_err().to_string()
    };
    for (settings, auth, expected) in [
        (
            r#"{"accounts":null}"#,
            tokens,
            "an object with the account of each user, or \"gateway\", found null",
        ),
        (
            r#"{"accounts":{}}"#,
            tokens,
            "no user has an account; add one, or write",
        ),
        (
            r#"{"accounts":{"ada":{"headers":{"a":"b"}},"ada":{"headers":{"a":"c"}}}}"#,
            tokens,
            "the member \"ada\" is repeated",
        ),
        (
            &account(r#"{"Authorization":"a","authorization":"b"}"#),
            tokens,
            "an account has the same header twice",
        ),
        (
            &account(r#"{"authorization":"Bearer ${EMPTY}"}"#),
            tokens,
            "/accounts/\"ada\": a value is empty; set its variable",
        ),
        (
            &account(r#"{"authorization":""}"#),
            AUTH,
            "a value is empty",
        ),
        (
            r#"{"accounts":{"Ada":{"headers":{"a":"b"}}}}"#,
            tokens,
            "/accounts/\"Ada\": no token of /gateway/auth has this user",
        ),
    ] {
        let error = error_of(settings, auth);
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn errors_about_accounts_do_not_quote_names_that_could_be_credentials() {
    for account in [
        r#"{"headers":{"Bearer SECRET0011":"x"}}"#,
        r#"{"SECRET0011":"x"}"#,
        r#"{"headers":{"a":"b"},"SECRET0011":{}}"#,
        r#"{"headers":"SECRET0011"}"#,
    ] {
        let settings = format!(r#"{{"accounts":{{"ada":{account}}}}}"#);
        let error = error(&with_notes(URL, AUTH, &settings));
        assert!(!error.contains("SECRET"), "{error}");
        assert!(error.contains("/gateway/servers/notes/accounts"), "{error}");
    }
}

#[test]
fn the_command_that_writes_headers_is_not_run_for_the_account_of_a_user() {
    let server = r#"{"url":"https://notes.example.com/mcp","headersHelper":"print-own-token"}"#;
    let accounts = r#"{"accounts":{"ada":{"headers":{"authorization":"of ada"}}}}"#;
    let config = GatewayConfig::parse(&with_notes(server, AUTH, accounts)).unwrap();
    let entry = &config.servers["notes"];
    let has_helper = |server: &ServerConfig| match &server.launch {
        Launch::Http { headers_helper, .. } => headers_helper.is_some(),
        launch => panic!("{launch:?}"),
    };
    let accounts = entry.accounts.as_ref().unwrap();
    assert!(has_helper(&entry.server) && !has_helper(&accounts["ada"]));
}

#[test]
fn a_file_can_have_256_accounts_for_a_server() {
    let with = |count: usize| {
        let account = |user| format!(r#""{user}":{{"headers":{{"a":"b"}}}}"#);
        let accounts: Vec<_> = (0..count).map(account).collect();
        let settings = format!(r#"{{"accounts":{{{}}}}}"#, accounts.join(","));
        GatewayConfig::parse(&with_notes(URL, AUTH, &settings))
    };
    assert!(with(256).is_ok());
    let error = with(257).unwrap_err().to_string();
    assert!(error.contains("more than 256 accounts"), "{error}");
}
