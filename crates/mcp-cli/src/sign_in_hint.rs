//! Gives advice to the user if a server refuses a token or a sign-in fails.

use std::time::Duration;

use mcp_auth::client::{Challenge, Diagnosis, Error, ErrorKind, Scopes};
use mcp_client::Error as ClientError;
use mcp_client::types::method;
use tokio::time::timeout;

use crate::args::Options;
use crate::failure::{Code, Failure, causes};
use crate::login::{PASS_TOKEN, TOKENS_ONLY, is_plain, is_readable_in_transit, stored};
use crate::target::{HttpServer, Server, Target};

/// Maximum time to find out whether an authorization server issues the tokens of a server.
const DIAGNOSIS: Duration = Duration::from_secs(10);

/// Returns the failure of a connection or a call, with advice to the user.
pub(crate) async fn explain(target: &Target, options: &Options, error: ClientError) -> Failure {
    let is_after_probe = matches!(&error, ClientError::Connect { details, .. }
        if details.iter().any(|line| line.contains(method::SERVER_DISCOVER)));
    let sign_in = causes(&error).find_map(|error| error.downcast_ref::<Error>());
    let kind = sign_in.map(Error::kind);
    let is_about_token = error.required_urls().is_none();
    let missing = error.required_scopes();
    let missing = missing.map(|scopes| scopes.into_iter().collect::<Scopes>());
    let failure = Failure::from(error);
    match (failure.code, &target.server) {
        (Code::ActionRequired, Server::Http(server)) if is_about_token => match kind {
            Some(kind) => sign_in_hint(failure, kind, &server.word),
            None => failure.hint(token_hint(server, options, missing.as_ref()).await),
        },
        // The sign-in failed temporarily, so another attempt can succeed.
        (_, Server::Http(server)) if kind.is_some() => failure.hint_at_doctor(&server.word),
        (_, Server::Program(_)) if is_after_probe => failure.hint(
            "if the program does not know server/discover, try --revision sessions".to_owned(),
        ),
        _ => failure,
    }
}

/// Returns the result of a request, or its failure with advice to the user.
pub(crate) async fn explained<T>(
    target: &Target,
    options: &Options,
    result: Result<T, ClientError>,
) -> Result<T, Failure> {
    match result {
        Ok(result) => Ok(result),
        Err(error) => Err(explain(target, options, error).await),
    }
}

/// Adds advice about a failed sign-in with this kind of error.
fn sign_in_hint(failure: Failure, kind: ErrorKind, server: &str) -> Failure {
    match kind {
        // [`NoBrowser`] says what to do.
        ErrorKind::UserAgent => failure,
        // The cause is on this machine.
        ErrorKind::Store | ErrorKind::Setup => failure,
        ErrorKind::NoAuthorizationServer => failure.hint(format!("{TOKENS_ONLY}: {PASS_TOKEN}")),
        ErrorKind::Denied | ErrorKind::Expired | ErrorKind::UnknownClient => {
            failure.hint(format!("sign in with `mcp login {server}`, or {PASS_TOKEN}"))
        }
        ErrorKind::Mismatch => failure
            .hint(format!(
                "use the URL by which the server calls itself, or correct it in the settings of the server, for example \"publicUrl\" of `mcp serve`; or {PASS_TOKEN}"
            ))
            .hint_at_doctor(server),
        _ => failure
            .hint(format!(
                "the server, and a proxy in front of it, must answer GET requests for its metadata; or {PASS_TOKEN}"
            ))
            .hint_at_doctor(server),
    }
}

/// Returns advice about a token from the command line or the configuration. The server has refused the token or, with
/// `missing`, the token lacks these scopes. Unless a command returns the token, first asks the server whether an authorization
/// server issues its tokens.
pub(crate) async fn token_hint(
    server: &HttpServer,
    options: &Options,
    missing: Option<&Scopes>,
) -> String {
    if server.helper.is_some() && options.header.is_empty() {
        return "correct \"headersHelper\" of this server in its configuration: the command must write a valid token".to_owned();
    }
    let is_authorization = |name: &String| name.eq_ignore_ascii_case("authorization");
    let is_configured = options.header.is_empty() && server.headers.keys().any(is_authorization);
    let other = match is_configured {
        true => "correct the header \"authorization\" of the server in its configuration file",
        false => "pass a valid token with --header \"Authorization: Bearer TOKEN\"",
    };
    let auth = match is_readable_in_transit(&server.url) {
        true => return other.to_owned(),
        false => stored(server, options),
    };
    let Ok(auth) = auth else {
        return other.to_owned();
    };
    match timeout(DIAGNOSIS, auth.diagnose()).await {
        Ok(diagnosis) if diagnosis.is_published() => {
            let word = &server.word;
            let scopes = missing.map(|missing| all_scopes(&diagnosis, missing));
            match scopes.filter(|scopes| is_plain(scopes)) {
                Some(scopes) => {
                    format!("sign in with `mcp login {word} --scope \"{scopes}\"`, or {other}")
                }
                None => format!("sign in with `mcp login {word}`, or {other}"),
            }
        }
        Ok(diagnosis) if is_without_authorization_server(&diagnosis) && missing.is_some() => {
            format!("{TOKENS_ONLY}: ask its operator for a token with this scope")
        }
        Ok(diagnosis) if is_without_authorization_server(&diagnosis) => {
            format!("{TOKENS_ONLY}: {other}")
        }
        _ => other.to_owned(),
    }
}

/// Returns the union of the scopes that the server suggests and the missing scopes, separated by spaces.
fn all_scopes(diagnosis: &Diagnosis, missing: &Scopes) -> String {
    let suggested = diagnosis.challenge().and_then(Challenge::scopes);
    suggested.unwrap_or_default().union(missing).to_string()
}

fn is_without_authorization_server(diagnosis: &Diagnosis) -> bool {
    let issuer = diagnosis.issuer();
    issuer.is_err_and(|error| error.kind() == ErrorKind::NoAuthorizationServer)
}
