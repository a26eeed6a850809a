//! The files of each host are read.

use std::fs;
use std::time::Duration;

use mcp_host::{Config, ConfigFormat, Launch, NetworkConfig, ServerConfig};

use super::files::{FILES, YAML_FILES};
use crate::support::Folder;

#[test]
fn the_content_decides_between_the_formats_of_json_files() {
    let formats = [
        ConfigFormat::Standard,
        ConfigFormat::VsCode,
        ConfigFormat::Gemini,
    ];
    for text in [
        r#"{ "mcpServers": { "a": { "command": "x" } } }"#,
        r#"{ "servers": { "a": { "command": "x" } } }"#,
        r#"{ "context_servers": { "a": { "command": "x", "args": [] } } }"#,
    ] {
        for format in formats {
            let config = Config::parse(text, format).unwrap();
            assert_eq!(config.servers().count(), 1, "{format:?}: {text}");
        }
        for format in [ConfigFormat::Yaml, ConfigFormat::Codex] {
            let servers = Config::parse(text, format);
            let is_read = servers.is_ok_and(|config| config.servers().count() == 1);
            let is_yaml = format == ConfigFormat::Yaml && text.contains("mcpServers");
            assert_eq!(is_read, is_yaml, "{format:?}: {text}");
        }
    }
}

#[test]
fn files_in_the_format_of_each_host_are_read() {
    let folder = Folder::new("hosts");
    let here = std::env::current_dir().unwrap();
    for file in FILES.iter().chain(YAML_FILES) {
        let format = ConfigFormat::of_path(file.path);
        if format == ConfigFormat::Codex && cfg!(not(feature = "codex")) {
            continue;
        }
        let path = folder.0.join(file.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let here = serde_json::to_string(here.to_str().unwrap()).unwrap();
        let text = file.text.replace("\"HERE\"", &here);
        for text in [
            text.clone(),
            text.replace('\n', "\r\n"),
            format!("\u{feff}{text}"),
            format!("\u{feff}{}", text.replace('\n', "\r\n")),
        ] {
            fs::write(&path, &text).unwrap();
            let config = Config::read(&path, format).unwrap();
            assert_eq!(
                config.errors().count(),
                0,
                "{}: {:?}",
                file.path,
                config.errors().next()
            );
            let servers: Vec<String> = config
                .servers()
                .map(|(name, server)| shown(name, server))
                .collect();
            assert_eq!(servers, file.servers, "{}", file.path);
            let mut unused = config
                .warnings()
                .iter()
                .filter(|warning| warning.contains("is not used"));
            for pointer in file.unused {
                let warning = unused.next().expect(pointer);
                assert!(warning.ends_with(&format!("(at {pointer})")), "{warning}");
                assert!(
                    warning.starts_with(&path.display().to_string()),
                    "{warning}"
                );
            }
            assert_eq!(unused.next(), None, "{}", file.path);
            let guesses = config
                .warnings()
                .iter()
                .find(|warning| warning.contains("did you mean"));
            assert_eq!(guesses, None, "{}", file.path);
        }
    }
}

/// A server as one line.
fn shown(name: &str, server: &ServerConfig) -> String {
    let mut line = format!("{name}: ");
    let (values, rest) = match &server.launch {
        Launch::Stdio {
            command,
            args,
            env,
            env_file,
            cwd,
            ..
        } => {
            line += &[std::slice::from_ref(command), args].concat().join(" ");
            (env, [("file", env_file.clone()), ("cwd", cwd.clone())])
        }
        Launch::Http {
            url,
            headers,
            headers_helper,
            ..
        } => {
            line += url;
            let helper = headers_helper
                .as_ref()
                .map(|helper| helper.command().to_owned());
            (headers, [("helper", helper), ("", None)])
        }
        other => panic!("{other:?}"),
    };
    if !values.is_empty() {
        let values: Vec<String> = values
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        line += &format!(" [{}]", values.join(","));
    }
    for (name, value) in rest {
        line += &value.map_or_else(String::new, |value| format!(" {name}={value}"));
    }
    if !server.is_enabled {
        line += " off";
    }
    for (name, time) in [
        ("call", server.call_timeout),
        ("start", server.start_timeout),
    ] {
        let seconds = time.as_ref().map(Duration::as_secs_f64);
        line += &seconds.map_or_else(String::new, |seconds| format!(" {name}={seconds}s"));
    }
    for (sign, tools) in [("+", &server.allowed_tools), ("-", &server.denied_tools)] {
        line.extend(tools.iter().map(|tool| format!(" {sign}{tool}")));
    }
    line
}

#[test]
fn a_file_of_a_host_sets_neither_a_proxy_nor_certificates() {
    let text = r#"{"mcpServers": {"a": {
        "url": "https://a.example/mcp", "proxy": "http://evil.example", "tls": {"ca": "evil.pem"},
        "network": {"proxy": "http://evil.example"}, "ca": "evil.pem"
    }}}"#;
    let config = Config::parse(text, ConfigFormat::Standard).unwrap();
    let (_, server) = config.servers().next().unwrap();
    assert_eq!(server.network, NetworkConfig::new());
    for key in ["proxy", "tls", "network", "ca"] {
        let is_named = |warning: &String| warning.contains(&format!("{key:?}"));
        assert!(
            config.warnings().iter().any(is_named),
            "{:?}",
            config.warnings()
        );
    }
}

