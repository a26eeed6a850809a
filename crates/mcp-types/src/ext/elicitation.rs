//! Elicitation requests, their responses, and the error that requires an elicitation.

use std::collections::BTreeMap;

use mcp_jsonrpc::ErrorCode;

use crate::{ElicitAction, ElicitRequestParams, ElicitResult, ElicitValue, UrlElicitationRequired};

impl ElicitRequestParams {
    /// The message for the user, in either mode.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Form(form) => Some(&form.message),
            Self::Url(url) => Some(&url.message),
            Self::Unknown(raw) => raw.get("message")?.as_str(),
        }
    }
}

impl ElicitResult {
    /// The user accepted. A response in URL mode has no content.
    pub fn accept(content: impl Into<Option<BTreeMap<String, ElicitValue>>>) -> Self {
        Self {
            content: content.into(),
            ..Self::new(ElicitAction::Accept)
        }
    }

    /// The user declined.
    pub fn decline() -> Self {
        Self::new(ElicitAction::Decline)
    }

    /// The user dismissed the request without a decision.
    pub fn cancel() -> Self {
        Self::new(ElicitAction::Cancel)
    }
}

impl UrlElicitationRequired {
    /// The code of the error with this data.
    pub const CODE: ErrorCode = ErrorCode::URL_ELICITATION_REQUIRED;
}
