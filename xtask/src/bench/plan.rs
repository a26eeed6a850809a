//! The rows of the table.

use super::subject::Needs;

/// A heading with rows below it.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) title: &'static str,
    pub(super) rows: Vec<Row>,
}

/// One way of calling.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) needs: Needs,
    /// `--ask` of the load.
    pub(super) ask: String,
    pub(super) inflight: u32,
    /// Sessions with an open stream beside those that call.
    pub(super) beside: u32,
    /// How often it is run at full length.
    pub(super) rounds: usize,
}

/// Rounds of rows that are about a few hundred nanoseconds, and of those that are not.
const MANY: usize = 5;
const FEW: usize = 3;

impl Row {
    fn new(name: impl Into<String>, wire: &'static str, ask: impl Into<String>) -> Self {
        let ask = ask.into();
        Self {
            name: name.into(),
            needs: Needs {
                wire,
                tools: 0,
                steps: ask.starts_with("steps"),
                nagle: false,
            },
            ask,
            inflight: 1,
            beside: 0,
            rounds: MANY,
        }
    }

    fn inflight(self, inflight: u32) -> Self {
        Self { inflight, ..self }
    }

    fn beside(self, beside: u32) -> Self {
        Self { beside, ..self }
    }

    fn few(self) -> Self {
        Self {
            rounds: FEW,
            ..self
        }
    }

    fn tools(mut self, tools: u32) -> Self {
        self.needs.tools = tools;
        self
    }

    fn nagle(mut self) -> Self {
        self.needs.nagle = true;
        self
    }
}

/// What a plot draws against each other.
pub(super) const CONCURRENT: [u32; 4] = [1, 8, 64, 1_000];
pub(super) const PAYLOADS: [u32; 6] = [100, 1_000, 10_000, 64_000, 1_000_000, 4_000_000];
pub(super) const TOOLS: [u32; 3] = [0, 100, 1_000];
pub(super) const BESIDE: [u32; 4] = [0, 10, 100, 1_000];
/// Calls in flight beside them.
pub(super) const CALLING: u32 = 8;

/// The titles by which plots find their rows.
pub(super) const HTTP: &str = "HTTP, sessions, 2025-11-25";
pub(super) const STDIO: &str = "stdio";
pub(super) const MODERN: &str = "2026-07-28";
pub(super) const MANY_TOOLS: &str = "Many tools";
pub(super) const EVENTS: &str = "Streams and listeners";
pub(super) const STANDING: &str = "Sessions that stand by, each with its stream";
pub(super) const IN_AND_OUT: &str = "Payloads over HTTP, in and out";

const ECHO: &str = "echo:64";

fn calls(inflight: u32) -> String {
    match inflight {
        1 => "1 call at a time".to_owned(),
        _ => format!("{} calls at a time", thousands(u64::from(inflight))),
    }
}

/// With spaces between the thousands.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

fn bytes(count: u32) -> String {
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{} kB", count / 1_000),
        _ => format!("{} MB", count / 1_000_000),
    }
}

/// All rows.
pub(super) fn groups() -> Vec<Group> {
    let at_once = |wire, counts: &[u32]| {
        let row = |count: &u32| Row::new(calls(*count), wire, ECHO).inflight(*count);
        counts.iter().map(row).collect::<Vec<_>>()
    };
    let payloads = |wire, kind: &str, sizes: &[u32]| {
        let row = |size: &u32| {
            Row::new(bytes(*size), wire, format!("{kind}:{size}"))
                .inflight(2)
                .few()
        };
        sizes.iter().map(row).collect::<Vec<_>>()
    };
    let mut modern = Vec::new();
    for (name, wire, inflight) in [
        ("stdio, 1 call at a time", "stdio-modern", 1),
        ("stdio, 64 calls at a time", "stdio-modern", 64),
        ("HTTP, 1 call at a time", "http-modern", 1),
        ("HTTP, 8 calls at a time", "http-modern", 8),
        ("HTTP, 64 calls at a time", "http-modern", 64),
    ] {
        modern.push(Row::new(name, wire, ECHO).inflight(inflight));
    }
    let mut tools: Vec<Row> = TOOLS
        .iter()
        .map(|more| {
            let name = format!("a call beside {more} other tools, HTTP");
            Row::new(name, "http", ECHO).inflight(8).tools(*more)
        })
        .collect();
    tools.push(
        Row::new("a call beside 1000 other tools, stdio", "stdio", ECHO)
            .inflight(64)
            .tools(1_000),
    );
    for (name, wire) in [
        ("HTTP", "http"),
        ("HTTP 2026-07-28", "http-modern"),
        ("stdio", "stdio"),
    ] {
        let name = format!("the list of 1004 tools, {name}");
        tools.push(Row::new(name, wire, "list:1004").tools(1_000).few());
    }
    let mut streams = vec![
        Row::new(
            "10 notifications, then the answer, 8 at a time",
            "http",
            "steps:10",
        )
        .inflight(8),
        Row::new("the same, 2026-07-28", "http-modern", "steps:10").inflight(8),
    ];
    for (name, ask) in [("a call", ECHO), ("10 notifications", "steps:10")] {
        let name = format!("{name} on one connection without TCP_NODELAY");
        streams.push(Row::new(name, "http", ask).few().nagle());
    }
    let standing = BESIDE.map(|beside| {
        let name = format!("8 calls at a time beside {}", thousands(u64::from(beside)));
        Row::new(name, "http", ECHO)
            .inflight(CALLING)
            .beside(beside)
    });
    vec![
        Group {
            title: STDIO,
            rows: at_once("stdio", &[1, 64, 1_000]),
        },
        Group {
            title: HTTP,
            rows: at_once("http", &CONCURRENT),
        },
        Group {
            title: "HTTP, no sessions, 2025-11-25",
            rows: at_once("http-stateless", &[1, 8]),
        },
        Group {
            title: MODERN,
            rows: modern,
        },
        Group {
            title: EVENTS,
            rows: streams,
        },
        Group {
            title: STANDING,
            rows: standing.into(),
        },
        Group {
            title: MANY_TOOLS,
            rows: tools,
        },
        Group {
            title: IN_AND_OUT,
            rows: payloads("http", "echo", &PAYLOADS),
        },
        Group {
            title: "Payloads over HTTP, out",
            rows: payloads("http", "big", &[10_000, 1_000_000, 4_000_000]),
        },
        Group {
            title: "Payloads over stdio, in and out",
            rows: payloads("stdio", "echo", &PAYLOADS),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_names_of_their_own_and_plots_find_theirs() {
        let groups = groups();
        for group in &groups {
            let mut names: Vec<_> = group.rows.iter().map(|row| &row.name).collect();
            names.dedup();
            assert_eq!(names.len(), group.rows.len(), "{}", group.title);
        }
        let rows = |title| {
            let group = groups.iter().find(|group| group.title == title);
            group.map_or(0, |group| group.rows.len())
        };
        assert_eq!(rows(HTTP), CONCURRENT.len());
        assert_eq!(rows(IN_AND_OUT), PAYLOADS.len());
        assert_eq!(rows(STANDING), BESIDE.len());
        assert!(rows(MANY_TOOLS) >= TOOLS.len());
    }

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!(thousands(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(thousands(999), "999");
        assert_eq!(bytes(100), "100 B");
        assert_eq!(bytes(4_000_000), "4 MB");
    }
}
