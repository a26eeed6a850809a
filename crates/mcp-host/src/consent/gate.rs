//! The order in which rules, earlier answers and the person decide.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use mcp_client::types::Tool;
use mcp_client::{CallToolResult, tool_hash};
use mcp_protocol::BoxFuture;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::Mutex as AsyncMutex;

use super::approvals::{Approval, ApprovalKey, ApprovalStore};
use super::audit::AuditLog;
use super::flow::{FlowLabels, may_be_destructive};
use super::policy::{Action, Effect, Policy};
use super::question::{Question, Subject};
use super::text::plain_url;
use super::{ActionKind, Consent, Decision};
use crate::config::{Launch, ServerConfig};
use crate::supervise::Permission;

type Ask = Box<dyn Fn(Question) -> BoxFuture<'static, Decision> + Send + Sync>;

/// The rules, answers and log of one host.
#[derive(Default)]
pub(crate) struct Gate {
    pub(crate) policy: Policy,
    pub(crate) store: Option<Arc<dyn ApprovalStore>>,
    pub(crate) audit: Option<AuditLog>,
    ask: Option<Ask>,
    session: Mutex<HashMap<ApprovalKey, Approval>>,
    pub(crate) labels: Option<FlowLabels>,
}

impl Gate {
    pub(crate) fn consent(&mut self, consent: impl Consent) {
        let consent = Arc::new(consent);
        self.ask = Some(Box::new(move |question| {
            let consent = Arc::clone(&consent);
            Box::pin(async move { consent.ask(question).await })
        }));
    }
}

/// The gate of one server.
pub(crate) struct ServerGate {
    gate: Arc<Gate>,
    server: String,
    is_trusted: bool,
    /// The configuration with the values of its variables, unless the application gave a connector.
    config: Option<ServerConfig>,
    /// Held while a question of this server is open, so that its answer counts for the next one.
    question: AsyncMutex<()>,
}

/// What decided.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Basis {
    Rule,
    Default,
    Session,
    Stored,
    Person,
    NoPerson,
    /// A limit of what servers may request.
    Limit,
    /// Servers are kept apart.
    Isolation,
    /// The conversation has results of untrusted servers, and there is no person.
    FlowLabel,
}

/// An action to decide about.
struct Pending<'a> {
    kind: ActionKind,
    name: &'a str,
    tool: Option<&'a Tool>,
    definition: String,
    /// For the audit log, without secrets.
    details: Value,
}

impl ServerGate {
    pub(crate) fn new(
        gate: Arc<Gate>,
        server: String,
        is_trusted: bool,
        config: Option<ServerConfig>,
    ) -> Self {
        Self {
            gate,
            server,
            is_trusted,
            config,
            question: AsyncMutex::new(()),
        }
    }

    fn fingerprint(&self) -> String {
        self.config
            .as_ref()
            .map(ServerConfig::fingerprint)
            .unwrap_or_default()
    }

    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    pub(crate) fn is_trusted(&self) -> bool {
        self.is_trusted
    }

    /// Decides about a request of the server. `details` are for the audit log.
    ///
    /// # Errors
    /// It is denied for this reason.
    pub(crate) async fn request(
        &self,
        kind: ActionKind,
        details: Value,
        subject: Subject,
    ) -> Result<(), String> {
        let pending = Pending {
            kind,
            name: "",
            tool: None,
            definition: String::new(),
            details,
        };
        self.decide(pending, |_| subject, || {}).await
    }

    /// Returns whether a rule denies requests of this kind.
    pub(crate) fn is_denied_by_rule(&self, kind: ActionKind) -> bool {
        self.gate.policy.effect(self.action(kind, None)).0 == Effect::Deny
    }

    /// Writes a decision about a request of the server.
    ///
    /// # Errors
    /// It cannot be written, so nothing is allowed.
    pub(crate) fn record(
        &self,
        kind: ActionKind,
        is_allowed: bool,
        basis: Basis,
        details: Value,
    ) -> Result<(), String> {
        let mut line = json!({ "kind": kind, "isAllowed": is_allowed, "by": basis });
        if let (Value::Object(line), Value::Object(details)) = (&mut line, details) {
            line.extend(details);
        }
        match self.write("decision", line) {
            Some(Err(error)) => Err(format!("the audit log cannot be written: {error}")),
            _ => Ok(()),
        }
    }

