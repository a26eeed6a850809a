//! A server and a client in one file, talking over a real child process.
//!
//! Run it with `cargo run --example quickstart`. The program starts itself a second time as the
//! server, so this is what happens between any host and any server: the client spawns the
//! process, shakes hands, lists the tools, calls one that reports progress, answers an
//! elicitation of another tool, and shuts the server down gracefully.

#![allow(
    clippy::print_stdout,
    reason = "the conversation is the point; the server prints nothing"
)]

use mcp_client::serde_json::json;
use mcp_client::{Client, Progress};
use mcp_server::{Args, Ctx, Elicitation, Server, ServerBuilder, Tool};
use mcp_transport_stdio::ChildProcess;
use schemars::JsonSchema;
use serde::Deserialize;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() == Some("serve") {
        return Ok(mcp_transport_stdio::serve(server()).await?);
    }
    converse().await
}

/// What to brew.
#[derive(Deserialize, JsonSchema)]
struct Brew {
    /// How many cups.
    cups: u32,
}

/// The form for the user.
#[derive(Deserialize, JsonSchema)]
struct Taste {
    /// Spoons of sugar.
    sugar: u8,
    /// With milk?
    milk: bool,
}

fn server() -> ServerBuilder {
    let brew = Tool::new("brew", async |Args(brew): Args<Brew>, cx: Ctx| {
        for cup in 1..=brew.cups {
            cx.progress_with(cup.into(), Some(brew.cups.into()), "brewing");
        }
        format!("{} cups of tea", brew.cups)
    });
    let order = Tool::new("order", async |cx: Ctx| {
        Ok::<_, mcp_server::HandlerError>(match cx.elicit::<Taste>("How do you take it?").await? {
            Elicitation::Accepted(taste) => {
                let milk = if taste.milk { "with" } else { "without" };
                format!("one tea, {} sugar, {milk} milk", taste.sugar)
            }
            Elicitation::Declined | Elicitation::Cancelled => "no tea then".to_owned(),
        })
    });
    Server::builder("teahouse", "1.0.0")
        .instructions("Ask before you brew more than ten cups.")
        .tool(brew.description("Brews tea."))
        .tool(order.description("Asks how the guest takes tea, then orders it."))
}

async fn converse() -> Result<(), Box<dyn std::error::Error>> {
    let server = ChildProcess::new(std::env::current_exe()?).arg("serve");
    println!("client  starts the server as a child process and shakes hands");
    let client = Client::builder("quickstart", "1.0.0")
        .on_elicit(async |form| {
            println!("server  asks: {}", form.params.message);
            println!("client  answers for the user: two sugars, milk");
            form.accept(json!({ "sugar": 2, "milk": true }))
        })
        .connect(server)
        .await?;
    let (info, revision) = (client.server_info(), client.revision());
    println!(
        "server  is {} {}, revision {revision}",
        info.name, info.version
    );
    println!("server  advises: {}", client.instructions().unwrap_or("-"));

    println!("client  lists the tools");
    for tool in client.list_tools().await? {
        let description = tool.description.unwrap_or_default();
        println!("server  offers {}: {description}", tool.name);
    }

    println!("client  calls brew with cups = 3");
    let tea = client
        .call_tool("brew", json!({ "cups": 3 }))
        .on_progress(|p: Progress| {
            let total = p.total.map_or("?".to_owned(), |total| total.to_string());
            println!("server  reports {} of {total}", p.progress);
        })
        .await?;
    println!("server  answers: {}", tea.joined_text());

    println!("client  calls brew with cups = \"many\"");
    let mistake = client.call_tool("brew", json!({ "cups": "many" })).await?;
    println!("server  answers: {}", mistake.joined_text());

    println!("client  calls order");
    let order = client.call_tool("order", json!({})).await?;
    println!("server  answers: {}", order.joined_text());

    client.close().await?;
    println!("client  closed the connection; the server has exited");
    Ok(())
}
