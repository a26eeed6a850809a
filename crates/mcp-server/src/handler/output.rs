//! Return types of handlers, and the last step of a call.

use std::borrow::Cow;
use std::sync::Arc;

use mcp_jsonrpc::{ErrorCode, ErrorObject, text_of};
use mcp_protocol::{Outcome, Payload, Rules, downgrade};
use mcp_schema::Validator;
use mcp_types::{
    BlobResourceContents, CallToolResult, ContentBlock, GetPromptResult, PromptMessage,
    ReadResourceResult, ResourceContents, TextResourceContents,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::round_trip::input_required;
use crate::{HandlerError, IntoHandlerError, Spec};

/// Keeps traits from being implemented outside of this crate.
pub(crate) mod sealed {
    pub trait Sealed {}
}

/// The kind of a handler, for example of a tool, a prompt or a resource.
pub trait Kind: sealed::Sealed + 'static {
    /// The output type of handlers of this kind.
    type Output: Send + 'static;
    /// The type that converts the output of a handler to the result of the call.
    type Finish: Finish<Self::Output>;
}

/// The last step of a call: checks the output and converts it to the result.
pub trait Finish<O>: sealed::Sealed + Send + 'static {
    /// Converts the output of the handler to the result.
    fn finish(self, output: Result<O, HandlerError>) -> Outcome;
}

/// A marker type for handlers of tools.
#[derive(Debug)]
#[non_exhaustive]
pub struct ForTool;

/// A marker type for handlers of prompts.
#[derive(Debug)]
#[non_exhaustive]
pub struct ForPrompt;

/// A marker type for handlers of resources.
#[derive(Debug)]
#[non_exhaustive]
pub struct ForResource;

macro_rules! seal {
    ($($type:ty),*) => {$(impl $crate::handler::output::sealed::Sealed for $type {})*};
}
pub(crate) use seal;

seal!(
    ForTool,
    ForPrompt,
    ForResource,
    FinishTool,
    FinishPrompt,
    FinishResource
);

impl Kind for ForTool {
    type Output = CallToolResult;
    type Finish = FinishTool;
}

impl Kind for ForPrompt {
    type Output = GetPromptResult;
    type Finish = FinishPrompt;
}

impl Kind for ForResource {
    type Output = ResourceBody;
    type Finish = FinishResource;
}

/// The last step of a tool call: it checks the output of the handler against the output schema.
#[derive(Debug)]
#[non_exhaustive]
pub struct FinishTool {
    pub(crate) output: Option<OutputCheck>,
    pub(crate) rules: &'static Rules,
}

/// The output schema of a tool.
#[derive(Debug, Clone)]
pub(crate) struct OutputCheck {
    pub(crate) validator: Arc<Validator>,
    /// Whether the schema admits only objects.
    pub(crate) always_object: bool,
}

impl FinishTool {
    /// Checks the output against the advertised schema.
    fn check(&self, result: &CallToolResult) -> Result<(), String> {
        let (Some(check), false) = (&self.output, result.is_error == Some(true)) else {
            return Ok(());
        };
        let content = result.structured_content.as_ref();
        let content = content.ok_or("structured content is missing")?;
        let checked = check.validator.check(content);
        checked.map_err(|violation| violation.to_string())
    }

    /// Returns whether `content` must be wrapped in an object: the revision requires an object, and the output is not always an
    /// object.
    fn wraps(&self, content: &Value) -> bool {
        let is_object = match &self.output {
            Some(check) => check.always_object,
            None => content.is_object(),
        };
        !is_object && !self.rules.any_structured
    }
}

impl Finish<CallToolResult> for FinishTool {
    fn finish(self, mut output: Result<CallToolResult, HandlerError>) -> Outcome {
        // The result is completed in place, because a result is large.
        if let Ok(result) = &mut output {
            self.complete(result);
        }
        match output {
            Ok(result) => Ok(Payload::CallTool(result, None)),
            Err(error) => self.failed(error),
        }
    }
}

