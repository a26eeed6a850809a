//! The example `long_job`, with two runtimes instead of two processes.

#[path = "../examples/long_job.rs"]
mod example;

use std::net::SocketAddr;
use std::path::Path;

use example::{CHAPTERS, Press, ask_for_book, server};
use mcp_transport_http::serve_with;
use tokio::runtime::{Builder, Runtime};

use crate::prelude::*;

/// Everything that runs in it ends with it.
fn process() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
}

/// Serves the example and returns its address.
async fn serve(address: &str, press: &Press, file: &Path) -> SocketAddr {
    let listener = TcpListener::bind(address).await.unwrap();
    let address = listener.local_addr().unwrap();
    let endpoint = Endpoint::new(server(press.clone(), file).unwrap()).unwrap();
    tokio::spawn(serve_with(listener, endpoint, std::future::pending()));
    address
}

#[test]
fn a_long_job_continues_after_a_restart() {
    let name = format!("long-job-{}.redb", std::process::id());
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let press = Press::new(Duration::from_millis(100));
    let mut printed = press.printed();
    let caller = process();

    let before = process();
    let address = before.block_on(serve("127.0.0.1:0", &press, &file));
    let url = format!("http://{address}/mcp");
    let calling = caller.spawn(async move { ask_for_book(&url, |_| {}).await.unwrap() });
    // The press knows how far it is; a poll of the task can miss a chapter.
    caller
        .block_on(printed.wait_for(|chapters| *chapters >= 4))
        .unwrap();
    drop(before);
    let chapters = *printed.borrow();
    assert!((4..CHAPTERS).contains(&chapters), "{chapters}");

    let after = process();
    after.block_on(serve(&address.to_string(), &press, &file));
    let book = caller.block_on(calling).unwrap();
    assert_eq!(book, "On Tea, bound in leather");
    // The chapter that was being printed at the crash may be printed twice.
    let chapters = *printed.borrow();
    assert!((CHAPTERS..=CHAPTERS + 1).contains(&chapters), "{chapters}");
    drop(after);
    std::fs::remove_file(file).unwrap();
}
