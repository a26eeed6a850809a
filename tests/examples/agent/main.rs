//! A chat in the terminal with a model that uses the tools of MCP servers.
//!
//! `OPENAI_API_KEY=.. cargo run --example agent -- --model gpt-4o` starts the servers of the configuration files of this
//! folder, after it has asked. In a line, `/mcp__server__prompt` sends a prompt, and `@server:uri` attaches a resource or a skill; `/`
//! alone lists them. `--url` is the address of another API, such as `http://127.0.0.1:11434/v1`, `--api responses` selects the format of
//! OpenAI Responses, which can load tools when a search has found them, and `--config` names a configuration file. Ctrl-C ends an
//! answer; at the prompt it ends the program, as Ctrl-D does.

mod endpoint;
mod stream;
mod terminal;

use std::sync::Arc;

use mcp_client::Client;
use mcp_host::{
    ApprovalFile, Config, ConfigFormat, Host, ListCache, Mention, ModelApi, SamplingRequest,
    ToolBudget, ToolSearch,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use endpoint::{Endpoint, Failure};
use terminal::Terminal;

/// The folder with the approvals and the lists of tools.
const FOLDER: &str = ".agent";
/// Estimated tokens of the tools that the model sees without a search, and of what the user attaches to one line.
const TOOL_TOKENS: usize = 16_000;
const CONTEXT_TOKENS: usize = 50_000;
/// The model may call tools this many times before it answers.
const MAX_ROUNDS: usize = 25;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let Settings {
        endpoint,
        config,
        tool_tokens,
    } = settings()?;
    let terminal = Terminal::new();
    for warning in config.warnings() {
        terminal.note(warning);
    }
    for (name, error) in config.errors() {
        terminal.note(&format!("{name}: {error}"));
    }
    let host = host(config, &endpoint, &terminal);
    host.settled().await;
    for server in host.servers() {
        terminal.note(&format!("{}: {:?}", server.name(), server.state()));
    }
    tokio::spawn({
        let (logs, terminal) = (host.logs(), terminal.clone());
        async move {
            while let Some(message) = logs.next().await {
                terminal.note(&message.to_string());
            }
        }
    });
    let mut chat = Chat {
        host,
        endpoint,
        tools: ToolBudget::new(tool_tokens).with_search(ToolSearch::Client),
        messages: Vec::new(),
    };
    let mut interrupts = interrupts();
    loop {
        let line = tokio::select! {
            line = terminal.line("you> ") => line?,
            _ = interrupts.recv() => None,
        };
        let Some(line) = line else { break };
        if line.trim() == "/" {
            chat.list(&terminal);
            continue;
        }
        let before = chat.messages.len();
        tokio::select! {
            answered = chat.answer(&line, &terminal) => match answered {
                Ok(()) => {}
                Err(error) => {
                    terminal.note(&error.to_string());
                    chat.messages.truncate(before);
                }
            },
            // Dropping the answer cancels the running call.
            _ = interrupts.recv() => {
                terminal.note("interrupted");
                chat.messages.truncate(before);
            }
        }
    }
    chat.host.close().await;
    Ok(())
}

/// Returns a channel with an item for each Ctrl-C. One task listens all the time: with a new listener for each answer, this program
/// missed signals on a busy machine.
fn interrupts() -> mpsc::Receiver<()> {
    let (sender, interrupts) = mpsc::channel(1);
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            // One that is not handled yet is enough.
            let _ = sender.try_send(());
        }
    });
    interrupts
}

struct Settings {
    endpoint: Arc<Endpoint>,
    config: Config,
    tool_tokens: usize,
}

fn settings() -> Result<Settings, Failure> {
    let (mut url, mut model, mut file) = ("https://api.openai.com/v1".to_owned(), None, None);
    let (mut api, mut tool_tokens) = (ModelApi::OpenAiChat, TOOL_TOKENS);
    let mut args = std::env::args().skip(1);
    while let Some(option) = args.next() {
        let value = args
            .next()
            .ok_or_else(|| format!("{option} needs a value"))?;
        match (&*option, &*value) {
            ("--url", _) => url = value,
            ("--model", _) => model = Some(value),
            ("--config", _) => file = Some(value),
            ("--api", "chat") => api = ModelApi::OpenAiChat,
            ("--api", "responses") => api = ModelApi::OpenAiResponses,
            ("--api", _) => return Err(format!("--api {value}: use chat or responses").into()),
            ("--tool-tokens", _) => tool_tokens = value.parse()?,
            _ => {
                let known = "--model, --url, --api, --config and --tool-tokens";
                return Err(format!("unknown option {option}; use {known}").into());
            }
        }
    }
    let model = model.ok_or("name a model with --model")?;
    let key = std::env::var("OPENAI_API_KEY").ok();
    let config = match file {
        Some(file) => Config::read(&file, ConfigFormat::of_path(&file))?,
        None => Config::discover("."),
    };
    Ok(Settings {
        endpoint: Arc::new(Endpoint::new(api, &url, model, key)?),
        config,
        tool_tokens,
    })
}

