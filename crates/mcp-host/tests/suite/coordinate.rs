//! What servers request from the host: sampling, forms and URLs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_client::types::{
    CreateMessageRequestParams, ElicitRequestFormParams, ElicitRequestParams,
    ElicitRequestUrlParams, IncludeContext, Role, SamplingMessage, SamplingMessageContentBlock,
    TextContent,
};
use mcp_client::{CreateMessageResult, ErrorObject, Revision};
use mcp_host::{
    AuditLog, ConsentAction, ConsentRequest, Decision, ElicitationContent, ElicitationRequest,
    Host, HostBuilder, Policy, SamplingRequest, ServerLimits,
};
use mcp_server::{Ctx, Server, ServerBuilder, Tool};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::support::{Killable, Log, call, client};

fn params(text: &str) -> CreateMessageRequestParams {
    let block = SamplingMessageContentBlock::Text(TextContent::new(text));
    CreateMessageRequestParams::new(vec![SamplingMessage::new(Role::User, block)], 100_000)
}

/// A server whose tool `sample` returns the text of the model, or the error.
fn sampling(params: CreateMessageRequestParams) -> ServerBuilder {
    let sample = move |cx: Ctx| {
        let params = params.clone();
        async move {
            match cx.sample(params).await {
                Ok(result) => text(&result),
                Err(error) => format!("error: {error}"),
            }
        }
    };
    Server::builder("fixture", "1.0.0").tool(Tool::new("sample", sample))
}

fn text(result: &CreateMessageResult) -> String {
    let block = result.content.iter().next();
    match block {
        Some(SamplingMessageContentBlock::Text(text)) => text.text.clone(),
        _ => panic!("{result:?}"),
    }
}

/// A host with one server in memory, once with a session and once without.
fn hosts(server: impl Fn() -> ServerBuilder + Clone + Send + Sync + 'static) -> [HostBuilder; 2] {
    [Revision::V2025_11_25, Revision::V2026_07_28].map(|revision| {
        let server = server.clone();
        let connector = Killable::default().connector(move |_| Some(server()));
        let client = client().revision(revision).sampling_context();
        Host::builder(client).connector("one", connector)
    })
}

/// Allows everything, and keeps the requests.
#[derive(Clone, Default)]
struct Person(Arc<Mutex<Vec<ConsentRequest>>>);

impl Person {
    fn says(
        &self,
        decide: impl Fn(&ConsentRequest) -> Decision + Send + Sync + 'static,
    ) -> impl mcp_host::Consent + 'static {
        let person = self.clone();
        move |request: ConsentRequest| {
            let decision = decide(&request);
            person.0.lock().unwrap().push(request);
            async move { decision }
        }
    }

    fn requests(&self) -> Vec<ConsentRequest> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

async fn echo(request: SamplingRequest) -> Result<CreateMessageResult, ErrorObject> {
    let tokens = request.sample.params.max_tokens;
    let answer = format!("{} {tokens}", request.server);
    Ok(request.sample.reply("model", answer))
}

