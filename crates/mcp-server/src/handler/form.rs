//! Forms made from types.

use mcp_types::{FormProperties, PrimitiveSchemaDefinition, RequestedSchema};
use schemars::JsonSchema;

use crate::schema;

/// How the user answered a form.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the specification knows three actions"
)]
pub enum Elicitation<T> {
    /// Filled in and sent.
    Accepted(T),
    /// Said no.
    Declined,
    /// Closed without an answer.
    Cancelled,
}

impl<T> Elicitation<T> {
    /// The answer, if there is one.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(answer) => Some(answer),
            Self::Declined | Self::Cancelled => None,
        }
    }
}

/// The form for `T`: one field per member, none of them nested.
pub(crate) fn form_of<T: JsonSchema>() -> Result<RequestedSchema, String> {
    let schema = schema::input::<T>()
        .map_err(|error| error.to_string())?
        .schema;
    let mut fields = FormProperties::new();
    let properties = schema.get("properties").and_then(|p| p.as_object());
    for (name, property) in properties.into_iter().flatten() {
        let field: PrimitiveSchemaDefinition = serde_json::from_value(property.clone())
            .map_err(|error| format!("field {name:?} cannot be shown in a form: {error}"))?;
        if matches!(field, PrimitiveSchemaDefinition::Unknown(_)) {
            return Err(format!(
                "field {name:?} cannot be shown in a form: use a string, number, bool or fieldless enum"
            ));
        }
        fields.insert(name, field);
    }
    let mut form = RequestedSchema::new(fields);
    form.required = schema
        .get("required")
        .and_then(|required| serde_json::from_value(required.clone()).ok());
    Ok(form)
}
