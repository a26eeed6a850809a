//! The examples of servers, most of them over stdio.

use std::time::Duration;

use data_encoding::BASE64;
use mcp_apps::{HostApps, RemoteApps};
use mcp_sdk::client::types::{PromptReference, ResourceTemplateReference};
use mcp_sdk::client::{CallStart, Client, ClientBuilder, LoggingLevel, Negotiation, Root, TaskRef};
use mcp_skills::RemoteSkills;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::program::{
    BOTH, Program, call, child, child_with_stderr, client, connect, rejection, text, within,
};

async fn start(builder: ClientBuilder, name: &str) -> Client {
    within(builder.connect(child(name))).await.unwrap()
}

/// A callback that sends what it receives into a channel, and the channel.
fn channel<T: Send + 'static>() -> (impl Fn(T) + Send + Sync + 'static, mpsc::Receiver<T>) {
    let (sender, receiver) = mpsc::channel(64);
    (move |item| drop(sender.try_send(item)), receiver)
}

#[tokio::test]
async fn hello_stdio_adds_numbers() {
    for negotiation in BOTH {
        let client = start(client(negotiation), "hello_stdio").await;
        assert_eq!(client.server_info().name, "hello");
        let tools = within(client.list_tools()).await.unwrap();
        assert_eq!(tools.len(), 1);
        assert_eq!(tools[0].description.as_deref(), Some("Adds two numbers."));
        assert_eq!(text(&client, "add", json!({ "a": 2, "b": 3 })).await, "5");
        within(client.close()).await.unwrap();
    }
}

/// A project that `cargo generate` makes has the same program.
#[tokio::test]
async fn the_program_of_the_template_adds_numbers() {
    for negotiation in BOTH {
        let client = start(client(negotiation), "template").await;
        // The name of the package that compiles it.
        assert_eq!(client.server_info().name, "mcp-examples");
        assert_eq!(text(&client, "add", json!({ "a": 2, "b": 3 })).await, "5");
        within(client.close()).await.unwrap();
    }
}

#[tokio::test]
async fn content_types_returns_each_kind_of_content() {
    let client = start(client(Negotiation::Auto), "content_types").await;
    let tools = within(client.list_tools()).await.unwrap();
    let measure = tools.iter().find(|tool| tool.name == "measure").unwrap();
    assert!(measure.output_schema.is_some());

    let measured = call(&client, "measure", json!({})).await;
    assert_eq!(
        measured["structuredContent"],
        json!({ "celsius": 21.5, "humidity": 40 })
    );
    assert_eq!(
        measured["content"][0]["text"],
        r#"{"celsius":21.5,"humidity":40}"#
    );

    let bytes = |content: &Value| {
        BASE64
            .decode(content["data"].as_str().unwrap().as_bytes())
            .unwrap()
    };
    let chart = call(&client, "chart", json!({ "values": [3, 1, 2] })).await;
    let image = &chart["content"][0];
    assert_eq!(
        (&image["type"], &image["mimeType"]),
        (&json!("image"), &json!("image/svg+xml"))
    );
    assert!(bytes(image).starts_with(b"<svg"));
    let tone = call(&client, "tone", json!({ "frequency": 440 })).await;
    let audio = &tone["content"][0];
    assert_eq!(
        (&audio["type"], &audio["mimeType"]),
        (&json!("audio"), &json!("audio/wav"))
    );
    assert!(bytes(audio).starts_with(b"RIFF"));
    assert_eq!(bytes(audio).len(), 44 + 8_000);

    let notes = call(&client, "notes", json!({})).await;
    assert_eq!(notes["content"][0]["type"], "text");
    let resource = json!({ "uri": "note:///today", "mimeType": "text/plain", "text": "Buy milk." });
    assert_eq!(
        notes["content"][1],
        json!({ "type": "resource", "resource": resource })
    );
    let link = json!({ "type": "resource_link", "uri": "note:///yesterday", "name": "yesterday" });
    assert_eq!(notes["content"][2], link);

    assert_eq!(
        text(&client, "divide", json!({ "dividend": 6, "divisor": 3 })).await,
        "2"
    );
    let failed = call(&client, "divide", json!({ "dividend": 6, "divisor": 0 })).await;
    assert_eq!(failed["isError"], true);
    let reason = failed["content"][0]["text"].as_str().unwrap();
    assert!(reason.contains("/divisor: must not be 0"), "{reason}");
    let checked = call(&client, "check", json!({})).await;
    assert_eq!(checked["isError"], true);
    assert_eq!(checked["structuredContent"], json!({ "missing": ["eu-3"] }));
}

