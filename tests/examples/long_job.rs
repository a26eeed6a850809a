//! A job of ten minutes that survives a crash of its server.
//!
//! `cargo run --example long_job` shows it: the program starts itself a second time as the server, asks it for a book of
//! ten chapters, kills it in the fifth, and starts it again. The caller waits in one await and does not notice the restart. A
//! chapter takes a minute; after `--quick` at the end, half a second.
//!
//! `cargo run --example long_job -- serve 127.0.0.1:8000 tasks.redb` is the server alone.

#![allow(
    clippy::print_stdout,
    reason = "the example prints what it does; as a server, it prints only its address"
)]

use std::error::Error;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use mcp_client::serde_json::json;
use mcp_client::{Client, Timeouts};
use mcp_server::{Ctx, HandlerError, Server, ServerBuilder, State, TaskOptions, tool};
use mcp_store_redb::{OpenError, Persist as _, RedbStore};
use mcp_transport_http::{Endpoint, HttpTransport, serve_with, shutdown_signal};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::sleep;

/// Chapters of every book.
pub(crate) const CHAPTERS: u32 = 10;

/// The press that prints the books.
#[derive(Debug, Clone)]
pub(crate) struct Press {
    /// How long a chapter takes.
    minute: Duration,
    printed: watch::Sender<u32>,
}

impl Press {
    /// Creates a press that needs this long for a chapter.
    pub(crate) fn new(minute: Duration) -> Self {
        Self {
            minute,
            printed: watch::Sender::new(0),
        }
    }

    /// The number of printed chapters.
    #[allow(dead_code, reason = "the test of this example waits for it")]
    pub(crate) fn printed(&self) -> watch::Receiver<u32> {
        self.printed.subscribe()
    }

    async fn print(&self) -> u32 {
        sleep(self.minute).await;
        self.printed.send_modify(|printed| *printed += 1);
        *self.printed.borrow()
    }
}

/// How shall it be bound?
#[derive(Deserialize, JsonSchema)]
struct Binding {
    /// In leather, with gold.
    leather: bool,
}

/// Prints a book.
#[tool(task = "required", resumable)]
async fn print_book(
    /** its title */
    title: String,
    State(press): State<Press>,
    cx: Ctx,
) -> Result<String, HandlerError> {
    for chapter in 1..=CHAPTERS {
        cx.status(&format!("chapter {chapter} of {CHAPTERS}"));
        // A memoized chapter is not printed again when the handler restarts in another process.
        cx.memoize(&format!("chapter {chapter}"), press.print())
            .await?;
    }
    // The client may take its time, and the server may be restarted meanwhile.
    let binding = cx
        .named("binding")
        .elicit::<Binding>("How shall it be bound?")
        .await?;
    let leather = binding.accepted().is_some_and(|binding| binding.leather);
    Ok(format!(
        "{title}, bound in {}",
        if leather { "leather" } else { "paper" }
    ))
}

/// Creates the server, with its tasks in a file.
///
/// # Errors
/// The file cannot be opened; it may be in use.
pub(crate) fn server(press: Press, file: &Path) -> Result<ServerBuilder<Press>, OpenError> {
    let look = press.minute / 10;
    Ok(Server::builder("printer", "1.0.0")
        .state(press)
        .tool(print_book::tool())
        .task_options(TaskOptions::new().with_poll_interval(look))
        .persist(&RedbStore::open(file)?))
}

/// Requests a book and waits for it, in one await. `tell` receives each status.
///
/// # Errors
/// The call fails, so there is no book.
pub(crate) async fn ask_for_book(
    url: &str,
    tell: impl Fn(&str) + Send + Sync + 'static,
) -> Result<String, Box<dyn Error + Send + Sync>> {
    let client = Client::builder("reader", "1.0.0")
        .task_calls()
        .on_elicit(async |form| form.accept(json!({ "leather": true })))
        .connect(HttpTransport::new(url)?)
        .await?;
    let (silence, hour) = (Duration::from_secs(30), Duration::from_secs(3_600));
    let book = client
        .call_tool("print_book", json!({ "title": "On Tea" }))
        .timeouts(Timeouts::new(silence, hour))
        .on_status(move |state| tell(state.message.as_deref().unwrap_or("begun")))
        .await?;
    Ok(book.joined_text())
}

#[allow(dead_code, reason = "the tests call what is above")]
#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (words, minute) = match &*words {
        [words @ .., "--quick"] => (words, Duration::from_millis(500)),
        words => (words, Duration::from_secs(60)),
    };
    match *words {
        ["serve", address, file] => serve(address, Path::new(file), Press::new(minute)).await,
        [] => show(minute).await,
        _ => Err("usage: long_job [serve ADDRESS FILE] [--quick]".into()),
    }
}

async fn serve(
    address: &str,
    file: &Path,
    press: Press,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let endpoint = Endpoint::new(server(press, file)?)?;
    let listener = TcpListener::bind(address).await?;
    println!("{}", listener.local_addr()?);
    Ok(serve_with(listener, endpoint, shutdown_signal()).await?)
}

async fn show(minute: Duration) -> Result<(), Box<dyn Error + Send + Sync>> {
    let file = std::env::temp_dir().join(format!("long-job-{}.redb", std::process::id()));
    let quick = minute < Duration::from_secs(60);
    let (mut first, address) = start("127.0.0.1:0", &file, quick).await?;
    println!("the server is process {:?}", first.id());
    let url = format!("http://{address}/mcp");
    let book = tokio::spawn(async move { ask_for_book(&url, |how| println!("  {how}")).await });
    sleep(minute * 9 / 2).await;
    first.kill().await?;
    println!("the server is killed");
    let (mut second, _) = start(&address, &file, quick).await?;
    println!("the server is process {:?}", second.id());
    let book = book.await?;
    second.kill().await?;
    std::fs::remove_file(&file)?;
    println!("{}", book?);
    Ok(())
}

/// Starts this program as the server; returns the address on which it listens.
async fn start(
    address: &str,
    file: &Path,
    quick: bool,
) -> Result<(Child, String), Box<dyn Error + Send + Sync>> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["serve", address])
        .arg(file)
        .args(quick.then_some("--quick"))
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut listening = String::new();
    let said = child.stdout.take().ok_or("the server has no stdout")?;
    BufReader::new(said).read_line(&mut listening).await?;
    Ok((child, listening.trim().to_owned()))
}
