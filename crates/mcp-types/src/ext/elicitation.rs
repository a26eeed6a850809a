//! Elicitation requests and their responses.

use std::collections::BTreeMap;

use crate::{ElicitAction, ElicitRequestParams, ElicitResult, ElicitValue};

impl ElicitRequestParams {
    /// Returns the message for the user. Both modes have such a message.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Form(form) => Some(&form.message),
            Self::Url(url) => Some(&url.message),
            Self::Unknown(raw) => raw.get("message")?.as_str(),
        }
    }
}

impl ElicitResult {
    /// Creates the response of a user who accepted. A response in URL mode has no content.
    pub fn accept(content: impl Into<Option<BTreeMap<String, ElicitValue>>>) -> Self {
        Self {
            content: content.into(),
            ..Self::new(ElicitAction::Accept)
        }
    }

    /// Creates the response of a user who declined.
    pub fn decline() -> Self {
        Self::new(ElicitAction::Decline)
    }

    /// Creates the response of a user who dismissed the request without a decision.
    pub fn cancel() -> Self {
        Self::new(ElicitAction::Cancel)
    }
}
