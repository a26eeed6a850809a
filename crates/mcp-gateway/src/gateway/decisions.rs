//! Decisions of the rules about the items of a server.

use std::sync::Arc;

use mcp_jsonrpc::{ErrorObject, RawJson, decode, quote};
use mcp_protocol::{Outcome, Reply};
use tokio::task::yield_now;

use super::access::{AccessPolicy, Decision, Item, ItemKind};
use super::lists::ITEMS_PER_TURN;
use super::mount::{MountedServer, outcome_of};
use super::record::{ClientRequest, MAX_LOGGED, RequestOutcome};
use super::state::State;
use crate::catalog::{UriSource, scheme};
use crate::results;
use crate::text::{ObjectText, elements, member};

/// Maximum number of contents of a result that are compared with the rules.
const MAX_CONTENTS: usize = 10_000;
/// Maximum total size of the URIs of the contents that are compared with the rules, in bytes.
const MAX_CONTENT_URI_BYTES: usize = 1 << 20;

impl State {
    /// Returns the decision of the rules about an item. If the server lists the URI of a resource, the rules are applied to the
    /// server's spelling.
    pub(super) fn decide(&self, mount: &MountedServer, item: &Item<'_>) -> Decision {
        let is_listed = item.kind == ItemKind::Resource && mount.catalog.lists_resource(item.name);
        let source = match is_listed {
            true => UriSource::List,
            false => UriSource::Client,
        };
        self.decide_as(mount, item, source)
    }

    /// Returns the decision of the rules about an item whose URI is from `source`. If the rules cannot be applied to a listed
    /// URI, logs the first such URI of each server.
    pub(super) fn decide_as(
        &self,
        mount: &MountedServer,
        item: &Item<'_>,
        source: UriSource,
    ) -> Decision {
        let access = &self.settings().access;
        if source == UriSource::Client
            && item.kind == ItemKind::Resource
            && access.depends_on_scheme(item)
            && !knows_scheme(mount, access.policy(), item)
        {
            return Decision::Ambiguous(
                "no rule, and no resource or template that the server lists, has its scheme, so the URI could be another name for a denied resource; \
                to allow the URI, add a rule with this scheme before the others",
            );
        }
        let decision = access.decide(item, source);
        if let Decision::Ambiguous(reason) = decision
            && source != UriSource::Client
            && mount.has_ambiguous.replace(true)
        {
            let (mount, uri) = (&mount.name, quote(item.name, MAX_LOGGED));
            tracing::warn!(%mount, %uri, reason, "the rules cannot be applied to a URI that the server lists, so clients cannot use it; \
                to allow it, add a rule with exactly this URI before the others; further URIs of this server are not logged");
        }
        decision
    }

    /// Checks that the client may use an item; `missing` is the error for an item that does not exist. Logs a denial.
    pub(super) fn check_allowed(
        &self,
        item: &Item<'_>,
        decision: &Decision,
        context: &ClientRequest,
        missing: impl Fn() -> ErrorObject,
    ) -> Result<(), ErrorObject> {
        let checked = decision.check_uri(item);
        checked.inspect_err(|error| {
            context.note_refusal(RequestOutcome::Denied, None);
            self.denials.item(item, &error.message, context);
        })?;
        if let Decision::Denied(rule) = decision {
            context.note_refusal(RequestOutcome::Denied, Some(*rule));
            self.denials.item(item, "a rule denies it", context);
            return Err(missing());
        }
        self.check_scope(item, decision, context)
    }

    /// Checks that the request has the scopes that an item requires. Logs a denial.
    pub(super) fn check_scope(
        &self,
        item: &Item<'_>,
        decision: &Decision,
        context: &ClientRequest,
    ) -> Result<(), ErrorObject> {
        let checked = decision.check_scope(item, context);
        checked.inspect_err(|error| {
            context.note_refusal(RequestOutcome::MissingScope, None);
            self.denials.item(item, &error.message, context);
        })
    }

    /// Removes from a result of `resources/read` the contents that the client may not use. For example, the result for a folder
    /// can contain other resources.
    pub(super) fn with_allowed_contents(
        self: &Arc<Self>,
        reply: Reply,
        mount: Arc<MountedServer>,
        uri: String,
        context: ClientRequest,
    ) -> Reply {
        let state = Arc::clone(self);
        Reply::Pending(Box::pin(async move {
            let mut text = Vec::new();
            let result = outcome_of(reply).await?;
            result.write(&mut text);
            let Ok(text) = String::from_utf8(text) else {
                return Ok(result);
            };
            let contents = elements(&text, "contents").unwrap_or_default();
            if contents.len() > MAX_CONTENTS {
                return Err(ErrorObject::internal(format!(
                    "the result for {uri:?} has {} contents; where access rules apply, the gateway checks at most {MAX_CONTENTS}",
                    contents.len()
                )));
            }
            let uris = contents.iter().map(|content| {
                let uri = member(content.get(), "uri")?;
                decode::<String>(uri).ok()
            });
            let uris: Vec<_> = uris.collect();
            let bytes: usize = uris.iter().flatten().map(String::len).sum();
            if bytes > MAX_CONTENT_URI_BYTES {
                return Err(ErrorObject::internal(format!(
                    "the URIs in the result for {uri:?} have {bytes} bytes in total; where access rules apply, the gateway checks at most {MAX_CONTENT_URI_BYTES}"
                )));
            }
            let mut kept = Vec::new();
            for (number, (content, name)) in contents.iter().zip(&uris).enumerate() {
                if number % ITEMS_PER_TURN == 0 {
                    yield_now().await;
                }
                let name = name.as_deref();
                let item = mount.item(ItemKind::Resource, name.unwrap_or_default());
                let decide = || state.decide_as(&mount, &item, UriSource::List);
                if name == Some(&uri) || name.is_some() && decide().is_usable(&context) {
                    kept.push(content.get());
                } else {
                    let reason = "the contents of another resource were left out";
                    state.denials.item(&item, reason, &context);
                }
            }
            if kept.len() == contents.len() {
                return Ok(result);
            }
            let mut allowed = ObjectText::new();
            allowed.add("contents", &format!("[{}]", kept.join(",")));
            allowed.copy_all(&text, &["contents"]);
            Outcome::Ok(results::raw(RawJson::copy(&allowed.finish())))
        }))
    }
}

/// Returns whether the scheme of the item is known. A scheme is known if it is in a rule or in a listed resource or template, or
/// if the server has listed the item for a client. An unknown scheme can be another name of a known scheme: libraries read
/// `simplecache::file:///a` as `file:///a`, and `postgresql://a` as `postgres://a`.
fn knows_scheme(mount: &MountedServer, policy: &AccessPolicy, item: &Item<'_>) -> bool {
    policy.names_scheme(item)
        || mount.catalog.was_listed(item.name)
        || scheme(item.name).is_some_and(|scheme| mount.catalog.has_scheme(scheme))
}
