//! Tolerance for harmless deviations of the peer from the specification.
//!
//! Sent messages always follow the specification. Received messages are checked strictly where tolerance would be unsafe: ids,
//! sizes, headers that echo the body, authorization. [`Deviation`] lists everything that is tolerated.

use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use mcp_jsonrpc::{DecodeError, decode};
use mcp_types::{ClientCapabilities, Implementation, InitializeRequestParams, JsonObject};
use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::sync::lock;

/// Maximum length of the text about a deviation, in characters.
const MAX_DETAIL: usize = 512;

/// The members that only describe an item or an implementation. If such a member does not match its schema, it can be left out.
pub const DECORATIONS: [&str; 5] = ["icons", "annotations", "title", "websiteUrl", "description"];

/// The treatment of harmless deviations of the peer from the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Strictness {
    /// Harmless deviations are tolerated and counted. The first deviation of each kind is logged. This is the default.
    #[default]
    Tolerant,
    /// Every deviation is an error. For test suites.
    Strict,
}

/// A harmless deviation of the peer from the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Deviation {
    /// A client sent a request after `initialize` without `notifications/initialized`.
    MissingInitialized,
    /// A client sent an argument to a tool that has no parameters. The argument is ignored.
    UnexpectedArgument,
    /// A client answered a form with `null` for a field. The field is treated as missing.
    NullFormField,
    /// A client answered a form with a field that is not in the form. This field is ignored.
    ExtraFormField,
    /// A server sent a list element that cannot be decoded. This element is left out.
    MalformedElement,
    /// A peer sent a descriptive member that cannot be decoded, such as an icon or the version of its software. The member is
    /// left out. A capability that is not an object is treated as declared without settings.
    MalformedDecoration,
    /// A server sent a tool result without `content`; the content is empty.
    MissingContent,
    /// A server answered `initialize` with an unknown older revision; the oldest known revision is used.
    UnknownRevision,
    /// A server ended a list with an empty cursor.
    EmptyCursor,
    /// A server sent a list cursor that it had sent before. The list ends before the repeated page.
    RepeatedCursor,
    /// A server declares resources but does not know `resources/templates/list`. The list is treated as empty.
    UnknownTemplates,
    /// A server returned the numeric id of a request as text, for example `"7"` instead of 7.
    TextId,
    /// A server sent a response with text that is not Unicode: bytes that are not UTF-8, or an escape of half a surrogate pair.
    /// Each such byte or escape is replaced with U+FFFD.
    InvalidText,
    /// A server sent the result of a call with a descriptive member that cannot be decoded, such as the name of a link. If the
    /// meaning of the member is unambiguous, the member is repaired. Otherwise it is left out.
    MalformedContent,
    /// A server sent the cursor of a list as a number.
    NumericCursor,
    /// A client sent `[]` for an empty object, as PHP does.
    EmptyArray,
    /// A client requested log messages of a level that does not exist. The client receives no log messages.
    UnknownLogLevel,
    /// A server sent a form in which a field does not describe its type with `type`, but for example with a union with `null`.
    MalformedForm,
    /// A server sent a log message with a level that does not exist, such as `warn` or `INFO`, or with the member `message` instead
    /// of `data`. An unknown or missing level counts as `info`.
    MalformedLogMessage,
}

impl Deviation {
    const COUNT: usize = Self::MalformedLogMessage as usize + 1;
}

/// The [`Strictness`] of one server or client, and the number of tolerated deviations.
#[derive(Default)]
pub struct Tolerance {
    strictness: Strictness,
    counts: [AtomicU64; Deviation::COUNT],
    /// A text about the first deviation of each kind.
    details: Mutex<HashMap<Deviation, String>>,
}

impl Tolerance {
    /// Creates the tolerance of one server or client.
    pub fn new(strictness: Strictness) -> Self {
        Self {
            strictness,
            ..Self::default()
        }
    }

