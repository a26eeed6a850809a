//! Replaces names of settings in errors of libraries with plain words.
//!
//! An error of a library names the setting that changes its behaviour, such as `Timeouts::idle`, for the author of the program.
//! The user of the program and the model cannot change this setting and do not know its name.

/// The types whose settings occur in errors. Other names with `::` are part of the text of a server.
const TYPES: [&str; 32] = [
    "ClientBuilder",
    "ClientOptions",
    "ConnectionLimits",
    "Credentials",
    "Dpop",
    "Folder",
    "HostBuilder",
    "HttpTransport",
    "MemoryLimits",
    "MemoryReplayCache",
    "MemorySessionStore",
    "MuxLimits",
    "Negotiation",
    "OAuth",
    "OAuthBuilder",
    "RedbOptions",
    "RedisEventStore",
    "RedisOptions",
    "RedisStore",
    "RemoteSkills",
    "RequestLimits",
    "ServerBuilder",
    "ServerLimits",
    "ServerOptions",
    "ServerTimeouts",
    "SessionLimits",
    "StdioOptions",
    "StreamOptions",
    "TaskOptions",
    "Timeouts",
    "Tool",
    "Upstream",
];

/// Replaces the names of settings in an error of a library: `Timeouts::idle` by `the setting "idle"`.
pub fn without_setting_names(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(colons) = rest.find("::") {
        let (before, after) = (&rest[..colons], &rest[colons + 2..]);
        let owner = word_at_end(before);
        let name = word_at_start(after);
        if TYPES.contains(&owner) && !name.is_empty() {
            plain.push_str(&before[..before.len() - owner.len()]);
            let words = name.strip_prefix("with_").unwrap_or(name).replace('_', " ");
            plain.push_str(&format!("the setting \"{words}\""));
            rest = &after[name.len()..];
        } else {
            plain.push_str(&rest[..colons + 2]);
            rest = after;
        }
    }
    plain + rest
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn word_at_start(text: &str) -> &str {
    text.split(|c| !is_word(c)).next().unwrap_or_default()
}

fn word_at_end(text: &str) -> &str {
    text.rsplit(|c| !is_word(c)).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_rust_items_are_replaced_by_setting_names_outside_of_server_text() {
        for (text, plain) in [
            (
                "no response within 60 s (Timeouts::idle)",
                "no response within 60 s (the setting \"idle\")",
            ),
            (
                "the limit of ClientOptions::with_max_redirects; the last",
                "the limit of the setting \"max redirects\"; the last",
            ),
            (
                "Faraday::ConnectionFailed at ::1",
                "Faraday::ConnectionFailed at ::1",
            ),
            (
                "MyTimeouts::idle Timeouts:: é::ü",
                "MyTimeouts::idle Timeouts:: é::ü",
            ),
            ("a::Timeouts::idle::x", "a::the setting \"idle\"::x"),
        ] {
            assert_eq!(without_setting_names(text), plain);
        }
    }
}
