//! The framing of event streams, as a reader sees it.
//!
//! Bytes in, events out; it knows nothing of JSON. Data is handed on as bytes, because whoever
//! parses it checks that it is UTF-8.
//!
//! Specification: [event streams](https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream).

mod decode;
#[cfg(test)]
mod tests;

pub(crate) use decode::{Decoder, Event, TooLong};
