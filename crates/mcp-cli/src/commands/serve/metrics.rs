//! The metrics of `mcp serve`, in the text format of OpenMetrics.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_client::types::method;
use mcp_gateway::{Gateway, MountStatus, RequestOutcome, ServedRequest};
use mcp_protocol::{gate, lock};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

/// Maximum number of series of one kind for one server. Further requests are counted in a series without their tool and error
/// (`_other`).
const MAX_SERVER_SERIES: usize = 500;
/// Maximum number of series of one kind for all servers. A histogram has 17 lines, so this limits the text to about 10 MB.
const MAX_SERIES: usize = 2_000;
/// Maximum length of the name of a tool in a label, in bytes.
const MAX_NAME: usize = 128;
const OTHER: &str = "_other";
/// The histogram buckets for durations, in seconds. They are the buckets of the OpenTelemetry conventions for MCP.
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
    replacing: Family<ServerLabel, Gauge>,
    parked: Gauge,
    sessions: Gauge,
    lost_lines: Counter,
    known: Mutex<Known>,
}

/// The known series of each server, and the numbers of duration series and call series of all servers together.
#[derive(Default)]
struct Known {
    by_server: HashMap<String, ServerSeries>,
    durations: usize,
    calls: usize,
}

#[derive(Default)]
struct ServerSeries {
    durations: HashSet<OperationLabels>,
    calls: HashSet<CallLabels>,
}

/// The labels of a request that has ended.
pub(super) struct RequestLabels {
    operation: OperationLabels,
    /// The labels of a tool call.
    call: Option<CallLabels>,
    outcome: RequestOutcome,
    elapsed: Duration,
}

impl RequestLabels {
    /// Returns the labels of a request that has ended with this outcome.
    pub(super) fn new(request: &ServedRequest<'_>, outcome: RequestOutcome) -> Self {
        let server = request.mount.as_deref().unwrap_or_default();
        let is_call = request.method == method::TOOLS_CALL;
        // A client can send any name, so a name becomes a label only if the server has listed it.
        let name = request.name.as_deref().filter(|_| is_call);
        let tool = match name {
            Some(name) if request.is_listed && is_label(name) => name,
            Some(_) => OTHER,
            None => "",
        };
        let error_type = match (outcome, request.error_code) {
            (RequestOutcome::Ok | RequestOutcome::InputRequired, _) => String::new(),
            (_, Some(code)) => code.to_string(),
            (outcome, None) => outcome.to_string(),
        };
        let shown = match outcome {
            RequestOutcome::MissingScope | RequestOutcome::Limited => RequestOutcome::Denied,
            outcome => outcome,
        };
        Self {
            operation: OperationLabels {
                mcp_method_name: gate::core_method(request.method).unwrap_or(OTHER),
                gen_ai_tool_name: tool.to_owned(),
                error_type,
                server: server.to_owned(),
            },
            call: is_call.then(|| CallLabels {
                server: server.to_owned(),
                tool: tool.to_owned(),
                outcome: shown.to_string(),
            }),
            outcome,
            elapsed: request.elapsed,
        }
    }
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
            replacing: Family::default(),
            parked: Gauge::default(),
            sessions: Gauge::default(),
            lost_lines: Counter::default(),
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
            "Tool calls of clients, by server, tool and outcome",
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
            (
                "mcp_gateway_upstream_replacement_failing",
                "1 while a changed server cannot be reached and the previous one is used",
                &metrics.replacing,
            ),
        ] {
            registry.register(name, help, gauge.clone());
        }
        metrics.register_totals(&mut registry);
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
        ] {
            registry.register(name, help, gauge.clone());
        }
        registry.register(
            "mcp_gateway_audit_lost_lines",
            "Lines of the audit log that could not be written",
            self.lost_lines.clone(),
        );
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        registry.register(
            "mcp_gateway_build",
            "The version of the gateway",
            Info::new(version),
        );
    }

    /// Counts a request that has ended.
    pub(super) fn record(&self, request: &ServedRequest<'_>) {
        self.add(RequestLabels::new(request, request.outcome));
    }

    /// Counts a request with these labels.
    pub(super) fn add(&self, labels: RequestLabels) {
        self.observe(labels.operation, labels.elapsed);
        if let Some(call) = labels.call {
            self.count(call);
        }
        match labels.outcome {
            RequestOutcome::Denied => self.rejected("access"),
            RequestOutcome::MissingScope => self.rejected("scope"),
            RequestOutcome::Limited => self.rejected("rate"),
            _ => {}
        }
    }

    /// Counts a refused request.
    pub(super) fn rejected(&self, reason: &'static str) {
        self.rejected.get_or_create(&ReasonLabel { reason }).inc();
    }

    /// Records the duration of a request. If a limit of series is reached, the tool and the error become `_other`.
    fn observe(&self, mut labels: OperationLabels, elapsed: Duration) {
        {
            let mut known = lock(&self.known);
            let Known {
                by_server,
                durations,
                ..
            } = &mut *known;
            let series = &mut by_server
                .entry(labels.server.clone())
                .or_default()
                .durations;
            if !series.contains(&labels) && is_full(series.len(), *durations) {
                let is_error = !labels.error_type.is_empty();
                labels.error_type = if is_error { OTHER } else { "" }.to_owned();
                labels.gen_ai_tool_name = OTHER.to_owned();
            }
            *durations += usize::from(series.insert(labels.clone()));
        }
        let histogram = self.durations.get_or_create(&labels);
        histogram.observe(elapsed.as_secs_f64());
    }

    /// Counts a tool call. If a limit of series is reached, the tool becomes `_other`.
    fn count(&self, mut labels: CallLabels) {
        {
            let mut known = lock(&self.known);
            let Known {
                by_server, calls, ..
            } = &mut *known;
            let series = &mut by_server.entry(labels.server.clone()).or_default().calls;
            if !series.contains(&labels) && is_full(series.len(), *calls) {
                labels.tool = OTHER.to_owned();
            }
            *calls += usize::from(series.insert(labels.clone()));
        }
        self.calls.get_or_create(&labels).inc();
    }

    /// Removes the series of each server that is no longer mounted.
    fn forget(&self, mounts: &[MountStatus]) {
        let mut known = lock(&self.known);
        let Known {
            by_server,
            durations,
            calls,
        } = &mut *known;
        let is_used =
            |server: &String| server.is_empty() || mounts.iter().any(|mount| mount.name == *server);
        for (_, series) in by_server.extract_if(|server, _| !is_used(server)) {
            *durations -= series.durations.len();
            *calls -= series.calls.len();
            for labels in &series.durations {
                self.durations.remove(labels);
            }
            for labels in &series.calls {
                self.calls.remove(labels);
            }
        }
    }

    /// Returns the metrics as text, with the current state of the gateway.
    pub(super) fn text(&self, gateway: &Gateway, lost_lines: u64) -> Result<String, fmt::Error> {
        // A server that is no longer mounted has no gauges.
        self.up.clear();
        self.connections.clear();
        self.replacing.clear();
        let mut parked = 0;
        let mounts = gateway.mounts();
        self.forget(&mounts);
        for mount in mounts {
            let label = ServerLabel { server: mount.name };
            self.up
                .get_or_create(&label)
                .set(i64::from(mount.is_connected));
            let connections = self.connections.get_or_create(&label);
            connections.set(number(mount.connections));
            let is_replacing = mount.replacement_error.is_some();
            let replacing = self.replacing.get_or_create(&label);
            replacing.set(i64::from(is_replacing));
            parked += mount.parked_calls;
        }
        self.parked.set(number(parked));
        self.sessions.set(number(gateway.sessions()));
        self.lost_lines.inner().store(lost_lines, Ordering::Relaxed);
        let mut out = String::new();
        text::encode(&mut out, &self.registry)?;
        Ok(out)
    }
}

