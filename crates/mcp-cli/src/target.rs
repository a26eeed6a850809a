//! The server of a command: a URL, a program, or the name of a configured server.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use mcp_host::{Config, ConfigFormat, HeadersHelper, Launch, LaunchPlan, ServerConfig, Variables};
use url::Url;

use crate::args::{Options, Words};
use crate::failure::Failure;
use crate::hidden::{self, HIDDEN};
use crate::inputs::input_value;
use crate::output::say;

/// The commands that have further arguments after the server.
const TAKE_WORDS: [&str; 6] = ["call", "complete", "get", "list", "read", "watch"];

/// The server of a command.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// The name of the server in lock files and messages: the configured name, the URL without user, password and query, or the
    /// command line.
    pub(crate) name: String,
    pub(crate) server: Server,
}

/// The way in which a server is reached.
#[derive(Debug, Clone)]
pub(crate) enum Server {
    Http(HttpServer),
    Program(Program),
}

/// A server over HTTP.
#[derive(Debug, Clone)]
pub(crate) struct HttpServer {
    pub(crate) url: Url,
    /// The word for this server in a command that the program shows: the configured name or the URL. It is `SERVER` if the name
    /// or URL contains a secret or a character with a meaning in a shell.
    pub(crate) word: String,
    /// The headers that the configuration sets.
    pub(crate) headers: BTreeMap<String, String>,
    /// The command of the configuration that writes further headers.
    pub(crate) helper: Option<HeadersHelper>,
}

/// A server that is started as a child process.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    /// The environment variables that the configuration sets.
    pub(crate) env: BTreeMap<String, String>,
    /// The working directory that the configuration sets.
    pub(crate) folder: Option<PathBuf>,
}

impl Target {
    /// Removes the server from the words and returns it: the program or, without a program, the first word.
    pub(crate) fn take(words: Words, options: &Options) -> Result<(Self, Vec<String>), Failure> {
        let Words { mut words, program } = words;
        if let [command, args @ ..] = &program[..] {
            let server = Server::Program(Program {
                command: command.clone(),
                args: args.to_vec(),
                env: BTreeMap::new(),
                folder: None,
            });
            let name = program.join(" ");
            return Ok((Self { name, server }, words));
        }
        if words.is_empty() {
            let text = "no server: give a URL or the name of a configured server first, or a program after `--`";
            return Err(match configuration(options) {
                Ok(config) if config.servers().next().is_some() => {
                    Failure::usage(text).hint(format!("configured: {}", names(&config)))
                }
                _ => Failure::usage(text),
            });
        }
        let first = words.remove(0);
        match Self::found(&first, Some(&words), options) {
            Ok(target) => Ok((target, words)),
            Err(failure) => Err(match words.iter().find(|word| is_url(word)) {
                Some(url) => Failure::usage(format!(
                    "{:?} is not a server; the server comes first: {} {} ..",
                    shown_text(&first),
                    shown_text(url),
                    shown_text(&first)
                )),
                None => failure,
            }),
        }
    }

    /// Reads a URL or finds a configured server, for a command that accepts no program.
    pub(crate) fn named(word: &str, options: &Options) -> Result<Self, Failure> {
        Self::found(word, None, options)
    }

    /// Reads a URL or finds a configured server. `words` has the same meaning as for [`advice`].
    fn found(word: &str, words: Option<&[String]>, options: &Options) -> Result<Self, Failure> {
        if !is_url(word) {
            return configured(word, words, options);
        }
        let url = Url::parse(word)
            .map_err(|error| Failure::usage(format!("URL {:?}: {error}", shown_text(word))))?;
        hidden::add_url(&url);
        if !names_host(word, &url) {
            // A person may mistake the host for another host, for example because of letters that look like ASCII letters.
            say(&format!("connects to {}", shown(&url)));
        }
        let name = shown(&url);
        let is_whole = name == url.as_str();
        let server = HttpServer::new(url, if is_whole { &name } else { "" }, BTreeMap::new())?;
        let server = Server::Http(server);
        Ok(Self { name, server })
    }
}