#[tokio::test]
async fn resources_subscribe_lists_reads_and_notifies() {
    for negotiation in BOTH {
        let (_program, url) = Program::serve("resources_subscribe").await;
        let (on_change, mut changes) = channel();
        let client = connect(client(negotiation).on_change(on_change), &url).await;
        let read = within(client.read_resource("note:///welcome"))
            .await
            .unwrap();
        assert_eq!(read.joined_text(), "Hello");
        let logo = within(client.read_resource("logo:///logo.svg"))
            .await
            .unwrap();
        let logo = serde_json::to_value(logo).unwrap();
        let blob = BASE64.decode(logo["contents"][0]["blob"].as_str().unwrap().as_bytes());
        assert!(blob.unwrap().starts_with(b"<svg"));
        assert!(
            within(client.read_resource("note:///nothing"))
                .await
                .is_err()
        );
        let templates = within(client.list_resource_templates()).await.unwrap();
        assert_eq!(templates[0].uri_template, "note:///{name}");

        let mut subscription = within(client.subscribe("note:///welcome")).await.unwrap();
        let note = |name: &str| json!({ "name": name, "text": "Good morning" });
        let written = text(&client, "write_note", note("welcome")).await;
        assert_eq!(written, "wrote note:///welcome");
        assert_eq!(
            within(subscription.next()).await.unwrap(),
            "note:///welcome"
        );
        within(subscription.unsubscribe()).await.unwrap();

        // Four notes are three pages, which the client reads in one call.
        for name in ["a", "b", "c"] {
            text(&client, "write_note", note(name)).await;
        }
        within(changes.recv()).await.unwrap();
        let listed = within(client.list_resources().fresh()).await.unwrap();
        let mut uris: Vec<&str> = listed.iter().map(|resource| &*resource.uri).collect();
        uris.sort_unstable();
        let notes = ["note:///a", "note:///b", "note:///c", "note:///welcome"];
        assert_eq!(uris, [&["logo:///logo.svg"][..], &notes].concat());
    }
}

#[tokio::test]
async fn prompts_completion_offers_completes_and_adds_prompts() {
    for negotiation in BOTH {
        let (on_change, mut changes) = channel();
        let client = start(
            client(negotiation).on_change(on_change),
            "prompts_completion",
        )
        .await;
        let prompts = within(client.list_prompts()).await.unwrap();
        let names: Vec<&str> = prompts.iter().map(|prompt| &*prompt.name).collect();
        assert_eq!(names, ["summary", "translate", "review_logo"]);

        let get = async |name: &str, arguments: &[(&str, &str)]| {
            let prompt = client.get_prompt(name).arguments(arguments.iter().copied());
            serde_json::to_value(within(prompt).await.unwrap().messages).unwrap()
        };
        let summary = get("summary", &[]).await;
        assert_eq!(
            summary[0]["content"]["text"],
            "Summarize this conversation in three sentences."
        );
        let translate = get("translate", &[("text", "Hello"), ("language", "German")]).await;
        assert_eq!(
            translate[0]["content"]["text"],
            "Translate into German: Hello"
        );
        let review = get("review_logo", &[]).await;
        let kinds: Vec<&Value> = review
            .as_array()
            .unwrap()
            .iter()
            .map(|message| &message["content"]["type"])
            .collect();
        assert_eq!(kinds, ["image", "resource", "text", "text"]);
        assert_eq!(review[3]["role"], "assistant");

        let complete = client.complete(PromptReference::new("translate"), "language", "G");
        assert_eq!(
            within(complete).await.unwrap().completion.values,
            ["German", "Greek"]
        );
        let words = ResourceTemplateReference::new("words:///{language}");
        let complete = client.complete(words, "language", "I");
        assert_eq!(
            within(complete).await.unwrap().completion.values,
            ["Italian"]
        );

        let prompt = json!({ "name": "shorten", "text": "Make it shorter." });
        text(&client, "add_prompt", prompt).await;
        within(changes.recv()).await.unwrap();
        let shorten = get("shorten", &[]).await;
        assert_eq!(shorten[0]["content"]["text"], "Make it shorter.");
    }
}

