//! Resources, and resource templates for families of resources.

use std::fmt;
use std::sync::Arc;

use mcp_protocol::{Session, form};
use mcp_types::{Annotations, Icon, Meta};

use crate::handler::output::ForResource;
use crate::handler::{Erased, Handler, erase};
use crate::registry::completion::{Completers, CompletionRequest, Completions};
use crate::registry::icons;
use crate::registry::tool::Visible;
use crate::template::UriTemplate;
use crate::{RegistrationError, Spec};

/// A resource, or a resource template if the URI has variables.
///
/// The variables of a template arrive as `Args<T>`, a struct of strings.
pub struct Resource<S = ()> {
    definition: Definition,
    bind: Box<dyn FnOnce(S) -> Erased<ForResource> + Send>,
    completers: Completers,
    visible: Option<Visible>,
    problem: Option<String>,
}

enum Definition {
    Fixed(mcp_types::Resource),
    Template(mcp_types::ResourceTemplate),
}

/// Sets a field that both definitions have.
macro_rules! set {
    ($this:ident.$field:ident = $value:expr) => {
        match &mut $this.definition {
            Definition::Fixed(definition) => definition.$field = $value,
            Definition::Template(definition) => definition.$field = $value,
        }
    };
}

impl<S: Send + Sync + 'static> Resource<S> {
    /// Creates a resource from a function whose parameters are extractors. A `uri` with variables
    /// in braces (RFC 6570) makes it a template.
    pub fn new<M>(
        uri: impl Into<String>,
        name: impl Into<String>,
        handler: impl Handler<ForResource, S, M>,
    ) -> Self {
        let (uri, name) = (uri.into(), name.into());
        let mut spec = Spec::default();
        describe::<S, M, _>(&handler, &mut spec);
        let definition = if uri.contains('{') {
            Definition::Template(mcp_types::ResourceTemplate::new(uri, name))
        } else {
            Definition::Fixed(mcp_types::Resource::new(uri, name))
        };
        Self {
            definition,
            bind: Box::new(move |state| erase(handler, state, false)),
            completers: Completers::default(),
            visible: None,
            problem: spec.problem,
        }
    }

    /// Sets the description for the model.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        set!(self.description = Some(description.into()));
        self
    }

    /// Sets the display name.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        set!(self.title = Some(title.into()));
        self
    }

    /// Sets the MIME type; for a template, the common one of all its resources.
    #[must_use]
    pub fn mime(mut self, mime: impl Into<String>) -> Self {
        set!(self.mime_type = Some(mime.into()));
        self
    }

    /// Sets the size in bytes, before any encoding. Ignored for a template.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        if let Definition::Fixed(definition) = &mut self.definition {
            definition.size = Some(bytes);
        }
        self
    }

    /// Sets audience, priority and date of the last change.
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
        set!(self.annotations = Some(annotations));
        self
    }

    /// Adds an icon.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        let icons = match &mut self.definition {
            Definition::Fixed(definition) => &mut definition.icons,
            Definition::Template(definition) => &mut definition.icons,
        };
        icons.get_or_insert_default().push(icon);
        self
    }

    /// Sets `_meta`.
    #[must_use]
    pub fn meta(mut self, meta: Meta) -> Self {
        set!(self.meta = Some(meta));
        self
    }

    /// Sets the completer of a variable of the template.
    #[must_use]
    pub fn complete<R: Into<Completions>>(
        mut self,
        variable: impl Into<String>,
        complete: impl Fn(CompletionRequest) -> R + Send + Sync + 'static,
    ) -> Self {
        self.completers.add(variable.into(), complete);
        self
    }

    /// Completes a variable from a fixed list, best matches first.
    #[must_use]
    pub fn complete_from<T: Into<String>>(
        mut self,
        variable: impl Into<String>,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        self.completers.add_list(variable.into(), values);
        self
    }

    /// Makes the resource visible only in sessions for which `visible` returns `true`.
    #[must_use]
    pub fn visible_if(
        mut self,
        visible: impl Fn(&Session) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.visible = Some(Arc::new(visible));
        self
    }

    pub(crate) fn register(self, state: S) -> Result<Registered, RegistrationError> {
        let uri = match &self.definition {
            Definition::Fixed(definition) => definition.uri.clone(),
            Definition::Template(definition) => definition.uri_template.clone(),
        };
        let fail = |what: String| RegistrationError::new(format!("resource {uri:?}: {what}"));
        if let Some(problem) = self.problem {
            return Err(fail(problem));
        }
        let icons = match &self.definition {
            Definition::Fixed(definition) => &definition.icons,
            Definition::Template(definition) => &definition.icons,
        };
        icons::check(icons.iter().flatten()).map_err(fail)?;
        let run = (self.bind)(state);
        match self.definition {
            Definition::Fixed(definition) => {
                if !form::is_uri(&uri) {
                    return Err(fail("not a URI by RFC 3986".to_owned()));
                }
                Ok(Registered::Fixed(ResourceEntry {
                    definition,
                    run,
                    visible: self.visible,
                }))
            }
            Definition::Template(definition) => {
                let template = UriTemplate::parse(&uri).map_err(|e| fail(e.to_string()))?;
                if !template.is_reversible() {
                    return Err(fail(
                        "no URI can be matched against it; use simple variables, a path or a query"
                            .to_owned(),
                    ));
                }
                let known: Vec<&str> = template.variables().collect();
                if let Some(unknown) = self.completers.names().find(|n| !known.contains(n)) {
                    return Err(fail(format!(
                        "completion for {unknown:?}, which is not a variable of the template"
                    )));
                }
                Ok(Registered::Template(TemplateEntry {
                    definition,
                    template,
                    run,
                    completers: self.completers,
                    visible: self.visible,
                }))
            }
        }
    }
}

impl Resource<()> {
    /// Creates a resource with a constant text.
    pub fn text(uri: impl Into<String>, name: impl Into<String>, text: impl Into<String>) -> Self {
        let text: String = text.into();
        Self::new(uri, name, move || text.clone()).mime("text/plain")
    }
}

fn describe<S, M, H: Handler<ForResource, S, M>>(_: &H, spec: &mut Spec) {
    H::describe(spec);
}

impl<S> fmt::Debug for Resource<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.definition {
            Definition::Fixed(definition) => definition.fmt(f),
            Definition::Template(definition) => definition.fmt(f),
        }
    }
}

pub(crate) enum Registered {
    Fixed(ResourceEntry),
    Template(TemplateEntry),
}

/// A registered resource.
pub(crate) struct ResourceEntry {
    pub(crate) definition: mcp_types::Resource,
    pub(crate) run: Erased<ForResource>,
    pub(crate) visible: Option<Visible>,
}

/// A registered template.
pub(crate) struct TemplateEntry {
    pub(crate) definition: mcp_types::ResourceTemplate,
    pub(crate) template: UriTemplate,
    pub(crate) run: Erased<ForResource>,
    pub(crate) completers: Completers,
    pub(crate) visible: Option<Visible>,
}