    /// Writes that a request of the server was denied without a question.
    pub(crate) fn refuse(&self, kind: ActionKind, basis: Basis, details: Value) {
        if let Err(error) = self.record(kind, false, basis, details) {
            tracing::warn!(server = self.server, %kind, error, "a denial is missing in the audit log");
        }
    }

    fn action<'a>(&'a self, kind: ActionKind, tool: Option<&'a Tool>) -> Action<'a> {
        Action {
            kind,
            server: &self.server,
            is_trusted: self.is_trusted,
            tool,
        }
    }

    async fn connect(&self, before_ask: impl FnOnce()) -> Result<(), String> {
        let Some(config) = &self.config else {
            return Ok(()); // The application has made the transport itself.
        };
        // Arguments and the query of a URL may contain secrets; the hash identifies them.
        let target = match &config.launch {
            Launch::Stdio { command, .. } => command.as_str(),
            Launch::Http { url, .. } => plain_url(url),
        };
        let pending = Pending {
            kind: ActionKind::Connect,
            name: "",
            tool: None,
            definition: self.fingerprint(),
            details: json!({ "target": target }),
        };
        let subject = |is_changed| Subject::connect(config, is_changed);
        self.decide(pending, subject, before_ask).await
    }

    async fn call(&self, tool: &Arc<Tool>, arguments: &Value) -> Result<(), String> {
        let redact = |audit: &AuditLog| audit.redact(arguments, &tool.input_schema);
        let pending = Pending {
            kind: ActionKind::CallTool,
            name: &tool.name,
            tool: Some(tool),
            definition: tool_hash(tool),
            details: json!({ "arguments": self.gate.audit.as_ref().map(redact) }),
        };
        let (tool, arguments) = (Arc::clone(tool), arguments.clone());
        let subject = |is_changed| match is_changed {
            true => Subject::ChangedDefinition { tool, arguments },
            false => Subject::CallTool { tool, arguments },
        };
        self.decide(pending, subject, || {}).await
    }

    fn write(&self, event: &str, details: Value) -> Option<std::io::Result<()>> {
        let audit = self.gate.audit.as_ref()?;
        Some(audit.write(event, &self.server, details))
    }

    async fn decide(
        &self,
        pending: Pending<'_>,
        subject: impl FnOnce(bool) -> Subject,
        before_ask: impl FnOnce(),
    ) -> Result<(), String> {
        let (is_allowed, basis) = self.answer(&pending, subject, before_ask).await;
        let mut details = json!({ "name": pending.name, "sha256": pending.definition });
        if let (Value::Object(all), Value::Object(own)) = (&mut details, pending.details) {
            all.extend(own);
        }
        self.record(pending.kind, is_allowed, basis, details)?;
        Err(match (is_allowed, basis) {
            (true, _) => return Ok(()),
            (false, Basis::Rule) => "a rule of the policy denies it".to_owned(),
            (false, Basis::Person) => "the user declined".to_owned(),
            (false, Basis::FlowLabel) => "the conversation has results of untrusted servers \
                              (HostBuilder::flow_labels), and the host has no person to ask"
                .to_owned(),
            (false, _) => "no rule allows it, and the host has no person to ask \
                              (HostBuilder::policy, HostBuilder::consent)"
                .to_owned(),
        })
    }

