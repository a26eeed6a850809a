//! Servers in memory that can be killed.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use mcp_client::{Client, ClientBuilder};
use mcp_host::{Connector, ConsentRequest, Decision, Host, StderrLog};
use mcp_server::{Server, ServerBuilder, Tool};
use mcp_transport_stdio::duplex;
use serde_json::{Value, json};
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

/// Calls a tool without arguments, and returns its text or the error.
pub(crate) async fn call(host: &Host, tool: &str) -> String {
    host.settled().await;
    match host.call_tool(tool, json!({})).await {
        Ok(result) => result.joined_text(),
        // Without a session, a call whose input request fails is not repeated.
        Err(error) => format!("error: {error}"),
    }
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

/// A writer that others can read, or that fails.
#[derive(Clone, Default)]
pub(crate) struct Log {
    pub(crate) text: Arc<Mutex<Vec<u8>>>,
    pub(crate) is_full: bool,
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.is_full {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => self.text.lock().unwrap().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    pub(crate) fn lines(&self) -> Vec<Value> {
        let text = self.text.lock().unwrap();
        let lines = text
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty());
        lines
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }
}

/// A folder that is removed on drop.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("mcp-host-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // A test that was killed can have left a folder, and process ids are used again.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// The number of lists in this cache folder that are completely written.
    pub(crate) fn lists(&self) -> usize {
        let files = std::fs::read_dir(&self.0).into_iter().flatten();
        let is_list = |file: &std::fs::DirEntry| {
            file.path()
                .extension()
                .is_some_and(|extension| extension == "json")
        };
        files.flatten().filter(is_list).count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Keeps the requests, and answers all in the same way.
#[derive(Clone, Default)]
pub(crate) struct Person(Arc<Mutex<Vec<String>>>);

impl Person {
    pub(crate) fn answers(&self, decision: Decision) -> impl mcp_host::Consent + use<> {
        let texts = Arc::clone(&self.0);
        move |request: ConsentRequest| {
            texts.lock().unwrap().push(request.to_string());
            async move { decision }
        }
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}
