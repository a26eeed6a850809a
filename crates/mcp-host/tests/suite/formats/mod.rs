//! Configuration files as other hosts write them.

mod files;
mod hosts;
mod pages;

use std::fs;
use std::path::Path;

use mcp_host::{Config, ConfigFormat, Launch, ServerConfig, Variables};

use crate::support::Folder;

fn names(config: &Config) -> Vec<&str> {
    config.servers().map(|(name, _)| name).collect()
}

/// The only server of a text.
fn server(text: &str) -> ServerConfig {
    let config = Config::parse(text, ConfigFormat::Standard).unwrap();
    assert_eq!(
        config.errors().next().map(|(_, error)| error.to_string()),
        None
    );
    let (_, server) = config.servers().next().expect(text);
    server.clone()
}

fn entry(members: &str) -> ServerConfig {
    server(&format!(r#"{{"mcpServers": {{"a": {{{members}}}}}}}"#))
}

#[test]
fn the_list_of_servers_is_found_under_each_known_key() {
    let git = r#"{"git": {"command": "uvx", "args": ["mcp-server-git"]}}"#;
    for text in [
        format!(r#"{{"mcpServers": {git}}}"#),
        format!(r#"{{"servers": {git}, "inputs": []}}"#),
        format!(r#"{{"context_servers": {git}, "theme": "One"}}"#),
        format!(r#"{{"amp.mcpServers": {git}}}"#),
        format!(r#"{{"mcp.servers": {git}}}"#),
        format!(r#"{{"mcp": {{"servers": {git}}}}}"#),
        format!(r#"{{"mcp": {git}, "$schema": "x"}}"#),
    ] {
        let expected = ServerConfig::stdio("uvx", ["mcp-server-git"]);
        assert_eq!(server(&text), expected, "{text}");
    }
}

#[test]
fn entries_in_the_styles_of_several_hosts_give_the_same_server() {
    let program = ServerConfig::stdio("a", ["1", "true"]);
    for members in [
        r#""command": "a", "args": [1, true]"#,
        r#""type": "local", "command": ["a", "1", "true"]"#,
        r#""type": "STDIO", "command": "a", "args": ["1", "true"], "env": {"UNSET": null}"#,
        r#""transport": "stdio", "command": "a", "args": ["1", "true"], "enabled": true"#,
    ] {
        assert_eq!(entry(members), program, "{members}");
    }
    let http = ServerConfig::http("https://h/mcp");
    for members in [
        r#""url": "https://h/mcp""#,
        r#""serverUrl": "https://h/mcp""#,
        r#""type": "streamable_http", "url": "https://h/mcp""#,
        r#""type": "Streamable-HTTP", "url": "https://h/mcp""#,
        r#""type": "remote", "url": "https://h/mcp", "headers": {"x": null}"#,
    ] {
        assert_eq!(entry(members), http, "{members}");
    }
    assert!(!entry(r#""command": "a", "enabled": false"#).is_enabled);
    let text = r#"{"mcpServers": {"a": {"type": "ws", "url": "b"}}}"#;
    let config = Config::parse(text, ConfigFormat::Standard).unwrap();
    assert!(
        config
            .errors()
            .next()
            .unwrap()
            .1
            .to_string()
            .contains("\"ws\"")
    );
}

#[test]
fn a_timeout_below_1000_is_read_as_seconds() {
    for (written, seconds, is_reported) in
        [("60", 60.0, true), ("0.5", 0.5, true), ("1000", 1.0, false)]
    {
        let text =
            format!(r#"{{"mcpServers": {{"a": {{"command": "a", "timeout": {written}}}}}}}"#);
        let config = Config::parse(&text, ConfigFormat::Standard).unwrap();
        let (_, server) = config.servers().next().unwrap();
        assert_eq!(server.call_timeout.unwrap().as_secs_f64(), seconds);
        assert_eq!(!config.warnings().is_empty(), is_reported, "{written}");
    }
}

#[cfg(feature = "codex")]
#[test]
fn codex_names_inherited_variables_in_two_ways() {
    let read = |value: &str| {
        let text = format!("[mcp_servers.a]\ncommand = \"a\"\nenv_vars = {value}\n");
        Config::parse(&text, ConfigFormat::Codex).unwrap()
    };
    let config = read(r#"["PATH", { name = "CARGO_MANIFEST_DIR", source = "local" }]"#);
    let (_, server) = config.servers().next().unwrap();
    let Launch::Stdio { env, .. } = &server.launch else {
        panic!("a program");
    };
    assert!(env.contains_key("PATH") && env.contains_key("CARGO_MANIFEST_DIR"));
    let config = read("[1]");
    let (_, error) = config.errors().next().unwrap();
    assert!(error.to_string().contains("env_vars"), "{error}");
}

#[test]
fn a_file_of_claude_code_has_servers_for_a_folder() {
    let folder = Folder::new("formats-claude");
    let here = std::env::current_dir().unwrap();
    let path = folder.0.join("claude.json");
    let text = serde_json::json!({
        "mcpServers": { "all": { "command": "a" }, "both": { "command": "a" } },
        "projects": {
            here.to_str().unwrap(): { "mcpServers": { "here": { "command": "b" }, "both": { "command": "b" } } },
            "/elsewhere": { "mcpServers": { "other": { "command": "c" } } }
        }
    });
    fs::write(&path, text.to_string()).unwrap();
    let config = Config::read(&path, ConfigFormat::of_path(&path)).unwrap();
    assert_eq!(names(&config), ["all", "both", "here"]);
    let (_, both) = config.servers().find(|(name, _)| *name == "both").unwrap();
    assert_eq!(*both, ServerConfig::stdio("b", Vec::<String>::new()));
}

#[test]
fn the_format_of_a_file_is_known_from_its_path() {
    for (path, format) in [
        ("config.toml", ConfigFormat::Codex),
        (".vscode/mcp.json", ConfigFormat::VsCode),
        (".gemini/settings.json", ConfigFormat::Gemini),
        ("project/settings.json", ConfigFormat::Standard),
        ("mcp.json", ConfigFormat::Standard),
        ("Code/User/mcp.json", ConfigFormat::VsCode),
        ("goose/config.yaml", ConfigFormat::Yaml),
        ("servers.yml", ConfigFormat::Yaml),
    ] {
        assert_eq!(ConfigFormat::of_path(path), format, "{path}");
    }
}

#[test]
fn only_a_project_server_with_the_name_of_a_user_server_is_reported() {
    let servers = |name: &str| {
        let text = serde_json::json!({ "mcpServers": { name: { "command": "a" } } });
        Config::parse(&text.to_string(), ConfigFormat::Standard).unwrap()
    };
    for (folder, user, warnings) in [
        (servers("git").into_project(), servers("git"), 1),
        (servers("Git\u{200b}").into_project(), servers("git"), 1),
        (servers("git").into_project(), servers("files"), 0),
        (servers("git"), servers("git"), 0),
        (
            servers("git").into_project(),
            servers("git").into_project(),
            0,
        ),
    ] {
        let mut config = folder;
        config.merge(user);
        assert_eq!(config.warnings().len(), warnings, "{:?}", config.warnings());
    }
}

#[test]
fn a_file_in_utf_16_or_with_a_byte_order_mark_is_read() {
    let folder = Folder::new("formats-encoding");
    let path = folder.0.join("mcp.json");
    let text = r#"{"mcpServers": {"a": {"command": "b"}}}"#;
    let utf16 = "\u{feff}".encode_utf16().chain(text.encode_utf16());
    for bytes in [
        format!("\u{feff}{text}").into_bytes(),
        utf16.flat_map(u16::to_le_bytes).collect(),
    ] {
        fs::write(&path, bytes).unwrap();
        let config = Config::read(&path, ConfigFormat::Standard).unwrap();
        assert_eq!(names(&config), ["a"]);
    }
    assert!(Config::parse(&format!("\u{feff}{text}"), ConfigFormat::Standard).is_ok());
    fs::write(&path, b"caf\xe9").unwrap();
    let error = Config::read(&path, ConfigFormat::Standard).unwrap_err();
    assert!(error.to_string().contains("save it as UTF-8"), "{error}");
}

#[test]
fn the_warning_for_a_file_without_servers_names_the_expected_keys() {
    let folder = Folder::new("formats-empty");
    let path = folder.0.join("mcp.json");
    fs::write(&path, r#"{"extensions": {}}"#).unwrap();
    let config = Config::read(&path, ConfigFormat::Standard).unwrap();
    assert!(
        config.warnings()[0].contains("mcpServers, servers"),
        "{:?}",
        config.warnings()
    );
}

#[test]
fn variables_of_the_configuration_override_variables_of_an_env_file() {
    let folder = Folder::new("formats-env-file");
    fs::write(folder.0.join(".env"), "\u{feff}KEY=file\nOTHER=\"a b\"\n").unwrap();
    let server =
        entry(r#""command": "a", "env": {"KEY": "own"}, "envFile": "${workspaceFolder}/.env""#);
    let env = |folder: &Path| {
        let resolved = server.resolve(&Variables::new().with_workspace(folder))?;
        let Launch::Stdio { env, .. } = resolved.launch else {
            panic!("a program");
        };
        Ok::<_, mcp_host::ConfigError>(env)
    };
    let variables = env(&folder.0).unwrap();
    assert_eq!((&*variables["KEY"], &*variables["OTHER"]), ("own", "a b"));
    let error = env(&folder.0.join("none")).unwrap_err();
    assert!(error.to_string().contains("envFile"), "{error}");
}

#[test]
fn each_input_of_a_server_is_returned_once() {
    let server = entry(
        r#""command": "a", "args": ["${input:key}", "${input:other | value:1}"], "env": {"K": "${input:key}"}"#,
    );
    assert_eq!(server.inputs(), ["key"]);
}

#[test]
fn the_number_of_servers_of_a_file_and_the_size_of_a_name_are_limited() {
    let file = |count: usize| {
        let servers = (0..count).map(|number| format!(r#""s{number}": {{"command": "x"}}"#));
        let servers: Vec<_> = servers.collect();
        format!(r#"{{"mcpServers": {{{}}}}}"#, servers.join(","))
    };
    let most = Config::parse(&file(1_000), ConfigFormat::Standard).unwrap();
    assert_eq!(most.servers().count(), 1_000);
    let error = Config::parse(&file(1_001), ConfigFormat::Standard).unwrap_err();
    let expected = "/mcpServers has 1001 servers, but a file can have at most 1000";
    assert!(error.to_string().contains(expected), "{error}");

    let named = |bytes: usize| {
        let name = "n".repeat(bytes);
        let text = format!(r#"{{"mcpServers": {{"{name}": {{"command": "x"}}}}}}"#);
        Config::parse(&text, ConfigFormat::Standard).unwrap()
    };
    assert_eq!(named(256).servers().count(), 1);
    let config = named(257);
    let (_, error) = config.errors().next().unwrap();
    assert!(
        error
            .to_string()
            .contains("the name has 257 bytes; use at most 256")
    );

    // The servers of the folder are compared with those of the user.
    let mut config = Config::new();
    config.merge(most.into_project());
    config.merge(Config::parse(&file(1_000), ConfigFormat::Standard).unwrap());
    assert_eq!(
        (config.servers().count(), config.warnings().len()),
        (1_000, 1_000)
    );
}

#[test]
fn keys_that_are_not_used_are_named_up_to_a_limit() {
    let keys = (0..25).map(|number| format!(r#""unknown key {number}": 1"#));
    let long = "k".repeat(400_000);
    for (keys, expected) in [
        (keys.collect::<Vec<_>>().join(","), 21),
        // A misspelling is not searched in a long key.
        (format!(r#""{long}": 1, "comand": 1"#), 2),
    ] {
        let text = format!(r#"{{"mcpServers": {{"a": {{"command": "x", {keys}}}}}}}"#);
        let config = Config::parse(&text, ConfigFormat::Standard).unwrap();
        let warnings = config.warnings();
        assert_eq!(warnings.len(), expected);
        let last = warnings.last().unwrap();
        let is_known = last.contains("5 more keys are not used") || last.contains("did you mean");
        assert!(is_known, "{last:.100}");
    }
    let text = format!(r#"{{"{long}": 1}}"#);
    let config = Config::parse(&text, ConfigFormat::Standard).unwrap();
    assert!(config.warnings().is_empty());
}
