//! A trait for one side of a connection that wraps another side and forwards messages to it.

use std::sync::Weak;
use std::time::Duration;

use mcp_jsonrpc::{Notification, ParseError, Request};

use super::{Discarded, Inbound, Reply};
use crate::{Closed, Deviation, Exchange, Link};

macro_rules! forwarded {
    ($(fn $method:ident(&self $(, $argument:ident: $Type:ty)*) $(-> $Output:ty)?;)*) => {
        /// An [`Inbound`] that wraps another [`Inbound`]. Each method that an implementation does not override is forwarded to
        /// the inner [`Inbound`].
        pub trait ForwardInbound: Send + Sync + 'static {
            /// Returns the wrapped [`Inbound`].
            fn inner(&self) -> &dyn Inbound;

            $(
                /// Calls the same method of the wrapped [`Inbound`].
                fn $method(&self $(, $argument: $Type)*) $(-> $Output)? {
                    self.inner().$method($($argument),*)
                }
            )*
        }

        // The lint reports a method of `Inbound` that is missing from the list below.
        #[deny(clippy::missing_trait_methods)]
        #[doc(hidden)]
        impl<T: ForwardInbound> Inbound for T {
            $(
                fn $method(&self $(, $argument: $Type)*) $(-> $Output)? {
                    ForwardInbound::$method(self $(, $argument)*)
                }
            )*
        }
    };
}

forwarded! {
    fn opened(&self, link: Weak<dyn Link>);
    fn request(&self, request: &Request<'_>, exchange: Exchange) -> Reply;
    fn notification(&self, notification: &Notification<'_>);
    fn answers(&self) -> bool;
    fn takes_errors_without_id(&self) -> bool;
    fn accepts_batches(&self) -> bool;
    fn unreadable(&self, frame: &[u8], error: &ParseError) -> bool;
    fn tolerates(&self, deviation: Deviation, detail: &str) -> bool;
    fn discarded(&self, message: Discarded<'_>);
    fn deadline(&self) -> Option<Duration>;
    fn closed(&self, reason: &Closed);
}
