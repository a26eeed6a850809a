//! A command that writes the headers of a server: `headersHelper` of Claude Code.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use mcp_client::{Transport, TransportError};
use mcp_jsonrpc::decode_document;
use mcp_protocol::{BoxFuture, Connection, Inbound};
use mcp_transport_http::HttpTransport;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::supervise::orphans;

/// Maximum time of the command.
const MAX_TIME: Duration = Duration::from_secs(10);
/// Maximum size of the output of the command, in bytes.
const MAX_BYTES: usize = 64 << 10;

/// A shell command whose output is a JSON object of headers. It runs before each connection to the server, and again if the server
/// refuses a message with status 401.
///
/// As in Claude Code, the command receives all environment variables of this process, and `CLAUDE_CODE_MCP_SERVER_NAME` and
/// `CLAUDE_CODE_MCP_SERVER_URL`. The shell, not this crate, replaces references such as `${NAME}` in the command.
#[derive(Clone, PartialEq, Eq)]
pub struct HeadersHelper {
    server: String,
    command: String,
    /// The working directory of the command, as the consent request has shown it. `None`: the working directory of this process.
    folder: Option<String>,
}

impl HeadersHelper {
    /// Creates the helper of a server with this name.
    pub fn new(server: impl Into<String>, command: impl Into<String>) -> Self {
        Self {
            server: server.into(),
            command: command.into(),
            folder: None,
        }
    }

    /// Returns the command. `/bin/sh` or, on Windows, `cmd` executes it.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// Returns the working directory; `None` before [`locate`](Self::locate).
    pub(crate) fn folder(&self) -> Option<&str> {
        self.folder.as_deref()
    }

    /// Returns the texts for a hash that identifies the command. The first text cannot be the name of a header.
    pub(crate) fn hashed(&self) -> [&str; 4] {
        let folder = self.folder().unwrap_or_default();
        ["headers helper", &self.server, &self.command, folder]
    }

    /// Sets the working directory of the command to the working directory of this process.
    pub(super) fn locate(&mut self) -> Result<(), String> {
        let folder = std::env::current_dir().map_err(|error| error.to_string());
        let text = |folder: PathBuf| {
            folder
                .into_os_string()
                .into_string()
                .map_err(|_| "it is not UTF-8".to_owned())
        };
        let folder = folder.and_then(text);
        self.folder = Some(folder.map_err(|error| format!("the working directory: {error}"))?);
        Ok(())
    }

    /// Returns a transport that runs the command when it is started, and passes the headers to `build`. If the server then refuses
    /// a message with status 401, the transport runs the command again, at most once in 10 s. It calls `build` with the new headers
    /// only to check them. If `build` succeeds, the next messages of the connection have the new headers.
    pub fn transport<B>(self, url: impl Into<String>, build: B) -> impl Transport + Clone
    where
        B: Fn(BTreeMap<String, String>) -> Result<HttpTransport, TransportError>,
        B: Send + Sync + 'static,
    {
        HelperTransport {
            helper: self,
            url: url.into(),
            build: Arc::new(build),
        }
    }

    /// Runs the command and returns the headers. Errors contain neither names nor values of headers, because an invalid output
    /// can have a secret in any place.
    async fn headers(&self, url: &str) -> Result<BTreeMap<String, String>, TransportError> {
        let headers = timeout(MAX_TIME, self.run(url)).await;
        let headers = headers.unwrap_or_else(|_| Err(format!("did not end within {MAX_TIME:?}")));
        headers.map_err(|problem| {
            TransportError::new(format!(
                "server {:?}: \"headersHelper\" {:?} {problem}",
                self.server, self.command
            ))
        })
    }

    async fn run(&self, url: &str) -> Result<BTreeMap<String, String>, String> {
        let (mut running, output) =
            Running::start(self, url).map_err(|error| format!("cannot be started: {error}"))?;
        let failed = |error: std::io::Error| format!("failed: {error}");
        let mut text = Vec::new();
        let mut output = output.take(MAX_BYTES as u64 + 1);
        output.read_to_end(&mut text).await.map_err(failed)?;
        if text.len() > MAX_BYTES {
            return Err(format!(
                "wrote more than {MAX_BYTES} bytes; write a JSON object of headers"
            ));
        }
        let status = running.child.wait().await.map_err(failed)?;
        if !status.success() {
            return Err(format!(
                "failed with {status}; run it in a terminal to see why"
            ));
        }
        let headers: Option<BTreeMap<String, String>> = decode_document(&text).ok();
        let headers = headers.filter(|headers| headers.keys().all(|name| is_header_name(name)));
        headers.ok_or_else(|| {
            "did not write headers; write a JSON object such as {\"Authorization\": \"Bearer TOKEN\"}".to_owned()
        })
    }
}

/// Returns whether the command may set a header with this name. It may not set `Host`, because the user has seen the host of the
/// URL.
fn is_header_name(name: &str) -> bool {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty() && name.chars().all(is_token) && !name.eq_ignore_ascii_case("host")
}

/// A running command. Dropping this value kills the command, unless it has ended, and on Unix all processes of its group.
struct Running {
    child: Child,
    _guard: Option<Box<dyn std::any::Any + Send>>,
}

