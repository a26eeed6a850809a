//! Memory over time, as pictures of `docs/reliability.md`.

use std::error::Error;

use plotters::prelude::*;
use serde_json::Value;

const FONT: (&str, u32) = ("sans-serif", 12);
const COLOURS: [RGBColor; 3] = [
    RGBColor(11, 95, 165),
    RGBColor(224, 130, 20),
    RGBColor(127, 191, 123),
];

/// The names of the lines, and the members of all samples that they show, of a command that has samples.
pub(super) fn lines(command: &str) -> &'static [(&'static str, &'static str)] {
    match command {
        "soak" => &[
            ("server over HTTP", "server"),
            ("server over stdio", "stdio"),
            ("all clients", "clients"),
        ],
        "bridge" => &[("bridge", "bridge")],
        "overload" => &[("server", "mib")],
        _ => &[],
    }
}

/// The points of a line: seconds and MiB.
fn points(figures: &Value, member: &str) -> Vec<(f64, f64)> {
    let samples = figures["samples"].as_array().into_iter().flatten();
    let point = |sample: &Value| Some((sample["seconds"].as_f64()?, sample[member].as_f64()?));
    samples.filter_map(point).collect()
}

pub(super) fn draw(command: &str, figures: &Value) -> Result<String, Box<dyn Error>> {
    let lines = lines(command).iter();
    let lines = lines.map(|(name, member)| (*name, points(figures, member)));
    let lines: Vec<_> = lines.zip(COLOURS).collect();
    let all = || lines.iter().flat_map(|((_, points), _)| points);
    let end = all().map(|point| point.0).fold(1.0, f64::max);
    let top = all().map(|point| point.1).fold(1.0, f64::max) * 1.1;
    let during = match command {
        "bridge" => "soak of the bridge",
        command => command,
    };
    let caption = format!("Resident memory during the {during}, MiB over seconds");
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, (960, 320)).into_drawing_area();
    area.fill(&WHITE)?;
    area.draw(&Text::new(caption, (20, 10), FONT))?;
    let mut x = 480;
    for ((name, _), colour) in &lines {
        area.draw(&Rectangle::new([(x, 12), (x + 10, 22)], colour.filled()))?;
        area.draw(&Text::new(*name, (x + 15, 10), FONT))?;
        x += 40 + 7 * name.len() as i32;
    }
    let mut chart = ChartBuilder::on(&area)
        .margin_top(36)
        .margin_right(20)
        .x_label_area_size(30)
        .y_label_area_size(50)
        .build_cartesian_2d(0.0..end, 0.0..top)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .label_style(FONT)
        .draw()?;
    for ((_, points), colour) in &lines {
        chart.draw_series([PathElement::new(points.clone(), colour)])?;
    }
    area.present()?;
    drop((chart, area));
    Ok(svg)
}
