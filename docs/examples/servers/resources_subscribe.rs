//! Resources: text, bytes, a template, a list that is read page by page, and notifications for clients that subscribed.
//!
//! ```sh
//! cargo run --example resources_subscribe -- 127.0.0.1:8000
//! mcp watch http://127.0.0.1:8000/mcp note:///welcome
//! mcp call http://127.0.0.1:8000/mcp write_note name=welcome text="Good morning"
//! ```
//!
//! When the third line changes the note, the second prints `{"event":"resource","uri":"note:///welcome"}`.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_sdk::http::{Endpoint, serve_with, shutdown_signal};
use mcp_sdk::server::types::Resource as ListedResource;
use mcp_sdk::server::{Change, Ctx, Cursor, ResourcePage, Server, State, resource, tool};
use tokio::net::TcpListener;

/// The number of notes in a page of the list.
const ROWS: usize = 2;

/// The database: texts by name.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<BTreeMap<String, String>>>);

impl Notes {
    fn rows(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn uri(name: &str) -> String {
    format!("note:///{name}")
}

/// A note. If it does not exist, clients receive "resource not found".
#[resource("note:///{name}", mime = "text/plain")]
async fn note(name: String, State(notes): State<Notes>) -> Option<String> {
    notes.rows().get(&name).cloned()
}

/// The logo: a resource of bytes, which clients receive in base64.
#[resource("logo:///logo.svg", mime = "image/svg+xml")]
fn logo() -> Vec<u8> {
    b"<svg xmlns='http://www.w3.org/2000/svg'><circle r='8'/></svg>".to_vec()
}

/// Lists the notes in the order of their names. `last` is the position that the page before returned.
async fn list(Cursor(last): Cursor, State(notes): State<Notes>) -> ResourcePage {
    let rows = notes.rows();
    let from = last.map_or(Bound::Unbounded, Bound::Excluded);
    let names = rows
        .range((from, Bound::Unbounded))
        .take(ROWS)
        .map(|(name, _)| name);
    let page: Vec<_> = names
        .map(|name| ListedResource::new(uri(name), name))
        .collect();
    let next = page
        .last()
        .filter(|_| page.len() == ROWS)
        .map(|note| note.name.clone());
    ResourcePage::new(page, next)
}

/// Writes a note.
#[tool]
async fn write_note(
    /** letters and digits */
    name: String,
    text: String,
    State(notes): State<Notes>,
    cx: Ctx,
) -> String {
    let is_new = notes.rows().insert(name.clone(), text).is_none();
    // Clients that subscribed to this note are notified, and read it again.
    cx.changed(Change::Resource(uri(&name)));
    if is_new {
        cx.changed(Change::Resources);
    }
    format!("wrote {}", uri(&name))
}

#[tokio::main]
async fn main() -> Result<(), mcp_sdk::Error> {
    // Without a subscriber, nothing is logged.
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    let notes = Notes::default();
    notes
        .rows()
        .insert("welcome".to_owned(), "Hello".to_owned());
    let server = Server::builder("notes", "1.0.0")
        .state(notes)
        .resource(note::resource())
        .resource(logo::resource())
        .list_resources(list)
        .tool(write_note::tool());
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:8000")).await?;
    eprintln!("serving http://{}/mcp", listener.local_addr()?);
    Ok(serve_with(listener, Endpoint::new(server)?, shutdown_signal()).await?)
}
