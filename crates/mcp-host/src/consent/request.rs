//! Consent requests, and their text for a terminal.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use mcp_client::CreateMessageResult;
use mcp_client::types::{CreateMessageRequestParams, OneOrMany, SamplingMessageContentBlock, Tool};
use mcp_skills::{Manifest, SkillEntry};
use serde_json::Value;

use super::plan::LaunchPlan;
use crate::config::{Launch, ServerConfig};
use crate::text::{one_line, printable, quote_lines, quoted};

/// An action that needs the user's consent. [`fmt::Display`] writes the request as text for a terminal, with control characters
/// and invisible characters escaped.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConsentRequest {
    /// The name that the configuration gives the server. The server does not choose this name.
    pub server: String,
    /// Whether the application [trusts](crate::HostBuilder::trust) the server.
    pub is_trusted: bool,
    /// Whether the server is from a file of the opened folder ([`Config::into_project`](crate::Config::into_project)). Another
    /// person may have written this file.
    pub is_project: bool,
    /// The action.
    pub action: ConsentAction,
    /// The other untrusted servers whose results the conversation contains
    /// ([`HostBuilder::track_untrusted_results`](crate::HostBuilder::track_untrusted_results)).
    /// One of these servers could have caused the action.
    pub untrusted_sources: Vec<String>,
}

/// The action that a [`ConsentRequest`] asks the user to allow.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ConsentAction {
    /// The host starts a program or connects to a URL.
    #[non_exhaustive]
    Connect {
        /// The configuration with which the server is started: the command is the absolute path of the program, and variables
        /// have their values, which can be secrets.
        config: Box<ServerConfig>,
        /// The unabridged command line, quoted as for a POSIX shell, or the URL. Line ends are escaped. For a URL, `config` can
        /// have a shell command that writes headers ([`HeadersHelper`](crate::HeadersHelper)). Show this command to the user too.
        command_line: String,
        /// The absolute path of the program that is started; `None` for a URL.
        executable: Option<PathBuf>,
        /// The variables of the configuration that decide which code runs, such as `PATH`, `LD_PRELOAD` and `NODE_OPTIONS`, with
        /// their values. Show them to the user.
        code_variables: BTreeMap<String, String>,
        /// The references to variables and secrets of the host, such as `${API_KEY}`. The server receives their values. Show the
        /// references to the user.
        references: Vec<String>,
        /// Whether the user has earlier approved another command line or URL for this server name.
        is_changed: bool,
    },
    /// The model or the application calls a tool.
    #[non_exhaustive]
    CallTool {
        /// The current definition of the tool from the server. Its annotations are claims of the server and can be wrong.
        tool: Arc<Tool>,
        /// The arguments, exactly as the host sends them.
        arguments: Value,
    },
    /// The model or the application calls a tool, but the user has approved only an earlier definition of the tool.
    #[non_exhaustive]
    ChangedDefinition {
        /// The current definition of the tool from the server.
        tool: Arc<Tool>,
        /// The arguments, exactly as the host sends them.
        arguments: Value,
    },
    /// The application gets a prompt.
    #[non_exhaustive]
    GetPrompt {
        /// The name that the server gives the prompt.
        name: String,
        /// The arguments, exactly as the host sends them.
        arguments: Vec<(String, String)>,
        /// Whether the user has approved only an earlier definition of the prompt.
        is_changed: bool,
    },
    /// The application reads or watches a resource.
    #[non_exhaustive]
    ReadResource {
        /// The URI, exactly as the host sends it.
        uri: String,
    },
    /// The application reads the instructions or another file of a skill.
    #[non_exhaustive]
    UseSkill {
        /// The skill as the server lists it: name, description, and each file with its digest.
        entry: Arc<SkillEntry>,
        /// The path of the file that is read; `None` for the instructions.
        path: Option<String>,
        /// Whether the user has approved only a different content of the skill, or a different configuration of its server.
        is_changed: bool,
    },
    /// The server sends a request to the model.
    #[non_exhaustive]
    SamplingRequest {
        /// The messages and settings, as the model gets them.
        params: Box<CreateMessageRequestParams>,
        /// The nesting depth of the request ([`SamplingRequest::depth`](crate::SamplingRequest::depth)).
        depth: u32,
    },
    /// The server gets the result of the model.
    #[non_exhaustive]
    SamplingResult {
        /// The result, as the server gets it.
        result: Box<CreateMessageResult>,
    },
}

