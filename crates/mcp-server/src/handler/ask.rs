//! Input of the user: the extractor [`Ask`], and forms derived from types.

use mcp_types::{FormProperties, PrimitiveSchemaDefinition, RequestedSchema, StringFormat};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Call, Ctx, Extraction, FromCall, HandlerError, Spec, schema};

/// A form as a parameter of a handler. The user fills in the form before the handler runs, so the handler runs only if there is
/// an answer, and only once.
///
/// The doc comment of `T` is the message of the form, and the members of `T` are its fields. If the user declines or
/// closes the form, the call ends with a result that says so.
///
/// ```
/// use mcp_server::{Ask, Server, Tool};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// /// Really delete everything?
/// #[derive(Deserialize, JsonSchema)]
/// struct Confirm {
///     sure: bool,
/// }
///
/// let wipe = Tool::new("wipe", |Ask(confirm): Ask<Confirm>| {
///     if confirm.sure { "wiped" } else { "kept" }
/// });
/// # let _ = Server::builder("s", "1").tool(wipe);
/// ```
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "taken apart in parameter lists")]
pub struct Ask<T>(pub T);

impl<S, T: DeserializeOwned + JsonSchema + Send + 'static> FromCall<S> for Ask<T> {
    fn from_call(call: &Call<'_>, _state: &S) -> Extraction<Self> {
        let cx = Ctx::of(call);
        Extraction::Later(Box::pin(async move {
            match cx.elicit::<T>(message_of::<T>()).await? {
                Elicitation::Accepted(answer) => Ok(Self(answer)),
                Elicitation::Declined => Err(HandlerError::new("the user declined")),
                Elicitation::Cancelled => Err(HandlerError::new("the user gave no answer")),
            }
        }))
    }

    fn describe(spec: &mut Spec) {
        if let Err(problem) = form_of::<T>() {
            spec.problem(problem);
        }
    }
}

/// The user's response to a form, or to a URL that the user was asked to open.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the specification defines three actions"
)]
pub enum Elicitation<T> {
    /// The user submitted the form, or agreed to open the URL.
    Accepted(T),
    /// The user declined.
    Declined,
    /// The user closed the form or the request to open the URL without a decision.
    Cancelled,
}

impl<T> Elicitation<T> {
    /// Returns the content of a submitted form, or the URL that the user agreed to open. Returns `None` if the user declined or
    /// cancelled.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(answer) => Some(answer),
            Self::Declined | Self::Cancelled => None,
        }
    }
}

/// Returns the message of the form: the doc comment of `T`, or the name of `T` if it has no doc comment.
fn message_of<T: JsonSchema>() -> String {
    let schema = schemars::schema_for!(T);
    match schema.get("description").and_then(|text| text.as_str()) {
        Some(text) => text.to_owned(),
        None => T::schema_name().into_owned(),
    }
}

/// Returns the form for `T`: one field per member, without nesting.
pub(crate) fn form_of<T: JsonSchema>() -> Result<RequestedSchema, String> {
    let schema = schema::form::<T>()
        .map_err(|error| error.to_string())?
        .schema;
    let mut fields = FormProperties::new();
    let properties = schema.get("properties").and_then(|p| p.as_object());
    for (name, property) in properties.into_iter().flatten() {
        let mut property = property.clone();
        if let Value::Object(keywords) = &mut property {
            // The schema of a signed `NonZero…` type has `anyOf`, which a form cannot contain.
            keywords.shift_remove("anyOf");
        }
        let mut field: PrimitiveSchemaDefinition = serde_json::from_value(property)
            .map_err(|error| format!("field {name:?} cannot be shown in a form: {error}"))?;
        if matches!(field, PrimitiveSchemaDefinition::Unknown(_)) {
            return Err(format!(
                "field {name:?} cannot be shown in a form: use a string, number, bool or fieldless enum"
            ));
        }
        // Forms support only some formats. Any other format is removed; the decoder of the type checks the value.
        if let PrimitiveSchemaDefinition::String(text) = &mut field
            && matches!(text.format, Some(StringFormat::Unknown(_)))
        {
            text.format = None;
        }
        fields.insert(name, field);
    }
    let mut form = RequestedSchema::new(fields);
    form.required = schema
        .get("required")
        .and_then(|required| serde_json::from_value(required.clone()).ok());
    Ok(form)
}
