//! The pages of a server and the tools that use them.

use std::sync::Arc;

use mcp_server::types::{
    ClientCapabilities, JsonObject, Meta, ResourceContents, TextResourceContents,
};
use mcp_server::{
    Ctx, Extension, Requirement, Resource, ResourceBody, Revision, ServerBuilder, Tool,
};
use serde_json::Value;

use crate::{Csp, EXTENSION, MIME_TYPE, PageUi, Permissions, SCHEME, ToolUi, UI, Visibility};

/// The pages of a server, for `ServerBuilder::with`.
pub struct Apps<S = ()>(Vec<Page<S>>);

/// A page, and the tools whose results the page shows.
///
/// A host shows the page in a sandbox, and sends it the arguments and the result of a tool. Put data for the page into the
/// structured content of the result. Put a text for the model, and for hosts without apps, into the content of the result.
///
/// Do not put untrusted text into the HTML: the page can call the tools of this server.
pub struct Page<S = ()> {
    uri: String,
    name: String,
    html: Arc<str>,
    description: Option<String>,
    ui: PageUi,
    tools: Vec<(Tool<S>, ToolUi)>,
}

impl<S> Page<S> {
    /// Creates a page. `path` is the URI of the page without `ui://`, such as `clock/view.html`. `html` is a complete document.
    pub fn new(path: &str, name: impl Into<String>, html: impl Into<Arc<str>>) -> Self {
        Self {
            uri: format!("{SCHEME}{path}"),
            name: name.into(),
            html: html.into(),
            description: None,
            ui: PageUi::default(),
            tools: Vec::new(),
        }
    }

    /// Sets the description of the page.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the origins that the page uses. Default: no other origins, so scripts and styles must be in the document.
    #[must_use]
    pub fn csp(mut self, csp: Csp) -> Self {
        self.ui.csp = Some(csp);
        self
    }

    /// Sets the features of the browser that the page requests. Default: no features.
    #[must_use]
    pub fn permissions(mut self, permissions: Permissions) -> Self {
        self.ui.permissions = permissions;
        self
    }

    /// Sets the separate origin that the page requests, in the format of the host.
    #[must_use]
    pub fn domain(mut self, domain: impl Into<String>) -> Self {
        self.ui.domain = Some(domain.into());
        self
    }

    /// Sets whether the host draws a border and a background. Default: the host decides.
    #[must_use]
    pub fn prefers_border(mut self, prefers_border: bool) -> Self {
        self.ui.prefers_border = Some(prefers_border);
        self
    }

    /// Adds a tool whose results the page shows. The model and the page can call it.
    #[must_use]
    pub fn tool(mut self, tool: Tool<S>) -> Self {
        let ui = ToolUi::new(&self.uri);
        self.tools.push((tool, ui));
        self
    }

    /// Adds a tool that only the page calls, for example to load more data. A client that does not show apps would offer the tool
    /// to the model. Such a client therefore does not see the tool.
    ///
    /// Only the host enforces that the model cannot call the tool. The tool must therefore check permissions like any other tool.
    #[must_use]
    pub fn app_tool(mut self, tool: Tool<S>) -> Self
    where
        S: Clone + Send + Sync + 'static,
    {
        let ui = ToolUi::new(&self.uri).with_visibility([Visibility::App]);
        let tool = tool
            .visible_if(|session| supports_apps(session.revision(), session.client_capabilities()));
        self.tools.push((tool, ui));
        self
    }

    /// Adds a tool that only the model calls.
    #[must_use]
    pub fn model_tool(mut self, tool: Tool<S>) -> Self {
        let ui = ToolUi::new(&self.uri).with_visibility([Visibility::Model]);
        self.tools.push((tool, ui));
        self
    }
}

impl<S> std::fmt::Debug for Page<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Page")
            .field("uri", &self.uri)
            .field("ui", &self.ui)
            .finish_non_exhaustive()
    }
}

impl<S> Apps<S> {
    /// Creates a set without pages.
    pub fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a page and its tools. If the URI is not valid, or if two pages have the same URI, building the server fails.
    #[must_use]
    pub fn page(mut self, page: Page<S>) -> Self {
        self.0.push(page);
        self
    }
}

impl<S> Default for Apps<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> std::fmt::Debug for Apps<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.0).finish()
    }
}

impl<S: Clone + Send + Sync + 'static> Extension<S> for Apps<S> {
    fn id(&self) -> &str {
        EXTENSION
    }

    fn requires(&self) -> Vec<Requirement> {
        vec![Requirement::Capability("resources".to_owned())]
    }

    fn serves_all_clients(&self) -> bool {
        true
    }

    fn install(self, mut server: ServerBuilder<S>) -> ServerBuilder<S> {
        for page in self.0 {
            let meta = (page.ui != PageUi::default()).then(|| with_ui(None, &page.ui));
            let mut contents = TextResourceContents::new(&page.uri, &*page.html);
            contents.mime_type = Some(MIME_TYPE.to_owned());
            contents.meta = meta.clone();
            let contents =
                move || ResourceBody::Contents(vec![ResourceContents::Text(contents.clone())]);
            let resource = Resource::new(page.uri, page.name, contents).mime(MIME_TYPE);
            let resource = match page.description {
                Some(description) => resource.description(description),
                None => resource,
            };
            server = server.resource(match meta {
                Some(meta) => resource.meta(meta),
                None => resource,
            });
            for (tool, ui) in page.tools {
                let meta = with_ui(tool.definition().meta.clone(), &ui);
                server = server.tool(tool.meta(meta));
            }
        }
        server
    }
}

fn with_ui(meta: Option<Meta>, ui: &impl serde::Serialize) -> Meta {
    // The metadata consists of text, lists and booleans, which are always JSON.
    let ui = serde_json::to_value(ui).unwrap_or_default();
    meta.unwrap_or_default().with(UI, ui)
}

/// Returns whether the client of this call shows apps. This is the case if the client declares the extension with the MIME type
/// of apps, and the revision is 2025-06-18 or later; in older revisions, tools have no metadata. If this function returns
/// `false`, the user sees only the text of the result, so the text should be complete.
pub fn is_supported(cx: &Ctx) -> bool {
    supports_apps(cx.revision(), cx.client_capabilities())
}

fn supports_apps(revision: Revision, client: Option<&ClientCapabilities>) -> bool {
    if !revision.rules().titles_and_meta {
        return false;
    }
    let declared = client.and_then(|client| client.extensions.as_ref());
    let settings: Option<&JsonObject> = declared.and_then(|declared| declared.get(EXTENSION));
    let types = settings.and_then(|settings| settings.get("mimeTypes"));
    let types = types.and_then(Value::as_array);
    types.is_some_and(|types| types.iter().any(|mime| mime == MIME_TYPE))
}
