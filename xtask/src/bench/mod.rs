//! `cargo xtask bench`: what a call costs, beside a server without an SDK and beside the peers.
//!
//! Clocks are for reading and counts are for gates: the table of `docs/benchmarks.md` is written and not judged, while
//! `--gate` compares instructions per call with `tests/budgets/gates.toml`. What is run and loaded lies in
//! `tests/src/bench`.

mod built;
mod gate;

use crate::root;

const USAGE: &str = "\
usage: cargo xtask bench --gate [--bless] [--only NAME] [--keep DIR]

  --gate   instructions per call, against tests/budgets/gates.toml; needs valgrind
  --bless  write what was counted into that file
  --only   one gate by its name; may be repeated
  --keep   leave what callgrind wrote in this folder, for callgrind_annotate";

/// Runs the command.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    match args.split_first() {
        Some((first, rest)) if first == "--gate" => {
            gate::run(root(), &gate::Options::parse(rest).ok_or(USAGE)?)
        }
        _ => Err(USAGE.to_owned()),
    }
}
