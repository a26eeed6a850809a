//! Elicitation: forms and URLs that servers show to the user.
//!
//! Specification: [elicitation](https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation).

use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_client::types::{ElicitAction, PrimitiveSchemaDefinition};
use mcp_client::{ElicitForm, ElicitResult, ElicitUrl, json_hash};
use mcp_protocol::{BoxFuture, Rate, TokenBucket, lock};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use url::{Host as UrlHost, Url};

use super::limits::ServerLimits;
use crate::consent::{ActionKind, Basis, ServerGate};
use crate::text::{plain_url, printable, quote_lines};

/// A handler that shows the elicitation requests of servers, which are forms or URLs, to the user. A closure from
/// [`ElicitationRequest`] to a future with an [`ElicitResult`] implements it.
pub trait ElicitationHandler: Send + Sync + 'static {
    /// Shows the name of the server, and the form or the whole URL with its host. Returns the answer of the user. Opens a URL
    /// only if the user agrees, and only in a browser. Never fetches the URL before the user agrees.
    ///
    /// # Cancel safety
    /// The host drops the future when the server cancels its request or the connection ends. In this case, remove the form from
    /// the display.
    fn show(&self, request: ElicitationRequest) -> impl Future<Output = ElicitResult> + Send;
}

impl<F, A> ElicitationHandler for F
where
    F: Fn(ElicitationRequest) -> A + Send + Sync + 'static,
    A: Future<Output = ElicitResult> + Send,
{
    fn show(&self, request: ElicitationRequest) -> impl Future<Output = ElicitResult> + Send {
        self(request)
    }
}

/// A request of a server to the user. [`fmt::Display`] writes the request as text for a terminal. In this text, each line from
/// the server begins with `>`. Control characters, and characters that change the direction of text, are escaped.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ElicitationRequest {
    /// The name that the configuration gives the server. The server does not choose this name.
    pub server: String,
    /// Whether the application [trusts](crate::HostBuilder::trust) the server.
    pub is_trusted: bool,
    /// The content of the request. Its text is exactly the text from the server. Use [`printable`] before you show it.
    pub content: ElicitationContent,
}

/// The content of an elicitation request.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ElicitationContent {
    /// A form to fill in.
    Form(ElicitForm),
    /// A URL to open.
    #[non_exhaustive]
    Url {
        /// The message and the URL. The scheme of the URL is `https`, or `http` if the host is this machine. The URL has no user
        /// name, and is in the form in which browsers read it.
        url: ElicitUrl,
        /// The host of the URL. A name with characters that are not ASCII is in its ASCII form (`xn--`).
        host: String,
    },
}

impl ElicitationRequest {
    /// Creates the result `accept`. `content` is an object with the values of the form's fields; it is ignored for a URL.
    pub fn accept(&self, content: impl Into<Value>) -> ElicitResult {
        match &self.content {
            ElicitationContent::Form(form) => form.accept(content),
            ElicitationContent::Url { url, .. } => url.accept(),
        }
    }

    /// Returns the name of the first field of the form whose value is not valid, so that the user can enter it again. Returns
    /// `None` if `content` can be [accepted](Self::accept), and for a URL.
    pub fn invalid_field(&self, content: &Value) -> Option<String> {
        match &self.content {
            ElicitationContent::Form(form) => form.invalid_field(content),
            ElicitationContent::Url { .. } => None,
        }
    }

    /// Creates the result `decline`: the user has refused.
    pub fn decline(&self) -> ElicitResult {
        ElicitResult::new(ElicitAction::Decline)
    }

    /// Creates the result `cancel`: the user has closed the form without a choice.
    pub fn cancel(&self) -> ElicitResult {
        ElicitResult::new(ElicitAction::Cancel)
    }
}

impl fmt::Display for ElicitationRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = &self.server;
        let mut text = String::new();
        match &self.content {
            ElicitationContent::Form(form) => {
                write!(text, "the server {server:?} asks you to fill in a form:")?;
                text.push_str(&quote_lines(&form.params.message));
                let schema = &form.params.requested_schema;
                let required = schema.required.as_deref().unwrap_or_default();
                for (name, field) in schema.properties.iter() {
                    let mark = match required.iter().any(|required| required == name) {
                        true => " (required)",
                        false => "",
                    };
                    write!(text, "\nfield {name:?}{mark}:")?;
                    text.push_str(&quote_lines(&field_text(field)));
                }
            }
            ElicitationContent::Url { url, host } => {
                write!(
                    text,
                    "the server {server:?} asks you to open a page of {host:?}:"
                )?;
                text.push_str(&quote_lines(&url.params.message));
                write!(text, "\nURL: {}", url.params.url)?;
            }
        }
        f.write_str(&printable(&text))
    }
}

/// Returns a text for a field of a form: the title, the description and the rest of its schema.
fn field_text(field: &PrimitiveSchemaDefinition) -> String {
    let Ok(Value::Object(mut schema)) = serde_json::to_value(field) else {
        return String::new();
    };
    let mut lines = Vec::new();
    for member in ["title", "description"] {
        if let Some(Value::String(text)) = schema.shift_remove(member) {
            lines.push(text);
        }
    }
    lines.push(Value::Object(schema).to_string());
    lines.join("\n")
}

pub(super) type ShowForm =
    Arc<dyn Fn(ElicitationRequest) -> BoxFuture<'static, ElicitResult> + Send + Sync>;

/// Returns a closure that calls the handler.
pub(super) fn show_form(forms: impl ElicitationHandler) -> ShowForm {
    let forms = Arc::new(forms);
    Arc::new(move |request| {
        let forms = Arc::clone(&forms);
        Box::pin(async move { forms.show(request).await })
    })
}

