//! The definitions of a server, with all members that the server sends.
//!
//! Hosts differ in how they treat unknown members, repeated members, and definitions that do not match the schema. The lock file
//! has to show everything that some host could read. Unknown members are therefore part of a definition; a repeated member or an
//! invalid definition is an error.

use std::collections::HashSet;

use mcp_client::types::{
    ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest, ListToolsRequest,
    Request,
};
use mcp_client::{Client, DecodeError, Error, ErrorCode, RawJson};
use mcp_jsonrpc::{TreeSize, check_unique_members};
use serde_json::{Map, Value, json};

use super::definition::{Definition, Definitions};
use super::handshake::SERVER_INFO;
use crate::args::ListKind;
use crate::arguments::numbers::check_numbers;
use crate::failure::{Code, Failure};

/// Maximum number of pages of a list.
const MAX_PAGES: usize = 1_000;
/// Maximum estimated memory of a list in bytes.
const MAX_BYTES: usize = 128 << 20;

/// Returns a failure if the client had to tolerate a deviation from the specification. Another host could interpret such a
/// message differently.
pub(super) fn check_deviations(client: &Client) -> Result<(), Failure> {
    match client.tolerance().details().first() {
        None => Ok(()),
        Some((_, detail)) => Err(unlockable(&format!(
            "the server deviates from the specification: {detail}"
        ))),
    }
}

/// All items of a kind, and the members that the results have outside of the items.
pub(super) struct List {
    pub(super) items: Definitions,
    pub(super) outside: Definition,
}

/// Reads all definitions of a kind. `server` is the description that the server gives of itself. The list is requested even if
/// the server does not declare it, because other hosts may request it. If the server then rejects the request, the list is empty.
pub(super) async fn list(client: &Client, kind: ListKind, server: &Value) -> Result<List, Failure> {
    let declared = client.capabilities();
    let reader = Reader {
        client,
        server,
        is_declared: match kind {
            ListKind::Tools => declared.tools.is_some(),
            ListKind::Prompts => declared.prompts.is_some(),
            ListKind::Resources | ListKind::Templates => declared.resources.is_some(),
        },
    };
    match kind {
        ListKind::Tools => reader.pages::<ListToolsRequest>("tools", "name").await,
        ListKind::Prompts => reader.pages::<ListPromptsRequest>("prompts", "name").await,
        ListKind::Resources => {
            reader
                .pages::<ListResourcesRequest>("resources", "uri")
                .await
        }
        ListKind::Templates => {
            let (list, name) = ("resourceTemplates", "uriTemplate");
            reader
                .pages::<ListResourceTemplatesRequest>(list, name)
                .await
        }
    }
}

struct Reader<'a> {
    client: &'a Client,
    server: &'a Value,
    is_declared: bool,
}

