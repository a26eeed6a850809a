//! `cargo xtask bench`: what a call costs, beside a server without an SDK and beside the peers.
//!
//! Clocks are for reading and counts are for gates: the table of `docs/benchmarks.md` is written and not judged, while
//! `--gate` compares instructions per call with `tests/budgets/gates.toml`. What is run and loaded lies in
//! `tests/src/bench`, the peers in `tests/bench-peers`.

mod budgets;
mod built;
mod clients;
mod gate;
mod machine;
mod measure;
mod page;
mod plan;
mod plot;
mod results;
mod run;
mod size;
mod subject;
mod svg;
mod valgrind;

use crate::workspace::root;
use run::Wanted;

const USAGE: &str = "\
usage: cargo xtask bench [--quick] [--build-time]
       cargo xtask bench --gate [--bless] [--only NAME] [--keep DIR]

  --quick       short runs, each once; prints the page instead of writing it to docs
  --build-time  also builds each server from nothing, which takes minutes
  --gate        instructions per call, against tests/budgets/gates.toml; needs valgrind
  --bless       write what was counted into that file; allocations too, unless --only is given
  --only        one gate by its name; may be repeated
  --keep        leave what callgrind wrote in this folder, for callgrind_annotate";

/// Runs the command.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if let Some((first, rest)) = args.split_first()
        && first == "--gate"
    {
        return gate::run(root(), &gate::Options::parse(rest).ok_or(USAGE)?);
    }
    let wanted = wanted(args).ok_or(USAGE)?;
    if !cfg!(target_os = "linux") {
        return Err("what a process has cost is asked from Linux; run the bench there".to_owned());
    }
    run::run(root(), wanted)
}

/// Nothing if there is a word that is not known.
fn wanted(args: &[String]) -> Option<Wanted> {
    let mut wanted = Wanted {
        quick: false,
        build_time: false,
    };
    for arg in args {
        match arg.as_str() {
            "--quick" => wanted.quick = true,
            "--build-time" => wanted.build_time = true,
            _ => return None,
        }
    }
    Some(wanted)
}