/// The elicitation requests that one server has sent.
pub(super) struct Elicitations {
    show: ShowForm,
    gate: Arc<ServerGate>,
    /// The capacity for requests that wait for the user.
    open: Semaphore,
    bucket: Mutex<TokenBucket>,
    limits: ServerLimits,
}

impl Elicitations {
    pub(super) fn new(show: ShowForm, gate: Arc<ServerGate>, limits: &ServerLimits) -> Self {
        Self {
            show,
            gate,
            open: Semaphore::new(limits.max_open_elicitations.min(Semaphore::MAX_PERMITS)),
            bucket: Mutex::default(),
            limits: limits.clone(),
        }
    }

    pub(super) async fn form(&self, form: ElicitForm) -> ElicitResult {
        let schema = serde_json::to_value(&form.params.requested_schema).unwrap_or_default();
        let fields = form.params.requested_schema.properties.iter().len();
        let details = json!({ "sha256": json_hash(&schema), "fields": fields });
        let content = ElicitationContent::Form(form);
        self.ask(ActionKind::ElicitForm, details, Ok(content)).await
    }

    pub(super) async fn url(&self, mut url: ElicitUrl) -> ElicitResult {
        let details = json!({ "target": plain_url(&url.params.url) });
        let content = web_host(&url.params.url).map(|(text, host)| {
            url.params.url = text;
            ElicitationContent::Url { url, host }
        });
        self.ask(ActionKind::ElicitUrl, details, content).await
    }

    async fn ask(
        &self,
        kind: ActionKind,
        mut details: Value,
        content: Result<ElicitationContent, String>,
    ) -> ElicitResult {
        let gate = &self.gate;
        let mut refuse = |basis, reason: String, action| {
            tracing::warn!(server = gate.server(), %kind, reason, "an elicitation request is not shown");
            details["reason"] = reason.into();
            gate.refuse(kind, basis, details.clone());
            ElicitResult::new(action)
        };
        let rate = Rate::per(Duration::from_secs(60), self.limits.elicitations_per_minute);
        let taken = lock(&self.bucket).take(1.0, rate, Instant::now().into_std());
        if let Err(refused) = taken {
            if !refused.is_first {
                return ElicitResult::new(ElicitAction::Cancel);
            }
            let reason = format!(
                "more than {} requests per minute (ServerLimits::elicitations_per_minute)",
                self.limits.elicitations_per_minute
            );
            return refuse(Basis::Limit, reason, ElicitAction::Cancel);
        }
        let content = match content {
            Ok(content) => content,
            Err(reason) => return refuse(Basis::Limit, reason, ElicitAction::Decline),
        };
        if gate.is_denied_by_rule(kind) {
            let reason = "a rule of the policy denies it".to_owned();
            return refuse(Basis::Rule, reason, ElicitAction::Decline);
        }
        let Ok(_open) = self.open.try_acquire() else {
            let reason = format!(
                "{} requests wait for the user (ServerLimits::max_open_elicitations)",
                self.limits.max_open_elicitations
            );
            return refuse(Basis::Limit, reason, ElicitAction::Cancel);
        };
        let request = ElicitationRequest {
            server: gate.server().to_owned(),
            is_trusted: gate.is_trusted(),
            content,
        };
        let result = (self.show)(request).await;
        let is_accepted = result.action == ElicitAction::Accept;
        match gate.record(kind, is_accepted, Basis::Person, details) {
            Ok(()) => result,
            Err(reason) => {
                tracing::warn!(server = gate.server(), %kind, reason, "the answer is not sent");
                ElicitResult::new(ElicitAction::Cancel)
            }
        }
    }
}

/// Returns the URL in the form in which browsers read it, and its host.
///
/// # Errors
/// The URL must not be opened: it is neither `https` nor `http` on this machine, or it contains a user name, which could
/// imitate a host.
fn web_host(text: &str) -> Result<(String, String), String> {
    let url = Url::parse(text).map_err(|error| format!("the URL is invalid: {error}"))?;
    let Some(host) = url.host() else {
        return Err("the URL has no host".to_owned());
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the URL has a user name".to_owned());
    }
    let is_local = match &host {
        UrlHost::Domain(name) => *name == "localhost" || name.ends_with(".localhost"),
        UrlHost::Ipv4(address) => address.is_loopback(),
        UrlHost::Ipv6(address) => address.is_loopback(),
    };
    match url.scheme() {
        "https" => {}
        "http" if is_local => {}
        "http" => return Err("the URL is http, but its host is not this machine".to_owned()),
        _ => return Err("the URL is neither https nor http".to_owned()),
    }
    Ok((url.to_string(), host.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_and_local_http_urls_are_accepted() {
        for (url, host) in [
            ("https://example.com/a?b", "example.com"),
            ("http://127.0.0.1:8080/", "127.0.0.1"),
            ("http://[::1]/", "[::1]"),
            ("http://localhost/", "localhost"),
            ("https://exampl\u{435}.com/", "xn--exampl-8of.com"),
            ("https:\\\\evil.example\\@bank.example/", "evil.example"),
        ] {
            assert_eq!(web_host(url).unwrap().1, host, "{url}");
        }
        for url in [
            "http://example.com/",
            "http://localhost.example.com/",
            "http://127.0.0.1.example.com/",
            "https://bank.example@evil.example/",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "vscode://x/y",
            "data:text/html,x",
            "example.com",
        ] {
            assert!(web_host(url).is_err(), "{url}");
        }
    }
}
