//! The run of a profile: one row per feature, or the evidence that the server lacks it.

use std::time::{Duration, Instant};

use mcp_types::{
    CompleteRequest, GetPromptRequest, ListResourcesRequest, ReadResourceRequest, SetLevelRequest,
    SubscribeRequest,
};
use serde_json::json;

use crate::host::Answer;
use crate::lifecycle::undeclared;
use crate::profile::{Call, ListChanged, Profile, Url};
use crate::report::{Fault, Outcome, absent, ensure, row, same, worked};
use crate::target::{Session, Target};
use crate::tools::call;
use crate::{content, lifecycle, round_trips, server_requests, tasks, tools};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// One run, on one connection.
pub(crate) struct Run<'a> {
    target: &'a Target,
    profile: &'a Profile,
    pub(crate) session: &'a Session,
    /// The names of the server's tools.
    tools: Vec<String>,
}

/// Reports every feature.
pub(crate) async fn run(target: &Target, profile: &Profile) -> Result<(), Fault> {
    std::fs::write(target.folder.join("pixel.png"), PNG)?;
    let _ = std::fs::remove_file(target.folder.join("moved.txt"));
    std::fs::create_dir_all(target.folder.join("elsewhere"))?;
    let session = target.session().await?;
    let tools = session.client.list_tools().await?;
    let run = Run {
        target,
        profile,
        session: &session,
        tools: tools.into_iter().map(|tool| tool.name).collect(),
    };
    run.beginning().await;
    run.tools().await;
    run.contents().await;
    run.server_requests().await;
    match target.revision.is_stateless() {
        true => round_trips::rows(target, &run).await,
        false => run.only_in_sessions().await,
    }
    row("roots-changed", run.roots(true)).await;
    row(target.ending(), session.close()).await;
    if !target.revision.is_stateless() {
        lifecycle::revisions(target, &profile.quick).await;
    }
    Ok(())
}