fn host(config: Config, endpoint: &Arc<Endpoint>, terminal: &Terminal) -> Host {
    let (consent, forms, progress) = (terminal.clone(), terminal.clone(), terminal.clone());
    let watching = terminal.clone();
    let model = Arc::clone(endpoint);
    Host::builder(Client::builder("agent", env!("CARGO_PKG_VERSION")))
        .servers(config)
        .list_cache(ListCache::dir(FOLDER))
        .approvals(ApprovalFile::new(format!("{FOLDER}/approvals.json")))
        .consent(move |request| {
            let terminal = consent.clone();
            async move { terminal.decide(&request).await }
        })
        .elicitation(move |request| {
            let terminal = forms.clone();
            async move { terminal.fill(&request).await }
        })
        .model(move |request: SamplingRequest| {
            let model = Arc::clone(&model);
            async move { model.sample(&request).await }
        })
        .on_progress(move |_, tool, update| progress.progress(tool, update))
        .watch_config(move |reload| match reload {
            Ok(changes) => watching.note(&format!("the configuration has changed: {changes:?}")),
            Err(error) => watching.note(&error.to_string()),
        })
        .max_result_bytes(64 << 10)
        .roots(["."])
        .logs()
        .start()
}

struct Chat {
    host: Host,
    endpoint: Arc<Endpoint>,
    tools: ToolBudget,
    messages: Vec<Value>,
}

impl Chat {
    /// Prints what the user can write in a line.
    fn list(&self, terminal: &Terminal) {
        let described = |name: &str, description: Option<&str>| {
            let description = description.map(|text| format!("  {text}"));
            terminal.say(&format!("{name}{}", description.unwrap_or_default()));
        };
        for prompt in self.host.prompts() {
            let name = format!("/{}", prompt.name);
            described(&name, prompt.prompt.description.as_deref());
        }
        for resource in self.host.resources() {
            let name = format!("@{}", resource.name);
            described(&name, resource.resource.description.as_deref());
        }
        for skill in self.host.skills() {
            let name = format!("@{}", skill.name);
            described(&name, Some(skill.skill.description()));
        }
    }

    /// Adds what the user has written, and what it names.
    async fn ask(&mut self, line: &str, terminal: &Terminal) -> Result<(), Failure> {
        let mut context = self.host.context();
        let mentions = self.host.mentions(line);
        for mention in &mentions {
            let item = context.attach(mention).await?;
            let text = format!("attached {}: about {} tokens", item.name, item.tokens);
            terminal.note(&text);
        }
        let attached = self.endpoint.api.context(&context, CONTEXT_TOKENS);
        for item in &attached.left_out {
            terminal.note(&format!("{} is too long for the model", item.name));
        }
        for media in &attached.replaced {
            let text = format!(
                "the model cannot read {} of {}",
                media.mime_type, media.item
            );
            terminal.note(&text);
        }
        self.messages.extend(attached.messages);
        // The messages of a prompt are what the user says.
        if !matches!(mentions.first(), Some(Mention::Prompt { .. })) {
            let message = json!({ "role": "user", "content": line });
            self.messages.push(message);
        }
        Ok(())
    }

    /// Prints the model's answer, after the calls that it asks for.
    async fn answer(&mut self, line: &str, terminal: &Terminal) -> Result<(), Failure> {
        self.ask(line, terminal).await?;
        let api = self.endpoint.api;
        for _ in 0..MAX_ROUNDS {
            let tools = api.tools_within_budget(&self.host.tools(), &self.tools);
            let print = |text: &str| terminal.write(text);
            let response = self.endpoint.respond(&self.messages, &tools.tools, print);
            let response = response.await?;
            match (api, &response["output"]) {
                (ModelApi::OpenAiResponses, Value::Array(items)) => {
                    self.messages.extend(items.iter().cloned());
                }
                _ => self
                    .messages
                    .push(response["choices"][0]["message"].clone()),
            }
            let tool_uses = api.tool_uses(&response);
            if tool_uses.is_empty() {
                terminal.write("\n");
                return Ok(());
            }
            let mut results = Vec::new();
            for tool_use in tool_uses {
                terminal.note(&format!("calls {}", tool_use.name));
                let result = self.host.call(&tool_use).await;
                results.push((tool_use, result));
            }
            self.messages.extend(api.results(&results));
        }
        Err(format!("the model has called tools {MAX_ROUNDS} times without an answer").into())
    }
}
