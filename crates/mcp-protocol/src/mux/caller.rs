//! A link for requests whose sender is not the [`Caller`] that opened the connection.

use std::fmt;
use std::sync::Arc;

use crate::{Call, Caller, Closed, Delivery, Extras, Link, MethodName, RequestOrigin};

/// A link for requests of `caller`, which is not the [`Caller`] that opened the connection. The link reports `caller` as the
/// origin of the requests.
pub(super) struct CallerLink {
    pub(super) connection: Arc<dyn Link>,
    pub(super) caller: Caller,
}

impl Link for CallerLink {
    fn notify(
        &self,
        method: &str,
        params: Option<&[u8]>,
        delivery: Delivery,
    ) -> Result<(), Closed> {
        self.connection.notify(method, params, delivery)
    }

    fn request_with(&self, method: MethodName, params: Option<Vec<u8>>, extras: Extras) -> Call {
        self.connection.request_with(method, params, extras)
    }

    fn origin(&self) -> RequestOrigin<'_> {
        self.caller.origin()
    }
}

impl fmt::Debug for CallerLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallerLink")
            .field("caller", &self.caller)
            .finish_non_exhaustive()
    }
}
