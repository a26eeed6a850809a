//! An in-memory pipe whose messages a test records or rewrites.

use mcp_protocol::IntoService;
use mcp_transport_stdio::{Pipe, serve_io};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

use crate::prelude::*;

/// The side that sent a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

pub(super) type Transcript = Arc<Mutex<Vec<(Side, Value)>>>;

/// Creates a transport to this server and a record of its messages.
pub(super) fn tapped(server: impl IntoService) -> (Pipe<DuplexStream, DuplexStream>, Transcript) {
    let record = Transcript::default();
    let records = Arc::clone(&record);
    let transport = relayed(server, move |sender, message, line| {
        records.lock().expect("no panic").push((sender, message));
        line
    });
    (transport, record)
}

/// Creates a transport to this server on which `change` receives each message and its line, and returns the line to send.
pub(super) fn relayed(
    server: impl IntoService,
    change: impl Fn(Side, Value, String) -> String + Clone + Send + 'static,
) -> Pipe<DuplexStream, DuplexStream> {
    let (client_write, from_client) = tokio::io::duplex(1 << 16);
    let (to_server, server_read) = tokio::io::duplex(1 << 16);
    let (server_write, from_server) = tokio::io::duplex(1 << 16);
    let (to_client, client_read) = tokio::io::duplex(1 << 16);
    tokio::spawn(relay(from_client, to_server, Side::Client, change.clone()));
    tokio::spawn(relay(from_server, to_client, Side::Server, change));
    tokio::spawn(serve_io(server, server_read, server_write));
    Pipe::new(client_read, client_write)
}

async fn relay(
    from: DuplexStream,
    mut to: DuplexStream,
    sender: Side,
    change: impl Fn(Side, Value, String) -> String,
) {
    let mut lines = BufReader::new(from).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message = serde_json::from_str(&line).expect("a line is JSON");
        let line = change(sender, message, line);
        if to.write_all(format!("{line}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}
