//! A chat in the terminal with a model that uses the tools of MCP servers.
//!
//! `OPENAI_API_KEY=.. cargo run --example agent -- --model gpt-4o` starts the servers of the configuration files of this
//! folder, after it has asked. `--url` is the address of another API in the format of OpenAI Chat Completions, such as
//! `http://127.0.0.1:11434/v1`, and `--config` names a configuration file. Ctrl-C ends an answer; at the prompt it ends the
//! program, as Ctrl-D does.

mod endpoint;
mod terminal;

use std::sync::Arc;

use mcp_client::Client;
use mcp_host::{
    ApprovalFile, Config, ConfigFormat, Host, ListCache, ModelApi, SamplingRequest, ToolBudget,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use endpoint::{Endpoint, Failure};
use terminal::Terminal;

/// The folder with the approvals and the lists of tools.
const FOLDER: &str = ".agent";
/// The model may call tools this many times before it answers.
const MAX_ROUNDS: usize = 25;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let (endpoint, config) = settings()?;
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
        messages: Vec::new(),
    };
    let mut interrupts = interrupts();
    loop {
        let line = tokio::select! {
            line = terminal.line("you> ") => line?,
            _ = interrupts.recv() => None,
        };
        let Some(line) = line else { break };
        let before = chat.messages.len();
        tokio::select! {
            answered = chat.answer(&line, &terminal) => match answered {
                Ok(text) => terminal.say(&text),
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

fn settings() -> Result<(Arc<Endpoint>, Config), Failure> {
    let (mut url, mut model, mut file) = ("https://api.openai.com/v1".to_owned(), None, None);
    let mut args = std::env::args().skip(1);
    while let Some(option) = args.next() {
        let value = args
            .next()
            .ok_or_else(|| format!("{option} needs a value"))?;
        match &*option {
            "--url" => url = value,
            "--model" => model = Some(value),
            "--config" => file = Some(value),
            _ => {
                return Err(
                    format!("unknown option {option}; use --model, --url and --config").into(),
                );
            }
        }
    }
    let model = model.ok_or("name a model with --model")?;
    let key = std::env::var("OPENAI_API_KEY").ok();
    let config = match file {
        Some(file) => Config::read(&file, ConfigFormat::of_path(&file))?,
        None => Config::discover("."),
    };
    Ok((Arc::new(Endpoint::new(&url, model, key)?), config))
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
    messages: Vec<Value>,
}

impl Chat {
    /// Returns the model's answer, after the calls that it asks for.
    async fn answer(&mut self, line: &str, terminal: &Terminal) -> Result<String, Failure> {
        let format = ModelApi::OpenAiChat;
        self.messages
            .push(json!({ "role": "user", "content": line }));
        for _ in 0..MAX_ROUNDS {
            let tools = format
                .tools_within_budget(&self.host.tools(), &ToolBudget::new(16_000))
                .tools;
            let response = self.endpoint.complete(&self.messages, &tools).await?;
            let message = &response["choices"][0]["message"];
            self.messages.push(message.clone());
            let tool_uses = format.tool_uses(&response);
            if tool_uses.is_empty() {
                return Ok(message["content"].as_str().unwrap_or_default().to_owned());
            }
            let mut results = Vec::new();
            for tool_use in tool_uses {
                terminal.note(&format!("calls {}", tool_use.name));
                let result = self.host.call(&tool_use).await;
                results.push((tool_use, result));
            }
            self.messages.extend(format.results(&results));
        }
        Err(format!("the model has called tools {MAX_ROUNDS} times without an answer").into())
    }
}
