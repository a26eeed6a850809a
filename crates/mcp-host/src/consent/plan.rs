//! The launch plan of one server. Consent requests show the plan, and approvals identify it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use data_encoding::HEXLOWER;

use super::code_variables::chooses_code;
use super::request::{ConsentAction, ConsentRequest};
use crate::config::{
    ConfigError, HeadersHelper, Launch, ServerConfig, Variables, hash, references,
};

/// Length of the key of an approval, in bytes.
const KEY_BYTES: usize = 16;

/// The configuration of one server: as it is written in the file, and as the server is started.
#[derive(Debug, Clone)]
pub struct LaunchPlan {
    /// The configuration from the file, with references to variables.
    written: ServerConfig,
    /// The configuration with the values of variables and, after [`locate`](Self::locate), with absolute paths.
    started: ServerConfig,
    /// Whether a file of the opened folder names the server.
    is_project: bool,
}

impl LaunchPlan {
    /// Creates the plan: reads the file with environment variables, if the configuration names a file, and replaces the
    /// references to variables.
    ///
    /// # Errors
    /// A variable has no value. The error names the variable.
    pub fn new(
        written: ServerConfig,
        is_project: bool,
        variables: &Variables,
    ) -> Result<Self, ConfigError> {
        let written = written.with_env_file(variables)?;
        let started = written.resolve(variables)?;
        Ok(Self {
            written,
            started,
            is_project,
        })
    }

    /// Returns the plan with the absolute paths of the program and its working directory. A server of the opened folder always
    /// gets a working directory, because its approval is valid only for one folder. Reads the file system.
    ///
    /// # Errors
    /// The program was not found, or a path is not UTF-8.
    pub fn locate(&self) -> Result<Self, String> {
        let mut located = self.clone();
        if let Launch::Stdio { cwd, .. } = &mut located.started.launch
            && self.is_project
        {
            cwd.get_or_insert_with(|| ".".to_owned());
        }
        located.started.launch.locate(&self.written.launch)?;
        Ok(located)
    }

    /// Returns the configuration with references to variables.
    pub(crate) fn written(&self) -> &ServerConfig {
        &self.written
    }

    /// Returns the configuration that is started.
    pub fn started(&self) -> &ServerConfig {
        &self.started
    }

    /// Returns the key of a cached tool list. For a server of the opened folder, the key includes the folder, because a server of
    /// the user or of another folder can have the same name. These servers must not share the list.
    pub(crate) fn cache_key(&self) -> String {
        let folder = match self.is_project {
            true => std::env::current_dir().unwrap_or_default(),
            false => PathBuf::new(),
        };
        format!("{}{}", self.written.fingerprint(), folder.display())
    }

    /// Returns the consent request for a connection to this server. `server` is the name of the server. The request does not mark
    /// the server as trusted.
    pub fn request(&self, server: &str) -> ConsentRequest {
        ConsentRequest {
            server: server.to_owned(),
            is_trusted: false,
            is_project: self.is_project,
            action: ConsentAction::connect(self, false),
            untrusted_sources: Vec::new(),
        }
    }

    /// Returns the references to variables whose values the server receives, without repetitions.
    pub(super) fn references(&self) -> Vec<String> {
        let mut found = Vec::new();
        for reference in self.written.texts().into_iter().flat_map(references) {
            if !found.contains(&reference) {
                found.push(reference);
            }
        }
        found
    }

    /// Returns the variables that decide which code runs, with their values. If a value contains a URL, such as the URL of a
    /// proxy, `[redacted]` replaces the credentials in the URL.
    pub fn code_variables(&self) -> BTreeMap<String, String> {
        let Launch::Stdio { env, .. } = &self.started.launch else {
            return BTreeMap::new();
        };
        let code = env.iter().filter(|(name, _)| chooses_code(name));
        code.map(|(name, value)| (name.clone(), without_credentials(value)))
            .collect()
    }

