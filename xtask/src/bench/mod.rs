//! `cargo xtask bench`: the costs of a call, compared with a server without an SDK and with peers.
//!
//! Times are written to `docs/benchmarks.md` without a check. Counts are checked: `--gate` compares instructions per call
//! with `tests/budgets/gates.toml`. The programs are in `tests/src/bench`, the peers in `tests/bench-peers`.

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
  --build-time  also measures a clean build of each server, which takes minutes
  --gate        compares instructions per call with tests/budgets/gates.toml; needs valgrind
  --bless       writes the counts to that file; allocations too, unless --only is given
  --only        runs one gate; may be repeated
  --keep        keeps the output of callgrind in this folder, for callgrind_annotate";

/// Runs the command.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if let Some((first, rest)) = args.split_first()
        && first == "--gate"
    {
        return gate::run(root(), &gate::Options::parse(rest).ok_or(USAGE)?);
    }
    let wanted = wanted(args).ok_or(USAGE)?;
    if !cfg!(target_os = "linux") {
        return Err(
            "the bench reads the CPU time of processes from /proc; run it on Linux".to_owned(),
        );
    }
    run::run(root(), wanted)
}

/// `None` if an argument is unknown.
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
