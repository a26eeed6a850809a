//! The audit log: each decision and each call is a line of JSON.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use mcp_protocol::lock;
use serde_json::{Map, Value, json};

use super::approvals::open_private_file;
use super::redact::SecretNames;
use crate::text::is_hidden;

/// Decisions and calls as lines of JSON. An action whose decision cannot be written is denied.
///
/// Every line has `time` (ms since 1970), `event` and `server`.
///
/// The event `decision` has `kind`, `name`, `sha256` of the definition, `arguments`, `isAllowed` and `by`. The values of `by`
/// are: `rule` or `default` (policy), `untilExit` (earlier decision in this process), `stored`
/// ([`ApprovalStore`](crate::ApprovalStore)), `person`, `noPerson` (consent needed, but no handler is set), `limit`, `isolation`
/// (context of other servers) and `untrustedSource`
/// ([`HostBuilder::track_untrusted_results`](crate::HostBuilder::track_untrusted_results)). For sampling and elicitation, the
/// line has a hash of the request instead of its text. It also has a `reason` if the request was denied without asking the user.
///
/// For a resource, `name` is the URI without its query and fragment, and `sha256` is the hash of the whole URI.
///
/// The event `result` has `kind` (`callTool`, `prompt` or `resource`), `name`, `outcome` (`ok`, `toolError` or `failed`) and
/// `elapsed` in ms.
///
/// The log replaces secrets in arguments by `[redacted]`. A value is a secret if its schema has `format: password`,
/// `x-secret: true` or `writeOnly: true`, or if its name contains `password`, `secret`, `token`, `apikey` or similar. The log
/// also replaces a value whose schema has a reference other than a JSON pointer (`#/..`).
pub struct AuditLog {
    writer: Mutex<Box<dyn Write + Send>>,
    names: SecretNames,
}

impl AuditLog {
    /// Creates a log. For each line, calls `write_all` and `flush` once, on the thread of the caller.
    pub fn new(writer: impl Write + Send + 'static) -> Self {
        Self {
            writer: Mutex::new(Box::new(writer)),
            names: SecretNames::default(),
        }
    }

    /// Creates a log that appends to a file. If the file does not exist, it is created. On Unix, only its owner can then read it.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn file(path: impl AsRef<Path>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = open_private_file(options.append(true).create(true), path.as_ref())?;
        Ok(Self::new(file))
    }

    /// Adds a text that marks secrets. If the name of a member contains this text, the value of the member is a secret. Case, `_`
    /// and `-` are ignored.
    #[must_use]
    pub fn with_secret_name(mut self, name: &str) -> Self {
        self.names.add(name);
        self
    }

    /// Returns arguments without secrets, which are found by the names of members.
    #[doc(hidden)]
    pub fn redacted(&self, arguments: &Value) -> Value {
        self.names.redact(arguments, &Map::new())
    }

    pub(super) fn redact(&self, arguments: &Value, schema: &Map<String, Value>) -> Value {
        self.names.redact(arguments, schema)
    }

    /// Writes a line to the log.
    #[doc(hidden)]
    pub fn write(&self, event: &str, server: &str, details: Value) -> io::Result<()> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let mut line = json!({ "time": now.as_millis() as u64, "event": event, "server": server });
        if let (Value::Object(line), Value::Object(details)) = (&mut line, details) {
            line.extend(details);
        }
        let line = visible(&line.to_string()) + "\n";
        let mut writer = lock(&self.writer);
        writer.write_all(line.as_bytes())?;
        writer.flush()
    }
}

/// Escapes the characters of JSON text that a reader of the log could not see, or that could end a line.
fn visible(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let mut units = [0; 2];
    for character in json.chars() {
        match is_hidden(character) {
            // In JSON, hidden characters occur only in strings, where escapes are allowed.
            true => text.extend(
                (character.encode_utf16(&mut units).iter()).map(|unit| format!("\\u{unit:04x}")),
            ),
            false => text.push(character),
        }
    }
    text
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditLog").finish_non_exhaustive()
    }
}
