//! A server in this thread, its client in another, HTTP in between.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use mcp_tests::bench::requests::{Protocol, Requests, Workload, opening};
use mcp_tests::bench::server::server;
use mcp_transport_http::{Endpoint, ServerOptions, serve_with};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// Serves one connection with so many calls and returns how many allocations that took. Those of the client are its own.
pub(crate) fn allocations(wire: Protocol, asked: Workload, more: usize, calls: u64) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let options = match wire {
        Protocol::HttpStateless => ServerOptions::new().without_sessions(),
        _ => ServerOptions::new(),
    };
    let endpoint = Endpoint::with_options(server(more), options).unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let (done, end) = oneshot::channel::<()>();
    let client = std::thread::spawn(move || {
        converse(wire, asked, &host, calls);
        // The server may be gone already, if it has failed.
        let _ = done.send(());
    });
    let counted = allocation_counter::measure(|| {
        let shutdown = async {
            // A client that has panicked drops the sender; the panic is reported below.
            let _ = end.await;
        };
        runtime
            .block_on(serve_with(listener, endpoint, shutdown))
            .unwrap();
    });
    client.join().unwrap();
    counted.count_total
}

/// All calls, one after the other.
fn converse(wire: Protocol, asked: Workload, host: &str, calls: u64) {
    let mut connection = BufReader::new(TcpStream::connect(host).unwrap());
    let mut session = None;
    if wire != Protocol::HttpModern {
        let [first, _] = opening(wire, host, None);
        session = exchange(&mut connection, &first, "200").0;
        let [_, second] = opening(wire, host, session.as_deref());
        exchange(&mut connection, &second, "202");
    }
    assert_eq!(session.is_some(), wire == Protocol::Http);
    let requests = Requests::new(wire, asked, host, session.as_deref());
    let text = asked.text();
    let mut request = Vec::new();
    for id in 1..=calls {
        request.clear();
        requests.write(id, &mut request);
        let (_, body) = exchange(&mut connection, &request, "200");
        assert!(body.contains(&format!("\"id\":{id},")), "{body}");
        assert!(
            body.contains(&text) && !body.contains("\"error\""),
            "{body}"
        );
    }
}

/// Sends a request and returns the session id and the body of the response.
fn exchange(
    connection: &mut BufReader<TcpStream>,
    request: &[u8],
    status: &str,
) -> (Option<String>, String) {
    connection.get_mut().write_all(request).unwrap();
    let (mut session, mut length) = (None, 0);
    let mut line = String::new();
    connection.read_line(&mut line).unwrap();
    assert_eq!(line.split(' ').nth(1), Some(status), "{line}");
    loop {
        line.clear();
        connection.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        match &*name.to_ascii_lowercase() {
            "mcp-session-id" => session = Some(value.to_owned()),
            "content-length" => length = value.parse().unwrap(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body).unwrap();
    (session, String::from_utf8(body).unwrap())
}
