//! Servers as child processes: sessions, stderr, and all ways to end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_transport_stdio::{ChildProcess, Stderr, StdioOptions};
use rustix::process::{Pid, test_kill_process, test_kill_process_group};
use tokio::sync::mpsc;

use crate::support::{
    call, connect, open, program, soon, start_call, tool, try_connect, wait_until,
};

/// A shell script as a server, whose stderr the test receives.
fn script(text: &str) -> (ChildProcess, mpsc::Receiver<String>) {
    let (sender, receiver) = mpsc::channel(10_000);
    let child = ChildProcess::new("sh").arg("-c").arg(text);
    let listener = move |line: &str| drop(sender.try_send(line.to_owned()));
    (child.stderr(Stderr::Callback(Arc::new(listener))), receiver)
}

async fn pid(lines: &mut mpsc::Receiver<String>) -> Pid {
    let line = soon(lines.recv()).await.expect("the pid on stderr");
    Pid::from_raw(line.parse().expect("a number")).expect("not zero")
}

/// Returns whether a process exists and has not ended. A process that waits to be reaped has ended.
fn runs(pid: Pid) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    match status {
        Ok(status) => !status
            .rsplit(") ")
            .next()
            .is_some_and(|rest| rest.starts_with('Z')),
        Err(_) => test_kill_process(pid).is_ok(),
    }
}

fn rest(lines: &mut mpsc::Receiver<String>) -> Vec<String> {
    std::iter::from_fn(|| lines.try_recv().ok()).collect()
}

// proves: STDIO-001, STDIO-002, LIFE-021
#[tokio::test]
async fn a_session_works_with_a_child_process() {
    let connection = open(ChildProcess::new(program("echo"))).await;
    assert_eq!(tool(&*connection, "echo", "hi").await.unwrap(), "hi");
    soon(connection.close()).await.unwrap();
    assert!(soon(connection.closed()).await.is_local());
}

// proves: STDIO-010, M-STDIO-007
#[tokio::test]
async fn nothing_but_messages_reaches_the_child() {
    let (child, mut lines) = script(&format!("tee /dev/stderr | {}", program("echo").display()));
    let connection = open(child.stderr_width(10_000)).await;
    tool(&*connection, "echo", "one\ntwo").await.unwrap();
    drop(start_call(&*connection, "ping"));
    soon(connection.close()).await.unwrap();
    let heard = rest(&mut lines);
    assert!(heard.len() >= 3);
    for line in heard {
        let frame: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(frame["jsonrpc"], "2.0");
    }
}

// proves: STDIO-007, STDIO-008, M-STDIO-004, M-STDIO-005
#[tokio::test]
async fn megabytes_on_stderr_do_not_block_the_session() {
    let (child, mut lines) = script(&format!(
        "head -c 4000000 /dev/zero | tr '\\0' 'x' >&2; echo >&2; echo fatal error! >&2; exec {}",
        program("echo").display()
    ));
    let connection = open(child).await;
    assert_eq!(tool(&*connection, "echo", "hi").await.unwrap(), "hi");
    soon(connection.close()).await.unwrap();
    let heard = rest(&mut lines);
    assert_eq!(heard.len(), 2);
    assert_eq!(heard[0].chars().count(), 501, "cut, and marked as cut");
    assert_eq!(heard[1], "fatal error!");
}

// proves: STDIO-011, LIFE-025, M-STDIO-017
#[tokio::test]
async fn a_dead_child_fails_its_calls_with_its_last_stderr_lines() {
    let (child, _lines) = script("read line; echo first >&2; echo last >&2; exit 3");
    let connection = connect(child).await;
    let error = call(&*connection, "ping", serde_json::json!({}))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "peer process ended: exit status: 3; last stderr lines: first | last"
    );
    assert!(soon(connection.closed()).await.is_peer_gone());
    soon(connection.close()).await.unwrap();
}

#[tokio::test]
async fn the_error_of_a_closed_connection_quotes_output_that_is_not_a_message() {
    let (child, _lines) = script(
        "echo hello; echo world; echo oops >&2; read line
         echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}'; cat >/dev/null",
    );
    let connection = connect(child).await;
    call(&*connection, "ping", serde_json::json!({}))
        .await
        .unwrap();
    soon(connection.close()).await.unwrap();
    let reason = soon(connection.closed()).await;
    assert!(reason.is_local());
    assert_eq!(
        reason.details(),
        [
            "last stderr lines: oops",
            "2 line(s) on the server's stdout were not messages, the first: hello"
        ]
    );
}

#[tokio::test]
async fn responses_that_are_written_before_the_child_exits_are_delivered() {
    let (child, _lines) = script(
        "read line; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"late\":1}}'; kill -9 $$",
    );
    let connection = connect(child).await;
    let answer = call(&*connection, "ping", serde_json::json!({})).await;
    assert_eq!(answer.unwrap(), "{\"late\":1}");
    let reason = soon(connection.closed()).await.to_string();
    assert!(reason.contains("signal: 9"), "{reason}");
}

