//! Results that may be used again.
//!
//! A client has a cache of its own, as it has credentials of its own, so that what is private
//! never reaches anybody else. Time is an argument.
//!
//! Specification: [caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching).

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use mcp_jsonrpc::{RawJson, decode, members};
use mcp_types::{JsonObject, method};
use serde_json::Value;
use tokio::time::Instant;

use crate::subscriptions::table::covers;
use crate::sync::lock;

/// No result is kept for longer, whatever the server says.
const MAX_TTL: Duration = Duration::from_secs(24 * 3_600);

/// What a client may keep of results that its server lets it keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheLimits {
    /// Results that are kept. Default 256.
    pub entries: usize,
    /// Bytes of all that is kept. Default 8 MiB.
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
    /// Nothing is kept.
    pub const NONE: Self = Self {
        entries: 0,
        bytes: 0,
    };

    /// Both limits.
    pub fn new(entries: usize, bytes: usize) -> Self {
        Self { entries, bytes }
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
    /// Counts uses, to know which was the last.
    uses: u64,
    /// Counts changes, to know of one that came between a question and its answer.
    changes: u64,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    method: &'static str,
    params: String,
}

struct Entry {
    result: RawJson,
    until: Instant,
    used: u64,
    bytes: usize,
}

/// Where a result goes that has to be asked for.
pub(crate) struct EmptySlot {
    key: Key,
    changes: u64,
}

/// What the cache knows of a request.
pub(crate) enum Lookup {
    Hit(RawJson),
    Miss(EmptySlot),
    /// Its results are never kept.
    Uncacheable,
}

impl Cache {
    pub(crate) fn new(limits: CacheLimits) -> Self {
        Self {
            limits,
            inner: Mutex::default(),
        }
    }

    /// What is known of a request; with `fresh`, what is known does not count.
    pub(crate) fn find(
        &self,
        method: &'static str,
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

    /// Keeps a result for as long as it says, unless something changed since it was asked for.
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

    /// Forgets all results of some methods.
    pub(crate) fn forget(&self, methods: &[&str]) {
        self.forget_where(|key| methods.contains(&key.method));
    }

    /// A resource changed; what it is a part of has, too.
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

    /// Makes room: by what is stale, or by what was not used for the longest time.
    fn evict(&mut self, now: Instant) {
        let order = |entry: &Entry| (now < entry.until, entry.used);
        let worst = self.entries.iter().min_by_key(|(_, entry)| order(entry));
        if let Some(key) = worst.map(|(key, _)| key.clone()) {
            self.remove(&key);
        }
    }
}

impl Key {
    fn of(method: &'static str, params: &JsonObject) -> Self {
        let mut params = params.clone();
        params.remove("_meta");
        Self {
            method,
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

/// Whether the result depends on what is no part of the key.
fn is_retry(params: &JsonObject) -> bool {
    params.contains_key("inputResponses") || params.contains_key("requestState")
}

/// For how long a result is fresh. What is missing, negative or no number is zero.
fn ttl(result: &RawJson) -> Duration {
    let mut members = members(result).map_while(Result::ok);
    let said = members.find(|(key, _)| *key == "ttlMs");
    let millis = said.and_then(|(_, text)| decode::<f64>(text).ok());
    let seconds = millis.unwrap_or(0.0).max(0.0) / 1_000.0;
    Duration::try_from_secs_f64(seconds).map_or(MAX_TTL, |ttl| ttl.min(MAX_TTL))
}
