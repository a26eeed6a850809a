//! Composition: adds the items of one server to another server.

use std::sync::Arc;

use mcp_protocol::Reply;
use mcp_types::method;

use super::ServerBuilder;
use super::core::Parts;
use super::settings::{GuardedRequest, RequestCheck};
use crate::handler::layered::layered;
use crate::handler::output::{Finish as _, FinishResource, ForPrompt, ForResource, ForTool, Kind};
use crate::handler::{Call, Erased};
use crate::registry::access::{AccessCheck, ForAccess};
use crate::registry::completion::{BoundCompleters, ForCompletion};
use crate::registry::lister::{self, FinishResourceList};
use crate::registry::tool::check_name;
use crate::template::UriTemplate;
use crate::{HandlerError, RegistrationError};

impl<S: Clone + Send + Sync + 'static> ServerBuilder<S> {
    /// Adds the tools, prompts and resources of another server. The added items keep the state and the [guards](Self::guard) of
    /// the other server.
    ///
    /// The guards of this server run first, for the items of both servers. The guards of the other server run only when a client
    /// calls its tools, fetches its prompts, reads its resources or completes their arguments; they do not run for lists. For a
    /// subscription to a resource of the other server, these guards receive a read of the resource.
    ///
    /// The extensions and experimental capabilities of the other server are declared too; if both servers declare the same
    /// extension or capability, the settings of this server apply. All other settings of the other server are ignored, for
    /// example instructions, deadline and task store.
    ///
    /// [`build`](Self::build) reports an error for each name or URI that both servers use, and if
    /// both have a [data source](Self::list_resources).
    pub fn merge<T>(self, other: ServerBuilder<T>) -> Self {
        let mut parts = *other.parts;
        keep_layers(&mut parts, None);
        keep_guards(&mut parts, None);
        self.include(parts)
    }

    /// Adds the tools, prompts and resources of another server under a prefix. In all other respects, this method works like
    /// [`merge`](Self::merge).
    ///
    /// Tools and prompts are renamed to `{prefix}_{name}`. In URIs the prefix is inserted after
    /// `://`: with the prefix `weather`, `data://today` becomes `data://weather/today`. Guards of
    /// the other server see names and URIs without the prefix. Links in results are not changed, so
    /// a handler that returns the URI of another resource must include the prefix.
    ///
    /// [`build`](Self::build) reports an error for each tool name that is invalid with the prefix, and for each registered URI
    /// without `://`. If the other server has resources, the prefix may contain only the characters `A-Z a-z 0-9 - . _ ~`. A URI
    /// without `://` from a [data source](Self::list_resources) is listed unchanged.
    ///
    /// ```
    /// use mcp_server::{Server, Tool};
    ///
    /// let weather = Server::builder("weather", "1.0.0").tool(Tool::new("today", || "sunny"));
    /// let server = Server::builder("home", "1.0.0").mount("weather", weather);
    /// # let _ = server; // tools/list has "weather_today"
    /// ```
    pub fn mount<T>(self, prefix: &str, other: ServerBuilder<T>) -> Self {
        let mut parts = *other.parts;
        keep_layers(&mut parts, Some(prefix));
        keep_guards(&mut parts, Some(prefix));
        let problem = |what: &str, name: &str, problem: String| {
            RegistrationError::new(format!("{what} {name:?} under {prefix:?}: {problem}"))
        };
        for tool in &mut parts.tools {
            let name = format!("{prefix}_{}", tool.definition.name);
            if let Err(why) = check_name(&name) {
                parts
                    .problems
                    .push(problem("tool", &tool.definition.name, why));
            }
            tool.definition.name = name;
        }
        for prompt in &mut parts.prompts {
            prompt.definition.name = format!("{prefix}_{}", prompt.definition.name);
        }
        for resource in &mut parts.resources {
            let uri = &resource.definition.uri;
            match prefixed(prefix, uri) {
                Ok(mounted) => resource.set_uri(mounted),
                Err(why) => parts.problems.push(problem("resource", uri, why)),
            }
        }
        for template in &mut parts.templates {
            let text = &mut template.definition.uri_template;
            let parsed = prefixed(prefix, text)
                .and_then(|text| UriTemplate::parse(&text).map_err(|error| error.to_string()));
            match parsed {
                Ok(parsed) => {
                    *text = parsed.to_string();
                    template.template = parsed;
                }
                Err(why) => parts.problems.push(problem("resource template", text, why)),
            }
        }
        if let Some(lister) = &mut parts.lister {
            let (prefix, inner) = (prefix.to_owned(), Arc::clone(lister));
            *lister = Arc::new(move |call: &Call<'_>, mut finish: FinishResourceList| {
                finish.prefix = Some(prefix.clone());
                inner(call, finish)
            });
        }
        self.include(parts)
    }

    pub(super) fn include(mut self, mut other: Parts) -> Self {
        let own = &mut *self.parts;
        own.tools.append(&mut other.tools);
        own.prompts.append(&mut other.prompts);
        own.resources.append(&mut other.resources);
        own.templates.append(&mut other.templates);
        own.methods.append(&mut other.methods);
        own.notifications.append(&mut other.notifications);
        own.extensions.append(&mut other.extensions);
        own.problems.append(&mut other.problems);
        if let Some(lister) = other.lister
            && own.lister.replace(lister).is_some()
        {
            let problem = "resources/list has two data sources; combine them in one handler";
            own.problems.push(RegistrationError::new(problem));
        }
        for (name, value) in other.settings.extensions {
            own.settings.extensions.entry(name).or_insert(value);
        }
        for (name, value) in other.settings.experimental {
            own.settings.experimental.entry(name).or_insert(value);
        }
        self
    }
}