    async fn answer(
        &self,
        pending: &Pending<'_>,
        subject: impl FnOnce(bool) -> Subject,
        before_ask: impl FnOnce(),
    ) -> (bool, Basis) {
        let action = self.action(pending.kind, pending.tool);
        let untrusted_sources = self.untrusted_sources(pending.tool);
        match self.gate.policy.effect(action) {
            (Effect::Allow, _) if !untrusted_sources.is_empty() => {}
            (Effect::Allow, true) => return (true, Basis::Rule),
            (Effect::Allow, false) => return (true, Basis::Default),
            (Effect::Deny, _) => return (false, Basis::Rule),
            (Effect::Ask, _) => {}
        }
        let key = ApprovalKey {
            server: self.server.clone(),
            kind: pending.kind,
            name: pending.name.to_owned(),
        };
        let wanted = Approval {
            definition: pending.definition.clone(),
            fingerprint: self.fingerprint(),
        };
        let _question = self.question.lock().await;
        let in_session = self.session().get(&key).cloned();
        let is_labelled = !untrusted_sources.is_empty();
        if in_session.as_ref() == Some(&wanted) && !is_labelled {
            return (true, Basis::Session);
        }
        let stored = self.stored(&key).await;
        if stored.as_ref() == Some(&wanted) && !is_labelled {
            return (true, Basis::Stored);
        }
        let Some(ask) = &self.gate.ask else {
            let basis = match is_labelled {
                true => Basis::FlowLabel,
                false => Basis::NoPerson,
            };
            return (false, basis);
        };
        let is_other = |approved: &Approval| *approved != wanted;
        let is_changed = in_session.or(stored).as_ref().is_some_and(is_other);
        before_ask();
        let question = Question {
            server: self.server.clone(),
            is_trusted: self.is_trusted,
            subject: subject(is_changed),
            untrusted_sources,
        };
        let decision = ask(question).await;
        if is_labelled {
            // The answer is for this conversation.
            return (decision != Decision::No, Basis::Person);
        }
        if decision == Decision::Always {
            self.save(&key, &wanted).await;
        }
        if matches!(decision, Decision::Session | Decision::Always) {
            self.session().insert(key, wanted);
        }
        (decision != Decision::No, Basis::Person)
    }

    /// Returns the other servers whose results could have caused a call.
    fn untrusted_sources(&self, tool: Option<&Tool>) -> Vec<String> {
        match (&self.gate.labels, tool) {
            (Some(labels), Some(tool)) if may_be_destructive(tool, self.is_trusted) => {
                labels.except(&self.server)
            }
            _ => Vec::new(),
        }
    }

    fn session(&self) -> std::sync::MutexGuard<'_, HashMap<ApprovalKey, Approval>> {
        self.gate
            .session
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    async fn stored(&self, key: &ApprovalKey) -> Option<Approval> {
        let (store, key) = (self.gate.store.clone()?, key.clone());
        let loaded = tokio::task::spawn_blocking(move || store.load(&key)).await;
        loaded
            .map_err(std::io::Error::other)
            .and_then(|done| done)
            .unwrap_or_else(|error| {
                tracing::warn!(%error, "the stored approvals cannot be read, so the user is asked");
                None
            })
    }

    async fn save(&self, key: &ApprovalKey, approval: &Approval) {
        let Some(store) = self.gate.store.clone() else {
            return;
        };
        let (key, approval) = (key.clone(), approval.clone());
        let saved = tokio::task::spawn_blocking(move || store.save(&key, &approval)).await;
        if let Err(error) = saved.map_err(std::io::Error::other).and_then(|done| done) {
            tracing::warn!(%error, "an approval cannot be stored, it ends with the host");
        }
    }
}

impl Permission for ServerGate {
    fn connect<'a>(
        &'a self,
        before_ask: &'a (dyn Fn() + Sync),
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(self.connect(before_ask))
    }

    fn call<'a>(
        &'a self,
        tool: &'a Arc<Tool>,
        arguments: &'a Value,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(self.call(tool, arguments))
    }

    /// Writes how a call ended. A log that cannot be written denies the next action.
    fn called(
        &self,
        tool: &str,
        started: Instant,
        result: Result<&CallToolResult, &mcp_client::Error>,
    ) {
        if let (false, Some(labels)) = (self.is_trusted, &self.gate.labels) {
            // Errors have text of the server as well.
            labels.add(&self.server);
        }
        let outcome = match result {
            Ok(result) if result.is_error == Some(true) => "toolError",
            Ok(_) => "ok",
            Err(_) => "failed",
        };
        let elapsed = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let details = json!({ "name": tool, "outcome": outcome, "elapsed": elapsed });
        if let Some(Err(error)) = self.write("result", details) {
            tracing::warn!(%error, tool, "the result of a call is missing in the audit log");
        }
    }
}
