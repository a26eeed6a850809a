//! The two pictures of `docs/benchmarks.md`: bars for all subjects, on a logarithmic scale.

use minijinja::context;

use super::results::{Cells, Results, value};
use super::subject::{ALL, Subject};
use super::workloads::Workload;
use crate::page::{draw, short};
use crate::workspace::Result;

/// A name, and a value for each subject in the order of [`ALL`].
type Bars = (String, [Option<f64>; ALL.len()]);

/// The rows with CPU times in these groups, each with a prefix for the names of its rows.
fn rows(
    results: &Results,
    groups: &[(&str, &str)],
    is_wanted: fn(&Workload) -> bool,
    figure: fn(&Cells, Subject) -> Option<f64>,
) -> Vec<Bars> {
    let mut bars = Vec::new();
    for (title, prefix) in groups {
        let rows = results.cpu(title).iter();
        bars.extend(rows.filter(|(row, _)| is_wanted(row)).map(|(row, cells)| {
            let name = format!("{prefix}{}", row.name);
            (name, ALL.map(|subject| figure(cells, subject)))
        }));
    }
    bars
}

/// CPU per call against the baseline.
pub(super) fn cost(results: &Results) -> Result<String> {
    let groups = [
        ("stdio", "stdio, "),
        ("HTTP, sessions, 2025-11-25", "HTTP, "),
        ("2026-07-28", "2026-07-28, "),
        ("Streams and listeners", ""),
        ("Many tools", ""),
    ];
    let ratio =
        |cells: &Cells, subject| Some(value(cells, subject)? / value(cells, Subject::Baseline)?);
    let rows = rows(results, &groups, |_| true, ratio);
    let caption = "CPU per call against a server without an SDK (logarithmic, shorter is better)";
    chart(caption, &rows, |ratio| format!("{}×", short(ratio)))
}

/// Calls over HTTP per second of server CPU, as the load grows.
pub(super) fn scaling(results: &Results) -> Result<String> {
    let groups = [
        ("HTTP, sessions, 2025-11-25", ""),
        ("Payloads over HTTP, in and out", "payloads of "),
        ("Many tools", ""),
        ("Idle sessions, each with its stream", "idle sessions: "),
    ];
    let is_echo = |row: &Workload| row.wire == "http" && row.ask.starts_with("echo");
    let rate = |cells: &Cells, subject| Some(1e6 / value(cells, subject)?);
    let rows = rows(results, &groups, is_echo, rate);
    let caption = "Calls over HTTP per second of server CPU, as the load grows (logarithmic, longer is better)";
    chart(caption, &rows, short)
}

/// Draws a bar for each subject in each row, with its value beside it.
fn chart(caption: &str, rows: &[Bars], text: fn(f64) -> String) -> Result<String> {
    let values = || rows.iter().flat_map(|(_, values)| values.iter().flatten());
    let start = values().copied().fold(f64::MAX, f64::min) / 2.0;
    let end = values().copied().fold(start * 4.0, f64::max);
    let place = |value: f64| (value / start).ln() / (end / start).ln();
    let bar = |value: &Option<f64>| match value {
        Some(value) => (place(*value), text(*value)),
        None => (0.0, "n/a".to_owned()),
    };
    let bars = rows
        .iter()
        .map(|(name, values)| (name, values.each_ref().map(bar)));
    let powers = (-3..9).map(|power| 10_f64.powi(power));
    let ticks = powers.flat_map(|power| [power, 2.0 * power, 5.0 * power]);
    let ticks = ticks.filter(|tick| (start..=end).contains(tick));
    let values = context! {
        caption,
        subjects => ALL.map(Subject::name),
        rows => Vec::from_iter(bars),
        ticks => Vec::from_iter(ticks.map(|tick| (place(tick), text(tick)))),
    };
    draw(include_str!("plot.svg.jinja"), values)
}
