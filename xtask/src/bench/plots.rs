//! The two pictures of `docs/benchmarks.md`: bars for all subjects, on a logarithmic scale.

use std::error::Error;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::results::{Cells, Results, value};
use super::subject::{ALL, Subject};
use super::workloads::Workload;
use crate::page::short;

const FONT: (&str, u32) = ("sans-serif", 12);
const GREY: RGBColor = RGBColor(221, 221, 221);

/// The colours of the subjects, also different in lightness.
const COLOURS: [RGBColor; ALL.len()] = [
    RGBColor(153, 153, 153),
    RGBColor(11, 95, 165),
    RGBColor(224, 130, 20),
    RGBColor(127, 191, 123),
];

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
pub(super) fn cost(results: &Results) -> Result<String, Box<dyn Error>> {
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
pub(super) fn scaling(results: &Results) -> Result<String, Box<dyn Error>> {
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
fn chart(caption: &str, rows: &[Bars], text: fn(f64) -> String) -> Result<String, Box<dyn Error>> {
    let values = || rows.iter().flat_map(|(_, values)| values.iter().flatten());
    let start = values().copied().fold(f64::MAX, f64::min) / 2.0;
    let end = values().copied().fold(start * 4.0, f64::max);
    let mut svg = String::new();
    let size = (960, 100 + 54 * rows.len() as u32);
    let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    area.fill(&WHITE)?;
    area.draw(&Text::new(caption, (20, 12), FONT))?;
    let mut x = 390;
    for (name, colour) in ALL.map(Subject::name).into_iter().zip(COLOURS) {
        area.draw(&Rectangle::new([(x, 38), (x + 10, 48)], colour.filled()))?;
        area.draw(&Text::new(name, (x + 15, 37), FONT))?;
        x += 40 + 7 * name.len() as i32;
    }
    let mut chart = ChartBuilder::on(&area)
        .margin_top(58)
        .margin_right(80)
        .x_label_area_size(40)
        .y_label_area_size(390)
        .build_cartesian_2d((start..end).log_scale(), rows.len() as f64..0.0)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .y_labels(0)
        .light_line_style(TRANSPARENT)
        .bold_line_style(GREY)
        .label_style(FONT)
        .x_label_formatter(&|value| text(*value))
        .draw()?;
    let centred = |horizontal| {
        let style = FONT.into_text_style(&area);
        style.pos(Pos::new(horizontal, VPos::Center))
    };
    for (top, (name, values)) in (0..).map(f64::from).zip(rows) {
        let name = Text::new(name.clone(), (-8, 0), centred(HPos::Right));
        chart.draw_series([EmptyElement::at((start, top + 0.5)) + name])?;
        for (which, (value, colour)) in values.iter().zip(COLOURS).enumerate() {
            let top = top + 0.06 + 0.22 * which as f64;
            let label = value.map_or("n/a".to_owned(), text);
            let end = value.unwrap_or(start);
            let bar = [(start, top), (end, top + 0.19)];
            chart.draw_series([Rectangle::new(bar, colour.filled())])?;
            let label = Text::new(label, (4, 0), centred(HPos::Left));
            chart.draw_series([EmptyElement::at((end, top + 0.1)) + label])?;
        }
    }
    area.present()?;
    drop((chart, area));
    Ok(svg)
}
