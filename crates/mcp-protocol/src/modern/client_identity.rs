//! Who sends a request, by its own account.

use std::sync::{Arc, Mutex, OnceLock};

use mcp_types::{ClientCapabilities, Implementation};

use crate::sync::lock;

/// Who sends, and what can be asked of them.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ClientIdentity {
    /// The client software, if it says so.
    pub client: Option<Implementation>,
    /// What the client offers while the request runs.
    pub capabilities: ClientCapabilities,
}

/// ClientIdentityCache that were read lately. Clients say the same of themselves with every request, so it
/// is read once and then compared as text. Sessions of older revisions have none, and no room for any.
#[derive(Debug, Default)]
pub(crate) struct ClientIdentityCache(OnceLock<Box<[Slot; SLOTS]>>);

type Slot = Mutex<Option<Known>>;

const SLOTS: usize = 32;
/// Longer accounts are read each time.
const LONGEST: usize = 2_048;

#[derive(Debug)]
struct Known {
    /// The account as it stood: the client, then its capabilities.
    text: Box<str>,
    split: usize,
    sender: Arc<ClientIdentity>,
}

impl ClientIdentityCache {
    /// The sender with these accounts of client and capabilities, read by `read` if it is new.
    pub(crate) fn find<E>(
        &self,
        client: &str,
        capabilities: &str,
        read: impl FnOnce() -> Result<ClientIdentity, E>,
    ) -> Result<Arc<ClientIdentity>, E> {
        let length = client.len() + capabilities.len();
        // The digits of a version stand near the end, the first capability near the beginning.
        let near =
            |text: &str, at: usize| usize::from(text.as_bytes().get(at).copied().unwrap_or(0));
        let last = client.len().saturating_sub(3);
        let mark = length * 31 + near(client, last) * 7 + near(capabilities, 2);
        let slots = self.0.get_or_init(Box::default);
        let slot = &slots[mark % SLOTS];
        if let Some(known) = &*lock(slot)
            && known.text.len() == length
            && known.text.split_at_checked(known.split) == Some((client, capabilities))
        {
            return Ok(Arc::clone(&known.sender));
        }
        let sender = Arc::new(read()?);
        if length <= LONGEST {
            *lock(slot) = Some(Known {
                text: format!("{client}{capabilities}").into(),
                split: client.len(),
                sender: Arc::clone(&sender),
            });
        }
        Ok(sender)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> ClientIdentity {
        ClientIdentity {
            client: Some(Implementation::new(name, "1")),
            ..ClientIdentity::default()
        }
    }

    #[test]
    fn an_account_is_read_once_and_never_taken_for_another() {
        let senders = ClientIdentityCache::default();
        let read = |client: &str, capabilities: &str, name: &str| {
            let found = senders.find(client, capabilities, || Ok::<_, ()>(named(name)));
            found.unwrap().client.clone().unwrap().name
        };
        assert_eq!(read("ab", "c", "one"), "one");
        assert_eq!(read("ab", "c", "two"), "one");
        assert_eq!(read("a", "bc", "three"), "three");
        assert_eq!(read("xb", "c", "four"), "four");
        let long = "x".repeat(LONGEST + 1);
        assert_eq!(read(&long, "", "five"), "five");
        assert_eq!(read(&long, "", "six"), "six");
        let failed: Result<Arc<ClientIdentity>, &str> = senders.find("bad", "", || Err("broken"));
        assert_eq!(failed, Err("broken"));
    }
}
