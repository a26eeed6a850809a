//! The part of a tool or prompt definition that follows from the types of its handler.

use mcp_types::PromptArgument;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::schema;

/// The schemas of a handler's parameters and return type.
#[derive(Debug, Default)]
pub struct Spec {
    pub(crate) input: Option<schema::Input>,
    pub(crate) output: Option<schema::Output>,
    pub(crate) problem: Option<String>,
    /// Whether the handler runs even if its arguments are invalid.
    pub(crate) takes_errors: bool,
}

impl Spec {
    /// Sets the type that the arguments are decoded into.
    pub fn input<T: JsonSchema>(&mut self) {
        self.set_input(schema::input::<T>());
    }

    /// Like [`input`](Self::input). Additionally tests whether the decoder of the type enforces the schema.
    pub(crate) fn arguments<T: JsonSchema + DeserializeOwned>(&mut self) {
        self.set_input(schema::arguments::<T>());
    }

    fn set_input(&mut self, input: Result<schema::Input, schema::SchemaError>) {
        match input {
            Ok(input) if self.input.is_none() => self.input = Some(input),
            Ok(_) => self.problem("a handler may have only one `Args<T>` parameter"),
            Err(error) => self.problem(error.to_string()),
        }
    }

    /// Sets the type of the structured output.
    pub fn output<T: JsonSchema>(&mut self) {
        self.output = Some(schema::output::<T>());
    }

    /// Makes the registration fail with this reason; the first reason is reported.
    pub fn problem(&mut self, problem: impl Into<String>) {
        self.problem.get_or_insert_with(|| problem.into());
    }

    /// Returns the arguments of a prompt: the properties of the input schema.
    pub(crate) fn prompt_arguments(&self) -> Vec<PromptArgument> {
        let Some(input) = self.input.as_ref().map(|input| &input.schema) else {
            return Vec::new();
        };
        let required: Vec<&str> = input
            .get("required")
            .and_then(|required| required.as_array())
            .into_iter()
            .flatten()
            .filter_map(|name| name.as_str())
            .collect();
        let properties = input.get("properties").and_then(|p| p.as_object());
        properties
            .into_iter()
            .flatten()
            .map(|(name, property)| {
                let mut argument = PromptArgument::new(name);
                let text = |key: &str| property.get(key)?.as_str().map(str::to_owned);
                argument.description = text("description");
                argument.title = text("title");
                argument.required = Some(required.contains(&&**name));
                argument
            })
            .collect()
    }
}
