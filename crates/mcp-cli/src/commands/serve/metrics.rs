//! The metrics of `mcp serve`, in the text format of OpenMetrics.

use std::collections::HashSet;
use std::fmt;
use std::sync::Mutex;

use mcp_client::types::method;
use mcp_gateway::{Gateway, RequestOutcome, ServedRequest};
use mcp_protocol::{gate, lock};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

/// Maximum number of names of tools in labels. Further names are [`OTHER`].
const MAX_NAMES: usize = 1_000;
/// Maximum number of different error codes in labels.
const MAX_CODES: usize = 100;
const OTHER: &str = "_other";
/// The buckets of durations in seconds: those of the OpenTelemetry conventions for MCP.
const BUCKETS: [f64; 14] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OperationLabels {
    mcp_method_name: &'static str,
    gen_ai_tool_name: String,
    error_type: String,
    server: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    server: String,
    tool: String,
    outcome: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ServerLabel {
    server: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabel {
    reason: &'static str,
}

/// The metrics of a gateway.
pub(super) struct Metrics {
    registry: Registry,
    durations: Family<OperationLabels, Histogram, fn() -> Histogram>,
    calls: Family<CallLabels, Counter>,
    rejected: Family<ReasonLabel, Counter>,
    up: Family<ServerLabel, Gauge>,
    connections: Family<ServerLabel, Gauge>,
    parked: Gauge,
    sessions: Gauge,
    lost_lines: Gauge,
    known: Mutex<Known>,
}

/// The names that are used in labels. A client can send any name, so a name is unknown until a request with it has succeeded.
#[derive(Default)]
struct Known {
    tools: HashSet<(String, String)>,
    codes: HashSet<i64>,
}

impl Metrics {
    pub(super) fn new() -> Self {
        let mut registry = Registry::default();
        let durations = Family::new_with_constructor(histogram as fn() -> Histogram);
        let metrics = Self {
            durations,
            calls: Family::default(),
            rejected: Family::default(),
            up: Family::default(),
            connections: Family::default(),
            parked: Gauge::default(),
            sessions: Gauge::default(),
            lost_lines: Gauge::default(),
            known: Mutex::default(),
            registry: Registry::default(),
        };
        registry.register(
            "mcp_server_operation_duration_seconds",
            "Duration of requests of clients",
            metrics.durations.clone(),
        );
        registry.register(
            "mcp_gateway_calls",
            "Tool calls of clients, by how they ended",
            metrics.calls.clone(),
        );
        registry.register(
            "mcp_gateway_rejected",
            "Requests of clients that were refused",
            metrics.rejected.clone(),
        );
        for (name, help, gauge) in [
            (
                "mcp_gateway_upstream_up",
                "1 if the last attempt to connect to the server succeeded",
                &metrics.up,
            ),
            (
                "mcp_gateway_upstream_connections",
                "Open connections to the server",
                &metrics.connections,
            ),
        ] {
            registry.register(name, help, gauge.clone());
        }
        metrics.register_totals(&mut registry);
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        registry.register(
            "mcp_gateway_build",
            "The version of the gateway",
            Info::new(version),
        );
        Self {
            registry,
            ..metrics
        }
    }

    /// Registers the gauges without labels.
    fn register_totals(&self, registry: &mut Registry) {
        for (name, help, gauge) in [
            (
                "mcp_gateway_parked_calls",
                "Calls that wait for input of a client",
                &self.parked,
            ),
            (
                "mcp_gateway_sessions",
                "Open sessions of clients",
                &self.sessions,
            ),
            (
                "mcp_gateway_audit_lost_lines",
                "Lines of the audit log that could not be written since the start",
                &self.lost_lines,
            ),
        ] {
            registry.register(name, help, gauge.clone());
        }
    }

    /// Counts a request that has ended.
    pub(super) fn record(&self, request: &ServedRequest<'_>) {
        let server = request.mount.as_deref().unwrap_or_default();
        let is_call = request.method == method::TOOLS_CALL;
        let tool = request.name.as_deref().filter(|_| is_call);
        let tool = tool.map_or("", |tool| self.known_tool(server, tool, request.outcome));
        let labels = OperationLabels {
            mcp_method_name: gate::core_method(request.method).unwrap_or(OTHER),
            gen_ai_tool_name: tool.to_owned(),
            error_type: self.error_type(request),
            server: server.to_owned(),
        };
        let seconds = request.elapsed.as_secs_f64();
        self.durations.get_or_create(&labels).observe(seconds);
        if is_call {
            let outcome = match request.outcome {
                RequestOutcome::MissingScope | RequestOutcome::Limited => RequestOutcome::Denied,
                outcome => outcome,
            };
            let labels = CallLabels {
                server: server.to_owned(),
                tool: tool.to_owned(),
                outcome: outcome.to_string(),
            };
            self.calls.get_or_create(&labels).inc();
        }
        match request.outcome {
            RequestOutcome::Denied => self.rejected("access"),
            RequestOutcome::MissingScope => self.rejected("scope"),
            RequestOutcome::Limited => self.rejected("rate"),
            _ => {}
        }
    }

    /// Counts a request that was refused.
    pub(super) fn rejected(&self, reason: &'static str) {
        self.rejected.get_or_create(&ReasonLabel { reason }).inc();
    }

    /// Returns the name of a tool for labels.
    fn known_tool<'a>(&self, server: &str, tool: &'a str, outcome: RequestOutcome) -> &'a str {
        let key = (server.to_owned(), tool.to_owned());
        let mut known = lock(&self.known);
        let is_new = outcome == RequestOutcome::Ok && known.tools.len() < MAX_NAMES;
        if known.tools.contains(&key) || is_new && known.tools.insert(key) {
            return tool;
        }
        OTHER
    }

    fn error_type(&self, request: &ServedRequest<'_>) -> String {
        let Some(code) = request.error_code else {
            return match request.outcome {
                RequestOutcome::Ok => String::new(),
                outcome => outcome.to_string(),
            };
        };
        let mut known = lock(&self.known);
        let is_new = known.codes.len() < MAX_CODES;
        if known.codes.contains(&code) || is_new && known.codes.insert(code) {
            return code.to_string();
        }
        "_OTHER".to_owned()
    }

    /// Returns the metrics as text, with the current state of the gateway.
    pub(super) fn text(&self, gateway: &Gateway, lost_lines: u64) -> Result<String, fmt::Error> {
        // Servers that were removed have no metrics.
        self.up.clear();
        self.connections.clear();
        let mut parked = 0;
        for mount in gateway.mounts() {
            let label = ServerLabel { server: mount.name };
            self.up
                .get_or_create(&label)
                .set(i64::from(mount.is_connected));
            let connections = self.connections.get_or_create(&label);
            connections.set(number(mount.connections));
            parked += mount.parked_calls;
        }
        self.parked.set(number(parked));
        self.sessions.set(number(gateway.sessions()));
        self.lost_lines
            .set(i64::try_from(lost_lines).unwrap_or(i64::MAX));
        let mut out = String::new();
        text::encode(&mut out, &self.registry)?;
        Ok(out)
    }
}

fn histogram() -> Histogram {
    Histogram::new(BUCKETS)
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
