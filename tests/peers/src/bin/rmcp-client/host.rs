//! The host around the client: answers server requests, and records notifications.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ClientConfig, CreateMessageRequestParams, CreateMessageResult, CustomNotification,
    ElicitRequestParams, ElicitResult, ListRootsResult, LoggingMessageNotificationParam,
    ProgressNotificationParam, ResourceUpdatedNotificationParam,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::report::Fault;
use crate::{made, shown};

/// Time limit for the arrival of an expected message.
const WAIT: Duration = Duration::from_secs(60);

/// Everything that the server sent, except responses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observations {
    pub(crate) progress: Vec<Value>,
    pub(crate) logs: Vec<Value>,
    pub(crate) updated: Vec<String>,
    pub(crate) changed: Vec<&'static str>,
    pub(crate) over: Vec<String>,
    pub(crate) samples: usize,
    pub(crate) questions: Vec<Value>,
}

/// The user's reaction to an elicitation.
#[derive(Clone, Debug)]
enum Answer {
    /// Always this response.
    Given(Value),
    /// Fills in the first choice, or something of the type.
    Filled,
}

/// The host.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    seen: watch::Sender<Observations>,
    revision: String,
    answer: Arc<Mutex<Answer>>,
    can: bool,
    roots: Arc<Mutex<Vec<&'static str>>>,
}

impl Host {
    pub(crate) fn new(revision: &str) -> Self {
        Self {
            seen: watch::Sender::new(Observations::default()),
            revision: revision.to_owned(),
            answer: Arc::new(Mutex::new(Answer::Given(json!({ "action": "cancel" })))),
            can: true,
            roots: Arc::new(Mutex::new(vec!["file:///workshop"])),
        }
    }

    /// Creates a host without capabilities.
    pub(crate) fn incapable(revision: &str) -> Self {
        Self {
            can: false,
            ..Self::new(revision)
        }
    }

    /// Sets the user's response to the next elicitations.
    pub(crate) fn answer(&self, answer: Value) {
        self.will(Answer::Given(answer));
    }

    /// Makes the user fill in every form from now on.
    pub(crate) fn fill(&self) {
        self.will(Answer::Filled);
    }

    fn will(&self, answer: Answer) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = answer;
    }

    /// Sets the roots.
    pub(crate) fn root_at(&self, roots: &[&'static str]) {
        *self.roots.lock().unwrap_or_else(PoisonError::into_inner) = roots.to_vec();
    }

    /// Returns what was recorded so far.
    pub(crate) fn seen(&self) -> Observations {
        self.seen.borrow().clone()
    }

    /// Waits until the record meets a condition.
    pub(crate) async fn until(
        &self,
        what: &str,
        mut said: impl FnMut(&Observations) -> bool,
    ) -> Result<Observations, Fault> {
        let mut seen = self.seen.subscribe();
        match tokio::time::timeout(WAIT, seen.wait_for(|seen| said(seen))).await {
            Ok(Ok(seen)) => Ok(seen.clone()),
            Ok(Err(_)) => Err("the host is gone".into()),
            Err(_) => Err(format!("{what} did not arrive within {} s", WAIT.as_secs()).into()),
        }
    }

    fn note(&self, note: impl FnOnce(&mut Observations)) {
        self.seen.send_modify(note);
    }
}

type Told = NotificationContext<RoleClient>;
type RequestCx = RequestContext<RoleClient>;

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        let all = json!({
            "roots": { "listChanged": true },
            "sampling": {},
            "elicitation": { "form": {}, "url": {} }
        });
        made(json!({
            "protocolVersion": self.revision,
            "clientInfo": { "name": "interop-rmcp", "version": "1.0.0" },
            "capabilities": if self.can { all } else { json!({}) }
        }))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestCx,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.note(|seen| seen.samples += 1);
        let params = shown(params);
        let content = &params["messages"][0]["content"];
        let text = content["text"].as_str().or(content[0]["text"].as_str());
        let heard = format!("the model heard: {}", text.unwrap_or_default());
        Ok(made(json!({
            "model": "interop-model",
            "role": "assistant",
            "content": { "type": "text", "text": heard }
        })))
    }

    async fn list_roots(&self, _: RequestCx) -> Result<ListRootsResult, ErrorData> {
        let roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        let roots: Vec<Value> = roots.iter().map(|uri| json!({ "uri": uri })).collect();
        Ok(made(json!({ "roots": roots })))
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestCx,
    ) -> Result<ElicitResult, ErrorData> {
        let question = shown(params);
        let answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = match &*answer {
            Answer::Given(answer) => answer.clone(),
            Answer::Filled => filled(&question),
        };
        self.note(|seen| seen.questions.push(question));
        Ok(made(answer))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: Told) {
        self.note(|seen| seen.progress.push(shown(params)));
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: Told) {
        self.note(|seen| seen.logs.push(shown(params)));
    }

    async fn on_resource_updated(&self, params: ResourceUpdatedNotificationParam, _: Told) {
        self.note(|seen| seen.updated.push(params.uri.to_string()));
    }

    async fn on_tool_list_changed(&self, _: Told) {
        self.note(|seen| seen.changed.push("tool"));
    }

    async fn on_prompt_list_changed(&self, _: Told) {
        self.note(|seen| seen.changed.push("prompt"));
    }

    async fn on_resource_list_changed(&self, _: Told) {
        self.note(|seen| seen.changed.push("resource"));
    }

    /// Handles the end of a visit, for which rmcp has no type.
    async fn on_custom_notification(&self, notification: CustomNotification, _: Told) {
        let id = notification.params.unwrap_or_default()["elicitationId"].clone();
        if let Some(id) = id.as_str() {
            self.note(|seen| seen.over.push(id.to_owned()));
        }
    }
}

fn filled(question: &Value) -> Value {
    if question["mode"] == "url" {
        return json!({ "action": "accept" });
    }
    let fields = question["requestedSchema"]["properties"].as_object();
    let content: serde_json::Map<String, Value> = fields
        .into_iter()
        .flatten()
        .map(|(name, field)| (name.clone(), value(field)))
        .collect();
    json!({ "action": "accept", "content": content })
}

fn value(field: &Value) -> Value {
    if field["type"] == "array" {
        return json!([value(&field["items"])]);
    }
    for choices in ["enum", "oneOf", "anyOf"] {
        let first = &field[choices][0];
        if !first.is_null() {
            return first.get("const").unwrap_or(first).clone();
        }
    }
    match field["type"].as_str() {
        Some("boolean") => json!(true),
        Some("integer" | "number") => json!(1),
        _ => json!("ada"),
    }
}
