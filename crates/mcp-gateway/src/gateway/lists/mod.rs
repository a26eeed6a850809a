//! Merges the lists of all servers into one list.

mod cursor;
mod kind;
mod merged;
mod pages;
mod search;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use mcp_jsonrpc::{ErrorCode, ErrorObject, RawJson, decode, member_name, members, quote};
use mcp_protocol::{Outcome, lock};
use tokio::task::{JoinSet, yield_now};
use tokio::time::Instant;

use self::cursor::Cursors;
pub(super) use self::kind::ListKind;
use self::kind::{MAX_ITEMS, MAX_LIST_BYTES};
use self::merged::MergedList;
use self::pages::{PageRequest, Pages};
pub(super) use self::search::{CALL_TOOL, SEARCH_TOOLS, called};
use super::forward::read_from;
use super::mount::MountedServer;
use super::record::{ClientRequest, MAX_LOGGED};
use super::state::State;
use crate::core::ListPage;
use crate::results;
use crate::text::{ObjectText, elements, imitates_member, member, string};

/// Maximum number of logged name clashes. In a name clash, an item is left out because an item of another server has the same
/// name or URI.
const MAX_REPORTED: usize = 1_024;
/// Number of items that are compared with rules and with other lists before the task yields to other requests.
pub(super) const ITEMS_PER_TURN: usize = 4;

impl State {
    /// Serves a page of a list. Without a cursor, the page contains the first pages of all servers. With a cursor, it contains
    /// the next pages of the servers in the cursor.
    pub(super) async fn list(
        self: Arc<Self>,
        kind: ListKind,
        params: Option<RawJson>,
        context: ClientRequest,
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
        match self.settings().search_above {
            Some(limit) if kind == ListKind::Tools => {
                self.add_pages(&mut merged, requested, true, params.as_ref(), &context)
                    .await?;
                if merged.ids.len() > limit {
                    merged.replace(&search::definitions(merged.ids.len()));
                }
            }
            _ => {
                self.add_pages(&mut merged, requested, false, params.as_ref(), &context)
                    .await?;
            }
        }
        context.note_list(merged.counts());
        let is_newer = merged.is_newer;
        let result = RawJson::copy(&merged.finish(context.rules().stateless));
        Ok(match context.rules().stateless {
            true => results::for_stateless(kind.method(), result),
            false => results::for_session(kind.method(), &result, context.rules(), is_newer),
        })
    }

    /// Adds pages to the merged list. If `requested` is `None`, begins at the first pages of all servers. Otherwise, begins at
    /// the cursors in `requested`, for the servers in it. Adds one page of each server or, with `is_complete`, all further pages.
    /// The requests to all servers run concurrently and have one time limit,
    /// [`list_timeout`](super::state::Settings::list_timeout).
    async fn add_pages(
        self: &Arc<Self>,
        merged: &mut MergedList,
        requested: Option<Cursors>,
        is_complete: bool,
        params: Option<&RawJson>,
        context: &ClientRequest,
    ) -> Result<(), ErrorObject> {
        let (mounts, is_first) = (self.mounts(), requested.is_none());
        let mut requests = self.request_pages(
            &mounts,
            merged.kind,
            requested,
            is_complete,
            params,
            context,
        );
        let is_single = requests.len() == 1;
        let mut answers = BTreeMap::new();
        while let Some(answer) = requests.join_next().await {
            let (index, pages) =
                answer.map_err(|error| ErrorObject::internal(error.to_string()))?;
            answers.insert(index, pages);
        }
        for (index, answer) in answers {
            let mount = &mounts[index];
            if !is_complete && merged.is_long_with(&answer) {
                // The next page of the gateway begins with this server.
                merged.next.insert(mount.name.to_string(), answer.first);
                continue;
            }
            for page in &answer.pages {
                self.add(merged, &mounts, mount, page).await;
            }
            if is_complete {
                // Pages after a limit or an error are left out.
                merged.next.remove(&*mount.name);
            }
            let is_wrong_cursor =
                |error: &ErrorObject| !is_first && error.code == ErrorCode::INVALID_PARAMS;
            match answer.error {
                // A server may have resources without templates.
                Some(error) if error.code == ErrorCode::METHOD_NOT_FOUND => {}
                Some(error) if is_single && is_wrong_cursor(&error) => return Err(error),
                Some(error) => merged.fail(&mount.name, &error.message),
                None => {}
            }
        }
        Ok(())
    }

