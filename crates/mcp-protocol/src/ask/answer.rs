//! The response of a client to an elicitation.

use mcp_types::{ElicitResult, RequestedSchema};
use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

use super::form;
use crate::{Deviation, Session};

/// The response to a form. It can be read even if a client writes an empty field as `null`.
pub(super) struct FormAnswer {
    pub(super) result: ElicitResult,
    /// The name of a field that the client sent as `null`. The field was removed from `result`.
    null: Option<String>,
}

impl FormAnswer {
    /// Validates an accepted form.
    ///
    /// # Errors
    /// A field is invalid; the text contains the name of the field.
    pub(super) fn check(
        &self,
        schema: Option<&RequestedSchema>,
        session: &Session,
    ) -> Result<(), String> {
        let Some(schema) = schema else {
            return Ok(());
        };
        if let Some(name) = &self.null
            && !session.tolerates(Deviation::NullFormField, name)
        {
            return Err(format!("field {name:?} is null; omit it"));
        }
        let content = self.result.content.clone().unwrap_or_default();
        if let Some(name) = form::extra(schema, &content)
            && !session.tolerates(Deviation::ExtraFormField, name)
        {
            return Err(format!("field {name:?} is not in the form"));
        }
        form::check(schema, &content)
    }
}

impl<'de> Deserialize<'de> for FormAnswer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut value = Value::deserialize(deserializer)?;
        let mut null = None;
        if let Some(Value::Object(content)) = value.get_mut("content") {
            content.retain(|name, value| {
                if value.is_null() {
                    null.get_or_insert_with(|| name.clone());
                }
                !value.is_null()
            });
        }
        let result = serde_json::from_value(value).map_err(de::Error::custom)?;
        Ok(Self { result, null })
    }
}
