//! The paths whose costs are gates.

use crate::bench::subject::Needs;

/// One way of calling, and how often.
#[derive(Clone, Copy, Debug)]
pub(in crate::bench) struct Path {
    /// As in the file of the gates.
    pub(in crate::bench) name: &'static str,
    pub(in crate::bench) needs: Needs,
    /// `--ask` of the load.
    pub(in crate::bench) ask: &'static str,
    /// Calls in flight: over stdio sent at once and all answered before the next, over HTTP one on each connection.
    pub(in crate::bench) batch: u32,
    /// Calls of the first run, and how many more the second makes.
    pub(in crate::bench) few: u32,
    pub(in crate::bench) more: u32,
    /// How often each is run, of which the least counts.
    pub(in crate::bench) rounds: u32,
}

const fn needs(wire: &'static str, tools: u32) -> Needs {
    Needs {
        wire,
        tools,
        steps: false,
        nagle: false,
    }
}

const fn echo(name: &'static str, wire: &'static str, batch: u32, tools: u32) -> Path {
    Path {
        name,
        needs: needs(wire, tools),
        ask: "echo:64",
        batch,
        few: 208,
        more: 1_008,
        rounds: 1,
    }
}

/// Over HTTP on eight connections. How many of them have something to read when the server wakes is up to the machine,
/// and each more waking costs more: where nothing else runs they differ by one in a thousand, where everything runs by ten.
const fn http(name: &'static str, wire: &'static str) -> Path {
    Path {
        rounds: 3,
        ..echo(name, wire, 8, 0)
    }
}

const fn list(name: &'static str, wire: &'static str) -> Path {
    Path {
        name,
        needs: needs(wire, 1_000),
        ask: "list:1004",
        batch: 1,
        few: 20,
        more: 100,
        rounds: 1,
    }
}

/// All of them. The numbers of calls are multiples of the batches.
pub(in crate::bench) const PATHS: &[Path] = &[
    echo("stdio", "stdio", 16, 0),
    echo("stdio-single", "stdio", 1, 0),
    echo("stdio-1000-tools", "stdio", 16, 1_000),
    echo("stdio-modern", "stdio-modern", 16, 0),
    http("http-sessions", "http"),
    http("http-stateless", "http-stateless"),
    http("http-modern", "http-modern"),
    echo("http-single", "http", 1, 0),
    list("list-stdio", "stdio"),
    list("list-http", "http-stateless"),
];

impl Path {
    /// With fewer calls, for a figure that is no gate: peers take ten times as long.
    pub(in crate::bench) fn brief(&self) -> Self {
        Self {
            few: 64,
            more: 320,
            rounds: 1,
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_ends_with_a_whole_batch() {
        for path in PATHS.iter().flat_map(|path| [*path, path.brief()]) {
            assert_eq!(path.few % path.batch, 0, "{}", path.name);
            assert_eq!(path.more % path.batch, 0, "{}", path.name);
        }
    }
}
