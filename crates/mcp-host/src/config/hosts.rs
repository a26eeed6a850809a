//! The known hosts: their configuration files, and the differences between the files.

use std::path::Path;

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigFormat {
    /// `mcp.json` of SEP-2633, and the JSON files of most hosts. The servers are in `mcpServers`; if it is missing, in `servers`,
    /// `context_servers`, `amp.mcpServers`, `mcp.servers` or `mcp`.
    Standard,
    /// `mcp.json` of VS Code: JSON with comments. The servers are in `servers`.
    VsCode,
    /// `~/.codex/config.toml`. The servers are in `mcp_servers`. Needs the feature `codex`.
    Codex,
    /// `settings.json` of Gemini CLI. The servers are in `mcpServers`, and the key of a URL can be `httpUrl`.
    Gemini,
    /// YAML. The servers are in `extensions`, as in `config.yaml` of Goose, or in `mcpServers`, as in the files of Continue and
    /// LibreChat.
    Yaml,
}

/// A host and its configuration files.
pub(super) struct KnownHost {
    pub(super) name: &'static str,
    pub(super) files: &'static [(FileFolder, &'static str)],
    pub(super) format: ConfigFormat,
    /// The chain of member names from the root of a file to the list of servers.
    pub(super) list: &'static [&'static str],
    /// Whether the value of `timeout` is in seconds. Otherwise, it is in milliseconds.
    pub(super) has_seconds: bool,
    pub(super) references: References,
}

/// The folder in which a configuration file is.
#[derive(Debug, Clone, Copy)]
pub(super) enum FileFolder {
    /// The opened folder.
    Project,
    /// The folder of the user.
    Home,
    /// The folder that an environment variable (first text) names. If the variable is not set, a folder below the user's folder
    /// (second text).
    Variable(&'static str, &'static str),
    /// The folder for settings of applications; it is different on Linux, macOS and Windows.
    Applications,
}

/// The form of references to variables in a file.
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
    /// The file has no references.
    None,
}

const SERVERS: &[&str] = &["mcpServers"];

/// Creates a host whose files are JSON with the servers in `mcpServers`.
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

/// Creates a host whose files have the servers at the path `list`.
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

/// All known hosts, in the order in which their files are read. A file with an unknown path is read as a file of the first host
/// that has the same format and the same path of the server list.
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

/// Returns the host that has this file. If the file is in another folder, it belongs to a host only if no other host has a file
/// with the same name.
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
