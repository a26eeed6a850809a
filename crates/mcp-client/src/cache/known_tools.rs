//! The tools that the server has listed: output schemas, parameters that are echoed in headers, and task support.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use mcp_protocol::http_headers::HeaderParams;
use mcp_protocol::lock;
use mcp_schema::{Origin, Validator, Violation};
use mcp_types::{CallToolResult, JsonObject, ListToolsResult, TaskSupport, Tool, v2026_07_28};
use serde_json::Value;

use crate::Error;

/// Maximum number of remembered tools.
const MAX_TOOLS: usize = 4_096;
/// Maximum total size of the output schemas, in bytes of JSON.
const MAX_SCHEMA_BYTES: usize = 16 << 20;
/// Maximum number of compiled schemas; the least recently used schema is dropped.
const MAX_VALIDATORS: usize = 16;

#[derive(Default)]
pub(crate) struct KnownTools {
    /// Whether arguments are echoed in headers.
    has_headers: bool,
    /// Whether a page of the tool list was received.
    listed: AtomicBool,
    tools: Mutex<Tools>,
    /// Compiled output schemas, the most recently used schema last.
    validators: Mutex<VecDeque<(Arc<str>, Arc<Validator>)>>,
}

#[derive(Default)]
struct Tools {
    by_name: BTreeMap<String, KnownTool>,
    /// Size of all output schemas.
    schema_bytes: usize,
}

impl Tools {
    fn forget_output(&mut self, name: &str) {
        let output = self
            .by_name
            .get_mut(name)
            .and_then(|tool| tool.output.take());
        self.schema_bytes -= output.map_or(0, |schema| schema.len());
    }

    fn remove(&mut self, name: &str) {
        self.forget_output(name);
        self.by_name.remove(name);
    }

    /// Stores a tool, unless the maximum number of tools is reached. If all schemas together would be too large, stores the tool
    /// without its output schema.
    fn insert(&mut self, name: &str, mut known: KnownTool) {
        self.remove(name);
        if self.by_name.len() >= MAX_TOOLS {
            return;
        }
        let bytes = known.output.as_ref().map_or(0, |schema| schema.len());
        if self.schema_bytes + bytes > MAX_SCHEMA_BYTES {
            tracing::warn!(tool = ?name, "cannot validate the output of a tool: the schemas of all \
             tools are larger than {MAX_SCHEMA_BYTES} bytes");
            known.output = None;
        } else {
            self.schema_bytes += bytes;
        }
        self.by_name.insert(name.to_owned(), known);
    }
}

#[derive(Default, Clone)]
struct KnownTool {
    /// Digest of the input and output schema. A tool with the same digest is not compiled again.
    digest: u64,
    /// The output schema as JSON text. The schema is compiled when a result is first validated.
    output: Option<Arc<str>>,
    header_params: Option<Arc<HeaderParams>>,
    /// Whether calls may run as tasks (2025-11-25).
    tasks: Option<TaskSupport>,
}

impl KnownTools {
    pub(crate) fn new(has_headers: bool) -> Self {
        Self {
            has_headers,
            listed: AtomicBool::new(false),
            tools: Mutex::default(),
            validators: Mutex::default(),
        }
    }

    /// Returns whether the transport echoes arguments in headers.
    pub(crate) fn has_headers(&self) -> bool {
        self.has_headers
    }

    pub(crate) fn were_listed(&self) -> bool {
        self.listed.load(Ordering::Relaxed)
    }

    /// Records the tools on a page of the tool list, and removes invalid tools from the page. The page can have the result type
    /// of any revision.
    pub(crate) fn learn(&self, page: &mut dyn std::any::Any) {
        self.listed.store(true, Ordering::Relaxed);
        if let Some(page) = page.downcast_mut::<ListToolsResult>() {
            page.tools.retain(|tool: &Tool| {
                let execution = tool.execution.as_ref();
                let tasks = execution.and_then(|execution| execution.task_support.clone());
                let output = tool.output_schema.as_ref();
                self.record(&tool.name, &tool.input_schema, output, tasks)
            });
        } else if let Some(page) = page.downcast_mut::<v2026_07_28::ListToolsResult>() {
            page.tools.retain(|tool| {
                let output = tool.output_schema.as_ref();
                self.record(&tool.name, &tool.input_schema, output, None)
            });
        }
    }

    /// Records a tool. Returns `false` if the tool is invalid.
    fn record(
        &self,
        name: &str,
        input: &JsonObject,
        output: Option<&JsonObject>,
        tasks: Option<TaskSupport>,
    ) -> bool {
        let mut known = KnownTool {
            digest: digest(input, output),
            tasks,
            ..KnownTool::default()
        };
        if lock(&self.tools)
            .by_name
            .get_mut(name)
            .filter(|tool| tool.digest == known.digest)
            .map(|tool| tool.tasks.clone_from(&known.tasks))
            .is_some()
        {
            return true;
        }
        if self.has_headers {
            match HeaderParams::of(input) {
                Ok(params) if params.is_empty() => {}
                Ok(params) => known.header_params = Some(Arc::new(params)),
                Err(reason) => {
                    tracing::warn!(tool = ?name, reason, "left out a tool that cannot be called over HTTP");
                    lock(&self.tools).remove(name);
                    return false;
                }
            }
        }
        known.output = output
            .and_then(|schema| serde_json::to_string(schema).ok())
            .map(Arc::from);
        lock(&self.tools).insert(name, known);
        true
    }

