//! List requests that fetch all pages.

use std::collections::HashSet;
use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;

use mcp_jsonrpc::ErrorCode;
use mcp_protocol::{BoxFuture, Deviation, Timeouts};
use mcp_types::{
    Icon, ListPromptsRequest, ListPromptsResult, ListResourceTemplatesRequest,
    ListResourceTemplatesResult, ListResourcesRequest, ListResourcesResult, ListTasksRequest,
    ListTasksResult, ListToolsRequest, ListToolsResult, PaginatedRequestParams, Prompt, Request,
    Resource, ResourceTemplate, Task, Tool,
};

use crate::Error;
use crate::call::Call;
use crate::request::RequestOptions;
use crate::shared::Shared;

/// Maximum number of pages of one list. After more pages, the client reports an endless list.
const MAX_PAGES: usize = 1_000;
/// Maximum number of items of one list. After more items, the client reports an endless list.
const MAX_ITEMS: usize = 100_000;

/// The requests for all pages of a list, sent when this value is awaited. The result is a `Vec<T>`.
///
/// # Errors
/// The errors of every call, and an error if the server sends more than 1,000 pages or 100,000 items. An item that
/// cannot be decoded is left out, and a repeated cursor ends the list, unless the client is
/// [strict](crate::Strictness::Strict).
///
/// # Cancel safety
/// Dropping the future cancels the request for the current page at the server.
#[must_use = "a call is sent when it is awaited"]
pub struct ListCall<T> {
    shared: Arc<Shared>,
    method: &'static str,
    timeouts: Option<Timeouts>,
    is_fresh: bool,
    fetch: fn(List) -> BoxFuture<'static, Result<Vec<T>, Error>>,
}

impl<T> ListCall<T> {
    /// Sets the timeouts of this list. [`idle`](Timeouts::idle) applies to each page. [`total`](Timeouts::total) applies to all
    /// pages together.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = Some(timeouts);
        self
    }

    /// Bypasses the cache.
    pub fn fresh(mut self) -> Self {
        self.is_fresh = true;
        self
    }
}

impl<T: Send + 'static> IntoFuture for ListCall<T> {
    type Output = Result<Vec<T>, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let timeouts = self.timeouts.unwrap_or(self.shared.timeouts);
        let all = (self.fetch)(List {
            shared: self.shared,
            timeouts,
            is_fresh: self.is_fresh,
        });
        Box::pin(async move {
            let all = tokio::time::timeout(timeouts.total, all).await;
            all.unwrap_or_else(|_| {
                Err(Error::Timeout {
                    method: self.method.into(),
                    setting: "Timeouts::total",
                    after: timeouts.total,
                    reason: None,
                })
            })
        })
    }
}

impl<T> fmt::Debug for ListCall<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ListCall").field(&self.method).finish()
    }
}

/// A request whose result is a page of a list.
trait ListRequest: Request<Params = PaginatedRequestParams> + 'static {
    type Item: Send + 'static;

    /// Returns the items of a page and the cursor of the next page.
    fn take(page: Self::Result) -> (Vec<Self::Item>, Option<String>);

    fn icons(_item: &mut Self::Item) -> Option<&mut Vec<Icon>> {
        None
    }
}

macro_rules! list {
    ($request:ty, $result:ty, $item:ty, $member:ident $(, $icons:ident)?) => {
        impl ListRequest for $request {
            type Item = $item;

            fn take(page: $result) -> (Vec<$item>, Option<String>) {
                (page.$member, page.next_cursor)
            }

            $(fn icons(item: &mut $item) -> Option<&mut Vec<Icon>> {
                item.$icons.as_mut()
            })?
        }
    };
}

list!(ListToolsRequest, ListToolsResult, Tool, tools, icons);
list!(
    ListPromptsRequest,
    ListPromptsResult,
    Prompt,
    prompts,
    icons
);
list!(
    ListResourcesRequest,
    ListResourcesResult,
    Resource,
    resources,
    icons
);
list!(
    ListResourceTemplatesRequest,
    ListResourceTemplatesResult,
    ResourceTemplate,
    resource_templates,
    icons
);
list!(ListTasksRequest, ListTasksResult, Task, tasks);

