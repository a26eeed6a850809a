//! Programs with a time limit, read line by line, and servers that print their address.

use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::workspace::{At as _, Result, say};

/// How many of the last lines of output an error repeats.
const LAST_LINES: usize = 40;

/// How long a server may take to print its address.
const START: Duration = Duration::from_secs(60);

/// Runs a program and passes each line of its stdout to `watch`. Returns an error with the last lines of its output if the
/// program does not start, fails, or exceeds the time limit.
pub(crate) fn run(command: &mut Command, limit: Duration, watch: impl FnMut(&str)) -> Result {
    run_to_end(command, limit, watch)?
}

/// Runs a program and returns the lines of its stdout.
pub(crate) fn lines_of(command: &mut Command, limit: Duration) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    run(command, limit, |line| lines.push(line.to_owned()))?;
    Ok(lines)
}

/// Runs a program that prints one line, and returns that line, trimmed.
pub(crate) fn output_of(command: &mut Command, limit: Duration) -> Result<String> {
    let lines = lines_of(command, limit)?;
    Ok(lines.concat().trim().to_owned())
}

/// Runs a program as [`run`] does. If the program fails, the inner result is the error.
pub(crate) fn run_to_end(
    command: &mut Command,
    limit: Duration,
    mut watch: impl FnMut(&str),
) -> Result<Result> {
    let mut process = Process::start(command)?;
    let look = |line: &OutputLine| {
        if !line.is_stderr {
            watch(&line.text);
        }
        None::<()>
    };
    match process.read(limit, look) {
        Err(RecvTimeoutError::Timeout) => {
            Err(process.error(&format!("took longer than {} s", limit.as_secs())))
        }
        Ok(()) | Err(RecvTimeoutError::Disconnected) => process.wait(),
    }
}

/// Runs a program, prints its output, and passes each line to `read`. If it prints nothing for as long as `silence`, kills
/// the processes that it has started, or else the program. Returns whether it succeeded.
pub(crate) fn watch(
    command: &mut Command,
    silence: Duration,
    mut read: impl FnMut(&str),
) -> Result<bool> {
    let mut process = Process::start(command)?;
    loop {
        match process.lines.recv_timeout(silence) {
            Ok(OutputLine { text, .. }) => {
                read(&text);
                say(&text);
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let seconds = silence.as_secs();
                say(&format!("no output for {seconds} s: the program is killed"));
                if !kill_children(process.child.id())? {
                    process.child.kill().at(&process.name)?;
                }
            }
        }
    }
    Ok(process.wait()?.is_ok())
}

/// Kills what a process has started; on Windows, the process, too. Returns whether there was something to kill.
fn kill_children(process: u32) -> Result<bool> {
    let (program, arguments) = match cfg!(windows) {
        true => ("taskkill", "/F /T /PID"),
        false => ("pkill", "-KILL -P"),
    };
    let mut kill = super::program(program, arguments);
    let status = kill.arg(process.to_string()).status().at(program)?;
    Ok(status.success())
}

/// A running server, which is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    process: Process,
    url: String,
}

impl Server {
    /// Starts a server on a port of its choice. A line of its stdout or stderr has to contain `http://HOST:PORT`; `path`
    /// is appended to it.
    pub(crate) fn start(command: &mut Command, path: &str) -> Result<Self> {
        let mut process = Process::start(command)?;
        let Ok(origin) = process.read(START, |line| origin(&line.text)) else {
            let limit = START.as_secs();
            return Err(process.error(&format!("ended, or printed no address within {limit} s")));
        };
        let url = format!("{origin}{path}");
        Ok(Self { process, url })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Kills the server. Returns an error with the last lines of its output if the server has ended by itself.
    pub(crate) fn end(mut self) -> Result {
        let process = &mut self.process;
        let Some(status) = process.child.try_wait().at(&process.name)? else {
            return Ok(());
        };
        let rest = process.lines.iter().map(|line| line.text);
        process.output.extend(rest);
        Err(process.error(&format!("ended by itself with {status}")))
    }
}

/// The scheme, host and port in a line.
fn origin(line: &str) -> Option<String> {
    let rest = &line[line.find("http://")?..];
    let port = rest.rfind(':')? + 1;
    let digits = rest[port..].find(|c: char| !c.is_ascii_digit());
    let end = port + digits.unwrap_or(rest.len() - port);
    // A server that does not know its port yet writes 0.
    (end > port && &rest[port..end] != "0").then(|| rest[..end].to_owned())
}

/// A child process without stdin, killed on drop.
#[derive(Debug)]
struct Process {
    name: String,
    child: Child,
    lines: Receiver<OutputLine>,
    output: Vec<String>,
}

#[derive(Debug)]
struct OutputLine {
    is_stderr: bool,
    text: String,
}

impl Process {
    fn start(command: &mut Command) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().at(&name)?;
        // Unbounded: a full pipe would block the program.
        let (sender, lines) = channel();
        forward(child.stdout.take(), false, sender.clone());
        forward(child.stderr.take(), true, sender);
        Ok(Self {
            name,
            child,
            lines,
            output: Vec::new(),
        })
    }

