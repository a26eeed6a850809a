//! Middleware around outbound messages.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use mcp_jsonrpc::{is_member, members, read_string};

use super::chain::Layers;
use super::message::{Direction, Notification, Request, Response};
use crate::http_headers::name_member;
use crate::sync::lock;
use crate::{
    Call, CallError, Closed, Delivery, Extras, Link, MethodName, RequestOrigin, Revision,
    StatelessRequest,
};

impl Layers {
    /// Returns a link whose messages pass through the middleware before they are sent.
    pub fn wrap_link(&self, link: Arc<dyn Link>, revision: Revision) -> Arc<dyn Link> {
        let revision = Arc::new(OnceLock::from(revision));
        Arc::new(LayeredLink::new(self.clone(), link, revision))
    }
}

/// A link whose messages pass through the middleware before they are sent.
pub(crate) struct LayeredLink {
    layers: Layers,
    inner: Inner,
    revision: Arc<OnceLock<Revision>>,
}

/// The link that sends a message after the middleware.
enum Inner {
    Owned(Arc<dyn Link>),
    /// A weak link to the connection. The connection owns the value that holds this link, so a strong link would form a cycle.
    Borrowed(Weak<dyn Link>),
}

impl LayeredLink {
    pub(crate) fn new(
        layers: Layers,
        inner: Arc<dyn Link>,
        revision: Arc<OnceLock<Revision>>,
    ) -> Self {
        Self {
            layers,
            inner: Inner::Owned(inner),
            revision,
        }
    }

    pub(crate) fn weak(
        layers: Layers,
        inner: Weak<dyn Link>,
        revision: Arc<OnceLock<Revision>>,
    ) -> Self {
        Self {
            layers,
            inner: Inner::Borrowed(inner),
            revision,
        }
    }

    fn inner(&self) -> Option<Arc<dyn Link>> {
        match &self.inner {
            Inner::Owned(link) => Some(Arc::clone(link)),
            Inner::Borrowed(link) => link.upgrade(),
        }
    }
}

impl Link for LayeredLink {
    fn notify(
        &self,
        method: &str,
        params: Option<&[u8]>,
        delivery: Delivery,
    ) -> Result<(), Closed> {
        let inner = self.inner().ok_or_else(Closed::local)?;
        let notification = Notification {
            direction: Direction::Outbound,
            method: Cow::Borrowed(method),
            params: params.map(String::from_utf8_lossy),
            revision: self.revision.get().copied(),
        };
        // If the middleware drops the notification, this is not an error.
        let mut sent = Ok(());
        self.layers.notify(notification, &mut |notification| {
            let params = notification.params().map(str::as_bytes);
            sent = inner.notify(notification.method(), params, delivery);
        });
        sent
    }

    fn queued_bytes(&self) -> usize {
        self.inner().map_or(0, |inner| inner.queued_bytes())
    }

    fn request_with(
        &self,
        method: MethodName,
        params: Option<Vec<u8>>,
        mut extras: Extras,
    ) -> Call {
        let Some(inner) = self.inner() else {
            return Call::failed(CallError::Closed(Closed::local()));
        };
        let params = params.map(|params| match String::from_utf8(params) {
            Ok(params) => params,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        });
        let layers = self.layers.clone();
        let sent = extras.id.get_or_insert_default().clone();
        let revision = self.revision.get().copied();
        let request =
            Request::outbound(method.clone(), params, revision).sent_on(Arc::clone(&inner), sent);
        Call::new(async move {
            let extras = Mutex::new(extras);
            let response = layers.outbound(request, move |request| {
                let extras = std::mem::take(&mut *lock(&extras));
                let extras = with_name(extras, &method, request.params());
                let params = request.params().map(|params| params.as_bytes().to_vec());
                let call = inner.request_with(method, params, extras);
                Box::pin(async move { Response::of_answer(call.await) })
            });
            response.await.into_answer()
        })
    }

    fn origin(&self) -> RequestOrigin<'_> {
        match &self.inner {
            Inner::Owned(link) => link.origin(),
            Inner::Borrowed(_) => RequestOrigin::remote(),
        }
    }

    fn release(&self, retry: Duration) -> bool {
        self.inner().is_some_and(|link| link.release(retry))
    }

    fn forward(&self, address: &str) -> bool {
        self.inner().is_some_and(|link| link.forward(address))
    }
}

/// Reads the name for the header `Mcp-Name` from the params again, because a middleware may have changed the params.
fn with_name(mut extras: Extras, method: &str, params: Option<&str>) -> Extras {
    if let Some(StatelessRequest { name, .. }) = &mut extras.stateless
        && let Some(member) = name_member(method)
    {
        let mut all = members(params.unwrap_or("{}")).filter_map(Result::ok);
        let found = all.find(|(key, _)| is_member(key, member));
        *name = found.and_then(|(_, value)| Some(read_string(value)?.into_owned()));
    }
    extras
}

impl fmt::Debug for LayeredLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LayeredLink").field(&self.layers).finish()
    }
}
