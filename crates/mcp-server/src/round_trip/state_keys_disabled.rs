//! Replacement for the state keys without feature `seal`.

use mcp_jsonrpc::ErrorObject;

#[derive(Debug)]
pub(crate) struct StateKeys;

impl StateKeys {
    pub(crate) fn random() -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn encrypt(&self, _: &[u8], _: &[u8]) -> Result<String, ErrorObject> {
        Err(ErrorObject::internal(
            "the call has a state that must be encrypted between round trips; enable feature \
             `seal` of mcp-server",
        ))
    }

    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn decrypt(&self, _: &str, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}