impl Reader<'_> {
    /// Reads all pages of a list. `list` is the member with the items. `name` is the member of an item that identifies the
    /// item.
    async fn pages<R: Request>(&self, list: &str, name: &str) -> Result<List, Failure> {
        let problem = |text: String| unlockable(&format!("{}: {text}", R::METHOD));
        let (mut items, mut cursors) = (Definitions::new(), HashSet::new());
        let (mut params, mut bytes) = (json!({}), 0);
        let mut outside = Vec::new();
        for _ in 0..MAX_PAGES {
            let page = match self
                .client
                .request_raw(R::METHOD, params)
                .undeclared()
                .await
            {
                Ok(page) => page,
                Err(Error::Rejected(error))
                    if cursors.is_empty()
                        && (!self.is_declared || error.code == ErrorCode::METHOD_NOT_FOUND) =>
                {
                    return Ok(List::new(items, outside));
                }
                Err(error) => return Err(self.failed(error, R::METHOD)),
            };
            bytes += TreeSize::of(&page).heap_bytes();
            if bytes > MAX_BYTES {
                return Err(problem(format!(
                    "the list needs more than {MAX_BYTES} bytes of memory"
                )));
            }
            let mut page = checked::<R>(&page).map_err(problem)?;
            for item in page[list].as_array_mut().into_iter().flatten() {
                add(&mut items, name, item.take()).map_err(problem)?;
            }
            let cursor = page["nextCursor"].as_str().map(str::to_owned);
            let rest = self.rest(page, list);
            if !outside.contains(&rest) {
                outside.push(rest);
            }
            match cursor.as_deref() {
                None => return Ok(List::new(items, outside)),
                Some("") => return Err(problem("the cursor of the next page is empty".to_owned())),
                Some(cursor) if !cursors.insert(cursor.to_owned()) => {
                    return Err(problem(format!("the cursor {cursor:?} is repeated")));
                }
                Some(cursor) => params = json!({ "cursor": cursor }),
            }
        }
        Err(problem(format!("the list has more than {MAX_PAGES} pages")))
    }

    /// Returns the failure of a list that could not be read. Such a list must not be treated as empty, because a host may be able
    /// to read it later.
    fn failed(&self, error: Error, method: &str) -> Failure {
        let is_ignored = error.is_timeout() && !self.is_declared;
        let failure = Failure::from(error).about(method);
        match is_ignored {
            true => failure.hint(
                "the server does not declare this list, so it should have rejected the request; to lock only other lists, use \
                 --only, for example --only tools"
                    .to_owned(),
            ),
            false => failure,
        }
    }

    /// Returns the members of a page outside of its items. Omits members that change with each request, and the name of the
    /// server, which each result of the stateless revision repeats.
    fn rest(&self, page: Value, list: &str) -> Value {
        let Value::Object(mut rest) = page else {
            return json!({});
        };
        rest.retain(|name, _| ![list, "nextCursor", "ttlMs"].contains(&&**name));
        if let Some(meta) = rest.get_mut("_meta").and_then(Value::as_object_mut)
            && meta.get(SERVER_INFO) == self.server["_meta"].get(SERVER_INFO)
        {
            meta.shift_remove(SERVER_INFO);
        }
        if rest
            .get("_meta")
            .and_then(Value::as_object)
            .is_some_and(Map::is_empty)
        {
            rest.shift_remove("_meta");
        }
        Value::Object(rest)
    }
}

impl List {
    /// Creates a list. `outside` has an object for each page, with the members of the page other than its items. Equal objects
    /// occur only once.
    fn new(items: Definitions, mut outside: Vec<Value>) -> Self {
        let outside = match outside.len() {
            0 => json!({}),
            1 => outside.remove(0),
            _ => Value::Array(outside),
        };
        let outside = Definition::new(outside);
        Self { items, outside }
    }
}

/// Returns a page as JSON, if all hosts interpret its text in the same way. Otherwise, returns a failure that names the item.
fn checked<R: Request>(text: &RawJson) -> Result<Value, String> {
    let check = check_unique_members(text).and_then(|()| text.decode::<R::Result>());
    let page: Value = text.decode().map_err(|error| error.to_string())?;
    check_numbers(text)?;
    match check {
        Ok(_) => Ok(page),
        Err(error) => Err(format!("{}{error}", item_of(&error, &page))),
    }
}

/// Returns a prefix for a decoding error: the quoted name of the invalid item and a colon. Empty if the item has no name.
fn item_of(error: &DecodeError, page: &Value) -> String {
    let end = error.pointer().match_indices('/').nth(2);
    let item = &error.pointer()[..end.map_or(error.pointer().len(), |(end, _)| end)];
    let names = ["name", "uri", "uriTemplate"].into_iter();
    let mut names = names.filter_map(|name| page.pointer(item)?.get(name)?.as_str());
    names
        .next()
        .map_or_else(String::new, |name| format!("{name:?}: "))
}

/// Adds a definition. Fails if the list already has a different definition with the same name, because hosts differ in which of
/// the two definitions they use.
pub(super) fn add(all: &mut Definitions, name: &str, item: Value) -> Result<(), String> {
    let name = item[name].as_str().unwrap_or_default().to_owned();
    let definition = Definition::new(item);
    match all.get(&name) {
        Some(earlier) if *earlier != definition => Err(format!(
            "{name:?} is listed twice with different definitions"
        )),
        _ => {
            all.insert(name, definition);
            Ok(())
        }
    }
}

pub(super) fn unlockable(problem: &str) -> Failure {
    Failure::new(
        Code::Protocol,
        format!(
            "{problem}; hosts can read different definitions from this, so the definitions are neither locked nor compared"
        ),
    )
}
