//! Curves.

use super::{EVERYBODY, GREY, colour, cpu, legend, rows};
use crate::bench::measure::Cells;
use crate::bench::plan::{
    BESIDE, CALLING, CONCURRENT, HTTP, IN_AND_OUT, MANY_TOOLS, PAYLOADS, STANDING, TOOLS,
};
use crate::bench::results::Results;
use crate::bench::results::median;
use crate::bench::subject::Subject;
use crate::bench::svg::{Anchor, Scale, Svg};

/// One of the small pictures.
struct Panel {
    /// What is read upwards.
    unit: &'static str,
    /// What is read to the right.
    title: &'static str,
    at: Vec<f64>,
    curves: Vec<(Subject, Vec<[f64; 2]>)>,
}

const RATE: &str = "calls per second of server CPU, higher is better";
const KIB: &str = "KiB for each session, lower is better";

impl Panel {
    /// What one core of a server can do in the first rows of a group.
    fn rate(results: &Results, group: &str, title: &'static str, at: Vec<f64>) -> Self {
        let rows = rows(results, group);
        let curve = |subject| {
            let points = at.iter().zip(&rows);
            let rate = |(at, (_, cells)): (&f64, &(&str, &Cells))| {
                Some([*at, 1e6 / median(cells, subject, cpu)?])
            };
            (subject, points.filter_map(rate).collect())
        };
        Self {
            unit: RATE,
            title,
            curves: EVERYBODY.map(curve).into(),
            at,
        }
    }

    /// What a session keeps, the more of them there are.
    fn memory(results: &Results) -> Self {
        let mut at = Vec::new();
        let mut curves = Vec::new();
        for subject in EVERYBODY {
            let growth = results.weights.get(&subject).map(|weight| &weight.growth);
            let points = growth.into_iter().flatten().map(|(sessions, memory)| {
                // The baseline has no more than the connection.
                let kib = memory.stream.unwrap_or(memory.connection);
                [f64::from(*sessions), kib]
            });
            let points: Vec<[f64; 2]> = points.collect();
            at = points.iter().map(|[sessions, _]| *sessions).collect();
            curves.push((subject, points));
        }
        Self {
            unit: KIB,
            title: "sessions with a stream (baseline: connections)",
            at,
            curves,
        }
    }
}

const COLUMN: f64 = 310.0;
const LINE: f64 = 320.0;

/// What one core of a server can do, and what a session keeps, as the load grows.
pub(in crate::bench) fn scaling(results: &Results) -> String {
    let numbers = |list: &[u32], more: u32| list.iter().map(|n| f64::from(n + more)).collect();
    // Those that are called count too: nought has no place on this scale.
    let panels = [
        Panel::rate(
            results,
            HTTP,
            "calls at a time (HTTP, a session each)",
            numbers(&CONCURRENT, 0),
        ),
        Panel::rate(
            results,
            IN_AND_OUT,
            "bytes in and out (HTTP)",
            numbers(&PAYLOADS, 0),
        ),
        Panel::rate(
            results,
            MANY_TOOLS,
            "tools registered (HTTP)",
            numbers(&TOOLS, 4),
        ),
        Panel::rate(
            results,
            STANDING,
            "sessions open, 8 of them calling (HTTP)",
            numbers(&BESIDE, CALLING),
        ),
        Panel::memory(results),
    ];
    let mut svg = Svg::new(960.0, 2.0 * LINE + 50.0);
    svg.text([20.0, 24.0], Anchor::Start, "As the load grows");
    for (at, panel) in panels.iter().enumerate() {
        let left = 60.0 + COLUMN * (at % 3) as f64;
        let top = 70.0 + LINE * (at / 3) as f64;
        draw(&mut svg, panel, [left, top, left + 240.0, top + 220.0]);
    }
    for (at, subject) in EVERYBODY.into_iter().enumerate() {
        let y = LINE + 110.0 + 24.0 * at as f64;
        legend(&mut svg, &[subject], [60.0 + 2.0 * COLUMN, y]);
    }
    svg.finish()
}

fn draw(svg: &mut Svg, panel: &Panel, [left, top, right, bottom]: [f64; 4]) {
    let all = || panel.curves.iter().flat_map(|(_, points)| points);
    let least = all().map(|[_, y]| *y).fold(f64::MAX, f64::min);
    let most = all().map(|[_, y]| *y).fold(1.0, f64::max);
    let power = |value: f64, round: fn(f64) -> f64| 10f64.powf(round(value.max(1.0).log10()));
    let y = Scale::new(
        [power(least.min(most), f64::floor), power(most, f64::ceil)],
        [bottom, top],
    );
    let ends = [panel.at.first(), panel.at.last()].map(|end| end.copied().unwrap_or(1.0));
    let x = Scale::new(ends, [left, right]);
    svg.text([left - 40.0, top - 14.0], Anchor::Start, panel.unit);
    for tick in y.ticks() {
        svg.line([left, y.place(tick)], [right, y.place(tick)], GREY);
        let foot = [left - 4.0, y.place(tick) + 4.0];
        svg.text(foot, Anchor::End, &power_of_ten(tick));
    }
    for at in &panel.at {
        let foot = [x.place(*at), bottom + 16.0];
        svg.text(foot, Anchor::Middle, &power_of_ten(*at));
    }
    let foot = [f64::midpoint(left, right), bottom + 36.0];
    svg.text(foot, Anchor::Middle, panel.title);
    for (subject, points) in &panel.curves {
        let places: Vec<[f64; 2]> = points
            .iter()
            .map(|[at, value]| [x.place(*at), y.place(*value)])
            .collect();
        svg.curve(&places, colour(*subject));
    }
}

/// A number in few letters.
fn power_of_ten(number: f64) -> String {
    match number {
        number if number >= 1e6 => format!("{:.0}M", number / 1e6),
        number if number >= 1e3 => format!("{:.0}k", number / 1e3),
        _ => format!("{number:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_on_the_axes_are_short() {
        assert_eq!([4.0, 1_004.0, 4e6].map(power_of_ten), ["4", "1k", "4M"]);
    }
}
