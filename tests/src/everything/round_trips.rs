//! Tools and a prompt that request input on every revision: with server requests in a session, or
//! with input requests.

use mcp_server::{Ctx, Elicitation, HandlerError, Prompt, Tool};
use mcp_types::{
    CreateMessageRequestParams, CreateMessageResult, LoggingLevel, SamplingMessage,
    SamplingMessageContentBlock,
};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Name {
    /// What to call you
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Color {
    /// A color
    color: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Whether to go on
    ok: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Context {
    /// What this is about
    context: String,
}

pub(super) fn tools() -> Vec<Tool> {
    let mut tools = single();
    tools.extend(several());
    tools
}

/// Tools with one input request each.
fn single() -> Vec<Tool> {
    vec![
        Tool::new("test_input_required_result_elicitation", async |cx: Ctx| {
            let name = name(&cx, "user_name").await?;
            Ok::<_, HandlerError>(format!("Hello, {name}!"))
        })
        .description("Asks for a name"),
        Tool::new("test_input_required_result_sampling", async |cx: Ctx| {
            let answer = capital(&cx).await?;
            Ok::<_, HandlerError>(format!("Sampling response: {answer}"))
        })
        .description("Asks the model for a capital"),
        Tool::new("test_input_required_result_list_roots", async |cx: Ctx| {
            let roots = cx.named("client_roots").roots().await?;
            let uris: Vec<String> = roots.into_iter().map(|root| root.uri).collect();
            Ok::<_, HandlerError>(format!("Roots: {}", uris.join(", ")))
        })
        .description("Asks for the roots"),
        Tool::new(
            "test_input_required_result_request_state",
            async |cx: Ctx| {
                begin(&cx).await?;
                confirmed(&cx).await
            },
        )
        .description("Remembers something, then asks"),
        Tool::new(
            "test_input_required_result_tampered_state",
            async |cx: Ctx| {
                begin(&cx).await?;
                confirmed(&cx).await
            },
        )
        .description("Remembers something that must not be changed, then asks"),
        Tool::new(
            "test_input_required_result_capabilities",
            async |cx: Ctx| {
                let can = cx.client_capabilities();
                let samples = can.is_some_and(|can| can.sampling.is_some());
                let shows_forms = can.is_some_and(|can| can.elicitation.is_some());
                Ok::<_, HandlerError>(if samples {
                    capital(&cx).await?
                } else if shows_forms {
                    name(&cx, "user_name").await?
                } else {
                    "no capability to use".to_owned()
                })
            },
        )
        .description("Asks what the client can be asked"),
        Tool::new("test_missing_capability", async |cx: Ctx| {
            let samples = cx
                .client_capabilities()
                .is_some_and(|can| can.sampling.is_some());
            if !samples {
                // The input request itself reports the missing capability.
                capital(&cx).await?;
            }
            Ok::<_, HandlerError>("The client can sample")
        })
        .description("Needs a client with a model"),
    ]
}

/// Tools with several input requests, or with other messages before them.
fn several() -> Vec<Tool> {
    vec![
        Tool::new(
            "test_input_required_result_multiple_inputs",
            async |cx: Ctx| {
                begin(&cx).await?;
                let greeting =
                    CreateMessageRequestParams::new(vec![SamplingMessage::user("Say hello")], 50);
                let (greeter, rooted) = (cx.named("greeting"), cx.named("client_roots"));
                let (name, greeting, roots) = tokio::try_join!(
                    name(&cx, "user_name"),
                    async { Ok(text(&greeter.sample(greeting).await?)) },
                    async { Ok(rooted.roots().await?) },
                )?;
                Ok::<_, HandlerError>(format!("{greeting}, {name}: {} roots", roots.len()))
            },
        )
        .description("Asks user, model and host at once"),
        Tool::new("test_input_required_result_multi_round", async |cx: Ctx| {
            begin(&cx).await?;
            let name = name(&cx, "step1").await?;
            let color = cx
                .named("step2")
                .elicit::<Color>(format!("{name}, which color?"))
                .await?;
            let color = given(color)?.color;
            Ok::<_, HandlerError>(format!("{name} likes {color}"))
        })
        .description("Asks twice, the second time because of the first"),
        Tool::new("test_streaming_elicitation", async |cx: Ctx| {
            cx.progress(1.0, 2.0);
            cx.log(LoggingLevel::Info, "about to ask");
            name(&cx, "user_name").await
        })
        .description("Says something, then asks"),
        Tool::new("test_logging_tool", async |cx: Ctx| {
            cx.log(LoggingLevel::Info, "a message of level info");
            cx.log(LoggingLevel::Debug, "a message of level debug");
            tokio::task::yield_now().await;
            "Logged"
        })
        .description("Logs if it was asked to"),
    ]
}

pub(super) fn prompts() -> Vec<Prompt> {
    vec![
        Prompt::new("test_input_required_result_prompt", async |cx: Ctx| {
            let context = cx
                .named("user_context")
                .elicit::<Context>("What is this about?")
                .await?;
            Ok::<_, HandlerError>(format!("Talk about {}.", given(context)?.context))
        })
        .description("Asks what to talk about"),
    ]
}

/// A side effect that must not be repeated when the handler runs again.
async fn begin(cx: &Ctx) -> Result<(), HandlerError> {
    cx.memoize("begun", async {}).await
}

pub(super) async fn name(cx: &Ctx, key: &str) -> Result<String, HandlerError> {
    let answer = cx.named(key).elicit::<Name>("What is your name?").await?;
    Ok(given(answer)?.name)
}

async fn capital(cx: &Ctx) -> Result<String, HandlerError> {
    let question = SamplingMessage::user("What is the capital of France?");
    let params = CreateMessageRequestParams::new(vec![question], 100);
    Ok(text(&cx.named("capital_question").sample(params).await?))
}

async fn confirmed(cx: &Ctx) -> Result<&'static str, HandlerError> {
    let answer = cx
        .named("confirm")
        .elicit::<Confirm>("Shall it be done?")
        .await?;
    if given(answer)?.ok {
        Ok("state-ok")
    } else {
        Ok("state-ok, but not confirmed")
    }
}

pub(super) fn given<T>(answer: Elicitation<T>) -> Result<T, HandlerError> {
    answer
        .accepted()
        .ok_or_else(|| HandlerError::new("the user did not answer"))
}

/// Joins the texts of the model's response.
pub(super) fn text(answer: &CreateMessageResult) -> String {
    let texts = answer.content.iter().filter_map(|block| match block {
        SamplingMessageContentBlock::Text(text) => Some(&*text.text),
        _ => None,
    });
    texts.collect::<Vec<_>>().join(" ")
}
