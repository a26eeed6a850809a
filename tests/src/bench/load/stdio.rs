//! A client of a line-based server, with a limited number of requests in flight.

use std::collections::HashMap;
use std::time::Instant;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;

use super::check::{Check, Found};
use super::figures::Times;
use super::options::Limit;
use crate::bench::Fault;
use crate::bench::requests::Requests;

/// Least number of bytes to read at once.
const PIECE: usize = 64 << 10;
/// Limit of a line.
const LONGEST: usize = 64 << 20;

/// The two pipes of a server, and their buffers.
#[derive(Debug)]
pub(super) struct Lines {
    stdin: pipe::Sender,
    stdout: pipe::Receiver,
    input: Vec<u8>,
    /// The number of searched bytes without a line end.
    seen: usize,
    out: Vec<u8>,
    /// The number of written bytes of `out`.
    written: usize,
}

/// The order of requests and responses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) inflight: usize,
    pub(super) batch: bool,
}

impl Lines {
    pub(super) fn new((stdin, stdout): (pipe::Sender, pipe::Receiver)) -> Self {
        Self {
            stdin,
            stdout,
            input: Vec::with_capacity(PIECE),
            seen: 0,
            out: Vec::new(),
            written: 0,
        }
    }

    /// Opens a session and waits for the response.
    pub(super) async fn open(&mut self, opening: [Vec<u8>; 2]) -> Result<(), Fault> {
        let [first, second] = opening;
        self.out.extend_from_slice(&first);
        let mut said = None;
        while said.is_none() {
            self.turn().await?;
            self.each(|line| {
                said = Some(line.to_vec());
                Ok(())
            })?;
        }
        let said = said.unwrap_or_default();
        if memchr::memmem::find(&said, b"\"serverInfo\"").is_none() {
            return Err(format!("no session: {}", String::from_utf8_lossy(&said)).into());
        }
        self.out.extend_from_slice(&second);
        Ok(())
    }

    /// Makes calls until a limit is reached and all of them have responses.
    pub(super) async fn calls(
        &mut self,
        requests: &Requests,
        check: &Check,
        pace: Pace,
        ids: &mut u64,
        limit: Limit,
    ) -> Result<Times, Fault> {
        let mut times = Times::default();
        let mut started = HashMap::with_capacity(pace.inflight);
        let mut notifications = 0;
        let mut left = limit.calls;
        let start = Instant::now();
        loop {
            let now = Instant::now();
            if now.duration_since(start) >= limit.time {
                left = 0;
            }
            if started.is_empty() || !pace.batch {
                while left > 0 && started.len() < pace.inflight {
                    *ids += 1;
                    left -= 1;
                    requests.write(*ids, &mut self.out);
                    started.insert(*ids, now);
                }
            }
            if started.is_empty() {
                break;
            }
            self.turn().await?;
            let now = Instant::now();
            self.each(|line| {
                match check.message(line)? {
                    Found::Notification => notifications += 1,
                    Found::Answer(id) => {
                        let began = started.remove(&id);
                        let began = began.ok_or_else(|| format!("{id} was not asked"))?;
                        times.note(now.duration_since(began));
                    }
                }
                Ok(())
            })?;
        }
        let due = times.calls() * check.notifications() as u64;
        if notifications != due {
            return Err(format!("{notifications} notifications instead of {due}").into());
        }
        Ok(times)
    }

    /// Writes or reads, whichever is possible.
    async fn turn(&mut self) -> Result<(), Fault> {
        while self.written < self.out.len() {
            match self.stdin.try_write(&self.out[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
        }
        if self.written == self.out.len() {
            self.out.clear();
            self.written = 0;
        }
        self.input.reserve(PIECE);
        tokio::select! {
            read = self.stdout.read_buf(&mut self.input) => {
                if read? == 0 {
                    return Err("the server closed its stdout".into());
                }
            }
            ready = self.stdin.writable(), if !self.out.is_empty() => ready?,
        }
        Ok(())
    }

    /// Handles every complete line in the buffer.
    fn each(&mut self, mut line: impl FnMut(&[u8]) -> Result<(), Fault>) -> Result<(), Fault> {
        let mut start = 0;
        while let Some(length) = memchr::memchr(b'\n', &self.input[start.max(self.seen)..]) {
            let end = start.max(self.seen) + length;
            line(&self.input[start..end])?;
            start = end + 1;
        }
        self.input.drain(..start);
        self.seen = self.input.len();
        if self.seen > LONGEST {
            return Err("a line without an end".into());
        }
        Ok(())
    }
}
