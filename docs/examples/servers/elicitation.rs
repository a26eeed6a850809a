//! Input from the user: a form with defaults, choices and limits, a confirmation before the handler runs, and a page in the browser.
//!
//! ```sh
//! cargo build --example elicitation
//! mcp call book -- target/debug/examples/elicitation
//! mcp call pay amount=20 -- target/debug/examples/elicitation
//! ```
//!
//! `mcp` asks for each field of the form; a host shows it in its window. The handlers are the same on every revision.

use mcp_sdk::server::{Ask, Ctx, Elicitation, HandlerError, Server, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The form of `book`: a flat struct. The client shows it and sends the values; the server validates them again.
#[derive(Deserialize, JsonSchema)]
struct Booking {
    /// The name of the guest.
    #[schemars(length(min = 2, max = 80))]
    guest: String,
    /// The address for the confirmation.
    #[schemars(email)]
    email: Option<String>,
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 8))]
    seats: u8,
    #[serde(default)]
    table: Table,
}

fn two() -> u8 {
    2
}

/// A choice, with the titles that the user sees.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Table {
    #[default]
    #[schemars(title = "At the window")]
    Window,
    #[schemars(title = "In the garden")]
    Garden,
}

/// Books a table.
#[tool]
async fn book(cx: Ctx) -> Result<String, HandlerError> {
    Ok(match cx.elicit::<Booking>("Your booking, please").await? {
        Elicitation::Accepted(Booking {
            guest,
            email,
            seats,
            table,
        }) => {
            let confirmed = email.map_or(String::new(), |email| format!(", confirmed to {email}"));
            format!("{seats} seats for {guest}, {table:?}{confirmed}")
        }
        Elicitation::Declined => "The user does not want a table.".to_owned(),
        // The user has closed the form without a decision: the model may ask again later.
        Elicitation::Cancelled => "The user has not decided.".to_owned(),
    })
}

/// Really cancel the booking?
#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Yes, cancel it.
    sure: bool,
}

/// Cancels a booking. The form of an `Ask` parameter is shown before the function is called.
#[tool(destructive = true)]
fn cancel(
    /** number of the booking */
    booking: u32,
    Ask(confirm): Ask<Confirm>,
) -> String {
    match confirm.sure {
        true => format!("booking {booking} is cancelled"),
        false => format!("booking {booking} stays"),
    }
}

/// Pays a deposit. The card number is entered on a page of the bank: neither the client nor the model sees it.
#[tool]
async fn pay(
    /** in euros */
    amount: u32,
    cx: Ctx,
) -> Result<String, HandlerError> {
    let page = format!("https://bank.example/pay?amount={amount}");
    let visit = cx.elicit_url("Please pay the deposit", page).await?;
    let Some(visit) = visit.accepted() else {
        return Ok("nothing was paid".to_owned());
    };
    // Call this when the bank reports the payment: clients with sessions are notified.
    visit.complete();
    Ok(format!("{amount} euros are on their way"))
}

#[tokio::main]
async fn main() -> Result<(), mcp_sdk::Error> {
    let server =
        Server::builder("restaurant", "1.0.0").tools([book::tool(), cancel::tool(), pay::tool()]);
    Ok(mcp_sdk::stdio::serve(server).await?)
}
