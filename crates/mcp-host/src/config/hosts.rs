//! The known hosts: their configuration files, and the differences between these files.

use std::path::Path;

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigFormat {
    /// `mcp.json` of SEP-2633, and the JSON files of most hosts: servers below `mcpServers`, else below `servers`,
    /// `context_servers`, `amp.mcpServers`, `mcp.servers` or `mcp`.
    Standard,
    /// `mcp.json` of VS Code: JSON with comments, servers below `servers`.
    VsCode,
    /// `~/.codex/config.toml`: servers below `mcp_servers`. Needs the feature `codex`.
    Codex,
    /// `settings.json` of Gemini CLI: servers below `mcpServers`, with `httpUrl`.
    Gemini,
    /// YAML: servers below `extensions`, as in `config.yaml` of Goose, or below `mcpServers`, as in the files of Continue and
    /// LibreChat. Needs the feature `yaml`.
    Yaml,
}

/// A host and its configuration files.
pub(super) struct KnownHost {
    pub(super) name: &'static str,
    pub(super) files: &'static [(FileFolder, &'static str)],
    pub(super) format: ConfigFormat,
    /// The names of the members that lead from the root of a file to the list of servers.
    pub(super) list: &'static [&'static str],
    /// Whether `timeout` is in seconds. Otherwise, the unit is milliseconds.
    pub(super) has_seconds: bool,
    pub(super) references: References,
}

/// The folder of a file.
#[derive(Debug, Clone, Copy)]
pub(super) enum FileFolder {
    /// The opened folder.
    Project,
    /// The folder of the user.
    Home,
    /// The folder that this environment variable names; without the variable, this folder of the user.
    Variable(&'static str, &'static str),
    /// The folders of the settings of applications on Linux, macOS and Windows.
    Applications,
}

/// How a file refers to variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum References {
    /// `${NAME}`, as [`Variables`](super::Variables) reads it.
    Braces,
    /// `${NAME}` and `$NAME`.
    Dollar,
    /// `${NAME}`, `{env:NAME}` and `{file:PATH}`.
    Kinds,
    /// `${NAME}`, `${{ secrets.NAME }}` and `${{ inputs.NAME }}`.
    Templates,
    /// Not at all.
    None,
}

const SERVERS: &[&str] = &["mcpServers"];

/// A host whose files are JSON with servers below `mcpServers`.
const fn plain(name: &'static str, files: &'static [(FileFolder, &'static str)]) -> KnownHost {
    KnownHost {
        name,
        files,
        format: ConfigFormat::Standard,
        list: SERVERS,
        has_seconds: false,
        references: References::Braces,
    }
}

/// A host whose list of servers has another place.
const fn listed(
    name: &'static str,
    files: &'static [(FileFolder, &'static str)],
    list: &'static [&'static str],
) -> KnownHost {
    KnownHost {
        list,
        ..plain(name, files)
    }
}

