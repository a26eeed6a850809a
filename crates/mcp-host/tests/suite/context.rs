//! Prompts, resources, completions and subscriptions of all servers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_client::types::{
    PromptReference, ReadResourceResult, ResourceContents, ResourceTemplateReference,
};
use mcp_client::{Transport, TransportError};
use mcp_host::{
    AuditLog, Decision, Host, HostBuilder, HostError, ListCache, Mention, Policy, ResourceChange,
    ServerState, StderrLog,
};
use mcp_server::{Args, Ctx, Prompt, Resource, Server, ServerBuilder, Tool};
use mcp_transport_stdio::duplex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::time::timeout;

use crate::support::{Folder, Killable, Log, Person, client};

#[derive(serde::Deserialize, mcp_server::schemars::JsonSchema)]
#[schemars(crate = "mcp_server::schemars")]
struct Name {
    name: String,
}

#[derive(serde::Deserialize, mcp_server::schemars::JsonSchema)]
#[schemars(crate = "mcp_server::schemars")]
struct Note {
    id: String,
}

/// A server with a prompt, a resource and a template, whose texts contain `word`.
fn notes(word: &'static str) -> ServerBuilder {
    Server::builder("notes", "1.0.0")
        .tool(Tool::new("touch", |cx: Ctx| {
            cx.resource_updated("note:///a");
            "touched"
        }))
        .prompt(
            Prompt::new("greet", move |Args(given): Args<Name>| {
                format!("{word} greets {}", given.name)
            })
            .complete("name", || vec!["alice".to_owned(), "bob".to_owned()]),
        )
        .prompt(Prompt::new("plain", move || word))
        .resource(Resource::new("note:///a", "a", move || word))
        .resource(
            Resource::new("note:///id/{id}", "by id", move |Args(note): Args<Note>| {
                format!("{word} {}", note.id)
            })
            .complete("id", || vec!["7".to_owned()]),
        )
}

fn two(killable: &Killable) -> HostBuilder {
    Host::builder(client())
        .connector("git", killable.connector(|_| Some(notes("git"))))
        .connector(
            "w: x",
            Killable::default().connector(|_| Some(notes("wiki"))),
        )
}

