//! Programs with a time limit, read line by line.

use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// How much of what a program complains about is told when it fails.
pub(super) const ERROR_LINES: usize = 40;

/// A line of output.
#[derive(Debug)]
pub(super) struct OutputLine {
    /// Whether it came by stderr.
    pub(super) is_stderr: bool,
    pub(super) text: String,
}

/// Runs a program and shows each line of its stdout to `watch`.
///
/// # Errors
/// It cannot be started, fails, or takes longer than it may; with the last lines of its stderr.
pub(crate) fn run(
    command: &mut Command,
    limit: Duration,
    watch: impl FnMut(&str),
) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let ended = run_to_end(command, limit, watch)?;
    if ended.status.success() {
        return Ok(());
    }
    Err(format!(
        "{name} ended with {}\n{}",
        ended.status, ended.errors
    ))
}

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Success or not.
    pub(crate) status: ExitStatus,
    /// The last lines of its stderr.
    pub(crate) errors: String,
}

/// Runs a program as [`run`] does, for those who judge the end by themselves.
///
/// # Errors
/// It cannot be started, or takes longer than it may.
pub(crate) fn run_to_end(
    command: &mut Command,
    limit: Duration,
    mut watch: impl FnMut(&str),
) -> Result<Ended, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let (mut child, lines) = start(command)?;
    let mut errors = Vec::new();
    let end = Instant::now() + limit;
    let status = wait(&mut child, &lines, end, |line| {
        if line.is_stderr {
            errors.push(line.text);
        } else {
            watch(&line.text);
        }
    });
    let errors = errors
        .split_off(errors.len().saturating_sub(ERROR_LINES))
        .join("\n");
    match status.map_err(|error| format!("{name}: {error}"))? {
        Some(status) => Ok(Ended { status, errors }),
        None => Err(format!(
            "{name} took longer than {} s\n{errors}",
            limit.as_secs()
        )),
    }
}

/// Starts a program that is read line by line and has nothing to read.
pub(super) fn start(command: &mut Command) -> Result<(Child, Receiver<OutputLine>), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .map_err(|error| format!("{name}: {error}"))?;
    let lines = lines(&mut child);
    Ok((child, lines))
}

/// Runs a program that says one thing.
///
/// # Errors
/// As [`run`].
pub(crate) fn output_of(command: &mut Command, limit: Duration) -> Result<String, String> {
    let mut said = String::new();
    run(command, limit, |line| said += line)?;
    Ok(said.trim().to_owned())
}

/// Both outputs, as they come.
fn lines(child: &mut Child) -> Receiver<OutputLine> {
    let (sender, receiver) = sync_channel(1_024);
    if let Some(stdout) = child.stdout.take() {
        forward(stdout, false, sender.clone());
    }
    if let Some(stderr) = child.stderr.take() {
        forward(stderr, true, sender);
    }
    receiver
}

fn forward(pipe: impl Read + Send + 'static, is_stderr: bool, sender: SyncSender<OutputLine>) {
    thread::spawn(move || {
        for line in BufReader::new(pipe).split(b'\n') {
            let Ok(line) = line else { break };
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            if sender.send(OutputLine { is_stderr, text }).is_err() {
                break;
            }
        }
    });
}

/// Reads until both outputs have ended or the time is up; then the program is killed, and there
/// is no status.
fn wait(
    child: &mut Child,
    lines: &Receiver<OutputLine>,
    end: Instant,
    mut each: impl FnMut(OutputLine),
) -> std::io::Result<Option<ExitStatus>> {
    loop {
        match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => each(line),
            Err(RecvTimeoutError::Disconnected) => return child.wait().map(Some),
            Err(RecvTimeoutError::Timeout) => {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn lines_are_shown_and_failures_bring_what_was_complained_about() {
        let mut seen = Vec::new();
        let minute = Duration::from_secs(60);
        let outcome = run(&mut sh("echo a; echo b >&2; exit 3"), minute, |line| {
            seen.push(line.to_owned());
        });
        assert_eq!(seen, ["a"]);
        let error = outcome.unwrap_err();
        assert!(
            error.contains("sh ended with") && error.ends_with("\nb"),
            "{error}"
        );
        assert_eq!(
            output_of(&mut sh("echo v20.1"), minute),
            Ok("v20.1".to_owned())
        );
    }

    #[test]
    fn who_takes_too_long_is_killed() {
        let error = run(&mut sh("exec sleep 60"), Duration::from_millis(50), |_| {}).unwrap_err();
        assert!(error.starts_with("sh took longer"), "{error}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let missing = &mut Command::new("no-such-program");
        let error = run(missing, Duration::from_secs(60), |_| {}).unwrap_err();
        assert!(error.starts_with("no-such-program: "), "{error}");
    }
}
