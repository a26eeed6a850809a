//! Decides about actions: first by rules, then by earlier decisions, and then by asking the user.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use mcp_client::types::{CompletionReference, Prompt, Tool};
use mcp_client::{CallToolResult, Transport, TransportError, json_hash, tool_hash};
use mcp_protocol::{BoxFuture, lock};
use mcp_skills::SkillEntry;
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex as AsyncMutex;

use super::approvals::{Approval, ApprovalKey};
use super::audit::AuditLog;
use super::decisions::Decisions;
use super::flow::{UntrustedSources, may_be_destructive};
use super::plan::LaunchPlan;
use super::policy::{Action, Effect, Policy};
use super::request::{ConsentAction, ConsentRequest};
use super::{ActionKind, Consent, Decision};
use crate::config::Launch;
use crate::supervise::{Connector as _, Item, Permission, StderrLog};
use crate::text::plain_url;

type Ask = Box<dyn Fn(ConsentRequest) -> BoxFuture<'static, Decision> + Send + Sync>;

/// The rules, decisions and audit log of one host.
#[derive(Default)]
pub(crate) struct Gate {
    pub(crate) policy: Policy,
    pub(crate) decisions: Decisions,
    pub(crate) audit: Option<AuditLog>,
    ask: Option<Ask>,
    pub(crate) labels: Option<UntrustedSources>,
}

impl Gate {
    pub(crate) fn consent(&mut self, consent: impl Consent) {
        let consent = Arc::new(consent);
        self.ask = Some(Box::new(move |request| {
            let consent = Arc::clone(&consent);
            Box::pin(async move { consent.ask(request).await })
        }));
    }
}

/// The part of a [`Gate`] that decides about the actions of one server.
pub(crate) struct ServerGate {
    gate: Arc<Gate>,
    server: String,
    is_trusted: bool,
    /// Whether the server is named in a file of the opened folder, and the application does not trust the folder.
    is_project: bool,
    /// The plan from the configuration; `None` if the application has set a connector for the server.
    configured: Option<Arc<LaunchPlan>>,
    /// The plan with absolute paths, as the last consent request for a connection has shown it.
    located: Mutex<Option<Arc<LaunchPlan>>>,
    /// A lock that is held while the user decides about this server. The decision then also applies to requests that wait for the
    /// lock.
    consent: AsyncMutex<()>,
}

/// The reason for a decision, as the audit log shows it.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Basis {
    Rule,
    Default,
    UntilExit,
    Stored,
    Person,
    NoPerson,
    /// The server has reached a limit of requests.
    Limit,
    /// The request needs the context of other servers, but servers are isolated from each other.
    Isolation,
    /// The conversation contains results of untrusted servers, and the application has set no consent handler.
    UntrustedSource,
}

const DENIED_BY_RULE: &str = "a rule of the policy denies it";

/// An action that needs a decision.
struct Pending<'a> {
    kind: ActionKind,
    name: &'a str,
    tool: Option<&'a Tool>,
    /// Whether the action can have effects, or send data of the conversation to the server.
    can_leak: bool,
    definition: String,
    /// Details for the audit log, without secrets.
    details: Value,
}

impl ServerGate {
    pub(crate) fn new(
        gate: Arc<Gate>,
        server: String,
        is_trusted: bool,
        is_project: bool,
        plan: Option<Arc<LaunchPlan>>,
    ) -> Self {
        Self {
            gate,
            server,
            is_trusted,
            is_project,
            configured: plan,
            located: Mutex::default(),
            consent: AsyncMutex::new(()),
        }
    }

    fn plan(&self) -> Option<Arc<LaunchPlan>> {
        let located = lock(&self.located);
        located.clone().or_else(|| self.configured.clone())
    }

    /// Creates the transport for the server of the plan.
    pub(crate) fn transport(
        &self,
        stderr: &StderrLog,
    ) -> Result<Box<dyn Transport>, TransportError> {
        match self.plan() {
            Some(plan) => plan.started().transport(stderr),
            None => Err(TransportError::new("the server has no configuration")),
        }
    }

