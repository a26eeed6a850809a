//! What the compiler says when an attribute is used wrongly: its words are part of the API.

use std::process::Command;

/// The compiler that the expected words were taken from; others word them differently.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn compile_errors_explain_mistakes_in_attributes() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().unwrap();
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    if !version.starts_with(COMPILER) {
        eprintln!("skipped: this is {version}, the words are those of {COMPILER}");
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
