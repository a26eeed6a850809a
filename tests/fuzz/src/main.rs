//! The targets of `cargo xtask fuzz`, in one program: the environment variable `TARGET` names the target that a process
//! runs. Any panic ends the process, also one that a server would have caught.

#![no_main]

mod client;
mod parsers;
mod server;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use tokio::runtime::Runtime;

type Target = fn(&[u8]);

const TARGETS: &[(&str, Target)] = &[
    ("envelope", parsers::envelope),
    ("uri-template", parsers::uri_template),
    ("schema", parsers::schema),
    ("www-authenticate", parsers::www_authenticate),
    ("token", parsers::token),
    ("request-state", server::request_state),
    ("server-pipe", server::pipe),
    ("http-headers", server::http_headers),
    ("http-endpoint", server::http_endpoint),
    ("client-pipe", client::pipe),
    ("client-sse", client::sse),
];

fuzz_target!(|data: &[u8]| {
    static TARGET: OnceLock<Target> = OnceLock::new();
    let target = TARGET.get_or_init(|| {
        let name = std::env::var("TARGET").unwrap_or_default();
        let found = TARGETS.iter().find(|(known, _)| *known == name);
        found.expect("TARGET names a target of main.rs").1
    });
    target(data);
});

/// Runs a future on this thread. The clock is paused, so that timeouts expire at once when nothing else can happen.
fn run<T>(future: impl Future<Output = T>) -> T {
    runtime().block_on(future)
}

/// A runtime for one input, so that no task outlives it.
fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O can be built")
}
