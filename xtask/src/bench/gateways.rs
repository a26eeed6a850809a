//! `cargo xtask bench --gateways`: what gateways add to a call, as a section of `docs/benchmarks.md`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use minijinja::context;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::measure::{Round, json, reason};
use super::results::spread;
use super::subject::{self, Subject, build_for_gates};
use crate::page::render;
use crate::programs::{BUILD, build, cargo, executable, install, program, run, target};
use crate::workspace::{self, Result, root, say, tables};

const PAGE: &str = "docs/benchmarks.md";
const PACKAGES: &str = "tests/interop/wide";
/// The lines of the page around the section.
const MARKERS: [&str; 2] = ["<!-- gateways -->\n", "<!-- end of gateways -->\n"];
const ROUNDS: usize = 5;
const SESSIONS: u32 = 2_000;

/// A client and a server, and what is between them. The file explains the members.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Path {
    name: String,
    wire: String,
    #[serde(default)]
    upstream: String,
    #[serde(default)]
    packages: String,
    #[serde(default)]
    prefix: String,
    at: Option<String>,
    program: String,
}

/// Measures all paths, in turns, and writes the section.
pub(super) fn measure() -> Result {
    build_for_gates()?;
    let paths: Vec<Path> = tables("gateways.toml", include_str!("gateways.toml"))?;
    let folder = target().join("gateways");
    build(root(), &target().join("bench"), "--profile dist -p mcp-cli")?;
    let mut rounds: Vec<Result<Vec<[Round; 2]>>> = Vec::new();
    for path in &paths {
        rounds.push(prepare(path, &folder).map(|()| Vec::new()));
    }
    for _ in 0..ROUNDS {
        for (path, rounds) in paths.iter().zip(&mut rounds) {
            let Ok(done) = rounds else { continue };
            let Path { name, wire, .. } = path;
            match load(path, &folder) {
                Ok(round) => {
                    say(&format!(
                        "  {name}, {wire} to {}: {round:.1?}",
                        path.upstream
                    ));
                    done.push(round);
                }
                Err(why) => {
                    say(&format!("  {name}: {why}"));
                    *rounds = Err(reason(&why));
                }
            }
        }
    }
    let rows = paths.iter().zip(rounds);
    let rows = rows.map(|(path, rounds)| match rounds {
        Ok(rounds) => context!(path, ..figures(path, &folder, &rounds)),
        Err(problem) => context!(path, problem),
    });
    let rows = Vec::from_iter(rows);
    let values = context!(rows, sessions => SESSIONS, rounds => ROUNDS);
    let section = render(include_str!("gateways.md.jinja"), values)?;
    say(&section);
    write(&section)
}

/// Calls over a path with one call in flight, and with eight.
fn load(path: &Path, folder: &std::path::Path) -> Result<[Round; 2]> {
    let load = |calls| {
        let words = format!("calls --inflight {calls} --warm 0.3 --seconds 1");
        json(&mut command(path, folder, &words))
    };
    Ok([load(1)?, load(8)?])
}

/// The figures of a path: p50 with one call in flight, the CPU time of all processes with eight, both with minimum and
/// maximum, the calls per second of both loads, and the memory of a path over HTTP.
fn figures(path: &Path, folder: &std::path::Path, rounds: &[[Round; 2]]) -> minijinja::Value {
    let spread = |load: usize, figure: fn(&Round) -> f64| {
        let rounds = rounds.iter().map(|round| &round[load]);
        spread(rounds.map(figure))
    };
    let rates = [0, 1].map(|load| spread(load, |round| round.calls as f64 / round.seconds)[0]);
    let memory = (path.wire == "http").then(|| {
        let words = format!("memory --inflight {SESSIONS}");
        json::<Value>(&mut command(path, folder, &words)).ok()
    });
    context! {
        p50 => spread(0, |round| round.p50_us),
        cpu => spread(1, |round| round.server_us),
        rates,
        memory => memory.flatten(),
    }
}

/// Replaces the section of the page.
fn write(section: &str) -> Result {
    let page = workspace::load(root(), PAGE)?.text;
    let old = stored();
    if !page.contains(&old) {
        return Err(format!("{PAGE} has no lines {MARKERS:?}"));
    }
    let [begin, end] = MARKERS;
    let new = format!("{begin}{section}{end}");
    workspace::write(&root().join(PAGE), &page.replace(&old, &new))
}

/// The section as the page has it, with its markers, so that a new page keeps it.
pub(super) fn stored() -> String {
    let page = fs::read_to_string(root().join(PAGE)).unwrap_or_default();
    let [begin, end] = MARKERS;
    let section = page
        .split_once(begin)
        .and_then(|(_, rest)| rest.split_once(end));
    format!("{begin}{}{end}", section.map_or("", |(section, _)| section))
}

fn prepare(path: &Path, folder: &std::path::Path) -> Result {
    let packages = &path.packages;
    if !packages.contains('@') {
        return install(&root().join(PACKAGES).join(packages), &installed(path));
    }
    let mut cargo = cargo(&format!("install --quiet --locked {packages} --root"));
    cargo.arg(folder).arg("--target-dir");
    run(cargo.arg(folder.join("build")), BUILD, say)
}

fn installed(path: &Path) -> PathBuf {
    target().join("interop").join(&path.packages)
}

/// `bench-load` with these options and the program of the path.
fn command(path: &Path, folder: &std::path::Path, words: &str) -> Command {
    let text = |path: PathBuf| path.display().to_string();
    let server = text(subject::path(Subject::Ours.program()));
    let packages = installed(path);
    let mut script = path.program.clone();
    let mcp = executable(&target().join("bench/dist"), "mcp");
    for (name, value) in [
        ("{server}", server.clone()),
        ("{mcp}", text(mcp)),
        ("{work}", text(folder.to_owned())),
        ("{bin}", text(folder.join("bin"))),
        ("{npm}", text(packages.join("node_modules"))),
        ("{venv}", text(packages.join("venv/bin"))),
    ] {
        script = script.replace(name, &value);
    }
    let mut command = program(subject::path("bench-load"), words);
    command.args(["--wire", &path.wire, "--tool-prefix", &path.prefix]);
    if let Some(at) = &path.at {
        command.args(["--path", at]);
    }
    if path.upstream == "http" {
        command.args(["--upstream", &format!("{server} --http 127.0.0.1:0")]);
    }
    command.args(["--", "sh", "-c", &script]);
    command
}