impl ConsentAction {
    /// Creates the request to connect to the server of a plan with absolute paths.
    pub(super) fn connect(plan: &LaunchPlan, is_changed: bool) -> Self {
        let (command_line, executable) = match &plan.started().launch {
            Launch::Stdio { command, args, .. } => {
                let words = std::iter::once(command).chain(args);
                let words: Vec<_> = words.map(|word| quoted(word)).collect();
                (words.join(" "), Some(PathBuf::from(command)))
            }
            Launch::Http { url, .. } => (one_line(url), None),
        };
        Self::Connect {
            config: Box::new(plan.started().clone()),
            command_line,
            executable,
            code_variables: plan.code_variables(),
            references: plan.references(),
            is_changed,
        }
    }
}

impl fmt::Display for ConsentRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = &self.server;
        let mut text = String::new();
        match &self.action {
            ConsentAction::Connect { .. } => self.write_connect(&mut text)?,
            ConsentAction::CallTool { tool, arguments }
            | ConsentAction::ChangedDefinition { tool, arguments } => {
                write!(
                    text,
                    "call the tool {:?} of the server {server:?} with {arguments}",
                    tool.name
                )?;
                if matches!(self.action, ConsentAction::ChangedDefinition { .. }) {
                    let definition = serde_json::to_string(&**tool).unwrap_or_default();
                    write!(
                        text,
                        "\nThe definition differs from the definition that was approved before. It is now: {definition}"
                    )?;
                }
            }
            ConsentAction::GetPrompt { .. } => self.write_prompt(&mut text)?,
            ConsentAction::ReadResource { uri } => {
                write!(text, "read the resource {uri:?} of the server {server:?}")?;
            }
            ConsentAction::UseSkill {
                entry,
                path,
                is_changed,
            } => write_skill(&mut text, server, entry, path.as_deref(), *is_changed)?,
            ConsentAction::SamplingRequest { params, depth } => {
                write_sampling(&mut text, server, params, *depth)?;
            }
            ConsentAction::SamplingResult { result } => {
                let content = content_text(&result.content);
                write!(
                    text,
                    "send this result of the model {:?} to the server {server:?}:{content}",
                    result.model
                )?;
            }
        }
        if self.is_project {
            text.push_str("\nA file of the opened folder names this server.");
        }
        if !self.untrusted_sources.is_empty() {
            let names = self.untrusted_sources.iter().map(|name| quoted(name));
            write!(
                text,
                "\nThe conversation has results of servers that are not trusted: {}",
                names.collect::<Vec<_>>().join(", ")
            )?;
        }
        f.write_str(&printable(&text))
    }
}

impl ConsentRequest {
    fn write_prompt(&self, text: &mut String) -> fmt::Result {
        let ConsentAction::GetPrompt {
            name,
            arguments,
            is_changed,
        } = &self.action
        else {
            return Ok(());
        };
        write!(
            text,
            "use the prompt {name:?} of the server {:?}",
            self.server
        )?;
        write_arguments(text, arguments)?;
        if *is_changed {
            text.push_str("\nThe definition differs from the definition that was approved before.");
        }
        Ok(())
    }

