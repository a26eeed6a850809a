//! Signs in, and stores tokens.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use mcp_auth::OAuth;
use mcp_auth::client::{
    AuthorizationSession, Callback, Credentials, Error, ErrorKind, FileTokenStore, Loopback,
    OAuthBuilder, SignInProgress, UserAgent,
};
use mcp_protocol::{BoxFuture, lock};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use url::{Host, Url};

use crate::args::{Options, SignInOptions};
use crate::connect;
use crate::failure::{Code, Failure};
use crate::output::{say, say_whole};
use crate::target::{HttpServer, Server, Target};

/// The environment variable that names the file for the tokens.
const TOKENS: &str = "MCP_TOKENS";

/// The message about a server without an authorization server.
pub(crate) const TOKENS_ONLY: &str = "the server takes configured tokens only";

/// The advice how to connect without a sign-in.
pub(crate) const PASS_TOKEN: &str = "pass a token with --header \"Authorization: Bearer TOKEN\"";

/// A user agent for commands that must not open a browser. Its error gives the reason why a sign-in is needed.
struct NoBrowser {
    /// The word for the server in a command that the error shows; see [`HttpServer::word`].
    server: String,
    cause: Arc<Mutex<Option<Cause>>>,
}

/// The reason why the stored sign-in is not sufficient.
enum Cause {
    /// The server refused the stored token. Contains the reason, if the server gave one.
    Refused(Option<String>),
    /// The authorization server did not renew the tokens.
    NotRenewed(String),
    /// The server requires more scopes. Contains the missing scopes, and all scopes to request.
    Scopes(String, String),
}

impl UserAgent for NoBrowser {
    fn start_session(&self) -> BoxFuture<'_, Result<Box<dyn AuthorizationSession>, Error>> {
        let server = &self.server;
        let text = match &*lock(&self.cause) {
            None => format!(
                "there is no stored sign-in; sign in with `mcp login {server}`, or {PASS_TOKEN}"
            ),
            Some(Cause::Refused(reason)) => {
                let reason = reason.as_ref().map(|reason| format!(": {reason}"));
                format!(
                    "the server refused the stored sign-in{}; sign in again with `mcp login {server}` and, if this does not help, ask the operator of \
                     the server for the reason",
                    reason.unwrap_or_default()
                )
            }
            Some(Cause::NotRenewed(reason)) => format!(
                "the stored sign-in could not be renewed: {reason}; sign in with `mcp login {server}`"
            ),
            Some(Cause::Scopes(missing, all)) => {
                let command = match is_plain(all) {
                    true => format!("mcp login {server} --scope \"{all}\""),
                    false => format!("mcp login {server} --scope SCOPES"),
                };
                format!(
                    "the stored sign-in does not have the scope {missing:?}; sign in with `{command}`"
                )
            }
        };
        Box::pin(async move { Err(Error::user_agent(text)) })
    }
}

/// Returns whether a text from a server, such as scopes, can be shown as a part of a command. A user may paste the command into a
/// shell.
pub(crate) fn is_plain(text: &str) -> bool {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || " -._~:/?@+=,%*".contains(char);
    text.chars().all(is_plain)
}

/// Returns the tokens that `mcp login` has stored for a server.
pub(crate) fn stored(server: &HttpServer, options: &Options) -> Result<OAuth, Failure> {
    let cause = Arc::<Mutex<Option<Cause>>>::default();
    let agent = NoBrowser {
        server: server.word.clone(),
        cause: Arc::clone(&cause),
    };
    let builder = builder(&server.url, agent, options)?.on_progress(move |progress| {
        let new = match progress {
            SignInProgress::Refused { reason } => Cause::Refused(reason.clone()),
            SignInProgress::Expired { reason } => Cause::NotRenewed(reason.clone()),
            SignInProgress::ScopesRequired { required, all } => {
                Cause::Scopes(required.clone(), all.clone())
            }
            _ => return,
        };
        *lock(&cause) = Some(new);
    });
    built(builder)
}

