//! Configurations that change while the host runs.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_host::{Config, ConfigFormat, Host, ServerConfig, ServerState};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::support::{Folder, Killable, call, client, server};

/// A program that is never ready.
fn silent(seconds: u32) -> Value {
    json!({ "command": "/bin/sleep", "args": [seconds.to_string()] })
}

fn write(path: &Path, servers: &Value) {
    std::fs::write(path, json!({ "mcpServers": servers }).to_string()).unwrap();
}

fn names(host: &Host) -> Vec<String> {
    let servers = host.servers().into_iter();
    servers.map(|server| server.name().to_owned()).collect()
}

#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn only_the_servers_that_differ_are_started_and_closed() {
    let config = |text: Value| Config::parse(&text.to_string(), ConfigFormat::Standard).unwrap();
    let first =
        json!({ "mcpServers": { "a": silent(100), "b": silent(100), "c": silent(100), "x": 5 } });
    let killable = Killable::default();
    let fine = killable.connector(|_| Some(server(["echo".to_owned()])));
    let host = Host::builder(client())
        .servers(config(first.clone()))
        .connector("own", fine)
        .start();
    assert_eq!(names(&host), ["a", "b", "c", "own", "x"]);
    let kept = host.server("a").unwrap();
    let replaced = host.server("b").unwrap();
    assert!(host.apply(config(first)).await.is_empty());

    let second = json!({ "mcpServers": {
        "a": silent(100), "b": silent(200), "d": silent(100), "own": silent(1), "x": 5
    } });
    let changes = host.apply(config(second)).await;
    assert_eq!(changes.added, ["d"]);
    assert_eq!(changes.removed, ["c"]);
    assert_eq!(changes.replaced, ["b"]);
    assert_eq!(names(&host), ["a", "b", "d", "own", "x"]);
    assert_ne!(kept.state(), ServerState::Off);
    assert_eq!(replaced.state(), ServerState::Off);
    assert_ne!(host.server("b").unwrap().state(), ServerState::Off);
    // The application's own server is not replaced by one of the configuration.
    host.server("own")
        .unwrap()
        .wait_for(ServerState::is_connected)
        .await;
    assert_eq!(killable.starts(), 1);
    host.close().await;
}

#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn files_are_read_again_when_they_change() {
    let folder = Folder::new("reload");
    let path = folder.0.join("mcp.json");
    write(&path, &json!({ "a": silent(1) }));
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let reloads = Arc::clone(&seen);
    let killable = Killable::default();
    let fine = killable.connector(|_| Some(server(["echo".to_owned()])));
    let config = Config::read(&path, ConfigFormat::Standard).unwrap();
    let host = Host::builder(client())
        .servers(config.with_server("inline", ServerConfig::stdio("/bin/sleep", ["9"])))
        .connector("own", fine)
        .watch_config(move |reload| {
            let text = match reload {
                Ok(changes) => format!(
                    "+{:?} -{:?} ~{:?}",
                    changes.added, changes.removed, changes.replaced
                ),
                Err(error) => error.to_string(),
            };
            reloads.lock().unwrap().push(text);
        })
        .start();
    let reloaded = async || {
        sleep(Duration::from_secs(5)).await;
        std::mem::take(&mut *seen.lock().unwrap())
    };
    assert!(reloaded().await.is_empty());

    write(&path, &json!({ "a": silent(1), "other": silent(10) }));
    assert_eq!(reloaded().await, [r#"+["other"] -[] ~[]"#]);
    assert_eq!(names(&host), ["a", "inline", "other", "own"]);

    // A file that is not valid changes nothing.
    std::fs::write(&path, "{ \"mcpServers\": ").unwrap();
    let problem = reloaded().await;
    assert!(
        problem.len() == 1 && problem[0].contains("mcp.json"),
        "{problem:?}"
    );
    assert_eq!(names(&host), ["a", "inline", "other", "own"]);

    write(&path, &json!({ "other": silent(20) }));
    assert_eq!(reloaded().await, [r#"+[] -["a"] ~["other"]"#]);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(reloaded().await, [r#"+[] -["other"] ~[]"#]);
    assert_eq!(names(&host), ["inline", "own"]);
    assert_eq!(call(&host, "own__echo").await, "echo");
    host.close().await;
}

#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn a_change_between_the_first_read_and_the_start_is_noticed() {
    let folder = Folder::new("reload-early");
    let path = folder.0.join("mcp.json");
    write(&path, &json!({ "a": silent(1) }));
    let config = Config::read(&path, ConfigFormat::Standard).unwrap();
    write(&path, &json!({ "a": silent(1), "other": silent(10) }));
    let host = Host::builder(client())
        .servers(config)
        .watch_config(|_| {})
        .start();
    assert_eq!(names(&host), ["a"]);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(names(&host), ["a", "other"]);
    host.close().await;
}