    /// Returns a fingerprint with a new random key; `None` if the system has no random numbers.
    pub(super) fn new_fingerprint(&self) -> Option<String> {
        let mut key = [0; KEY_BYTES];
        getrandom::fill(&mut key).ok()?;
        Some(self.fingerprint(&HEXLOWER.encode(&key)))
    }

    /// Returns whether a fingerprint was created from this plan.
    pub(super) fn has_fingerprint(&self, fingerprint: &str) -> bool {
        let key = fingerprint.split_once(':').map(|(key, _)| key);
        key.is_some_and(|key| self.fingerprint(key) == fingerprint)
    }

    /// Returns `key`, `:`, and the hash of the plan with this key. The hash includes the values of variables and headers before
    /// references are replaced, so that a new token of the host does not need a new approval. For variables that decide which
    /// code runs, the hash also includes the values of the references.
    pub fn fingerprint(&self, key: &str) -> String {
        let mut parts = vec![key];
        let count;
        match (&self.started.launch, &self.written.launch) {
            (
                Launch::Stdio {
                    command,
                    args,
                    env,
                    cwd,
                    ..
                },
                Launch::Stdio { env: written, .. },
            ) => {
                count = args.len().to_string();
                parts.extend(["stdio", command, cwd.as_deref().unwrap_or_default(), &count]);
                parts.extend(args.iter().map(String::as_str));
                for ((name, value), written) in env.iter().zip(written.values()) {
                    let value = if chooses_code(name) { value } else { "" };
                    parts.extend([name, written, value]);
                }
            }
            (
                Launch::Http {
                    url,
                    headers_helper,
                    ..
                },
                Launch::Http { headers, .. },
            ) => {
                parts.extend(["http", url]);
                parts.extend(headers.iter().flat_map(|(name, value)| [&**name, &**value]));
                parts.extend(headers_helper.iter().flat_map(HeadersHelper::hashed));
            }
            // Not possible: a program stays a program, and a URL stays a URL, when variables are replaced.
            _ => {}
        }
        format!("{key}:{}", hash(parts))
    }
}