impl Run<'_> {
    /// Reports a row about a tool that the server may not have.
    pub(crate) async fn row(&self, feature: &str, tool: &str, work: impl Future<Output = Outcome>) {
        let checked = async {
            if self.has(tool) {
                work.await
            } else {
                absent(format!("there is no tool {tool}"))
            }
        };
        row(feature, checked).await;
    }

    fn has(&self, tool: &str) -> bool {
        self.tools.iter().any(|name| name == tool)
    }

    async fn beginning(&self) {
        let (s, name) = (self.session, &*self.profile.name);
        if self.target.revision.is_stateless() {
            row("discover", async { lifecycle::discovered(s, name) }).await;
            row(
                "revision-2026-07-28",
                lifecycle::only_stateless(self.target),
            )
            .await;
        } else {
            row("initialize", async { lifecycle::initialized(s, name) }).await;
            row("ping", lifecycle::ping(s)).await;
        }
        row("auto", lifecycle::probe(self.target)).await;
        row("unknown-method", lifecycle::unknown_method(s)).await;
        row("custom-method", lifecycle::custom_method(s)).await;
        row("roots", self.roots(false)).await;
        if let Some(changed) = &self.profile.list_changed {
            row("list-changed", self.changed(changed)).await;
        }
    }

    async fn tools(&self) {
        let (s, p) = (self.session, self.profile);
        row("tools-list", tools::list(s)).await;
        let known = p.tools.iter();
        let known = known.filter(|call| !p.optional_tools || self.has(&call.tool));
        row("tools-call", tools::call_all(s, known.collect())).await;
        row("structured-output", tools::structured(s, &p.structured)).await;
        row("tool-errors", tools::failing(s, &p.failing)).await;
        row("bad-arguments", tools::bad_arguments(s, &p.bad_arguments)).await;
        row("unknown-tool", tools::unknown(s)).await;
        row("progress", self.progress()).await;
        row("cancellation", self.cancelled()).await;
        row("concurrent", self.concurrent()).await;
        row("large", self.large()).await;
        row("pagination", lifecycle::pages(s)).await;
        if p.list_changed.is_none() {
            row("list-changed", unchanged(s)).await;
        }
    }

    async fn progress(&self) -> Outcome {
        match &self.profile.progress {
            Some(call) => tools::progress(self.session, call).await,
            None => silent(self.session),
        }
    }

    async fn cancelled(&self) -> Outcome {
        let Some(cancelled) = &self.profile.cancel else {
            return silent(self.session);
        };
        let record = std::env::temp_dir().join(format!("cancelled-{}", std::process::id()));
        let record = record.display().to_string();
        let outcome = tools::cancel(self.session, &cancelled.with("{record}", &record)).await?;
        let Some(after) = &self.profile.after_cancel else {
            return Ok(outcome);
        };
        let after = after.with("{record}", &record);
        // If the end of a connection is the cancellation, the tool notices it a moment later.
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            match call(self.session, &after).await {
                Ok(_) => {
                    let _ = std::fs::remove_file(&record);
                    return worked("the tool was told");
                }
                Err(_) if Instant::now() < end => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(fault) => return Err(fault),
            }
        }
    }

    async fn concurrent(&self) -> Outcome {
        if let Some(before) = &self.profile.before_concurrent {
            for mark in tools::marks() {
                call(self.session, &before.with("{mark}", &mark)).await?;
            }
        }
        tools::concurrent(self.session, &self.profile.concurrent).await
    }

    async fn large(&self) -> Outcome {
        let text = tools::large_text();
        if let Some(before) = &self.profile.before_large {
            call(self.session, &before.with("{text}", &text)).await?;
        }
        tools::large(self.session, &self.profile.large, &text).await
    }

    async fn contents(&self) {
        let (s, p) = (self.session, self.profile);
        if let Some(resources) = &p.resources {
            row("resources-list", content::list(s, &resources.listed)).await;
            row("resources-read", content::read_all(s)).await;
            row("unknown-resource", content::unknown(s, &resources.unknown)).await;
        } else {
            row("resources-list", undeclared::<ListResourcesRequest>(s)).await;
            row("resources-read", undeclared::<ReadResourceRequest>(s)).await;
            row("unknown-resource", undeclared::<ReadResourceRequest>(s)).await;
        }
        let value = p.resources.as_ref();
        let value = value.and_then(|resources| resources.template_value.as_deref());
        row("templates", content::templates(s, value)).await;
        match &p.subscription {
            Some(subscription) => {
                let updated = content::subscribe(s, subscription);
                self.row("subscribe", &subscription.calls[0].tool, updated)
                    .await;
            }
            None => row("subscribe", undeclared::<SubscribeRequest>(s)).await,
        }
        if let Some(prompts) = &p.prompts {
            row("prompts", content::prompts(s, &prompts.arguments)).await;
            row("unknown-prompt", content::unknown_prompt(s)).await;
        } else {
            row("prompts", undeclared::<GetPromptRequest>(s)).await;
            row("unknown-prompt", undeclared::<GetPromptRequest>(s)).await;
        }
        if let Some(context) = &p.completion_in_context {
            row("completion", content::complete(s, &p.completions)).await;
            let context = std::slice::from_ref(context);
            row("completion-context", content::complete(s, context)).await;
        } else {
            row("completion", undeclared::<CompleteRequest>(s)).await;
            row("completion-context", undeclared::<CompleteRequest>(s)).await;
        }
        match &p.logging {
            Some(provoke) => row("logging", lifecycle::logging(s, provoke)).await,
            None => row("logging", undeclared::<SetLevelRequest>(s)).await,
        }
    }

    async fn server_requests(&self) {
        let (s, p) = (self.session, self.profile);
        match &p.sampling {
            Some(call) => row("sampling", server_requests::sampling(s, call)).await,
            None => row("sampling", server_requests::silent(s)).await,
        }
        if let Some(form) = &p.form {
            let filled = server_requests::form(s, Answer::Fill, &form.tool, &form.filled);
            row("elicitation", filled).await;
            let defaults = server_requests::form(s, Answer::Minimum, &form.tool, &form.defaults);
            row("elicitation-defaults", defaults).await;
            row("elicitation-refused", server_requests::refused(s, form)).await;
        } else {
            row("elicitation", server_requests::silent(s)).await;
            row("elicitation-defaults", server_requests::silent(s)).await;
            row("elicitation-refused", server_requests::silent(s)).await;
        }
        match &p.url {
            Some(url) => {
                self.row("elicitation-url", &url.tool, self.visit(url))
                    .await
            }
            None => row("elicitation-url", server_requests::silent(s)).await,
        }
    }

    /// The user visits the URL, then declines.
    async fn visit(&self, url: &Url) -> Outcome {
        let outcome = server_requests::url(self.session, url).await?;
        if let (false, Some(id)) = (self.target.revision.is_stateless(), &url.announced) {
            let over = |seen: &crate::host::Observations| seen.urls_done.contains(id);
            self.session
                .host
                .until("the end of the visit", over)
                .await?;
        }
        Ok(outcome)
    }

    /// The roots of the handshake, or other roots.
    async fn roots(&self, changed: bool) -> Outcome {
        let Some(roots) = &self.profile.roots else {
            return rootless(self.target, &self.profile.tools).await;
        };
        if changed {
            let other = self.target.root("elsewhere");
            server_requests::roots_changed(self.session, roots, other).await
        } else {
            server_requests::roots(self.session, &roots.tool, &roots.says).await
        }
    }

    async fn only_in_sessions(&self) {
        let (s, p) = (self.session, self.profile);
        if self.target.is_http() {
            match &p.resumption {
                Some(paused) => {
                    let outcome = async {
                        call(s, paused).await?;
                        worked("answered on another stream")
                    };
                    self.row("resumption", &paused.tool, outcome).await;
                }
                None => {
                    let none = async { absent("every tool answers on the stream of its call") };
                    row("resumption", none).await;
                }
            }
        }
        match &p.url_required {
            Some(call) => {
                let required = server_requests::url_required(s, call);
                self.row("url-required", &call.tool, required).await;
            }
            None => row("url-required", server_requests::silent(s)).await,
        }
        match &p.task {
            Some(call) => row("tasks", task(self.target, call)).await,
            None => row("tasks", async { taskless(s) }).await,
        }
    }

    async fn changed(&self, expected: &ListChanged) -> Outcome {
        let s = self.session;
        if self.target.revision.is_stateless() && !listens(s).await {
            return absent("the server has agreed to tell of nothing");
        }
        if !self.target.is_http() {
            content::told(s, 0, &expected.after_handshake).await?;
        }
        let before = s.host.seen().changed.len();
        let result = call(s, &expected.call).await?;
        let told = content::told(s, before, &expected.changes).await?;
        if let Some(start) = &expected.linked_blob {
            let link = serde_json::to_value(&result.content)?;
            let uri = link[0]["uri"].as_str().ok_or("no URI in the link")?;
            let read = content::read(&s.client, uri).await?;
            let read = serde_json::to_value(&read.contents)?;
            let blob = read[0]["blob"].as_str().unwrap_or_default();
            ensure(blob.starts_with(start), || format!("the blob is {blob}"))?;
        }
        Ok(told)
    }
}