    /// Reads lines until one of them has what is looked for; `Disconnected` after the last line.
    fn read<T>(
        &mut self,
        limit: Duration,
        mut found: impl FnMut(&OutputLine) -> Option<T>,
    ) -> Result<T, RecvTimeoutError> {
        let end = Instant::now() + limit;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left)?;
            let value = found(&line);
            self.output.push(line.text);
            if let Some(value) = value {
                return Ok(value);
            }
        }
    }

    /// Waits for the end of the program. If the program fails, the inner result is the error.
    fn wait(&mut self) -> Result<Result> {
        let status = self.child.wait().at(&self.name)?;
        Ok(match status.success() {
            true => Ok(()),
            false => Err(self.error(&format!("ended with {status}"))),
        })
    }

    /// An event in the life of the program, with the last lines of its output.
    fn error(&self, event: &str) -> String {
        let start = self.output.len().saturating_sub(LAST_LINES);
        format!("{} {event}\n{}", self.name, self.output[start..].join("\n"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if the process has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn forward(pipe: Option<impl Read + Send + 'static>, is_stderr: bool, sender: Sender<OutputLine>) {
    thread::spawn(move || {
        let lines = pipe.map(|pipe| BufReader::new(pipe).split(b'\n'));
        for line in lines.into_iter().flatten() {
            let Ok(line) = line else { break };
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            if sender.send(OutputLine { is_stderr, text }).is_err() {
                break;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_is_found_in_the_output_of_servers() {
        for (line, expected) in [
            ("http://127.0.0.1:80/mcp", Some("http://127.0.0.1:80")),
            (
                "INFO: at http://[::1]:8000 (Press CTRL+C to quit)",
                Some("http://[::1]:8000"),
            ),
            ("listening on port 3001", None),
            ("serving at http://127.0.0.1:0/mcp", None),
            ("see http://example.com/docs", None),
        ] {
            assert_eq!(origin(line).as_deref(), expected, "{line}");
        }
    }

    #[cfg(unix)]
    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[cfg(unix)]
    #[test]
    fn stdout_is_watched_and_failures_are_named() {
        let minute = Duration::from_secs(60);
        let output = output_of(&mut sh("echo v20.1; echo b >&2"), minute);
        assert_eq!(output, Ok("v20.1".to_owned()));
        let limit = Duration::from_millis(50);
        for (mut command, limit, start, end) in [
            (sh("echo b >&2; exit 3"), minute, "sh ended with", "\nb"),
            (sh("exec sleep 60"), limit, "sh took longer", ""),
            (Command::new("no-program"), minute, "no-program: ", ""),
        ] {
            let error = run(&mut command, limit, |_| {}).unwrap_err();
            assert!(error.starts_with(start) && error.contains(end), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_server_has_a_url_and_must_not_end_by_itself() {
        let script = "echo warming up; echo at http://127.0.0.1:4242 >&2; exec sleep 60";
        let server = Server::start(&mut sh(script), "/mcp").unwrap();
        assert_eq!(server.url(), "http://127.0.0.1:4242/mcp");
        assert_eq!(server.end(), Ok(()));
        let error = Server::start(&mut sh("echo no port >&2; exit 1"), "").unwrap_err();
        assert!(error.ends_with(" s\nno port"), "{error}");
        let mut server = Server::start(&mut sh("echo http://127.0.0.1:1; exit 3"), "").unwrap();
        server.process.child.wait().unwrap();
        let error = server.end().unwrap_err();
        assert!(error.contains("ended by itself"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn the_children_of_a_silent_program_are_killed_or_else_the_program() {
        let mut output = Vec::new();
        let silence = Duration::from_millis(200);
        let mut children = sh("sleep 60; echo status $?; exit 1");
        let success = watch(&mut children, silence, |line| output.push(line.to_owned()));
        assert_eq!(success, Ok(false));
        assert!(output.concat().contains("status 137"), "{output:?}");
        assert_eq!(watch(&mut sh("exec sleep 60"), silence, |_| {}), Ok(false));
    }
}
