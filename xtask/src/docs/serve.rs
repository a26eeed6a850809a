//! A server on the loopback interface for the files of the book.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use crate::workspace::{At as _, Result, say};

/// Maximum size of a request head, and the time to receive it.
const MAX_HEAD_BYTES: u64 = 16 * 1024;
const TIMEOUT: Duration = Duration::from_secs(5);

/// Serves the files of a folder until the program is interrupted.
pub(super) fn serve(folder: &Path, port: u16) -> Result {
    let address = (Ipv4Addr::LOCALHOST, port);
    let listener = TcpListener::bind(address).at(format!("127.0.0.1:{port}"))?;
    let address = listener.local_addr().at("the address of the listener")?;
    say(&format!(
        "serving http://{address}/; Ctrl-C ends the server"
    ));
    for stream in listener.incoming().flatten() {
        let folder = folder.to_owned();
        // A browser opens connections in advance, so that each needs a thread.
        std::thread::spawn(move || answer(&folder, &stream));
    }
    Ok(())
}

/// Answers one request. Failures belong to the browser, which shows them.
fn answer(folder: &Path, mut stream: &TcpStream) -> Option<()> {
    stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    let mut reader = BufReader::new(stream.take(MAX_HEAD_BYTES));
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    for line in reader.lines() {
        if line.ok()?.is_empty() {
            break;
        }
    }
    let found = file_of(folder, &first).and_then(|path| Some((fs::read(&path).ok()?, path)));
    let (status, kind, body) = match found {
        Some((body, path)) => ("200 OK", content_type(&path), body),
        None => ("404 Not Found", "text/plain", b"not found\n".to_vec()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&body).ok()
}

/// Returns the file that a request line names; `None` for a path outside of the folder.
fn file_of(folder: &Path, request: &str) -> Option<PathBuf> {
    let path = request.strip_prefix("GET /")?.split([' ', '?']).next()?;
    let path = Path::new(path);
    let is_below = |part: Component<'_>| matches!(part, Component::Normal(_));
    let mut file = path.components().all(is_below).then(|| folder.join(path))?;
    if file.is_dir() {
        file.push("index.html");
    }
    Some(file)
}

fn content_type(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        Some("md" | "rs" | "toml" | "txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_the_folder() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        for (request, expected) in [
            ("GET / HTTP/1.1\r\n", Some("index.html")),
            ("GET /src?x HTTP/1.1\r\n", Some("src/index.html")),
            ("GET /a/b.css HTTP/1.1\r\n", Some("a/b.css")),
            ("GET /../Cargo.toml HTTP/1.1\r\n", None),
            ("GET //etc/passwd HTTP/1.1\r\n", None),
            ("POST / HTTP/1.1\r\n", None),
        ] {
            let file = expected.map(|file| folder.join(file));
            assert_eq!(file_of(folder, request), file, "{request}");
        }
    }
}
