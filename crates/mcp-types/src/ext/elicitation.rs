//! Elicitation requests, answers and the error that asks for one.

use std::collections::BTreeMap;

use mcp_jsonrpc::ErrorCode;

use crate::{ElicitAction, ElicitRequestParams, ElicitResult, ElicitValue, UrlElicitationRequired};

impl ElicitRequestParams {
    /// What to tell the user, whichever the mode.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Form(form) => Some(&form.message),
            Self::Url(url) => Some(&url.message),
            Self::Unknown(raw) => raw.get("message")?.as_str(),
        }
    }
}

impl ElicitResult {
    /// The user sent the form; URL mode has no answers.
    pub fn accept(content: impl Into<Option<BTreeMap<String, ElicitValue>>>) -> Self {
        Self {
            content: content.into(),
            ..Self::new(ElicitAction::Accept)
        }
    }

    /// The user said no.
    pub fn decline() -> Self {
        Self::new(ElicitAction::Decline)
    }

    /// The user went away without a choice.
    pub fn cancel() -> Self {
        Self::new(ElicitAction::Cancel)
    }
}

impl UrlElicitationRequired {
    /// The code of the error whose data this is.
    pub const CODE: ErrorCode = ErrorCode::URL_ELICITATION_REQUIRED;
}
