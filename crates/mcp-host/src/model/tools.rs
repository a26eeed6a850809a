//! Lists of tools.

use std::borrow::Cow;

use data_encoding::HEXLOWER;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::ModelApi;
use super::gemini;
use super::narrow::{SchemaConversion, flat_object};
use super::search::ToolSearch;
use crate::host::HostTool;

/// Tools in the format of a model API.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ModelTools {
    /// The member `tools` of a request.
    pub tools: Value,
    /// The keywords that were removed from input schemas because the API rejects them, at most 1,000 for each tool.
    pub dropped: Vec<DroppedKeyword>,
    /// How the model finds tools that are not listed, because they exceeded the budget ([`ModelApi::tools_within_budget`]). `None`
    /// if all tools are listed.
    pub search: Option<ToolSearch>,
}

/// A part of an input schema that a model API does not accept. The server still checks it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DroppedKeyword {
    /// The name of the tool for the model.
    pub tool: String,
    /// The JSON Pointer of the keyword in the input schema.
    pub pointer: String,
}

impl ModelApi {
    /// Returns tools in this format.
    ///
    /// An API rejects the whole request if it does not accept one of the schemas. OpenAI and Anthropic need an object without
    /// `anyOf`, `oneOf` and `allOf` at the top. The properties of the branches are therefore merged; only properties of `allOf`
    /// can be required. Tuples of earlier dialects become `prefixItems`. References without a target are left out. OpenAI needs
    /// `items` in arrays. Gemini accepts a part of OpenAPI 3.0: references are replaced by their targets, and unknown keywords
    /// are left out.
    pub fn tools(self, tools: &[HostTool]) -> ModelTools {
        let mut dropped = Vec::new();
        let mut list = Vec::new();
        for tool in tools {
            let name = self.name(&tool.name);
            let mut narrowing = SchemaConversion::new(&tool.tool.input_schema);
            let schema = flat_object(&mut narrowing);
            let schema = match self {
                Self::OpenAiChat | Self::OpenAiResponses => {
                    narrowing.rewrite(Value::Object(schema), "", true)
                }
                Self::Anthropic => {
                    let schema = narrowing.rewrite(Value::Object(schema), "", false);
                    narrowing.with_short_names(schema)
                }
                Self::Gemini => gemini::schema(&mut narrowing, schema),
            };
            let pointers = narrowing.into_dropped().into_iter();
            dropped.extend(pointers.map(|pointer| DroppedKeyword {
                tool: tool.name.clone(),
                pointer,
            }));
            list.push(self.tool(&name, tool, schema));
        }
        let tools = match self {
            Self::Gemini if list.is_empty() => json!([]),
            Self::Gemini => json!([{ "functionDeclarations": list }]),
            _ => list.into(),
        };
        ModelTools {
            tools,
            dropped,
            search: None,
        }
    }

    fn tool(self, name: &str, tool: &HostTool, schema: Value) -> Value {
        let has_arguments = schema["properties"]
            .as_object()
            .is_some_and(|all| !all.is_empty());
        let schema_name = match self {
            Self::Anthropic => "input_schema",
            _ => "parameters",
        };
        let mut definition = Map::new();
        definition.insert("name".to_owned(), name.into());
        if let Some(description) = &tool.tool.description {
            definition.insert("description".to_owned(), description.as_str().into());
        }
        // Gemini rejects an object without properties.
        if has_arguments || self != Self::Gemini {
            definition.insert(schema_name.to_owned(), schema);
        }
        match self {
            Self::OpenAiChat => json!({ "type": "function", "function": definition }),
            Self::OpenAiResponses => {
                definition.insert("type".to_owned(), "function".into());
                // The default is true, and needs schemas in which every property is required.
                definition.insert("strict".to_owned(), false.into());
                definition.into()
            }
            Self::Anthropic | Self::Gemini => definition.into(),
        }
    }

    /// Returns the name of a tool in this format. Names for Gemini begin with a letter or `_`.
    pub(super) fn name(self, name: &str) -> Cow<'_, str> {
        let is_accepted = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if self != Self::Gemini || is_accepted {
            return name.into();
        }
        let hash = HEXLOWER.encode(&Sha256::digest(name)[..4]);
        let end = name.len().min(54);
        format!("_{}_{hash}", &name[..end]).into()
    }
}