impl HttpServer {
    /// Creates a server. `name` is the configured name or the URL. Commands that the program shows to the user contain `name` for
    /// this server. If `name` is empty or not safe for a shell, they contain the placeholder `SERVER`.
    fn new(url: Url, name: &str, headers: BTreeMap<String, String>) -> Result<Self, Failure> {
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Failure::usage(format!(
                "{}: the URL has a user or password, which logs show; remove them, and use --header \"Authorization: ..\"",
                shown(&url)
            )));
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:/@+,%=".contains(c);
        let is_word = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        let word = match is_word && name.chars().all(is_plain) {
            true => name,
            false => "SERVER",
        };
        let word = word.to_owned();
        Ok(Self {
            url,
            word,
            headers,
            helper: None,
        })
    }
}

/// Returns the URL without user, password, query and fragment.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // These fail only for URLs that cannot have a user.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

/// Returns whether a text begins with the host of the URL, followed by nothing or by a port. The host is in the form in which
/// connections use it.
fn names_host(text: &str, url: &Url) -> bool {
    let start = format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default());
    let text = text.to_ascii_lowercase();
    let rest = text.strip_prefix(&start);
    let rest = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port))
}

/// Removes the user, the password, the query and the fragment from a text that may be a URL. If the text has a user, or has no
/// valid host, any part of it can be the password. In this case, hides the host and the path too.
pub(crate) fn shown_text(text: &str) -> String {
    let without_query = text.split(['?', '#']).next().unwrap_or_default();
    let has_user = |url: &Url| !url.username().is_empty() || url.password().is_some();
    match text.split_once("://") {
        Some(_) if Url::parse(text).is_ok_and(|url| url.has_host() && !has_user(&url)) => {
            without_query.to_owned()
        }
        Some((scheme, _)) if scheme.chars().all(|c| c.is_ascii_alphanumeric()) => {
            format!("{scheme}://{HIDDEN}")
        }
        Some(_) => HIDDEN.to_owned(),
        None => match text.rsplit_once('@') {
            Some((user, _)) if user.contains(':') => HIDDEN.to_owned(),
            _ => without_query.to_owned(),
        },
    }
}

fn is_url(word: &str) -> bool {
    let lower = word.get(..8).unwrap_or(word).to_ascii_lowercase();
    lower.starts_with("http://") || lower.starts_with("https://")
}

/// Finds a server in the file of the option `--config`. Without this option, searches the files in this folder and the files of
/// known hosts.
fn configured(name: &str, words: Option<&[String]>, options: &Options) -> Result<Target, Failure> {
    let config = configuration(options)?;
    let server_words = format!("server {name:?}");
    let error = config.errors().find(|(other, _)| *other == name);
    let server = config.servers().find(|(other, _)| *other == name);
    if error.is_some() || server.is_some() {
        for warning in config.warnings() {
            if warning.contains(&server_words) {
                say(&format!("note: {warning}"));
            }
        }
    }
    if let Some((_, error)) = error {
        return Err(Failure::usage(error.to_string()));
    }
    let Some((_, server)) = server else {
        return Err(unknown(name, words, &config, options));
    };
    if !server.is_enabled {
        say(&format!(
            "note: {server_words} is disabled in its file; it is started because it is named here"
        ));
    }
    let folder = std::env::current_dir().unwrap_or_default();
    let mut variables = Variables::new().with_workspace(folder);
    for id in server.inputs() {
        let value = input_value(&config.input(name, id));
        let value =
            value.map_err(|failure| Failure::usage(format!("{server_words}: {failure}")))?;
        if config.input(name, id).is_secret() {
            hidden::add_value(&format!("${{input:{id}}}"), &value);
        }
        variables = variables.with_input(id, value);
    }
    let server = read(name, server, &variables)
        .map_err(|failure| Failure::usage(format!("{server_words}: {failure}")))?;
    let name = name.to_owned();
    Ok(Target { name, server })
}

/// Reads the file of the option `--config`. Without this option, reads the files in this folder and the files of known hosts.
fn configuration(options: &Options) -> Result<Config, Failure> {
    match &options.config {
        Some(file) => Config::read(file, ConfigFormat::of_path(file))
            .map_err(|error| Failure::usage(error.to_string())),
        None => Ok(Config::discover(
            std::env::current_dir().unwrap_or_default(),
        )),
    }
}

fn names(config: &Config) -> String {
    let names: Vec<&str> = config.servers().map(|(name, _)| name).collect();
    names.join(", ")
}