impl Running {
    fn start(helper: &HeadersHelper, url: &str) -> std::io::Result<(Self, ChildStdout)> {
        let mut command = shell(&helper.command);
        command
            .env("CLAUDE_CODE_MCP_SERVER_NAME", &helper.server)
            .env("CLAUDE_CODE_MCP_SERVER_URL", url)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        if let Some(folder) = &helper.folder {
            command.current_dir(folder);
        }
        let mut child = command.spawn()?;
        let output = child.stdout.take();
        let output = output.ok_or(std::io::ErrorKind::BrokenPipe)?;
        let _guard = child.id().map(orphans::guard);
        Ok((Self { child, _guard }, output))
    }
}

#[cfg(unix)]
fn shell(text: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(text).process_group(0);
    command
}

#[cfg(windows)]
fn shell(text: &str) -> Command {
    let mut command = Command::new("cmd");
    command
        .args(["/D", "/S", "/C"])
        .raw_arg(format!("\"{text}\""));
    command
}

impl Drop for Running {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(id) = self.child.id().and_then(|id| i32::try_from(id).ok())
            && let Some(group) = rustix::process::Pid::from_raw(id)
        {
            // The group can have ended meanwhile.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

/// A function that creates the transport with the headers that the command has written.
type Build =
    dyn Fn(BTreeMap<String, String>) -> Result<HttpTransport, TransportError> + Send + Sync;

#[derive(Clone)]
struct HelperTransport {
    helper: HeadersHelper,
    url: String,
    build: Arc<Build>,
}

impl Transport for HelperTransport {
    fn start(
        self: Box<Self>,
        inbound: Arc<dyn Inbound>,
    ) -> BoxFuture<'static, Result<Arc<dyn Connection>, TransportError>> {
        Box::pin(async move {
            let headers = self.helper.headers(&self.url).await?;
            let http = (self.build)(headers)?;
            let renew = move || -> BoxFuture<'static, Result<_, TransportError>> {
                let this = (*self).clone();
                Box::pin(async move {
                    let headers = this.helper.headers(&this.url).await?;
                    drop((this.build)(headers.clone())?);
                    Ok(headers)
                })
            };
            Box::new(http.renew_headers(renew)).start(inbound).await
        })
    }
}

impl fmt::Debug for HelperTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.helper.fmt(f)
    }
}

impl fmt::Debug for HeadersHelper {
    /// Omits the command, which can contain a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeadersHelper")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    async fn headers(command: &str) -> Result<BTreeMap<String, String>, String> {
        let helper = HeadersHelper::new("wiki", command);
        let headers = helper.headers("https://h/mcp").await;
        headers.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn the_headers_command_receives_the_server_name_and_writes_headers() {
        let command = r#"printf '{"X-Name": "%s", "X-Url": "%s"}' "$CLAUDE_CODE_MCP_SERVER_NAME" "${CLAUDE_CODE_MCP_SERVER_URL}" | cat"#;
        let expected = [("X-Name", "wiki"), ("X-Url", "https://h/mcp")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(headers(command).await.unwrap(), BTreeMap::from(expected));
    }

    #[tokio::test]
    async fn errors_of_the_headers_command_do_not_contain_its_output() {
        for (command, problem) in [
            ("echo s3cret; exit 3", "failed with exit status: 3"),
            ("echo s3cret >&2; kill -9 $$", "failed with signal"),
            ("echo s3cr'et'", "did not write headers"),
            (
                "printf '{\"a\": \"s3cr%s\", \"b\": 1}' et",
                "did not write headers",
            ),
            ("printf '{\"a: s3cr%s\": \"\"}' et", "did not write headers"),
            ("printf '{\"\": \"s3cr%s\"}' et", "did not write headers"),
            ("true", "did not write headers"),
            ("echo '{\"Host\": \"h\"}'", "did not write headers"),
        ] {
            let error = headers(command).await.unwrap_err();
            let start = format!("server \"wiki\": \"headersHelper\" {command:?} {problem}");
            assert!(error.starts_with(&start), "{error}");
            assert!(!error[start.len()..].contains("s3cret"), "{error}");
        }
    }

    #[tokio::test]
    async fn the_output_has_a_maximum_size() {
        let object = "{\"a\":\"\"}".len();
        let command = |bytes: usize| format!("printf '{{\"a\":\"%0{}d\"}}' 0", bytes - object);
        assert!(headers(&command(MAX_BYTES)).await.is_ok());
        let error = headers(&command(MAX_BYTES + 1)).await.unwrap_err();
        assert!(error.contains("wrote more than 65536 bytes"), "{error}");
        let error = headers("yes").await.unwrap_err();
        assert!(error.contains("wrote more than 65536 bytes"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_command_that_does_not_end_is_an_error() {
        let error = headers("sleep 100").await.unwrap_err();
        assert!(
            error.ends_with("\"sleep 100\" did not end within 10s"),
            "{error}"
        );
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_processes_of_a_command_that_failed_are_killed() {
        let file = std::env::temp_dir().join(format!("mcp-helper-{}", std::process::id()));
        let command = format!("sleep 1000 & echo $! > '{}'; yes", file.display());
        headers(&command).await.unwrap_err();
        let id = std::fs::read_to_string(&file).unwrap();
        let stat = format!("/proc/{}/stat", id.trim());
        // The killed process can remain as a zombie (`Z`), because its new parent may not reap it.
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            tokio::task::yield_now().await;
        }
        std::fs::remove_file(file).unwrap();
    }
}