fn builder(url: &Url, agent: impl UserAgent, options: &Options) -> Result<OAuthBuilder, Failure> {
    let (tls, proxy) = connect::network(options)?;
    let mut builder = OAuth::client(url.as_str()).user_agent(agent).proxy(proxy);
    if let Some(tls) = tls {
        builder = builder.tls(tls);
    }
    let builder = builder.store(FileTokenStore::new(tokens()?));
    // The user chose the URL: if the server is in a private network, its authorization server may be, too. Many published servers
    // require a token for the whole host, so a parent resource is allowed.
    Ok(builder
        .allow_private_networks_for_private_server()
        .allow_parent_resource())
}

fn built(builder: OAuthBuilder) -> Result<OAuth, Failure> {
    let built = builder.build();
    built.map_err(|error| Failure::usage(error.to_string()))
}

/// Returns whether third parties can read messages to this URL. This is the case if the URL is not `https` and its host is not
/// this machine.
pub(crate) fn is_readable_in_transit(url: &Url) -> bool {
    let is_local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "http" && !is_local
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
    sign_in: &SignInOptions,
    options: &Options,
) -> Result<Code, Failure> {
    let server = http_server(server, options)?;
    let opens_browser = !sign_in.no_browser;
    let loopback = Loopback::new(move |page| {
        let is_open = opens_browser && open(page);
        let what = if is_open {
            "If no browser opens, go to"
        } else {
            "Go to"
        };
        // The address works only as a whole.
        say_whole(&format!("{what} {page}"));
        say(
            "If the browser is on another machine, it cannot open the last page. Paste the address of that page here.",
        );
    });
    let loopback = loopback.on_unbound_error(|error| {
        say(&format!(
            "note: the last page reported {error:?} without the parameter \"state\", so another page may have sent it; if the sign-in has failed, \
             end with Ctrl-C and sign in again"
        ));
    });
    let agent = PasteUserAgent(loopback.port(sign_in.callback_port.unwrap_or(0)));
    let mut builder = builder(&server.url, agent, options)?;
    if let Some(scopes) = &sign_in.scope {
        builder = builder.scopes(scopes);
    }
    if let Some(id) = &sign_in.client_id {
        builder = builder.credentials(Credentials::new(id));
    }
    // The requested and the granted scopes.
    let scopes = Arc::<Mutex<(String, String)>>::default();
    let reported = Arc::clone(&scopes);
    let auth = built(builder.on_progress(move |progress| match progress {
        SignInProgress::ConsentRequested { scopes } => lock(&reported).0.clone_from(scopes),
        SignInProgress::SignedIn { scopes } => lock(&reported).1.clone_from(scopes),
        _ => {}
    }))?;
    auth.sign_in().await.map_err(|error| {
        let failure = failed(&error);
        match error.kind() {
            ErrorKind::Unavailable | ErrorKind::InvalidResponse | ErrorKind::Mismatch => {
                failure.hint_at_doctor(&server.word)
            }
            ErrorKind::Denied if error.to_string().contains("\"invalid_scope") => failure.hint(format!(
                "request only the scopes that you may have: `mcp login {} --scope \"SCOPE SCOPE\"`",
                server.word
            )),
            _ => failure,
        }
    })?;
    say("signed in");
    let (requested, granted) = &*lock(&scopes);
    report_missing_scopes(requested, granted);
    Ok(Code::Success)
}

/// Prints the requested scopes that were not granted. The server refuses each call that needs them, and another sign-in with the
/// same scopes does not help.
fn report_missing_scopes(requested: &str, granted: &str) {
    // `mcp` requests `offline_access` by itself, and works without it.
    let is_missing = |scope: &&str| {
        *scope != "offline_access" && granted.split(' ').all(|granted| granted != *scope)
    };
    let missing: Vec<_> = requested
        .split_ascii_whitespace()
        .filter(is_missing)
        .collect();
    if !missing.is_empty() {
        say(&format!(
            "note: the authorization server did not grant {:?}; ask its operator for these scopes",
            missing.join(" ")
        ));
    }
}

/// A user agent that also accepts a pasted callback. The user pastes the callback if the browser is on another machine.
struct PasteUserAgent(Loopback);

impl UserAgent for PasteUserAgent {
    fn start_session(&self) -> BoxFuture<'_, Result<Box<dyn AuthorizationSession>, Error>> {
        Box::pin(async { Ok(pasteable(self.0.start_session().await?)) })
    }

    fn start_session_at<'a>(
        &'a self,
        redirect_uri: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn AuthorizationSession>, Error>> {
        Box::pin(async { Ok(pasteable(self.0.start_session_at(redirect_uri).await?)) })
    }
}

