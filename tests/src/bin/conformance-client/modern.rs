//! The scenarios of 2026-07-28, which has no sessions.

use mcp_client::Client;
use mcp_types::Root;
use serde_json::{Value, json};

use super::{Fault, Task, succeeded};

impl Task {
    /// Declares all capabilities to a server that only records them.
    pub(super) async fn tell_all(&self) -> Result<Client, Fault> {
        let builder = self
            .builder()
            .roots([Root::new("file:///conformance")])
            .on_elicit(async |form| form.decline())
            .on_sample(async |ask| Err(ask.rejected_by_user()));
        let client = self.connect(builder).await?;
        client.ping().await?;
        if client.capabilities().tools.is_some() {
            client.list_tools().await?;
        }
        Ok(client)
    }

    /// Makes calls with several round trips, and concurrently a call with one.
    pub(super) async fn answer_rounds(&self) -> Result<Client, Fault> {
        let confirming = self
            .builder()
            .on_elicit(async |form| form.accept(json!({ "confirmed": true })));
        let client = self.connect(confirming).await?;
        client.list_tools().await?;
        let call = |name: &str| client.call_tool(name, json!({})).into_future();
        let (echo, unrelated) =
            tokio::join!(call("test_mrtr_echo_state"), call("test_mrtr_unrelated"));
        succeeded(&echo?)?;
        succeeded(&unrelated?)?;
        succeeded(&call("test_mrtr_no_state").await?)?;
        succeeded(&call("test_mrtr_no_result_type").await?)?;
        Ok(client)
    }

    /// Sends each kind of request once for every tool, prompt and resource.
    pub(super) async fn ask_for_everything(&self) -> Result<Client, Fault> {
        let client = self.connect(self.builder()).await?;
        for tool in client.list_tools().await? {
            succeeded(&client.call_tool(tool.name, json!({})).await?)?;
        }
        for resource in client.list_resources().await? {
            client.read_resource(resource.uri).await?;
        }
        for prompt in client.list_prompts().await? {
            client.get_prompt(prompt.name).await?;
        }
        Ok(client)
    }

    /// Makes the calls that the context of the scenario lists.
    pub(super) async fn call_as_told(&self) -> Result<Client, Fault> {
        let client = self.list().await?;
        let context = self.context()?;
        let calls = context["toolCalls"].as_array();
        for call in calls.ok_or("the context has no toolCalls")? {
            let name = call["name"].as_str().ok_or("a call has no name")?;
            succeeded(&client.call_tool(name, call["arguments"].clone()).await?)?;
        }
        Ok(client)
    }

    /// Calls every tool that the client lists.
    pub(super) async fn call_all(&self) -> Result<Client, Fault> {
        let client = self.connect(self.builder()).await?;
        for tool in client.list_tools().await? {
            let arguments = arguments(&Value::Object(tool.input_schema));
            succeeded(&client.call_tool(tool.name, arguments).await?)?;
        }
        Ok(client)
    }
}

/// Returns arguments with a text for each property of a schema.
fn arguments(schema: &Value) -> Value {
    let properties = schema["properties"].as_object();
    let names = properties.into_iter().flatten().map(|(name, _)| name);
    names.map(|name| (name.clone(), json!("value"))).collect()
}
