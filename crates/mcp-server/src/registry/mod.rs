//! Lists of registered items, which may change while the server runs.
//!
//! Readers use an immutable snapshot of the list. A change of the list creates a new snapshot. The text of each page is created
//! once per snapshot and revision, and then sent without copying.

pub(crate) mod access;
pub(crate) mod completion;
pub(crate) mod cursor;
pub(crate) mod definition;
pub(crate) mod extension;
pub(crate) mod into;
pub(crate) mod lister;
pub(crate) mod method;
pub(crate) mod prompt;
pub(crate) mod resource;
pub(crate) mod tool;

use std::collections::HashSet;
use std::sync::{Arc, OnceLock, RwLock, RwLockWriteGuard};

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{
    Payload, RequestContext, Revision, Rules, Session, SharedText, read_lock, write_lock,
};
use serde::Serialize;

use crate::RegistrationError;
use crate::registry::cursor::Cursors;
use crate::registry::definition::Visible;
use crate::round_trip::StateKeys;

/// A registered item.
pub(crate) trait Entry: Send + Sync + 'static {
    /// The kind of item, for example `tool`, for error messages.
    const WHAT: &'static str;
    /// The name of the member of the list result that holds the items, for example `tools`.
    const MEMBER: &'static str;
    /// The definition that clients receive.
    type Definition: Serialize;
    /// Returns the key of the item.
    fn key(&self) -> &str;
    /// Returns the definition for a revision.
    fn definition(&self, rules: &Rules) -> Self::Definition;
    /// Returns the visibility rule; without a rule, all clients see the item.
    fn visible(&self) -> Option<&Visible>;
    /// Returns whether parameters of the item are echoed in HTTP headers.
    fn has_header_params(&self) -> bool {
        false
    }
}

pub(crate) struct Registry<E> {
    snapshot: RwLock<Arc<Snapshot<E>>>,
}

/// An immutable version of a registry.
pub(crate) struct Snapshot<E> {
    items: Vec<(u64, Arc<E>)>,
    /// The items, sorted by the length of the key, then by the key. A search therefore usually compares only lengths.
    sorted: Vec<Arc<E>>,
    next: u64,
    is_uniform: bool,
    header_params: bool,
    pages: [OnceLock<Vec<Page>>; Revision::ALL.len()],
}

/// A page of a list: the sequence number after which it starts, and its text.
struct Page {
    after: u64,
    text: SharedText,
    /// The JSON of the items, and the sequence number of the last item; `None` on the last page. The cursor is not part of this
    /// JSON, because each principal receives a different cursor.
    next: Option<(String, u64)>,
}

impl<E> Snapshot<E> {
    fn new(items: Vec<(u64, Arc<E>)>, next: u64) -> Self {
        Self {
            items,
            sorted: Vec::new(),
            next,
            is_uniform: true,
            header_params: false,
            pages: Default::default(),
        }
    }
}

impl<E: Entry> Snapshot<E> {
    fn indexed(mut self) -> Self {
        self.sorted = self.all().cloned().collect();
        self.sorted
            .sort_unstable_by(|a, b| order(a.key()).cmp(&order(b.key())));
        self.is_uniform = self.items.iter().all(|(_, e)| e.visible().is_none());
        self.header_params = self.items.iter().any(|(_, e)| e.has_header_params());
        self
    }

    fn find(&self, key: &str) -> Option<&Arc<E>> {
        let found = self
            .sorted
            .binary_search_by(|entry| order(entry.key()).cmp(&order(key)));
        Some(&self.sorted[found.ok()?])
    }

    /// Returns the item with this key, if the item is visible in the session.
    pub(crate) fn get(&self, key: &str, session: &Session) -> Option<&Arc<E>> {
        let entry = self.find(key)?;
        is_visible(&**entry, session).then_some(entry)
    }

    /// Returns all items that are visible in the session.
    pub(crate) fn iter<'a>(&'a self, session: &'a Session) -> impl Iterator<Item = &'a Arc<E>> {
        self.items
            .iter()
            .map(|(_, entry)| entry)
            .filter(|entry| is_visible(&***entry, session))
    }

