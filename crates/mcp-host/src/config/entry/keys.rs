//! The keys of a server in a file. Hosts use different names for the same key, and every file may use any of these names.

use crate::suggestions::nearest_name;

/// The keys of every server.
const COMMON_KEYS: [&str; 21] = [
    "allowedTools",
    "available_tools",
    "connectionTimeout",
    "deniedTools",
    "description",
    "disabled",
    "disabledTools",
    "disabled_tools",
    "enabled",
    "enabled_tools",
    "excludeTools",
    "includeTools",
    "initTimeout",
    "startTimeout",
    "startup_timeout_ms",
    "startup_timeout_sec",
    "timeout",
    "tool_timeout_sec",
    "tools",
    "transport",
    "type",
];
/// The keys of a server that is a program.
const PROGRAM_KEYS: [&str; 10] = [
    "args",
    "cmd",
    "command",
    "cwd",
    "env",
    "envFile",
    "env_keys",
    "env_vars",
    "environment",
    "envs",
];
/// The keys of a server with a URL.
const URL_KEYS: [&str; 9] = [
    "bearer_token_env_var",
    "env_http_headers",
    "headers",
    "headersHelper",
    "httpUrl",
    "http_headers",
    "serverUrl",
    "uri",
    "url",
];
/// Keys of other hosts that this crate does not use. They look like misspellings of other keys, but are correct.
const OTHER_KEYS: [&str; 3] = ["dev", "required", "trust"];
/// The keys that name the program or the URL.
const LAUNCH_KEYS: [&str; 6] = ["cmd", "command", "httpUrl", "serverUrl", "uri", "url"];

/// Describes a key that was not read. `is_program` is `None` if the file does not say whether the server is a program.
pub(super) fn unknown_key(key: &str, is_program: Option<bool>) -> String {
    match is_program {
        Some(true) if URL_KEYS.contains(&key) => {
            return format!(
                "the key {key:?} is for servers with \"url\", but this server has \"command\"; remove the key"
            );
        }
        Some(false) if PROGRAM_KEYS.contains(&key) => {
            return format!(
                "the key {key:?} is for servers with \"command\", but this server has \"url\"; remove the key"
            );
        }
        _ => {}
    }
    if OTHER_KEYS.contains(&key) {
        return not_used(key);
    }
    let program = PROGRAM_KEYS.iter().filter(|_| is_program != Some(false));
    let url = URL_KEYS.iter().filter(|_| is_program != Some(true));
    let known = COMMON_KEYS.iter().chain(program).chain(url);
    match nearest_name(key, known.copied()) {
        Some(near) => format!("the key {key:?} is unknown; did you mean {near:?}?"),
        None => not_used(key),
    }
}

fn not_used(key: &str) -> String {
    format!("the key {key:?} is not used; remove the key, unless another program reads it")
}

/// Describes the first key that may be a misspelling of a key for the program or the URL.
pub(super) fn misspelled_launch<'a>(mut keys: impl Iterator<Item = &'a str>) -> Option<String> {
    let key = keys.find(|key| {
        let known = COMMON_KEYS.into_iter().chain(PROGRAM_KEYS).chain(URL_KEYS);
        let near = nearest_name(key, known);
        near.is_some_and(|near| LAUNCH_KEYS.contains(&near))
    });
    key.map(|key| unknown_key(key, None))
}
