//! The items that the server of one mount lists, and their names at the gateway.

mod arguments;
mod pattern;
mod readings;
mod template;
mod transform;
mod uri;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, RwLock};

use mcp_client::Client;
use mcp_host::{model_name, nearest_name};
use mcp_protocol::{lock, read_lock, write_lock};
use mcp_types::Tool;
use serde_json::Value;

use self::arguments::ToolArguments;
pub(crate) use self::pattern::{RuledUri, UriPattern, UriSource};
pub(crate) use self::readings::{comparable, split_scheme};
pub(crate) use self::template::expand;
pub use self::transform::Transform;
pub(crate) use self::uri::{authority_end, check_template, scheme, scheme_without_host};

/// Maximum number of items of one kind that are kept for a server.
const MAX_ITEMS: usize = 10_000;
/// Maximum number of resource templates that are kept for a server. If a client requests a URI that no server lists, the gateway
/// compares the URI with every template.
const MAX_TEMPLATES: usize = 1_000;
/// Maximum total size of the resource templates of a server, in bytes.
const MAX_TEMPLATE_BYTES: usize = 256 << 10;
/// Maximum total size of the names or URIs that are kept for a server, in bytes. The limit applies to each kind of item
/// separately.
const MAX_BYTES: usize = 4 << 20;

/// The names and URIs of one server.
pub(crate) struct Catalog {
    /// The prefix of the server's names at the gateway.
    namespace: Arc<str>,
    transform: RwLock<Arc<Transform>>,
    /// Whether each connection for a client has the credentials of the client's user. If so, the catalog records only the items
    /// that the server lists for the gateway itself, not the items that the server lists for users.
    has_accounts: bool,
    items: Mutex<Items>,
}

#[derive(Default)]
struct Items {
    tools: Names,
    listed_tools: HashSet<String>,
    /// Whether every list has marked a tool as read-only, by the name of the tool at the server.
    read_only: HashMap<String, bool>,
    arguments: ToolArguments,
    /// Whether the server has listed its tools.
    has_tools: bool,
    prompts: Names,
    listed_prompts: HashSet<String>,
    resources: HashSet<String>,
    templates: Vec<String>,
    /// The URIs of the resources and templates that were listed for clients.
    listed_uris: HashSet<String>,
    /// Total size of `listed_uris`, in bytes.
    listed_bytes: usize,
}

/// The items whose name at the server cannot be computed from the name at the gateway.
#[derive(Default)]
struct Names {
    /// The names at the server, by the names at the gateway.
    by_exposed: HashMap<String, String>,
    bytes: usize,
}

impl Names {
    fn add(&mut self, exposed: &str, name: &str) {
        if self.by_exposed.contains_key(exposed) {
            return;
        }
        let bytes = exposed.len() + name.len();
        if self.by_exposed.len() >= MAX_ITEMS || self.bytes + bytes > MAX_BYTES {
            // These names are learned again from the next lists.
            *self = Self::default();
        }
        if bytes <= MAX_BYTES {
            self.bytes += bytes;
            self.by_exposed.insert(exposed.to_owned(), name.to_owned());
        }
    }
}

impl Items {
    /// Records whether a list marks a tool as read-only. A tool is read-only only if all lists mark it, because a server can list
    /// different tools for different clients.
    fn record_read_only(&mut self, name: &str, is_read_only: bool) {
        if let Some(known) = self.read_only.get_mut(name) {
            *known &= is_read_only;
        } else if self.read_only.len() < MAX_ITEMS && name.len() <= MAX_BYTES / MAX_ITEMS {
            self.read_only.insert(name.to_owned(), is_read_only);
        }
    }

    /// Returns whether a tool is known to fulfil the settings: it has each argument with a fixed value, and is read-only if the
    /// settings require this. If the tool did not have the argument, the value would have no effect, and the tool would be less
    /// restricted than configured.
    fn offers(&self, transform: &Transform, tool: &str) -> bool {
        let mut fixed = transform.fixed_arguments_of(tool);
        (!transform.is_read_only || self.read_only.get(tool) == Some(&true))
            && fixed.all(|argument| self.arguments.has(tool, argument))
    }
}

impl Catalog {
    pub(crate) fn new(namespace: Arc<str>, transform: Transform) -> Self {
        Self {
            namespace,
            transform: RwLock::new(Arc::new(transform)),
            has_accounts: false,
            items: Mutex::default(),
        }
    }

