//! Signing in, and stored tokens.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use mcp_auth::OAuth;
use mcp_auth::client::{AuthorizationSession, Error, FileTokenStore, Loopback, UserAgent};
use mcp_client::Error as ClientError;
use mcp_protocol::BoxFuture;
use url::Url;

use crate::args::Options;
use crate::failure::{Code, Failure};
use crate::output::say;
use crate::target::{Server, Target};

/// Overrides the file of the tokens.
const TOKENS: &str = "MCP_TOKENS";

/// A user agent for commands that must not open a browser.
struct NoBrowser;

impl UserAgent for NoBrowser {
    fn start_session(&self) -> BoxFuture<'_, Result<Box<dyn AuthorizationSession>, Error>> {
        Box::pin(async { Err(Error::user_agent("there is no stored sign-in")) })
    }
}

/// The tokens that `mcp login` stored for a URL.
pub(crate) fn stored(url: &str) -> Result<OAuth, Failure> {
    oauth(url, NoBrowser)
}

fn oauth(url: &str, agent: impl UserAgent) -> Result<OAuth, Failure> {
    let builder = OAuth::client(url).user_agent(agent);
    let builder = builder.store(FileTokenStore::new(tokens()?));
    // The user chose the URL: if the server is in a private network, its authorization server may be, too. Many published servers
    // require a token for the whole host, so a parent resource is allowed.
    let built = builder
        .allow_private_networks_for_private_server()
        .allow_parent_resource();
    let built = built.build();
    built.map_err(|error| Failure::usage(error.to_string()))
}

/// Returns the path of the file with the tokens, and creates its folder. The store makes the file readable only by this user.
fn tokens() -> Result<PathBuf, Failure> {
    if let Some(path) = std::env::var_os(TOKENS) {
        return Ok(path.into());
    }
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let folder = match (
        variable("XDG_CONFIG_HOME"),
        variable("HOME"),
        variable("APPDATA"),
    ) {
        (Some(config), _, _) => PathBuf::from(config),
        (None, Some(home), _) => PathBuf::from(home).join(".config"),
        (None, None, Some(data)) => PathBuf::from(data),
        (None, None, None) => {
            let text = format!("there is no home folder for tokens; set {TOKENS} to a file");
            return Err(Failure::usage(text));
        }
    };
    let folder = folder.join("mcp");
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::usage(format!("{}: {error}", folder.display())))?;
    Ok(folder.join("tokens.json"))
}

/// Signs in and stores the tokens.
pub(crate) async fn login(
    server: &str,
    opens_browser: bool,
    options: &Options,
) -> Result<Code, Failure> {
    let url = url_of(server, options)?;
    let agent = Loopback::new(move |page| {
        let is_open = opens_browser && open(page);
        let what = if is_open {
            "If no browser opens, go to"
        } else {
            "Go to"
        };
        say(&format!("{what} {page}"));
    });
    let auth = oauth(url.as_str(), agent)?;
    auth.sign_in().await.map_err(|error| failed(&error))?;
    say("signed in");
    Ok(Code::Success)
}

fn url_of(server: &str, options: &Options) -> Result<Url, Failure> {
    match Target::named(server, options)?.server {
        Server::Http(server) => Ok(server.url),
        Server::Program(_) => Err(Failure::usage(format!(
            "{server:?} is a program, which needs no sign-in"
        ))),
    }
}

/// Removes the tokens.
pub(crate) async fn logout(server: &str, options: &Options) -> Result<Code, Failure> {
    let url = url_of(server, options)?;
    let auth = stored(url.as_str())?;
    let was_signed_in = auth.is_signed_in().await.map_err(|error| failed(&error))?;
    auth.sign_out().await.map_err(|error| failed(&error))?;
    say(if was_signed_in {
        "signed out"
    } else {
        "there was no stored sign-in"
    });
    Ok(Code::Success)
}

fn failed(error: &Error) -> Failure {
    Failure::new(Code::ActionRequired, error.to_string())
}

/// Opens a page with the browser of the user; returns whether a program for that started.
fn open(page: &str) -> bool {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let mut command = Command::new(program);
    command.arg(page);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().is_ok()
}

/// The failure to connect, with what to do about a missing sign-in.
pub(crate) fn explain(target: &Target, error: ClientError) -> Failure {
    let failure = Failure::from(error);
    match (failure.code, &target.server) {
        (Code::ActionRequired, Server::Http(server)) => {
            failure.hint(format!(
                "sign in with `mcp login {}`, or pass a token with --header \"Authorization: Bearer TOKEN\"",
                server.url
            ))
        }
        _ => failure,
    }
}