    fn write_connect(&self, text: &mut String) -> fmt::Result {
        let ConsentAction::Connect {
            config,
            command_line,
            executable,
            code_variables,
            references,
            is_changed,
        } = &self.action
        else {
            return Ok(());
        };
        let (verb, what, values) = match &config.launch {
            Launch::Stdio { env, .. } => ("start", "variables", env),
            Launch::Http { headers, .. } => ("connect to", "headers", headers),
        };
        write!(text, "{verb} the server {:?}: {command_line}", self.server)?;
        if let Some(path) = executable {
            write!(text, "\nprogram: {}", quoted(&path.to_string_lossy()))?;
        }
        if let Launch::Stdio { cwd: Some(cwd), .. } = &config.launch {
            write!(text, "\nfolder: {}", quoted(cwd))?;
        }
        if !values.is_empty() {
            let value = |name: &String| match code_variables.get(name) {
                Some(value) => format!("{}={}", quoted(name), quoted(value)),
                None => quoted(name),
            };
            let values: Vec<String> = values.keys().map(value).collect();
            write!(text, "\n{what}: {}", values.join(", "))?;
        }
        if let Launch::Http {
            headers_helper: Some(helper),
            ..
        } = &config.launch
        {
            let (command, folder) = (quoted(helper.command()), helper.folder());
            write!(
                text,
                "\nshell command that writes further headers, and has all variables of this host: {command}"
            )?;
            if let Some(folder) = folder {
                write!(text, "\nfolder: {}", quoted(folder))?;
            }
        }
        if !references.is_empty() {
            write!(
                text,
                "\nvalues of this host: {}",
                one_line(&references.join(", "))
            )?;
        }
        if *is_changed {
            text.push_str("\nThe configuration of this server differs from the configuration that was approved before.");
        }
        Ok(())
    }
}

fn write_arguments(text: &mut String, arguments: &[(String, String)]) -> fmt::Result {
    let values = arguments.iter();
    let values: Vec<_> = values
        .map(|(name, value)| format!("{name:?}: {value:?}"))
        .collect();
    match values.is_empty() {
        true => Ok(()),
        false => write!(text, " with {{{}}}", values.join(", ")),
    }
}

/// Returns the content blocks of a message as quoted text. Blocks other than text are shown as JSON, without the data of images
/// and audio.
fn content_text(content: &OneOrMany<SamplingMessageContentBlock>) -> String {
    let block = |block: &SamplingMessageContentBlock| match block {
        SamplingMessageContentBlock::Text(text) => quote_lines(&text.text),
        SamplingMessageContentBlock::Image(image) => media("image", &image.mime_type, &image.data),
        SamplingMessageContentBlock::Audio(audio) => media("audio", &audio.mime_type, &audio.data),
        other => quote_lines(&serde_json::to_string(other).unwrap_or_default()),
    };
    content.iter().map(block).collect()
}

fn media(kind: &str, mime_type: &str, data: impl AsRef<[u8]>) -> String {
    let bytes = data.as_ref().len();
    format!("\n  [{kind} {mime_type:?}, {bytes} bytes]")
}

fn write_skill(
    text: &mut String,
    server: &str,
    entry: &SkillEntry,
    path: Option<&str>,
    is_changed: bool,
) -> fmt::Result {
    let (name, description, uri) = (entry.name(), entry.description(), &entry.uri);
    match path {
        None => text.push_str("let the model follow the instructions"),
        Some(path) => write!(text, "let the model read the file {path:?}")?,
    }
    write!(
        text,
        " of the skill {name:?} ({uri:?}) of the server {server:?}"
    )?;
    if let Manifest::Files(files) = &entry.resources {
        let sizes = files.iter().map(|file| file.size);
        let bytes = sizes.fold(0, u64::saturating_add);
        write!(text, ", {} file(s) with {bytes} bytes", files.len())?;
    }
    write!(text, "\ndescription:{}", quote_lines(description))?;
    if is_changed {
        text.push_str("\nThe skill or its server differs from what was approved before.");
    }
    Ok(())
}

