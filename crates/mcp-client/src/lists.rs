//! Lists that page by themselves.

use std::collections::HashSet;

use mcp_types::{
    Icon, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest, ListToolsRequest,
    PaginatedRequestParams, Prompt, Request, Resource, ResourceTemplate, Tool,
};

use crate::{Client, Error};

/// Pages that are fetched for one list before the server is called endless.
const MAX_PAGES: usize = 1_000;
/// Items that are kept for one list before the server is called endless.
const MAX_ITEMS: usize = 100_000;

impl Client {
    /// All tools. Icons that are not safe to load are left out, output schemas are remembered.
    ///
    /// # Errors
    /// As any call; also if the server repeats a cursor or never ends.
    pub async fn list_tools(&self) -> Result<Vec<Tool>, Error> {
        let mut tools = self
            .all::<ListToolsRequest, _>(|page| (page.tools, page.next_cursor))
            .await?;
        for tool in &mut tools {
            keep_safe(&mut tool.icons);
            self.shared().learn(tool);
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

    /// Follows the cursors, which are opaque and passed on as they came, to the end.
    async fn all<R, T>(
        &self,
        take: impl Fn(R::Result) -> (Vec<T>, Option<String>),
    ) -> Result<Vec<T>, Error>
    where
        R: Request<Params = PaginatedRequestParams> + 'static,
    {
        let mut items = Vec::new();
        let mut seen = HashSet::new();
        let mut params = PaginatedRequestParams::default();
        for _ in 0..MAX_PAGES {
            let (page, next) = take(self.request::<R>(&params).await?);
            items.extend(page);
            if items.len() > MAX_ITEMS {
                let method = R::METHOD;
                return Err(Error::Protocol(format!(
                    "{method} has over {MAX_ITEMS} items"
                )));
            }
            let Some(next) = next else {
                return Ok(items);
            };
            if !seen.insert(next.clone()) {
                return Err(Error::Protocol(format!("{} repeats a cursor", R::METHOD)));
            }
            params.cursor = Some(next);
        }
        Err(Error::Protocol(format!(
            "{} has over {MAX_PAGES} pages",
            R::METHOD
        )))
    }
}

fn keep_safe(icons: &mut Option<Vec<Icon>>) {
    if let Some(icons) = icons {
        icons.retain(Icon::is_safe_src);
    }
}
