//! Finds registered resources by URI, and runs the guards of a read.

use std::borrow::Cow;
use std::sync::Arc;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{RequestContext, Session};
use mcp_types::method;

use crate::handler::Erased;
use crate::handler::output::{FinishResource, ForResource, not_found};
use crate::registry::access::AccessCheck;
use crate::registry::resource::{ResourceEntry, TemplateEntry};
use crate::server::core::Core;
use crate::server::settings::GuardedRequest;
use crate::template::canonical;

/// Maximum length of a resource URI, in bytes.
const MAX_URI: usize = 8_192;

/// The registered item that serves a URI.
pub(super) enum FoundResource {
    Fixed(Arc<ResourceEntry>),
    /// A template, the variables of the URI as a JSON object, and the normal form of the URI.
    Template(Arc<TemplateEntry>, String, String),
}

impl FoundResource {
    pub(super) fn arguments(&self) -> &str {
        match self {
            Self::Fixed(_) => "{}",
            Self::Template(_, variables, _) => variables,
        }
    }

    /// Returns the URI as the resource or template spells it.
    pub(super) fn uri(&self) -> &str {
        match self {
            Self::Fixed(entry) => &entry.definition.uri,
            Self::Template(_, _, uri) => uri,
        }
    }

    fn mime(&self) -> Option<&String> {
        match self {
            Self::Fixed(entry) => entry.definition.mime_type.as_ref(),
            Self::Template(entry, ..) => entry.definition.mime_type.as_ref(),
        }
    }

    /// Returns the last step of a read.
    pub(super) fn finish(&self, context: &RequestContext) -> FinishResource {
        FinishResource {
            uri: self.uri().to_owned(),
            mime: self.mime().cloned(),
            rules: context.rules(),
        }
    }

    pub(super) fn run(&self) -> &<Erased<ForResource> as std::ops::Deref>::Target {
        match self {
            Self::Fixed(entry) => &*entry.run,
            Self::Template(entry, ..) => &*entry.run,
        }
    }

    pub(super) fn access(&self) -> Option<&AccessCheck> {
        match self {
            Self::Fixed(entry) => entry.access.as_ref(),
            Self::Template(entry, ..) => entry.access.as_ref(),
        }
    }
}

impl Core {
    /// Runs the guards for a `resources/read` request with this URI.
    pub(super) fn check_read(
        &self,
        uri: &str,
        context: &RequestContext,
    ) -> Result<(), ErrorObject> {
        if uri.len() > MAX_URI {
            return Err(ErrorObject::invalid_params(format!(
                "the URI is longer than {MAX_URI} bytes"
            )));
        }
        self.settings.check(&GuardedRequest {
            method: method::RESOURCES_READ,
            target: Some(&self.normal_uri(uri, context)),
            context,
        })
    }

    /// Returns the URI that the guards receive. Its spelling is the spelling of the resource or template, even if the client
    /// spells the URI differently.
    pub(super) fn normal_uri<'u>(&self, uri: &'u str, context: &RequestContext) -> Cow<'u, str> {
        if !self.settings.is_guarded() {
            return Cow::Borrowed(uri);
        }
        if let Some(entry) = self.fixed_resource(uri, context.session()) {
            return Cow::Owned(entry.definition.uri.clone());
        }
        let templates = self.templates.snapshot();
        let mut templates = templates.iter(context.session());
        let normal = templates.find(|entry| entry.template.matches(uri).is_some());
        let normal = normal.and_then(|entry| entry.template.normal(uri));
        let normal = normal.or_else(|| canonical(uri));
        normal.map_or(Cow::Borrowed(uri), Cow::Owned)
    }

    /// Finds a resource by its URI or by an equivalent URI (RFC 3986, section 6.2.2).
    fn fixed_resource(&self, uri: &str, session: &Session) -> Option<Arc<ResourceEntry>> {
        let resources = self.resources.snapshot();
        let normal = || {
            let normal = canonical(uri)?;
            let mut others = resources.iter(session);
            let is_equal = |entry: &&Arc<ResourceEntry>| entry.normal.as_ref() == Some(&normal);
            let exact = resources.get(&normal, session);
            exact.or_else(|| others.find(is_equal)).cloned()
        };
        resources.get(uri, session).cloned().or_else(normal)
    }

    /// Finds the resource or template that serves this URI. Ignores resources and templates that are not visible in the session.
    pub(super) fn find_resource(
        &self,
        uri: &str,
        context: &RequestContext,
    ) -> Result<FoundResource, ErrorObject> {
        let session = context.session();
        if let Some(entry) = self.fixed_resource(uri, session) {
            return Ok(FoundResource::Fixed(entry));
        }
        let templates = self.templates.snapshot();
        let found = templates
            .iter(session)
            .find_map(|entry| Some((Arc::clone(entry), entry.template.matches(uri)?)));
        let Some((entry, variables)) = found else {
            return Err(not_found(uri, context.rules()));
        };
        let variables = serde_json::to_string(&variables).map_err(|_| {
            ErrorObject::internal("the variables of the URI cannot be written as JSON")
        })?;
        let normal = entry.template.normal(uri);
        let normal = normal.unwrap_or_else(|| uri.to_owned());
        Ok(FoundResource::Template(entry, variables, normal))
    }
}