/// Replaces the credentials in each URL of a text.
fn without_credentials(text: &str) -> String {
    let mut parts = text.split("://");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let authority = part
            .split(['/', ' ', '\t', '\n', '"', '\''])
            .next()
            .unwrap_or_default();
        shown.push_str("://");
        match authority.rfind('@') {
            Some(end) => {
                shown.push_str("[redacted]");
                shown.push_str(&part[end..]);
            }
            None => shown.push_str(part),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint(change: impl FnOnce(&mut ServerConfig)) -> String {
        let mut config = ServerConfig::stdio("a", ["b"]);
        change(&mut config);
        let plan = LaunchPlan::new(config, false, &Variables::new()).unwrap();
        assert!(plan.has_fingerprint(&plan.new_fingerprint().unwrap()));
        plan.fingerprint("key")
    }

    fn stdio(args: &[&str], env: &[(&str, &str)], folder: Option<&str>) -> String {
        fingerprint(|config| {
            *config = ServerConfig::stdio("a", args.iter().copied());
            let Launch::Stdio { env: all, cwd, .. } = &mut config.launch else {
                return;
            };
            let pairs = env
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            *all = pairs.collect();
            *cwd = folder.map(str::to_owned);
        })
    }

    #[test]
    fn credentials_of_a_proxy_are_not_shown() {
        for (value, expected) in [
            ("http://ada:pw@proxy:1/x@y", "http://[redacted]@proxy:1/x@y"),
            (
                "a b socks5h://ada:p@w@proxy c",
                "a b socks5h://[redacted]@proxy c",
            ),
            (
                "http://a@b,https://c:d@e",
                "http://[redacted]@b,https://[redacted]@e",
            ),
            ("/lib/evil.so", "/lib/evil.so"),
            ("ada:pw@proxy", "ada:pw@proxy"),
        ] {
            assert_eq!(without_credentials(value), expected);
        }
    }

    #[test]
    fn variables_from_an_env_file_are_shown_and_approved() {
        let path = std::env::temp_dir().join(format!("mcp-plan-{}.env", std::process::id()));
        let plan = |content: &str| {
            std::fs::write(&path, content).unwrap();
            let mut config = ServerConfig::stdio("a", ["b"]);
            if let Launch::Stdio { env_file, .. } = &mut config.launch {
                *env_file = Some(path.display().to_string());
            }
            LaunchPlan::new(config, true, &Variables::new()).unwrap()
        };
        let first = plan("LD_PRELOAD=/tmp/evil.so\nKEY=1\n");
        assert_eq!(first.code_variables()["LD_PRELOAD"], "/tmp/evil.so");
        let changed = plan("LD_PRELOAD=/tmp/evil.so\nKEY=2\n");
        assert_ne!(first.fingerprint("key"), changed.fingerprint("key"));
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn each_part_of_a_command_line_changes_the_fingerprint() {
        let all = [
            stdio(&["b"], &[], None),
            stdio(&[], &[], None),
            stdio(&["b", "c"], &[], None),
            stdio(&["b c"], &[], None),
            stdio(&["b"], &[], Some("c")),
            stdio(&["b"], &[("c", "d")], None),
            stdio(&["b"], &[("c", "e")], None),
            stdio(&["b"], &[("c", "d"), ("f", "g")], None),
            stdio(&["b", "c", "d"], &[], None),
            fingerprint(|config| *config = ServerConfig::http("a")),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[at + 1..].contains(one), "{at}");
        }
        let plan = |args: &[&str]| ServerConfig::stdio("a", args.iter().copied());
        assert_ne!(plan(&["c"]).fingerprint(), {
            let mut other = plan(&[]);
            if let Launch::Stdio { env, .. } = &mut other.launch {
                env.insert("c".to_owned(), String::new());
            }
            other.fingerprint()
        });
    }

    #[test]
    fn approvals_and_cached_tools_of_a_project_server_are_valid_for_one_folder() {
        let here = std::env::current_dir().unwrap().display().to_string();
        let command = std::env::current_exe().unwrap().display().to_string();
        let config = ServerConfig::stdio(command, [""; 0]);
        for (is_project, expected) in [(true, Some(&here)), (false, None)] {
            let plan = LaunchPlan::new(config.clone(), is_project, &Variables::new()).unwrap();
            assert_eq!(plan.cache_key().contains(&here), is_project);
            let located = plan.locate().unwrap();
            let Launch::Stdio { cwd, .. } = &located.started().launch else {
                panic!("{located:?}");
            };
            assert_eq!(cwd.as_ref(), expected);
        }
    }

    #[test]
    fn errors_show_the_command_and_the_url_before_variables_are_replaced() {
        let variables = Variables::new().with_env(|_| Some("Hunter2secret".to_owned()));
        for written in [
            ServerConfig::stdio("/nowhere/${KEY}", [""]),
            ServerConfig::stdio("${KEY}", [""]),
            ServerConfig::http("http://ada:${KEY}@host/${KEY}"),
            ServerConfig::http("${KEY}"),
        ] {
            let plan = LaunchPlan::new(written, false, &variables).unwrap();
            let error = plan.locate().unwrap_err();
            assert!(
                error.contains("${KEY}") && !error.contains("Hunter2"),
                "{error}"
            );
        }
    }

    #[test]
    fn the_error_for_a_missing_relative_program_names_the_searched_folder() {
        let here = std::env::current_dir().unwrap().display().to_string();
        for (cwd, folder) in [(None, &*here), (Some("/"), "\"cwd\", \"/\"")] {
            let mut config = ServerConfig::stdio("./no-such-server", [""; 0]);
            if let Launch::Stdio { cwd: place, .. } = &mut config.launch {
                *place = cwd.map(str::to_owned);
            }
            let plan = LaunchPlan::new(config, false, &Variables::new()).unwrap();
            let error = plan.locate().unwrap_err();
            assert!(error.contains(folder) && !error.contains("PATH"), "{error}");
        }
    }
}
