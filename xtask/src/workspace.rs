//! The root folder of the workspace, the terminal, and errors with their place.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::Write as _;
use std::path::Path;

/// The root folder of the workspace.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// A result whose error is a text for the user.
pub(crate) type Result<T = (), E = String> = std::result::Result<T, E>;

pub(crate) fn say(text: &str) {
    // If stdout is closed, nothing can be reported.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Adds to an error where it occurred.
pub(crate) trait At<T> {
    /// Puts the place, for example a file or a command, in front of the error.
    fn at(self, place: impl Display) -> Result<T>;
}

impl<T, E: Display> At<T> for Result<T, E> {
    fn at(self, place: impl Display) -> Result<T> {
        self.map_err(|error| format!("{place}: {error}"))
    }
}

/// Returns an error with all problems, one a line, if there are any.
pub(crate) fn none_of(problems: &[String]) -> Result {
    match problems {
        [] => Ok(()),
        _ => Err(problems.join("\n")),
    }
}

/// Returns an error with the problem that the names have, and the names, if there are any.
pub(crate) fn none_in(names: &BTreeSet<String>, problem: &str) -> Result {
    let lines = names.iter().map(|name| format!("\n  {name}"));
    match names.is_empty() {
        true => Ok(()),
        false => Err(format!("{problem}{}", lines.collect::<String>())),
    }
}
