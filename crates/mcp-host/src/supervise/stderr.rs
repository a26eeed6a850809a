//! The last lines that a server wrote to stderr.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use mcp_protocol::lock;

use crate::text::is_hidden;

/// The last 64 KiB that a server has written to stderr, including the text before a restart. Cloning returns another handle.
#[derive(Debug, Clone, Default)]
pub struct StderrLog(Arc<Mutex<Ring>>);

#[derive(Debug, Default)]
struct Ring {
    lines: VecDeque<String>,
    bytes: usize,
}

/// Maximum size of the lines that are kept, in bytes.
const MAX_BYTES: usize = 64 << 10;
/// Number of bytes that are counted for each line in addition to its text.
const LINE_BYTES: usize = size_of::<String>();

impl StderrLog {
    /// Removes control characters and invisible characters from `line` and appends it. Drops the oldest lines beyond 64 KiB in
    /// total. Skips a line of more than 64 KiB.
    pub fn push(&self, line: &str) {
        let line: String = line.chars().filter(|c| !is_hidden(*c)).collect();
        if line.len() + LINE_BYTES > MAX_BYTES {
            return;
        }
        let mut ring = lock(&self.0);
        ring.bytes += line.len() + LINE_BYTES;
        ring.lines.push_back(line);
        while ring.bytes > MAX_BYTES
            && let Some(oldest) = ring.lines.pop_front()
        {
            ring.bytes -= oldest.len() + LINE_BYTES;
        }
    }

    /// Returns the lines, the oldest first.
    pub fn lines(&self) -> Vec<String> {
        let ring = lock(&self.0);
        ring.lines.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stderr_log_has_a_limited_size() {
        let log = StderrLog::default();
        for number in 0..100_000 {
            log.push(&format!("line {number}\u{1b}[0m"));
        }
        let lines = log.lines();
        assert_eq!(lines.last().unwrap(), "line 99999[0m");
        let bytes: usize = lines.iter().map(|line| line.len() + LINE_BYTES).sum();
        assert!(bytes <= MAX_BYTES && lines.len() > 500, "{bytes}");
        log.push(&"x".repeat(MAX_BYTES));
        assert_eq!(log.lines(), lines);
    }
}
