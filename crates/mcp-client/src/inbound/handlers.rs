//! The handlers of server requests and notifications.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use mcp_jsonrpc::{ErrorCode, ErrorObject};
use mcp_protocol::{BoxFuture, form};
use mcp_types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitAction, ElicitRequestFormParams,
    ElicitRequestUrlParams, ElicitResult, ElicitValue, Implementation, OneOrMany, Role,
    SamplingMessageContentBlock, TextContent,
};
use serde_json::Value;

use super::custom::Custom;
use crate::changes::opener::OnChangesEnded;

/// A form that the server asks the user to fill in.
///
/// Show the user which server asks, and let the user edit and reject the form. Return [`accept`](Self::accept),
/// [`decline`](Self::decline) or [`cancel`](Self::cancel).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ElicitForm {
    /// The message and the fields.
    pub params: ElicitRequestFormParams,
    /// The server that sent the request. The server chooses its name itself, so the name proves nothing about the server.
    pub server: Implementation,
}

impl ElicitForm {
    /// Returns the user's input: `content` is an object of field values. Fields without a value get
    /// their default. Input that does not match the form is not sent, and the call fails. To prevent this, check the
    /// input with [`invalid_field`](Self::invalid_field) first.
    pub fn accept(&self, content: impl Into<Value>) -> ElicitResult {
        let mut result = ElicitResult::new(ElicitAction::Accept);
        result.content = Some(values(content.into()));
        result
    }

    /// Returns the name of the first field whose value does not match the form, so that the user can enter it again. Returns
    /// `None` if `content` can be [accepted](Self::accept).
    pub fn invalid_field(&self, content: &Value) -> Option<String> {
        let mut content = values(content.clone());
        let schema = &self.params.requested_schema;
        form::apply_defaults(schema, &mut content);
        form::mismatch(schema, &content)
    }

    /// Creates the response of a user who declined.
    pub fn decline(&self) -> ElicitResult {
        ElicitResult::new(ElicitAction::Decline)
    }

    /// Creates the response of a user who closed the form.
    pub fn cancel(&self) -> ElicitResult {
        ElicitResult::new(ElicitAction::Cancel)
    }
}

/// Returns the field values in `content`, or no values if `content` is not an object of plain values.
fn values(content: Value) -> BTreeMap<String, ElicitValue> {
    serde_json::from_value(content).unwrap_or_default()
}

/// A URL that the server asks the user to open.
///
/// Show the user the whole URL and which server asks. Open the URL only with the user's consent and in a browser. Do not fetch
/// the URL before.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ElicitUrl {
    /// The message, the URL and the id of the elicitation.
    pub params: ElicitRequestUrlParams,
    /// The server that sent the request.
    pub server: Implementation,
}

impl ElicitUrl {
    /// Creates the response of a user who agreed. The application opens the URL.
    pub fn accept(&self) -> ElicitResult {
        ElicitResult::new(ElicitAction::Accept)
    }

    /// Creates the response of a user who declined.
    pub fn decline(&self) -> ElicitResult {
        ElicitResult::new(ElicitAction::Decline)
    }

    /// Creates the response of a user who closed the request.
    pub fn cancel(&self) -> ElicitResult {
        ElicitResult::new(ElicitAction::Cancel)
    }
}

/// A sampling request.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Sample {
    /// Messages, limits and preferences.
    pub params: CreateMessageRequestParams,
    /// The server that sent the request.
    pub server: Implementation,
}

impl Sample {
    /// Creates a text result of this model.
    pub fn reply(&self, model: impl Into<String>, text: impl Into<String>) -> CreateMessageResult {
        let text = SamplingMessageContentBlock::Text(TextContent::new(text));
        CreateMessageResult::new(Role::Assistant, OneOrMany::One(text), model)
    }

    /// Returns the model that best matches the hints of the server. Returns `None` if no hint matches. The priorities of the
    /// request must then decide.
    pub fn choose_model<'a>(&self, models: &[&'a str]) -> Option<&'a str> {
        mcp_protocol::sampling::choose_model(self.params.model_preferences.as_ref()?, models)
    }

    /// Creates the error for a user who rejected the request (code -1).
    pub fn rejected_by_user(&self) -> ErrorObject {
        ErrorObject::new(ErrorCode::USER_REJECTED, "user rejected sampling request")
    }
}

/// A list of the server that can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangedList {
    /// The tools.
    Tools,
    /// The prompts.
    Prompts,
    /// The resources and the resource templates.
    Resources,
}

type RequestHandler<Q, A> =
    Arc<dyn Fn(Q) -> BoxFuture<'static, Result<A, ErrorObject>> + Send + Sync>;
/// A callback that receives the name and arguments of a tool call, and returns whether the call is allowed.
pub(crate) type Approve = Arc<dyn Fn(&str, &Value) -> bool + Send + Sync>;

pub(crate) type Callback<T> = Arc<dyn Fn(T) + Send + Sync>;

/// All callbacks of the host.
#[derive(Default, Clone)]
pub(crate) struct Handlers {
    pub(crate) form: Option<RequestHandler<ElicitForm, ElicitResult>>,
    pub(crate) url: Option<RequestHandler<ElicitUrl, ElicitResult>>,
    pub(crate) sample: Option<RequestHandler<Sample, CreateMessageResult>>,
    pub(crate) sampling_tools: bool,
    pub(crate) sampling_context: bool,
    pub(crate) log: Option<Callback<mcp_types::LoggingMessageNotificationParams>>,
    pub(crate) changed: Option<Callback<ChangedList>>,
    pub(crate) changes_ended: Option<OnChangesEnded>,
    pub(crate) url_done: Option<Callback<String>>,
    pub(crate) approve: Option<Approve>,
    pub(crate) custom: Custom,
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers")
            .field("form", &self.form.is_some())
            .field("url", &self.url.is_some())
            .field("sample", &self.sample.is_some())
            .finish_non_exhaustive()
    }
}
