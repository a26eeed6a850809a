//! The measured servers, and how each is started.

use std::path::PathBuf;

use super::built::Built;

/// A measured server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    /// A server without an SDK.
    Baseline,
    /// This SDK.
    Ours,
    /// rmcp, the official Rust SDK.
    Rmcp,
    /// tower-mcp.
    Tower,
}

/// All subjects, in the order of the tables.
pub(super) const ALL: [Subject; 4] = [
    Subject::Baseline,
    Subject::Ours,
    Subject::Rmcp,
    Subject::Tower,
];

/// The requirements of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needs {
    /// `--wire` of the load.
    pub(super) wire: &'static str,
    /// Tools besides those that are called.
    pub(super) tools: u32,
    /// Whether notifications come before the answer.
    pub(super) steps: bool,
    /// Whether connections keep the system default, without TCP_NODELAY.
    pub(super) nagle: bool,
}

impl Subject {
    /// The name in the tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Ours => "this SDK",
            Self::Rmcp => "rmcp 3.9.0",
            Self::Tower => "tower-mcp 0.25.0",
        }
    }

    /// The name in file names.
    pub(super) fn short(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Ours => "ours",
            Self::Rmcp => "rmcp",
            Self::Tower => "tower-mcp",
        }
    }

    /// The program.
    pub(super) fn program(self, built: &Built) -> PathBuf {
        match self {
            Self::Baseline => built.program("bench-baseline"),
            Self::Ours => built.program("bench-server"),
            Self::Rmcp => built.peer("bench-rmcp-server"),
            Self::Tower => built.peer("bench-tower-mcp-server"),
        }
    }

    /// The arguments of the program, or the reason why the server cannot meet the requirements.
    pub(super) fn args(self, needs: &Needs) -> Result<Vec<String>, &'static str> {
        let mut words = match needs.wire {
            "stdio" | "stdio-modern" => vec!["--stdio"],
            _ => vec!["--http", "127.0.0.1:0"],
        };
        match (self, needs.wire) {
            (Self::Tower, "http") if needs.steps => {
                return Err("for older revisions no notification comes in the stream of its call");
            }
            (Self::Tower, "http-stateless") => {
                return Err("it always opens sessions for older revisions");
            }
            // Without this it answers requests of the newest revision with streams.
            (Self::Rmcp, "http-modern") | (_, "http-stateless") => words.push("--stateless"),
            _ => {}
        }
        if needs.steps && self == Self::Tower && needs.wire.starts_with("http") {
            words.push("--events");
        }
        if needs.nagle {
            words.push("--nagle");
        }
        let tools = needs.tools.to_string();
        words.extend(["--tools", &tools]);
        Ok(words.into_iter().map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_started_in_its_best_form_or_not_at_all() {
        let needs = |wire, steps| Needs {
            wire,
            tools: 5,
            steps,
            nagle: false,
        };
        let words =
            |subject: Subject, wire, steps| subject.args(&needs(wire, steps)).map(|w| w.join(" "));
        assert_eq!(
            words(Subject::Rmcp, "http-modern", false),
            Ok("--http 127.0.0.1:0 --stateless --tools 5".to_owned())
        );
        assert_eq!(
            words(Subject::Tower, "http-modern", true),
            Ok("--http 127.0.0.1:0 --events --tools 5".to_owned())
        );
        assert_eq!(
            words(Subject::Ours, "stdio", true),
            Ok("--stdio --tools 5".to_owned())
        );
        assert!(words(Subject::Tower, "http-stateless", false).is_err());
    }
}
