//! Stands between a client and a server program, and writes down what became of the server.
//!
//! If this process is killed on the way, there will be nothing written down.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::report::Fault;

/// Runs the program on our own stdin and stdout; gives its exit code.
pub(crate) fn watch(status: &Path, program: &[String]) -> Result<i32, Fault> {
    let ended = command(program)?.status()?;
    std::fs::write(status, json!({ "code": ended.code() }).to_string())?;
    Ok(ended.code().unwrap_or(1))
}

/// The same, and reads along: the methods of the requests the server sends.
pub(crate) fn overhear(status: &Path, program: &[String]) -> Result<i32, Fault> {
    let mut child = command(program)?.stdout(Stdio::piped()).spawn()?;
    let stdout = child.stdout.take().ok_or("the program has no stdout")?;
    let mut out = std::io::stdout();
    let mut asked = BTreeSet::new();
    for line in BufReader::new(stdout).split(b'\n') {
        let mut line = line?;
        if let Ok(message) = serde_json::from_slice::<Value>(&line)
            && let (Some(method), Some(_)) = (message["method"].as_str(), message.get("id"))
        {
            asked.insert(method.to_owned());
        }
        line.push(b'\n');
        out.write_all(&line)?;
        out.flush()?;
    }
    let ended = child.wait()?;
    let report = json!({ "code": ended.code(), "asked": asked });
    std::fs::write(status, report.to_string())?;
    Ok(ended.code().unwrap_or(1))
}

fn command(program: &[String]) -> Result<Command, Fault> {
    let (name, args) = program.split_first().ok_or("no program to watch")?;
    let mut command = Command::new(name);
    command.args(args);
    Ok(command)
}
