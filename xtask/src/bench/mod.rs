//! `cargo xtask bench`: the costs of a call, compared with a server without an SDK and with peers.
//!
//! Times are written to `docs/benchmarks.md` without a check. Counts are checked: `--gate` compares instructions per call
//! with `tests/budgets/gates.toml`. The programs are in `tests/src/bench`, the peers in `tests/bench-peers`.

mod budgets;
mod gate;
mod gateways;
mod measure;
mod plots;
mod results;
mod subject;
#[cfg(test)]
mod tests;
mod valgrind;
mod workloads;

use std::time::Instant;

use minijinja::context;

use crate::page::render;
use crate::programs::target;
use crate::workspace::{self, At as _, Result, root, say};
use budgets::Budget;
use measure::Measurement;
use results::Results;
pub(crate) use subject::peer_servers;
use subject::{ALL, Subject, build_all};

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only prints the page, after short runs.
    #[arg(long)]
    quick: bool,
    /// Counts instructions per call with valgrind and compares them with tests/budgets/gates.toml.
    #[arg(long, conflicts_with = "quick")]
    gate: bool,
    /// Measures gateways instead, and writes their section of the page.
    #[arg(long, conflicts_with_all = ["quick", "gate"])]
    gateways: bool,
    #[command(flatten)]
    counting: gate::Counting,
}

/// Runs the command: measures everything and writes the page with its pictures.
pub(crate) fn run(options: Options) -> Result {
    if options.gate {
        return gate::run(options.counting);
    }
    let is_quick = options.quick;
    if !cfg!(target_os = "linux") {
        return Err(
            "the benchmark reads the CPU time of processes from /proc; run it on Linux".to_owned(),
        );
    }
    if options.gateways {
        return gateways::measure();
    }
    build_all()?;
    let start = Instant::now();
    let results = Measurement { is_quick }.all()?;
    let minutes = start.elapsed().as_secs_f64() / 60.0;
    let budgets = budgets::budgets(&results)?;
    let page = page(&results, &budgets)?;
    let docs = match is_quick {
        true => target().join("bench/quick"),
        false => root().join("docs"),
    };
    workspace::write(&docs.join("benchmarks.md"), &page)?;
    let (cost, scaling) = (plots::cost(&results), plots::scaling(&results));
    for (name, picture) in [("cost", cost), ("scaling", scaling)] {
        let picture = picture.at("the plots")?;
        workspace::write(&docs.join(format!("plots/{name}.svg")), &picture)?;
    }
    if is_quick {
        say(&page);
    }
    for problem in budgets.iter().filter_map(Budget::problem) {
        say(&problem);
    }
    let place = docs.display();
    say(&format!("\n{minutes:.1} minutes; the page is in {place}"));
    Ok(())
}

/// The whole page. Costs are preceded by the multiple of the baseline, and followed by the cost of each peer divided by that
/// of this SDK.
fn page(results: &Results, budgets: &[Budget]) -> Result<String> {
    let machine = &results.machine;
    let sections = results.tables.chunk_by(|a, b| a.section == b.section);
    let sections: Vec<_> = sections.collect();
    let subjects = ALL.map(Subject::name);
    let gateways = gateways::stored();
    let values = context!(machine, budgets, sections, subjects, gateways);
    render(include_str!("page.md.jinja"), values)
}