#[tokio::test]
async fn elicitation_shows_forms_and_pages() {
    for negotiation in BOTH {
        let (on_form, mut forms) = channel::<Value>();
        let (on_url_done, mut done) = channel::<String>();
        let builder = client(negotiation)
            .on_elicit(move |form| {
                on_form(serde_json::to_value(&form.params).unwrap());
                let answer = match &*form.params.message {
                    "Your booking, please" => {
                        form.accept(json!({ "guest": "Ada", "email": "ada@example.com" }))
                    }
                    _ => form.decline(),
                };
                async move { answer }
            })
            .on_elicit_url(async |page| page.accept())
            .on_elicit_url_done(on_url_done);
        let client = start(builder, "elicitation").await;

        // The client adds the defaults of the fields that the user left as they were.
        let booked = text(&client, "book", json!({})).await;
        assert_eq!(
            booked,
            "2 seats for Ada, Window, confirmed to ada@example.com"
        );
        let form = within(forms.recv()).await.unwrap();
        let fields = &form["requestedSchema"]["properties"];
        assert_eq!(form["requestedSchema"]["required"], json!(["guest"]));
        assert_eq!(fields["guest"]["minLength"], 2);
        assert_eq!(fields["email"]["format"], "email");
        assert_eq!(
            (&fields["seats"]["default"], &fields["seats"]["maximum"]),
            (&json!(2), &json!(8))
        );
        assert_eq!(fields["table"]["default"], "window");
        assert_eq!(
            fields["table"]["oneOf"][1],
            json!({ "const": "garden", "title": "In the garden" })
        );

        let cancelled = call(&client, "cancel", json!({ "booking": 7 })).await;
        assert_eq!(cancelled["isError"], true, "the user declined: {cancelled}");
        assert_eq!(
            text(&client, "pay", json!({ "amount": 20 })).await,
            "20 euros are on their way"
        );
        if negotiation == Negotiation::SessionBased {
            assert!(!within(done.recv()).await.unwrap().is_empty());
        }
    }
}

#[tokio::test]
async fn elicitation_rejects_values_that_do_not_match_the_form() {
    for negotiation in BOTH {
        let builder = client(negotiation)
            .on_elicit(async |form| form.accept(json!({ "guest": "Ada", "seats": 9 })));
        let client = start(builder, "elicitation").await;
        let failed = match within(client.call_tool("book", json!({}))).await {
            Ok(result) => result.joined_text(),
            Err(error) => error.to_string(),
        };
        assert!(failed.contains("seats"), "{failed}");
    }
}

#[tokio::test]
async fn sampling_uses_the_model_and_the_folders_of_the_client() {
    for negotiation in BOTH {
        let long = json!({ "text": "A long text. It goes on." });
        let without_model = start(client(negotiation), "sampling").await;
        assert_eq!(
            text(&without_model, "summarize", long.clone()).await,
            "A long text."
        );

        let builder = client(negotiation)
            .on_sample(async |sample| {
                assert!(sample.params.system_prompt.is_some());
                Ok(sample.reply("small-model", "A text."))
            })
            .roots([Root::new("file:///work")]);
        let client = start(builder, "sampling").await;
        assert_eq!(
            text(&client, "summarize", long).await,
            "A text. (by small-model)"
        );
        assert_eq!(text(&client, "folders", json!({})).await, "file:///work");
        let roots = ["file:///work", "file:///library"].map(Root::new);
        client.set_roots(roots).unwrap();
        assert_eq!(
            text(&client, "folders", json!({})).await,
            "file:///work\nfile:///library"
        );
    }
}

#[tokio::test]
async fn middleware_measures_limits_and_changes_results() {
    for negotiation in BOTH {
        let (transport, mut lines) = child_with_stderr("middleware");
        let client = within(client(negotiation).connect(transport))
            .await
            .unwrap();
        let quote = text(&client, "quote", json!({})).await;
        assert_eq!(quote, "\"Less is more.\" (quoted without a warranty)");
        while !within(lines.recv())
            .await
            .unwrap()
            .starts_with("tools/call took ")
        {}
        for _ in 0..2 {
            assert_eq!(text(&client, "clock", json!({})).await, "12:00");
        }
        let limit = rejection(&client, "clock", json!({})).await;
        assert_eq!(limit.code.0, 1429);
        assert!(
            limit.message.contains("the limit of 3 calls is reached"),
            "{}",
            limit.message
        );
    }
}

#[tokio::test]
async fn tasks_outlive_their_request_and_their_connection() {
    let hour = Duration::from_secs(3_600);
    for negotiation in BOTH {
        let (_program, url) = Program::serve("tasks").await;
        let builder = || client(negotiation).task_calls();
        let first = connect(builder(), &url).await;
        let (on_status, mut states) = channel();
        let year = json!({ "year": 2026 });
        let result = first
            .call_tool("archive", year.clone())
            .as_task(hour)
            .on_status(move |state| on_status(state.message.clone().unwrap_or_default()));
        assert_eq!(
            within(result).await.unwrap().joined_text(),
            "3 chapters of 2026 are in the archive"
        );
        while !within(states.recv())
            .await
            .unwrap()
            .starts_with("writing chapter ")
        {}

        let started = within(
            first
                .call_tool("archive", year.clone())
                .as_task(hour)
                .start(),
        )
        .await;
        let CallStart::Task(task) = started.unwrap() else {
            panic!("the call is not a task");
        };
        let stored = serde_json::to_string(task.task_ref()).unwrap();
        drop((task, first));
        let second = connect(builder(), &url).await;
        let task: TaskRef = serde_json::from_str(&stored).unwrap();
        let result = within(second.task(task).wait()).await.unwrap();
        assert_eq!(
            result.joined_text(),
            "3 chapters of 2026 are in the archive"
        );

        // A client without tasks waits for the result.
        let plain = connect(client(negotiation), &url).await;
        assert_eq!(
            text(&plain, "archive", year).await,
            "3 chapters of 2026 are in the archive"
        );
    }
}

