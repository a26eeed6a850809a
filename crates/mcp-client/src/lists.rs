//! Lists of all pages.

use std::collections::HashSet;
use std::sync::Arc;

use mcp_jsonrpc::ErrorCode;
use mcp_protocol::Deviation;
use mcp_types::{Icon, ListToolsRequest, ListToolsResult, PaginatedRequestParams, Request, Tool};

use crate::Error;
use crate::call::Call;
use crate::shared::Shared;

/// Pages that the client fetches for one list before it reports an endless list.
const MAX_PAGES: usize = 1_000;
/// Items that the client keeps of one list before it reports an endless list.
const MAX_ITEMS: usize = 100_000;

pub(crate) async fn tools(shared: &Arc<Shared>) -> Result<Vec<Tool>, Error> {
    let take = |page: ListToolsResult| (page.tools, page.next_cursor);
    let tools = all::<ListToolsRequest, _>(shared, take).await?;
    Ok(with_safe_icons(tools, |tool| &mut tool.icons))
}

/// Fetches all pages. If the server no longer knows a cursor, for example of a cached page, the
/// list is fetched again from the first page, once.
pub(crate) async fn all<R, T>(
    shared: &Arc<Shared>,
    take: impl Fn(R::Result) -> (Vec<T>, Option<String>),
) -> Result<Vec<T>, Error>
where
    R: Request<Params = PaginatedRequestParams> + 'static,
{
    let rejected = match pages::<R, T>(shared, &take).await {
        Err((Error::Rejected(error), true))
            if error.code == ErrorCode::INVALID_PARAMS && shared.rules().stateless =>
        {
            error
        }
        done => return done.map_err(|(error, _)| error),
    };
    tracing::debug!(method = R::METHOD, %rejected, "a cursor was rejected; listing again from the first page");
    shared.cache.forget(&[R::METHOD]);
    let again = pages::<R, T>(shared, &take).await;
    again.map_err(|(error, _)| error)
}

/// Follows the opaque cursors to the end. A failure says whether it concerns a page after the
/// first.
async fn pages<R, T>(
    shared: &Arc<Shared>,
    take: &impl Fn(R::Result) -> (Vec<T>, Option<String>),
) -> Result<Vec<T>, (Error, bool)>
where
    R: Request<Params = PaginatedRequestParams> + 'static,
{
    let endless = |what: String| (Error::protocol(format!("{} {what}", R::METHOD)), false);
    let mut items = Vec::new();
    let mut seen = HashSet::new();
    let mut params = PaginatedRequestParams::default();
    let mut room = shared.max_list_bytes;
    for _ in 0..MAX_PAGES {
        let page = Call::<R>::new(shared, &params).fetch(Some(&mut room)).await;
        let (page, next) = take(page.map_err(|error| (error, params.cursor.is_some()))?);
        items.extend(page);
        if items.len() > MAX_ITEMS {
            return Err(endless(format!("has over {MAX_ITEMS} items")));
        }
        let Some(next) = next else {
            return Ok(items);
        };
        let tolerates = |deviation| shared.tolerance.admits(deviation, R::METHOD);
        if next.is_empty() && tolerates(Deviation::EmptyCursor) {
            return Ok(items);
        }
        if !seen.insert(next.clone()) {
            if tolerates(Deviation::RepeatedCursor) {
                return Ok(items);
            }
            return Err(endless("repeats a cursor".to_owned()));
        }
        params.cursor = Some(next);
    }
    Err(endless(format!("has over {MAX_PAGES} pages")))
}

/// Removes the icons whose source is not safe to load.
pub(crate) fn with_safe_icons<T>(
    mut items: Vec<T>,
    icons: impl Fn(&mut T) -> &mut Option<Vec<Icon>>,
) -> Vec<T> {
    for icons in items.iter_mut().filter_map(|item| icons(item).as_mut()) {
        icons.retain(Icon::is_safe_src);
    }
    items
}
