//! The configuration files of known hosts.

use std::path::Path;

use super::{Config, ConfigFile, ConfigFormat};

/// The files in the opened folder.
const LOCAL: [(&str, ConfigFormat); 5] = [
    ("mcp.json", ConfigFormat::Standard),
    (".mcp.json", ConfigFormat::Standard),
    (".vscode/mcp.json", ConfigFormat::VsCode),
    (".cursor/mcp.json", ConfigFormat::Standard),
    (".gemini/settings.json", ConfigFormat::Gemini),
];

/// The files in the folder of the user.
const GLOBAL: [(&str, ConfigFormat); 7] = [
    (".codex/config.toml", ConfigFormat::Codex),
    (".claude.json", ConfigFormat::Standard),
    (".cursor/mcp.json", ConfigFormat::Standard),
    (".gemini/settings.json", ConfigFormat::Gemini),
    (".codeium/windsurf/mcp_config.json", ConfigFormat::Standard),
    (".copilot/mcp-config.json", ConfigFormat::Standard),
    (".lmstudio/mcp.json", ConfigFormat::Standard),
];

/// The folders of the settings of applications on Linux, macOS and Windows, in the folder of the user.
const APPLICATIONS: [&str; 3] = [".config", "Library/Application Support", "AppData/Roaming"];

/// The files in each of [`APPLICATIONS`]: of Claude Desktop, VS Code and Cline.
const APPLICATION_FILES: [(&str, ConfigFormat); 3] = [
    ("Claude/claude_desktop_config.json", ConfigFormat::Standard),
    ("Code/User/mcp.json", ConfigFormat::VsCode),
    (
        "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        ConfigFormat::Standard,
    ),
];

impl Config {
    /// Reads the known files that exist. It first reads `mcp.json`, `.mcp.json`, `.vscode/mcp.json`, `.cursor/mcp.json` and
    /// `.gemini/settings.json` in `folder`. Then it reads the user's files of Codex, Claude Code (including the servers for
    /// `folder`), Cursor, Gemini CLI, Windsurf, Copilot CLI, LM Studio, Claude Desktop, VS Code and Cline. If several files have
    /// a server with the same name, the first file wins. There is a warning for a file that cannot be read, and for a server of
    /// `folder` that has the name of a user's server.
    ///
    /// Caution: files in `folder` can start any program. If the folder comes from another person, for example as a cloned
    /// repository, ask the user before starting its servers ([`HostBuilder::consent`](crate::HostBuilder::consent)). Policy
    /// rules that allow servers by name, and [`HostBuilder::trust`](crate::HostBuilder::trust), do not apply to these
    /// servers; see [`into_project`](Self::into_project).
    pub fn discover(folder: impl AsRef<Path>) -> Self {
        let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE"));
        let folder = folder.as_ref();
        let absolute = std::path::absolute(folder).unwrap_or_default();
        let file =
            |path, format, is_project| ConfigFile::new(path, format, absolute.clone(), is_project);
        let local = LOCAL
            .iter()
            .map(|(name, format)| file(folder.join(name), *format, true));
        let global = home.iter().flat_map(|home| {
            let files = GLOBAL
                .iter()
                .map(|(name, format)| ((*name).to_owned(), *format));
            let applications = APPLICATIONS.iter().flat_map(|folder| {
                let files = APPLICATION_FILES.iter();
                files.map(move |(name, format)| (format!("{folder}/{name}"), *format))
            });
            let files = files.chain(applications);
            files.map(|(name, format)| file(Path::new(home).join(name), format, false))
        });
        let mut config = Self::new();
        for file in local.chain(global) {
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
