//! Kills a test binary that prints nothing for too long. Cargo starts each test binary as `xtask watchdog BINARY ARGS`.

use std::io::BufRead as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::steps::say;

/// How long a test binary may be silent. libtest prints a line after each test.
const SILENCE: Duration = Duration::from_secs(5 * 60);

/// The setting that makes cargo start test binaries below the watchdog.
pub(super) fn runner() -> Result<String, String> {
    let failed = |error| format!("the path of xtask is unknown: {error}");
    let xtask = std::env::current_exe().map_err(failed)?;
    Ok(format!(
        "target.'cfg(all())'.runner = ['{}', 'watchdog']",
        xtask.display()
    ))
}

/// Runs one test binary.
///
/// # Errors
/// A test failed, or the binary died or was killed.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (binary, args) = args
        .split_first()
        .ok_or("usage: xtask watchdog BINARY [ARGS...]")?;
    watch(Command::new(binary).args(args), SILENCE)
}

fn watch(command: &mut Command, silence: Duration) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("the test binary does not run: {error}");
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let lines = lines(&mut child);
    let mut has_summary = false;
    let end = loop {
        match lines.recv_timeout(silence) {
            Ok(line) => {
                has_summary |= line.contains("test result: ");
                say(&line);
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = child.wait().map_err(failed)?;
                if status.success() {
                    return Ok(());
                }
                break format!("ended with {status}");
            }
            Err(RecvTimeoutError::Timeout) => {
                child.kill().and_then(|()| child.wait()).map_err(failed)?;
                break format!("printed nothing for {} s and was killed", silence.as_secs());
            }
        }
    };
    if !has_summary {
        // `Totals` counts this line like the summary of libtest.
        say(&format!(
            "test result: FAILED. 0 passed; 1 failed; the test binary {end}"
        ));
    }
    Err(format!("the test binary {end}"))
}

fn lines(child: &mut Child) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::sync_channel(1_024);
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            for line in std::io::BufReader::new(stdout).split(b'\n') {
                let Ok(line) = line else { break };
                let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn watched(script: &str, silence: Duration) -> Result<(), String> {
        watch(Command::new("sh").args(["-c", script]), silence)
    }

    #[test]
    fn a_silent_binary_is_killed() {
        let error = watched("echo a; exec sleep 60", Duration::from_millis(200)).unwrap_err();
        assert!(error.contains("printed nothing"), "{error}");
    }

    #[test]
    fn a_binary_that_dies_fails_and_one_that_succeeds_does_not() {
        let minute = Duration::from_secs(60);
        let error = watched("kill -9 $$", minute).unwrap_err();
        assert!(error.contains("ended with signal: 9"), "{error}");
        assert_eq!(watched("echo test result: ok", minute), Ok(()));
    }
}
