//! Tools that run as tasks for clients that support tasks.

use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_server::{Args, Ctx, HandlerError, TaskMode, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::round_trips::{given, name};

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    /// Whom to greet
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Slow {
    /// How long to compute
    seconds: f64,
    /// What to call the result
    #[serde(default)]
    label: String,
}

#[derive(Deserialize, JsonSchema)]
struct File {
    /// What to delete
    filename: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Whether to go on
    confirm: bool,
}

#[derive(Deserialize, JsonSchema)]
struct TeamMember {
    /// The name of the member
    name: String,
    /// Whether they come
    confirm: bool,
}

pub(super) fn tools() -> Vec<Tool> {
    let mut tools = working();
    tools.extend(asking());
    tools
}

/// Tools that compute, and tools that fail.
fn working() -> Vec<Tool> {
    vec![
        Tool::new("greet", |Args(args): Args<Greeting>| {
            format!("Hello, {}!", args.name)
        })
        .description("Never a task"),
        Tool::new("slow_compute", async |Args(args): Args<Slow>, cx: Ctx| {
            // An hour is the limit.
            let seconds = args.seconds.clamp(0.0, 3_600.0);
            cx.status("computing");
            tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
            format!("computed {} in {seconds} s", args.label)
        })
        .description("Takes its time")
        .task(TaskMode::Optional),
        Tool::new("failing_job", async || {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Err::<String, _>("the job failed")
        })
        .description("Fails in a way that a model can read")
        .task(TaskMode::Required),
        Tool::new("protocol_error_job", async || {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let error = ErrorObject::internal("the job cannot be done");
            Err::<String, _>(HandlerError::protocol(error))
        })
        .description("Fails with an error of the protocol")
        .task(TaskMode::Required),
    ]
}

/// Tools that request input.
fn asking() -> Vec<Tool> {
    vec![
        Tool::new("confirm_delete", async |Args(file): Args<File>, cx: Ctx| {
            let message = format!("Delete {}?", file.filename);
            let answer = cx.named("confirm").elicit::<Confirm>(message).await?;
            let confirmed = answer.accepted().is_some_and(|it| it.confirm);
            let what = if confirmed { "Deleted" } else { "Kept" };
            Ok::<_, HandlerError>(format!("{what} {}", file.filename))
        })
        .description("Pretends to delete a file, if the user confirms it")
        .task(TaskMode::Required),
        Tool::new("multi_input", async |cx: Ctx| {
            let (first, second) = (cx.named("first"), cx.named("second"));
            let (first, second) = tokio::try_join!(
                first.elicit::<TeamMember>("Enter the first team member"),
                second.elicit::<TeamMember>("Enter the second team member"),
            )?;
            let come = [given(first)?, given(second)?].map(|member| {
                let comes = if member.confirm {
                    "comes"
                } else {
                    "does not come"
                };
                format!("{} {comes}", member.name)
            });
            Ok::<_, HandlerError>(come.join(", "))
        })
        .description("Requests two forms at once")
        .task(TaskMode::Required),
        Tool::new("test_tool_with_task", async |cx: Ctx| {
            let name = name(&cx, "user_name").await?;
            cx.detach().await?;
            tokio::time::sleep(Duration::from_millis(200)).await;
            Ok::<_, HandlerError>(format!("Hello, {name}!"))
        })
        .description("Asks first, and is a task from there on")
        .task(TaskMode::Required)
        .detachable(),
    ]
}