fn write_sampling(
    text: &mut String,
    server: &str,
    params: &CreateMessageRequestParams,
    depth: u32,
) -> fmt::Result {
    write!(
        text,
        "send a request of the server {server:?} to the model, for at most {} tokens",
        params.max_tokens
    )?;
    if depth > 1 {
        write!(text, ", nested in {} other request(s)", depth - 1)?;
    }
    if let Some(context) = &params.include_context {
        write!(text, "\ncontext: {:?}", context.as_str())?;
    }
    if let Some(prompt) = &params.system_prompt {
        write!(text, "\nsystem prompt:{}", quote_lines(prompt))?;
    }
    for message in &params.messages {
        let content = content_text(&message.content);
        write!(text, "\n{:?}:{content}", message.role.as_str())?;
    }
    for tool in params.tools.iter().flatten() {
        let definition = serde_json::to_string(tool).unwrap_or_default();
        write!(text, "\ntool:{}", quote_lines(&definition))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{HeadersHelper, Variables};

    fn plan(config: &ServerConfig) -> LaunchPlan {
        LaunchPlan::new(config.clone(), false, &Variables::new()).unwrap()
    }

    #[test]
    fn a_command_line_is_shown_unabridged_and_without_control_characters() {
        let args = ["-c", "rm -rf ~ #\u{1b}[2K\nprogram: /bin/true", "it's", ""];
        let long = "x".repeat(5_000);
        let config = ServerConfig::stdio("sh", args.into_iter().chain([&*long]));
        let request = ConsentRequest {
            server: "evil\u{202e}".to_owned(),
            is_trusted: false,
            is_project: true,
            action: ConsentAction::connect(&plan(&config), true),
            untrusted_sources: Vec::new(),
        };
        let text = request.to_string();
        assert!(
            text.contains(r"sh -c 'rm -rf ~ #\u{1b}[2K\u{a}program: /bin/true' 'it'\''s' '' xxxx")
        );
        assert!(text.contains(&long) && text.contains("differs"));
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    }

    #[test]
    fn a_nested_sampling_request_shows_its_depth() {
        let text = |depth| {
            let params = Box::new(CreateMessageRequestParams::new(Vec::new(), 10));
            let request = ConsentRequest {
                server: "s".to_owned(),
                is_trusted: false,
                is_project: false,
                action: ConsentAction::SamplingRequest { params, depth },
                untrusted_sources: Vec::new(),
            };
            request.to_string()
        };
        let alone = "send a request of the server \"s\" to the model, for at most 10 tokens";
        assert_eq!(text(1), alone);
        assert_eq!(text(2), format!("{alone}, nested in 1 other request(s)"));
        assert_eq!(text(3), format!("{alone}, nested in 2 other request(s)"));
    }

    #[test]
    fn values_of_a_configuration_do_not_imitate_lines_of_the_request() {
        let forged = "x\nprogram: /bin/true\u{2028}\u{9b}2K\u{202e}";
        let variables = |name: &str| [(name.to_owned(), String::new())].into();
        let mut program = ServerConfig::stdio(forged, [forged]);
        let mut url = ServerConfig::http(forged);
        if let Launch::Stdio { env, cwd, .. } = &mut program.launch {
            // The name has no `\n`, because names with control characters are rejected before.
            *env = variables("x\u{2028}program: /bin/true\u{202e}");
            *cwd = Some(forged.to_owned());
        }
        if let Launch::Http {
            headers,
            headers_helper,
            ..
        } = &mut url.launch
        {
            *headers = variables(forged);
            *headers_helper = Some(HeadersHelper::new(forged, forged));
        }
        for (config, lines) in [(program, 6), (url, 5)] {
            let mut action = ConsentAction::connect(&plan(&config), false);
            if let ConsentAction::Connect {
                references,
                code_variables,
                ..
            } = &mut action
            {
                references.push(forged.to_owned());
                code_variables.insert(forged.to_owned(), forged.to_owned());
            }
            let request = ConsentRequest {
                server: forged.to_owned(),
                is_trusted: false,
                is_project: false,
                action,
                untrusted_sources: vec![forged.to_owned()],
            };
            let text = request.to_string();
            assert_eq!(text.lines().count(), lines, "{text}");
            assert!(!text.contains("\nprogram: /bin"), "{text}");
            let hidden = ['\u{2028}', '\u{9b}', '\u{202e}'];
            assert!(!text.contains(hidden), "{text}");
        }
    }
}
