//! The audit log of `mcp serve`: one line of JSON for each request.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

use data_encoding::HEXLOWER;
use mcp_client::types::method;
use mcp_gateway::{AuditArguments, ServedRequest};
use mcp_host::{AuditLog, open_private_file};
use mcp_protocol::lock;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;

use crate::failure::Failure;

/// The name of the setting `audit` in errors and log messages.
pub(super) const SETTING: &str = "/gateway/audit";
/// The value of the setting for stdout.
pub(super) const STDOUT: &str = "-";
/// Maximum number of lines that wait for the file. Further lines are lost.
const MAX_LINES: usize = 4_096;
/// Maximum total size of the lines that wait for the file, in bytes. Further lines are lost.
const MAX_WAITING_BYTES: u64 = 16 << 20;
/// Maximum length of a text in redacted arguments, in characters.
const MAX_TEXT: usize = 200;
/// Maximum size of the name of a client in a line, in bytes of JSON. The same limit applies to the version of the client.
const MAX_CLIENT: usize = 128;
/// Maximum size of a method in a line, in bytes of JSON. The same limit applies to the name of an item.
const MAX_NAME: usize = 1 << 10;
/// Maximum size of arguments that are redacted, in bytes. For longer arguments, the line contains only their size.
const MAX_ARGUMENTS: usize = 16 << 10;

/// The audit log. A separate thread writes the lines, so that a slow file does not delay requests.
pub(super) struct Audit {
    log: AuditLog,
    arguments: Option<AuditArguments>,
    queue: Arc<Queue>,
    /// Completes when the thread has written all lines and ended.
    ended: Mutex<Option<oneshot::Receiver<()>>>,
}

/// The queue of lines, and the state that requests share with the thread.
#[derive(Default)]
struct Queue {
    /// The lines for the thread; `None` after the log was closed.
    lines: Mutex<Option<SyncSender<Vec<u8>>>>,
    waiting_bytes: AtomicU64,
    lost: AtomicU64,
    is_reopened: AtomicBool,
}

impl Audit {
    /// Opens the log, or uses stdout for `-`.
    pub(super) fn open(path: &Path, arguments: Option<AuditArguments>) -> Result<Self, Failure> {
        let failed =
            |error: io::Error| Failure::usage(format!("{SETTING}: {}: {error}", path.display()));
        let (target, is_cut) = match path.as_os_str() == STDOUT {
            true => (Target::Stdout, false),
            false => {
                let file = append(path).map_err(failed)?;
                let is_cut = ends_within_line(&file);
                (Target::File(path.to_owned(), Some(file)), is_cut)
            }
        };
        let (sender, lines) = sync_channel(MAX_LINES);
        let queue = Arc::new(Queue::default());
        *lock(&queue.lines) = Some(sender);
        let (done, ended) = oneshot::channel();
        let mut writer = LineWriter {
            target,
            queue: Arc::clone(&queue),
            is_failing: false,
            is_cut,
        };
        let thread = thread::Builder::new().name("audit".to_owned());
        thread
            .spawn(move || {
                writer.run(&lines);
                let _ = done.send(());
            })
            .map_err(failed)?;
        Ok(Self {
            log: AuditLog::new(Waiting(Arc::clone(&queue))),
            arguments,
            queue,
            ended: Mutex::new(Some(ended)),
        })
    }

    /// Returns whether the lines contain the arguments of calls, in any form.
    pub(super) fn uses_arguments(&self) -> bool {
        self.arguments.is_some()
    }

    /// Returns the number of lines that could not be written.
    pub(super) fn lost(&self) -> u64 {
        self.queue.lost.load(Ordering::Relaxed)
    }

    /// Opens the file again before the next line is written, because another program may have moved the file.
    pub(super) fn reopen(&self) {
        self.queue.is_reopened.store(true, Ordering::Release);
        // An empty line wakes the thread.
        self.queue.add(Vec::new());
    }

    /// Waits until all waiting lines are written. Lines that are added later are lost.
    pub(super) async fn close(&self) {
        lock(&self.queue.lines).take();
        let ended = lock(&self.ended).take();
        if let Some(ended) = ended {
            let _ = ended.await;
        }
    }

    /// Adds the line of a request to the queue, with the status of the HTTP response.
    pub(super) fn add(&self, mount: &str, mut members: Map<String, Value>, status: Option<u16>) {
        if let Some(status) = status {
            members.insert("http".to_owned(), status.into());
        }
        // The queue counts the lines that are lost, so the result is not needed.
        let _ = self.log.write("request", mount, Value::Object(members));
    }

