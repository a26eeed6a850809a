//! A server process: it prints its address and ends when its handle is dropped.

use std::collections::VecDeque;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::process::{self, ERROR_LINES, OutputLine};

/// How long a server may take to print its address.
const START: Duration = Duration::from_secs(60);

/// A running server, which is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    name: String,
    child: Child,
    said: RecentOutput,
    url: String,
}

impl Server {
    /// Starts a server on a port of its choice; some line of its stdout or stderr has to hold `http://HOST:PORT`.
    /// `path` is what stands behind that.
    ///
    /// # Errors
    /// It cannot be started, ends, or says nothing for too long; with the last lines of what it said instead.
    pub(crate) fn start(command: &mut Command, path: &str) -> Result<Self, String> {
        let name = command.get_program().to_string_lossy().into_owned();
        let (child, lines) = process::start(command)?;
        let mut this = Self {
            name,
            child,
            said: RecentOutput::default(),
            url: String::new(),
        };
        let origin = this.origin(&lines)?;
        this.url = format!("{origin}{path}");
        let said = this.said.clone();
        // Ends with the server. A full pipe would block the server.
        thread::spawn(move || lines.iter().for_each(|line| said.keep(line)));
        Ok(this)
    }

    /// Its URL.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Ends the server, which must still be there.
    ///
    /// # Errors
    /// It has ended by itself; with the last lines of what it said.
    pub(crate) fn end(mut self) -> Result<(), String> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(format!(
                "{} ended by itself with {status}\n{}",
                self.name,
                self.said.text()
            )),
            Err(error) => Err(format!("{}: {error}", self.name)),
        }
    }

    fn origin(&mut self, lines: &Receiver<OutputLine>) -> Result<String, String> {
        let end = Instant::now() + START;
        let problem = loop {
            match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    let origin = origin(&line.text).map(str::to_owned);
                    self.said.keep(line);
                    if let Some(origin) = origin {
                        return Ok(origin);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break "ended".to_owned(),
                Err(RecvTimeoutError::Timeout) => break format!("waited {} s", START.as_secs()),
            }
        };
        Err(format!(
            "{} {problem} without printing its address\n{}",
            self.name,
            self.said.text()
        ))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The last lines of output.
#[derive(Clone, Debug, Default)]
struct RecentOutput(Arc<Mutex<VecDeque<String>>>);

impl RecentOutput {
    fn keep(&self, line: OutputLine) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == ERROR_LINES {
            lines.pop_front();
        }
        lines.push_back(line.text);
    }

    fn text(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// The scheme, host and port in a line, if it has them.
fn origin(line: &str) -> Option<&str> {
    let rest = &line[line.find("http://")?..];
    let port = rest.rfind(':')? + 1;
    let digits = rest[port..].find(|c: char| !c.is_ascii_digit());
    let end = port + digits.unwrap_or(rest.len() - port);
    (end > port).then(|| &rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_is_found_in_what_servers_say() {
        for (line, expected) in [
            ("http://127.0.0.1:80/mcp", Some("http://127.0.0.1:80")),
            (
                "INFO:  Uvicorn running on http://[::1]:8000 (Press CTRL+C to quit)",
                Some("http://[::1]:8000"),
            ),
            ("listening on port 3001", None),
            ("see http://example.com/docs", None),
        ] {
            assert_eq!(origin(line), expected, "{line}");
        }
    }

    #[cfg(unix)]
    mod programs {
        use super::*;

        fn sh(script: &str) -> Command {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        }

        #[test]
        fn a_server_is_known_by_its_url_and_ended_by_its_owner() {
            let script = "echo warming up; echo at http://127.0.0.1:4242 >&2; exec sleep 60";
            let server = Server::start(&mut sh(script), "/mcp").unwrap();
            assert_eq!(server.url(), "http://127.0.0.1:4242/mcp");
            assert_eq!(server.end(), Ok(()));
        }

        #[test]
        fn a_server_that_ends_too_early_brings_what_it_said() {
            let error = Server::start(&mut sh("echo no port >&2; exit 1"), "").unwrap_err();
            assert!(
                error.contains("ended without") && error.contains("no port"),
                "{error}"
            );
            let mut server = Server::start(&mut sh("echo http://127.0.0.1:1; exit 3"), "").unwrap();
            server.child.wait().unwrap();
            let error = server.end().unwrap_err();
            assert!(error.contains("ended by itself"), "{error}");
        }
    }
}
