//! The two pictures of `docs/benchmarks.md`.

use std::error::Error;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::results::{Results, short, value};
use super::subject::{ALL, Subject};
use super::workloads::Workload;

type Outcome<T> = Result<T, Box<dyn Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const FONT: (&str, u32) = ("sans-serif", 12);
const GREY: RGBColor = RGBColor(221, 221, 221);
const WIDTH: u32 = 960;

/// Also different in lightness.
fn colour(subject: Subject) -> RGBColor {
    match subject {
        Subject::Baseline => RGBColor(153, 153, 153),
        Subject::Ours => RGBColor(11, 95, 165),
        Subject::Rmcp => RGBColor(224, 130, 20),
        Subject::Tower => RGBColor(127, 191, 123),
    }
}

/// Names of subjects beside their colours, from this place to the right.
fn legend(area: &Area<'_>, subjects: &[Subject], (mut x, y): (i32, i32)) -> Outcome<()> {
    for subject in subjects {
        let corners = [(x, y), (x + 10, y + 10)];
        area.draw(&Rectangle::new(corners, colour(*subject).filled()))?;
        area.draw(&Text::new(subject.name(), (x + 15, y - 1), FONT))?;
        x += 40 + 7 * subject.name().len() as i32;
    }
    Ok(())
}

/// Groups of the bar chart, with a prefix for the names of their rows.
const BARS: [(&str, &str); 5] = [
    ("stdio", "stdio, "),
    ("HTTP, sessions, 2025-11-25", "HTTP, "),
    ("2026-07-28", "2026-07-28, "),
    ("Streams and listeners", ""),
    ("Many tools", ""),
];

/// CPU per call against the baseline: a bar for each server in each row.
pub(super) fn cost(results: &Results) -> Outcome<String> {
    let subjects = &ALL[1..];
    let mut rows = Vec::new();
    for (title, prefix) in BARS {
        for (row, cells) in results.cpu(title) {
            if let Some(baseline) = value(cells, Subject::Baseline) {
                let ratio = |subject: &Subject| Some(value(cells, *subject)? / baseline);
                let ratios: Vec<Option<f64>> = subjects.iter().map(ratio).collect();
                rows.push((format!("{prefix}{}", row.name), ratios));
            }
        }
    }
    let ratios = rows.iter().flat_map(|(_, ratios)| ratios.iter().flatten());
    let max = ratios.fold(10.0, |max: f64, ratio| max.max(*ratio));
    let mut svg = String::new();
    let size = (WIDTH, 100 + 42 * rows.len() as u32);
    let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    area.fill(&WHITE)?;
    let caption = "CPU per call against a server without an SDK (1 = the baseline; logarithmic, shorter is better)";
    area.draw(&Text::new(caption, (20, 12), FONT))?;
    legend(&area, subjects, (390, 38))?;
    let mut chart = ChartBuilder::on(&area)
        .margin_top(58)
        .margin_right(80)
        .x_label_area_size(40)
        .y_label_area_size(390)
        .build_cartesian_2d((0.5..max).log_scale(), rows.len() as f64..0.0)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .y_labels(0)
        .light_line_style(TRANSPARENT)
        .bold_line_style(GREY)
        .label_style(FONT)
        .x_label_formatter(&|ratio| format!("{ratio}×"))
        .draw()?;
    let centred = |horizontal| {
        FONT.into_text_style(&area)
            .pos(Pos::new(horizontal, VPos::Center))
    };
    for (number, (name, ratios)) in rows.iter().enumerate() {
        let top = number as f64;
        let name = Text::new(name.clone(), (-8, 0), centred(HPos::Right));
        chart.draw_series([EmptyElement::at((0.5, top + 0.5)) + name])?;
        for (which, (subject, ratio)) in subjects.iter().zip(ratios).enumerate() {
            let top = top + 0.07 + 0.29 * which as f64;
            let end = ratio.unwrap_or(0.5);
            let text = ratio.map_or("n/a".to_owned(), |ratio| format!("{}×", short(ratio)));
            let bar = [(0.5, top), (end, top + 0.24)];
            chart.draw_series([Rectangle::new(bar, colour(*subject).filled())])?;
            let text = Text::new(text, (4, 0), centred(HPos::Left));
            chart.draw_series([EmptyElement::at((end, top + 0.12)) + text])?;
        }
    }
    chart.draw_series([PathElement::new(
        [(1.0, 0.0), (1.0, rows.len() as f64)],
        BLACK,
    )])?;
    area.present()?;
    drop((chart, area));
    Ok(svg)
}

