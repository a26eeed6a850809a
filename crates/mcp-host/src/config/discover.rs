//! Finds and reads the existing configuration files of known hosts.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::hosts::{ConfigFormat, FileFolder, HOSTS};
use super::{Config, ConfigFile};

/// The folders of [`FileFolder::Applications`] on Linux, macOS and Windows. Each entry has an environment variable that can name
/// the folder, and the path below the user's folder that is used without the variable.
const APPLICATIONS: [(&str, &str); 3] = [
    ("XDG_CONFIG_HOME", ".config"),
    ("", "Library/Application Support"),
    ("APPDATA", "AppData/Roaming"),
];

impl Config {
    /// Reads the known files that exist. First reads the files in `folder`: `mcp.json`, and the files of Claude Code, VS Code,
    /// Cursor, Gemini CLI, Codex, Zed, opencode, Crush and Kiro. Then reads the user's files of the same hosts, and of Amp,
    /// Windsurf, Copilot CLI, LM Studio, Claude Desktop, Cline, Goose and Continue. The user's file of Claude Code also has
    /// servers for `folder`. If several files have a server with the same name, the first file is used. Adds a warning for each
    /// file that cannot be read, and for each server of `folder` that has the name of a user's server.
    ///
    /// Caution: files in `folder` can start any program. If the folder comes from another person, for example as a cloned
    /// repository, ask the user before starting its servers ([`HostBuilder::consent`](crate::HostBuilder::consent)). Policy
    /// rules that allow servers by name, and [`HostBuilder::trust`](crate::HostBuilder::trust), do not apply to these
    /// servers; see [`into_project`](Self::into_project).
    pub fn discover(folder: impl AsRef<Path>) -> Self {
        let folder = folder.as_ref();
        let absolute = std::path::absolute(folder).unwrap_or_default();
        let mut config = Self::new();
        for (path, format, is_project) in known_files(folder, |name| env::var_os(name)) {
            let file = ConfigFile::new(path, format, absolute.clone(), is_project);
            match file.path.is_file().then(|| file.read()) {
                Some(Ok(found)) => config.merge(found),
                Some(Err(error)) => config.warnings.push(error.to_string()),
                None => {}
            }
            config.files.push(file);
        }
        config
    }
}

/// Returns the paths and formats of all known files, and whether each file is in the opened folder. The files in the opened
/// folder come first.
fn known_files(
    folder: &Path,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Vec<(PathBuf, ConfigFormat, bool)> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let home = set("HOME")
        .or_else(|| set("USERPROFILE"))
        .map(PathBuf::from);
    let below = |name: &str, default: &str| match set(name) {
        Some(folder) => Some(PathBuf::from(folder)),
        None => home.as_ref().map(|home| home.join(default)),
    };
    let (mut project, mut user) = (Vec::new(), Vec::new());
    for host in HOSTS {
        for (place, file) in host.files {
            match place {
                FileFolder::Project => project.push((folder.join(file), host.format, true)),
                FileFolder::Home => user.extend(
                    home.as_ref()
                        .map(|home| (home.join(file), host.format, false)),
                ),
                FileFolder::Variable(name, default) => {
                    user.extend(
                        below(name, default).map(|base| (base.join(file), host.format, false)),
                    );
                }
                FileFolder::Applications => {
                    user.extend(APPLICATIONS.iter().filter_map(|(name, default)| {
                        Some((below(name, default)?.join(file), host.format, false))
                    }))
                }
            }
        }
    }
    // The user may have opened the home folder. Its files are in `user`, so they are removed from `project`.
    project.retain(|(path, ..)| {
        let path = std::path::absolute(path).ok();
        path.is_none() || !user.iter().any(|(known, ..)| Some(known) == path.as_ref())
    });
    project.extend(user);
    project
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_files_come_before_user_files() {
        let home = |name: &str| (name == "HOME").then(|| "/home/a".into());
        let files = known_files(Path::new("/project"), home);
        let first_of_user = files.iter().position(|(_, _, is_project)| !is_project);
        let (project, user) = files.split_at(first_of_user.unwrap());
        assert!(
            project
                .iter()
                .all(|(path, ..)| path.starts_with("/project"))
        );
        assert!(user.iter().all(|(path, ..)| path.starts_with("/home/a")));
        let has = |path: &str| files.iter().any(|(known, ..)| known == Path::new(path));
        assert!(has("/project/.vscode/mcp.json") && has("/home/a/.claude.json"));
        assert!(has("/home/a/.codex/config.toml") && has("/home/a/.config/goose/config.yaml"));
        for file in [
            ".codeium/windsurf/mcp_config.json",
            ".copilot/mcp-config.json",
            ".lmstudio/mcp.json",
            ".cache/lm-studio/mcp.json",
        ] {
            assert!(has(&format!("/home/a/{file}")), "{file}");
        }
        // Linux, macOS and Windows.
        for folder in [".config", "Library/Application Support", "AppData/Roaming"] {
            for file in [
                "mcp.json",
                "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            ] {
                let path = format!("/home/a/{folder}/Code/User/{file}");
                assert!(has(&path), "{path}");
            }
        }
        let own = known_files(Path::new("/home/a"), home);
        let named = own
            .iter()
            .filter(|(path, ..)| path.ends_with(".cursor/mcp.json"));
        let is_project: Vec<bool> = named.map(|(_, _, is_project)| *is_project).collect();
        assert_eq!(is_project, [false], "the folder of the user was opened");
        // The folder of the user is unknown.
        assert!(
            known_files(Path::new("/project"), |_| None)
                .iter()
                .all(|(_, _, is_project)| *is_project)
        );
    }

    #[test]
    fn environment_variables_of_hosts_change_the_folders_of_their_files() {
        let variable = |name: &str| {
            let value = match name {
                "HOME" => "/home/a",
                "CLAUDE_CONFIG_DIR" => "/c",
                "CODEX_HOME" => "",
                "XDG_CONFIG_HOME" => "/x",
                _ => return None,
            };
            Some(value.into())
        };
        let files = known_files(Path::new("/project"), variable);
        let has = |path: &str| files.iter().any(|(known, ..)| known == Path::new(path));
        assert!(has("/c/.claude.json") && !has("/home/a/.claude.json"));
        assert!(has("/home/a/.codex/config.toml"));
        assert!(has("/x/zed/settings.json") && !has("/home/a/.config/zed/settings.json"));
    }
}