    /// Returns the members of the line for a request.
    pub(super) fn members(&self, request: &ServedRequest<'_>) -> Map<String, Value> {
        let context = request.context;
        let name = request.name.as_deref();
        let name = name.map(|name| short(&item_name(request.method, name), MAX_NAME).to_owned());
        let principal = context.principal();
        let principal = principal.map(|principal| principal.as_str().to_owned());
        let network = context.exchange().link().origin().network();
        let remote = network.and_then(|network| Some(network.client?.0));
        let client = context.session().client();
        let client = client.map(
            |client| json!({ "name": short(&client.name, MAX_CLIENT), "version": short(&client.version, MAX_CLIENT) }),
        );
        let mut members = Map::new();
        let mut add = |name: &str, value: Value| {
            if !value.is_null() {
                members.insert(name.to_owned(), value);
            }
        };
        add("method", short(request.method, MAX_NAME).into());
        add("name", name.into());
        add("principal", principal.into());
        add("remote", remote.into());
        add("client", client.into());
        add("revision", context.session().revision().as_str().into());
        add("outcome", request.outcome.to_string().into());
        add("rpc", request.error_code.into());
        add("rule", request.rule.into());
        add(
            "ms",
            json!((request.elapsed.as_secs_f64() * 1e4).round() / 10.0),
        );
        add("bytesIn", request.bytes_in.into());
        add("bytesOut", request.bytes_out.into());
        if let Some(list) = request.list {
            add("offered", list.offered.into());
            add("listed", list.listed.into());
            add("unavailable", list.unavailable.into());
        }
        if let Some(arguments) = request.arguments {
            match self.arguments {
                Some(AuditArguments::Hash) => {
                    let hash = HEXLOWER.encode(&Sha256::digest(arguments));
                    add("argumentsSha256", hash.into());
                }
                Some(_) => add("arguments", self.redacted(arguments)),
                None => {}
            }
        }
        members
    }

    fn redacted(&self, arguments: &str) -> Value {
        if arguments.len() > MAX_ARGUMENTS {
            return format!("[{} bytes]", arguments.len()).into();
        }
        match mcp_jsonrpc::decode::<Value>(arguments) {
            Ok(arguments) => cut(self.log.redacted(&arguments)),
            Err(_) => Value::Null,
        }
    }
}

/// Cuts the long texts in a value.
fn cut(value: Value) -> Value {
    match value {
        Value::String(text) if text.chars().nth(MAX_TEXT).is_some() => {
            let start: String = text.chars().take(MAX_TEXT).collect();
            format!("{start}…").into()
        }
        Value::Array(items) => items.into_iter().map(cut).collect(),
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, value)| (name, cut(value)));
            Value::Object(members.collect())
        }
        other => other,
    }
}

/// Returns the longest beginning of a client's text that has at most `max` bytes in JSON. A control character has 6 bytes in
/// JSON.
fn short(text: &str, max: usize) -> &str {
    let mut size = 0;
    let end = text.char_indices().find(|(_, char)| {
        size += match char {
            '"' | '\\' => 2,
            char if char.is_control() => 6,
            char => char.len_utf8(),
        };
        size > max
    });
    end.map_or(text, |(end, _)| &text[..end])
}

/// Returns the name of a tool or prompt, or a URI without the parts that can be secret. These parts are the user, the query, the
/// fragment, and the content of a `data:` URI, also inside another URI. If a `:` before an `@` remains, the text before the `@`
/// is redacted.
fn item_name(method: &str, name: &str) -> String {
    if [method::TOOLS_CALL, method::PROMPTS_GET].contains(&method) {
        return name.to_owned();
    }
    let plain = name.split(['?', '#']).next().unwrap_or_default();
    let lower = plain.to_ascii_lowercase();
    let is_part_of_word =
        |start: usize| lower[..start].ends_with(|char: char| char.is_ascii_alphanumeric());
    let mut data = lower.match_indices("data:").map(|(start, _)| start);
    if let Some(start) = data.find(|start| !is_part_of_word(*start)) {
        return plain[..start + "data:".len()].to_owned();
    }
    let (scheme, rest) = match plain.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (scheme, rest),
        _ => ("", plain),
    };
    let path = rest.trim_start_matches(['/', '\\']);
    let (slashes, end) = (&rest[..rest.len() - path.len()], path.find(['/', '\\']));
    let (authority, path) = path.split_at(end.unwrap_or(path.len()));
    // Without slashes, an `@` is part of the path, as in a `mailto:` URI.
    let host = match slashes.is_empty() {
        true => authority,
        false => authority.rsplit('@').next().unwrap_or_default(),
    };
    let end = format!("{slashes}{host}{path}");
    let colon = if scheme.is_empty() { "" } else { ":" };
    // The text before an `@` can be a user and a password, also outside of the authority.
    match end.rsplit_once('@') {
        Some((before, host)) if before.contains(':') => format!("{scheme}{colon}[redacted]@{host}"),
        _ => format!("{scheme}{colon}{end}"),
    }
}

fn is_scheme(text: &str) -> bool {
    let is_valid = |char: char| char.is_ascii_alphanumeric() || "+-.".contains(char);
    text.starts_with(|char: char| char.is_ascii_alphabetic()) && text.chars().all(is_valid)
}

