//! A list of the gateway while it is merged from the lists of its servers.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use mcp_jsonrpc::decode;

use super::cursor::{self, Cursors, MAX_CURSOR};
use super::kind::{ListKind, MAX_ITEMS, MAX_LIST_BYTES};
use super::pages::Pages;
use crate::core::ListPage;
use crate::gateway::record::ListCounts;
use crate::text::{ObjectText, member, string};

/// The member of `_meta` that names the servers that are missing in a list, and the reasons.
const UNAVAILABLE: &str = "mcp-gateway/unavailable";
/// Target size of a page of the gateway, in bytes of JSON. The gateway does not divide the page of a server, so a large page can
/// exceed this size.
const PAGE_BYTES: usize = 2 << 20;

/// A list result that is being merged.
pub(super) struct MergedList {
    pub(super) kind: ListKind,
    /// The names or URIs of the items, each with its mount.
    pub(super) ids: HashMap<String, Arc<str>>,
    items: String,
    /// Number of items of the servers' pages.
    pub(super) offered: usize,
    pub(super) next: Cursors,
    unavailable: BTreeMap<String, String>,
    pub(super) is_newer: bool,
    /// The shortest time to live of the pages; `None` before the first page.
    ttl: Option<u64>,
    is_public: bool,
}

impl MergedList {
    pub(super) fn new(kind: ListKind) -> Self {
        Self {
            kind,
            ids: HashMap::new(),
            items: String::new(),
            offered: 0,
            next: Cursors::new(),
            unavailable: BTreeMap::new(),
            is_newer: false,
            ttl: None,
            is_public: true,
        }
    }

    pub(super) fn fail(&mut self, mount: &str, reason: &str) {
        tracing::debug!(mount, reason, "a server was left out of a list");
        self.unavailable.insert(mount.to_owned(), reason.to_owned());
    }

    pub(super) fn counts(&self) -> ListCounts {
        ListCounts {
            offered: self.offered,
            listed: self.ids.len(),
            unavailable: self.unavailable.len(),
        }
    }

    /// Adds an item. Returns `false` without a change if the list would be too large.
    pub(super) fn add_item(&mut self, item: &str) -> bool {
        if self.items.len() + item.len() > MAX_LIST_BYTES || self.ids.len() > MAX_ITEMS {
            return false;
        }
        if !self.items.is_empty() {
            self.items.push(',');
        }
        self.items.push_str(item);
        true
    }

    /// Returns whether the list already has items, and would become longer than one page with these pages of a server.
    pub(super) fn is_long_with(&self, answer: &Pages) -> bool {
        let more: usize = answer.pages.iter().map(|page| page.result.len()).sum();
        !self.items.is_empty() && self.items.len() + more > PAGE_BYTES
    }

    /// Replaces the items.
    pub(super) fn replace(&mut self, items: &[String]) {
        self.items = items.join(",");
    }

    /// Returns a JSON object that contains only the items.
    pub(super) fn items_text(&self) -> String {
        format!("{{\"{}\":[{}]}}", self.kind.members().0, self.items)
    }

    pub(super) fn add_page(&mut self, mount: &str, page: &ListPage) {
        let result = &page.result;
        self.is_newer |= page.is_newer;
        let ttl = member(result, "ttlMs").and_then(|ttl| decode(ttl).ok());
        let ttl: u64 = ttl.unwrap_or(0);
        self.ttl = Some(self.ttl.map_or(ttl, |shortest| shortest.min(ttl)));
        self.is_public &= member(result, "cacheScope") == Some("\"public\"");
        match page.next_cursor() {
            Some(cursor) if cursor.len() > MAX_CURSOR => {
                let reason = format!(
                    "its cursor has {} bytes; the limit is {MAX_CURSOR}",
                    cursor.len()
                );
                self.fail(mount, &reason);
            }
            Some(cursor) => _ = self.next.insert(mount.to_owned(), Some(cursor)),
            None => _ = self.next.remove(mount),
        }
    }

    pub(super) fn finish(self, is_stateless: bool) -> String {
        let mut text = ObjectText::new();
        text.add(self.kind.members().0, &format!("[{}]", self.items));
        if let Some(cursor) = cursor::encode(&self.next) {
            text.add("nextCursor", &string(&cursor));
        }
        let is_complete = self.unavailable.is_empty();
        if !is_complete {
            let mut reasons = ObjectText::new();
            for (mount, reason) in &self.unavailable {
                reasons.add(mount, &string(reason));
            }
            let mut meta = ObjectText::new();
            meta.add(UNAVAILABLE, &reasons.finish());
            text.add("_meta", &meta.finish());
        }
        if is_stateless {
            let ttl = self.ttl.filter(|_| is_complete).unwrap_or(0);
            text.add("ttlMs", &ttl.to_string());
            let is_public = self.is_public && is_complete && self.ttl.is_some();
            text.add(
                "cacheScope",
                if is_public {
                    "\"public\""
                } else {
                    "\"private\""
                },
            );
        }
        text.finish()
    }
}
