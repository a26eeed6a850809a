//! Lists that page by themselves.

use std::collections::HashSet;

use mcp_jsonrpc::ErrorCode;
use mcp_types::{
    Icon, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest, ListTasksRequest,
    ListToolsRequest, PaginatedRequestParams, Prompt, Request, Resource, ResourceTemplate, Task,
    Tool,
};

use crate::{Client, Error};

/// Pages that are fetched for one list before the server is called endless.
const MAX_PAGES: usize = 1_000;
/// Items that are kept for one list before the server is called endless.
const MAX_ITEMS: usize = 100_000;

impl Client {
    /// All tools. Icons that are not safe to load are left out, output schemas are remembered. Over
    /// HTTP, and where there are no sessions, tools are left out whose `x-mcp-header` annotations
    /// break the rules.
    ///
    /// # Errors
    /// As any call; also if the server repeats a cursor or never ends.
    pub async fn list_tools(&self) -> Result<Vec<Tool>, Error> {
        let mut tools = self
            .all::<ListToolsRequest, _>(|page| (page.tools, page.next_cursor))
            .await?;
        for tool in &mut tools {
            keep_safe(&mut tool.icons);
        }
        Ok(tools)
    }

    /// All prompts.
    ///
    /// # Errors
    /// As [`list_tools`](Self::list_tools).
    pub async fn list_prompts(&self) -> Result<Vec<Prompt>, Error> {
        let mut prompts = self
            .all::<ListPromptsRequest, _>(|page| (page.prompts, page.next_cursor))
            .await?;
        prompts
            .iter_mut()
            .for_each(|prompt| keep_safe(&mut prompt.icons));
        Ok(prompts)
    }

    /// All resources.
    ///
    /// # Errors
    /// As [`list_tools`](Self::list_tools).
    pub async fn list_resources(&self) -> Result<Vec<Resource>, Error> {
        let mut resources = self
            .all::<ListResourcesRequest, _>(|page| (page.resources, page.next_cursor))
            .await?;
        resources
            .iter_mut()
            .for_each(|resource| keep_safe(&mut resource.icons));
        Ok(resources)
    }

    /// All resource templates.
    ///
    /// # Errors
    /// As [`list_tools`](Self::list_tools).
    pub async fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>, Error> {
        let mut templates = self
            .all::<ListResourceTemplatesRequest, _>(|page| {
                (page.resource_templates, page.next_cursor)
            })
            .await?;
        templates
            .iter_mut()
            .for_each(|template| keep_safe(&mut template.icons));
        Ok(templates)
    }

    /// All tasks that the server keeps for this client (2025-11-25): servers that cannot tell their
    /// clients apart have no such list.
    ///
    /// # Errors
    /// As [`list_tools`](Self::list_tools).
    pub async fn list_tasks(&self) -> Result<Vec<Task>, Error> {
        self.all::<ListTasksRequest, _>(|page| (page.tasks, page.next_cursor))
            .await
    }

    /// All pages. A cursor that a server does not know any more, which may be of a page that was
    /// kept, leads back to the first page, once.
    async fn all<R, T>(
        &self,
        take: impl Fn(R::Result) -> (Vec<T>, Option<String>),
    ) -> Result<Vec<T>, Error>
    where
        R: Request<Params = PaginatedRequestParams> + 'static,
    {
        let rejected = match self.pages::<R, T>(&take).await {
            Err((Error::Rejected(error), true))
                if error.code == ErrorCode::INVALID_PARAMS && self.shared().rules().stateless =>
            {
                error
            }
            done => return done.map_err(|(error, _)| error),
        };
        tracing::debug!(method = R::METHOD, %rejected, "listing from the first page");
        self.shared().cache.forget(&[R::METHOD]);
        let again = self.pages::<R, T>(&take).await;
        again.map_err(|(error, _)| error)
    }

    /// Follows the cursors, which are opaque and passed on as they came, to the end. A failure
    /// tells whether it is that of a page after the first.
    async fn pages<R, T>(
        &self,
        take: &impl Fn(R::Result) -> (Vec<T>, Option<String>),
    ) -> Result<Vec<T>, (Error, bool)>
    where
        R: Request<Params = PaginatedRequestParams> + 'static,
    {
        let endless = |what: String| (Error::Protocol(format!("{} {what}", R::METHOD)), false);
        let mut items = Vec::new();
        let mut seen = HashSet::new();
        let mut params = PaginatedRequestParams::default();
        for _ in 0..MAX_PAGES {
            let page = self.request::<R>(&params).await;
            let (page, next) = take(page.map_err(|error| (error, params.cursor.is_some()))?);
            items.extend(page);
            if items.len() > MAX_ITEMS {
                return Err(endless(format!("has over {MAX_ITEMS} items")));
            }
            let Some(next) = next else {
                return Ok(items);
            };
            if !seen.insert(next.clone()) {
                return Err(endless("repeats a cursor".to_owned()));
            }
            params.cursor = Some(next);
        }
        Err(endless(format!("has over {MAX_PAGES} pages")))
    }
}

fn keep_safe(icons: &mut Option<Vec<Icon>>) {
    if let Some(icons) = icons {
        icons.retain(Icon::is_safe_src);
    }
}