/// Returns the failure for a name that is not configured. `words` has the same meaning as for [`advice`].
fn unknown(name: &str, words: Option<&[String]>, config: &Config, options: &Options) -> Failure {
    let name = &*shown_text(name);
    let known = match names(config) {
        names if names.is_empty() => "there are none".to_owned(),
        names => names,
    };
    for warning in config.warnings() {
        say(&format!("note: {warning}"));
    }
    let text = format!("{name:?} is neither a URL nor a configured server ({known})");
    Failure::usage(format!("{text}; {}", advice(name, words, options)))
}

/// Returns the command to type instead of a name that is not configured. `words` has the other arguments of the command; `None`
/// if the command accepts no program.
fn advice(name: &str, words: Option<&[String]>, options: &Options) -> String {
    let path = Path::new(name);
    let is_path = name.starts_with(['.', '/', '~']) || path.exists();
    let is_url = name.contains([':', '/'])
        && Url::parse(&format!("http://{name}")).is_ok_and(|url| url.host().is_some());
    if is_url && !is_path {
        return format!("for a URL, write http://{name} or https://{name}");
    }
    let Some(words) = words else {
        return "give the URL or the name of a server".to_owned();
    };
    let command = &options.command;
    // An argument can be a secret.
    let is_open = |word: &&String| !word.contains('=') && shown_text(word) == **word;
    let shown = words.iter().take_while(is_open);
    let mut shown: String = shown.map(|word| format!(" {word}")).collect();
    if !words.iter().all(|word| is_open(&word)) {
        shown += " ..";
    }
    let (before, after) = match TAKE_WORDS.contains(&&**command) {
        true => (&*shown, ""),
        false => ("", &*shown),
    };
    let typed = format!("`mcp {command}{before} -- {name}{after}`");
    match path {
        _ if path.is_dir() => format!(
            "it is a folder; a program follows `--`, as in `mcp {command}{before} -- PROGRAM`"
        ),
        _ if is_path && !path.exists() => {
            format!("there is no file with this name; a program follows `--`, as in {typed}")
        }
        _ => format!("to start a program, write {typed}"),
    }
}

/// Reads the configuration of a server. Shows the command or URL to the user, because the configuration in a downloaded folder
/// can name any program.
fn read(name: &str, config: &ServerConfig, variables: &Variables) -> Result<Server, Failure> {
    if let Launch::Stdio { command, args, .. } = &config.launch {
        // The words are shown before variables are replaced, because the values may be secrets.
        let words: Vec<&str> = std::iter::once(command)
            .chain(args)
            .map(|word| &**word)
            .collect();
        say(&format!("starts {}", words.join(" ")));
    }
    if let Launch::Http {
        headers_helper: Some(helper),
        ..
    } = &config.launch
    {
        // The command is shown before secrets are hidden: otherwise, the file could hide a part of the command as a secret.
        let command = helper.command();
        say(&format!("runs {command:?} for the headers of the server"));
    }
    hidden::add_values(config, variables);
    let plan = LaunchPlan::new(config.clone(), false, variables);
    let plan = plan.map_err(|error| Failure::usage(error.to_string()))?;
    for (name, value) in plan.code_variables() {
        say(&format!(
            "with {name}={value:?}, which can make it run other code"
        ));
    }
    let launch = plan.started().launch.clone();
    if !matches!(launch, Launch::Http { .. }) {
        hidden::add_named_values(&launch);
    }
    match launch {
        Launch::Stdio {
            command,
            args,
            env,
            cwd,
            ..
        } => Ok(Server::Program(Program {
            command,
            args,
            env,
            folder: cwd.map(PathBuf::from),
        })),
        Launch::Http {
            url: text,
            headers,
            headers_helper: helper,
            ..
        } => {
            let url = configured_url(&text)?;
            for (name, value) in &headers {
                hidden::add_named(name, value);
            }
            let server = HttpServer::new(url, name, headers)?;
            Ok(Server::Http(HttpServer { helper, ..server }))
        }
        _ => Err(Failure::usage("this kind of server is not supported")),
    }
}

/// Reads the URL of a configured server, and shows it to the user.
fn configured_url(text: &str) -> Result<Url, Failure> {
    let url = is_url(text).then(|| Url::parse(text));
    let url = url.ok_or_else(|| {
        Failure::usage(format!(
            "{:?} is not the URL of a server, such as https://example.com/mcp",
            shown_text(text)
        ))
    })?;
    let url =
        url.map_err(|error| Failure::usage(format!("URL {:?}: {error}", shown_text(text))))?;
    hidden::add_url(&url);
    say(&format!("connects to {}", shown(&url)));
    Ok(url)
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
