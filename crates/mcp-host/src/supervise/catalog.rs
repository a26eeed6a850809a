//! The lists of a server, and a cache. Before the server is started, the lists are from the cache.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use data_encoding::HEXLOWER;
use mcp_protocol::lock;
use mcp_skills::SkillEntry;
use mcp_types::{Prompt, Resource, ResourceTemplate, Tool};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use crate::name_index::NameIndex;
use crate::replace_file::replace_file;

/// The tools, prompts, resources, resource templates or skills of one server. Cloning is cheap.
#[derive(Debug)]
#[non_exhaustive]
pub struct ItemList<T> {
    /// The items, in the order of the server.
    pub items: Arc<[Arc<T>]>,
    /// Whether the list is from the cache or from a connection that has ended.
    pub is_stale: bool,
    /// The index; created when an item is first searched by its name.
    index: Arc<OnceLock<NameIndex>>,
}

impl<T> ItemList<T> {
    pub(super) fn fresh(items: Vec<T>) -> Self {
        Self {
            items: items.into_iter().map(Arc::new).collect(),
            is_stale: false,
            index: Arc::default(),
        }
    }

    fn stale(items: Vec<T>) -> Self {
        Self {
            is_stale: true,
            ..Self::fresh(items)
        }
    }
}

impl<T> Clone for ItemList<T> {
    fn clone(&self) -> Self {
        Self {
            items: Arc::clone(&self.items),
            is_stale: self.is_stale,
            index: Arc::clone(&self.index),
        }
    }
}

impl ItemList<Tool> {
    /// Returns the tool with this name.
    pub fn find(&self, name: &str) -> Option<&Arc<Tool>> {
        let tools = &self.items;
        let name_of = |position: usize| tools.get(position).map_or("", |tool| &tool.name);
        let index = (self.index).get_or_init(|| NameIndex::new(tools.len(), name_of));
        tools.get(index.find(name, name_of)?)
    }
}

/// Number of kinds of lists of a server.
const LISTS: usize = 5;

/// The lists of one server.
#[derive(Debug)]
pub(super) struct Lists {
    pub(super) tools: watch::Sender<ItemList<Tool>>,
    pub(super) prompts: watch::Sender<ItemList<Prompt>>,
    pub(super) resources: watch::Sender<ItemList<Resource>>,
    pub(super) templates: watch::Sender<ItemList<ResourceTemplate>>,
    pub(super) skills: watch::Sender<ItemList<SkillEntry>>,
    /// Number of lists that the server has not returned since its last start. Includes lists that the host has not requested yet.
    pub(super) pending: watch::Sender<usize>,
}

impl Lists {
    /// Creates the lists of a server that is not connected.
    pub(super) fn new(cache: Option<&ServerCache>) -> Self {
        fn stale<T: DeserializeOwned>(
            cache: Option<&ServerCache>,
            kind: &str,
        ) -> watch::Sender<ItemList<T>> {
            let cached = cache.and_then(|cache| cache.load(kind));
            watch::Sender::new(ItemList::stale(cached.unwrap_or_default()))
        }
        Self {
            tools: stale(cache, TOOLS),
            prompts: stale(cache, PROMPTS),
            resources: stale(cache, RESOURCES),
            templates: stale(cache, TEMPLATES),
            skills: {
                let skills = stale::<SkillEntry>(cache, SKILLS);
                // Other programs can write to the folder of the cache.
                let valid =
                    |list: &ItemList<SkillEntry>| list.items.iter().all(|one| one.check().is_ok());
                match valid(&skills.borrow()) {
                    true => {}
                    false => drop(skills.send_replace(ItemList::stale(Vec::new()))),
                }
                skills
            },
            pending: watch::Sender::new(0),
        }
    }

    /// Records that no list of a new connection has been returned yet.
    pub(super) fn begin(&self) {
        self.pending.send_replace(LISTS);
    }

    pub(super) fn mark_stale(&self) {
        self.tools.send_modify(|list| list.is_stale = true);
        self.prompts.send_modify(|list| list.is_stale = true);
        self.resources.send_modify(|list| list.is_stale = true);
        self.templates.send_modify(|list| list.is_stale = true);
        self.skills.send_modify(|list| list.is_stale = true);
    }
}

/// A folder with the last known tools, prompts, resources, resource templates and skills of each server. A host shows them at
/// once, marked as stale, while the server starts. Several processes can share the folder.
#[derive(Debug, Clone)]
pub struct ListCache {
    folder: PathBuf,
}

/// Maximum size of each list of one server, in the cache and in memory, in bytes.
pub(super) const MAX_LIST_BYTES: usize = 8 << 20;

/// Maximum memory for the skills of one server, in bytes.
pub(super) const MAX_SKILLS_BYTES: usize = 32 << 20;

/// The names of the kinds of lists in the cache.
pub(super) const TOOLS: &str = "";
pub(super) const PROMPTS: &str = "prompts";
pub(super) const RESOURCES: &str = "resources";
pub(super) const TEMPLATES: &str = "resourceTemplates";
pub(super) const SKILLS: &str = "skills";

#[derive(Serialize, Deserialize)]
struct CachedList<T> {
    /// The items. In files of earlier versions, which have only tools, the member is `tools`.
    #[serde(alias = "tools")]
    items: T,
}

impl ListCache {
    /// Creates a cache in this folder. The folder is created when the first list is stored.
    pub fn dir(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self { folder }
    }
}

/// The part of a cache that belongs to one server.
#[derive(Debug, Clone)]
pub(super) struct ServerCache {
    cache: ListCache,
    key: String,
    /// The number of the newest stored list of each kind.
    newest: Arc<Mutex<HashMap<&'static str, u64>>>,
}

impl ServerCache {
    pub(super) fn new(cache: ListCache, key: String) -> Self {
        Self {
            cache,
            key,
            newest: Arc::default(),
        }
    }

    fn path(&self, kind: &str) -> PathBuf {
        let mut hash = Sha256::new_with_prefix(&self.key);
        if kind != TOOLS {
            hash.update([0]);
            hash.update(kind);
        }
        let name = HEXLOWER.encode(&hash.finalize());
        self.cache.folder.join(format!("{name}.json"))
    }

    /// Returns the stored list of this kind. A damaged file is treated like a missing file.
    fn load<T: DeserializeOwned>(&self, kind: &str) -> Option<Vec<T>> {
        let mut bytes = Vec::new();
        let file = fs::File::open(self.path(kind)).ok()?;
        file.take(MAX_LIST_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .ok()?;
        let cached: CachedList<Vec<T>> = mcp_jsonrpc::decode_document(&bytes).ok()?;
        Some(cached.items)
    }

    /// Replaces the stored list, or removes it if `list` is empty. A newer list has a greater `number`. Does nothing if a newer
    /// list of this kind is already stored. Blocks the thread.
    pub(super) fn store<T: Serialize>(
        &self,
        kind: &'static str,
        number: u64,
        items: &[Arc<T>],
    ) -> io::Result<()> {
        let mut newest = lock(&self.newest);
        let newest = newest.entry(kind).or_default();
        if *newest > number {
            return Ok(());
        }
        *newest = number;
        let path = self.path(kind);
        if items.is_empty() {
            return match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let items: Vec<&T> = items.iter().map(AsRef::as_ref).collect();
        let text = serde_json::to_vec(&CachedList { items })?;
        fs::create_dir_all(&self.cache.folder)?;
        replace_file(&path, &text, false)
    }
}
