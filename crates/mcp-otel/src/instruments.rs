//! The metrics.

use mcp_protocol::middleware::Role;
use opentelemetry::metrics::{Counter, Histogram, Meter};

/// The histogram buckets that the semantic conventions define, in seconds.
const BUCKETS: [f64; 14] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
];

/// The metrics of both roles. For a request that the server sends, the server records the metrics of a client, because it has the
/// role of the client.
#[derive(Debug)]
pub(crate) struct Instruments {
    pub(crate) client: RoleInstruments,
    pub(crate) server: RoleInstruments,
}

/// The metrics of one role.
#[derive(Debug)]
pub(crate) struct RoleInstruments {
    pub(crate) operation: Histogram<f64>,
    pub(crate) session: Histogram<f64>,
    pub(crate) frames: Counter<u64>,
    pub(crate) responses: Counter<u64>,
}

impl Instruments {
    pub(crate) fn new(meter: &Meter) -> Self {
        Self {
            client: RoleInstruments::new(meter, "client"),
            server: RoleInstruments::new(meter, "server"),
        }
    }

    pub(crate) fn of(&self, role: Role) -> &RoleInstruments {
        match role {
            Role::Client => &self.client,
            Role::Server => &self.server,
        }
    }
}

impl RoleInstruments {
    fn new(meter: &Meter, role: &str) -> Self {
        let histogram = |name: &str, description: &'static str| {
            meter
                .f64_histogram(format!("mcp.{role}.{name}"))
                .with_unit("s")
                .with_description(description)
                .with_boundaries(BUCKETS.to_vec())
                .build()
        };
        let counter = |name: &str, unit: &'static str, description: &'static str| {
            meter
                .u64_counter(format!("mcp.{role}.{name}"))
                .with_unit(unit)
                .with_description(description)
                .build()
        };
        Self {
            operation: histogram(
                "operation.duration",
                "The duration of a request or notification.",
            ),
            session: histogram("session.duration", "The duration of a session."),
            frames: counter(
                "discarded.frames",
                "{frame}",
                "Frames of the peer that are not valid messages.",
            ),
            responses: counter(
                "discarded.responses",
                "{response}",
                "Responses of the peer that do not belong to a pending request.",
            ),
        }
    }
}
