//! `cargo xtask api`: the public API of each crate as a list in `docs/api`, so that a change of it is seen in review.
//!
//! The lists come from rustdoc's JSON, which Rust calls unstable: its format belongs to one version of rustdoc.

use std::fs;
use std::process::{Command, ExitCode};

use public_api::Builder;

use crate::programs::{BUILD, SHORT, cargo, lines_of, output_of, program, run as execute, target};
use crate::workspace::{self, At as _, Files, Result, none_of, root, say};

const FOLDER: &str = "docs/api";

/// The version of rustc whose JSON can be read.
const RUSTC: &str = "rustc 1.95.";

/// Set for xtask itself when cargo starts it as rustdoc. Only rustdoc gets `RUSTC_BOOTSTRAP`: set for cargo, it would
/// compile all dependencies again.
const AS_RUSTDOC: &str = "XTASK_AS_RUSTDOC";

/// Runs rustdoc with the arguments of this process if cargo started it as rustdoc.
pub(crate) fn as_rustdoc() -> Option<ExitCode> {
    std::env::var_os(AS_RUSTDOC)?;
    let mut rustdoc = Command::new("rustdoc");
    rustdoc
        .args(std::env::args_os().skip(1))
        .env("RUSTC_BOOTSTRAP", "1");
    let is_success = rustdoc.status().is_ok_and(|status| status.success());
    Some(ExitCode::from(u8::from(!is_success)))
}

/// Runs the command: writes the lists, or compares them and the commits that changed them.
pub(crate) fn run(check: bool) -> Result {
    let rustc = output_of(&mut program("rustc", "--version"), SHORT)?;
    if !rustc.starts_with(RUSTC) {
        let problem = format!("the lists need {RUSTC}x, found {rustc}");
        if !check {
            return Err(problem);
        }
        say(&format!("SKIPPED: public API: {problem}"));
        return Ok(());
    }
    let mut files = Files::new();
    for folder in fs::read_dir(root().join("crates")).at("crates")? {
        let folder = folder.at("crates")?;
        // A program has no public API.
        if folder.path().join("src/lib.rs").is_file() {
            let name = folder.file_name().to_string_lossy().into_owned();
            files.insert(format!("{FOLDER}/{name}.txt"), list(&name)?);
        }
    }
    let present = workspace::read(root(), &[FOLDER], |_| true)?;
    let problem = "the public API is not the one in docs/api; run `cargo xtask api` and describe the change in CHANGELOG.md:";
    workspace::apply(root(), &files, present, check, problem)?;
    match check {
        true => none_of(&silent_changes()?),
        false => Ok(()),
    }
}

/// The public items of a crate, one a line.
fn list(name: &str) -> Result<String> {
    let options = "-Zunstable-options --output-format=json --cap-lints=allow";
    let words = format!("rustdoc --quiet --lib --all-features -p {name} -- {options}");
    let mut rustdoc = cargo(&words);
    rustdoc.env("RUSTDOC", std::env::current_exe().at("xtask")?);
    execute(rustdoc.env(AS_RUSTDOC, "1"), BUILD, say)?;
    let json = format!("doc/{}.json", name.replace('-', "_"));
    let api = Builder::from_rustdoc_json(target().join(json))
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .at(name)?;
    let mut lines: Vec<String> = api.items().map(ToString::to_string).collect();
    lines.dedup();
    Ok(lines.join("\n") + "\n")
}

/// The commits that changed a list without changing `CHANGELOG.md`.
fn silent_changes() -> Result<Vec<String>> {
    let git = |words: &str| lines_of(&mut program("git", words), SHORT);
    let Ok(mut commits) = git(&format!("log --format=%h -- {FOLDER}")) else {
        say("SKIPPED: commits that changed the public API, because git does not have the history");
        return Ok(Vec::new());
    };
    commits.pop(); // The oldest one added the lists.
    let mut silent = Vec::new();
    for commit in commits {
        let changed = git(&format!("show --name-only --format= {commit}"))?;
        if !changed.iter().any(|path| path == "CHANGELOG.md") {
            silent.push(format!(
                "commit {commit} changes the public API but not CHANGELOG.md: describe the change there, and amend the commit"
            ));
        }
    }
    Ok(silent)
}
