//! Configuration files of several hosts.

use mcp_host::{Config, ConfigErrorKind, ConfigFormat, Launch, ServerConfig, Variables};

use crate::support::Folder;

fn only(text: &str, format: ConfigFormat) -> ServerConfig {
    let config = Config::parse(text, format).unwrap();
    assert_eq!(config.errors().count(), 0);
    assert!(config.warnings().is_empty(), "{:?}", config.warnings());
    let (name, server) = config.servers().next().unwrap();
    assert_eq!(name, "git");
    server.clone()
}

#[test]
fn each_format_gives_the_same_configuration_of_a_server() {
    let expected = ServerConfig::stdio("uvx", ["mcp-server-git"]);
    for (format, text) in [
        (
            ConfigFormat::Standard,
            r#"{"mcpServers": {"git": {"type": "stdio", "command": "uvx", "args": ["mcp-server-git"]}}}"#,
        ),
        (
            ConfigFormat::VsCode,
            "{ // comment\n\"inputs\": [], \"servers\": {\"git\": {\"command\": \"uvx\", \"args\": [\"mcp-server-git\",],},}}",
        ),
        (
            ConfigFormat::Gemini,
            r#"{"theme": "x", "mcpServers": {"git": {"command": "uvx", "args": ["mcp-server-git"]}}}"#,
        ),
    ] {
        assert_eq!(only(text, format), expected, "{format:?}");
    }
}

/// A child reads `BASH_ENV=` with the value `/evil.sh` as `BASH_ENV` with the value `=/evil.sh`.
#[test]
fn invalid_names_of_environment_variables_are_errors() {
    for (name, is_valid) in [
        ("API_KEY", true),
        ("BASH_ENV=", false),
        ("LD_PRELOAD=/x.so:", false),
        ("", false),
        ("A\nB", false),
        ("A\0", false),
    ] {
        let mut server = only(
            r#"{"mcpServers": {"git": {"command": "uvx", "env": {"X": "1"}}}}"#,
            ConfigFormat::Standard,
        );
        let Launch::Stdio { env, .. } = &mut server.launch else {
            panic!("a program");
        };
        env.insert(name.to_owned(), "/evil.sh".to_owned());
        let resolved = server.resolve(&Variables::new());
        assert_eq!(resolved.is_ok(), is_valid, "{name:?}");
        if let Err(error) = resolved {
            assert!(
                error.to_string().contains("environment variable"),
                "{error}"
            );
        }
    }
}

#[cfg(feature = "codex")]
#[test]
fn codex_files_have_different_keys_and_no_variable_references() {
    let text = "when = 2026-01-01\n[mcp_servers.git]\ncommand = \"uvx\"\nargs = [\"${A}\"]\n\
                startup_timeout_sec = 1.5\nenabled = false\nenabled_tools = [\"log\"]\n";
    let server = only(text, ConfigFormat::Codex);
    assert_eq!(server.start_timeout.unwrap().as_millis(), 1_500);
    assert!(!server.is_enabled);
    assert!(server.shows_tool("log") && !server.shows_tool("commit"));
    let Launch::Stdio { args, .. } = server.resolve(&Variables::new()).unwrap().launch else {
        panic!("{server:?}");
    };
    assert_eq!(args, ["${A}"]);
}

#[test]
fn gemini_variables_are_rewritten() {
    let text = r#"{"mcpServers": {"git": {"httpUrl": "https://h/$A_1/$$", "timeout": 5000}}}"#;
    let server = only(text, ConfigFormat::Gemini);
    let Launch::Http { url, .. } = &server.launch else {
        panic!("{server:?}");
    };
    assert_eq!(url, "https://h/${A_1}/$$");
    assert_eq!(server.call_timeout.unwrap().as_secs(), 5);
}

#[test]
fn each_error_names_its_server_and_other_servers_stay_usable() {
    let text = r#"{"mcpServers": {
        "fine": {"command": "a", "colour": 1}, "both": {"command": "a", "url": "b"},
        "neither": {}, "number": {"command": 1}, "kind": {"type": "ws", "url": "b"},
        "late": {"command": "a", "timeout": -1}, "text": "a" }}"#;
    let config = Config::parse(text, ConfigFormat::Standard).unwrap();
    assert_eq!(config.servers().count(), 1);
    assert!(config.warnings()[0].contains("\"colour\""));
    assert_eq!(config.errors().count(), 6);
    for (name, error) in config.errors() {
        assert_eq!(error.kind(), ConfigErrorKind::Server);
        assert!(
            error.to_string().starts_with(&format!("server {name:?}: ")),
            "{error}"
        );
    }
    for text in [
        "",
        "[]",
        r#"{"mcpServers": 1}"#,
        "{\"mcpServers\": {\"a\": /*",
    ] {
        let error = Config::parse(text, ConfigFormat::Standard).unwrap_err();
        assert_eq!(error.kind(), ConfigErrorKind::Syntax);
    }
}

#[cfg(unix)]
#[test]
fn a_file_with_secrets_that_others_can_read_is_reported() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new("config");
    let path = folder.0.join("mcp.json");
    let warnings = |value: &str, mode| {
        let text = format!(
            r#"{{"mcpServers": {{"a": {{"command": "b", "env": {{"KEY": "{value}"}}}}}}}}"#
        );
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let config = Config::read(&path, ConfigFormat::Standard).unwrap();
        config.warnings().to_vec()
    };
    assert!(warnings("secret", 0o644)[0].contains("chmod 600"));
    assert!(warnings("secret", 0o600).is_empty());
    assert!(warnings("${KEY}", 0o644).is_empty());
    let found = Config::discover(&folder.0);
    assert!(found.servers().any(|(name, _)| name == "a"));
}

#[test]
fn debug_output_has_no_secrets() {
    let text =
        r#"{"mcpServers": {"git": {"command": "a", "args": ["s3cret"], "env": {"K": "s3cret"}}}}"#;
    let server = only(text, ConfigFormat::Standard);
    assert!(!format!("{server:?}").contains("s3cret"));
}
