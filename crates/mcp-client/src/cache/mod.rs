//! The result cache of one client.
//!
//! Each client has a separate cache, like its credentials, so that private results are never shared. Functions receive the
//! current time as an argument.
//!
//! Specification:
//! [caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching).

#[cfg(test)]
mod tests;

pub(crate) mod known_tools;

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use mcp_jsonrpc::{RawJson, decode};
use mcp_protocol::lock;
use mcp_types::{JsonObject, method};
use serde_json::Value;
use tokio::time::Instant;

use crate::changes::table::covers;
use crate::request::member;

/// The maximum time to live. If the server sends a longer time, this maximum applies.
const MAX_TTL: Duration = Duration::from_secs(24 * 3_600);

/// Limits of the result cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheLimits {
    /// Maximum number of results. Default: 256.
    pub entries: usize,
    /// Maximum size of all results together, in bytes. Default: 8 MiB.
    pub bytes: usize,
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self {
            entries: 256,
            bytes: 8 << 20,
        }
    }
}

impl CacheLimits {
    /// Disables the cache.
    pub const NONE: Self = Self {
        entries: 0,
        bytes: 0,
    };

    /// Sets the maximum number of results.
    #[must_use]
    pub fn with_entries(mut self, entries: usize) -> Self {
        self.entries = entries;
        self
    }

    /// Sets the maximum size of all results together, in bytes.
    #[must_use]
    pub fn with_bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }
}

pub(crate) struct Cache {
    limits: CacheLimits,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    entries: HashMap<Key, Entry>,
    bytes: usize,
    /// Number of look-ups so far. Each result stores the number of its last use, to find the least recently used result.
    uses: u64,
    /// Number of removals of results so far. If this number differs between a request and its response, a change occurred in
    /// between.
    changes: u64,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    method: String,
    params: String,
}

struct Entry {
    result: RawJson,
    until: Instant,
    used: u64,
    bytes: usize,
}

/// The key of a requested result that was not in the cache. The cache can store the result under this key.
pub(crate) struct EmptySlot {
    key: Key,
    changes: u64,
}

/// The result of a look-up.
pub(crate) enum Lookup {
    Hit(RawJson),
    Miss(EmptySlot),
    /// The results of this method are never cached.
    Uncacheable,
}

impl Cache {
    pub(crate) fn new(limits: CacheLimits) -> Self {
        Self {
            limits,
            inner: Mutex::default(),
        }
    }

    /// Looks up the result of a request. If `fresh`, ignores a cached result.
    pub(crate) fn find(
        &self,
        method: &str,
        params: &JsonObject,
        fresh: bool,
        now: Instant,
    ) -> Lookup {
        if self.limits.entries == 0 || !is_cacheable(method) || is_retry(params) {
            return Lookup::Uncacheable;
        }
        let key = Key::of(method, params);
        let inner = &mut *lock(&self.inner);
        inner.uses += 1;
        match inner.entries.get_mut(&key) {
            Some(entry) if now < entry.until && !fresh => {
                entry.used = inner.uses;
                Lookup::Hit(entry.result.clone())
            }
            _ => Lookup::Miss(EmptySlot {
                key,
                changes: inner.changes,
            }),
        }
    }

    /// Stores a result for its time to live, unless a change notification arrived since the request.
    pub(crate) fn keep(&self, slot: EmptySlot, result: &RawJson, now: Instant) {
        let ttl = ttl(result);
        let bytes = slot.key.params.len() + result.as_str().len();
        let inner = &mut *lock(&self.inner);
        inner.remove(&slot.key);
        if ttl.is_zero() || bytes > self.limits.bytes || inner.changes != slot.changes {
            return;
        }
        while inner.entries.len() >= self.limits.entries || inner.bytes + bytes > self.limits.bytes
        {
            inner.evict(now);
        }
        inner.bytes += bytes;
        let entry = Entry {
            result: result.clone(),
            until: now + ttl,
            used: inner.uses,
            bytes,
        };
        inner.entries.insert(slot.key, entry);
    }

    /// Removes all results of the given methods.
    pub(crate) fn forget(&self, methods: &[&str]) {
        self.forget_where(|key| methods.contains(&&*key.method));
    }

    /// Removes the results that a change of this resource affects.
    pub(crate) fn forget_resource(&self, uri: &str) {
        self.forget_where(|key| {
            key.method == method::RESOURCES_READ
                && serde_json::from_str::<Value>(&key.params)
                    .ok()
                    .and_then(|params| Some(covers(params["uri"].as_str()?, uri)))
                    .unwrap_or(true)
        });
    }

    pub(crate) fn clear(&self) {
        self.forget_where(|_| true);
    }

    fn forget_where(&self, stale: impl Fn(&Key) -> bool) {
        let inner = &mut *lock(&self.inner);
        inner.changes += 1;
        let bytes = &mut inner.bytes;
        inner.entries.retain(|key, entry| {
            let keep = !stale(key);
            if !keep {
                *bytes -= entry.bytes;
            }
            keep
        });
    }

    #[cfg(test)]
    fn size(&self) -> (usize, usize) {
        let inner = lock(&self.inner);
        (inner.entries.len(), inner.bytes)
    }
}

impl Inner {
    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= entry.bytes;
        }
    }

    /// Removes a stale result or, if no result is stale, the least recently used result.
    fn evict(&mut self, now: Instant) {
        let order = |entry: &Entry| (now < entry.until, entry.used);
        let worst = self.entries.iter().min_by_key(|(_, entry)| order(entry));
        if let Some(key) = worst.map(|(key, _)| key.clone()) {
            self.remove(&key);
        }
    }
}

impl Key {
    fn of(method: &str, params: &JsonObject) -> Self {
        let mut params = params.clone();
        params.shift_remove("_meta");
        params.sort_keys();
        Self {
            method: method.to_owned(),
            params: Value::Object(params).to_string(),
        }
    }
}

fn is_cacheable(method: &str) -> bool {
    matches!(
        method,
        method::SERVER_DISCOVER
            | method::TOOLS_LIST
            | method::PROMPTS_LIST
            | method::RESOURCES_LIST
            | method::RESOURCES_TEMPLATES_LIST
            | method::RESOURCES_READ
    )
}

/// Returns whether the params continue an earlier round trip. The result then depends on that round trip, and is not cached.
fn is_retry(params: &JsonObject) -> bool {
    params.contains_key("inputResponses") || params.contains_key("requestState")
}

/// Returns the time to live that the result names. Returns zero if the time to live is missing, negative or not a number.
fn ttl(result: &RawJson) -> Duration {
    let millis = member(result, "ttlMs").and_then(|text| decode::<f64>(text).ok());
    let seconds = millis.unwrap_or(0.0).max(0.0) / 1_000.0;
    Duration::try_from_secs_f64(seconds).map_or(MAX_TTL, |ttl| ttl.min(MAX_TTL))
}
