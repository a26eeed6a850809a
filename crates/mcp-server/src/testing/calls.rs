//! The requests of the protocol, with their results as types.

use mcp_jsonrpc::ErrorObject;
use mcp_types::{
    CallToolResult, CompleteResult, GetPromptResult, ReadResourceResult, ResourceTemplate, method,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::TestClient;

/// Maximum number of pages of a list.
const MAX_PAGES: usize = 1_000;

impl TestClient {
    /// Calls a tool and answers its input requests.
    ///
    /// # Errors
    /// The call was answered with a JSON-RPC error, or needed more than 16 round trips. If the tool reports an error, the method
    /// returns a result with `is_error`.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: Value,
    ) -> Result<CallToolResult, ErrorObject> {
        let params = json!({ "name": name, "arguments": arguments });
        self.typed(method::TOOLS_CALL, params).await
    }

    /// Lists all tools, from all pages.
    ///
    /// # Errors
    /// The request was answered with a JSON-RPC error.
    pub async fn list_tools(&self) -> Result<Vec<mcp_types::Tool>, ErrorObject> {
        self.list(method::TOOLS_LIST, "tools").await
    }

    /// Lists all prompts, from all pages.
    ///
    /// # Errors
    /// The request was answered with a JSON-RPC error.
    pub async fn list_prompts(&self) -> Result<Vec<mcp_types::Prompt>, ErrorObject> {
        self.list(method::PROMPTS_LIST, "prompts").await
    }

    /// Gets the messages of a prompt and answers its input requests.
    ///
    /// # Errors
    /// The request was answered with a JSON-RPC error.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: Value,
    ) -> Result<GetPromptResult, ErrorObject> {
        let params = json!({ "name": name, "arguments": arguments });
        self.typed(method::PROMPTS_GET, params).await
    }

    /// Lists all resources, from all pages.
    ///
    /// # Errors
    /// The request was answered with a JSON-RPC error.
    pub async fn list_resources(&self) -> Result<Vec<mcp_types::Resource>, ErrorObject> {
        self.list(method::RESOURCES_LIST, "resources").await
    }

    /// Lists all resource templates, from all pages.
    ///
    /// # Errors
    /// The request was answered with a JSON-RPC error.
    pub async fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>, ErrorObject> {
        let method = method::RESOURCES_TEMPLATES_LIST;
        self.list(method, "resourceTemplates").await
    }

    /// Reads a resource and answers its input requests.
    ///
    /// # Errors
    /// The request was answered with a JSON-RPC error.
    pub async fn read_resource(&self, uri: &str) -> Result<ReadResourceResult, ErrorObject> {
        self.typed(method::RESOURCES_READ, json!({ "uri": uri }))
            .await
    }

    /// Returns the suggestions for an argument whose text is `value`. `reference` is
    /// `{"type": "ref/prompt", "name": ..}` or `{"type": "ref/resource", "uri": ..}`.
    ///
    /// # Errors
    /// The request was answered with a JSON-RPC error.
    pub async fn complete(
        &self,
        reference: Value,
        argument: &str,
        value: &str,
    ) -> Result<Vec<String>, ErrorObject> {
        let argument = json!({ "name": argument, "value": value });
        let params = json!({ "ref": reference, "argument": argument });
        let result: CompleteResult = self.typed(method::COMPLETION_COMPLETE, params).await?;
        Ok(result.completion.values)
    }

    async fn list<T: DeserializeOwned>(
        &self,
        method: &str,
        member: &str,
    ) -> Result<Vec<T>, ErrorObject> {
        let mut items = Vec::new();
        let mut params = json!({});
        for _ in 0..MAX_PAGES {
            let mut page = self.request(method, params).await?;
            let list = serde_json::from_value::<Vec<T>>(page[member].take());
            items.extend(list.map_err(|error| ErrorObject::internal(error.to_string()))?);
            match page["nextCursor"].take() {
                Value::Null => return Ok(items),
                cursor => params = json!({ "cursor": cursor }),
            }
        }
        Err(ErrorObject::internal(format!(
            "the list has more than {MAX_PAGES} pages"
        )))
    }

    async fn typed<T: DeserializeOwned>(
        &self,
        method: &str,
        params: Value,
    ) -> Result<T, ErrorObject> {
        let result = self.request(method, params).await?;
        serde_json::from_value(result).map_err(|error| ErrorObject::internal(error.to_string()))
    }
}
