//! A notebook as an MCP server: over stdio, or over HTTP if an address is given.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use mcp_server::middleware::{Next, Request};
use mcp_server::{
    ContentBlock, Ctx, ErrorCode, ErrorObject, LoggingLevel, Server, ServerBuilder, State,
};
use mcp_server::{image, tool, tools};

/// The notes, shared by all handlers.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    fn with<T>(&self, use_notes: impl FnOnce(&mut Vec<String>) -> T) -> T {
        use_notes(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[tools]
impl Notes {
    /// Adds a note and returns its number.
    #[tool]
    async fn add(
        &self,
        /** the text */
        text: String,
        cx: Ctx,
    ) -> usize {
        let number = self.with(|notes| {
            notes.push(text);
            notes.len()
        });
        cx.log(LoggingLevel::Info, format!("note {number} was added"));
        number
    }

    /// Reads a note.
    #[tool(read_only = true)]
    async fn read(
        &self,
        /** the number, from 1 */
        number: usize,
    ) -> Result<String, ErrorObject> {
        let note = self.with(|notes| notes.get(number.wrapping_sub(1)).cloned());
        note.ok_or_else(|| ErrorObject::new(ErrorCode(1404), format!("there is no note {number}")))
    }
}

/// Draws how long the notes are.
#[tool(read_only = true)]
async fn chart(State(notes): State<Notes>) -> ContentBlock {
    let bar = |(row, note): (usize, &String)| {
        format!("<rect y='{}' width='{}' height='8'/>", row * 10, note.len())
    };
    let bars: String = notes.with(|notes| notes.iter().enumerate().map(bar).collect());
    let svg = format!("<svg xmlns='http://www.w3.org/2000/svg'>{bars}</svg>");
    image(svg, "image/svg+xml")
}

fn server() -> ServerBuilder {
    let notes = Notes::default();
    let drawing = Server::builder("drawing", "1.0.0")
        .state(notes.clone())
        .tool(chart::tool());
    Server::builder("notebook", "1.0.0")
        .tools(notes.tools())
        .mount("draw", drawing)
        .layer(async |request: Request, next: Next| {
            let (method, start) = (request.method().to_owned(), Instant::now());
            let response = next.run(request).await;
            eprintln!("{method} took {:?}", start.elapsed());
            response
        })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1) {
        Some(address) => mcp_transport_http::serve(address, server()).await?,
        None => mcp_transport_stdio::serve(server()).await?,
    }
    Ok(())
}