    /// Returns the listed task support of a tool, or `None` if the tool was not listed.
    pub(crate) fn task_support(&self, name: &str) -> Option<TaskSupport> {
        let tools = lock(&self.tools);
        let tasks = tools.by_name.get(name)?.tasks.clone();
        Some(tasks.unwrap_or(TaskSupport::Forbidden))
    }

    /// Returns the validator of a tool's structured output. Compiles it on another thread if necessary.
    async fn output(&self, name: &str) -> Option<Arc<Validator>> {
        let schema = lock(&self.tools).by_name.get(name)?.output.clone()?;
        if let Some(validator) = self.compiled(&schema) {
            return Some(validator);
        }
        let text = Arc::clone(&schema);
        let compile = move || {
            let schema: JsonObject = serde_json::from_str(&text).map_err(|it| it.to_string())?;
            Validator::compile(&schema, Origin::Foreign).map_err(|it| it.to_string())
        };
        let compiled = tokio::task::spawn_blocking(compile).await;
        match compiled.unwrap_or_else(|_| Err("the runtime has stopped".to_owned())) {
            Ok(validator) => {
                let validator = Arc::new(validator);
                let mut validators = lock(&self.validators);
                if validators.len() >= MAX_VALIDATORS {
                    validators.pop_front();
                }
                validators.push_back((schema, Arc::clone(&validator)));
                Some(validator)
            }
            Err(error) => {
                tracing::warn!(tool = ?name, error, "cannot validate the output of a tool");
                lock(&self.tools).forget_output(name);
                None
            }
        }
    }

    fn compiled(&self, schema: &Arc<str>) -> Option<Arc<Validator>> {
        let mut validators = lock(&self.validators);
        let index = validators
            .iter()
            .position(|(of, _)| Arc::ptr_eq(of, schema))?;
        let used = validators.remove(index)?;
        let validator = Arc::clone(&used.1);
        validators.push_back(used);
        Some(validator)
    }

    fn has_output(&self, name: &str) -> bool {
        let tools = lock(&self.tools);
        tools
            .by_name
            .get(name)
            .is_some_and(|tool| tool.output.is_some())
    }

    /// Validates the structured output of a tool against the listed output schema.
    ///
    /// # Errors
    /// [`Error::Output`] if the structured output is missing or does not match the schema.
    pub(crate) async fn check_output(
        &self,
        tool: &str,
        result: &CallToolResult,
    ) -> Result<(), Error> {
        let is_error = result.is_error == Some(true);
        if is_error || !self.has_output(tool) {
            return Ok(());
        }
        let error = |problem| Error::Output {
            tool: tool.to_owned(),
            problem,
            result: Box::new(result.clone()),
        };
        let Some(content) = &result.structured_content else {
            return Err(error(Violation::new("", "structured content is missing")));
        };
        let Some(validator) = self.output(tool).await else {
            return Ok(());
        };
        validator.check(content).map_err(error)
    }

    /// Returns the headers that echo arguments of a call. Each item is a header name and an encoded value.
    pub(crate) fn headers(
        &self,
        name: &str,
        arguments: &Value,
    ) -> Result<Vec<(String, String)>, Error> {
        let known = lock(&self.tools).by_name.get(name).cloned();
        let Some(params) = known.and_then(|known| known.header_params) else {
            return Ok(Vec::new());
        };
        let arguments = arguments.to_string();
        let headers = params.headers_for(&arguments).map_err(|problem| {
            Error::invalid(format!(
                "tool {name:?} has an invalid argument at {problem}"
            ))
        })?;
        let owned = |(name, value): (&str, String)| (name.to_owned(), value);
        Ok(headers.into_iter().map(owned).collect())
    }
}

fn digest(input: &JsonObject, output: Option<&JsonObject>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (input, output).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn page() -> ListToolsResult {
        let text = |header: &str| json!({ "type": "string", "x-mcp-header": header });
        let tool = |name: &str, header: &str| {
            json!({ "name": name, "inputSchema": {
                "type": "object",
                "properties": { "region": text(header), "limit": {
                    "type": "integer", "x-mcp-header": "Limit" } },
            }})
        };
        let tools = json!({ "tools": [tool("good", "Region"), tool("bad", "a b")] });
        serde_json::from_value(tools).unwrap()
    }

    fn names(page: &ListToolsResult) -> Vec<&str> {
        page.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    // proves: M-HDR-013, M-HDR-015
    #[test]
    fn a_tool_with_invalid_header_params_is_omitted_over_http() {
        let (mut over_http, mut over_stdio) = (page(), page());
        KnownTools::new(true).learn(&mut over_http);
        assert_eq!(names(&over_http), ["good"]);
        KnownTools::new(false).learn(&mut over_stdio);
        assert_eq!(names(&over_stdio), ["good", "bad"]);
    }

    // proves: M-HDR-002, M-HDR-009, M-HDR-012, M-HDR-030
    #[test]
    fn only_present_arguments_become_headers() {
        let known = KnownTools::new(true);
        known.learn(&mut page());
        let headers = |arguments: Value| known.headers("good", &arguments);
        let region = ("Mcp-Param-Region".to_owned(), "eu".to_owned());
        assert_eq!(headers(json!({ "region": "eu" })).unwrap(), [region]);
        assert_eq!(headers(json!({ "region": null })).unwrap(), []);
        assert_eq!(headers(Value::Null).unwrap(), []);
        let large = headers(json!({ "limit": 9_007_199_254_740_992_u64 }));
        assert!(matches!(large, Err(Error::Invalid { .. })), "{large:?}");
        assert_eq!(known.headers("unknown", &json!({})).unwrap(), []);
    }
}
