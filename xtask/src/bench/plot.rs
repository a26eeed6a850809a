//! The two pictures of `docs/benchmarks.md`.

use super::measure::{Cells, Figures};
use super::page::{median, short};
use super::plan::{
    BESIDE, CALLING, CONCURRENT, EVENTS, HTTP, IN_AND_OUT, MANY_TOOLS, MODERN, PAYLOADS, STANDING,
    STDIO, TOOLS,
};
use super::run::Results;
use super::svg::{Anchor, Scale, Svg};
use super::who::Who;

const GREY: &str = "#dddddd";
/// Where the floor is.
const DARK: &str = "#555555";

/// Told apart by lightness too.
fn colour(who: Who) -> &'static str {
    match who {
        Who::Floor => "#999999",
        Who::Ours => "#0b5fa5",
        Who::Rmcp => "#e08214",
        Who::Tower => "#7fbf7b",
    }
}

const MEASURED: [Who; 3] = [Who::Ours, Who::Rmcp, Who::Tower];
const EVERYBODY: [Who; 4] = [Who::Floor, Who::Ours, Who::Rmcp, Who::Tower];

fn rows<'a>(results: &'a Results, title: &str) -> Vec<(&'a str, &'a Cells)> {
    let group = results
        .groups
        .iter()
        .find(|(group, _)| group.title == title);
    let Some((group, cells)) = group else {
        return Vec::new();
    };
    let names = group.rows.iter().map(|row| &*row.name);
    names.zip(cells).collect()
}

fn cpu(figures: &Figures) -> f64 {
    figures.server_us
}

/// CPU per call against the floor, a bar for each server in each row.
pub(super) fn cost(results: &Results) -> String {
    let mut bars = Vec::new();
    for (title, before) in [
        (STDIO, "stdio, "),
        (HTTP, "HTTP, "),
        (MODERN, "2026-07-28, "),
        (EVENTS, ""),
        (MANY_TOOLS, ""),
    ] {
        for (name, cells) in rows(results, title) {
            let Some(floor) = median(cells, Who::Floor, cpu) else {
                continue;
            };
            let ratios = MEASURED.map(|who| Some((who, median(cells, who, cpu)? / floor)));
            bars.push((format!("{before}{name}"), ratios));
        }
    }
    let most = bars
        .iter()
        .flat_map(|(_, ratios)| ratios.iter().flatten())
        .map(|(_, ratio)| *ratio)
        .fold(10.0, f64::max);
    let (left, right, top, step) = (390.0, 880.0, 60.0, 42.0);
    let bottom = top + step * bars.len() as f64;
    let mut svg = Svg::new(960.0, bottom + 40.0);
    svg.text(
        [20.0, 24.0],
        Anchor::Start,
        "CPU per call against a server without an SDK (1 = the floor; logarithmic, shorter is better)",
    );
    legend(&mut svg, &MEASURED, [left, 46.0]);
    let scale = Scale::new([0.5, most], [left, right]);
    for tick in scale.ticks() {
        let x = scale.place(tick);
        let line = if tick == 1.0 { DARK } else { GREY };
        svg.line([x, top], [x, bottom], line);
        svg.text([x, bottom + 16.0], Anchor::Middle, &format!("{tick}×"));
    }
    for (at, (name, ratios)) in bars.iter().enumerate() {
        let y = top + step * at as f64;
        svg.text([left - 8.0, y + 23.0], Anchor::End, name);
        for (which, ratio) in ratios.iter().enumerate() {
            let y = y + 3.0 + 12.0 * which as f64;
            match ratio {
                Some((who, ratio)) => {
                    let end = scale.place(*ratio);
                    svg.rect([left, y, end - left, 10.0], colour(*who));
                    svg.text(
                        [end + 4.0, y + 9.5],
                        Anchor::Start,
                        &format!("{}×", short(*ratio)),
                    );
                }
                None => svg.text([left + 4.0, y + 9.5], Anchor::Start, "n/a"),
            }
        }
    }
    svg.finish()
}

fn legend(svg: &mut Svg, whos: &[Who], [mut x, y]: [f64; 2]) {
    for who in whos {
        svg.rect([x, y - 9.0, 10.0, 10.0], colour(*who));
        svg.text([x + 15.0, y], Anchor::Start, who.name());
        x += 40.0 + 7.0 * who.name().len() as f64;
    }
}

