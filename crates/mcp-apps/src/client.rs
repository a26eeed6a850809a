//! Reads the pages of a server, for a host.

use std::fmt;

use data_encoding::BASE64;
use mcp_client::types::{CallToolResult, JsonObject, Meta, Tool};
use mcp_client::{Client, ClientBuilder, Extension, ResourceContents};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{EXTENSION, MIME_TYPE, PageUi, SCHEME, ToolUi, UI, policy};

/// Maximum size of a page, in bytes: 4 MiB.
const MAX_HTML: usize = 4 << 20;

/// The name of the metadata of a tool in older servers.
const OLD_RESOURCE_URI: &str = "ui/resourceUri";

/// The declaration that a host supports apps, for [`ClientBuilder::with`].
#[derive(Debug, Clone, Copy, Default)]
pub struct HostApps(());

impl HostApps {
    /// Creates the declaration that the host shows pages in HTML.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Extension for HostApps {
    fn id(&self) -> &str {
        EXTENSION
    }

    fn settings(&self) -> JsonObject {
        JsonObject::from_iter([("mimeTypes".to_owned(), json!([MIME_TYPE]))])
    }

    fn install(self, client: ClientBuilder) -> ClientBuilder {
        client
    }
}

/// The apps of one server.
///
/// The host shows a [`View`] in a sandbox of another origin, with its [policy](View::content_security_policy). The host passes
/// tool calls of the page to [`call_tool`](Self::call_tool), so the page reaches only the server that it is from.
#[derive(Debug, Clone)]
pub struct RemoteApps {
    client: Client,
    allows_local: bool,
}

/// A page of a server. Its HTML is not trusted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct View {
    /// The URI of the page.
    pub uri: String,
    /// The HTML document.
    pub html: String,
    /// The metadata of the page.
    pub ui: PageUi,
    allows_local: bool,
}

impl View {
    /// Returns the value of the header `Content-Security-Policy` for the page: the directives that the specification requires,
    /// with the origins that the page declared. The policy leaves out values that are not origins with TLS. It also leaves out IP
    /// addresses and this machine, unless the host [allows](RemoteApps::allow_local_origins) them.
    pub fn content_security_policy(&self) -> String {
        policy::content_security_policy(&self.ui, self.allows_local)
    }

    /// Returns the value of the frame's attribute `allow`. It contains the features that the host grants.
    pub fn allow(&self) -> String {
        policy::allow(&self.ui)
    }
}

impl RemoteApps {
    /// Creates a value with which a host uses the apps of a server.
    pub fn new(client: &Client) -> Self {
        Self {
            client: client.clone(),
            allows_local: false,
        }
    }

    /// Allows pages to reach IP addresses and this machine, even without TLS. Use it only for a server on this machine, because
    /// the page of a remote server could attack programs in the network of the user.
    #[must_use]
    pub fn allow_local_origins(mut self) -> Self {
        self.allows_local = true;
        self
    }

    /// Returns the metadata of a tool. Returns default values if the tool has no metadata.
    ///
    /// # Errors
    /// The metadata is malformed.
    pub fn tool_ui(tool: &Tool) -> Result<ToolUi, Error> {
        let item = format!("tool {:?}", tool.name);
        let mut ui: ToolUi = read_ui(&item, tool.meta.as_ref())?;
        if ui.resource_uri.is_none() {
            let old = tool
                .meta
                .as_ref()
                .and_then(|meta| meta.get(OLD_RESOURCE_URI));
            ui.resource_uri = old.and_then(Value::as_str).map(str::to_owned);
        }
        match &ui.resource_uri {
            Some(uri) if !uri.starts_with(SCHEME) => Err(Error::new(
                ErrorKind::Metadata,
                format!("{item}: the URI {uri:?} of its page must begin with {SCHEME}"),
            )),
            _ => Ok(ui),
        }
    }

