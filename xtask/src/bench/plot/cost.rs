//! Bars.

use super::{GREY, colour, cpu, legend, rows};
use crate::bench::page::short;
use crate::bench::plan::{EVENTS, HTTP, MANY_TOOLS, MODERN, STDIO};
use crate::bench::results::Results;
use crate::bench::results::median;
use crate::bench::subject::Subject;
use crate::bench::svg::{Anchor, Scale, Svg};

/// Where the baseline is.
const DARK: &str = "#555555";

const MEASURED: [Subject; 3] = [Subject::Ours, Subject::Rmcp, Subject::Tower];

/// CPU per call against the baseline, a bar for each server in each row.
pub(in crate::bench) fn cost(results: &Results) -> String {
    let mut bars = Vec::new();
    for (title, before) in [
        (STDIO, "stdio, "),
        (HTTP, "HTTP, "),
        (MODERN, "2026-07-28, "),
        (EVENTS, ""),
        (MANY_TOOLS, ""),
    ] {
        for (name, cells) in rows(results, title) {
            let Some(baseline) = median(cells, Subject::Baseline, cpu) else {
                continue;
            };
            let ratios =
                MEASURED.map(|subject| Some((subject, median(cells, subject, cpu)? / baseline)));
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
        "CPU per call against a server without an SDK (1 = the baseline; logarithmic, shorter is better)",
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
                Some((subject, ratio)) => {
                    let end = scale.place(*ratio);
                    svg.rect([left, y, end - left, 10.0], colour(*subject));
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
