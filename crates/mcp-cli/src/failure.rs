//! Exit codes, and failures with their text.

use std::error::Error as _;
use std::fmt;
use std::process::ExitCode;

use mcp_auth::client::{Challenge, ErrorKind};
use mcp_client::{Error, TransportError};
use mcp_host::without_setting_names;
use mcp_transport_http::TlsFailure;

use crate::hidden::hide;
use crate::output::{one_line, say, say_after};

/// The exit code of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// The command has succeeded.
    Success = 0,
    /// The command line, a file that it names, or the input at the terminal is wrong.
    Usage = 1,
    /// The server could not be reached or started, or the connection ended.
    Connection = 2,
    /// The server rejected a request or violated the protocol.
    Protocol = 3,
    /// The tool reported an error.
    Tool = 4,
    /// The user must sign in or answer an elicitation.
    ActionRequired = 5,
    /// The server differs from the lock file.
    LockMismatch = 6,
    /// Ctrl-C.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// The failure of a command: its exit code and message.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    text: String,
    /// Additional lines, for example the last output of a child process.
    details: Vec<String>,
    /// A line that recommends `mcp doctor`. `mcp doctor` itself does not print this line.
    doctor: Option<String>,
    /// Whether a TLS handshake failed, so that no request could be sent to the server.
    pub(crate) is_of_tls: bool,
}

impl Failure {
    pub(crate) fn new(code: Code, text: impl Into<String>) -> Self {
        let text = without_setting_names(&hide(text));
        // The option sets the idle timeout.
        let text = text.replace("the setting \"idle\"", "--timeout");
        let details = Vec::new();
        Self {
            code,
            text,
            details,
            doctor: None,
            is_of_tls: false,
        }
    }

    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::new(Code::Usage, text)
    }

    /// Adds advice for the user.
    pub(crate) fn hint(mut self, text: String) -> Self {
        self.details.push(hide(text));
        self
    }

    /// Adds a line that recommends `mcp doctor`.
    pub(crate) fn hint_at_doctor(mut self, server: &str) -> Self {
        self.doctor = Some(format!(
            "`mcp doctor {server}` shows what the server answers"
        ));
        self
    }

    /// Adds advice for the user if the CA of a server is not trusted, or if the server requires a client certificate.
    pub(crate) fn hint_at_certificate(self, error: &(dyn std::error::Error + 'static)) -> Self {
        match TlsFailure::of(error) {
            Some(failure) if failure.is_unknown_issuer => self.hint(
                "to trust the CA of this server, use --ca FILE with its certificate".to_owned(),
            ),
            Some(failure) if failure.is_certificate_required => self.hint(
                "to present a client certificate, use --client-cert FILE and --client-key FILE"
                    .to_owned(),
            ),
            _ => self,
        }
    }

    /// Prepends the subject of the failure, such as the name of a server, to the message.
    pub(crate) fn about(mut self, what: &str) -> Self {
        self.text = format!("{what}: {}", self.text);
        self
    }

    /// Returns the message and the advice to the user as separate lines, for `mcp doctor`.
    pub(crate) fn full_text(&self) -> String {
        let lines = std::iter::once(&self.text).chain(&self.details);
        let lines: Vec<String> = lines.map(|line| one_line(line)).collect();
        lines.join("\n")
    }

    pub(crate) fn print(&self) {
        say_after("error: ", &self.text);
        for line in self.details.iter().chain(&self.doctor) {
            say(&format!("  {line}"));
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = code_of(&error);
        if let Some(challenge) = unauthorized(&error) {
            return Self::new(code, refused_token(challenge));
        }
        let mut text = error.to_string();
        // The text already explains why the TLS handshake failed, so its causes are not added.
        if TlsFailure::of(&error).is_some() {
            let failure = Self::new(code, text).hint_at_certificate(&error);
            let is_of_tls = true;
            return Self {
                is_of_tls,
                ..failure
            };
        }
        let mut source = error.source();
        // A cause that the text contains already is not repeated.
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            if !text.contains(&cause_text) {
                text = format!("{text}: {cause_text}");
            }
            source = cause.source();
        }
        Self::new(code, text)
    }
}

fn code_of(error: &Error) -> Code {
    if let Error::Connect { cause, .. } = error {
        return match code_of(cause) {
            Code::Protocol => Code::Protocol,
            Code::ActionRequired => Code::ActionRequired,
            _ => Code::Connection,
        };
    }
    if needs_login(error) {
        return Code::ActionRequired;
    }
    match error {
        Error::Closed(_) | Error::Timeout { .. } | Error::Transport(_) => Code::Connection,
        Error::Invalid { .. } => Code::Usage,
        _ if error.required_urls().is_some() || error.required_scopes().is_some() => {
            Code::ActionRequired
        }
        _ => Code::Protocol,
    }
}

/// Returns whether the server requires a sign-in with `mcp login`, or another token.
fn needs_login(error: &Error) -> bool {
    let of_sign_in = |error: &(dyn std::error::Error + 'static)| {
        let error = error.downcast_ref::<mcp_auth::client::Error>();
        error.is_some_and(|error| error.kind() != ErrorKind::Unavailable)
    };
    causes(error).any(of_sign_in) || unauthorized(error).is_some()
}

/// Returns the challenge of a server that has refused the token, or that requires a token.
fn unauthorized(error: &Error) -> Option<&str> {
    causes(error).find_map(|error| error.downcast_ref::<TransportError>()?.challenge())
}

/// Returns an error, followed by its sources.
pub(crate) fn causes(error: &Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    let first: &(dyn std::error::Error + 'static) = error;
    std::iter::successors(Some(first), |error| (*error).source())
}

/// Maximum number of characters that are shown of a reason from a server.
const MAX_REASON_CHARS: usize = 200;

fn refused_token(challenge: &str) -> String {
    let challenge = Challenge::parse(challenge);
    let parameter = |name: &str| {
        let text = challenge
            .iter()
            .find_map(|challenge| challenge.parameter(name));
        // Secrets are hidden before the text is cut, because a part of a secret would not be recognized.
        text.map(|text| {
            hide(text)
                .chars()
                .take(MAX_REASON_CHARS)
                .collect::<String>()
        })
    };
    match parameter("error_description").or_else(|| parameter("error")) {
        Some(said) => format!("the server refused the token: {said}"),
        None => "the server requires a token".to_owned(),
    }
}