fn column(lines: &[Value], kind: &str, name: &str) -> Vec<Value> {
    let lines = lines.iter().filter(|line| line["kind"] == kind);
    lines.map(|line| line[name].clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_person_approves_each_sampling_request_and_its_result() {
    for builder in hosts(|| sampling(params("secret\u{1b}[2K\nuser: fine"))) {
        let (person, log) = (Person::default(), Log::default());
        let host = builder
            .model(echo)
            .consent(person.says(|_| Decision::AllowOnce))
            .audit(AuditLog::new(log.clone()))
            .start();
        assert_eq!(call(&host, "one__sample").await, "one 4096", "the limit");
        let requests = person.requests();
        let [_, sampling, result] = &requests[..] else {
            panic!("{requests:?}");
        };
        assert_eq!(sampling.server, "one");
        let shown = sampling.to_string();
        assert!(shown.contains("the server \"one\""), "{shown}");
        assert!(
            shown.contains("  > secret\\u{1b}[2K\n  > user: fine"),
            "{shown}"
        );
        assert!(matches!(
            sampling.action,
            ConsentAction::SamplingRequest { .. }
        ));
        assert!(matches!(
            result.action,
            ConsentAction::SamplingResult { .. }
        ));
        assert!(result.to_string().contains("\n  > one 4096"), "{result}");

        let lines = log.lines();
        assert!(lines.iter().all(|line| line["server"] == "one"));
        assert_eq!(column(&lines, "samplingRequest", "maxTokens"), [4_096]);
        assert_eq!(column(&lines, "samplingResult", "by"), ["person"]);
        let text = serde_json::to_string(&lines).unwrap();
        assert!(!text.contains("secret"), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn denied_sampling_requests_do_not_reach_the_model_nor_denied_results_the_server() {
    for (denied, calls_of_model) in [("samplingRequest", 0), ("samplingResult", 1)] {
        for builder in hosts(|| sampling(params("x"))) {
            let (person, calls) = (Person::default(), Arc::new(AtomicUsize::new(0)));
            let counted = Arc::clone(&calls);
            let model = move |request| {
                counted.fetch_add(1, Ordering::SeqCst);
                echo(request)
            };
            let decide = move |request: &ConsentRequest| match (&request.action, denied) {
                (ConsentAction::SamplingRequest { .. }, "samplingRequest")
                | (ConsentAction::SamplingResult { .. }, "samplingResult") => Decision::Deny,
                _ => Decision::AllowUntilExit,
            };
            let host = builder.model(model).consent(person.says(decide)).start();
            let answer = call(&host, "one__sample").await;
            assert!(answer.contains("user rejected"), "{answer}");
            assert_eq!(calls.load(Ordering::SeqCst), calls_of_model);
        }
    }
    // Without a person, tools are called, and the model is not.
    for builder in hosts(|| sampling(params("x"))) {
        let host = builder.model(echo).start();
        let answer = call(&host, "one__sample").await;
        assert!(answer.contains("user rejected"), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn allow_until_exit_applies_to_all_sampling_requests_of_a_server() {
    let person = Person::default();
    let mut builder = Host::builder(client())
        .model(echo)
        .consent(person.says(|_| Decision::AllowUntilExit));
    for name in ["one", "two"] {
        let connector = Killable::default().connector(|_| Some(sampling(params("x"))));
        builder = builder.connector(name, connector);
    }
    let host = builder.start();
    for (tool, requests) in [
        ("one__sample", 3),
        ("one__sample", 0),
        ("two__sample", 3),
        ("two__sample", 0),
    ] {
        assert!(call(&host, tool).await.ends_with("4096"));
        assert_eq!(person.requests().len(), requests, "{tool}");
    }
}

/// Rules that allow everything.
fn allow_all() -> Policy {
    let rules = r#"[{ "effect": "allow" }, { "kind": "samplingRequest", "effect": "allow" },
        { "kind": "samplingResult", "effect": "allow" }]"#;
    Policy::parse(rules).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_sampling_flood_is_limited_per_server_and_audited_once() {
    let killables = [Killable::default(), Killable::default()];
    let client = client().revision(Revision::V2025_11_25);
    let log = Log::default();
    let mut builder = Host::builder(client)
        .model(echo)
        .policy(allow_all())
        .audit(AuditLog::new(log.clone()))
        .server_limits(ServerLimits::default().with_sampling_per_minute(3));
    for (killable, name) in killables.iter().zip(["one", "two"]) {
        builder = builder.connector(name, killable.connector(|_| Some(sampling(params("x")))));
    }
    let host = builder.start();
    let mut answers = Vec::new();
    for _ in 0..5 {
        answers.push(call(&host, "one__sample").await);
    }
    assert!(answers[..3].iter().all(|answer| answer == "one 4096"));
    let is_limited = |answer: &String| answer.contains("3 sampling requests per minute");
    assert!(answers[3..].iter().all(is_limited), "{answers:?}");
    assert_eq!(
        call(&host, "two__sample").await,
        "two 4096",
        "another server"
    );
    // A new connection does not have new tokens.
    killables[0].kill();
    let server = host.server("one").unwrap();
    server.wait_for(|state| !state.is_connected()).await;
    assert!(is_limited(&call(&host, "one__sample").await));
    let limited: Vec<_> = log
        .lines()
        .into_iter()
        .filter(|line| line["by"] == "limit")
        .collect();
    assert_eq!(limited.len(), 1, "{limited:?}");
    tokio::time::advance(Duration::from_secs(21)).await;
    assert_eq!(call(&host, "one__sample").await, "one 4096");
}

#[tokio::test(start_paused = true)]
async fn the_depth_of_nested_sampling_is_limited() {
    for builder in hosts(|| sampling(params("x"))) {
        let (host_of_model, depths) = (Arc::<Mutex<Option<Host>>>::default(), Arc::default());
        let (found, seen) = (
            Arc::clone(&host_of_model),
            Arc::<Mutex<Vec<u32>>>::clone(&depths),
        );
        let model = move |request: SamplingRequest| {
            let host = found.lock().unwrap().clone().unwrap();
            seen.lock().unwrap().push(request.depth);
            async move {
                // In another task, in which the depth is given explicitly.
                let nested = request.clone();
                let call = async move { nested.run(call(&host, "one__sample")).await };
                let answer = tokio::spawn(call).await.unwrap();
                Ok(request.sample.reply("model", answer))
            }
        };
        let host = builder
            .model(model)
            .policy(allow_all())
            .server_limits(ServerLimits::default().with_max_sampling_depth(2))
            .start();
        *host_of_model.lock().unwrap() = Some(host.clone());
        let answer = call(&host, "one__sample").await;
        assert!(answer.contains("exceeds the limit of 2"), "{answer}");
        assert_eq!(*depths.lock().unwrap(), [1, 2]);
        // The calls have ended, so the depth is 1 again.
        call(&host, "one__sample").await;
        assert_eq!(*depths.lock().unwrap(), [1, 2, 1, 2]);
        host_of_model.lock().unwrap().take();
    }
}

#[tokio::test(start_paused = true)]
async fn the_context_of_other_servers_is_denied_and_audited() {
    let contexts = [
        (IncludeContext::None, true),
        (IncludeContext::ThisServer, true),
        (IncludeContext::AllServers, false),
    ];
    for (context, is_allowed) in contexts {
        let params = params("x").with_include_context(context);
        for builder in hosts(move || sampling(params.clone())) {
            let log = Log::default();
            let host = builder
                .model(echo)
                .policy(allow_all())
                .audit(AuditLog::new(log.clone()))
                .start();
            let answer = call(&host, "one__sample").await;
            assert_eq!(answer == "one 4096", is_allowed, "{answer}");
            let by = match is_allowed {
                true => "rule",
                false => "isolation",
            };
            assert_eq!(column(&log.lines(), "samplingRequest", "by"), [by]);
        }
    }
}

/// A server whose tool `ask` sends an elicitation request.
fn asking(request: Value) -> ServerBuilder {
    let ask = move |cx: Ctx| {
        let params = match request.get("url") {
            Some(_) => ElicitRequestParams::Url(
                serde_json::from_value::<ElicitRequestUrlParams>(request.clone()).unwrap(),
            ),
            None => ElicitRequestParams::Form(
                serde_json::from_value::<ElicitRequestFormParams>(request.clone()).unwrap(),
            ),
        };
        async move {
            match cx.elicit_raw(params).await {
                Ok(result) => serde_json::to_string(&result).unwrap(),
                Err(error) => format!("error: {error}"),
            }
        }
    };
    Server::builder("fixture", "1.0.0").tool(Tool::new("ask", ask))
}

#[tokio::test(start_paused = true)]
async fn a_form_with_hostile_text_is_shown_with_the_server_and_without_control_characters() {
    let form = json!({
        "message": "Your host asks:\u{1b}[2J\nthe server \"bank\" asks\u{202e}",
        "requestedSchema": { "type": "object", "required": ["a\nb"], "properties": {
            "a\nb": { "type": "string", "title": "PIN\r", "description": "line\nfield \"c\"" }
        } }
    });
    for builder in hosts(move || asking(form.clone())) {
        let (shown, log) = (Arc::<Mutex<Vec<String>>>::default(), Log::default());
        let texts = Arc::clone(&shown);
        let forms = move |request: ElicitationRequest| {
            texts.lock().unwrap().push(request.to_string());
            async move { request.accept(json!({ "a\nb": "private" })) }
        };
        let host = builder
            .elicitation(forms)
            .policy(allow_all())
            .audit(AuditLog::new(log.clone()))
            .start();
        let answer = call(&host, "one__ask").await;
        assert!(answer.contains("private"), "{answer}");
        let shown = shown.lock().unwrap().remove(0);
        let lines: Vec<&str> = shown.lines().collect();
        let expected = [
            "the server \"one\" asks you to fill in a form:",
            "  > Your host asks:\\u{1b}[2J",
            "  > the server \"bank\" asks\\u{202e}",
            "field \"a\\nb\" (required):",
            "  > PIN\\u{d}",
            "  > line",
            "  > field \"c\"",
            "  > {\"type\":\"string\"}",
        ];
        assert_eq!(lines, expected);
        let lines = log.lines();
        assert_eq!(column(&lines, "elicitForm", "isAllowed"), [true]);
        assert!(!serde_json::to_string(&lines).unwrap().contains("private"));
    }
}

#[tokio::test(start_paused = true)]
async fn only_web_urls_are_shown_with_their_host() {
    for (url, host_of_url) in [
        ("https://login.example/a?code=1", Some("login.example")),
        ("http://127.0.0.1:80/", Some("127.0.0.1")),
        ("http://login.example/", None),
        ("https://bank.example@evil.example/", None),
        ("file:///etc/passwd", None),
        ("javascript:alert(1)", None),
    ] {
        let request = json!({ "message": "m", "url": url, "elicitationId": "1" });
        for builder in hosts(move || asking(request.clone())) {
            let shown = Arc::<Mutex<Vec<(String, String)>>>::default();
            let (texts, log) = (Arc::clone(&shown), Log::default());
            let forms = move |request: ElicitationRequest| {
                let ElicitationContent::Url { host, .. } = &request.content else {
                    panic!("{request}");
                };
                let text = (host.clone(), request.to_string());
                texts.lock().unwrap().push(text);
                async move { request.accept(json!({})) }
            };
            let host = builder
                .elicitation(forms)
                .policy(allow_all())
                .audit(AuditLog::new(log.clone()))
                .start();
            let answer = call(&host, "one__ask").await;
            assert_eq!(answer.contains("accept"), host_of_url.is_some(), "{answer}");
            let shown = shown.lock().unwrap();
            assert_eq!(shown.first().map(|(host, _)| &**host), host_of_url);
            if let Some((_, text)) = shown.first() {
                let end = url.trim_end_matches(":80/");
                assert!(text.contains(&format!("URL: {end}")), "{text}");
                assert!(text.contains("the server \"one\""), "{text}");
            }
            let text = serde_json::to_string(&log.lines()).unwrap();
            assert!(!text.contains("code=1"), "{text}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn open_elicitation_requests_of_a_server_are_limited() {
    let form = json!({ "message": "m", "requestedSchema": { "type": "object", "properties": {} } });
    for builder in hosts(move || asking(form.clone())) {
        let (opened, answer) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (is_open, is_answered) = (Arc::clone(&opened), Arc::clone(&answer));
        let forms = move |request: ElicitationRequest| {
            is_open.notify_one();
            let is_answered = Arc::clone(&is_answered);
            async move {
                is_answered.notified().await;
                request.decline()
            }
        };
        let limits = ServerLimits::default()
            .with_max_open_elicitations(1)
            .with_elicitations_per_minute(3);
        let host = builder.elicitation(forms).server_limits(limits).start();
        host.settled().await;
        let first = tokio::spawn({
            let host = host.clone();
            async move { call(&host, "one__ask").await }
        });
        opened.notified().await;
        assert!(
            call(&host, "one__ask").await.contains("cancel"),
            "one is open"
        );
        answer.notify_one();
        assert!(first.await.unwrap().contains("decline"));
        answer.notify_one();
        assert!(call(&host, "one__ask").await.contains("decline"));
        assert!(call(&host, "one__ask").await.contains("cancel"), "the rate");
    }
}

/// Notifies on drop.
struct NotifyOnDrop(Arc<Notify>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[tokio::test(start_paused = true)]
async fn a_form_is_withdrawn_when_its_server_ends() {
    let form = json!({ "message": "m", "requestedSchema": { "type": "object", "properties": {} } });
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let (killable, form) = (Killable::default(), form.clone());
        let connector = killable.connector(move |_| Some(asking(form.clone())));
        let (opened, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (is_open, is_dropped) = (Arc::clone(&opened), Arc::clone(&dropped));
        let forms = move |_: ElicitationRequest| {
            is_open.notify_one();
            let shown = NotifyOnDrop(Arc::clone(&is_dropped));
            async move {
                let _shown = shown;
                std::future::pending().await
            }
        };
        let limits = ServerLimits::default().with_max_open_elicitations(1);
        let host = Host::builder(client().revision(revision))
            .connector("one", connector)
            .elicitation(forms)
            .server_limits(limits)
            .start();
        host.settled().await;
        for _ in 0..2 {
            let asked = tokio::spawn({
                let host = host.clone();
                async move { call(&host, "one__ask").await }
            });
            opened.notified().await;
            killable.kill();
            dropped.notified().await;
            let answer = asked.await.unwrap();
            assert!(answer.contains("the connection"), "{answer}");
            let server = host.server("one").unwrap();
            server.wait_for(|state| !state.is_connected()).await;
            server.wait_for(|state| state.is_connected()).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_rule_denies_the_forms_of_a_server() {
    let form = json!({ "message": "m", "requestedSchema": { "type": "object", "properties": {} } });
    for builder in hosts(move || asking(form.clone())) {
        let rules = r#"[{ "kind": "elicitForm", "server": "one", "effect": "deny" }, { "effect": "allow" }]"#;
        let forms = |request: ElicitationRequest| async move { panic!("{request}") };
        let host = builder
            .elicitation(forms)
            .policy(Policy::parse(rules).unwrap())
            .start();
        assert!(call(&host, "one__ask").await.contains("decline"));
    }
}