impl FinishTool {
    /// Checks the structured content of a tool result, and converts the result to the form of the negotiated revision.
    #[inline]
    fn complete(&self, result: &mut CallToolResult) {
        if let Err(problem) = self.check(result) {
            tracing::error!(%problem, "the output of a tool does not match its output schema");
            let text = format!("its output does not match its output schema: {problem}");
            convert_to_text(result, &text);
        }
        if let Some(content) = &mut result.structured_content {
            if self.wraps(content) {
                *content = serde_json::json!({ "result": content.take() });
            }
            if result.content.is_empty() {
                // For clients that do not read structured content (server/tools#structured-content).
                result.content.push(ContentBlock::text(text_of(content)));
            }
        }
        downgrade::call_tool_result(result, self.rules);
    }

    #[cold]
    fn failed(&self, error: HandlerError) -> Outcome {
        let error = match error.into_input_requests() {
            Ok(requests) => return input_required(requests, None),
            Err(error) => error,
        };
        error.log(error.is_internal(true));
        match error.into_tool_result() {
            Ok(mut result) => {
                self.complete(&mut result);
                Ok(Payload::CallTool(result, None))
            }
            Err(error) => Err(downgrade::handler_error(error, self.rules)),
        }
    }
}

/// Converts output to text if it cannot be sent as structured content. The text says that the tool ran, so that the model does
/// not call the tool again.
#[cold]
fn convert_to_text(result: &mut CallToolResult, problem: &str) {
    let warning = ContentBlock::text(format!("the tool ran, but {problem}"));
    let content = result.structured_content.take();
    if let (Some(content), true) = (content, result.content.is_empty()) {
        result.content.push(ContentBlock::text(text_of(&content)));
    }
    result.content.insert(0, warning);
    result.is_error = Some(true);
}

/// The last step of a prompt request.
#[derive(Debug)]
#[non_exhaustive]
pub struct FinishPrompt {
    pub(crate) description: Option<String>,
    pub(crate) rules: &'static Rules,
}

impl Finish<GetPromptResult> for FinishPrompt {
    fn finish(self, output: Result<GetPromptResult, HandlerError>) -> Outcome {
        let mut result = match output {
            Ok(result) => result,
            Err(error) => return failed(error, self.rules),
        };
        if result.description.is_none() {
            result.description = self.description;
        }
        downgrade::get_prompt_result(&mut result, self.rules);
        Ok(Payload::of(result))
    }
}

/// The last step of a resource request.
#[derive(Debug)]
#[non_exhaustive]
pub struct FinishResource {
    pub(crate) uri: String,
    pub(crate) mime: Option<String>,
    pub(crate) rules: &'static Rules,
}

impl Finish<ResourceBody> for FinishResource {
    fn finish(self, output: Result<ResourceBody, HandlerError>) -> Outcome {
        let body = match output {
            Ok(body) => body,
            Err(error) => return failed(error, self.rules),
        };
        let contents = match body {
            ResourceBody::Text(text) => {
                let mut contents = TextResourceContents::new(self.uri, text);
                contents.mime_type = self.mime;
                vec![ResourceContents::Text(contents)]
            }
            ResourceBody::Blob(bytes) => {
                let mut contents =
                    BlobResourceContents::new(self.uri, data_encoding::BASE64.encode(&bytes));
                contents.mime_type = self.mime;
                vec![ResourceContents::Blob(contents)]
            }
            ResourceBody::Contents(contents) => contents,
            ResourceBody::NotFound => return Err(not_found(&self.uri, self.rules)),
        };
        let mut result = ReadResourceResult::new(contents);
        downgrade::read_resource_result(&mut result, self.rules);
        Ok(Payload::of(result))
    }
}

/// Returns the outcome of a prompt or resource request whose handler failed.
#[cold]
fn failed(error: HandlerError, rules: &Rules) -> Outcome {
    match error.into_input_requests() {
        Ok(requests) => input_required(requests, None),
        Err(error) => Err(downgrade::handler_error(error.into_logged_error(), rules)),
    }
}

