//! A replacement for the module `state_keys` in builds without the feature `state-keys`.

use mcp_jsonrpc::ErrorObject;

use crate::random;

#[derive(Debug)]
pub(crate) struct StateKeys;

impl StateKeys {
    pub(crate) fn random() -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn mac(&self, parts: &[&[u8]]) -> String {
        random::mac(parts)
    }

    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn is_shared(&self) -> bool {
        false
    }

    pub(crate) fn has_signed(&self, parts: &[&[u8]], code: &str) -> bool {
        random::is_equal(&self.mac(parts), code)
    }

    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn encrypt(&self, _: &[u8], _: &[u8]) -> Result<String, ErrorObject> {
        Err(ErrorObject::internal(
            "the call has a state that must be encrypted between round trips; enable feature \
             `state-keys` of mcp-server",
        ))
    }

    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn decrypt(&self, _: &str, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_authenticated_without_the_feature_and_states_are_refused() {
        let keys = StateKeys::random();
        let code = keys.mac(&[b"a", b"b"]);
        assert_eq!(code.len(), 32);
        assert!(keys.has_signed(&[b"a", b"b"], &code));
        assert!(!keys.has_signed(&[b"ab"], &code));
        assert!(!keys.has_signed(&[b"a", b"b"], ""));
        let refused = keys.encrypt(b"state", b"call").unwrap_err();
        assert!(refused.message.contains("`state-keys`"), "{refused}");
        assert_eq!(keys.decrypt("AA==", b"call"), None);
    }
}