    /// Reads the page of a tool; `None` if the tool has no page.
    ///
    /// # Errors
    /// The metadata is malformed, the server does not have the page, the page does not have the MIME type of apps, or it has more
    /// than 4 MiB. The host then shows the text of the result.
    pub async fn open(&self, tool: &Tool) -> Result<Option<View>, Error> {
        match Self::tool_ui(tool)?.resource_uri {
            Some(uri) => self.read(uri).await.map(Some),
            None => Ok(None),
        }
    }

    async fn read(&self, uri: String) -> Result<View, Error> {
        let refuse = |what: &str| Error::new(ErrorKind::Content, format!("page {uri}: {what}"));
        let result = self
            .client
            .read_resource(&*uri)
            .await
            .map_err(Error::client)?;
        let contents = result.contents.into_iter().find(|contents| match contents {
            ResourceContents::Text(text) => text.uri == uri,
            ResourceContents::Blob(blob) => blob.uri == uri,
            _ => false,
        });
        let (mime, html, meta) = match contents {
            Some(ResourceContents::Text(text)) => (text.mime_type, text.text, text.meta),
            Some(ResourceContents::Blob(blob)) => {
                let html = BASE64.decode(blob.blob.as_bytes()).ok();
                let html = html.and_then(|html| String::from_utf8(html).ok());
                let html = html.ok_or_else(|| refuse("the decoded base64 content is not UTF-8"))?;
                (blob.mime_type, html, blob.meta)
            }
            _ => return Err(refuse("the server sent no content for this URI")),
        };
        if mime.as_deref() != Some(MIME_TYPE) {
            let mime = mime.unwrap_or_default();
            return Err(refuse(&format!(
                "the MIME type of the page is {mime:?}, but must be {MIME_TYPE}"
            )));
        }
        if html.len() > MAX_HTML {
            return Err(refuse(&format!("the page has more than {MAX_HTML} bytes")));
        }
        let ui = read_ui(&format!("page {uri}"), meta.as_ref())?;
        Ok(View {
            uri,
            html,
            ui,
            allows_local: self.allows_local,
        })
    }

    /// Calls a tool for a page of the same server.
    ///
    /// # Errors
    /// [`ErrorKind::Forbidden`] if only the model may call the tool; nothing was sent. For all other kinds, the call failed.
    pub async fn call_tool(
        &self,
        tool: &Tool,
        arguments: impl Into<Value>,
    ) -> Result<CallToolResult, Error> {
        if !Self::tool_ui(tool)?.is_for_app() {
            let problem = format!(
                "apps cannot call the tool {:?}; its visibility does not include \"app\"",
                tool.name
            );
            return Err(Error::new(ErrorKind::Forbidden, problem));
        }
        let called = self.client.call_tool(&tool.name, arguments).await;
        called.map_err(Error::client)
    }
}

fn read_ui<T: DeserializeOwned + Default>(item: &str, meta: Option<&Meta>) -> Result<T, Error> {
    let Some(ui) = meta.and_then(|meta| meta.get(UI)) else {
        return Ok(T::default());
    };
    serde_json::from_value(ui.clone()).map_err(|error| {
        let problem = format!("{item}: the member {UI:?} of its metadata is malformed: {error}");
        Error::new(ErrorKind::Metadata, problem)
    })
}

/// The kind of an [`Error`], returned by [`Error::kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The metadata of a tool or page is malformed.
    Metadata,
    /// The page cannot be used.
    Content,
    /// Pages may not call the tool.
    Forbidden,
    /// The request failed.
    Client,
}

/// An error of [`RemoteApps`].
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<mcp_client::Error>,
}

impl Error {
    fn new(kind: ErrorKind, message: String) -> Self {
        Self {
            kind,
            message,
            source: None,
        }
    }

    fn client(error: mcp_client::Error) -> Self {
        Self {
            kind: ErrorKind::Client,
            message: error.to_string(),
            source: Some(error),
        }
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the error of the failed request, for [`ErrorKind::Client`].
    pub fn client_error(&self) -> Option<&mcp_client::Error> {
        self.source.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().and_then(std::error::Error::source)
    }
}
