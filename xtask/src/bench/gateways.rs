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
use crate::files;
use crate::page::render;
use crate::programs::{BUILD, build, cargo, executable, install, program, run, target};
use crate::workspace::{At as _, Result, root, say};

const PAGE: &str = "docs/benchmarks.md";
const PACKAGES: &str = "tests/interop/wide";
/// The lines of the page around the section.
const MARKERS: [&str; 2] = ["<!-- gateways -->\n", "<!-- end of gateways -->\n"];
const ROUNDS: usize = 5;
/// The calls in flight of the two loads.
const LOADS: [&str; 2] = ["1", "8"];
const SESSIONS: u32 = 2_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    path: Vec<Path>,
}

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
    #[serde(default)]
    at: Option<String>,
    program: String,
}

/// The figures of a path, or the reason why there are none.
#[derive(Serialize)]
struct Row {
    path: Path,
    problem: Option<String>,
    /// Without a gateway.
    is_direct: bool,
    /// With one call in flight, without that of the server alone over the same transport.
    added_us: [f64; 3],
    p50_us: f64,
    rates: [f64; 2],
    /// CPU time of all processes of the path with eight calls in flight.
    cpu_us: f64,
    /// The CPU time, divided by that of the server alone over HTTP.
    ratio: [f64; 3],
    session_kib: Option<f64>,
    idle_mib: Option<f64>,
}

/// Measures all paths, in turns, and writes the section.
pub(super) fn measure() -> Result {
    build_for_gates()?;
    let file: File = toml::from_str(include_str!("gateways.toml")).at("gateways.toml")?;
    let folder = target().join("gateways");
    build(root(), &target().join("bench"), "--profile dist -p mcp-cli")?;
    let mut rounds: Vec<Result<Vec<[Round; 2]>>> = Vec::new();
    for path in &file.path {
        rounds.push(prepare(path, &folder).map(|()| Vec::new()));
    }
    for _ in 0..ROUNDS {
        for (path, rounds) in file.path.iter().zip(&mut rounds) {
            let Ok(done) = rounds else { continue };
            let both = LOADS.map(|calls| {
                let words = format!("calls --inflight {calls} --warm 0.3 --seconds 1");
                json::<Round>(&mut command(path, &folder, &words))
            });
            let round = match both {
                [Ok(one), Ok(eight)] => [one, eight],
                [Err(why), _] | [_, Err(why)] => {
                    say(&format!("  {}: {why}", path.name));
                    *rounds = Err(reason(&why));
                    continue;
                }
            };
            let (wire, upstream) = (&path.wire, &path.upstream);
            say(&format!(
                "  {}, {wire} to {upstream}: {round:.1?}",
                path.name
            ));
            done.push(round);
        }
    }
    let direct = |wire: &str| {
        let mut all = file.path.iter().zip(&rounds);
        let found = all.find(|(path, _)| path.upstream.is_empty() && path.wire == wire);
        found
            .and_then(|(_, rounds)| rounds.as_ref().ok())
            .cloned()
            .unwrap_or_default()
    };
    let alone = [direct("http"), direct("stdio")];
    let p50 = |rounds: &[[Round; 2]]| spread(rounds.iter().map(|round| round[0].p50_us));
    let cpu = |rounds: &[[Round; 2]]| spread(rounds.iter().map(|round| round[1].server_us));
    let [http, ..] = cpu(&alone[0]);
    let mut rows = Vec::new();
    for (path, rounds) in file.path.into_iter().zip(rounds) {
        let problem = rounds.as_ref().err().cloned();
        let rounds = rounds.unwrap_or_default();
        let same = p50(&alone[usize::from(path.wire == "stdio")])[0];
        let memory = (path.wire == "http" && problem.is_none()).then(|| {
            let words = format!("memory --inflight {SESSIONS}");
            json::<Value>(&mut command(&path, &folder, &words))
        });
        let memory = memory.and_then(Result::ok).unwrap_or_default();
        let rate = |load: usize| {
            let rounds = rounds.iter().map(|round| &round[load]);
            spread(rounds.map(|round| round.calls as f64 / round.seconds))[0]
        };
        rows.push(Row {
            is_direct: path.upstream.is_empty(),
            added_us: p50(&rounds).map(|time| time - same),
            p50_us: p50(&rounds)[0],
            rates: [rate(0), rate(1)],
            cpu_us: cpu(&rounds)[0],
            ratio: cpu(&rounds).map(|cpu| cpu / http),
            session_kib: memory["session"].as_f64(),
            idle_mib: memory["idle"].as_f64().map(|kib| kib / 1_024.0),
            problem,
            path,
        });
    }
    let values = context!(rows, sessions => SESSIONS, rounds => ROUNDS);
    let section = render(include_str!("gateways.md.jinja"), values)?;
    say(&section);
    write(&section)
}

fn write(section: &str) -> Result {
    let page = files::load(root(), PAGE)?.text;
    let old = stored();
    if !page.contains(&old) {
        return Err(format!("{PAGE} has no lines {MARKERS:?}"));
    }
    let [begin, end] = MARKERS;
    let new = format!("{begin}{section}{end}");
    files::write(&root().join(PAGE), &page.replace(&old, &new))
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
    let from = root().join(PACKAGES).join(&path.packages);
    let to = installed(path);
    match &*path.packages {
        "" => Ok(()),
        name if name.starts_with("npm") || name.starts_with("pip") => install(&from, &to),
        name => {
            let mut cargo = cargo(&format!("install --quiet --locked {name} --root"));
            cargo.arg(folder).arg("--target-dir");
            run(cargo.arg(folder.join("build")), BUILD, say)
        }
    }
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