/// All known hosts. The order is that in which their files are read. For a file with an unknown path, the first host with its
/// format and its list counts.
pub(super) const HOSTS: &[KnownHost] = &[
    plain("SEP-2633", &[(FileFolder::Project, "mcp.json")]),
    plain(
        "Claude Code",
        &[
            (FileFolder::Project, ".mcp.json"),
            (
                FileFolder::Variable("CLAUDE_CONFIG_DIR", ""),
                ".claude.json",
            ),
        ],
    ),
    KnownHost {
        format: ConfigFormat::VsCode,
        ..listed(
            "VS Code",
            &[
                (FileFolder::Project, ".vscode/mcp.json"),
                (FileFolder::Applications, "Code/User/mcp.json"),
            ],
            &["servers"],
        )
    },
    plain(
        "Cursor",
        &[
            (FileFolder::Project, ".cursor/mcp.json"),
            (FileFolder::Home, ".cursor/mcp.json"),
        ],
    ),
    KnownHost {
        format: ConfigFormat::Gemini,
        references: References::Dollar,
        ..plain(
            "Gemini CLI",
            &[
                (FileFolder::Project, ".gemini/settings.json"),
                (FileFolder::Home, ".gemini/settings.json"),
            ],
        )
    },
    KnownHost {
        format: ConfigFormat::Codex,
        references: References::None,
        ..listed(
            "Codex",
            &[
                (FileFolder::Project, ".codex/config.toml"),
                (FileFolder::Variable("CODEX_HOME", ".codex"), "config.toml"),
            ],
            &["mcp_servers"],
        )
    },
    listed("Visual Studio", &[], &["servers"]),
    listed(
        "Zed",
        &[
            (FileFolder::Project, ".zed/settings.json"),
            (FileFolder::Applications, "zed/settings.json"),
        ],
        &["context_servers"],
    ),
    listed(
        "Amp",
        &[(FileFolder::Applications, "amp/settings.json")],
        &["amp.mcpServers"],
    ),
    listed("VS Code settings", &[], &["mcp.servers"]),
    listed("VS Code settings", &[], &["mcp", "servers"]),
    KnownHost {
        references: References::Kinds,
        ..listed(
            "opencode",
            &[
                (FileFolder::Project, "opencode.json"),
                (FileFolder::Project, "opencode.jsonc"),
                (FileFolder::Applications, "opencode/opencode.json"),
                (FileFolder::Applications, "opencode/opencode.jsonc"),
            ],
            &["mcp"],
        )
    },
    KnownHost {
        has_seconds: true,
        references: References::Dollar,
        ..listed(
            "Crush",
            &[
                (FileFolder::Project, ".crush.json"),
                (FileFolder::Project, "crush.json"),
                (FileFolder::Applications, "crush/crush.json"),
            ],
            &["mcp"],
        )
    },
    plain(
        "Kiro",
        &[
            (FileFolder::Project, ".kiro/settings/mcp.json"),
            (FileFolder::Home, ".kiro/settings/mcp.json"),
        ],
    ),
    plain(
        "Windsurf",
        &[(FileFolder::Home, ".codeium/windsurf/mcp_config.json")],
    ),
    plain(
        "Copilot CLI",
        &[(FileFolder::Home, ".copilot/mcp-config.json")],
    ),
    plain(
        "LM Studio",
        &[
            (FileFolder::Home, ".lmstudio/mcp.json"),
            (FileFolder::Home, ".cache/lm-studio/mcp.json"),
        ],
    ),
    plain(
        "Claude Desktop",
        &[(
            FileFolder::Applications,
            "Claude/claude_desktop_config.json",
        )],
    ),
    KnownHost {
        has_seconds: true,
        ..plain(
            "Cline",
            &[(
                FileFolder::Applications,
                "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            )],
        )
    },
    KnownHost {
        format: ConfigFormat::Yaml,
        has_seconds: true,
        ..listed(
            "Goose",
            &[
                (FileFolder::Applications, "goose/config.yaml"),
                (FileFolder::Applications, "Block/goose/config/config.yaml"),
            ],
            &["extensions"],
        )
    },
    KnownHost {
        format: ConfigFormat::Yaml,
        references: References::Templates,
        ..plain("Continue", &[(FileFolder::Home, ".continue/config.yaml")])
    },
];

/// Returns the host with this file. A copy of a file in another folder counts if only one host has a file with this name.
pub(super) fn host_of(path: &Path) -> Option<&'static KnownHost> {
    let files = || {
        let files = |host: &'static KnownHost| host.files.iter().map(move |file| (host, file.1));
        HOSTS.iter().flat_map(files)
    };
    let depth = |file: &str| Path::new(file).components().count();
    let known = files().filter(|(_, file)| path.ends_with(file));
    if let Some((host, _)) = known.max_by_key(|(_, file)| depth(file)) {
        return Some(host);
    }
    let name = path.file_name();
    let mut same = { files() }.filter(|(_, file)| Path::new(file).file_name() == name);
    let (host, _) = same.next()?;
    same.all(|(other, _)| std::ptr::eq(other, host))
        .then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_file_is_found_by_the_longest_known_path() {
        for (path, host) in [
            ("mcp.json", Some("SEP-2633")),
            ("/a/.lmstudio/mcp.json", Some("LM Studio")),
            ("/a/.vscode/mcp.json", Some("VS Code")),
            ("/tmp/cline_mcp_settings.json", Some("Cline")),
            ("/tmp/claude_desktop_config.json", Some("Claude Desktop")),
            ("/a/goose/config.yaml", Some("Goose")),
            ("/tmp/config.yaml", None),
            ("/tmp/settings.json", None),
            ("/tmp/servers.json", None),
            ("", None),
        ] {
            assert_eq!(
                host_of(Path::new(path)).map(|host| host.name),
                host,
                "{path}"
            );
        }
    }
}
