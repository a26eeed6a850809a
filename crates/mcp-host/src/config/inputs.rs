//! The values that the user enters: the list `inputs` of VS Code.

use serde_json::{Map, Value};

/// A value that the user enters, as the file of a server describes it. The texts are from the file, so escape them before you
/// show them on a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigInput {
    id: String,
    description: Option<String>,
    default: Option<String>,
    is_secret: bool,
    options: Vec<String>,
}

impl ConfigInput {
    /// Creates the description of an input `${input:id}` that the file does not describe.
    pub(super) fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            description: None,
            default: None,
            is_secret: true,
            options: Vec::new(),
        }
    }

    /// Reads the list `inputs` of a file. Ignores a value of another type under this key, because it belongs to another program.
    pub(super) fn read(list: Option<Value>) -> Vec<Self> {
        let Some(Value::Array(items)) = list else {
            return Vec::new();
        };
        let items = items.iter().filter_map(Value::as_object);
        items.filter_map(Self::from_members).collect()
    }

    fn from_members(members: &Map<String, Value>) -> Option<Self> {
        let text = |key: &str| members.get(key).and_then(Value::as_str);
        let options = members.get("options").and_then(Value::as_array);
        // An option is a text, or an object with a label and a value.
        let option =
            |option: &Value| Some(option.get("value").unwrap_or(option).as_str()?.to_owned());
        Some(Self {
            id: text("id")?.to_owned(),
            description: text("description").map(str::to_owned),
            default: text("default").map(str::to_owned),
            is_secret: members.get("password").and_then(Value::as_bool) == Some(true),
            options: options.into_iter().flatten().filter_map(option).collect(),
        })
    }

    /// Returns the id, as in `${input:id}`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the text that tells the user which value to enter.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// Returns the value to use if the user enters nothing.
    pub fn default_value(&self) -> Option<&str> {
        self.default.as_deref()
    }

    /// Returns whether the value must not be shown. Also returns `true` for an input that the file does not describe.
    pub fn is_secret(&self) -> bool {
        self.is_secret
    }

    /// Returns the values from which the user can choose; empty if the user can enter any value.
    pub fn options(&self) -> &[String] {
        &self.options
    }
}
