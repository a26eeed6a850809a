//! Tools that return each kind of content: text, structured data, an image, audio, an embedded resource, a link, and an error.
//!
//! ```sh
//! cargo build --example content_types
//! mcp call measure -- target/debug/examples/content_types
//! mcp call chart values=[3,1,2] -- target/debug/examples/content_types
//! ```
//!
//! `measure` returns `{"celsius":21.5,"humidity":40}` as text for the model and as structured content for programs; clients read
//! the schema of the structured content in the list of tools.

use mcp_sdk::server::{CallToolResult, ContentBlock, HandlerError, Json, ResourceContents, Server};
use mcp_sdk::server::{audio, image, tool};
use schemars::JsonSchema;
use serde::Serialize;

/// A measurement.
#[derive(Serialize, JsonSchema)]
struct Measurement {
    /// The temperature in degrees Celsius.
    celsius: f64,
    /// The relative humidity in percent.
    humidity: u8,
}

/// Measures the climate of the room.
#[tool(read_only = true)]
fn measure() -> Json<Measurement> {
    Json(Measurement {
        celsius: 21.5,
        humidity: 40,
    })
}

/// Draws a bar for each value.
#[tool(read_only = true)]
fn chart(values: Vec<u32>) -> ContentBlock {
    let bars = values
        .iter()
        .enumerate()
        .map(|(row, width)| format!("<rect y='{}' width='{}' height='8'/>", row * 10, width * 10));
    let svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg'>{}</svg>",
        bars.collect::<String>()
    );
    // The bytes of the image; the result contains them in base64.
    image(svg, "image/svg+xml")
}

/// Plays a tone of one second.
#[tool(read_only = true)]
fn tone(
    /** in Hz */
    frequency: u32,
) -> ContentBlock {
    audio(wav(frequency), "audio/wav")
}

/// Returns a note as a resource, with its URI, and the link to another note that the client can read when it needs it.
#[tool(read_only = true)]
fn notes() -> Vec<ContentBlock> {
    let today = ResourceContents::text("note:///today", "Buy milk.").with_mime_type("text/plain");
    vec![
        ContentBlock::text("The note of today, and the one of yesterday:"),
        ContentBlock::resource(today),
        ContentBlock::resource_link("note:///yesterday", "yesterday"),
    ]
}

/// Divides two numbers.
#[tool(read_only = true)]
fn divide(dividend: f64, divisor: f64) -> Result<f64, HandlerError> {
    match divisor {
        // The model reads the text of the error, and can call the tool again.
        0.0 => Err(HandlerError::arguments("/divisor: must not be 0")),
        _ => Ok(dividend / divisor),
    }
}

/// Checks the configuration: an error with content, and data for programs.
#[tool(read_only = true)]
fn check() -> CallToolResult {
    CallToolResult::error("2 of 3 servers answer")
        .with_structured_content(serde_json::json!({ "missing": ["eu-3"] }))
}

#[tokio::main]
async fn main() -> Result<(), mcp_sdk::Error> {
    let server = Server::builder("contents", "1.0.0")
        .tools([measure::tool(), chart::tool(), tone::tool()])
        .tools([notes::tool(), divide::tool(), check::tool()]);
    Ok(mcp_sdk::stdio::serve(server).await?)
}

/// Creates a WAV file with a tone: one channel, 8,000 samples per second, 8 bits.
fn wav(frequency: u32) -> Vec<u8> {
    const RATE: u32 = 8_000;
    let mut file = b"RIFF".to_vec();
    file.extend((36 + RATE).to_le_bytes());
    file.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    file.extend(RATE.to_le_bytes());
    file.extend(RATE.to_le_bytes());
    file.extend(b"\x01\0\x08\0data");
    file.extend(RATE.to_le_bytes());
    let is_high = |sample: u32| (sample * frequency.min(RATE / 2) * 2 / RATE).is_multiple_of(2);
    file.extend((0..RATE).map(|sample| if is_high(sample) { 160 } else { 96 }));
    file
}