/// One of the small pictures.
struct Panel {
    /// What is read upwards.
    unit: &'static str,
    /// What is read to the right.
    title: &'static str,
    at: Vec<f64>,
    curves: Vec<(Who, Vec<[f64; 2]>)>,
}

const RATE: &str = "calls per second of server CPU, higher is better";
const KIB: &str = "KiB for each session, lower is better";

impl Panel {
    /// What one core of a server can do in the first rows of a group.
    fn rate(results: &Results, group: &str, title: &'static str, at: Vec<f64>) -> Self {
        let rows = rows(results, group);
        let curve = |who| {
            let points = at.iter().zip(&rows);
            let rate = |(at, (_, cells)): (&f64, &(&str, &Cells))| {
                Some([*at, 1e6 / median(cells, who, cpu)?])
            };
            (who, points.filter_map(rate).collect())
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
        for who in EVERYBODY {
            let growth = results.weights.get(&who).map(|weight| &weight.growth);
            let points = growth.into_iter().flatten().map(|(sessions, memory)| {
                // The floor has no more than the connection.
                let kib = memory.stream.unwrap_or(memory.connection);
                [f64::from(*sessions), kib]
            });
            let points: Vec<[f64; 2]> = points.collect();
            at = points.iter().map(|[sessions, _]| *sessions).collect();
            curves.push((who, points));
        }
        Self {
            unit: KIB,
            title: "sessions with a stream (floor: connections)",
            at,
            curves,
        }
    }
}

const COLUMN: f64 = 310.0;
const LINE: f64 = 320.0;

/// What one core of a server can do, and what a session keeps, as the load grows.
pub(super) fn scaling(results: &Results) -> String {
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
    for (at, who) in EVERYBODY.into_iter().enumerate() {
        let y = LINE + 110.0 + 24.0 * at as f64;
        legend(&mut svg, &[who], [60.0 + 2.0 * COLUMN, y]);
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
    for (who, points) in &panel.curves {
        let places: Vec<[f64; 2]> = points
            .iter()
            .map(|[at, value]| [x.place(*at), y.place(*value)])
            .collect();
        svg.curve(&places, colour(*who));
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
    use std::collections::BTreeMap;

    use super::*;
    use crate::bench::measure::{Cell, Memory};
    use crate::bench::plan;
    use crate::bench::run::Weight;

    /// Everybody costs as much more than the floor as they stand behind it.
    fn results() -> Results {
        let cell = |cost: f64| {
            Cell::Rounds(vec![Figures {
                calls: 1,
                seconds: 1.0,
                server_us: cost,
                client_us: 1.0,
                p50_us: 1.0,
                p99_us: 1.0,
            }])
        };
        let groups = plan::groups().into_iter().map(|group| {
            let cells = group.rows.iter().map(|_| {
                let costs = EVERYBODY.iter().zip([10.0, 20.0, 40.0]);
                costs.map(|(who, cost)| (*who, cell(cost))).collect()
            });
            let cells = cells.collect();
            (group, cells)
        });
        let memory = Memory {
            stream: Some(40.0),
            ..Memory::default()
        };
        let weight = Weight {
            growth: vec![(10, memory), (100, memory)],
            ..Weight::default()
        };
        Results {
            groups: groups.collect(),
            weights: BTreeMap::from([(Who::Ours, weight)]),
            ..Results::default()
        }
    }

    #[test]
    fn bars_are_as_long_as_the_ratio_and_who_is_missing_is_said() {
        let svg = cost(&results());
        assert!(svg.contains(">2.00×</text>") && svg.contains(">4.00×</text>"));
        assert!(svg.contains(">n/a</text>"), "the last has no figures");
        assert_eq!(svg.matches("</svg>").count(), 1);
    }

    #[test]
    fn curves_have_a_point_for_each_measurement() {
        let svg = scaling(&results());
        let points = 3 * (CONCURRENT.len() + PAYLOADS.len() + TOOLS.len() + BESIDE.len()) + 2;
        assert_eq!(svg.matches("<circle").count(), points);
    }

    #[test]
    fn numbers_on_the_axes_are_short() {
        assert_eq!([4.0, 1_004.0, 4e6].map(power_of_ten), ["4", "1k", "4M"]);
    }
}