#[test]
fn inputs_have_the_descriptions_of_their_file() {
    let text = r#"{"inputs": [
        {"type": "promptString", "id": "key", "description": "API key", "password": true},
        {"type": "pickString", "id": "region", "description": "Region", "options": ["eu", {"label": "US", "value": "us"}], "default": "eu"},
        "text", {"type": "command"}
    ], "servers": {"a": {"command": "a"}}}"#;
    let config = Config::parse(text, ConfigFormat::VsCode).unwrap();
    let key = config.input("a", "key");
    assert_eq!(
        (key.id(), key.description(), key.default_value()),
        ("key", Some("API key"), None)
    );
    assert!(key.is_secret() && key.options().is_empty());
    let region = config.input("a", "region");
    assert_eq!(
        (region.description(), region.default_value()),
        (Some("Region"), Some("eu"))
    );
    assert_eq!(
        (region.is_secret(), region.options()),
        (false, &["eu".to_owned(), "us".to_owned()][..])
    );
    // The file does not describe it.
    let other = config.input("a", "other");
    assert_eq!(
        (other.id(), other.description(), other.is_secret()),
        ("other", None, true)
    );
    assert_eq!(config.input("none", "key").description(), None);
}

#[test]
fn built_in_entries_of_a_host_are_named_in_one_warning() {
    let text = "extensions:\n  memory: {type: builtin}\n  run: {type: inline_python, code: x}\n  app: {type: platform}\n  a: {type: stdio, cmd: a}\n";
    let config = Config::parse(text, ConfigFormat::Yaml).unwrap();
    assert_eq!((config.servers().count(), config.errors().count()), (1, 0));
    let [warning] = config.warnings() else {
        panic!("{:?}", config.warnings());
    };
    assert!(
        warning.contains("built into Goose") && warning.ends_with("\"memory\", \"run\", \"app\""),
        "{warning}"
    );
}

#[test]
fn a_list_without_names_is_an_error_that_names_the_location() {
    for (text, problem) in [
        (
            r#"{"mcpServers": [{"name": "a", "command": "a"}, {"command": "b"}]}"#,
            "/mcpServers/1 must be an object with \"name\"",
        ),
        (
            r#"{"mcp": {"servers": 1}}"#,
            "/mcp/servers must be an object",
        ),
        (
            r#"{"amp.mcpServers": "a"}"#,
            "/amp.mcpServers must be an object",
        ),
    ] {
        let error = Config::parse(text, ConfigFormat::Standard).unwrap_err();
        assert!(error.to_string().contains(problem), "{text}: {error}");
    }
}