fn pasteable(session: Box<dyn AuthorizationSession>) -> Box<dyn AuthorizationSession> {
    Box::new(PasteableSession(session))
}

struct PasteableSession(Box<dyn AuthorizationSession>);

impl AuthorizationSession for PasteableSession {
    fn redirect_uri(&self) -> &str {
        self.0.redirect_uri()
    }

    fn open<'a>(self: Box<Self>, url: &'a str) -> BoxFuture<'a, Result<Callback, Error>> {
        Box::pin(async move {
            tokio::select! {
                callback = self.0.open(url) => callback,
                pasted = pasted(url) => Ok(Callback::parse(&pasted)),
            }
        })
    }
}

/// Returns the first line of stdin that is an address to which the sign-in at `page` returns: it has the same `state`, and a code
/// or an error. If there is no such line, the future never completes.
async fn pasted(page: &str) -> String {
    let parameter = |address: &str, name: &str| {
        let address = Url::parse(address).ok()?;
        let mut parameters = address.query_pairs();
        Some(parameters.find(|(known, _)| known == name)?.1.into_owned())
    };
    let mut lines = BufReader::new(tokio::io::stdin()).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        let state = parameter(line, "state");
        let is_answer = parameter(line, "code")
            .or(parameter(line, "error"))
            .is_some();
        if is_answer && state.is_some() && state == parameter(page, "state") {
            return line.to_owned();
        }
        if is_answer && state.is_some() {
            say(
                "this is the address of another sign-in; paste the address of the last page that this sign-in has opened",
            );
        } else if !line.is_empty() {
            say(
                "this is not the address of the last page; that address has a parameter \"state\" and a parameter \"code\"",
            );
        }
    }
    std::future::pending().await
}

fn http_server(server: &str, options: &Options) -> Result<HttpServer, Failure> {
    match Target::named(server, options)?.server {
        Server::Http(server) => Ok(server),
        Server::Program(_) => Err(Failure::usage(format!(
            "{server:?} is a program, which needs no sign-in"
        ))),
    }
}

/// Revokes and removes the tokens, and removes the registration of the client if `forget_client` is set.
pub(crate) async fn logout(
    server: &str,
    forget_client: bool,
    options: &Options,
) -> Result<Code, Failure> {
    let server = http_server(server, options)?;
    let auth = stored(&server, options)?;
    let was_signed_in = auth.is_signed_in().await.map_err(|error| failed(&error))?;
    match auth.revoke().await {
        Ok(true) => say("the tokens are revoked"),
        Ok(false) if was_signed_in => say(
            "note: the authorization server cannot revoke tokens; it may accept them until they expire",
        ),
        Ok(false) => {}
        Err(error) => say(&format!(
            "warning: the tokens were not revoked, so they may be valid until they expire: {error}"
        )),
    }
    if forget_client {
        let was_registered = auth.forget_client().await.map_err(|error| failed(&error))?;
        say(match was_registered {
            true => "the client id is forgotten",
            false => "there was no stored client id",
        });
    }
    auth.sign_out().await.map_err(|error| failed(&error))?;
    say(if was_signed_in {
        "signed out"
    } else {
        "there was no stored sign-in"
    });
    Ok(Code::Success)
}

fn failed(error: &Error) -> Failure {
    let code = match error.kind() {
        ErrorKind::Unavailable => Code::Connection,
        _ => Code::ActionRequired,
    };
    let failure = Failure::new(code, error.to_string()).hint_at_certificate(error);
    match error.kind() {
        ErrorKind::NoAuthorizationServer => failure.hint(format!("{TOKENS_ONLY}: {PASS_TOKEN}")),
        _ => failure,
    }
}

/// Opens a page in the browser of the user. Returns whether the program that opens pages was started.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_with_a_meaning_in_a_shell_are_not_part_of_a_command() {
        assert!(is_plain("mcp notes:write https://x.example/a.b?c=d"));
        for scopes in [
            "a$(b)", "a`b`", "a;b", "a\"b", "a'b", "a|b", "a\\b", "a!b", "a\nb",
        ] {
            assert!(!is_plain(scopes), "{scopes}");
        }
    }
}