#[tokio::test]
async fn tasks_wait_for_the_user() {
    for negotiation in BOTH {
        let (_program, url) = Program::serve("tasks").await;
        let builder = client(negotiation).task_calls();
        let builder = builder.on_elicit(async |form| form.accept(json!({ "yes": true })));
        let client = connect(builder, &url).await;
        let sealed = client
            .call_tool("seal", json!({}))
            .as_task(Duration::from_secs(60));
        assert_eq!(
            within(sealed).await.unwrap().joined_text(),
            "the archive is sealed"
        );
    }
}

#[tokio::test]
async fn streaming_progress_reports_while_it_runs() {
    for negotiation in BOTH {
        let (_program, url) = Program::serve("streaming_progress").await;
        let (on_log, mut messages) = channel();
        let (on_progress, mut progress) = channel();
        let client = connect(client(negotiation).on_log(on_log), &url).await;
        within(client.set_log_level(LoggingLevel::Info))
            .await
            .unwrap();
        let copied = client
            .call_tool("copy", json!({ "files": 3 }))
            .on_progress(on_progress);
        assert_eq!(
            within(copied).await.unwrap().joined_text(),
            "copied 3 files"
        );
        for file in 1..=3 {
            let update = within(progress.recv()).await.unwrap();
            assert_eq!(
                (update.progress, update.total),
                (f64::from(file), Some(3.0))
            );
            assert_eq!(update.message, Some(format!("file {file}")));
        }
        // Messages of the level `debug` were not sent.
        let message = within(messages.recv()).await.unwrap();
        assert_eq!(
            (message.logger.as_deref(), message.data),
            (Some("copy"), json!({ "files": 3 }))
        );
    }
}

#[tokio::test]
async fn streaming_progress_ends_when_the_client_cancels() {
    for negotiation in BOTH {
        let (mut program, url) = Program::serve("streaming_progress").await;
        let (on_progress, mut progress) = channel();
        let client = connect(client(negotiation), &url).await;
        let copying = client
            .call_tool("copy", json!({ "files": 1_000 }))
            .on_progress(on_progress);
        let copying = tokio::spawn(copying.into_future());
        within(progress.recv()).await.unwrap();
        // Dropping the future of the call cancels it.
        copying.abort();
        program.stderr.until("cancelled after ").await;
    }
}

#[tokio::test]
async fn skills_and_apps_serves_a_skill_and_a_page() {
    for negotiation in BOTH {
        let plain = start(client(negotiation), "skills_and_apps").await;
        assert_eq!(
            text(&plain, "forecast", json!({})).await,
            "Mon 22, Tue 19, Wed 24"
        );

        let client = start(client(negotiation).with(HostApps::new()), "skills_and_apps").await;
        let skills = RemoteSkills::new(&client).unwrap();
        let list = within(skills.list()).await.unwrap();
        let [packing] = list.skills.try_into().expect("one skill");
        assert_eq!(
            (packing.name(), packing.description()),
            ("packing", "Packs a suitcase for the weather")
        );
        let packing = within(skills.open(packing)).await.unwrap();
        assert!(
            packing.instructions().contains("Call `forecast`"),
            "{}",
            packing.instructions()
        );
        let checklist = within(packing.read("checklist.md")).await.unwrap();
        assert_eq!(checklist, b"- an umbrella above 1 mm\n");

        let forecast = call(&client, "forecast", json!({})).await;
        assert_eq!(
            forecast["content"][0]["text"],
            "The page shows the forecast."
        );
        assert_eq!(
            forecast["structuredContent"],
            json!({ "days": [22, 19, 24] })
        );
        let tools = within(client.list_tools()).await.unwrap();
        let tool = |name: &str| tools.iter().find(|tool| tool.name == name).unwrap();
        assert!(
            RemoteApps::tool_ui(tool("forecast"))
                .unwrap()
                .is_for_model()
        );
        assert!(!RemoteApps::tool_ui(tool("refresh")).unwrap().is_for_model());
        let view = within(RemoteApps::new(&client).open(tool("forecast")))
            .await
            .unwrap()
            .unwrap();
        assert!(view.html.contains("<title>Forecast</title>"));
    }
}