fn prefixed(prefix: &str, uri: &str) -> Result<String, String> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if prefix.is_empty() || !prefix.bytes().all(legal) {
        return Err(
            "a prefix for URIs needs 1 or more characters out of A-Z a-z 0-9 - . _ ~".to_owned(),
        );
    }
    lister::prefixed(prefix, uri).ok_or_else(|| {
        "a URI without \"://\" cannot get a prefix; change the URI, or use merge instead of mount".to_owned()
    })
}

/// Wraps each handler of a merged or mounted server in the middleware of that server. This middleware receives names and URIs
/// without the prefix of a mount.
fn keep_layers(parts: &mut Parts, prefix: Option<&str>) {
    let layers = std::mem::take(&mut parts.layers);
    if layers.is_empty() {
        return;
    }
    for tool in &mut parts.tools {
        tool.keeps_context = true; // a middleware may read `_meta`
        let name = tool.definition.name.clone();
        let target = move |_: &_| ("name", name.clone());
        tool.run = layered::<ForTool>(
            layers.clone(),
            Arc::clone(&tool.run),
            method::TOOLS_CALL,
            target,
        );
    }
    for prompt in &mut parts.prompts {
        let name = prompt.definition.name.clone();
        let target = move |_: &_| ("name", name.clone());
        let run = Arc::clone(&prompt.run);
        prompt.run = layered::<ForPrompt>(layers.clone(), run, method::PROMPTS_GET, target);
    }
    let resources = parts.resources.iter_mut().map(|entry| &mut entry.run);
    let templates = parts.templates.iter_mut().map(|entry| &mut entry.run);
    for run in resources.chain(templates) {
        let uri = uri_without_prefix(prefix);
        let target = move |finish: &FinishResource| ("uri", uri(&finish.uri));
        *run = layered::<ForResource>(
            layers.clone(),
            Arc::clone(run),
            method::RESOURCES_READ,
            target,
        );
    }
}

