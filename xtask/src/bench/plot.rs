//! The two pictures of `docs/benchmarks.md`.

use super::measure::{Cells, Figures};
use super::page::{median, short};
use super::plan::{
    CONCURRENT, EVENTS, HTTP, IN_AND_OUT, MANY_TOOLS, MODERN, PAYLOADS, STDIO, TOOLS,
};
use super::run::Results;
use super::svg::{Anchor, Scale, Svg};
use super::who::Who;

const GREY: &str = "#dddddd";

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
        svg.line([x, top], [x, bottom], GREY);
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
struct Panel<'a> {
    title: &'a str,
    at: &'a [f64],
    rows: Vec<&'a Cells>,
}

/// What one core of a server can do, as the load grows.
pub(super) fn scaling(results: &Results) -> String {
    let numbers = |list: &[u32]| list.iter().map(|n| f64::from(*n)).collect::<Vec<_>>();
    let cells = |title, count| {
        let rows = rows(results, title);
        rows.into_iter()
            .take(count)
            .map(|(_, cells)| cells)
            .collect()
    };
    let (concurrent, payloads) = (numbers(&CONCURRENT), numbers(&PAYLOADS));
    // With those that are called: nought has no place on this scale.
    let tools: Vec<f64> = TOOLS.iter().map(|more| f64::from(more + 4)).collect();
    let panels = [
        Panel {
            title: "calls at a time (HTTP, a session each)",
            at: &concurrent,
            rows: cells(HTTP, CONCURRENT.len()),
        },
        Panel {
            title: "bytes in and out (HTTP)",
            at: &payloads,
            rows: cells(IN_AND_OUT, PAYLOADS.len()),
        },
        Panel {
            title: "tools registered (HTTP)",
            at: &tools,
            rows: cells(MANY_TOOLS, TOOLS.len()),
        },
    ];
    let mut svg = Svg::new(960.0, 360.0);
    svg.text(
        [20.0, 24.0],
        Anchor::Start,
        "Calls per second of server CPU (higher is better)",
    );
    legend(&mut svg, &EVERYBODY, [330.0, 24.0]);
    for (at, panel) in panels.iter().enumerate() {
        let left = 60.0 + 310.0 * at as f64;
        draw(&mut svg, panel, [left, 50.0, left + 240.0, 310.0]);
    }
    svg.finish()
}

fn draw(svg: &mut Svg, panel: &Panel<'_>, [left, top, right, bottom]: [f64; 4]) {
    let curves = EVERYBODY.map(|who| {
        let points = panel.at.iter().zip(&panel.rows);
        let points: Vec<[f64; 2]> = points
            .filter_map(|(at, cells)| Some([*at, 1e6 / median(cells, who, cpu)?]))
            .collect();
        (who, points)
    });
    let all = || curves.iter().flat_map(|(_, points)| points);
    let least = all().map(|[_, y]| *y).fold(f64::MAX, f64::min);
    let most = all().map(|[_, y]| *y).fold(1.0, f64::max);
    let power = |value: f64, round: fn(f64) -> f64| 10f64.powf(round(value.max(1.0).log10()));
    let y = Scale::new(
        [power(least.min(most), f64::floor), power(most, f64::ceil)],
        [bottom, top],
    );
    let ends = [panel.at.first(), panel.at.last()].map(|end| end.copied().unwrap_or(1.0));
    let x = Scale::new(ends, [left, right]);
    for tick in y.ticks() {
        svg.line([left, y.place(tick)], [right, y.place(tick)], GREY);
        svg.text(
            [left - 4.0, y.place(tick) + 4.0],
            Anchor::End,
            &power_of_ten(tick),
        );
    }
    for at in panel.at {
        svg.text(
            [x.place(*at), bottom + 16.0],
            Anchor::Middle,
            &power_of_ten(*at),
        );
    }
    svg.text(
        [f64::midpoint(left, right), bottom + 36.0],
        Anchor::Middle,
        panel.title,
    );
    for (who, points) in &curves {
        let places: Vec<[f64; 2]> = points
            .iter()
            .map(|[at, rate]| [x.place(*at), y.place(*rate)])
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
    use crate::bench::measure::Cell;
    use crate::bench::plan;

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
        Results {
            machine: String::new(),
            groups: groups.collect(),
            counts: Vec::new(),
            weights: BTreeMap::new(),
            clients: Vec::new(),
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
        let points = 3 * (CONCURRENT.len() + PAYLOADS.len() + TOOLS.len());
        assert_eq!(svg.matches("<circle").count(), points);
    }

    #[test]
    fn numbers_on_the_axes_are_short() {
        assert_eq!([4.0, 1_004.0, 4e6].map(power_of_ten), ["4", "1k", "4M"]);
    }
}
