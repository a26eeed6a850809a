//! Servers in memory that can be killed.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use mcp_client::{Client, ClientBuilder};
use mcp_host::{Connector, StderrLog};
use mcp_server::{Server, ServerBuilder, Tool};
use mcp_transport_stdio::duplex;
use tokio::task::AbortHandle;

pub(crate) fn client() -> ClientBuilder {
    Client::builder("host", "1.0.0")
}

/// A server with tools that return their own names.
pub(crate) fn server(tools: impl IntoIterator<Item = String>) -> ServerBuilder {
    let tools: Vec<_> = tools
        .into_iter()
        .map(|name| Tool::new(name.clone(), move || name.clone()))
        .collect();
    Server::builder("fixture", "1.0.0")
        .page_size(1_000)
        .tools(tools)
}

/// A server that is started for each connection and can be killed.
#[derive(Clone, Default)]
pub(crate) struct Killable {
    running: Arc<Mutex<Option<AbortHandle>>>,
    starts: Arc<AtomicUsize>,
}

impl Killable {
    /// Returns a connector. `server` receives the number of the start, from 0; without a server
    /// the connection ends at once.
    pub(crate) fn connector<F>(&self, server: F) -> impl Connector + use<F>
    where
        F: Fn(usize) -> Option<ServerBuilder> + Send + Sync + 'static,
    {
        let killable = self.clone();
        move |_: &StderrLog| {
            let number = killable.starts.fetch_add(1, Ordering::SeqCst);
            let (transport, end) = duplex(64 << 10);
            if let Some(server) = server(number) {
                let task = tokio::spawn(async move {
                    let _ = end.serve(server).await;
                });
                *killable.running.lock().unwrap() = Some(task.abort_handle());
            }
            Ok(transport)
        }
    }

    pub(crate) fn kill(&self) {
        self.running.lock().unwrap().take().unwrap().abort();
    }

    pub(crate) fn starts(&self) -> usize {
        self.starts.load(Ordering::SeqCst)
    }
}

/// A folder that is removed on drop.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("mcp-host-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
