//! The end of a process that serves HTTP.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use mcp_tests::tcp::{Conn, Session};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::time::timeout;

use crate::prelude::*;

/// Time limit for the start and the end of the process.
const DEADLINE: Duration = Duration::from_secs(20);

/// A program in `examples/`, which is built with the tests.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    folder.join("examples").join(name)
}

#[tokio::test]
async fn sigterm_and_ctrl_c_end_a_program_although_an_event_stream_is_open() {
    for signal in [Signal::TERM, Signal::INT] {
        let name = format!("shutdown-{}-{}.redb", std::process::id(), signal.as_raw());
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut child = Command::new(program("long_job"))
            .args(["serve", "127.0.0.1:0"])
            .arg(&file)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut address = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let read = timeout(DEADLINE, stdout.read_line(&mut address)).await;
        assert!(read.unwrap().unwrap() > 0, "the server did not start");
        let connect = async || Conn::new(TcpStream::connect(address.trim()).await.unwrap());

        let session = Session::open(&mut connect().await).await;
        let mut stream = connect().await;
        stream.send(session.get().bytes()).await;
        assert_eq!(stream.head().await.status, 200);

        let process = Pid::from_raw(child.id().unwrap().try_into().unwrap());
        kill_process(process.unwrap(), signal).unwrap();
        let status = timeout(DEADLINE, child.wait()).await.unwrap().unwrap();
        assert!(status.success(), "{signal:?}: {status}");
        std::fs::remove_file(file).unwrap();
    }
}
