//! Lists of all servers as one.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use mcp_jsonrpc::{ErrorCode, ErrorObject, RawJson, decode};
use mcp_protocol::{Outcome, RequestContext};
use mcp_types::method;
use tokio::task::JoinSet;

use super::access::{Item, ItemKind};
use super::cursor::{self, Cursors, MAX_CURSOR};
use super::mount::MountedServer;
use super::search::{self, MAX_TOOLS};
use super::state::State;
use crate::connection::within;
use crate::core::ListPage;
use crate::results;
use crate::sync::lock;
use crate::text::{ObjectText, elements, member, string};

/// The member of `_meta` with the servers that are missing in a list, and why.
const UNAVAILABLE: &str = "mcp-gateway/unavailable";
/// Maximum number of items whose clash was logged.
const MAX_REPORTED: usize = 1_024;

/// A method that lists items.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ListKind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl ListKind {
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            method::TOOLS_LIST => Self::Tools,
            method::PROMPTS_LIST => Self::Prompts,
            method::RESOURCES_LIST => Self::Resources,
            method::RESOURCES_TEMPLATES_LIST => Self::Templates,
            _ => return None,
        })
    }

    fn method(self) -> &'static str {
        match self {
            Self::Tools => method::TOOLS_LIST,
            Self::Prompts => method::PROMPTS_LIST,
            Self::Resources => method::RESOURCES_LIST,
            Self::Templates => method::RESOURCES_TEMPLATES_LIST,
        }
    }

    /// The member of the result with the items, and the member of an item that identifies it.
    fn members(self) -> (&'static str, &'static str) {
        match self {
            Self::Tools => ("tools", "name"),
            Self::Prompts => ("prompts", "name"),
            Self::Resources => ("resources", "uri"),
            Self::Templates => ("resourceTemplates", "uriTemplate"),
        }
    }

    fn item_kind(self) -> ItemKind {
        match self {
            Self::Tools => ItemKind::Tool,
            Self::Prompts => ItemKind::Prompt,
            Self::Resources | Self::Templates => ItemKind::Resource,
        }
    }

    /// Returns whether the server has items of this kind.
    fn is_offered(self, mount: &MountedServer) -> bool {
        let Some(proxy) = mount.proxy() else {
            return true;
        };
        let known = proxy.0.shared.known();
        let capabilities = &known.facts.capabilities;
        match self {
            Self::Tools => capabilities.tools.is_some(),
            Self::Prompts => capabilities.prompts.is_some(),
            Self::Resources | Self::Templates => capabilities.resources.is_some(),
        }
    }
}

impl State {
    /// Serves a page of a list: the first pages of all servers, or the next ones of those in the cursor.
    pub(super) async fn list(
        self: Arc<Self>,
        kind: ListKind,
        params: Option<RawJson>,
        context: RequestContext,
    ) -> Outcome {
        let mounts = self.mounts();
        let requested = match params
            .as_deref()
            .and_then(|params| member(params, "cursor"))
        {
            None => None,
            Some(text) => {
                let text: String = decode(text)
                    .map_err(|_| ErrorObject::invalid_params("\"cursor\" must be a string"))?;
                let cursors = cursor::decode(&text)?;
                let is_known = |name: &String| mounts.iter().any(|mount| *mount.name == **name);
                if !cursors.keys().all(is_known) {
                    // The servers have changed, so the client must start again.
                    return Err(ErrorObject::invalid_params(
                        "the cursor is no longer valid because the servers have changed; request the first page again",
                    ));
                }
                Some(cursors)
            }
        };
        let mut merged = MergedList::new(kind);
        match self.search_above {
            Some(limit) if kind == ListKind::Tools => {
                self.add_all(&mut merged, requested, params.as_ref(), &context)
                    .await?;
                if merged.ids.len() > limit {
                    merged.replace(&search::definitions(merged.ids.len()));
                }
            }
            _ => {
                self.add_pages(&mut merged, requested.as_ref(), params.as_ref(), &context)
                    .await?;
            }
        }
        let is_newer = merged.is_newer;
        let result = RawJson::copy(&merged.finish(context.rules().stateless));
        Ok(match context.rules().stateless {
            true => results::for_stateless(kind.method(), result),
            false => results::for_session(kind.method(), &result, context.rules(), is_newer),
        })
    }

    /// Adds all pages of all servers, up to a limit on the number of items.
    pub(super) async fn add_all(
        self: &Arc<Self>,
        merged: &mut MergedList,
        mut requested: Option<Cursors>,
        params: Option<&RawJson>,
        context: &RequestContext,
    ) -> Result<(), ErrorObject> {
        loop {
            self.add_pages(merged, requested.as_ref(), params, context)
                .await?;
            let next = std::mem::take(&mut merged.next);
            // The same page again would never end.
            if next.is_empty() || merged.ids.len() >= MAX_TOOLS || requested.as_ref() == Some(&next)
            {
                return Ok(());
            }
            requested = Some(next);
        }
    }

