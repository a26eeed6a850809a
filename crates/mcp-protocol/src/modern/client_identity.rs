//! Client identities of the stateless revision, and a cache of them.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use mcp_jsonrpc::{ErrorObject, TreeSize};
use mcp_types::{ClientCapabilities, Implementation};
use serde::{Deserialize, Serialize};

use crate::budget::tree_bytes;
use crate::sync::lock;

/// The identity of a client, as a request declares it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientIdentity {
    /// The name and version of the client software, if declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub info: Option<Implementation>,
    /// The capabilities of the client for this request.
    #[serde(default)]
    pub capabilities: ClientCapabilities,
}

impl ClientIdentity {
    /// Returns an upper bound of the memory of this value, in bytes.
    #[doc(hidden)]
    pub fn memory(&self) -> usize {
        tree_bytes(self)
    }
}

/// Maximum size of a client identity as JSON text, in bytes. The limit exists because sessions and tasks store the identity.
const MAX_IDENTITY_BYTES: usize = 16 << 10;
/// Maximum memory of a parsed client identity, in bytes.
pub const MAX_IDENTITY_MEMORY: usize = 96 << 10;

/// Checks that a client identity is small enough to be stored.
///
/// # Errors
/// The texts are longer than 16 KiB in total, or their parsed form would take more than 96 KiB of memory.
pub(crate) fn check_identity(
    what: &str,
    texts: impl IntoIterator<Item = impl AsRef<str>>,
) -> Result<(), ErrorObject> {
    let mut total = TreeSize::default();
    for text in texts {
        let text = text.as_ref();
        if total.bytes + text.len() > MAX_IDENTITY_BYTES {
            return Err(ErrorObject::invalid_params(format!(
                "{what} is longer than {MAX_IDENTITY_BYTES} bytes; leave out icons or extensions"
            )));
        }
        total = total + TreeSize::of(text);
    }
    let memory = total.heap_bytes();
    if memory > MAX_IDENTITY_MEMORY {
        return Err(ErrorObject::invalid_params(format!(
            "{what} has {} JSON values, {} of them arrays and objects, for which the server would need {memory} bytes; \
             the limit is {MAX_IDENTITY_MEMORY}; leave out icons or extensions",
            total.nodes, total.containers
        )));
    }
    Ok(())
}

/// A cache of decoded client identities. The key is the JSON text of an identity. A client sends the same text with every
/// request, so the text is decoded only once. The memory is allocated on first use, because session-based connections do not need
/// the cache.
#[derive(Debug, Default)]
pub(crate) struct ClientIdentityCache(OnceLock<Box<Slots>>);

#[derive(Debug, Default)]
struct Slots {
    hasher: RandomState,
    entries: [Mutex<Option<Entry>>; SLOTS],
    /// The index of the slot that matched last. This slot is compared first, without computing a hash, because most servers have
    /// few clients.
    last: AtomicUsize,
}

const SLOTS: usize = 32;
/// Maximum length of a text that is cached, in bytes.
const MAX_LENGTH: usize = 2_048;

#[derive(Debug)]
struct Entry {
    info: Box<str>,
    capabilities: Box<str>,
    identity: Arc<ClientIdentity>,
}

impl Slots {
    fn get(&self, index: usize, info: &str, capabilities: &str) -> Option<Arc<ClientIdentity>> {
        let slot = lock(self.entries.get(index)?);
        let entry = slot
            .as_ref()
            .filter(|entry| *entry.info == *info && *entry.capabilities == *capabilities)?;
        Some(Arc::clone(&entry.identity))
    }
}

impl ClientIdentityCache {
    /// Returns the identity with these JSON texts. If the cache does not contain it, calls `decode`.
    pub(crate) fn find<E>(
        &self,
        info: &str,
        capabilities: &str,
        decode: impl FnOnce() -> Result<ClientIdentity, E>,
    ) -> Result<Arc<ClientIdentity>, E> {
        let slots = self.0.get_or_init(Box::default);
        let last = slots.last.load(Ordering::Relaxed);
        if let Some(identity) = slots.get(last, info, capabilities) {
            return Ok(identity);
        }
        // A random hash, so that a client cannot choose the slot of another client.
        let hash = slots.hasher.hash_one((info, capabilities));
        let [index, ..] = hash.to_le_bytes();
        let index = usize::from(index) % SLOTS;
        if let Some(identity) = slots.get(index, info, capabilities) {
            slots.last.store(index, Ordering::Relaxed);
            return Ok(identity);
        }
        let identity = Arc::new(decode()?);
        if info.len() + capabilities.len() <= MAX_LENGTH {
            *lock(&slots.entries[index]) = Some(Entry {
                info: info.into(),
                capabilities: capabilities.into(),
                identity: Arc::clone(&identity),
            });
            slots.last.store(index, Ordering::Relaxed);
        }
        Ok(identity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> ClientIdentity {
        ClientIdentity {
            info: Some(Implementation::new(name, "1")),
            ..ClientIdentity::default()
        }
    }

    #[test]
    fn an_identity_is_decoded_once_and_never_confused_with_another() {
        let cache = ClientIdentityCache::default();
        let read = |info: &str, capabilities: &str, name: &str| {
            let found = cache.find(info, capabilities, || Ok::<_, ()>(named(name)));
            found.unwrap().info.clone().unwrap().name
        };
        assert_eq!(read("ab", "c", "one"), "one");
        assert_eq!(read("ab", "c", "two"), "one");
        assert_eq!(read("a", "bc", "three"), "three");
        assert_eq!(read("xb", "c", "four"), "four");
        let long = "x".repeat(MAX_LENGTH + 1);
        assert_eq!(read(&long, "", "five"), "five");
        assert_eq!(read(&long, "", "six"), "six");
        let failed: Result<Arc<ClientIdentity>, &str> = cache.find("bad", "", || Err("broken"));
        assert_eq!(failed, Err("broken"));
    }
}
