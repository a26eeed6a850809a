//! The fixture client of the conformance suite: `conformance-client URL`.
//!
//! The suite starts the program once for each scenario. A variable of the environment names the scenario. The program does what
//! the scenario requires, with the public API alone, and exits with 0 if the outcome is the expected one.
//!
//! If `CONFORMANCE_BRIDGE` has the path of the program `mcp`, the client reaches the server through `mcp bridge`. It then
//! uses the kind of revision that `CONFORMANCE_CLIENT_REVISION` names (`sessions` or `stateless`), whatever the server
//! uses.

mod auth;
mod modern;

use std::time::Duration;

use mcp_client::{Client, ClientBuilder, Negotiation, Strictness};
use mcp_protocol::Revision;
use mcp_skills::RemoteSkills;
use mcp_transport_http::{ClientOptions, HttpTransport};
use mcp_transport_stdio::ChildProcess;
use serde_json::{Value, json};

/// Less than the 30 seconds after which the suite kills the client.
const LIMIT: Duration = Duration::from_secs(25);

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// The scenario and its parameters.
struct Task {
    url: String,
    scenario: String,
    revision: Revision,
}

impl Task {
    fn read() -> Result<Self, Fault> {
        let variable = |name: &str| std::env::var(name).ok();
        let url = std::env::args()
            .nth(1)
            .ok_or("usage: conformance-client URL")?;
        let scenario =
            variable("MCP_CONFORMANCE_SCENARIO").ok_or("MCP_CONFORMANCE_SCENARIO is not set")?;
        // The stable line does not set it, and uses the newest revision that it supports.
        let revision = match variable("MCP_CONFORMANCE_PROTOCOL_VERSION") {
            Some(revision) => revision
                .parse()
                .map_err(|_| format!("revision {revision} is not supported"))?,
            None => Revision::V2025_11_25,
        };
        Ok(Self {
            url,
            scenario,
            revision,
        })
    }

    /// Creates a client of the scenario's revision, because its servers support no other.
    fn builder(&self) -> ClientBuilder {
        let (revision, negotiation) = match std::env::var("CONFORMANCE_CLIENT_REVISION").as_deref()
        {
            Ok("sessions") => (Revision::LATEST_WITH_SESSIONS, Negotiation::SessionBased),
            Ok("stateless") => (Revision::LATEST, Negotiation::Stateless),
            _ if self.revision.is_stateless() => (self.revision, Negotiation::Stateless),
            _ => (self.revision, Negotiation::SessionBased),
        };
        Client::builder("conformance-client", env!("CARGO_PKG_VERSION"))
            .strictness(Strictness::Strict)
            .revision(revision)
            .negotiation(negotiation)
    }

    async fn connect(&self, builder: ClientBuilder) -> Result<Client, Fault> {
        if let Ok(bridge) = std::env::var("CONFORMANCE_BRIDGE") {
            let server = self.revision.as_str();
            let bridge = ChildProcess::new(bridge);
            let bridge = bridge.args(["--revision", server, "bridge", &*self.url, "--stdio"]);
            return Ok(builder.connect(bridge).await?);
        }
        let options = ClientOptions::new().with_strictness(Strictness::Strict);
        let http = HttpTransport::new(&self.url)?.options(options);
        Ok(builder.connect(http).await?)
    }

    async fn run(&self) -> Result<(), Fault> {
        if let Some(scenario) = self.scenario.strip_prefix("auth/") {
            return self.authorize(scenario).await;
        }
        let client = match &*self.scenario {
            // This server implements only the handshake.
            "initialize" => self.connect(self.builder()).await?,
            "tools_call" => {
                let client = self.connect(self.builder()).await?;
                call(client, "add_numbers", json!({ "a": 2, "b": 3 })).await?
            }
            "sse-retry" => {
                let client = self.connect(self.builder()).await?;
                call(client, "test_reconnection", json!({})).await?
            }
            // The user changes nothing; the SDK fills in the defaults of the form.
            "elicitation-sep1034-client-defaults" => {
                let accepting = self.builder();
                let accepting = accepting.on_elicit(async |form| form.accept(json!({})));
                let client = self.connect(accepting).await?;
                call(client, "test_client_elicitation_defaults", json!({})).await?
            }
            "json-schema-2020-12-preservation" => self.echo_schema().await?,
            // Listing is enough: references in a schema must not be fetched.
            "json-schema-ref-no-deref" => self.list().await?,
            "request-metadata" => self.tell_all().await?,
            "sep-2322-client-request-state" => self.answer_rounds().await?,
            "http-standard-headers" => self.ask_for_everything().await?,
            "http-custom-headers" => self.call_as_told().await?,
            "http-invalid-tool-headers" => self.call_all().await?,
            "sep-2640-client-no-prefetch" => {
                let client = self.connect(self.builder()).await?;
                RemoteSkills::new(&client)?.list().await?;
                client
            }
            // The server sends a SKILL.md that differs from its entry.
            "sep-2640-client-verify-digest"
            | "sep-2640-client-verify-size"
            | "sep-2640-client-verify-frontmatter" => {
                let client = self.connect(self.builder()).await?;
                let skills = RemoteSkills::new(&client)?;
                for skill in skills.list().await?.skills {
                    let name = skill.name().to_owned();
                    if skills.open(skill).await.is_ok() {
                        return Err(format!("the changed skill {name} was opened").into());
                    }
                }
                client
            }
            other => return Err(format!("scenario {other} is not supported").into()),
        };
        Ok(client.close().await?)
    }

    /// Returns a parameter that the suite passes to this scenario only.
    fn context(&self) -> Result<Value, Fault> {
        let context = std::env::var("MCP_CONFORMANCE_CONTEXT")?;
        Ok(serde_json::from_str(&context)?)
    }

    async fn list(&self) -> Result<Client, Fault> {
        let client = self.connect(self.builder()).await?;
        client.list_tools().await?;
        Ok(client)
    }

    /// Returns a schema to the server unchanged.
    async fn echo_schema(&self) -> Result<Client, Fault> {
        let client = self.connect(self.builder()).await?;
        let tools = client.list_tools().await?;
        let tool = tools
            .iter()
            .find(|tool| tool.name == "json_schema_2020_12_tool");
        let schema = &tool
            .ok_or("there is no json_schema_2020_12_tool")?
            .input_schema;
        let called = client.call_tool("json_schema_echo", json!({ "schema": schema }));
        succeeded(&called.await?)?;
        Ok(client)
    }
}

/// Lists the tools and calls one of them, which must succeed; returns the client.
async fn call(client: Client, name: &str, arguments: Value) -> Result<Client, Fault> {
    client.list_tools().await?;
    succeeded(&client.call_tool(name, arguments).await?)?;
    Ok(client)
}

fn succeeded(result: &mcp_types::CallToolResult) -> Result<(), Fault> {
    if result.is_error() {
        return Err(format!("the tool failed: {}", result.joined_text()).into());
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Fault> {
    let task = Task::read()?;
    tokio::time::timeout(LIMIT, task.run())
        .await
        .map_err(|_| format!("{} took longer than {} s", task.scenario, LIMIT.as_secs()))?
}