    /// Returns the strictness.
    pub fn strictness(&self) -> Strictness {
        self.strictness
    }

    /// Returns how often a deviation was tolerated.
    pub fn count(&self, deviation: Deviation) -> u64 {
        self.counts[deviation as usize].load(Ordering::Relaxed)
    }

    /// Returns the kinds of deviations that were tolerated. Each kind has a text about its first deviation.
    pub fn details(&self) -> Vec<(Deviation, String)> {
        let details = lock(&self.details);
        details
            .iter()
            .map(|(kind, text)| (*kind, text.clone()))
            .collect()
    }

    /// Returns whether a deviation is tolerated. If so, counts it, and logs the first deviation of its kind with `detail`.
    #[cold]
    pub fn admits(&self, deviation: Deviation, detail: impl fmt::Display) -> bool {
        if self.strictness == Strictness::Strict {
            return false;
        }
        if self.counts[deviation as usize].fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::warn!(?deviation, %detail, "the peer deviates from the specification; tolerated");
            let text = detail.to_string().chars().take(MAX_DETAIL).collect();
            let mut details = lock(&self.details);
            details.insert(deviation, text);
        }
        true
    }
}

/// Removes the descriptive members that [`DECORATIONS`] lists.
pub fn undecorate(value: &mut Value) {
    if let Value::Object(members) = value {
        members.retain(|name, _| !DECORATIONS.contains(&&**name));
    }
}

/// Repairs the name, version and other information about a peer, which is only shown to users.
pub fn repair_implementation(info: &mut Value) {
    if Implementation::deserialize(&*info).is_ok() {
        return;
    }
    undecorate(info);
    let text = |name: &str| info[name].as_str().unwrap_or("unknown").to_owned();
    let (name, version) = (text("name"), text("version"));
    if !info.is_object() {
        *info = json!({});
    }
    info["name"] = name.into();
    info["version"] = version.into();
}

/// Repairs the capabilities of a peer. A capability with an invalid type is treated as declared without settings, unless it is
/// `false` or `null`.
pub fn repair_capabilities<T: DeserializeOwned>(capabilities: &mut Value) {
    let fits = |name: &str, value: &Value| {
        let alone = JsonObject::from_iter([(name.to_owned(), value.clone())]);
        T::deserialize(Value::Object(alone)).is_ok()
    };
    let Value::Object(members) = capabilities else {
        *capabilities = json!({});
        return;
    };
    members.retain(|name, value| {
        if fits(name, value) {
            return true;
        }
        // Repairs the malformed settings or extensions of the capability, so that the others are kept.
        if let Value::Object(settings) = &mut *value {
            settings.retain(|_, setting| !matches!(setting, Value::Null | Value::Bool(false)));
            for setting in settings.values_mut().filter(|setting| !setting.is_object()) {
                *setting = json!({});
            }
        }
        if fits(name, value) {
            return true;
        }
        let is_declared = !matches!(value, Value::Null | Value::Bool(false));
        *value = json!({});
        is_declared
    });
}

/// Reads the params of `initialize` if the information about the client in the params is malformed. Returns `None` if the
/// client's deviation is not tolerated.
#[cold]
pub(crate) fn repaired_initialize(
    params: &str,
    error: &DecodeError,
    tolerance: &Tolerance,
) -> Option<InitializeRequestParams> {
    let mut params: JsonObject = decode(params).ok()?;
    repair_implementation(params.entry("clientInfo").or_insert_with(|| json!({})));
    repair_capabilities::<ClientCapabilities>(
        params.entry("capabilities").or_insert_with(|| json!({})),
    );
    let params = serde_json::from_value(Value::Object(params)).ok()?;
    tolerance
        .admits(Deviation::MalformedDecoration, error)
        .then_some(params)
}

impl fmt::Debug for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tolerance")
            .field("strictness", &self.strictness)
            .finish_non_exhaustive()
    }
}