    /// Sets whether each user of the server has an account.
    pub(crate) fn with_accounts(mut self, has_accounts: bool) -> Self {
        self.has_accounts = has_accounts;
        self
    }

    /// Returns the name at the gateway of a tool that is listed for a client; `None` if the gateway hides it. `schema` is the
    /// input schema of the tool as JSON text.
    pub(crate) fn tool_of_client(
        &self,
        name: &str,
        is_read_only: bool,
        schema: Option<&str>,
    ) -> Option<String> {
        if !self.has_accounts {
            if let Some(schema) = schema {
                self.record_arguments(name, schema);
            }
            return self.record_tool(name, is_read_only);
        }
        let transform = self.transform();
        let exposed = model_name(&self.namespace, transform.shown_name(name)?);
        let is_allowed = is_read_only || !transform.is_read_only;
        (is_allowed && self.tool(&exposed).as_deref() == Some(name)).then_some(exposed)
    }

    /// Returns the name at the gateway of a prompt that is listed for a client; `None` if the gateway cannot serve requests for
    /// the prompt.
    pub(crate) fn prompt_of_client(&self, name: &str) -> Option<String> {
        if !self.has_accounts {
            return Some(self.record_prompt(name));
        }
        let exposed = model_name(&self.namespace, name);
        (self.prompt(&exposed).as_deref() == Some(name)).then_some(exposed)
    }

    /// Returns the configured changes to the tools.
    pub(crate) fn transform(&self) -> Arc<Transform> {
        Arc::clone(&read_lock(&self.transform))
    }

    /// Replaces the configured changes to the tools, and reports changes that have no effect. A known name stays valid if the new
    /// changes give the same name.
    pub(crate) fn set_transform(&self, transform: Transform) {
        *write_lock(&self.transform) = Arc::new(transform);
        self.report();
    }

    /// Replaces the tools.
    pub(crate) fn learn_tools(&self, tools: &[Tool]) {
        {
            let mut items = lock(&self.items);
            items.tools = Names::default();
            items.read_only.clear();
            items.arguments = ToolArguments::default();
            items.has_tools = true;
            let listed = within_limits(tools, |tool| &tool.name);
            items.listed_tools = listed.map(|tool| tool.name.clone()).collect();
            for tool in within_limits(tools, |tool| &tool.name) {
                // The conversion cannot fail, because a schema is a JSON object.
                let schema = serde_json::to_value(&tool.input_schema).unwrap_or_default();
                items.arguments.learn(&tool.name, &schema);
            }
        }
        for tool in within_limits(tools, |tool| &tool.name) {
            let hint = tool.annotations.as_ref();
            let is_read_only = hint.and_then(|hint| hint.read_only_hint) == Some(true);
            self.record_tool(&tool.name, is_read_only);
        }
        self.report();
    }

    /// Logs the settings of tools that do not match the tools that the server lists.
    pub(crate) fn report(&self) {
        let (items, transform, mount) = (lock(&self.items), self.transform(), &self.namespace);
        if !items.has_tools {
            return;
        }
        for name in transform.tool_names() {
            if !items.listed_tools.contains(name) {
                tracing::warn!(%mount, tool = name, "a setting names a tool that the server does not list, so it has no effect");
            }
        }
        for (tool, argument) in transform.fixed_arguments() {
            if items.arguments.contains(tool) && !items.arguments.has(tool, argument) {
                let nearest = nearest_name(argument, items.arguments.names(tool));
                let hint =
                    nearest.map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
                tracing::warn!(%mount, tool, argument, "a setting fixes an argument that the tool does not have, so the tool is not offered{hint}");
            }
        }
    }

    /// Replaces the prompts.
    pub(crate) async fn learn_prompts(&self, client: &Client) {
        if client.capabilities().prompts.is_none() {
            return;
        }
        match client.list_prompts().await {
            Ok(prompts) => {
                {
                    let mut items = lock(&self.items);
                    items.prompts = Names::default();
                    items.listed_prompts.clear();
                }
                for prompt in within_limits(&prompts, |prompt| &prompt.name) {
                    self.record_prompt(&prompt.name);
                }
            }
            Err(error) => self.not_listed("prompts", &error),
        }
    }

