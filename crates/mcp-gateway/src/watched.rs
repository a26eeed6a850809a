//! Counts the resources that one client watches.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{Owner, lock};

/// Maximum number of resources that one client can watch. The number is limited because all clients share the event streams of a
/// connection.
const MAX_PER_CLIENT: usize = 1_024;
/// Maximum total size of the URIs of the resources that one client watches, in bytes.
const MAX_BYTES_PER_CLIENT: usize = 512 << 10;

/// A counter of the resources that each client watches, in all sessions and subscriptions.
#[derive(Default)]
pub(crate) struct WatchCounter(Mutex<HashMap<Owner, Usage>>);

#[derive(Clone, Copy, Default)]
struct Usage {
    resources: usize,
    bytes: usize,
}

/// A permit that keeps resources counted until it is dropped.
pub(crate) struct WatchPermit {
    counter: Arc<WatchCounter>,
    client: Owner,
    usage: Usage,
}

impl WatchCounter {
    /// Counts resources that a client is going to watch.
    ///
    /// # Errors
    /// The client would exceed a limit of watched resources.
    pub(crate) fn reserve(
        self: &Arc<Self>,
        client: &Owner,
        uris: &[Arc<str>],
    ) -> Result<WatchPermit, ErrorObject> {
        let added = Usage {
            resources: uris.len(),
            bytes: uris.iter().map(|uri| uri.len()).sum(),
        };
        let mut clients = lock(&self.0);
        let known = clients.get(client).copied().unwrap_or_default();
        let total = Usage {
            resources: known.resources + added.resources,
            bytes: known.bytes + added.bytes,
        };
        if client.is_known() && total.resources > MAX_PER_CLIENT {
            return Err(ErrorObject::internal(format!(
                "this client would watch {} resources; the limit is {MAX_PER_CLIENT}; end a subscription first",
                total.resources
            )));
        }
        if client.is_known() && total.bytes > MAX_BYTES_PER_CLIENT {
            return Err(ErrorObject::internal(format!(
                "the URIs of the resources that this client would watch have {} bytes; the limit is {MAX_BYTES_PER_CLIENT}; \
                 end a subscription first",
                total.bytes
            )));
        }
        clients.insert(client.clone(), total);
        Ok(WatchPermit {
            counter: Arc::clone(self),
            client: client.clone(),
            usage: added,
        })
    }
}

impl Drop for WatchPermit {
    fn drop(&mut self) {
        let mut clients = lock(&self.counter.0);
        let Some(known) = clients.get_mut(&self.client) else {
            return;
        };
        known.resources -= self.usage.resources;
        known.bytes -= self.usage.bytes;
        if known.resources == 0 {
            clients.remove(&self.client);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    #[test]
    fn the_resources_of_each_client_are_limited_by_number_and_size() {
        let counter = Arc::<WatchCounter>::default();
        let client = |number: u32| Owner::new(None, Some(IpAddr::V4(number.into())));
        let uris = |count: usize, bytes: usize| vec![Arc::from("x".repeat(bytes)); count];
        let first = counter.reserve(&client(1), &uris(1_000, 8)).unwrap();
        let error = counter.reserve(&client(1), &uris(25, 8)).err().unwrap();
        assert!(error.message.contains("1025 resources"), "{error}");
        let _others = counter.reserve(&client(2), &uris(64, 8 << 10)).unwrap();
        let error = counter.reserve(&client(2), &uris(1, 1)).err().unwrap();
        assert!(error.message.contains("524289 bytes"), "{error}");
        drop(first);
        drop(counter.reserve(&client(1), &uris(1_024, 8)).unwrap());
        assert_eq!(lock(&counter.0).len(), 1);
    }
}