/// Returns a function that removes the prefix of a mount from a URI. The result is the URI in the mounted server.
fn uri_without_prefix(prefix: Option<&str>) -> impl Fn(&str) -> String + Send + Sync + 'static {
    let prefix = prefix.map(|prefix| format!("://{prefix}/"));
    move |uri| match &prefix {
        Some(prefix) => uri.replacen(prefix, "://", 1),
        None => uri.to_owned(),
    }
}

/// Makes each handler of a merged or mounted server first run the guards of that server. These guards receive its names and URIs,
/// without the prefix of a mount.
fn keep_guards(parts: &mut Parts, prefix: Option<&str>) {
    if parts.settings.guards.is_empty() {
        return;
    }
    let guards: &Arc<[RequestCheck]> = &std::mem::take(&mut parts.settings.guards).into();
    for tool in &mut parts.tools {
        tool.keeps_context = true; // guards may read `_meta`
        let name = tool.definition.name.clone();
        guard::<ForTool>(guards, &mut tool.run, method::TOOLS_CALL, move |_| {
            name.clone()
        });
    }
    for prompt in &mut parts.prompts {
        let name = prompt.definition.name.clone();
        guard_completers(guards, &mut prompt.completers, &name);
        guard::<ForPrompt>(guards, &mut prompt.run, method::PROMPTS_GET, move |_| {
            name.clone()
        });
    }
    for resource in &mut parts.resources {
        guard_reads(guards, &mut resource.run, &mut resource.access, prefix);
    }
    for entry in &mut parts.methods {
        let name = entry.name.clone();
        let run = Arc::clone(&entry.run);
        let guards = Arc::clone(guards);
        entry.run = Arc::new(move |call: &Call<'_>, finish| {
            let request = GuardedRequest {
                method: &name,
                target: None,
                context: &call.context,
            };
            match guards.iter().try_for_each(|check| check(&request)) {
                Ok(()) => run(call, finish),
                Err(error) => Reply::Ready(finish.finish(Err(HandlerError::protocol(error)))),
            }
        });
    }
    for template in &mut parts.templates {
        let text = template.definition.uri_template.clone();
        guard_completers(guards, &mut template.completers, &text);
        guard_reads(guards, &mut template.run, &mut template.access, prefix);
    }
}

/// Makes the guards run before each read of a resource. Also makes them run before the resource's access check, because the
/// server runs only this check for a subscription. The guards receive the method `resources/read`.
fn guard_reads(
    guards: &Arc<[RequestCheck]>,
    run: &mut Erased<ForResource>,
    access: &mut Option<AccessCheck>,
    prefix: Option<&str>,
) {
    let (uri, of_access) = (uri_without_prefix(prefix), uri_without_prefix(prefix));
    let read = method::RESOURCES_READ;
    guard::<ForResource>(guards, run, read, move |finish| uri(&finish.uri));
    if let Some(access) = access {
        guard::<ForAccess>(guards, access, read, move |finish| of_access(&finish.uri));
    }
}

fn guard_completers(guards: &Arc<[RequestCheck]>, completers: &mut BoundCompleters, target: &str) {
    for completer in completers.values_mut() {
        let target = target.to_owned();
        guard::<ForCompletion>(guards, completer, method::COMPLETION_COMPLETE, move |_| {
            target.clone()
        });
    }
}

fn guard<K: Kind>(
    guards: &Arc<[RequestCheck]>,
    run: &mut Erased<K>,
    method: &'static str,
    target: impl Fn(&K::Finish) -> String + Send + Sync + 'static,
) {
    let (guards, inner) = (Arc::clone(guards), Arc::clone(run));
    *run = Arc::new(move |call: &Call<'_>, finish: K::Finish| {
        let request = GuardedRequest {
            method,
            target: Some(&target(&finish)),
            context: &call.context,
        };
        match guards.iter().try_for_each(|check| check(&request)) {
            Ok(()) => inner(call, finish),
            Err(error) => Reply::Ready(finish.finish(Err(HandlerError::protocol(error)))),
        }
    });
}