impl Queue {
    /// Adds a line. A line that does not fit is lost and counted.
    fn add(&self, line: Vec<u8>) {
        let size = line.len() as u64;
        let before = self.waiting_bytes.fetch_add(size, Ordering::Relaxed);
        let fits = before + size <= MAX_WAITING_BYTES;
        let sent = match &*lock(&self.lines) {
            Some(lines) if fits => lines.try_send(line).map_err(|error| match error {
                TrySendError::Full(line) | TrySendError::Disconnected(line) => line,
            }),
            _ => Err(line),
        };
        if let Err(line) = sent {
            self.waiting_bytes.fetch_sub(size, Ordering::Relaxed);
            // An empty line only wakes the thread, so it is not counted.
            self.lost
                .fetch_add(u64::from(!line.is_empty()), Ordering::Relaxed);
        }
    }
}

/// A writer that adds lines to the queue.
struct Waiting(Arc<Queue>);

impl Write for Waiting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.add(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

enum Target {
    Stdout,
    /// The path, and the open file. The file is `None` until it is opened again.
    File(PathBuf, Option<File>),
}

/// The writer of the lines in the queue.
struct LineWriter {
    target: Target,
    queue: Arc<Queue>,
    is_failing: bool,
    /// Whether only a part of the last line was written.
    is_cut: bool,
}

impl LineWriter {
    fn run(&mut self, lines: &Receiver<Vec<u8>>) {
        while let Ok(line) = lines.recv() {
            if self.queue.is_reopened.swap(false, Ordering::AcqRel)
                && let Target::File(_, file) = &mut self.target
            {
                *file = None;
            }
            self.queue
                .waiting_bytes
                .fetch_sub(line.len() as u64, Ordering::Relaxed);
            let written = self.write(&line);
            match (&written, self.is_failing) {
                (Err(error), false) => {
                    tracing::error!(%error, "the audit log cannot be written; requests are still served, and their lines are lost");
                }
                (Ok(()), true) if !line.is_empty() => {
                    let lost = self.queue.lost.load(Ordering::Relaxed);
                    tracing::warn!(lost, "the audit log can be written again");
                }
                _ => {}
            }
            if !line.is_empty() || written.is_err() {
                self.is_failing = written.is_err();
            }
            if written.is_err() && !line.is_empty() {
                self.queue.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let writer: &mut dyn Write = match &mut self.target {
            Target::Stdout => &mut io::stdout(),
            Target::File(_, Some(file)) => file,
            Target::File(path, file) => {
                let opened = append(path)?;
                self.is_cut = ends_within_line(&opened);
                file.insert(opened)
            }
        };
        if line.is_empty() {
            return Ok(());
        }
        // This line must not continue an incomplete line.
        let end: &[u8] = if self.is_cut { b"\n" } else { b"" };
        let bytes = [end, line].concat();
        let mut rest = &*bytes;
        while !rest.is_empty() {
            let written = writer.write(rest)?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            rest = &rest[written..];
            self.is_cut = !rest.is_empty();
        }
        writer.flush()
    }
}

/// Returns whether the last line of a file has no line end, because a process or the machine stopped while the line was written.
fn ends_within_line(mut file: &File) -> bool {
    let mut last = [0];
    let read = file
        .seek(SeekFrom::End(-1))
        .and_then(|_| file.read_exact(&mut last));
    read.is_ok() && last != *b"\n"
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    open_private_file(options.read(true).append(true).create(true), path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_parts_of_uris_are_left_out() {
        for (uri, expected) in [
            ("http://u:pw@host/a?k=s#f", "http://host/a"),
            ("HTTP:\\\\u@host\\a?k=s", "HTTP:\\\\host\\a"),
            ("mailto:x@y?subject=s", "mailto:x@y"),
            ("file:/x?token=s", "file:/x"),
            ("urn:x?=s#f", "urn:x"),
            ("data:text/plain,s", "data:"),
            ("plain?s", "plain"),
            ("jdbc:postgresql://app:s@db/x", "jdbc:[redacted]@db/x"),
            ("jdbc:postgresql://s@db/x", "jdbc:[redacted]@db/x"),
            ("url:http://u:s@h", "url:[redacted]@h"),
            ("//u:s@h/a", "//h/a"),
            ("u:s@h/a", "u:s@h/a"),
            ("sip:alice:s@h", "sip:[redacted]@h"),
            ("url:DATA:text/plain,s", "url:DATA:"),
            ("http:\t//u:s@h", "http:[redacted]@h"),
            ("http://u:s/s@h", "http:[redacted]@h"),
            ("npm://registry/@scope/name", "npm://registry/@scope/name"),
            ("db://metadata:5/x", "db://metadata:5/x"),
        ] {
            assert_eq!(item_name(method::RESOURCES_READ, uri), expected);
        }
        assert_eq!(item_name(method::TOOLS_CALL, "a://t?read"), "a://t?read");
    }

    #[test]
    fn client_texts_are_truncated_by_their_size_in_json() {
        for text in ["\u{1}", "\"", "a", "ä", "\u{1f600}"] {
            let short = short(&text.repeat(500), MAX_CLIENT).to_owned();
            let json = serde_json::to_string(&short).unwrap();
            assert!(json.len() - 2 <= MAX_CLIENT, "{json}");
            assert!(json.len() > MAX_CLIENT - 6, "{json}");
        }
        assert_eq!(short("a\"b", 4), "a\"b");
    }
}