    /// Replaces the resources and templates.
    pub(crate) async fn learn_resources(&self, client: &Client) {
        if client.capabilities().resources.is_none() {
            return;
        }
        match client.list_resources().await {
            Ok(resources) => {
                let uris = within_limits(&resources, |resource| &resource.uri);
                let uris = uris.map(|resource| resource.uri.clone()).collect();
                lock(&self.items).resources = uris;
            }
            Err(error) => self.not_listed("resources", &error),
        }
        match client.list_resource_templates().await {
            Ok(templates) => {
                let uris = templates.iter().map(|template| &*template.uri_template);
                let used = usable_templates(uris);
                if used.len() < templates.len() {
                    let (mount, listed, used) = (&self.namespace, templates.len(), used.len());
                    tracing::warn!(%mount, listed, used, "resource templates of the server are not used to find its resources, because they are too many, too long or have too many expressions");
                }
                lock(&self.items).templates = used;
            }
            Err(error) => self.not_listed("resource templates", &error),
        }
    }

    /// Returns the name of the mount.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    fn not_listed(&self, kind: &str, error: &mcp_client::Error) {
        tracing::warn!(mount = %self.namespace, %error, "the {kind} of the server cannot be listed");
    }

    /// Records the argument names of a listed tool, if the settings fix arguments of this tool. `schema` is JSON text. Reports a
    /// tool that loses a fixed argument because its schemas differ between lists.
    pub(crate) fn record_arguments(&self, tool: &str, schema: &str) {
        let transform = self.transform();
        let fixed: Vec<_> = transform.fixed_arguments_of(tool).collect();
        if fixed.is_empty() {
            return;
        }
        let schema: Value = serde_json::from_str(schema).unwrap_or_default();
        let is_complete = |items: &Items| fixed.iter().all(|name| items.arguments.has(tool, name));
        let mut items = lock(&self.items);
        let was_complete = is_complete(&items);
        items.arguments.learn(tool, &schema);
        let is_lost = was_complete && !is_complete(&items);
        drop(items);
        if is_lost {
            self.report();
        }
    }

    /// Adds or changes a tool of a list. Returns its name at the gateway; `None` if the gateway hides it.
    pub(crate) fn record_tool(&self, name: &str, is_read_only: bool) -> Option<String> {
        let mut items = lock(&self.items);
        let transform = self.transform();
        items.record_read_only(name, is_read_only);
        let shown = transform.shown_name(name)?;
        if !items.offers(&transform, name) {
            return None;
        }
        let exposed = model_name(&self.namespace, shown);
        if self.plain(&exposed) != Some(name) {
            items.tools.add(&exposed, name);
        }
        Some(exposed)
    }

    /// Adds a prompt of a list. Returns its name at the gateway.
    pub(crate) fn record_prompt(&self, name: &str) -> String {
        let exposed = model_name(&self.namespace, name);
        let mut items = lock(&self.items);
        if items.listed_prompts.len() < MAX_ITEMS && name.len() <= MAX_BYTES / MAX_ITEMS {
            items.listed_prompts.insert(name.to_owned());
        }
        if self.plain(&exposed) != Some(name) {
            items.prompts.add(&exposed, name);
        }
        exposed
    }

    /// Returns the name at the server of the tool that has this name at the gateway.
    pub(crate) fn tool(&self, exposed: &str) -> Option<String> {
        let (items, transform) = (lock(&self.items), self.transform());
        let known = items.tools.by_exposed.get(exposed).map(String::as_str);
        let name = known.or_else(|| {
            let shown = self.plain_exactly(exposed)?;
            Some(transform.server_name(shown))
        })?;
        // A hidden tool cannot be called, nor a renamed one by its former name.
        let shown = transform.shown_name(name)?;
        (items.offers(&transform, name) && model_name(&self.namespace, shown) == exposed)
            .then(|| name.to_owned())
    }

    /// Returns the name at the server of the prompt that has this name at the gateway.
    pub(crate) fn prompt(&self, exposed: &str) -> Option<String> {
        let items = lock(&self.items);
        let known = items.prompts.by_exposed.get(exposed).map(String::as_str);
        let name = known.or_else(|| self.plain_exactly(exposed))?;
        Some(name.to_owned())
    }

    /// Returns the part of a name after the prefix of the mount; `None` if the name does not have the prefix.
    fn plain<'a>(&self, exposed: &'a str) -> Option<&'a str> {
        exposed.strip_prefix(&*self.namespace)?.strip_prefix("__")
    }

    /// Returns the part of a name after the prefix of the mount; `None` if the gateway has shortened or changed the name.
    fn plain_exactly<'a>(&self, exposed: &'a str) -> Option<&'a str> {
        self.plain(exposed)
            .filter(|name| model_name(&self.namespace, name) == exposed)
    }

    /// Returns whether the server has listed a tool (with `prompts`: a prompt) whose name fulfils the condition `matches`.
    pub(crate) fn lists_name(&self, prompts: bool, matches: impl Fn(&str) -> bool) -> bool {
        let items = lock(&self.items);
        let mut names = match prompts {
            true => items.listed_prompts.iter(),
            false => items.listed_tools.iter(),
        };
        names.any(|name| matches(name))
    }

    /// Returns whether the server has listed this tool or prompt.
    pub(crate) fn lists_item(&self, is_prompt: bool, name: &str) -> bool {
        let items = lock(&self.items);
        match is_prompt {
            true => items.listed_prompts.contains(name),
            false => items.listed_tools.contains(name),
        }
    }

    /// Returns the numbers of tools, prompts and resources that the server has listed for the gateway.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let items = lock(&self.items);
        (
            items.listed_tools.len(),
            items.listed_prompts.len(),
            items.resources.len(),
        )
    }

    /// Returns whether the server listed this prompt.
    pub(crate) fn lists_prompt(&self, name: &str) -> bool {
        lock(&self.items).listed_prompts.contains(name)
    }

    /// Returns whether the server listed this resource.
    pub(crate) fn lists_resource(&self, uri: &str) -> bool {
        lock(&self.items).resources.contains(uri)
    }

    /// Returns whether the server listed this resource or template.
    pub(crate) fn lists_uri(&self, uri: &str) -> bool {
        let items = lock(&self.items);
        items.resources.contains(uri) || items.templates.iter().any(|template| template == uri)
    }

    /// Returns the length of the literal parts of the template that matches the URI best; `None` if no template matches.
    pub(crate) fn template_match(&self, uri: &str) -> Option<usize> {
        let items = lock(&self.items);
        let templates = items.templates.iter();
        templates
            .filter_map(|template| template::match_template(template, uri))
            .max()
    }

    /// Records a resource or template that was listed for a client. A server can list different resources for each session.
    pub(crate) fn record_uri(&self, uri: &str) {
        let mut items = lock(&self.items);
        let is_long = uri.len() > MAX_BYTES / MAX_ITEMS;
        if self.has_accounts || is_long || items.listed_uris.contains(uri) {
            return;
        }
        let bytes = items.listed_bytes + uri.len();
        if items.listed_uris.len() >= MAX_ITEMS || bytes > MAX_BYTES {
            // The URIs are recorded again from the next lists.
            items.listed_uris.clear();
            items.listed_bytes = 0;
        }
        items.listed_bytes += uri.len();
        items.listed_uris.insert(uri.to_owned());
    }

    /// Returns whether this resource or template was listed for a client.
    pub(crate) fn was_listed(&self, uri: &str) -> bool {
        lock(&self.items).listed_uris.contains(uri)
    }

    /// Returns whether a listed resource or template has this scheme.
    pub(crate) fn has_scheme(&self, wanted: &str) -> bool {
        let items = lock(&self.items);
        let mut uris = items.resources.iter().chain(&items.templates);
        uris.any(|uri| {
            scheme_without_host(uri).is_some_and(|scheme| scheme.eq_ignore_ascii_case(wanted))
        })
    }
}

/// Returns the first items, up to the limits.
fn within_limits<'a, T>(
    items: &'a [T],
    name: impl Fn(&T) -> &String + 'a,
) -> impl Iterator<Item = &'a T> + 'a {
    let mut bytes = 0;
    items.iter().take(MAX_ITEMS).take_while(move |item| {
        bytes += name(item).len();
        bytes <= MAX_BYTES
    })
}

/// Returns the templates that the gateway can quickly compare with a URI, up to the limits.
fn usable_templates<'a>(templates: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut bytes = 0;
    let simple = templates.filter(|template| template::is_simple(template));
    let used = simple.take(MAX_TEMPLATES).take_while(|template| {
        bytes += template.len();
        bytes <= MAX_TEMPLATE_BYTES
    });
    used.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
