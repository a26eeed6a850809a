//! The processor time of a process.

use std::io::{Error, ErrorKind, Result};
use std::time::Duration;

/// Returns the processor time of all threads of a process.
///
/// The scheduler counts nanoseconds, and is up to date for threads that wait.
///
/// # Errors
/// There is no such process, or the system does not report it.
pub fn cpu(pid: u32) -> Result<Duration> {
    let mut total = 0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may end in between.
        let Ok(text) = std::fs::read_to_string(thread?.path().join("schedstat")) else {
            continue;
        };
        total += ran(&text).ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                "the system keeps no account of processor time (schedstat)",
            )
        })?;
    }
    Ok(Duration::from_nanos(total))
}

/// The first number.
fn ran(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_of_the_scheduler_is_read() {
        assert_eq!(ran("123456789 4567 89\n"), Some(123_456_789));
        assert_eq!(ran(""), None);
        assert!(cpu(std::process::id()).is_ok());
    }
}
