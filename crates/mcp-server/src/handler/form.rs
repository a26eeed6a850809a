//! Forms derived from types.

use mcp_types::{FormProperties, PrimitiveSchemaDefinition, RequestedSchema};
use schemars::JsonSchema;

use crate::schema;

/// The user's response to a form.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the specification defines three actions"
)]
pub enum Elicitation<T> {
    /// The user submitted the form.
    Accepted(T),
    /// The user declined.
    Declined,
    /// The user closed the form.
    Cancelled,
}

impl<T> Elicitation<T> {
    /// Returns the content of a submitted form.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(answer) => Some(answer),
            Self::Declined | Self::Cancelled => None,
        }
    }
}

/// Returns the form for `T`: one field per member, without nesting.
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
