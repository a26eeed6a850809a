//! The measured calls, as `workloads.toml` lists them.

use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Workloads {
    /// Calls to all servers, in the order of the page.
    #[serde(rename = "group")]
    pub(super) groups: Vec<Group>,
    pub(super) clients: Vec<Workload>,
    /// Calls of which instructions and allocations are counted.
    #[serde(rename = "gate")]
    pub(super) gates: Vec<Workload>,
    /// Memory, start time and size.
    #[serde(rename = "weight")]
    pub(super) weights: Vec<Weight>,
}

/// A row that is not about calls. The file explains the members.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Weight {
    pub(super) name: String,
    pub(super) member: String,
    pub(super) missing: Option<String>,
}

/// A heading of the page with its rows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Group {
    pub(super) title: String,
    pub(super) rows: Vec<Workload>,
}

/// One way of calling. The file explains the members.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Workload {
    pub(super) name: String,
    pub(super) wire: String,
    pub(super) ask: String,
    pub(super) calls: u32,
    pub(super) tools: u32,
    pub(super) layers: u32,
    pub(super) sessions: u32,
    pub(super) nagle: bool,
    pub(super) rounds: Option<usize>,
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            name: String::new(),
            wire: String::new(),
            ask: "echo:64".to_owned(),
            calls: 1,
            tools: 0,
            layers: 0,
            sessions: 0,
            nagle: false,
            rounds: None,
        }
    }
}

impl Workloads {
    #[expect(clippy::expect_used, reason = "the file is part of the program")]
    pub(super) fn load() -> Self {
        toml::from_str(include_str!("workloads.toml")).expect("workloads.toml is valid")
    }
}

impl Workload {
    /// A server over this wire, without other requirements.
    pub(super) fn new(name: &str, wire: &str) -> Self {
        Self {
            name: name.to_owned(),
            wire: wire.to_owned(),
            ..Self::default()
        }
    }

    pub(super) fn is_stdio(&self) -> bool {
        self.wire.starts_with("stdio")
    }

    /// Whether notifications precede the response.
    pub(super) fn has_notifications(&self) -> bool {
        self.ask.starts_with("steps")
    }
}