/// Also if a process outside of the group has the child's stdout open.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn calls_fail_at_once_when_the_child_exits() {
    let (child, mut lines) =
        script("setsid sleep 100 2>/dev/null & echo $! >&2; read line; exit 4");
    let connection = connect(child).await;
    let stranger = pid(&mut lines).await;
    wait_until(|| test_kill_process_group(stranger).is_ok()).await; // it has a group of its own
    let pending = start_call(&*connection, "ping");
    let started = Instant::now();
    let error = soon(pending).await.unwrap().unwrap_err();
    let took = started.elapsed();
    assert!(error.to_string().contains("exit status: 4"), "{error}");
    // The stranger has stdout open for 100 seconds.
    assert!(took < Duration::from_secs(20), "{took:?}");
    assert!(runs(stranger), "a process had stdout open all the time");
    rustix::process::kill_process(stranger, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn processes_started_by_the_child_end_with_it() {
    let (child, mut lines) =
        script("trap '' TERM; sleep 100 & echo $! >&2; trap - TERM; read line; exit 0");
    let connection = connect(child).await;
    let grandchild = pid(&mut lines).await;
    let error = soon(start_call(&*connection, "ping"))
        .await
        .unwrap()
        .unwrap_err();
    assert!(error.to_string().contains("exit status: 0"), "{error}");
    wait_until(|| !runs(grandchild)).await;
}

#[tokio::test]
async fn a_closed_stdout_ends_the_session_although_the_child_runs() {
    let (child, mut lines) = script("echo $$ >&2; exec >&-; trap 'exit 0' TERM; read x; read y");
    let connection = connect(child).await;
    let leader = pid(&mut lines).await;
    let reason = soon(connection.closed()).await;
    assert!(reason.is_peer_gone(), "{reason}");
    soon(connection.close()).await.unwrap();
    assert!(!runs(leader));
}

#[tokio::test]
async fn stray_lines_are_accepted_up_to_a_limit() {
    let noisy = |count: usize| {
        let (child, _) = script(&format!(
            "i=0; while [ $i -lt {count} ]; do echo \"noise $i\"; i=$((i+1)); done; exec {}",
            program("echo").display()
        ));
        child.options(StdioOptions::for_client().with_max_stray_lines(20))
    };
    let connection = open(noisy(20)).await;
    assert_eq!(tool(&*connection, "echo", "hi").await.unwrap(), "hi");
    soon(connection.close()).await.unwrap();

    let connection = connect(noisy(21)).await;
    let reason = soon(connection.closed()).await.to_string();
    assert_eq!(
        reason,
        "connection closed: the server wrote more than 20 lines that are not messages, which is the limit of StdioOptions::with_max_stray_lines; 21 line(s) on the server's stdout were not messages, the first: noise 0"
    );
    soon(connection.close()).await.unwrap();
}

// proves: LIFE-022, M-STDIO-015
#[tokio::test]
async fn a_child_that_exits_at_the_end_of_its_stdin_gets_no_signal() {
    let (child, mut lines) = script("trap 'echo TERM >&2' TERM; cat >/dev/null; echo EOF >&2");
    let connection = connect(child.eof_wait(Duration::from_secs(20))).await;
    soon(connection.close()).await.unwrap();
    assert_eq!(rest(&mut lines), ["EOF"]);
}

// proves: LIFE-023
#[tokio::test]
async fn a_child_that_ignores_the_end_of_stdin_is_terminated() {
    let (child, mut lines) =
        script("trap 'echo TERM >&2; exit 0' TERM; echo $$ >&2; while :; do sleep 1; done");
    let connection = connect(child.eof_wait(Duration::from_millis(50))).await;
    let leader = pid(&mut lines).await;
    soon(connection.close()).await.unwrap();
    assert!(rest(&mut lines).contains(&"TERM".to_owned()));
    assert!(test_kill_process(leader).is_err(), "the child was reaped");
}

// proves: LIFE-024, M-STDIO-015
#[tokio::test]
async fn a_child_that_ignores_everything_is_killed() {
    let (child, mut lines) = script("trap '' TERM; echo $$ >&2; while :; do sleep 1; done");
    let child = child
        .eof_wait(Duration::from_millis(50))
        .term_wait(Duration::from_millis(50));
    let connection = connect(child).await;
    let leader = pid(&mut lines).await;
    soon(connection.close()).await.unwrap();
    assert!(test_kill_process(leader).is_err(), "the child was reaped");
    wait_until(|| test_kill_process_group(leader).is_err()).await;
}

/// The leader exits on `SIGTERM`; the rest of the group gets the same time, and then is killed.
#[tokio::test]
async fn the_rest_of_a_group_is_killed_after_the_term_wait() {
    let (child, mut lines) =
        script("(trap '' TERM; sleep 100) & echo $! >&2; while :; do sleep 1; done");
    let child = child
        .eof_wait(Duration::from_millis(50))
        .term_wait(Duration::from_millis(200));
    let connection = connect(child).await;
    let grandchild = pid(&mut lines).await;
    let started = Instant::now();
    soon(connection.close()).await.unwrap();
    assert!(started.elapsed() >= Duration::from_millis(200));
    wait_until(|| !runs(grandchild)).await;
}

#[tokio::test]
async fn a_dropped_connection_ends_its_child() {
    let (child, mut lines) = script("trap '' TERM; echo $$ >&2; while :; do sleep 1; done");
    let connection = connect(child.drop_wait(Duration::from_millis(20))).await;
    let leader = pid(&mut lines).await;
    let pending = start_call(&*connection, "ping");
    drop(connection);
    assert!(soon(pending).await.unwrap().is_err());
    wait_until(|| test_kill_process(leader).is_err()).await;
}

#[test]
fn a_connection_can_be_dropped_outside_of_its_runtime() {
    let runtime = || {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap()
    };
    let started = async || {
        let (child, mut lines) = script("trap '' TERM; echo $$ >&2; while :; do sleep 1; done");
        let connection = connect(child.drop_wait(Duration::from_millis(20))).await;
        let leader = pid(&mut lines).await;
        (connection, leader)
    };

    // The runtime continues; the connection is dropped outside of it.
    let first = runtime();
    let (connection, leader) = first.block_on(started());
    drop(connection);
    first.block_on(wait_until(|| test_kill_process(leader).is_err()));

    // The runtime ends first.
    let second = runtime();
    let (connection, leader) = second.block_on(started());
    drop(second);
    assert!(
        test_kill_process(leader).is_err(),
        "the child was killed and reaped"
    );
    let third = runtime();
    assert!(third.block_on(soon(connection.closed())).is_local());
    third.block_on(soon(connection.close())).unwrap();
}

#[tokio::test]
async fn closing_ends_a_child_that_does_not_read() {
    let (child, mut lines) = script("echo $$ >&2; while :; do sleep 1; done");
    let child = child
        .eof_wait(Duration::from_millis(50))
        .options(StdioOptions::for_client().with_drain_timeout(Duration::from_millis(20)));
    let connection = connect(child).await;
    let leader = pid(&mut lines).await;
    let params = serde_json::to_vec(&"x".repeat(1 << 20)).unwrap();
    let pending = tokio::spawn(connection.link().request("ping", Some(params)));
    soon(connection.close()).await.unwrap();
    assert!(soon(pending).await.unwrap().is_err());
    assert!(test_kill_process(leader).is_err());
}

/// Threat T44: arguments are not interpreted by a shell.
#[tokio::test]
async fn t44_a_child_receives_its_arguments_unchanged() {
    let awkward = [
        "a b",
        "& < > ^ %PATH% $HOME `id`",
        "'\"|;*",
        "",
        "-n",
        "\u{e4}",
    ];
    let (child, mut lines) = script("for arg; do echo \"[$arg]\" >&2; done; echo \"$PWD $X\" >&2");
    let child = child
        .arg("sh")
        .args(awkward)
        .env("X", "y z")
        .current_dir("/");
    let connection = connect(child).await;
    soon(connection.closed()).await;
    let mut expected: Vec<String> = awkward.iter().map(|arg| format!("[{arg}]")).collect();
    expected.push("/ y z".to_owned());
    assert_eq!(rest(&mut lines), expected);
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_named() {
    let refused = async |child: ChildProcess| {
        let error = try_connect(child).await.unwrap_err();
        assert!(std::error::Error::source(&error).is_some());
        error.to_string()
    };
    let missing = ChildProcess::new("no-such-mcp-server").env("PATH", "/nowhere:/else");
    assert_eq!(
        refused(missing).await,
        "cannot start \"no-such-mcp-server\": PATH has no such program; PATH is \"/nowhere:/else\""
    );
    assert_eq!(
        refused(ChildProcess::new("/no/such/file")).await,
        "cannot start \"/no/such/file\": the file does not exist"
    );
    let missing = refused(ChildProcess::new("npx -y pkg").env("PATH", "/nowhere")).await;
    assert_eq!(
        missing,
        "cannot start \"npx -y pkg\": PATH has no such program; pass only the program here, \
         and its arguments to .args(..); PATH is \"/nowhere\""
    );
    assert_eq!(
        refused(ChildProcess::new("sh").current_dir("/no/such")).await,
        "cannot start \"sh\": the directory \"/no/such\" set with current_dir does not exist"
    );
    assert_eq!(
        refused(ChildProcess::new("/")).await,
        "cannot start \"/\": no permission to execute it"
    );
}