/// Whether the server acknowledges the subscription, which the client requests with all others.
async fn listens(s: &Session) -> bool {
    let end = Instant::now() + Duration::from_secs(10);
    while s.client.subscribed_changes().is_none() && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    s.client.subscribed_changes().is_some()
}

/// Shows that the lists do not change.
async fn unchanged(s: &Session) -> Outcome {
    match &*s.host.seen().changed {
        [] => absent("no list changed while every tool was called"),
        changed => Err(format!("{changed:?} changed").into()),
    }
}

/// Shows that no tool takes long enough to report progress or to be cancelled.
fn silent(s: &Session) -> Outcome {
    same("reports of progress", s.host.seen().progress, 0)?;
    absent("every tool was called, and none reported progress")
}

/// Shows that the server does not declare tasks.
fn taskless(s: &Session) -> Outcome {
    let declared = s.client.capabilities().tasks.is_some();
    same("the capability tasks", declared, false)?;
    absent("capability \"tasks\" was not declared")
}

/// Declares and changes roots and calls tools; the server must not request the roots.
async fn rootless(target: &Target, calls: &[Call]) -> Outcome {
    let session = target.session().await?;
    session.client.set_roots([target.root("elsewhere")])?;
    for known in calls {
        call(&session, known).await?;
    }
    let asked = session.left().await?;
    same("what it asked", &asked["asked"], &json!([]))?;
    absent("roots were offered and changed, and it did not ask for them")
}

/// On a separate connection, because the server keeps a timer per task and does not exit by itself.
async fn task(target: &Target, call: &Call) -> Outcome {
    let session = target.session().await?;
    let outcome = tasks::run(&session, call).await;
    session.end().await?;
    outcome
}
