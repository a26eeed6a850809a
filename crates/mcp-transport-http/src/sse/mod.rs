//! The framing of event streams, both directions.
//!
//! Bytes in, events out, and back; it knows nothing of JSON. Data is handed on as bytes, because
//! whoever parses it checks that it is UTF-8.
//!
//! Specification: [event streams](https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream).

#[cfg(any(feature = "client", test))]
mod decode;
#[cfg(any(feature = "server", test))]
mod encode;
#[cfg(test)]
mod tests;

#[cfg(any(feature = "client", test))]
pub(crate) use decode::{Decoder, Event, TooLong};
#[cfg(any(feature = "server", test))]
#[cfg_attr(
    all(test, not(feature = "server")),
    expect(unused_imports, reason = "only the server encodes")
)]
pub(crate) use encode::{write_comment, write_event, write_priming, write_retry};
