//! `cargo xtask bench`: the costs of a call, compared with a server without an SDK and with peers.
//!
//! Times are written to `docs/benchmarks.md` without a check. Counts are checked: `--gate` compares instructions per call
//! with `tests/budgets/gates.toml`. The programs are in `tests/src/bench`, the peers in `tests/bench-peers`.

mod budgets;
mod gate;
mod measure;
mod page;
mod plots;
mod results;
mod size;
mod subject;
mod valgrind;
mod workloads;

use std::fs;
use std::path::Path;
use std::time::Instant;

use crate::programs::target;
use crate::steps::say;
use crate::workspace::root;
use measure::Measurement;
use subject::Programs;

const USAGE: &str = "\
usage: cargo xtask bench [--quick]
       cargo xtask bench --gate [--bless] [--only NAME] [--keep DIR]

  --quick  short runs, each once; prints the page instead of writing it to docs
  --gate   compares instructions per call with tests/budgets/gates.toml; needs valgrind
  --bless  writes the counts to that file; allocations too, unless --only is given
  --only   runs one gate; may be repeated
  --keep   keeps the output of callgrind in this folder, for callgrind_annotate";

/// Runs the command.
pub(crate) fn run(args: crate::workspace::Args) -> Result<(), String> {
    let args = args.0;
    if let Some((first, rest)) = args.split_first()
        && first == "--gate"
    {
        return gate::run(root(), &gate::Options::parse(rest).ok_or(USAGE)?);
    }
    let is_quick = args == ["--quick"];
    if !args.is_empty() && !is_quick {
        return Err(USAGE.to_owned());
    }
    if !cfg!(target_os = "linux") {
        return Err(
            "the benchmark reads the CPU time of processes from /proc; run it on Linux".to_owned(),
        );
    }
    let measurement = Measurement {
        root: root(),
        programs: &Programs::all(root())?,
        is_quick,
    };
    write_page(&measurement)
}

/// Measures everything and writes the page with its pictures.
fn write_page(measurement: &Measurement<'_>) -> Result<(), String> {
    let start = Instant::now();
    let results = measurement.all()?;
    let minutes = start.elapsed().as_secs_f64() / 60.0;
    let budgets = budgets::budgets(&results)?;
    let page = page::page(&results, &budgets)?;
    let docs = match measurement.is_quick {
        true => target().join("bench/quick"),
        false => measurement.root.join("docs"),
    };
    let drawn = |picture: Result<String, Box<dyn std::error::Error>>| {
        picture.map_err(|error| format!("the plots: {error}"))
    };
    write(&docs.join("benchmarks.md"), &page)?;
    write(&docs.join("plots/cost.svg"), &drawn(plots::cost(&results))?)?;
    write(
        &docs.join("plots/scaling.svg"),
        &drawn(plots::scaling(&results))?,
    )?;
    if measurement.is_quick {
        say(&page);
    }
    for problem in budgets.iter().filter_map(budgets::Budget::problem) {
        say(&problem);
    }
    say(&format!(
        "\n{minutes:.1} minutes; the page is in {}",
        docs.display()
    ));
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(path, text).map_err(failed)
}
