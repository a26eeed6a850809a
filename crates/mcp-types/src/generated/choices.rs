// Generated from the official schema of 2025-11-25 at commit c4c367f9f58296a7053f5c78a52fd02bfbb56a49: do not edit. Run `cargo xtask codegen`.

//! The fields of an elicitation form that offer choices.

use serde::{Deserialize, Serialize};

/// A choice with a label.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EnumOption {
    /// The label that is shown.
    pub title: String,
    /// The value that is sent.
    #[serde(rename = "const")]
    pub value: String,
}

impl EnumOption {
    /// Creates a value from its required members.
    pub fn new(title: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            value: value.into(),
        }
    }
}

/// A single choice with labels, as revision 2025-06-18 wrote it; new forms use [`TitledSingleSelectEnumSchema`].
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "string", rename_all = "camelCase")]
#[non_exhaustive]
pub struct LegacyTitledEnumSchema {
    /// The label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description of the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The values that are sent.
    #[serde(rename = "enum")]
    pub values: Vec<String>,
    /// The labels that are shown, in the order of the values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enum_names: Option<Vec<String>>,
    /// The preselected value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

impl LegacyTitledEnumSchema {
    /// Creates a value from its required members.
    pub fn new(values: Vec<String>) -> Self {
        Self {
            title: None,
            description: None,
            values,
            enum_names: None,
            default: None,
        }
    }

    /// Sets [`title`](Self::title).
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets [`description`](Self::description).
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets [`enum_names`](Self::enum_names).
    #[must_use]
    pub fn with_enum_names(mut self, enum_names: Vec<String>) -> Self {
        self.enum_names = Some(enum_names);
        self
    }

    /// Sets [`default`](Self::default).
    #[must_use]
    pub fn with_default(mut self, default: impl Into<String>) -> Self {
        self.default = Some(default.into());
        self
    }
}

/// A multiple choice with labels.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "array", rename_all = "camelCase")]
#[non_exhaustive]
pub struct TitledMultiSelectEnumSchema {
    /// The label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description of the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The choices.
    pub items: TitledMultiSelectItems,
    /// The minimum number of selected choices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_items: Option<u64>,
    /// The maximum number of selected choices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u64>,
    /// The preselected values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Vec<String>>,
}

impl TitledMultiSelectEnumSchema {
    /// Creates a value from its required members.
    pub fn new(items: TitledMultiSelectItems) -> Self {
        Self {
            title: None,
            description: None,
            items,
            min_items: None,
            max_items: None,
            default: None,
        }
    }

    /// Sets [`title`](Self::title).
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets [`description`](Self::description).
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets [`min_items`](Self::min_items).
    #[must_use]
    pub fn with_min_items(mut self, min_items: u64) -> Self {
        self.min_items = Some(min_items);
        self
    }

    /// Sets [`max_items`](Self::max_items).
    #[must_use]
    pub fn with_max_items(mut self, max_items: u64) -> Self {
        self.max_items = Some(max_items);
        self
    }

    /// Sets [`default`](Self::default).
    #[must_use]
    pub fn with_default(mut self, default: Vec<String>) -> Self {
        self.default = Some(default);
        self
    }
}

/// The choices of a multiple choice with labels.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TitledMultiSelectItems {
    /// The choices.
    pub any_of: Vec<EnumOption>,
}

impl TitledMultiSelectItems {
    /// Creates a value from its required members.
    pub fn new(any_of: Vec<EnumOption>) -> Self {
        Self { any_of }
    }
}

/// A single choice with labels.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "string", rename_all = "camelCase")]
#[non_exhaustive]
pub struct TitledSingleSelectEnumSchema {
    /// The label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description of the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The choices.
    pub one_of: Vec<EnumOption>,
    /// The preselected value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

impl TitledSingleSelectEnumSchema {
    /// Creates a value from its required members.
    pub fn new(one_of: Vec<EnumOption>) -> Self {
        Self {
            title: None,
            description: None,
            one_of,
            default: None,
        }
    }

    /// Sets [`title`](Self::title).
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets [`description`](Self::description).
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets [`default`](Self::default).
    #[must_use]
    pub fn with_default(mut self, default: impl Into<String>) -> Self {
        self.default = Some(default.into());
        self
    }
}

/// A multiple choice without labels.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "array", rename_all = "camelCase")]
#[non_exhaustive]
pub struct UntitledMultiSelectEnumSchema {
    /// The label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description of the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The choices.
    pub items: UntitledMultiSelectItems,
    /// The minimum number of selected choices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_items: Option<u64>,
    /// The maximum number of selected choices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u64>,
    /// The preselected values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Vec<String>>,
}

impl UntitledMultiSelectEnumSchema {
    /// Creates a value from its required members.
    pub fn new(items: UntitledMultiSelectItems) -> Self {
        Self {
            title: None,
            description: None,
            items,
            min_items: None,
            max_items: None,
            default: None,
        }
    }

    /// Sets [`title`](Self::title).
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets [`description`](Self::description).
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets [`min_items`](Self::min_items).
    #[must_use]
    pub fn with_min_items(mut self, min_items: u64) -> Self {
        self.min_items = Some(min_items);
        self
    }

    /// Sets [`max_items`](Self::max_items).
    #[must_use]
    pub fn with_max_items(mut self, max_items: u64) -> Self {
        self.max_items = Some(max_items);
        self
    }

    /// Sets [`default`](Self::default).
    #[must_use]
    pub fn with_default(mut self, default: Vec<String>) -> Self {
        self.default = Some(default);
        self
    }
}

/// The choices of a multiple choice without labels.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "string")]
#[non_exhaustive]
pub struct UntitledMultiSelectItems {
    /// The values that are sent and shown.
    #[serde(rename = "enum")]
    pub values: Vec<String>,
}

impl UntitledMultiSelectItems {
    /// Creates a value from its required members.
    pub fn new(values: Vec<String>) -> Self {
        Self { values }
    }
}

/// A single choice without labels.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "string")]
#[non_exhaustive]
pub struct UntitledSingleSelectEnumSchema {
    /// The label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description of the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The values that are sent and shown.
    #[serde(rename = "enum")]
    pub values: Vec<String>,
    /// The preselected value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

impl UntitledSingleSelectEnumSchema {
    /// Creates a value from its required members.
    pub fn new(values: Vec<String>) -> Self {
        Self {
            title: None,
            description: None,
            values,
            default: None,
        }
    }

    /// Sets [`title`](Self::title).
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets [`description`](Self::description).
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets [`default`](Self::default).
    #[must_use]
    pub fn with_default(mut self, default: impl Into<String>) -> Self {
        self.default = Some(default.into());
        self
    }
}