/// A diagram: its group, what is on the axis to the right, and the load of a row.
type Panel = (&'static str, &'static str, fn(&Workload) -> u32);

const PANELS: [Panel; 4] = [
    ("HTTP, sessions, 2025-11-25", "calls at a time", |row| {
        row.calls
    }),
    (
        "Payloads over HTTP, in and out",
        "bytes in and out",
        Workload::size,
    ),
    // Four tools are registered in any case; zero has no place on a logarithmic scale.
    ("Many tools", "tools registered", |row| row.tools + 4),
    (
        "Idle sessions, each with its stream",
        "sessions, 8 of them calling",
        |row| row.sessions + row.calls,
    ),
];

/// Calls over HTTP per second of server CPU, as the load grows.
pub(super) fn scaling(results: &Results) -> Outcome<String> {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, (WIDTH, 690)).into_drawing_area();
    area.fill(&WHITE)?;
    let (head, body) = area.split_vertically(50);
    let caption = "Calls over HTTP per second of server CPU, as the load grows (higher is better)";
    head.draw(&Text::new(caption, (20, 10), FONT))?;
    legend(&head, &ALL, (20, 32))?;
    for ((group, axis, load), place) in PANELS.iter().zip(body.split_evenly((2, 2))) {
        let rows = results.cpu(group).iter();
        let rows = rows.filter(|(row, _)| row.wire == "http" && row.ask.starts_with("echo"));
        let curves = ALL.map(|subject| {
            let point = |(row, cells): &(Workload, _)| {
                Some((f64::from(load(row)), 1e6 / value(cells, subject)?))
            };
            (subject, rows.clone().filter_map(point).collect())
        });
        panel(&place, axis, curves)?;
    }
    area.present()?;
    drop((area, head, body));
    Ok(svg)
}

/// Draws curves on logarithmic scales.
fn panel(area: &Area<'_>, axis: &str, curves: [(Subject, Vec<(f64, f64)>); 4]) -> Outcome<()> {
    let points = || curves.iter().flat_map(|(_, points)| points);
    let range = |of: fn(&(f64, f64)) -> f64| {
        let min = points().map(of).fold(f64::MAX, f64::min).max(1.0);
        min..points().map(of).fold(min, f64::max) * 1.1
    };
    let (across, up) = (range(|point| point.0), range(|point| point.1));
    let power = |value: f64, round: fn(f64) -> f64| 10_f64.powf(round(value.log10()));
    let up = power(up.start, f64::floor)..power(up.end, f64::ceil);
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(50)
        .y_label_area_size(45)
        .build_cartesian_2d(across.log_scale(), up.log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GREY)
        .label_style(FONT)
        .x_desc(axis)
        .x_label_formatter(&abbreviated)
        .y_label_formatter(&abbreviated)
        .draw()?;
    for (subject, points) in curves {
        let line = colour(subject).stroke_width(2);
        chart.draw_series(LineSeries::new(points, line).point_size(3))?;
    }
    Ok(())
}

/// A number in few letters.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "plotters passes references"
)]
fn abbreviated(number: &f64) -> String {
    match *number {
        1e6.. => format!("{:.0}M", number / 1e6),
        1e3.. => format!("{:.0}k", number / 1e3),
        _ => format!("{number:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::results::tests::example;

    #[test]
    fn bars_are_labelled_with_the_ratio_and_missing_subjects_with_na() {
        let svg = cost(&example()).unwrap();
        for text in ["\n2.00×\n", "\n4.00×\n", "\nn/a\n"] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
    }

    #[test]
    fn curves_have_a_point_for_each_measurement() {
        let svg = scaling(&example()).unwrap();
        // Three subjects have figures.
        assert_eq!(svg.matches("<circle").count(), 3 * (4 + 6 + 3 + 4));
    }

    #[test]
    fn numbers_on_the_axes_are_short() {
        assert_eq!(
            [4.0, 1_004.0, 4e6].map(|n| abbreviated(&n)),
            ["4", "1k", "4M"]
        );
    }
}