/// Returns the error for a resource that does not exist.
pub(crate) fn not_found(uri: &str, rules: &Rules) -> ErrorObject {
    let shown: String = uri.chars().take(256).collect();
    let code = if rules.resource_error_code {
        ErrorCode::RESOURCE_NOT_FOUND
    } else {
        ErrorCode::INVALID_PARAMS
    };
    ErrorObject::new(code, "resource not found").with_data(serde_json::json!({ "uri": shown }))
}

/// A marker type for return types that have no type parameter to infer.
#[derive(Debug)]
#[non_exhaustive]
pub struct Plain;

/// A return type of handlers. The compiler always infers `M`.
#[diagnostic::on_unimplemented(
    message = "a handler cannot return `{Self}` here",
    label = "not a result of this kind of handler",
    note = "to return a struct from a tool, wrap it in `Json(..)`; it must be `Serialize + JsonSchema`",
    note = "tools return text, numbers, `Json<T>`, content blocks, `CallToolResult` or a `Result` of these; wrap an `Option` or a `Vec` in `Json(..)`",
    note = "prompts return text, messages or `GetPromptResult`; resources text, bytes, `Option` of these or contents"
)]
pub trait IntoOutput<K: Kind, M> {
    /// Converts the value.
    ///
    /// # Errors
    /// The handler failed.
    fn into_output(self) -> Result<K::Output, HandlerError>;

    /// Adds the type to the definition, for example its output schema.
    fn describe(_spec: &mut Spec) {}
}

impl<K: Kind, T, E, M, N> IntoOutput<K, (M, N)> for Result<T, E>
where
    T: IntoOutput<K, M>,
    E: IntoHandlerError<N>,
{
    fn into_output(self) -> Result<K::Output, HandlerError> {
        self.map_err(E::into_handler_error)?.into_output()
    }

    fn describe(spec: &mut Spec) {
        T::describe(spec);
    }
}

/// Structured output: `T` becomes `structuredContent`, and the schema of `T` becomes the output schema. The JSON of `T` also
/// becomes a text block, for clients that do not read structured content.
///
/// `T` may be any JSON value. Up to revision 2025-11-25, structured content must be an object. For these revisions, a type that
/// is not always an object is sent as `{"result": …}`, with a matching schema.
///
/// ```
/// use mcp_server::{Json, tool};
/// use schemars::JsonSchema;
/// use serde::Serialize;
///
/// #[derive(Serialize, JsonSchema)]
/// struct Weather {
///     celsius: f64,
///     is_windy: bool,
/// }
///
/// /// Returns the weather.
/// #[tool]
/// fn weather(city: String) -> Json<Weather> {
///     Json(Weather { celsius: 20.5, is_windy: city == "Chicago" })
/// }
/// # let _ = weather::tool::<()>();
/// ```
///
/// Output that does not match the schema, such as `NaN` in a number, becomes a result with `isError` that has the output as
/// text.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "a wrapper with one public field")]
pub struct Json<T>(pub T);

impl<T: Serialize + JsonSchema> IntoOutput<ForTool, Plain> for Json<T> {
    fn into_output(self) -> Result<CallToolResult, HandlerError> {
        let mut result = CallToolResult::new(Vec::new());
        match serde_json::to_value(&self.0) {
            Ok(content) => result.structured_content = Some(content),
            Err(error) => {
                // JSON text can contain numbers that a `Value` cannot, such as integers of more than 64 bits.
                let text = serde_json::to_string(&self.0)?;
                tracing::error!(%error, "the output of a tool cannot be structured content");
                result.content.push(ContentBlock::text(text));
                let problem = format!("its output cannot be structured content: {error}");
                convert_to_text(&mut result, &problem);
            }
        }
        Ok(result)
    }

    fn describe(spec: &mut Spec) {
        spec.output::<T>();
    }
}

impl IntoOutput<ForTool, Plain> for CallToolResult {
    fn into_output(self) -> Result<Self, HandlerError> {
        Ok(self)
    }
}

impl IntoOutput<ForTool, Plain> for () {
    fn into_output(self) -> Result<CallToolResult, HandlerError> {
        Ok(CallToolResult::new(Vec::new()))
    }
}

impl IntoOutput<ForTool, Plain> for ContentBlock {
    fn into_output(self) -> Result<CallToolResult, HandlerError> {
        Ok(CallToolResult::new(vec![self]))
    }
}

