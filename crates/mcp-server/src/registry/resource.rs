//! Resources, and resource templates for families of resources.

use std::fmt;
use std::sync::Arc;

use mcp_protocol::form;
use mcp_protocol::middleware::SharedMiddleware;
use mcp_types::{Annotations, method};

use crate::handler::layered::layered;
use crate::handler::output::ForResource;
use crate::handler::text::Spelling;
use crate::handler::{Erased, Handler, erase_text};
use crate::registry::access::{AccessCheck, FinishAccess, ForAccess, checked};
use crate::registry::completion::{BoundCompleters, Completers};
use crate::registry::definition::{
    Visible, check_icons, completion_setters, describe, shared_setters,
};
use crate::template::{UriTemplate, canonical};
use crate::{RegistrationError, Spec};

/// A resource, or a resource template if the URI has variables.
///
/// The handler of a template receives the variables as `Args<T>`. If the schema of a field of `T` is a number or a boolean, the
/// text of the variable is converted.
pub struct Resource<S = ()> {
    /// The definition. If its `uri` is a template, registration converts the definition to the definition of a resource template.
    definition: mcp_types::Resource,
    bind: Box<dyn FnOnce(S) -> Erased<ForResource> + Send>,
    access: Option<Box<dyn FnOnce(S) -> AccessCheck + Send>>,
    completers: Completers<S>,
    visible: Option<Visible>,
    layers: Vec<SharedMiddleware>,
    problem: Option<String>,
}

impl<S: Clone + Send + Sync + 'static> Resource<S> {
    /// Creates a resource from a function whose parameters are extractors. A `uri` with variables in braces (RFC 6570) makes the
    /// resource a template.
    pub fn new<M>(
        uri: impl Into<String>,
        name: impl Into<String>,
        handler: impl Handler<ForResource, S, M>,
    ) -> Self {
        let mut spec = Spec::default();
        describe::<ForResource, S, M, _>(&handler, &mut spec);
        Self {
            definition: mcp_types::Resource::new(uri, name),
            bind: Box::new(move |state| erase_text(handler, Spelling::Canonical, state)),
            access: None,
            completers: Completers::default(),
            visible: None,
            layers: Vec::new(),
            problem: spec.problem,
        }
    }

    shared_setters!();
    completion_setters!();

    /// Binds the handler to `state`, so that the resource can be added to a server with another state type.
    #[must_use]
    pub fn with_state<T>(self, state: S) -> Resource<T> {
        let (bind, access) = (self.bind, self.access);
        let of_access = state.clone();
        Resource {
            completers: self.completers.with_state(&state),
            access: access.map(|bind| Box::new(move |_| bind(of_access)) as _),
            bind: Box::new(move |_| bind(state)),
            definition: self.definition,
            visible: self.visible,
            layers: self.layers,
            problem: self.problem,
        }
    }

    /// Makes the resource readable only for clients for which `check` returns `true`. The check runs for each read and for each
    /// subscription, before the handler and its middleware. For other clients, the resource does not exist. If the check returns
    /// an error, the request fails with this error.
    ///
    /// Without a check, the server runs the handler of the read and its middleware for each subscription. The server drops
    /// the result, and refuses the subscription if the handler fails. Set a check if a read is expensive or sends requests to the
    /// client, or if a client may subscribe to a resource that does not exist yet.
    ///
    /// The check is a sync or async function whose parameters are extractors: `Args` with the template's
    /// variables, the [`State`](crate::State), or [`Ctx`](crate::Ctx) with the client's principal. If several checks are set, all
    /// of them must return `true`. While a subscription is checked, neither the check nor the handler can send messages to the
    /// client: notifications are dropped, and requests fail. Lists do not run the check: a resource without variables is listed
    /// for every client unless [`visible_if`](Self::visible_if) hides it.
    ///
    /// ```
    /// use mcp_server::{Args, Ctx, Resource};
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Home {
    ///     user: String,
    /// }
    ///
    /// let home = Resource::<()>::new("home:///{user}", "home", |Args(home): Args<Home>| home.user)
    ///     .readable_if(async |Args(home): Args<Home>, cx: Ctx| {
    ///         cx.principal().is_some_and(|principal| principal.user() == home.user)
    ///     });
    /// # let _ = home;
    /// ```
    #[must_use]
    pub fn readable_if<M>(mut self, check: impl Handler<ForAccess, S, M>) -> Self {
        let earlier = self.access.take();
        self.access = Some(Box::new(move |state: S| {
            let earlier = earlier.map(|bind| bind(state.clone()));
            let check = erase_text(check, Spelling::Canonical, state);
            match earlier {
                Some(earlier) => checked::<ForAccess>(earlier, check, FinishAccess::clone),
                None => check,
            }
        }));
        self
    }

    /// Sets the MIME type; for a template, the MIME type of all its resources.
    #[must_use]
    pub fn mime(mut self, mime: impl Into<String>) -> Self {
        self.definition.mime_type = Some(mime.into());
        self
    }

    /// Sets the size in bytes, before any encoding. Ignored for a template.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.definition.size = Some(bytes);
        self
    }

    /// Sets the audience, the priority, and the date of the last change.
    #[must_use]
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        let priority = annotations
            .priority
            .is_none_or(|p| (0.0..=1.0).contains(&p));
        let date = annotations.last_modified.as_deref();
        if !priority {
            self.problem = Some("the annotation priority must be between 0 and 1".to_owned());
        } else if !date.is_none_or(form::is_date_time) {
            self.problem =
                Some("the annotation lastModified must be a date and time by RFC 3339".to_owned());
        }
        self.definition.annotations = Some(annotations);
        self
    }

    pub(crate) fn register(self, state: S) -> Result<Registered, RegistrationError> {
        let definition = self.definition;
        let fail =
            |what: String| RegistrationError::new(format!("resource {:?}: {what}", definition.uri));
        if let Some(problem) = self.problem {
            return Err(fail(problem));
        }
        check_icons(definition.icons.iter().flatten()).map_err(fail)?;
        let access = self.access.map(|bind| bind(state.clone()));
        if !definition.uri.contains('{') {
            if !form::is_uri(&definition.uri) {
                return Err(fail("not a URI by RFC 3986".to_owned()));
            }
            let normal = other_form(&definition.uri);
            return Ok(Registered::Fixed(ResourceEntry {
                normal,
                definition,
                run: with_layers(self.layers, (self.bind)(state), access.as_ref()),
                access,
                visible: self.visible,
            }));
        }
        let template = UriTemplate::parse(&definition.uri).map_err(|e| fail(e.to_string()))?;
        if !template.is_reversible() {
            return Err(fail(
                "the modifiers \"*\" and \":n\" cannot be matched against a URI; remove them"
                    .to_owned(),
            ));
        }
        let known: Vec<&str> = template.variables().collect();
        if let Some(unknown) = self.completers.names().find(|n| !known.contains(n)) {
            return Err(fail(format!(
                "completion for {unknown:?}, which is not a variable of the template"
            )));
        }
        let mut described = mcp_types::ResourceTemplate::new(definition.uri, definition.name);
        described.title = definition.title;
        described.description = definition.description;
        described.mime_type = definition.mime_type;
        described.annotations = definition.annotations;
        described.icons = definition.icons;
        described.meta = definition.meta;
        Ok(Registered::Template(TemplateEntry {
            definition: described,
            template,
            completers: self.completers.bind(&state),
            run: with_layers(self.layers, (self.bind)(state), access.as_ref()),
            access,
            visible: self.visible,
        }))
    }
}