/// Returns whether a name can be a label: it is short, and the text format does not have to escape any character of the name.
fn is_label(name: &str) -> bool {
    let is_plain = |c: u8| c.is_ascii_graphic() && !matches!(c, b'"' | b'\\');
    name.len() <= MAX_NAME && name.bytes().all(is_plain)
}

fn is_full(of_server: usize, all: usize) -> bool {
    of_server >= MAX_SERVER_SERIES || all >= MAX_SERIES
}

fn histogram() -> Histogram {
    Histogram::new(BUCKETS)
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_special_characters_or_above_the_maximum_length_are_not_labels() {
        for name in ["git_log", "a.b/c-d", "x".repeat(MAX_NAME).as_str()] {
            assert!(is_label(name), "{name}");
        }
        for name in [
            "a\"b",
            "a\\b",
            "a\nb",
            "a b",
            "grün",
            "x".repeat(MAX_NAME + 1).as_str(),
        ] {
            assert!(!is_label(name), "{name}");
        }
    }

    #[test]
    fn the_number_of_series_is_limited_for_each_server_and_in_total() {
        let metrics = Metrics::new();
        let operation = |server: &str, number: usize| OperationLabels {
            mcp_method_name: method::TOOLS_CALL,
            gen_ai_tool_name: format!("t{number}"),
            error_type: (number % 100).to_string(),
            server: server.to_owned(),
        };
        for server in ["a", "b", "c", "d", "e"] {
            for number in 0..2 * MAX_SERVER_SERIES {
                metrics.observe(operation(server, number), Duration::from_millis(1));
            }
        }
        let known = lock(&metrics.known);
        let sizes = known
            .by_server
            .values()
            .map(|series| series.durations.len());
        let sizes: Vec<usize> = sizes.collect();
        // One more series for the requests without a name.
        assert!(
            sizes.iter().all(|size| *size <= MAX_SERVER_SERIES + 1),
            "{sizes:?}"
        );
        assert_eq!(sizes.iter().sum::<usize>(), known.durations);
        assert!(known.durations <= MAX_SERIES + 5, "{}", known.durations);
        drop(known);
        metrics.forget(&[]);
        assert_eq!(lock(&metrics.known).durations, 0);
        let mut text = String::new();
        text::encode(&mut text, &metrics.registry).unwrap();
        assert!(!text.contains("server=\"a\""), "{text}");
    }
}