impl IntoOutput<ForTool, Plain> for Vec<ContentBlock> {
    fn into_output(self) -> Result<CallToolResult, HandlerError> {
        Ok(CallToolResult::new(self))
    }
}

macro_rules! text_output {
    ($($text:ty => $string:expr),* $(,)?) => {$(
        impl IntoOutput<ForTool, Plain> for $text {
            fn into_output(self) -> Result<CallToolResult, HandlerError> {
                let string: fn($text) -> String = $string;
                Ok(CallToolResult::text(string(self)))
            }
        }
        impl IntoOutput<ForPrompt, Plain> for $text {
            fn into_output(self) -> Result<GetPromptResult, HandlerError> {
                let string: fn($text) -> String = $string;
                Ok(GetPromptResult::new(vec![PromptMessage::user(string(self))]))
            }
        }
        impl IntoOutput<ForResource, Plain> for $text {
            fn into_output(self) -> Result<ResourceBody, HandlerError> {
                let string: fn($text) -> String = $string;
                Ok(ResourceBody::Text(string(self)))
            }
        }
    )*};
}

text_output!(
    String => |text| text,
    &'static str => str::to_owned,
    Box<str> => String::from,
    Arc<str> => |text| text.as_ref().to_owned(),
    Cow<'static, str> => Cow::into_owned,
);

macro_rules! display_output {
    ($($number:ty),* $(,)?) => {$(
        impl IntoOutput<ForTool, Plain> for $number {
            fn into_output(self) -> Result<CallToolResult, HandlerError> {
                Ok(CallToolResult::text(self.to_string()))
            }
        }
    )*};
}

display_output!(
    i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64, bool, char
);

impl IntoOutput<ForTool, Plain> for Value {
    fn into_output(self) -> Result<CallToolResult, HandlerError> {
        let mut result = CallToolResult::new(Vec::new());
        result.structured_content = Some(self);
        Ok(result)
    }
}

impl IntoOutput<ForPrompt, Plain> for GetPromptResult {
    fn into_output(self) -> Result<Self, HandlerError> {
        Ok(self)
    }
}

impl IntoOutput<ForPrompt, Plain> for PromptMessage {
    fn into_output(self) -> Result<GetPromptResult, HandlerError> {
        Ok(GetPromptResult::new(vec![self]))
    }
}

impl IntoOutput<ForPrompt, Plain> for Vec<PromptMessage> {
    fn into_output(self) -> Result<GetPromptResult, HandlerError> {
        Ok(GetPromptResult::new(self))
    }
}

/// The content of a resource, before the URI is added.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ResourceBody {
    /// Text of the requested resource.
    Text(String),
    /// Bytes of the requested resource; sent as base64.
    Blob(Vec<u8>),
    /// Complete contents, for sub-resources or another MIME type.
    Contents(Vec<ResourceContents>),
    /// The resource does not exist.
    NotFound,
}

impl IntoOutput<ForResource, Plain> for ResourceBody {
    fn into_output(self) -> Result<Self, HandlerError> {
        Ok(self)
    }
}

impl IntoOutput<ForResource, Plain> for Vec<u8> {
    fn into_output(self) -> Result<ResourceBody, HandlerError> {
        Ok(ResourceBody::Blob(self))
    }
}

impl IntoOutput<ForResource, Plain> for ResourceContents {
    fn into_output(self) -> Result<ResourceBody, HandlerError> {
        Ok(ResourceBody::Contents(vec![self]))
    }
}

impl IntoOutput<ForResource, Plain> for Vec<ResourceContents> {
    fn into_output(self) -> Result<ResourceBody, HandlerError> {
        Ok(ResourceBody::Contents(self))
    }
}

/// `None` means that the resource does not exist.
impl<T: IntoOutput<ForResource, M>, M> IntoOutput<ForResource, Option<M>> for Option<T> {
    fn into_output(self) -> Result<ResourceBody, HandlerError> {
        self.map_or(Ok(ResourceBody::NotFound), T::into_output)
    }
}
