//! The JSON-RPC 2.0 envelope as the Model Context Protocol uses it: parse, classify, write.
//!
//! [`parse`] makes one pass over the bytes of a frame. It checks the JSON grammar and the
//! [`Limits`] before it builds anything, and returns the id, the method and the *raw text* of
//! `params`, `result` and `error`. The raw text is decoded later, when the method is known.
//!
//! ```
//! use mcp_jsonrpc::{parse, Frame, Limits, Message};
//!
//! let frame = parse(br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#, &Limits::default())?;
//! let Frame::Single(Message::Request(request)) = frame else { unreachable!() };
//! assert_eq!(request.id.to_string(), "7");
//! assert_eq!(request.method, "ping");
//! # Ok::<(), mcp_jsonrpc::ParseError>(())
//! ```
//!
//! The crate does no I/O and does not depend on any method. Specification: [base protocol, messages][spec].
//!
//! [spec]: https://modelcontextprotocol.io/specification/2025-11-25/basic#messages

mod code;
mod decode;
mod error;
mod id;
mod limits;
mod message;
mod owned;
mod parse;
mod quote;
mod scan;
mod unique;
mod write;

pub use code::ErrorCode;
#[doc(hidden)]
pub use decode::decode_params;
pub use decode::{
    DecodeError, Members, decode, decode_document, decode_owned, is_empty_array, is_member,
    member_name, members,
};
pub use error::{ErrorObject, ParseError, ParseErrorKind};
pub use id::RequestId;
pub use limits::{Limits, TreeSize};
pub use message::{MemberPositions, Message, Notification, ParamMembers, Request, Response};
pub use owned::{OwnedMessage, RawJson};
pub use parse::{Batch, Frame, parse, parse_measured, read_string, replace_invalid_text};
pub use quote::{Quoted, prefix, quote};
pub use unique::check_unique_members;
pub use write::{
    ResultTail, text_of, write_error, write_notification, write_request, write_result,
    write_result_start, write_string,
};
