//! A server program with different kinds of stdin and stdout: pipes, sockets, files.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{handshake, program, request, tool_request};
use crate::wire::frames;

/// The lines of a session in which tools print by accident.
fn careless_session() -> String {
    handshake()
        + &tool_request(2, "print", "hello")
        + &tool_request(3, "shell", "echo from a child; cat; exit 7")
        + &tool_request(4, "panic", "")
        + &request(5, "ping", &json!({}))
}

fn start(args: &[&str], stdin: impl Into<Stdio>, stdout: impl Into<Stdio>) -> Child {
    Command::new(program("echo"))
        .args(args)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn by_id(frames: &[Value], id: i64) -> &Value {
    frames.iter().find(|frame| frame["id"] == id).unwrap()
}

// proves: STDIO-006, STDIO-009, M-STDIO-003, M-STDIO-006
#[test]
fn printed_text_does_not_reach_the_session() {
    let mut server = start(&[], Stdio::piped(), Stdio::piped());
    let mut stdin = server.stdin.take().unwrap();
    stdin.write_all(careless_session().as_bytes()).unwrap();
    // The output of the shell shows that its stdin was empty.
    let mut stdout = BufReader::new(server.stdout.take().unwrap());
    let mut output = String::new();
    for _ in 0..5 {
        stdout.read_line(&mut output).unwrap();
    }
    drop(stdin);
    stdout.read_to_string(&mut output).unwrap();
    let frames = frames(output.as_bytes());
    assert_eq!(frames.len(), 5);
    assert_eq!(by_id(&frames, 2)["result"]["content"][0]["text"], "hello");
    let shell = &by_id(&frames, 3)["result"]["content"][0]["text"];
    assert_eq!(shell, "Ok(Some(7))");
    let mut stderr = String::new();
    server
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    for printed in ["by accident: hello", "without a newline", "from a child"] {
        assert!(stderr.contains(printed), "{stderr}");
    }
    assert!(server.wait().unwrap().success());
}

#[test]
fn text_that_is_printed_before_serving_goes_to_stderr() {
    let mut server = start(&["--early"], Stdio::piped(), Stdio::piped());
    let mut stdin = server.stdin.take().unwrap();
    stdin.write_all(careless_session().as_bytes()).unwrap();
    drop(stdin);
    let output = server.wait_with_output().unwrap();
    let frames = frames(&output.stdout);
    assert_eq!(by_id(&frames, 2)["result"]["content"][0]["text"], "hello");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("starting up"), "{stderr}");
    assert!(output.status.success());
}

#[test]
fn without_the_guard_printed_text_reaches_the_client() {
    let mut server = start(&["--without-guard"], Stdio::piped(), Stdio::piped());
    let mut stdin = server.stdin.take().unwrap();
    let input = handshake() + &tool_request(2, "print", "hello");
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = server.wait_with_output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    assert!(output.contains("printed by accident"), "{output}");
}

// proves: LIFE-026, M-STDIO-016
#[test]
fn the_program_exits_within_a_second_of_the_end_of_stdin() {
    for running in [&[][..], &["never"], &["block"], &["never", "block", "ask"]] {
        let mut server = start(&[], Stdio::piped(), Stdio::piped());
        let mut stdin = server.stdin.take().unwrap();
        let mut stdout = BufReader::new(server.stdout.take().unwrap());
        let mut input = handshake();
        for (id, name) in (10..).zip(running) {
            input += &tool_request(id, name, "");
        }
        input += &request(2, "ping", &json!({}));
        stdin.write_all(input.as_bytes()).unwrap();
        let mut line = String::new();
        while !line.contains("\"id\":2,") {
            line.clear();
            stdout.read_line(&mut line).unwrap();
        }
        let ended = Instant::now();
        drop(stdin);
        assert!(server.wait().unwrap().success());
        let took = ended.elapsed();
        assert!(took < Duration::from_secs(1), "{took:?} with {running:?}");
        if running.is_empty() {
            assert!(
                took < Duration::from_millis(500),
                "{took:?} without running handlers"
            );
        }
    }
}

