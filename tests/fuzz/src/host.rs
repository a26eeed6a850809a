//! A host that reads a configuration file of another person.

use std::path::Path;

use mcp_host::{
    Config, ConfigFormat, ConsentAction, Launch, LaunchPlan, Variables, is_hidden_character,
};

/// Number of servers that are compared with each other.
const MAX_SERVERS: usize = 4;

/// The beginnings of the lines of a consent request.
const LINES: [&str; 9] = [
    "start the server \"",
    "connect to the server \"",
    "program: ",
    "folder: ",
    "variables: ",
    "headers: ",
    "shell command that writes further headers, and has all variables of this host: ",
    "values of this host: ",
    "A file of the opened folder names this server.",
];

/// The first byte chooses the format and whether the file is of the opened folder; the rest is the file.
pub fn config(data: &[u8]) {
    let Some((choice, text)) = data.split_first() else {
        return;
    };
    let format = match choice & 11 {
        0 => ConfigFormat::Standard,
        1 => ConfigFormat::VsCode,
        2 => ConfigFormat::Codex,
        3 => ConfigFormat::Gemini,
        _ => ConfigFormat::Yaml,
    };
    let is_project = choice & 4 != 0;
    let Ok(config) = Config::parse(&String::from_utf8_lossy(text), format) else {
        return;
    };
    let config = if is_project {
        config.into_project()
    } else {
        config
    };
    for (name, error) in config.errors() {
        assert!(error.to_string().contains(&format!("{name:?}")), "{error}");
    }
    let variables = Variables::new()
        .with_env(|name| (name.len() < 8).then(|| format!("{name}\n\u{202e}")))
        .with_secrets(|reference| Some(reference.to_owned()));
    let mut plans = Vec::new();
    for (name, server) in config.servers() {
        let Ok(plan) = LaunchPlan::new(server.clone(), is_project, &variables) else {
            continue;
        };
        // The host does not ask about a program that does not exist, but the text of the request would be the same.
        let located = plan.locate();
        check(name, located.as_ref().unwrap_or(&plan), located.is_ok());
        plans.extend(located.ok().map(|located| (server.launch.clone(), located)));
    }
    for (at, (written, plan)) in plans.iter().enumerate().take(MAX_SERVERS) {
        for (other_written, other) in plans.iter().skip(at).take(MAX_SERVERS) {
            let is_started_alike = plan.started().launch == other.started().launch;
            let has_same_hash = plan.fingerprint("key") == other.fingerprint("key");
            assert!(
                !has_same_hash || is_started_alike,
                "a change needs no approval: {plan:?} {other:?}"
            );
            // Values with references are hashed as they are written.
            assert!(
                written != other_written || has_same_hash,
                "the same server needs another approval"
            );
        }
    }
}

/// The request shows the program that is started, in lines of the host and without invisible characters.
fn check(name: &str, plan: &LaunchPlan, is_located: bool) {
    let request = plan.request(name);
    let text = request.to_string();
    for line in text.split('\n') {
        assert!(
            LINES.iter().any(|start| line.starts_with(start)),
            "{line:?} of {text:?}"
        );
        assert!(!line.contains(is_hidden_character), "{line:?}");
    }
    let ConsentAction::Connect {
        config, executable, ..
    } = &request.action
    else {
        panic!("{request:?}");
    };
    assert_eq!(&**config, plan.started());
    match &plan.started().launch {
        Launch::Stdio { command, .. } => {
            assert_eq!(executable.as_deref(), Some(Path::new(command)));
            assert!(
                !is_located || Path::new(command).is_absolute(),
                "{command:?}"
            );
            assert_eq!(text.matches("\nprogram: ").count(), 1, "{text}");
        }
        _ => assert_eq!(text.matches("\nprogram: ").count(), 0, "{text}"),
    }
}