fn text(result: &ReadResourceResult) -> &str {
    match &result.contents[..] {
        [ResourceContents::Text(text)] => &text.text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn items_of_all_servers_have_unique_names_and_can_be_used_by_name() {
    let host = two(&Killable::default()).start();
    host.settled().await;
    let prompts = host.prompts();
    let names: Vec<_> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
    assert_eq!(names[..2], ["mcp__git__greet", "mcp__git__plain"]);
    assert!(names[2].starts_with("mcp__w__x__greet_"), "{names:?}");
    let resources = host.resources();
    let names: Vec<_> = resources
        .iter()
        .map(|resource| resource.name.as_str())
        .collect();
    assert_eq!(names, ["git:note:///a", "w%3A%20x:note:///a"]);
    let templates = host.resource_templates();
    assert_eq!(templates[1].name, "w%3A%20x:note:///id/{id}");
    assert!(!prompts[0].is_stale && !resources[0].is_stale && !templates[0].is_stale);

    let greeting = host.get_prompt(&prompts[2].name, [("name", "ann")]).await;
    let greeting = serde_json::to_string(&greeting.unwrap()).unwrap();
    assert!(greeting.contains("wiki greets ann"), "{greeting}");
    let read = host.read_resource("git", "note:///a").await.unwrap();
    assert_eq!(text(&read), "git");
    let read = host.read_resource("w: x", "note:///id/7").await.unwrap();
    assert_eq!(text(&read), "wiki 7");

    let prompt = PromptReference::new("greet");
    let completed = host
        .complete("git", prompt, "name", "a", &[])
        .await
        .unwrap();
    assert_eq!(completed.completion.values, ["alice", "bob"]);
    let template = ResourceTemplateReference::new("note:///id/{id}");
    let completed = host.complete("git", template, "id", "", &[]).await.unwrap();
    assert_eq!(completed.completion.values, ["7"]);

    let error = host.get_prompt("mcp__git__gret", [("name", "x")]).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("similar names: mcp__git__greet"), "{error}");
    let error = host.read_resource("gti", "note:///a").await.unwrap_err();
    assert_eq!(error.to_string(), "there is no server named \"gti\"");
    let error = host
        .read_resource("git", "note:///missing")
        .await
        .unwrap_err();
    assert!(matches!(error, HostError::Call { .. }), "{error}");
    assert!(
        error
            .to_string()
            .starts_with("the request for the resource \"note:///missing\"")
    );
    host.close().await;
}

#[tokio::test]
async fn lists_come_from_the_cache_and_are_marked_stale_without_a_connection() {
    let folder = Folder::new("context-cache");
    let cached = |servers: HostBuilder| servers.list_cache(ListCache::dir(&folder.0)).start();
    let host = cached(two(&Killable::default()));
    host.settled().await;
    while folder.lists() < 8 {
        // sleep: the event is a file that is written in the background
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    host.close().await;
    assert!(host.prompts().iter().all(|prompt| prompt.is_stale));

    let silent = |_: &StderrLog| Ok(Silent::connect(|_| None));
    let host = cached(Host::builder(client()).connector("git", silent));
    let lists = (host.prompts(), host.resources(), host.resource_templates());
    assert_eq!((lists.0.len(), lists.1.len(), lists.2.len()), (2, 1, 1));
    assert!(lists.0[0].is_stale && lists.1[0].is_stale && lists.2[0].is_stale);
    host.close().await;
}

/// A server that is written by hand.
struct Silent;

impl Silent {
    /// Returns the client's end. `answer` returns the result or the error of a request; without one, there is no response.
    fn connect(answer: Answer) -> impl Transport + use<> {
        let (transport, end) = duplex(64 << 10);
        tokio::spawn(async move {
            let (input, mut output) = end.into_streams();
            let mut lines = BufReader::new(input).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let request: Value = serde_json::from_str(&line).unwrap();
                let Some(mut response) = answer(&request).filter(|_| !request["id"].is_null())
                else {
                    continue;
                };
                response["jsonrpc"] = json!("2.0");
                response["id"] = request["id"].clone();
                let line = format!("{response}\n");
                if output.write_all(line.as_bytes()).await.is_err() {
                    return;
                }
            }
        });
        transport
    }

    fn initialized() -> Value {
        json!({ "result": {
            "protocolVersion": "2025-11-25", "serverInfo": { "name": "s", "version": "1" },
            "capabilities": { "tools": {}, "prompts": {}, "resources": {} }
        } })
    }
}

type Answer = fn(&Value) -> Option<Value>;

fn error(code: i64) -> Value {
    json!({ "error": { "code": code, "message": "no" } })
}

/// Answers everything, except for prompts.
fn without_prompts(request: &Value) -> Option<Value> {
    Some(match request["method"].as_str()? {
        "initialize" => Silent::initialized(),
        "tools/list" => {
            json!({ "result": { "tools": [{ "name": "t", "inputSchema": { "type": "object" } }] } })
        }
        "resources/list" => json!({ "result": { "resources": [{ "uri": "a:b", "name": "n" }] } }),
        "resources/templates/list" => error(-32601),
        "prompts/list" => return None,
        _ => error(-32601),
    })
}

#[tokio::test(start_paused = true)]
async fn a_failed_list_neither_delays_nor_hides_other_lists() {
    let fails: Answer = |request| match request["method"].as_str()? {
        "prompts/list" => Some(error(-32603)),
        _ => without_prompts(request),
    };
    for answer in [without_prompts as Answer, fails] {
        let connector = move |_: &StderrLog| Ok::<_, TransportError>(Silent::connect(answer));
        let host = Host::builder(client()).connector("s", connector).start();
        let server = host.server("s").unwrap();
        server.wait_for(|state| *state == ServerState::Ready).await;
        assert_eq!(host.tools().len(), 1);
        host.settled().await;
        assert_eq!(server.state(), ServerState::Ready);
        assert!(host.prompts().is_empty() && server.prompts().is_stale);
        assert_eq!(host.resources().len(), 1);
        assert!(!server.resource_templates().is_stale, "the server has none");
        host.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_is_repeated_when_the_connection_ends() {
    let starts = Arc::<Mutex<u32>>::default();
    let connector = move |_: &StderrLog| {
        let mut starts = starts.lock().unwrap();
        *starts += 1;
        let is_first = *starts == 1;
        let (transport, end) = duplex(64 << 10);
        tokio::spawn(async move {
            let resource = Resource::new("a:b", "n", move || async move {
                match is_first {
                    // The process ends during the request.
                    true => std::future::pending().await,
                    false => "second",
                }
            });
            let server = Server::builder("s", "1").resource(resource);
            let serving = end.serve(server);
            match is_first {
                true => drop(timeout(Duration::from_secs(2), serving).await),
                false => drop(serving.await),
            }
        });
        Ok(transport)
    };
    let host = Host::builder(client()).connector("s", connector).start();
    host.settled().await;
    let read = host.read_resource("s", "a:b").await.unwrap();
    assert_eq!(text(&read), "second");
    host.close().await;
}

#[tokio::test(start_paused = true)]
async fn prompts_and_resources_chosen_by_the_user_need_no_consent_unless_a_rule_applies() {
    let person = Person::default();
    let rules = r#"[{ "kind": "resource", "server": "w*", "effect": "deny" },
        { "kind": "prompt", "server": "w*", "effect": "ask" }]"#;
    let log = Log::default();
    let host = two(&Killable::default())
        .policy(Policy::parse(rules).unwrap())
        .consent(person.answers(Decision::Deny))
        .audit(AuditLog::new(log.clone()))
        .start();
    host.settled().await;
    host.read_resource("git", "note:///id/7?token=s3cret")
        .await
        .unwrap_err();
    host.read_resource("git", "note:///a").await.unwrap();
    host.get_prompt("mcp__git__greet", [("name", "ann")])
        .await
        .unwrap();
    assert!(person.texts().is_empty());

    for uri in ["note:///a", "note:///id/7"] {
        let denied = host.read_resource("w: x", uri).await.unwrap_err();
        assert!(
            denied
                .to_string()
                .contains("a rule of the policy denies it"),
            "{denied}"
        );
        let denied = host.subscribe("w: x", uri).await.unwrap_err();
        assert!(matches!(denied, HostError::Denied { .. }), "{denied}");
    }
    let template = ResourceTemplateReference::new("note:///id/{id}");
    let denied = host.complete("w: x", template, "id", "", &[]).await;
    assert!(matches!(denied, Err(HostError::Denied { .. })));
    let name = &host.prompts()[2].name;
    let denied = host
        .get_prompt(name, [("name", "x\nprogram: y\u{202e}")])
        .await;
    assert!(matches!(denied, Err(HostError::Denied { .. })));
    assert_eq!(
        person.texts(),
        [r#"use the prompt "greet" of the server "w: x" with {"name": "x\nprogram: y\u{202e}"}"#]
    );

    let lines = log.lines();
    let lines = lines.iter().filter(|line| line["kind"] != "connect");
    let lines: Vec<_> = lines
        .map(|line| {
            let outcome = line["outcome"].as_str().or(line["by"].as_str());
            format!(
                "{} {} {} {}",
                line["event"],
                line["kind"],
                line["name"],
                outcome.unwrap()
            )
        })
        .collect();
    assert_eq!(
        lines[..6],
        [
            r#""decision" "resource" "note:///id/7" default"#,
            r#""result" "resource" "note:///id/7" failed"#,
            r#""decision" "resource" "note:///a" default"#,
            r#""result" "resource" "note:///a" ok"#,
            r#""decision" "prompt" "greet" default"#,
            r#""result" "prompt" "greet" ok"#,
        ]
    );
    assert!(
        !serde_json::to_string(&log.lines())
            .unwrap()
            .contains("s3cret")
    );
    host.close().await;
}

// A text of one server could make the model send what it knows to another server, in a URI or an argument.
#[tokio::test(start_paused = true)]
async fn after_an_untrusted_result_only_listed_items_need_no_consent() {
    let person = Person::default();
    let host = two(&Killable::default())
        .consent(person.answers(Decision::AllowAlways))
        .track_untrusted_results()
        .start();
    host.settled().await;
    // Reading is a result, too.
    host.read_resource("git", "note:///id/7").await.unwrap();
    assert!(person.texts().is_empty());
    host.read_resource("w: x", "note:///a").await.unwrap();
    let prompts = host.prompts();
    host.get_prompt(&prompts[3].name, [("", ""); 0])
        .await
        .unwrap();
    host.read_resource("git", "note:///a").await.unwrap();
    assert!(person.texts().is_empty());

    for _ in 0..2 {
        host.read_resource("w: x", "note:///id/secret")
            .await
            .unwrap();
        let texts = person.texts();
        assert_eq!(texts.len(), 1, "{texts:?}");
        assert!(
            texts[0]
                .contains("\nThe conversation has results of servers that are not trusted: git")
        );
        host.get_prompt(&prompts[2].name, [("name", "secret")])
            .await
            .unwrap();
        assert_eq!(person.texts().len(), 1);
        host.get_prompt(&prompts[0].name, [("name", "secret")])
            .await
            .unwrap();
        assert_eq!(
            person.texts().len(),
            1,
            "the wiki has returned results, too"
        );
    }
    host.begin_conversation();
    host.read_resource("w: x", "note:///id/secret")
        .await
        .unwrap();
    assert!(person.texts().is_empty());
    host.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_subscription_survives_a_hundred_restarts_with_one_event_for_each_change() {
    let killable = Killable::default();
    let host = two(&killable).start();
    host.settled().await;
    let mut watched = host.subscribe("git", "note:///a").await.unwrap();
    let mut other = host.subscribe("w: x", "note:///a").await.unwrap();
    for round in 0..100_u64 {
        for _ in 0..2 {
            host.call_tool("git__touch", json!({})).await.unwrap();
            let updated = ResourceChange::Updated("note:///a".to_owned());
            assert_eq!(watched.next().await, Some(updated), "round {round}");
        }
        let more = timeout(Duration::from_secs(1), watched.next()).await;
        assert!(more.is_err(), "round {round}: {more:?}");
        killable.kill();
        // A dropped attempt changes nothing.
        let _ = timeout(Duration::from_millis(round), watched.next()).await;
        let next = timeout(Duration::from_secs(600), watched.next()).await;
        if round > 50 {
            // The first attempt can have been long enough.
            assert!(next.is_err() || next == Ok(Some(ResourceChange::Reconnected)));
        } else {
            assert_eq!(next, Ok(Some(ResourceChange::Reconnected)));
        }
        // A server that lives longer than this is not counted as failing.
        tokio::time::sleep(Duration::from_secs(600)).await;
    }
    assert_eq!(killable.starts(), 101);
    let none = timeout(Duration::from_secs(1), other.next()).await;
    assert!(
        none.is_err(),
        "the resource of the other server has the same URI: {none:?}"
    );
    host.close().await;
    assert_eq!(watched.next().await, None);
    assert_eq!(watched.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn mentions_in_typed_text_are_found() {
    let disk: Answer = |request| match request["method"].as_str()? {
        "resources/list" => Some(json!({ "result": { "resources": [
            { "uri": "file:///a b.txt", "name": "a" }, { "uri": "file:///a", "name": "a" }
        ] } })),
        _ => without_prompts(request),
    };
    let connector = move |_: &StderrLog| Ok::<_, TransportError>(Silent::connect(disk));
    let host = two(&Killable::default())
        .connector("disk", connector)
        .start();
    host.settled().await;
    let found = |text: &str| -> Vec<String> {
        let mentions = host.mentions(text).into_iter();
        mentions
            .map(|mention| match mention {
                Mention::Prompt { name, rest, .. } => format!("{name} <{rest}>"),
                Mention::Resource {
                    server, uri, range, ..
                } => {
                    format!("{server} <{uri}> {}", &text[range])
                }
                other => panic!("{other:?}"),
            })
            .collect()
    };
    assert_eq!(
        found(" /mcp__git__greet  fix it "),
        ["mcp__git__greet <fix it>"]
    );
    assert_eq!(found("/mcp__git__unknown x"), [""; 0]);
    assert_eq!(
        found("/mcp__git__plain @disk:file:///a b.txt"),
        [
            "mcp__git__plain <@disk:file:///a b.txt>",
            "disk <file:///a b.txt> @disk:file:///a b.txt"
        ]
    );
    for (text, uri) in [
        ("see @disk:file:///a b.txt and", "file:///a b.txt"),
        ("(@disk:file:///a b.txt)", "file:///a b.txt"),
        ("@disk:file:///a b.txt2", "file:///a"),
        ("@disk:note:///id/7, please", "note:///id/7"),
        ("@disk:file:///a.txt", "file:///a.txt"),
        ("\u{201c}@disk:x:y?\u{201d}", "x:y"),
        (r#"@"disk:x y:z" w"#, "x y:z"),
    ] {
        let mentions = host.mentions(text);
        let [
            Mention::Resource {
                server, uri: found, ..
            },
        ] = &mentions[..]
        else {
            panic!("{text}: {mentions:?}");
        };
        assert_eq!((server.as_str(), found.as_str()), ("disk", uri), "{text}");
    }
    assert_eq!(found("@w%3A%20x:a:b"), ["w: x <a:b> @w%3A%20x:a:b"]);
    for text in [
        "mail@git:x",
        "@gitx:y",
        "@git:",
        "@git: x",
        r#"@"git:x"#,
        "@",
        "/",
        "a.b@git:x",
    ] {
        assert_eq!(found(text), [""; 0], "{text}");
    }
    assert_eq!(host.mentions(&"@git:x ".repeat(5_000)).len(), 100);
    host.close().await;
}
