//! Decoder for event streams.
//!
//! The decoder returns data as bytes and does not parse JSON. The JSON parser checks that the data is UTF-8.
//!
//! Specification: [event
//! streams](https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream).

mod decode;
#[cfg(test)]
mod tests;

pub(crate) use decode::{Decoder, Event, TooLong};
