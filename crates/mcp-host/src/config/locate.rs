//! Finds the program of a server, so that the consent request shows the path that is started.

use std::path::{Path, PathBuf};

use mcp_client::TransportError;
use mcp_transport_http::HttpTransport;

use super::plain_host::has_plain_host;
use super::server::{Launch, child};

impl Launch {
    /// Makes the paths of a child process absolute. Searches for the command in the environment of the child, and replaces the
    /// command with the absolute path of the program. Makes the working directory absolute, if there is one. For a URL, sets the
    /// working directory of the command that writes headers. Reads the file system.
    ///
    /// Checks a URL in the same way as the connection does: its host must be ASCII, and it must not have a user name. A person
    /// then reads the same host that the connection uses.
    ///
    /// # Errors
    /// The program was not found, a path is not UTF-8, or the URL is not valid. The message contains the paths or the URL from
    /// `written`, before variables are replaced, because the values of variables can be secrets.
    pub(crate) fn locate(&mut self, written: &Self) -> Result<(), String> {
        let (command, args, env, cwd) = match self {
            Self::Stdio {
                command,
                args,
                env,
                cwd,
                ..
            } => (command, args, env, cwd),
            Self::Http {
                url,
                headers_helper,
                ..
            } => {
                if let Some(helper) = headers_helper {
                    helper.locate()?;
                }
                return check_url(url, written);
            }
        };
        let (shown, shown_folder) = match written {
            Self::Stdio { command, cwd, .. } => (command.as_str(), cwd.as_deref()),
            Self::Http { .. } => ("", None),
        };
        let text = |path: PathBuf| path.into_os_string().into_string().ok();
        if let Some(folder) = cwd {
            let absolute = std::path::absolute(&*folder).ok().and_then(text);
            *folder = absolute.ok_or_else(|| {
                let shown = shown_folder.unwrap_or_default();
                format!("the path of the working directory {shown:?} is empty or not UTF-8")
            })?;
        }
        let located = child(command, args, env, cwd.as_deref()).locate();
        let Some(path) = located.and_then(text) else {
            if command.contains('/') {
                return Err(missing_path(command, shown, shown_folder));
            }
            let search = env
                .get("PATH")
                .cloned()
                .or_else(|| std::env::var("PATH").ok());
            return Err(format!(
                "the program {shown:?} was not found (PATH is {:?}); install it, or set its path as the command",
                search.unwrap_or_default()
            ));
        };
        *command = path;
        Ok(())
    }
}

/// Returns the error for a program whose path does not exist. `command` is the path after variables are
/// replaced. `shown` and `folder` are the path and the working directory as the configuration contains them.
fn missing_path(command: &str, shown: &str, folder: Option<&str>) -> String {
    let tried = match (Path::new(command).is_absolute(), folder) {
        (true, _) => String::new(),
        (false, Some(folder)) => format!(" in its \"cwd\", {folder:?}"),
        (false, None) => {
            let folder = std::env::current_dir().unwrap_or_default();
            format!(
                " in {:?}, the working directory of the host",
                folder.display()
            )
        }
    };
    format!("the program {shown:?} was not found{tried}; install it, or write its absolute path")
}

/// Checks that the URL, as text, shows the host of the connection.
fn check_url(url: &str, written: &Launch) -> Result<(), String> {
    let checked = HttpTransport::new(url).and_then(|_| match has_plain_host(url) {
        true => Ok(()),
        false => Err(TransportError::new(
            "the host of the URL is not a name of letters, digits, \"-\", \"_\" and \".\"; write an IPv4 address as four decimal \
             numbers, and an IPv6 address in brackets",
        )),
    });
    checked.map_err(|error| match written {
        Launch::Http { url: written, .. } if written != url => format!(
            "the URL {:?} is not valid after its variables are replaced; write it as in \"https://example.com/mcp\"",
            written.split(['?', '#']).next().unwrap_or_default()
        ),
        _ => error.to_string(),
    })
}
