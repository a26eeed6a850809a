//! A proxy between a client and a server program, which records how the server ended.
//!
//! If this process is killed before the server ends, there is no record.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::report::Fault;

/// Runs the program on the stdin and stdout of this process; returns its exit code.
pub(crate) fn watch(status: &Path, program: &[String]) -> Result<i32, Fault> {
    let ended = command(program)?.status()?;
    std::fs::write(status, json!({ "code": ended.code() }).to_string())?;
    Ok(ended.code().unwrap_or(1))
}

/// Runs the program in the same way, and also records the methods of the requests that it sends and receives.
pub(crate) fn overhear(status: &Path, program: &[String]) -> Result<i32, Fault> {
    let mut child = command(program)?
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let stdin = child.stdin.take().ok_or("the program has no stdin")?;
    let stdout = child.stdout.take().ok_or("the program has no stdout")?;
    let sent = Arc::<Mutex<Methods>>::default();
    let heard = Arc::clone(&sent);
    // Ends with the stdin of this process, or with that of the program.
    std::thread::spawn(move || {
        pass_on(std::io::stdin(), stdin, |method| {
            lock(&heard).insert(method);
        })
    });
    let mut asked = Methods::new();
    pass_on(stdout, std::io::stdout(), |method| {
        asked.insert(method);
    })?;
    let ended = child.wait()?;
    let report = json!({ "code": ended.code(), "asked": asked, "sent": *lock(&sent) });
    std::fs::write(status, report.to_string())?;
    Ok(ended.code().unwrap_or(1))
}

type Methods = BTreeSet<String>;

fn lock(methods: &Mutex<Methods>) -> MutexGuard<'_, Methods> {
    methods.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Forwards all lines, and passes the method of each request to the callback.
fn pass_on(
    from: impl Read,
    mut to: impl Write,
    mut asked: impl FnMut(String),
) -> std::io::Result<()> {
    for line in BufReader::new(from).split(b'\n') {
        let mut line = line?;
        if let Ok(message) = serde_json::from_slice::<Value>(&line)
            && let (Some(method), Some(_)) = (message["method"].as_str(), message.get("id"))
        {
            asked(method.to_owned());
        }
        line.push(b'\n');
        to.write_all(&line)?;
        to.flush()?;
    }
    Ok(())
}

fn command(program: &[String]) -> Result<Command, Fault> {
    let (name, args) = program.split_first().ok_or("no program to watch")?;
    let mut command = Command::new(name);
    command.args(args);
    Ok(command)
}