    /// Requests the pages for [`add_pages`](Self::add_pages). Each result has the index of its mount.
    fn request_pages(
        &self,
        mounts: &[Arc<MountedServer>],
        kind: ListKind,
        mut requested: Option<Cursors>,
        is_complete: bool,
        params: Option<&RawJson>,
        context: &ClientRequest,
    ) -> JoinSet<(usize, Pages)> {
        let limit = self.settings().list_timeout;
        let deadline = Instant::now() + limit;
        let mut requests = JoinSet::new();
        for (index, mount) in mounts.iter().enumerate() {
            let position = match &mut requested {
                None if kind.is_offered(mount) => None,
                None => continue,
                Some(cursors) => match cursors.remove(&*mount.name) {
                    Some(cursor) => cursor,
                    None => continue,
                },
            };
            let request = PageRequest {
                mount: Arc::clone(mount),
                kind,
                params: params.cloned(),
                context: context.context.clone(),
            };
            requests.spawn(async move {
                let pages = request.pages(position, is_complete, deadline, limit).await;
                (index, pages)
            });
        }
        requests
    }

    /// Adds a page of a server. If several of `mounts` list the same URI, the merged list contains only the item of the server
    /// that [`read_from`] returns.
    async fn add(
        &self,
        merged: &mut MergedList,
        mounts: &[Arc<MountedServer>],
        mount: &MountedServer,
        page: &ListPage,
    ) {
        let (list, key) = merged.kind.members();
        let Some(items) = elements(&page.result, list) else {
            merged.fail(&mount.name, "it returned an invalid list");
            return;
        };
        merged.offered += items.len();
        for (number, item) in items.into_iter().enumerate() {
            if number % ITEMS_PER_TURN == 0 {
                yield_now().await;
            }
            let item = item.get();
            let id = member(item, key).and_then(|id| decode::<String>(id).ok());
            let Some(id) = id else {
                tracing::warn!(mount = %mount.name, "left out an item of {list} without {key:?}");
                continue;
            };
            let kind = merged.kind;
            let item_of_server = mount.item(kind.item_kind(), &id);
            if !self
                .decide_as(mount, &item_of_server, kind.source())
                .is_shown()
            {
                continue;
            }
            let is_uri = matches!(kind, ListKind::Resources | ListKind::Templates);
            let used = is_uri.then(|| read_from(mounts, &id)).flatten();
            if let Some(used) = used.filter(|used| used.name != mount.name) {
                self.report_clash(&used.name, mount, &id);
                continue;
            }
            let Some((id, text)) = exposed(kind, mount, id, item) else {
                continue;
            };
            if let Some(used) = merged.ids.get(&id) {
                self.report_clash(used, mount, &id);
                continue;
            }
            merged.ids.insert(id, Arc::clone(&mount.name));
            if !merged.add_item(&text) {
                let reason = format!(
                    "the list of the gateway has reached the limit of {MAX_LIST_BYTES} bytes or {MAX_ITEMS} items"
                );
                merged.next.remove(&*mount.name);
                merged.fail(&mount.name, &reason);
                return;
            }
        }
        merged.add_page(&mount.name, page);
    }

    /// Logs that an item of `mount` is left out, because the server `used` has an item with the same name or URI.
    fn report_clash(&self, used: &str, mount: &MountedServer, id: &str) {
        let mut reported = lock(&self.reported);
        let mut hasher = DefaultHasher::new();
        (&mount.name, id).hash(&mut hasher);
        if reported.len() < MAX_REPORTED && reported.insert(hasher.finish()) {
            let id = quote(id, MAX_LOGGED);
            tracing::warn!(mount = %mount.name, used, %id, "left out an item: the server that the field `used` names has an item with the same name or URI");
        }
    }
}

/// Returns the name or URI of an item at the gateway, and the JSON text of the item; `None` if the gateway hides the tool or
/// prompt.
fn exposed(
    kind: ListKind,
    mount: &MountedServer,
    id: String,
    item: &str,
) -> Option<(String, String)> {
    Some(match kind {
        ListKind::Tools => {
            let annotations = member(item, "annotations");
            let hint = annotations.and_then(|annotations| member(annotations, "readOnlyHint"));
            let schema = member(item, "inputSchema");
            let exposed = mount
                .catalog
                .tool_of_client(&id, hint == Some("true"), schema)?;
            let text = mount.catalog.transform().tool_text(item, &id, &exposed);
            (exposed, text)
        }
        ListKind::Prompts => {
            let exposed = mount.catalog.prompt_of_client(&id)?;
            let text = identified(item, "name", &exposed);
            (exposed, text)
        }
        ListKind::Resources => {
            mount.catalog.record_uri(&id);
            let text = identified(item, "uri", &id);
            (id, text)
        }
        ListKind::Templates => {
            let text = identified(item, "uriTemplate", &id);
            (id, text)
        }
    })
}

/// Writes an item with the name or URI that the gateway has checked. Omits members that a host could mistake for the name or URI.
fn identified(item: &str, key: &str, id: &str) -> String {
    let mut text = ObjectText::with_capacity(item.len());
    text.add(key, &string(id));
    for (name, value) in members(item).map_while(Result::ok) {
        let known = member_name(name);
        if known != key && !imitates_member(&known) {
            text.copy(name, value);
        }
    }
    text.finish()
}
