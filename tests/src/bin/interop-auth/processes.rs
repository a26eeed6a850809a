//! Several processes with one stored sign-in.

use std::env;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use mcp_auth::OAuth;
use mcp_auth::client::{FileTokenStore, OAuthBuilder, SignInProgress};
use mcp_client::Client;
use mcp_host::{Host, StderrLog};
use mcp_transport_http::HttpTransport;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::browser::Browser;
use crate::door::World;
use crate::report::{Fault, Outcome, same, worked};
use crate::tokens::SOON;

/// How often two processes need a new token at the same time.
const TRIES: u64 = 100;

/// A client whose tokens are in this file. Its clock is ahead, so that they are about to expire.
fn oauth(url: &str, tokens: &Path, ahead: Duration) -> OAuthBuilder {
    OAuth::client(url)
        .client_name("interop-auth", None)
        .store(FileTokenStore::new(tokens))
        .clock(move || SystemTime::now() + ahead)
}

/// Two hosts in two processes renew a token that is valid once: exactly one does it, and both go on.
pub(crate) async fn one_refresh(world: &World) -> Outcome {
    let name = format!("interop-auth-{}", std::process::id());
    let folder = env::temp_dir().join(name);
    std::fs::create_dir_all(&folder)?;
    let tokens = folder.join("tokens.json");
    let alice = Browser::of("alice");
    let auth = oauth(&world.brief, &tokens, Duration::ZERO).user_agent(alice.in_place());
    auth.build()?.sign_in().await?;
    for number in 1..=TRIES {
        let ahead = number * SOON;
        let mut hosts = [(); 2].map(|()| start(&world.brief, &tokens, ahead));
        for host in &mut hosts {
            let host = host.as_mut().map_err(|error| error.to_string())?;
            ready(host).await?;
        }
        let mut refreshes = 0;
        // Both have been started, and wait for this.
        for host in hosts.iter_mut().flatten() {
            let mut stdin = host.stdin.take().ok_or("no stdin")?;
            stdin.write_all(b"\n").await?;
        }
        for host in hosts.into_iter().flatten() {
            refreshes += ended(host).await?;
        }
        same(&format!("refreshes in try {number}"), refreshes, 1)?;
    }
    same("visits", alice.visits().len(), 1)?;
    std::fs::remove_dir_all(&folder)?;
    worked(format!(
        "one refresh in each of {TRIES} tries, by two hosts at once"
    ))
}

fn start(url: &str, tokens: &Path, ahead: u64) -> std::io::Result<Child> {
    Command::new(env::current_exe()?)
        .args(["host", url])
        .arg(tokens)
        .arg(ahead.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
}

/// Waits until a process has started.
async fn ready(host: &mut Child) -> Result<(), Fault> {
    let stdout = host.stdout.as_mut().ok_or("no stdout")?;
    let mut line = [0; 6];
    stdout.read_exact(&mut line).await?;
    same("the first line", &line, b"ready\n")
}

/// Returns the number of refreshes of a process that has called a tool.
async fn ended(mut host: Child) -> Result<usize, Fault> {
    let mut said = String::new();
    let stdout = host.stdout.as_mut().ok_or("no stdout")?;
    stdout.read_to_string(&mut said).await?;
    let status = host.wait().await?;
    same("the exit code", status.code(), Some(0))?;
    let (refreshes, orders) = said.trim().split_once(' ').ok_or("no result")?;
    same("orders", orders, "7, 8")?;
    Ok(refreshes.parse()?)
}

/// A host of the protected server: waits for a line, calls a tool, and prints the number of refreshes and the result.
#[expect(clippy::print_stdout, reason = "the other process reads it")]
pub(crate) async fn host(url: &str, tokens: &str, ahead: &str) -> Result<(), Fault> {
    let refreshes = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&refreshes);
    let ahead = Duration::from_secs(ahead.parse()?);
    let auth = oauth(url, Path::new(tokens), ahead).on_progress(move |step| {
        if *step == SignInProgress::Refreshed {
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    let (auth, url) = (auth.build()?, url.to_owned());
    println!("ready");
    let mut line = String::new();
    BufReader::new(tokio::io::stdin())
        .read_line(&mut line)
        .await?;
    let connector = move |_: &StderrLog| Ok(HttpTransport::new(&url)?.authorize(auth.clone()));
    let host = Host::builder(Client::builder("interop-auth", "1.0.0"))
        .connector("orders", connector)
        .start();
    host.settled().await;
    let result = host.call_tool("orders__list_orders", json!({})).await?;
    host.close().await;
    println!(
        "{} {}",
        refreshes.load(Ordering::Relaxed),
        result.joined_text()
    );
    Ok(())
}