    /// Adds the first pages of all servers, or the requested ones.
    async fn add_pages(
        self: &Arc<Self>,
        merged: &mut MergedList,
        requested: Option<&Cursors>,
        params: Option<&RawJson>,
        context: &RequestContext,
    ) -> Result<(), ErrorObject> {
        let (kind, mounts) = (merged.kind, self.mounts());
        let mut requests = JoinSet::new();
        for (index, mount) in mounts.iter().enumerate() {
            let position = match requested {
                None if kind.is_offered(mount) => None,
                None => continue,
                Some(cursors) => match cursors.get(&*mount.name) {
                    Some(cursor) => Some(cursor.clone()),
                    None => continue,
                },
            };
            let (mount, limit) = (Arc::clone(mount), self.list_timeout);
            let (params, context) = (params.cloned(), context.clone());
            requests.spawn(async move {
                let params = params.as_deref();
                let page = within(&mount.name, limit, async {
                    let core = mount.connected()?.0;
                    core.list(kind.method(), params, position.as_deref(), &context)
                        .await
                });
                (index, page.await)
            });
        }
        let is_single = requests.len() == 1;
        let mut pages = BTreeMap::new();
        while let Some(page) = requests.join_next().await {
            let (index, page) = page.map_err(|error| ErrorObject::internal(error.to_string()))?;
            pages.insert(index, page);
        }
        for (index, page) in pages {
            let mount = &mounts[index];
            match page {
                Ok(page) => self.add(merged, &mounts[..index], mount, &page),
                // A server may have resources without templates.
                Err(error) if error.code == ErrorCode::METHOD_NOT_FOUND => {}
                Err(error)
                    if is_single
                        && requested.is_some()
                        && error.code == ErrorCode::INVALID_PARAMS =>
                {
                    return Err(error);
                }
                Err(error) => merged.fail(&mount.name, &error.message),
            }
        }
        Ok(())
    }

    /// Adds a page of a server. `earlier` are the mounts before it, which win if they list the same URI.
    fn add(
        &self,
        merged: &mut MergedList,
        earlier: &[Arc<MountedServer>],
        mount: &MountedServer,
        page: &ListPage,
    ) {
        let (list, key) = merged.kind.members();
        let Some(items) = elements(&page.result, list) else {
            merged.fail(&mount.name, "it returned an invalid list");
            return;
        };
        let access = &self.policy().access;
        for item in items {
            let item = item.get();
            let id = member(item, key).and_then(|id| decode::<String>(id).ok());
            let Some(id) = id else {
                tracing::warn!(mount = %mount.name, "left out an item of {list} without {key:?}");
                continue;
            };
            let kind = merged.kind.item_kind();
            let (name, mount_name) = (&*id, &*mount.name);
            if !access.shows(&Item {
                kind,
                mount: mount_name,
                name,
            }) {
                continue;
            }
            let (id, text) = match merged.kind {
                ListKind::Tools => {
                    let hint = member(item, "annotations")
                        .and_then(|annotations| member(annotations, "readOnlyHint"));
                    let exposed = mount.catalog.see_tool(&id, hint == Some("true"));
                    let Some(exposed) = exposed else { continue };
                    let text = mount.catalog.transform.tool_text(item, &id, &exposed);
                    (exposed, text)
                }
                ListKind::Prompts => {
                    let exposed = mount.catalog.see_prompt(&id);
                    let mut text = ObjectText::new();
                    text.add("name", &string(&exposed));
                    text.copy_all(item, &["name"]);
                    (exposed, text.finish())
                }
                ListKind::Resources | ListKind::Templates => {
                    if earlier.iter().any(|mount| mount.catalog.lists_uri(&id)) {
                        self.report_clash(mount, &id);
                        continue;
                    }
                    (id, item.to_owned())
                }
            };
            if !merged.ids.insert(id.clone()) {
                self.report_clash(mount, &id);
                continue;
            }
            merged.add_item(&text);
        }
        merged.add_page(&mount.name, page);
    }

    fn report_clash(&self, mount: &MountedServer, id: &str) {
        let mut reported = lock(&self.reported);
        if reported.len() < MAX_REPORTED && reported.insert(id.to_owned()) {
            tracing::warn!(mount = %mount.name, id, "left out an item: an earlier one has the same name or URI");
        }
    }
}

/// The result while it is merged.
pub(super) struct MergedList {
    kind: ListKind,
    ids: HashSet<String>,
    items: String,
    next: Cursors,
    unavailable: BTreeMap<String, String>,
    is_newer: bool,
    /// The shortest time to live; `None` without a page.
    ttl: Option<u64>,
    is_public: bool,
}

impl MergedList {
    pub(super) fn new(kind: ListKind) -> Self {
        Self {
            kind,
            ids: HashSet::new(),
            items: String::new(),
            next: Cursors::new(),
            unavailable: BTreeMap::new(),
            is_newer: false,
            ttl: None,
            is_public: true,
        }
    }

    fn fail(&mut self, mount: &str, reason: &str) {
        tracing::debug!(mount, reason, "a server was left out of a list");
        self.unavailable.insert(mount.to_owned(), reason.to_owned());
    }

    fn add_item(&mut self, item: &str) {
        if !self.items.is_empty() {
            self.items.push(',');
        }
        self.items.push_str(item);
    }

    /// Replaces the items.
    fn replace(&mut self, items: &[String]) {
        self.items = items.join(",");
    }

    /// Returns an object with the items only.
    pub(super) fn items_text(&self) -> String {
        format!("{{\"{}\":[{}]}}", self.kind.members().0, self.items)
    }

    fn add_page(&mut self, mount: &str, page: &ListPage) {
        let result = &page.result;
        self.is_newer |= page.is_newer;
        let ttl = member(result, "ttlMs").and_then(|ttl| decode(ttl).ok());
        let ttl: u64 = ttl.unwrap_or(0);
        self.ttl = Some(self.ttl.map_or(ttl, |shortest| shortest.min(ttl)));
        self.is_public &= member(result, "cacheScope") == Some("\"public\"");
        let cursor = member(result, "nextCursor").and_then(|cursor| decode::<String>(cursor).ok());
        match cursor {
            Some(cursor) if cursor.len() > MAX_CURSOR => {
                let reason = format!(
                    "its cursor has {} bytes; the limit is {MAX_CURSOR}",
                    cursor.len()
                );
                self.fail(mount, &reason);
            }
            Some(cursor) => _ = self.next.insert(mount.to_owned(), cursor),
            None => {}
        }
    }

    fn finish(self, is_stateless: bool) -> String {
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
