//! What to call on a server, and what to expect of it: one file in `profiles` per server.

use std::collections::BTreeMap;

use mcp_types::{CompletionReference, JsonObject, PromptReference, ResourceTemplateReference};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::report::Fault;
use crate::target::Target;

/// A profile. The server lacks the features that are not in it, which the run proves.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    pub(crate) name: String,
    /// Whether the server may lack tools that are named here.
    #[serde(default)]
    pub(crate) optional_tools: bool,
    /// Calls of tools whose useful arguments cannot be derived from their schemas, in this order.
    pub(crate) tools: Vec<Call>,
    /// The member that the structured output must have is the expected text.
    pub(crate) structured: Call,
    pub(crate) failing: Call,
    pub(crate) bad_arguments: Call,
    /// Reports progress as often as its argument `steps` says.
    pub(crate) progress: Option<Call>,
    pub(crate) cancel: Option<Call>,
    /// The result of this call shows that the cancellation arrived.
    pub(crate) after_cancel: Option<Call>,
    /// `{mark}` is different in each call.
    pub(crate) concurrent: Call,
    pub(crate) before_concurrent: Option<Call>,
    /// `{text}` is a large text, which the result must contain.
    pub(crate) large: Call,
    pub(crate) before_large: Option<Call>,
    /// A tool whose result arrives on another stream.
    pub(crate) resumption: Option<Call>,
    pub(crate) task: Option<Call>,
    /// Calls that return at once, made on every revision.
    pub(crate) quick: Vec<Call>,
    pub(crate) sampling: Option<Call>,
    /// A tool whose result contains the root.
    pub(crate) roots: Option<Call>,
    pub(crate) url_required: Option<Call>,
    pub(crate) form: Option<Form>,
    pub(crate) url: Option<Url>,
    pub(crate) resources: Option<Resources>,
    pub(crate) subscription: Option<Subscription>,
    pub(crate) prompts: Option<Prompts>,
    #[serde(default)]
    pub(crate) completions: Vec<Completion>,
    pub(crate) completion_in_context: Option<Completion>,
    pub(crate) logging: Option<Logging>,
    pub(crate) list_changed: Option<ListChanged>,
}

/// A tool call and a text of its result.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    pub(crate) tool: String,
    #[serde(default)]
    pub(crate) arguments: JsonObject,
    #[serde(default)]
    pub(crate) says: String,
}

/// A tool that elicits a form, and what its result says after each reaction of the user.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Form {
    pub(crate) tool: String,
    pub(crate) filled: Vec<String>,
    pub(crate) defaults: Vec<String>,
    pub(crate) declined: String,
    pub(crate) cancelled: String,
}

/// A tool that sends the user to a URL, and what its result says after each reaction of the user.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Url {
    pub(crate) tool: String,
    pub(crate) arguments: JsonObject,
    pub(crate) visited: String,
    pub(crate) declined: String,
    /// The id of the visit whose end the server announces in a session.
    pub(crate) announced: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resources {
    pub(crate) listed: String,
    pub(crate) unknown: String,
    /// The value of the only variable of each template.
    pub(crate) template_value: Option<String>,
}

/// A resource, and calls that change it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Subscription {
    pub(crate) uri: String,
    pub(crate) calls: Vec<Call>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prompts {
    /// Values of arguments that cannot be made up.
    pub(crate) arguments: BTreeMap<String, String>,
}

/// An argument of a prompt or a variable of a template to complete, and the expected values.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Completion {
    #[serde(default)]
    prompt: String,
    template: Option<String>,
    pub(crate) argument: String,
    pub(crate) value: String,
    #[serde(default)]
    pub(crate) resolved: BTreeMap<String, String>,
    pub(crate) expected: Vec<String>,
}

impl Completion {
    pub(crate) fn reference(&self) -> CompletionReference {
        match &self.template {
            Some(template) => ResourceTemplateReference::new(template).into(),
            None => PromptReference::new(&self.prompt).into(),
        }
    }
}

/// What makes the server log at level info.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Logging {
    Call(Call),
    /// A subscription to this resource.
    Subscribe(String),
}

/// A call that changes these lists.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListChanged {
    /// Lists that change after the handshake.
    #[serde(default)]
    pub(crate) after_handshake: Vec<String>,
    pub(crate) call: Call,
    pub(crate) changes: Vec<String>,
    /// The start of the blob of the resource that the result links to.
    pub(crate) linked_blob: Option<String>,
}

impl Profile {
    /// Returns the profile of a scenario; `{folder}`, `{root}` and `{scenario}` are replaced in it.
    pub(crate) fn of(scenario: &str, target: &Target) -> Result<Self, Fault> {
        let text = match scenario {
            "everything" => include_str!("profiles/everything.toml"),
            "filesystem" => include_str!("profiles/filesystem.toml"),
            "memory" => include_str!("profiles/memory.toml"),
            "python" | "fastmcp" | "typescript" | "rmcp" => include_str!("profiles/sdk.toml"),
            other => return Err(format!("there is no scenario {other}").into()),
        };
        let text = text
            .replace("{folder}", &target.folder.to_string_lossy())
            .replace("{root}", target.root("").uri.trim_end_matches('/'))
            .replace("{scenario}", scenario);
        Ok(toml::from_str(&text)?)
    }
}

impl Call {
    /// Replaces a placeholder in the arguments.
    pub(crate) fn with(&self, place: &str, text: &str) -> Self {
        Self {
            arguments: replaced(&self.arguments, place, text),
            ..self.clone()
        }
    }
}

fn replaced(members: &JsonObject, place: &str, text: &str) -> JsonObject {
    let value = |(name, value): (&String, &Value)| (name.clone(), filled(value, place, text));
    members.iter().map(value).collect::<Map<_, _>>()
}

fn filled(value: &Value, place: &str, text: &str) -> Value {
    match value {
        Value::String(string) => string.replace(place, text).into(),
        Value::Array(items) => items.iter().map(|item| filled(item, place, text)).collect(),
        Value::Object(members) => replaced(members, place, text).into(),
        other => other.clone(),
    }
}
