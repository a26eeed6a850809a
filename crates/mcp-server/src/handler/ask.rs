//! The extractor [`Ask`].

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::form::{Elicitation, form_of};
use crate::{Call, Ctx, Extraction, FromCall, HandlerError, Spec};

/// A question to the user as a parameter: asked before the handler runs, which therefore runs
/// only with an answer, and once.
///
/// The doc comment of `T` is the question, its members are the form. If the user declines or
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
/// # let _ = Server::new("s", "1").tool(wipe);
/// ```
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "taken apart in parameter lists")]
pub struct Ask<T>(pub T);

impl<S, T: DeserializeOwned + JsonSchema + Send + 'static> FromCall<S> for Ask<T> {
    fn from_call(call: &Call<'_>, _state: &S) -> Extraction<Self> {
        let cx = Ctx::new(call.context.clone());
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

/// Returns the doc comment of `T`, or its name.
fn message_of<T: JsonSchema>() -> String {
    let schema = schemars::schema_for!(T);
    match schema.get("description").and_then(|text| text.as_str()) {
        Some(text) => text.to_owned(),
        None => T::schema_name().into_owned(),
    }
}
