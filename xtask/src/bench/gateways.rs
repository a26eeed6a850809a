//! `cargo xtask bench --gateways`: what gateways add to a call, as a section of `docs/benchmarks.md`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use minijinja::context;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::measure::{Round, json, reason};
use super::results::spread;
use super::subject::{Programs, Subject};
use crate::files;
use crate::page::render;
use crate::programs::{build, executable, npm_ci, python_venv, run, target};
use crate::workspace::{At as _, Result, root, say};

const PAGE: &str = "docs/benchmarks.md";
const PACKAGES: &str = "tests/interop/wide";
/// The lines of the page around the section.
const MARKERS: [&str; 2] = ["<!-- gateways -->\n", "<!-- end of gateways -->\n"];
const ROUNDS: usize = 5;
/// The calls in flight of the two loads.
const LOADS: [&str; 2] = ["1", "8"];
const SESSIONS: u32 = 2_000;
/// The limit for the installation of a package from crates.io.
const INSTALL: std::time::Duration = std::time::Duration::from_secs(1_800);

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
pub(super) fn measure(programs: &Programs) -> Result {
    let file: File = toml::from_str(include_str!("gateways.toml")).at("gateways.toml")?;
    let folder = target().join("gateways");
    build(root(), &target().join("bench"), "--profile dist -p mcp-cli")?;
    let mut rounds: Vec<Result<Vec<[Round; 2]>>> = Vec::new();
    for path in &file.path {
        rounds.push(install(path, &folder).map(|()| Vec::new()));
    }
    for _ in 0..ROUNDS {
        for (path, rounds) in file.path.iter().zip(&mut rounds) {
            let Ok(done) = rounds else { continue };
            let both = LOADS.map(|calls| {
                let words = [
                    "calls",
                    "--inflight",
                    calls,
                    "--warm",
                    "0.3",
                    "--seconds",
                    "1",
                ];
                json::<Round>(&mut command(programs, path, &folder, &words))
            });
            let round = match both {
                [Ok(one), Ok(eight)] => [one, eight],
                [Err(why), _] | [_, Err(why)] => {
                    say(&format!("  {}: {why}", path.name));
                    *rounds = Err(reason(&why));
                    continue;
                }
            };
            say(&format!(
                "  {}, {} to {}: {round:.1?}",
                path.name, path.wire, path.upstream
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
            let sessions = SESSIONS.to_string();
            json::<Value>(&mut command(
                programs,
                &path,
                &folder,
                &["memory", "--inflight", &sessions],
            ))
        });
        let memory = memory.and_then(Result::ok);
        let rate = |load: usize| {
            spread(
                rounds
                    .iter()
                    .map(|round| round[load].calls as f64 / round[load].seconds),
            )[0]
        };
        rows.push(Row {
            is_direct: path.upstream.is_empty(),
            added_us: p50(&rounds).map(|time| time - same),
            p50_us: p50(&rounds)[0],
            rates: [rate(0), rate(1)],
            cpu_us: cpu(&rounds)[0],
            ratio: cpu(&rounds).map(|cpu| cpu / http),
            session_kib: memory
                .as_ref()
                .and_then(|memory| memory["session"].as_f64()),
            idle_mib: memory
                .as_ref()
                .and_then(|memory| Some(memory["idle"].as_f64()? / 1_024.0)),
            problem,
            path,
        });
    }
    let section = render(
        include_str!("gateways.md.jinja"),
        context!(rows, sessions => SESSIONS, rounds => ROUNDS),
    )?;
    say(&section);
    write(&section)
}

/// Replaces the section of the page.
fn write(section: &str) -> Result {
    let path = root().join(PAGE);
    let page = fs::read_to_string(&path).at(PAGE)?;
    let [before, after] = MARKERS.map(|marker| page.split_once(marker));
    let (Some((before, _)), Some((_, after))) = (before, after) else {
        return Err(format!("{PAGE} has no lines {MARKERS:?}"));
    };
    let [begin, end] = MARKERS;
    files::write(&path, &format!("{before}{begin}{section}{end}{after}"))
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

/// Installs the packages of a path.
fn install(path: &Path, folder: &std::path::Path) -> Result {
    let from = root().join(PACKAGES).join(&path.packages);
    let to = installed(path);
    match &*path.packages {
        "" => Ok(()),
        name if name.starts_with("npm") => npm_ci(&from, &to),
        name if name.starts_with("pip") => python_venv(&from, &to, &to.join("venv")),
        name => {
            let mut cargo = Command::new("cargo");
            cargo
                .args(["install", "--quiet", "--locked", name, "--root"])
                .arg(folder);
            cargo.arg("--target-dir").arg(folder.join("build"));
            run(&mut cargo, INSTALL, say)
        }
    }
}

fn installed(path: &Path) -> PathBuf {
    target().join("interop").join(&path.packages)
}

/// `bench-load` with these options and the program of the path.
fn command(programs: &Programs, path: &Path, folder: &std::path::Path, words: &[&str]) -> Command {
    let text = |path: PathBuf| path.display().to_string();
    let server = text(programs.path(Subject::Ours.program()));
    let packages = installed(path);
    let mut script = path.program.clone();
    for (name, value) in [
        ("{server}", server.clone()),
        (
            "{mcp}",
            text(executable(&target().join("bench/dist"), "mcp")),
        ),
        ("{work}", text(folder.to_owned())),
        ("{bin}", text(folder.join("bin"))),
        ("{npm}", text(packages.join("node_modules"))),
        ("{venv}", text(packages.join("venv/bin"))),
    ] {
        script = script.replace(name, &value);
    }
    let mut command = Command::new(programs.path("bench-load"));
    command
        .args(words)
        .args(["--wire", &path.wire, "--tool-prefix", &path.prefix]);
    if let Some(at) = &path.at {
        command.args(["--path", at]);
    }
    if path.upstream == "http" {
        command.args(["--upstream", &format!("{server} --http 127.0.0.1:0")]);
    }
    command.args(["--", "sh", "-c", &script]);
    command
}
