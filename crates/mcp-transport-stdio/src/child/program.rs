//! Finds the program of a child process, and explains why it cannot be started.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

type Env = [(OsString, Option<OsString>)];

/// Returns the program to start. On Windows, the system does not find `npx`, which is a file `npx.cmd` in a directory of `PATH`.
/// This function finds such files.
#[cfg(windows)]
pub(crate) fn resolve(program: &OsStr, env: &Env) -> OsString {
    let extensions = std::env::var("PATHEXT").unwrap_or_else(|_| ".COM;.EXE;.BAT;.CMD".to_owned());
    let search = path(env, false).unwrap_or_default();
    find(program, &search, &extensions, |path| path.is_file()).unwrap_or_else(|| program.to_owned())
}

/// Returns `program` unchanged, because the system finds programs in `PATH` by itself.
#[cfg(not(windows))]
pub(crate) fn resolve(program: &OsStr, _env: &Env) -> OsString {
    program.to_owned()
}

/// Returns the absolute path of the file that the system would start. A path is relative to the child's working directory. A name
/// is looked up in the folders of the child's `PATH`. Symbolic links are not resolved, because some programs depend on the name
/// by which they are started.
pub(crate) fn locate(
    program: &OsStr,
    env: &Env,
    env_clear: bool,
    directory: Option<&Path>,
) -> Option<PathBuf> {
    let program = resolve(program, env);
    let program = Path::new(&program);
    let base = std::path::absolute(directory.unwrap_or(Path::new("."))).ok()?;
    if is_path(program) {
        return Some(base.join(program)).filter(|file| is_executable(file));
    }
    let search = path(env, env_clear)?;
    let mut files = std::env::split_paths(&search).map(|folder| base.join(folder).join(program));
    files.find(|file| is_executable(file))
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    let is_executable =
        |file: std::fs::Metadata| file.is_file() && file.permissions().mode() & 0o111 != 0;
    file.metadata().is_ok_and(is_executable)
}

#[cfg(not(unix))]
fn is_executable(file: &Path) -> bool {
    file.is_file()
}

/// Returns the first file named `program` with any of the extensions in any directory of `search`.
#[cfg(any(windows, test))]
fn find(
    program: &OsStr,
    search: &OsStr,
    extensions: &str,
    exists: impl Fn(&Path) -> bool,
) -> Option<OsString> {
    let name = Path::new(program);
    if name.extension().is_some() || is_path(name) {
        return None;
    }
    for directory in std::env::split_paths(search) {
        for extension in extensions
            .split(';')
            .filter(|extension| !extension.is_empty())
        {
            let mut file = name.as_os_str().to_owned();
            file.push(extension);
            let candidate = directory.join(file);
            if exists(&candidate) {
                return Some(candidate.into_os_string());
            }
        }
    }
    None
}

/// Returns the text of the error for a `program` that cannot be started.
pub(crate) fn explain(
    program: &OsStr,
    env: &Env,
    env_clear: bool,
    directory: Option<&Path>,
    error: &io::Error,
) -> String {
    let start = format!("cannot start {program:?}");
    if let Some(directory) = directory
        && !directory.is_dir()
    {
        return format!("{start}: the directory {directory:?} set with current_dir does not exist");
    }
    let advice = advice(program);
    match error.kind() {
        io::ErrorKind::NotFound if is_path(Path::new(program)) => {
            let base = directory.unwrap_or(Path::new(""));
            match base.join(program).exists() {
                true => format!(
                    "{start}: the file exists, but the interpreter that it names \
                 does not"
                ),
                false => format!("{start}: the file does not exist{advice}"),
            }
        }
        io::ErrorKind::NotFound => match path(env, env_clear) {
            Some(path) => format!("{start}: PATH has no such program{advice}; PATH is {path:?}"),
            None => format!("{start}: PATH is not set, so the program cannot be looked up"),
        },
        io::ErrorKind::PermissionDenied => format!("{start}: no permission to execute it"),
        _ => start,
    }
}

/// Returns advice for the user if `program` looks like a command line with arguments.
fn advice(program: &OsStr) -> &'static str {
    match program.as_encoded_bytes().contains(&b' ') {
        true => "; pass only the program here, and its arguments to .args(..)",
        false => "",
    }
}

fn is_path(program: &Path) -> bool {
    program.components().count() > 1 || program.is_absolute()
}

/// Returns the `PATH` of the child's environment, in which the program is looked up.
fn path(env: &Env, env_clear: bool) -> Option<OsString> {
    match env.iter().rev().find(|(name, _)| name == "PATH") {
        Some((_, value)) => value.clone(),
        None if env_clear => None,
        None => std::env::var_os("PATH"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_found_by_their_extension() {
        let search = std::env::join_paths(["a", "b"]).unwrap();
        let expected = Path::new("b").join("npx.CMD");
        let find = |program: &str| {
            find(OsStr::new(program), &search, ".EXE;.CMD", |path| {
                path == expected
            })
        };
        assert_eq!(find("npx"), Some(expected.clone().into_os_string()));
        assert_eq!(find("node"), None);
        assert_eq!(find("npx.exe"), None, "it says what it is");
        assert_eq!(find("./npx"), None, "it is no name to look up");
    }
}
