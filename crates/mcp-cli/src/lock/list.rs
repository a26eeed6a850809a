//! The definitions of a server, with all members that the server sends.
//!
//! Hosts read unknown members, repeated members and definitions that do not match the schema in different ways, or leave them out. The
//! lock file has to show what each host could read, so unknown members are part of a definition, and the others are errors.

use std::collections::HashSet;

use mcp_client::types::{
    ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest, ListToolsRequest,
    Request,
};
use mcp_client::{Client, DecodeError, Error, ErrorCode, RawJson};
use mcp_jsonrpc::{TreeSize, check_unique_members};
use serde_json::{Value, json};

use super::{Definition, Definitions};
use crate::args::ListKind;
use crate::failure::{Code, Failure};

/// Maximum number of pages of a list.
const MAX_PAGES: usize = 1_000;
/// Maximum estimated memory of a list in bytes.
const MAX_BYTES: usize = 128 << 20;

/// Checks that the client has tolerated no deviation from the specification: another host could read the message differently.
pub(super) fn check_deviations(client: &Client) -> Result<(), Failure> {
    match client.tolerance().details().first() {
        None => Ok(()),
        Some((_, detail)) => Err(unlockable(&format!(
            "the server deviates from the specification: {detail}"
        ))),
    }
}

/// Reads all definitions of a kind. A list that the server does not declare, or does not know, is empty.
pub(super) async fn definitions(client: &Client, kind: ListKind) -> Result<Definitions, Failure> {
    let declared = client.capabilities();
    let is_declared = match kind {
        ListKind::Tools => declared.tools.is_some(),
        ListKind::Prompts => declared.prompts.is_some(),
        ListKind::Resources | ListKind::Templates => declared.resources.is_some(),
    };
    if !is_declared {
        return Ok(Definitions::new());
    }
    match kind {
        ListKind::Tools => pages::<ListToolsRequest>(client, "tools", "name").await,
        ListKind::Prompts => pages::<ListPromptsRequest>(client, "prompts", "name").await,
        ListKind::Resources => pages::<ListResourcesRequest>(client, "resources", "uri").await,
        ListKind::Templates => {
            pages::<ListResourceTemplatesRequest>(client, "resourceTemplates", "uriTemplate").await
        }
    }
}

/// Follows the cursors to the end. `list` is the member with the items, and `name` is the member of an item that identifies it.
async fn pages<R: Request>(
    client: &Client,
    list: &str,
    name: &str,
) -> Result<Definitions, Failure> {
    let problem = |text: String| unlockable(&format!("{}: {text}", R::METHOD));
    let (mut all, mut cursors) = (Definitions::new(), HashSet::new());
    let (mut params, mut bytes) = (json!({}), 0);
    for _ in 0..MAX_PAGES {
        let page = match client.request_raw(R::METHOD, params).await {
            Ok(page) => page,
            Err(Error::Rejected(error))
                if error.code == ErrorCode::METHOD_NOT_FOUND && cursors.is_empty() =>
            {
                return Ok(all);
            }
            Err(error) => return Err(Failure::from(error).about(R::METHOD)),
        };
        bytes += TreeSize::of(&page).heap_bytes();
        if bytes > MAX_BYTES {
            return Err(problem(format!(
                "the list needs more than {MAX_BYTES} bytes of memory"
            )));
        }
        let mut page = checked::<R>(&page).map_err(problem)?;
        for item in page[list].as_array_mut().into_iter().flatten() {
            add(&mut all, name, item.take()).map_err(problem)?;
        }
        match page["nextCursor"].as_str() {
            None => return Ok(all),
            Some("") => return Err(problem("the cursor of the next page is empty".to_owned())),
            Some(cursor) if !cursors.insert(cursor.to_owned()) => {
                return Err(problem(format!("the cursor {cursor:?} is repeated")));
            }
            Some(cursor) => params = json!({ "cursor": cursor }),
        }
    }
    Err(problem(format!("the list has more than {MAX_PAGES} pages")))
}

/// Returns a page as JSON, if all hosts read the same from it. An error names the item.
fn checked<R: Request>(text: &RawJson) -> Result<Value, String> {
    let check = check_unique_members(text).and_then(|()| text.decode::<R::Result>());
    let page: Value = text.decode().map_err(|error| error.to_string())?;
    match check {
        Ok(_) => Ok(page),
        Err(error) => Err(format!("{}{error}", item_of(&error, &page))),
    }
}

/// Returns the name of the item of a page that an error is about.
fn item_of(error: &DecodeError, page: &Value) -> String {
    let end = error.pointer().match_indices('/').nth(2);
    let item = &error.pointer()[..end.map_or(error.pointer().len(), |(end, _)| end)];
    let names = ["name", "uri", "uriTemplate"].into_iter();
    let mut names = names.filter_map(|name| page.pointer(item)?.get(name)?.as_str());
    names
        .next()
        .map_or_else(String::new, |name| format!("{name:?}: "))
}

/// Adds a definition. Hosts differ in which of two definitions with the same name they use.
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

fn unlockable(problem: &str) -> Failure {
    Failure::new(
        Code::Protocol,
        format!(
            "{problem}; hosts can read different definitions from this, so they are neither locked nor compared"
        ),
    )
}