/// Hosts that use libuv pass socket pairs instead of pipes.
#[test]
fn stdin_and_stdout_can_be_sockets() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let theirs = OwnedFd::from(theirs);
    let kept = theirs.try_clone().unwrap();
    let mut server = start(&[], theirs.try_clone().unwrap(), theirs);
    ours.write_all(careless_session().as_bytes()).unwrap();
    let mut reader = BufReader::new(ours.try_clone().unwrap());
    let mut output = String::new();
    for _ in 0..5 {
        reader.read_line(&mut output).unwrap();
    }
    assert_eq!(frames(output.as_bytes()).len(), 5);
    let blocking = || {
        let flags = rustix::fs::fcntl_getfl(&kept).unwrap();
        !flags.contains(rustix::fs::OFlags::NONBLOCK)
    };
    assert!(!blocking(), "a socket cannot be opened again");
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(server.wait().unwrap().success());
    assert!(blocking(), "other processes find the socket unchanged");
}

#[test]
fn pipes_stay_blocking_for_processes_that_share_them() {
    let (reader, mut to_server) = io::pipe().unwrap();
    let (mut from_server, writer) = io::pipe().unwrap();
    let kept = [
        OwnedFd::from(reader.try_clone().unwrap()),
        OwnedFd::from(writer.try_clone().unwrap()),
    ];
    let mut server = start(&[], reader, writer);
    to_server.write_all(handshake().as_bytes()).unwrap();
    let mut first = [0];
    from_server.read_exact(&mut first).unwrap();
    for fd in &kept {
        let flags = rustix::fs::fcntl_getfl(fd).unwrap();
        let nonblocking = flags.contains(rustix::fs::OFlags::NONBLOCK);
        // On other systems a pipe cannot be opened again, and is restored at the end.
        assert!(!nonblocking || !cfg!(target_os = "linux"));
    }
    drop(to_server);
    assert!(server.wait().unwrap().success());
    for fd in &kept {
        let flags = rustix::fs::fcntl_getfl(fd).unwrap();
        assert!(!flags.contains(rustix::fs::OFlags::NONBLOCK));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn stdin_and_stdout_can_be_files() {
    let file = || {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        File::from(rustix::fs::memfd_create("session", flags).unwrap())
    };
    let (mut input, mut output) = (file(), file());
    input.write_all(careless_session().as_bytes()).unwrap();
    input.rewind().unwrap();
    let mut server = start(&[], input, output.try_clone().unwrap());
    assert!(server.wait().unwrap().success());
    output.rewind().unwrap();
    let mut text = Vec::new();
    output.read_to_end(&mut text).unwrap();
    assert_eq!(frames(&text).len(), 5);
}

#[test]
fn serving_ends_without_an_error_if_the_client_closes_both_ends() {
    let mut server = start(&[], Stdio::piped(), Stdio::piped());
    drop(server.stdout.take());
    let mut stdin = server.stdin.take().unwrap();
    stdin.write_all(handshake().as_bytes()).unwrap();
    assert!(
        server.wait().unwrap().success(),
        "the end was detected while stdin was open"
    );
}

#[test]
fn stdin_cannot_be_served_twice_at_the_same_time() {
    let mut server = start(&["--twice"], Stdio::piped(), Stdio::piped());
    let mut stdin = server.stdin.take().unwrap();
    stdin.write_all(handshake().as_bytes()).unwrap();
    drop(stdin);
    let output = server.wait_with_output().unwrap();
    assert_eq!(frames(&output.stdout).len(), 1);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("already being served"), "{stderr}");
}

/// A named pipe whose writer has closed it before the server opens it.
#[cfg(target_os = "linux")]
#[test]
fn stdin_can_be_a_named_pipe() {
    use rustix::fs::{CWD, FileType, Mode, OFlags, fcntl_setfl, mknodat, open};

    let path = std::env::temp_dir().join(format!("mcp-test-fifo-{}", std::process::id()));
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let reader = open(&path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).unwrap();
    let mut writer = File::options().write(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    fcntl_setfl(&reader, OFlags::empty()).unwrap();
    writer.write_all(careless_session().as_bytes()).unwrap();
    drop(writer);
    let server = start(&[], reader, Stdio::piped());
    let output = server.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(frames(&output.stdout).len(), 5);
}