    /// Records that the conversation contains text from this server, unless the server is trusted. Must be called before a model
    /// receives the text.
    pub(crate) fn mark_untrusted(&self) {
        if let (false, Some(labels)) = (self.is_trusted, &self.gate.labels) {
            labels.add(&self.server);
        }
    }

    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    pub(crate) fn is_trusted(&self) -> bool {
        self.is_trusted
    }

    /// Decides about a request of the server. `details` is written to the audit log.
    ///
    /// # Errors
    /// The reason, if the request is denied.
    pub(crate) async fn request(
        &self,
        kind: ActionKind,
        details: Value,
        action: ConsentAction,
    ) -> Result<(), String> {
        let pending = Pending {
            kind,
            name: "",
            tool: None,
            can_leak: false,
            definition: String::new(),
            details,
        };
        self.decide(pending, |_| action, || {}).await
    }

    /// Returns whether a rule denies requests of this kind.
    pub(crate) fn is_denied_by_rule(&self, kind: ActionKind) -> bool {
        self.gate.policy.effect(self.action(kind, None)).0 == Effect::Deny
    }

    /// Writes a decision about a request of the server to the audit log.
    ///
    /// # Errors
    /// The line cannot be written. The caller must then deny the request.
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

    /// Writes to the audit log that a request of the server was denied without asking the user.
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
            is_project: self.is_project,
            tool,
        }
    }

    async fn connect(&self, before_ask: impl FnOnce()) -> Result<(), String> {
        let Some(plan) = self.configured.clone() else {
            return Ok(()); // The application has made the transport itself.
        };
        let located = tokio::task::spawn_blocking(move || plan.locate()).await;
        let plan = Arc::new(located.map_err(|error| error.to_string())??);
        *lock(&self.located) = Some(Arc::clone(&plan));
        // The audit log does not show arguments or the query of a URL, which may contain secrets. The hash includes them.
        let target = match &plan.started().launch {
            Launch::Stdio { command, .. } => command.as_str(),
            Launch::Http { url, .. } => plain_url(url),
        };
        let pending = Pending {
            kind: ActionKind::Connect,
            name: "",
            tool: None,
            can_leak: false,
            definition: plan.started().fingerprint(),
            details: json!({ "target": target }),
        };
        let action = |is_changed| ConsentAction::connect(&plan, is_changed);
        let decided = self.decide(pending, action, before_ask).await;
        decided.map_err(|reason| format!("connecting was denied: {reason}"))
    }

    async fn call(&self, tool: &Arc<Tool>, arguments: &Value) -> Result<(), String> {
        let redact = |audit: &AuditLog| audit.redact(arguments, &tool.input_schema);
        let pending = Pending {
            kind: ActionKind::CallTool,
            name: &tool.name,
            tool: Some(tool),
            can_leak: may_be_destructive(tool, self.is_trusted),
            definition: tool_hash(tool),
            details: json!({ "arguments": self.gate.audit.as_ref().map(redact) }),
        };
        let (tool, arguments) = (Arc::clone(tool), arguments.clone());
        let action = |is_changed| match is_changed {
            true => ConsentAction::ChangedDefinition { tool, arguments },
            false => ConsentAction::CallTool { tool, arguments },
        };
        self.decide(pending, action, || {}).await
    }

    async fn fetch(&self, item: &Item<'_>) -> Result<(), String> {
        let kind = item.kind();
        match item {
            Item::Completion {
                reference: CompletionReference::Unknown(_),
            } => Err("its reference is neither a prompt nor a resource template".to_owned()),
            // The user is not asked, because the user types the text and sees the values.
            Item::Completion { .. } => {
                if !self.is_denied_by_rule(kind) {
                    return Ok(());
                }
                let name = plain_url(item.name());
                self.refuse(kind, Basis::Rule, json!({ "name": name }));
                Err(DENIED_BY_RULE.to_owned())
            }
            Item::Prompt {
                name,
                prompt,
                arguments,
            } => self.get_prompt(name, *prompt, arguments).await,
            Item::Resource {
                uri,
                is_of_skill: true,
                ..
            } => {
                // The content of a resource is not verified, and the user would not have approved the skill.
                self.refuse(kind, Basis::Rule, json!({ "name": plain_url(uri) }));
                Err("it is a file of a skill; read it as a part of the skill".to_owned())
            }
            Item::Resource { uri, is_listed, .. } => {
                let pending = Pending {
                    kind,
                    name: uri,
                    tool: None,
                    can_leak: !is_listed,
                    definition: json_hash(&json!(uri)),
                    details: json!({ "name": plain_url(uri) }),
                };
                let uri = (*uri).to_owned();
                let describe = |_| ConsentAction::ReadResource { uri };
                self.decide(pending, describe, || {}).await
            }
            Item::Skill { entry, path } => self.read_skill(entry, *path).await,
        }
    }

    /// Decides about a skill. An approval is valid for the content of all files of the skill.
    async fn read_skill(&self, entry: &Arc<SkillEntry>, path: Option<&str>) -> Result<(), String> {
        let Some(definition) = entry.fingerprint() else {
            return Err("the server generates its files, so they cannot be verified".to_owned());
        };
        let pending = Pending {
            kind: ActionKind::Skill,
            name: &entry.uri,
            tool: None,
            can_leak: false,
            definition,
            details: json!({ "path": path }),
        };
        let entry = Arc::clone(entry);
        let path = path.map(str::to_owned);
        let describe = |is_changed| ConsentAction::UseSkill {
            entry,
            path,
            is_changed,
        };
        self.decide(pending, describe, || {}).await
    }

    async fn get_prompt(
        &self,
        name: &str,
        prompt: Option<&Prompt>,
        arguments: &[(String, String)],
    ) -> Result<(), String> {
        let values = arguments.iter();
        let values = values.map(|(name, value)| (name.clone(), value.as_str().into()));
        let values = Value::Object(values.collect());
        let redact = |audit: &AuditLog| audit.redact(&values, &Map::new());
        let definition = prompt.map(serde_json::to_value).and_then(Result::ok);
        let pending = Pending {
            kind: ActionKind::Prompt,
            name,
            tool: None,
            can_leak: prompt.is_none() || !arguments.is_empty(),
            definition: json_hash(&definition.unwrap_or_default()),
            details: json!({ "arguments": self.gate.audit.as_ref().map(redact) }),
        };
        let describe = |is_changed| ConsentAction::GetPrompt {
            name: name.to_owned(),
            arguments: arguments.to_vec(),
            is_changed,
        };
        self.decide(pending, describe, || {}).await
    }

    /// Writes the outcome of an action to the audit log. If the log cannot be written, later actions are denied.
    fn write_result(&self, kind: ActionKind, name: &str, outcome: &str, started: Instant) {
        let elapsed = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let details = json!({ "kind": kind, "name": name, "outcome": outcome, "elapsed": elapsed });
        if let Some(Err(error)) = self.write("result", details) {
            tracing::warn!(%error, %kind, name, "a result is missing in the audit log");
        }
    }

    fn write(&self, event: &str, details: Value) -> Option<std::io::Result<()>> {
        let audit = self.gate.audit.as_ref()?;
        Some(audit.write(event, &self.server, details))
    }

    async fn decide(
        &self,
        pending: Pending<'_>,
        action: impl FnOnce(bool) -> ConsentAction,
        before_ask: impl FnOnce(),
    ) -> Result<(), String> {
        let (is_allowed, basis) = self.answer(&pending, action, before_ask).await;
        let mut details = json!({ "name": pending.name, "sha256": pending.definition });
        if let (Value::Object(all), Value::Object(own)) = (&mut details, pending.details) {
            all.extend(own);
        }
        self.record(pending.kind, is_allowed, basis, details)?;
        Err(match (is_allowed, basis) {
            (true, _) => return Ok(()),
            (false, Basis::Rule) => DENIED_BY_RULE.to_owned(),
            (false, Basis::Person) => "the user declined".to_owned(),
            (false, Basis::UntrustedSource) => {
                "it needs consent because the conversation contains results of untrusted servers \
                 (HostBuilder::track_untrusted_results), and no consent handler is set; set HostBuilder::consent"
                    .to_owned()
            }
            (false, _) => "no rule of the policy allows it, and no consent handler is set; add a rule to \
                 HostBuilder::policy, or set HostBuilder::consent"
                .to_owned(),
        })
    }

    async fn answer(
        &self,
        pending: &Pending<'_>,
        describe: impl FnOnce(bool) -> ConsentAction,
        before_ask: impl FnOnce(),
    ) -> (bool, Basis) {
        let action = self.action(pending.kind, pending.tool);
        let untrusted_sources = self.untrusted_sources(pending.can_leak);
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
        let plan = self.plan();
        let is_wanted = |approved: &Approval| approved.covers(&pending.definition, plan.as_deref());
        let _consent = self.consent.lock().await;
        let decisions = &self.gate.decisions;
        let until_exit = decisions.until_exit(&key);
        let has_untrusted = !untrusted_sources.is_empty();
        if until_exit.as_ref().is_some_and(is_wanted) && !has_untrusted {
            return (true, Basis::UntilExit);
        }
        let stored = decisions.stored(&key).await;
        if stored.as_ref().is_some_and(is_wanted) && !has_untrusted {
            return (true, Basis::Stored);
        }
        let Some(ask) = &self.gate.ask else {
            let basis = match has_untrusted {
                true => Basis::UntrustedSource,
                false => Basis::NoPerson,
            };
            return (false, basis);
        };
        let is_changed = until_exit
            .or(stored)
            .is_some_and(|approved| !is_wanted(&approved));
        before_ask();
        let request = ConsentRequest {
            server: self.server.clone(),
            is_trusted: self.is_trusted,
            is_project: self.is_project,
            action: describe(is_changed),
            untrusted_sources,
        };
        let decision = ask(request).await;
        // If the conversation contains untrusted results, the decision is only for this action and is not kept.
        if !has_untrusted
            && let Some(approval) = Approval::new(pending.definition.clone(), plan.as_deref())
        {
            decisions.keep(decision, key, approval).await;
        }
        (decision != Decision::Deny, Basis::Person)
    }

    /// Returns the other servers whose results could have caused an action.
    fn untrusted_sources(&self, can_leak: bool) -> Vec<String> {
        match &self.gate.labels {
            Some(labels) if can_leak => labels.except(&self.server),
            _ => Vec::new(),
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

    fn fetch<'a>(&'a self, item: &'a Item<'a>) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(self.fetch(item))
    }

    fn received(&self) {
        self.mark_untrusted();
    }

    fn fetched(&self, item: &Item<'_>, started: Instant, is_ok: bool) {
        // Error messages can also contain text of the server.
        self.mark_untrusted();
        let name = match item {
            Item::Prompt { name, .. } => name,
            Item::Resource { uri, .. } => plain_url(uri),
            Item::Skill { entry, .. } => &entry.uri,
            Item::Completion { .. } => return,
        };
        let outcome = if is_ok { "ok" } else { "failed" };
        self.write_result(item.kind(), name, outcome, started);
    }

    fn called(
        &self,
        tool: &str,
        started: Instant,
        result: Result<&CallToolResult, &mcp_client::Error>,
    ) {
        // Error messages can also contain text of the server.
        self.mark_untrusted();
        let outcome = match result {
            Ok(result) if result.is_error == Some(true) => "toolError",
            Ok(_) => "ok",
            Err(_) => "failed",
        };
        self.write_result(ActionKind::CallTool, tool, outcome, started);
    }
}
