//! The limit of open files of the process. Each connection needs an open file.

/// Number of files for each connection: one for the connection itself, and three for files that its handlers open.
const FILES_PER_CONNECTION: u64 = 4;

/// Raises the limit of open files of the process, which is often 1,024, to four times `max_connections`, as far as the system
/// allows it. Programs that are started later inherit the limit.
///
/// Returns the maximum number of open connections: at most `max_connections`, and at most three quarters of the files that can
/// still be opened. The other files are for handlers.
#[cfg(unix)]
pub(super) fn connections(max_connections: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let wanted = (max_connections as u64).saturating_mul(FILES_PER_CONNECTION);
    let Some(mut files) = limit.current else {
        return max_connections;
    };
    let reachable = limit.maximum.map_or(wanted, |maximum| maximum.min(wanted));
    if files < reachable {
        let raised = Rlimit {
            current: Some(reachable),
            ..limit
        };
        match setrlimit(Resource::Nofile, raised) {
            Ok(()) => files = reachable,
            Err(error) => {
                tracing::warn!(%error, wanted = reachable, "failed to raise the limit of open files");
            }
        }
    }
    // Files that are already open are not available for connections.
    let open = std::fs::read_dir("/dev/fd").map_or(0, Iterator::count);
    let free = usize::try_from(files).unwrap_or(usize::MAX);
    let free = free.saturating_sub(open);
    let connections = (free - free / 4).max(1);
    if connections < max_connections {
        tracing::warn!(
            files,
            connections,
            wanted,
            "the limit of open files allows fewer connections than ConnectionLimits::max_connections, so a smaller number of clients \
             can use up all connections; raise the hard limit of open files, for example with LimitNOFILE= of systemd"
        );
    }
    connections.min(max_connections)
}

/// Returns `max_connections`: this system does not limit the number of sockets.
#[cfg(not(unix))]
pub(super) fn connections(max_connections: usize) -> usize {
    max_connections
}
