//! The requests of the extension.

use mcp_types::method::Request;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Page {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cursor: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Uri {
    pub(super) uri: String,
}

/// The result of `skills/list`, with the entries as raw text. The client decodes the entries one by one, so that a malformed
/// entry does not affect the other entries. It decodes only the entries that it reads.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Skills {
    pub(super) skills: Vec<Box<RawValue>>,
    pub(super) next_cursor: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OneSkill {
    pub(super) skill: Value,
}

/// `skills/list`.
#[derive(Debug)]
pub(super) enum ListSkills {}

impl Request for ListSkills {
    const METHOD: &'static str = "skills/list";
    type Params = Page;
    type Result = Skills;
}

/// `skills/get`.
#[derive(Debug)]
pub(super) enum GetSkill {}

impl Request for GetSkill {
    const METHOD: &'static str = "skills/get";
    type Params = Uri;
    type Result = OneSkill;
}
