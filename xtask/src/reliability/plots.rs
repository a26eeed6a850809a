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

/// The points of a line: seconds and MiB.
pub(super) struct Series {
    name: String,
    points: Vec<(f64, f64)>,
}

impl Series {
    /// The line of one member of all samples.
    fn of(name: &str, samples: &Value, member: &str) -> Self {
        let samples = samples.as_array().into_iter().flatten();
        let points = samples
            .filter_map(|sample| Some((sample["seconds"].as_f64()?, sample[member].as_f64()?)));
        Self {
            name: name.to_owned(),
            points: points.collect(),
        }
    }
}

/// The caption and the lines of a command that has samples.
pub(super) fn lines(command: &str, figures: &Value) -> Option<(&'static str, Vec<Series>)> {
    match command {
        "soak" => {
            let line = |name, member| Series::of(name, &figures["samples"], member);
            let lines = vec![
                line("server over HTTP", "server"),
                line("server over stdio", "stdio"),
                line("all clients", "clients"),
            ];
            Some(("Resident memory during the soak, MiB over seconds", lines))
        }
        "overload" => {
            let lines = vec![Series::of("server", &figures["samples"], "mib")];
            Some((
                "Resident memory during the overload, MiB over seconds",
                lines,
            ))
        }
        _ => None,
    }
}

pub(super) fn draw(caption: &str, lines: &[Series]) -> Result<String, Box<dyn Error>> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let end = points().map(|point| point.0).fold(1.0, f64::max);
    let top = points().map(|point| point.1).fold(1.0, f64::max) * 1.1;
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, (960, 320)).into_drawing_area();
    area.fill(&WHITE)?;
    area.draw(&Text::new(caption, (20, 10), FONT))?;
    let mut x = 480;
    for (line, colour) in lines.iter().zip(COLOURS) {
        area.draw(&Rectangle::new([(x, 12), (x + 10, 22)], colour.filled()))?;
        area.draw(&Text::new(line.name.clone(), (x + 15, 10), FONT))?;
        x += 40 + 7 * line.name.len() as i32;
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
    for (line, colour) in lines.iter().zip(COLOURS) {
        chart.draw_series([PathElement::new(line.points.clone(), colour)])?;
    }
    area.present()?;
    drop((chart, area));
    Ok(svg)
}