/// Returns the normal form of a URI, or `None` if the URI already is in normal form.
fn other_form(uri: &str) -> Option<String> {
    canonical(uri).filter(|normal| normal != uri)
}

impl ResourceEntry {
    /// Replaces the URI.
    pub(crate) fn set_uri(&mut self, uri: String) {
        self.normal = other_form(&uri);
        self.definition.uri = uri;
    }
}

/// Returns a handler that first runs the access check, then the middleware, and then the handler `run`.
fn with_layers(
    layers: Vec<SharedMiddleware>,
    run: Erased<ForResource>,
    access: Option<&AccessCheck>,
) -> Erased<ForResource> {
    let run = layered::<ForResource>(layers, run, method::RESOURCES_READ, |finish| {
        ("uri", finish.uri.clone())
    });
    match access {
        None => run,
        Some(access) => checked::<ForResource>(Arc::clone(access), run, |finish| FinishAccess {
            uri: finish.uri.clone(),
            rules: finish.rules,
        }),
    }
}

impl Resource<()> {
    /// Creates a resource with a constant text.
    pub fn text(uri: impl Into<String>, name: impl Into<String>, text: impl Into<String>) -> Self {
        let text: String = text.into();
        Self::new(uri, name, move || text.clone()).mime("text/plain")
    }
}

impl<S> fmt::Debug for Resource<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource")
            .field("definition", &self.definition)
            .finish_non_exhaustive()
    }
}

pub(crate) enum Registered {
    Fixed(ResourceEntry),
    Template(TemplateEntry),
}

/// A registered resource.
pub(crate) struct ResourceEntry {
    pub(crate) definition: mcp_types::Resource,
    /// The normal form of the URI; `None` if the URI already is in normal form.
    pub(crate) normal: Option<String>,
    /// The handler, which runs after the access check.
    pub(crate) run: Erased<ForResource>,
    /// The access check, which `run` also contains. For a subscription, the server runs only this check.
    /// `None` if there is no check; then the server runs `run` for a subscription.
    pub(crate) access: Option<AccessCheck>,
    pub(crate) visible: Option<Visible>,
}

/// A registered template.
pub(crate) struct TemplateEntry {
    pub(crate) definition: mcp_types::ResourceTemplate,
    pub(crate) template: UriTemplate,
    /// The handler, which runs after the access check.
    pub(crate) run: Erased<ForResource>,
    /// The access check, which `run` also contains. For a subscription, the server runs only this check.
    /// `None` if there is no check; then the server runs `run` for a subscription.
    pub(crate) access: Option<AccessCheck>,
    pub(crate) completers: BoundCompleters,
    pub(crate) visible: Option<Visible>,
}
