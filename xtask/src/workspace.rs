//! The root folder of the workspace, arguments of commands, and errors with their place.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::Path;

/// The root folder of the workspace.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// The arguments of a command. Each method takes out what it returns; [`Args::end`] rejects the rest.
#[derive(Debug)]
pub(crate) struct Args(pub(crate) Vec<String>);

impl Args {
    /// Whether the flag was given.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|arg| arg != name);
        self.0.len() < before
    }

    /// The values that follow each occurrence of an option.
    pub(crate) fn values(&mut self, option: &str) -> Result<Vec<String>, String> {
        let mut values = Vec::new();
        while let Some(at) = self.0.iter().position(|arg| arg == option) {
            if at + 1 == self.0.len() {
                return Err(format!("{option} needs a value"));
            }
            values.extend(self.0.drain(at..at + 2).nth(1));
        }
        Ok(values)
    }

    /// Rejects the arguments that are left.
    pub(crate) fn end(self) -> Result<(), String> {
        let unknown = self.0.first().map_or(Ok(()), Err);
        unknown.map_err(|arg| format!("unknown argument {arg}; `cargo xtask help` lists them"))
    }

    /// Whether `--check` was given, which is the only argument that is accepted.
    pub(crate) fn check(mut self) -> Result<bool, String> {
        let check = self.flag("--check");
        self.end().map(|()| check)
    }
}

/// Adds to an error where it occurred.
pub(crate) trait At<T> {
    /// Puts the place, for example a file or a command, in front of the error.
    fn at(self, place: impl Display) -> Result<T, String>;
}

impl<T, E: Display> At<T> for Result<T, E> {
    fn at(self, place: impl Display) -> Result<T, String> {
        self.map_err(|error| format!("{place}: {error}"))
    }
}

/// Returns an error with all problems, one a line, if there are any.
pub(crate) fn none_of(problems: &[String]) -> Result<(), String> {
    match problems {
        [] => Ok(()),
        _ => Err(problems.join("\n")),
    }
}

/// Returns an error with the problem that the names have, and the names, if there are any.
pub(crate) fn none_in(names: &BTreeSet<String>, problem: &str) -> Result<(), String> {
    let lines = names.iter().map(|name| format!("\n  {name}"));
    match names.is_empty() {
        true => Ok(()),
        false => Err(format!("{problem}{}", lines.collect::<String>())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_taken_out_and_others_rejected() {
        let args = |line: &str| Args(line.split_whitespace().map(str::to_owned).collect());
        let mut all = args("--only a --bless --only b --onyl");
        assert!(all.flag("--bless") && !all.flag("--bless"));
        assert_eq!(all.values("--only").unwrap(), ["a", "b"]);
        assert!(all.end().unwrap_err().contains("--onyl"));
        assert_eq!(
            args("--only").values("--only").unwrap_err(),
            "--only needs a value"
        );
        assert_eq!(
            (args("").check(), args("--check").check()),
            (Ok(false), Ok(true))
        );
    }
}
