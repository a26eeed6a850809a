//! Lines over stdin and stdout: non-blocking pipes on the reactor, one read and one write for all
//! available lines.

use std::fs::File;
use std::os::fd::AsFd as _;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;

use super::{Answer, Baseline};
use crate::bench::Fault;

/// Limit of the bytes read at once.
const PIECE: usize = 64 << 10;
/// Limit of a line.
const LONGEST: usize = 64 << 20;

/// Serves lines until stdin ends. The reactor runs on this thread, which is cheapest with one call
/// in flight.
pub(super) fn run(baseline: &Baseline) -> Result<(), Fault> {
    tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?
        .block_on(lines(baseline))
}

async fn lines(baseline: &Baseline) -> Result<(), Fault> {
    let own = |fd: std::os::fd::BorrowedFd<'_>| fd.try_clone_to_owned().map(File::from);
    let mut stdin = pipe::Receiver::from_file(own(std::io::stdin().as_fd())?)?;
    let mut stdout = pipe::Sender::from_file(own(std::io::stdout().as_fd())?)?;
    let (mut input, mut out) = (Vec::with_capacity(PIECE), Vec::with_capacity(PIECE));
    // The number of searched bytes without a line end.
    let mut seen = 0;
    loop {
        input.reserve(PIECE);
        if stdin.read_buf(&mut input).await? == 0 {
            return Ok(());
        }
        let mut start = 0;
        while let Some(length) = memchr::memchr(b'\n', &input[start.max(seen)..]) {
            let end = start.max(seen) + length;
            answer(baseline, &input[start..end], &mut out)?;
            start = end + 1;
        }
        input.drain(..start);
        seen = input.len();
        if seen > LONGEST {
            return Err("a line without an end".into());
        }
        stdout.write_all(&out).await?;
        out.clear();
    }
}

fn answer(baseline: &Baseline, line: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let mut line_of = |bytes: &[&[u8]]| {
        for piece in bytes {
            out.extend_from_slice(piece);
        }
        out.push(b'\n');
    };
    match baseline.answer(line)? {
        Answer::None => {}
        Answer::Opened(bytes) | Answer::One(bytes) => line_of(&[&bytes]),
        Answer::Ready(pieces) => line_of(&pieces.each_ref().map(|piece| &piece[..])),
        Answer::Many(all) => all.iter().for_each(|bytes| line_of(&[bytes])),
    }
    Ok(())
}