pub(crate) fn tools(shared: &Arc<Shared>) -> ListCall<Tool> {
    list::<ListToolsRequest>(shared)
}

pub(crate) fn prompts(shared: &Arc<Shared>) -> ListCall<Prompt> {
    list::<ListPromptsRequest>(shared)
}

pub(crate) fn resources(shared: &Arc<Shared>) -> ListCall<Resource> {
    list::<ListResourcesRequest>(shared)
}

/// Lists the resource templates. The list is empty if a server with resources does not know this request.
pub(crate) fn resource_templates(shared: &Arc<Shared>) -> ListCall<ResourceTemplate> {
    let fetch = |list: List| -> BoxFuture<'static, _> {
        Box::pin(async move {
            let templates = list.all::<ListResourceTemplatesRequest>().await;
            templates.or_else(|error| match error.rejection() {
                Some(rejection)
                    if rejection.code == ErrorCode::METHOD_NOT_FOUND
                        && list
                            .shared
                            .tolerance
                            .admits(Deviation::UnknownTemplates, rejection) =>
                {
                    Ok(Vec::new())
                }
                _ => Err(error),
            })
        })
    };
    ListCall {
        fetch,
        ..list::<ListResourceTemplatesRequest>(shared)
    }
}

pub(crate) fn tasks(shared: &Arc<Shared>) -> ListCall<Task> {
    list::<ListTasksRequest>(shared)
}

fn list<R: ListRequest>(shared: &Arc<Shared>) -> ListCall<R::Item> {
    ListCall {
        shared: Arc::clone(shared),
        method: R::METHOD,
        timeouts: None,
        is_fresh: false,
        fetch: |list| Box::pin(async move { list.all::<R>().await }),
    }
}

/// The parameters that are common to the requests for all pages of a list.
struct List {
    shared: Arc<Shared>,
    timeouts: Timeouts,
    is_fresh: bool,
}

impl List {
    /// Fetches all pages. If the server rejects a cursor, which may come from a cached page, fetches the whole list once more.
    async fn all<R: ListRequest>(&self) -> Result<Vec<R::Item>, Error> {
        let rejected = match self.pages::<R>().await {
            Err((Error::Rejected(error), true))
                if error.code == ErrorCode::INVALID_PARAMS && self.shared.rules().stateless =>
            {
                error
            }
            done => return done.map_err(|(error, _)| error),
        };
        tracing::debug!(method = R::METHOD, %rejected, "a cursor was rejected; listing again from the first page");
        self.shared.cache.forget(&[R::METHOD]);
        self.pages::<R>().await.map_err(|(error, _)| error)
    }

    /// Requests pages until a page has no cursor. The second value of an error is `true` if the request for a page after the
    /// first page has failed. Icons whose source is not safe to load are removed.
    async fn pages<R: ListRequest>(&self) -> Result<Vec<R::Item>, (Error, bool)> {
        let endless = |what: String| (Error::protocol(format!("{} {what}", R::METHOD)), false);
        let shared = &self.shared;
        let mut items = Vec::new();
        let mut seen = HashSet::new();
        let mut params = PaginatedRequestParams::default();
        let mut room = shared.max_list_bytes;
        for _ in 0..MAX_PAGES {
            let page = self.page::<R>(&params, &mut room).await;
            let (mut page, next) = page.map_err(|error| (error, params.cursor.is_some()))?;
            for icons in page.iter_mut().filter_map(R::icons) {
                icons.retain(Icon::is_safe_src);
            }
            items.extend(page);
            if items.len() > MAX_ITEMS {
                return Err(endless(format!("has more than {MAX_ITEMS} items")));
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
        Err(endless(format!("has more than {MAX_PAGES} pages")))
    }

    async fn page<R: ListRequest>(
        &self,
        params: &PaginatedRequestParams,
        room: &mut usize,
    ) -> Result<(Vec<R::Item>, Option<String>), Error> {
        let options = RequestOptions {
            timeouts: Some(self.timeouts),
            is_fresh: self.is_fresh,
            ..RequestOptions::default()
        };
        let call = Call::<R>::new(&self.shared, params).with_options(options);
        Ok(R::take(call.fetch(Some(room)).await?))
    }
}