    /// Returns the item with this key if parameters of the item are echoed in HTTP headers. Also returns items that are not
    /// visible.
    pub(crate) fn header_params(&self, key: &str) -> Option<&E> {
        if !self.header_params {
            return None;
        }
        self.find(key).map(|entry| &**entry)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<E>> {
        self.items.iter().map(|(_, entry)| entry)
    }

    /// Returns whether every item is visible to all clients.
    pub(crate) fn is_for_all(&self) -> bool {
        self.is_uniform
    }

    /// Returns whether the list needs more than one page of this size.
    pub(crate) fn is_paged(&self, size: usize) -> bool {
        self.items.len() > size.max(1)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns one page of the list.
    pub(crate) fn list(
        &self,
        cursor: Option<&str>,
        size: usize,
        context: &RequestContext,
        keys: &StateKeys,
    ) -> Result<Payload, ErrorObject> {
        let (session, principal) = (context.session(), context.principal());
        let cursors = Cursors::new(E::MEMBER, principal, keys);
        let after = cursor.map_or(Ok(0), |cursor| cursors.decode(cursor))?;
        let revision = session.revision();
        if self.is_uniform {
            let row = Revision::ALL.iter().position(|r| *r == revision);
            let pages = self.pages[row.unwrap_or_default()]
                .get_or_init(|| self.write_all(size, revision.rules(), keys));
            if let Some(page) = pages.iter().find(|page| page.after == after) {
                return Ok(Payload::Shared(match (&page.next, principal) {
                    (Some((list, last)), Some(_)) => page_text::<E>(list, Some(*last), cursors),
                    _ => page.text.clone(),
                }));
            }
        }
        let (list, next) = self.write(after, size, revision.rules(), Some(session));
        Ok(Payload::Shared(page_text::<E>(&list, next, cursors)))
    }

    fn write_all(&self, size: usize, rules: &Rules, keys: &StateKeys) -> Vec<Page> {
        let cursors = Cursors::new(E::MEMBER, None, keys);
        let mut pages = Vec::new();
        let mut after = Some(0);
        while let Some(start) = after {
            let (list, next) = self.write(start, size, rules, None);
            pages.push(Page {
                after: start,
                text: page_text::<E>(&list, next, cursors),
                next: next.map(|last| (list, last)),
            });
            after = next;
        }
        pages
    }

    /// Returns the JSON of the page that starts after the sequence number `after`. If another page follows, also returns the
    /// sequence number of the last item.
    fn write(
        &self,
        after: u64,
        size: usize,
        rules: &Rules,
        session: Option<&Session>,
    ) -> (String, Option<u64>) {
        let mut items = self
            .items
            .iter()
            .filter(|(sequence, entry)| {
                *sequence > after && session.is_none_or(|s| is_visible(&**entry, s))
            })
            .peekable();
        let mut last = after;
        let mut page = Vec::new();
        while let Some((sequence, entry)) = items.next_if(|_| page.len() < size.max(1)) {
            page.push(entry.definition(rules));
            last = *sequence;
        }
        let next = items.peek().map(|_| last);
        let list = serde_json::to_string(&page).unwrap_or_else(|_| "[]".to_owned());
        (list, next)
    }
}

/// Returns the sort key of [`Snapshot::sorted`].
fn order(key: &str) -> (usize, &str) {
    (key.len(), key)
}

/// Returns the result of a list request from the items of the page.
fn page_text<E: Entry>(list: &str, next: Option<u64>, cursors: Cursors<'_>) -> SharedText {
    SharedText::new(match next {
        None => format!("{{\"{}\":{list}}}", E::MEMBER),
        Some(last) => format!(
            "{{\"{}\":{list},\"nextCursor\":\"{}\"}}",
            E::MEMBER,
            cursors.encode(last)
        ),
    })
}

fn taken<E: Entry>(entry: &E) -> RegistrationError {
    RegistrationError::new(format!(
        "{} {:?} is already registered; remove it first or choose another name",
        E::WHAT,
        entry.key()
    ))
}

fn is_visible<E: Entry>(entry: &E, session: &Session) -> bool {
    entry.visible().is_none_or(|visible| visible(session))
}

impl<E: Entry> Registry<E> {
    /// Creates a registry. If several items have the same key, adds an error for each duplicate to `problems`.
    pub(crate) fn new(entries: Vec<E>, problems: &mut Vec<RegistrationError>) -> Self {
        let mut keys = HashSet::with_capacity(entries.len());
        let mut items = Vec::with_capacity(entries.len());
        for (entry, sequence) in entries.into_iter().zip(1..) {
            if keys.insert(entry.key().to_owned()) {
                items.push((sequence, Arc::new(entry)));
            } else {
                problems.push(taken(&entry));
            }
        }
        let next = items.len() as u64 + 1;
        Self {
            snapshot: RwLock::new(Arc::new(Snapshot::new(items, next).indexed())),
        }
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot<E>> {
        Arc::clone(&read_lock(&self.snapshot))
    }

    /// Appends items. Fails if a key is already registered.
    pub(crate) fn add(&self, entries: Vec<E>) -> Result<(), RegistrationError> {
        self.prepare_add(entries)?.commit();
        Ok(())
    }

    /// Prepares the addition of these entries. The registry does not change before [`commit`](PreparedChange::commit), and stays
    /// locked until then.
    pub(crate) fn prepare_add(
        &self,
        entries: Vec<E>,
    ) -> Result<PreparedChange<'_, E>, RegistrationError> {
        self.change(|items, next| {
            let mut keys: HashSet<String> = items.iter().map(|(_, e)| e.key().to_owned()).collect();
            for entry in entries {
                if !keys.insert(entry.key().to_owned()) {
                    return Err(taken(&entry));
                }
                items.push((*next, Arc::new(entry)));
                *next += 1;
            }
            Ok(())
        })
    }

    /// Removes an item by its key; returns whether it existed.
    pub(crate) fn remove(&self, key: &str) -> bool {
        self.change(|items, _| {
            let before = items.len();
            items.retain(|(_, entry)| entry.key() != key);
            if items.len() == before {
                Err(())
            } else {
                Ok(())
            }
        })
        .map(PreparedChange::commit)
        .is_ok()
    }

    fn change<Er>(
        &self,
        change: impl FnOnce(&mut Vec<(u64, Arc<E>)>, &mut u64) -> Result<(), Er>,
    ) -> Result<PreparedChange<'_, E>, Er> {
        let slot = write_lock(&self.snapshot);
        let (mut items, mut next) = (slot.items.clone(), slot.next);
        change(&mut items, &mut next)?;
        let snapshot = Arc::new(Snapshot::new(items, next).indexed());
        Ok(PreparedChange { slot, snapshot })
    }
}

/// A change of a registry that is fully checked and can no longer fail.
pub(crate) struct PreparedChange<'a, E> {
    slot: RwLockWriteGuard<'a, Arc<Snapshot<E>>>,
    snapshot: Arc<Snapshot<E>>,
}

impl<E> PreparedChange<'_, E> {
    /// Makes the change visible to readers.
    pub(crate) fn commit(mut self) {
        *self.slot = self.snapshot;
    }
}
