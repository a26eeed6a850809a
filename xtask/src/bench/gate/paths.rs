//! The paths whose costs are gates.

/// One way of calling, and how often.
#[derive(Debug)]
pub(in crate::bench) struct Path {
    /// As in the file of the gates.
    pub(super) name: &'static str,
    /// `--wire` of the load.
    pub(super) wire: &'static str,
    /// `--ask` of the load.
    pub(super) ask: &'static str,
    /// Calls that are sent at once, and all answered before the next.
    pub(super) batch: u32,
    /// Tools besides those that are called.
    pub(super) tools: u32,
    /// Calls of the first run, and how many more the second makes.
    pub(super) few: u32,
    pub(super) more: u32,
}

const fn echo(name: &'static str, wire: &'static str, batch: u32, tools: u32) -> Path {
    Path {
        name,
        wire,
        ask: "echo:64",
        batch,
        tools,
        few: 208,
        more: 1_008,
    }
}

const fn list(name: &'static str, wire: &'static str) -> Path {
    Path {
        name,
        wire,
        ask: "list:1004",
        batch: 1,
        tools: 1_000,
        few: 20,
        more: 100,
    }
}

/// All of them. The numbers of calls are multiples of the batches.
pub(in crate::bench) const PATHS: &[Path] = &[
    echo("stdio", "stdio", 16, 0),
    echo("stdio-single", "stdio", 1, 0),
    echo("stdio-1000-tools", "stdio", 16, 1_000),
    echo("stdio-modern", "stdio-modern", 16, 0),
    echo("http-sessions", "http", 1, 0),
    echo("http-stateless", "http-stateless", 1, 0),
    echo("http-modern", "http-modern", 1, 0),
    list("list-stdio", "stdio"),
    list("list-http", "http-stateless"),
];

impl Path {
    /// What the server is started with.
    pub(super) fn server(&self) -> Vec<String> {
        let mut words = match self.wire {
            "stdio" | "stdio-modern" => vec!["--stdio"],
            "http-stateless" => vec!["--http", "127.0.0.1:0", "--stateless"],
            _ => vec!["--http", "127.0.0.1:0"],
        };
        let tools = self.tools.to_string();
        words.extend(["--tools", &tools]);
        words.into_iter().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_ends_with_a_whole_batch() {
        for path in PATHS {
            assert_eq!(path.few % path.batch, 0, "{}", path.name);
            assert_eq!(path.more % path.batch, 0, "{}", path.name);
        }
    }
}
