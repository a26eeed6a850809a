//! The programs under test, by the name in a transcript's header.

use mcp_server::ServerBuilder;
use mcp_types::{
    AudioContent, CreateMessageRequestParams, Root, SamplingMessage, SamplingMessageContentBlock,
    TextContent,
};
use tokio::sync::mpsc;

use crate::older;
use crate::prelude::*;

/// Returns a server.
pub(super) fn server(name: &str) -> ServerBuilder {
    match name {
        "everything" => everything::server(),
        "decorated" => older::decorated(),
        "relays" => relays(),
        "empty" => Server::builder("empty", "1").without_logging(),
        other => panic!("no server is called {other}"),
    }
}

/// A server that returns the model's response unchanged.
fn relays() -> ServerBuilder {
    Server::builder("relays", "1").tool(Tool::new("ask", async |cx: Ctx| {
        let question = CreateMessageRequestParams::new(vec![SamplingMessage::user("x")], 5);
        let answer = cx.sample(question).await?;
        Ok::<_, HandlerError>(serde_json::to_string(&answer.content)?)
    }))
}

/// Returns a client; what its host receives goes to `heard`.
pub(super) fn host(name: &str, heard: &mpsc::Sender<Value>) -> ClientBuilder {
    let builder = Client::builder("host", "1").negotiation(Negotiation::SessionBased);
    match name {
        "plain" => builder,
        "host" => telling(builder, heard),
        other => panic!("no client is called {other}"),
    }
}

/// A host with all handlers. Its user and its model respond as the request says.
fn telling(builder: ClientBuilder, heard: &mpsc::Sender<Value>) -> ClientBuilder {
    let tell = {
        let heard = heard.clone();
        move |what: Value| heard.try_send(what).expect("room")
    };
    let (logs, changes) = (tell.clone(), tell);
    builder
        .roots([Root::new("file:///a").with_name("A")])
        .on_log(move |message| logs(json!({ "log": message.data })))
        .on_change(move |changed| changes(json!({ "changed": format!("{changed:?}") })))
        .on_elicit(async |form| match &*form.params.message {
            "choose several" => form.accept(json!({ "many": ["a", "b"] })),
            "decline" => form.decline(),
            _ => form.accept(json!({})),
        })
        .on_elicit_url(async |url| url.accept())
        .on_sample(async |ask| {
            let mut answer = ask.reply("model", "hi");
            let text = || SamplingMessageContentBlock::Text(TextContent::new("hi"));
            match ask.params.system_prompt.as_deref() {
                Some("answer in a list") => answer.content = vec![text()].into(),
                Some("answer twice") => answer.content = vec![text(), text()].into(),
                Some("answer aloud") => {
                    let audio = AudioContent::new("AAAA", "audio/wav");
                    answer.content = vec![SamplingMessageContentBlock::Audio(audio)].into();
                }
                _ => {}
            }
            Ok(answer)
        })
}
