//! Functions that write envelopes into a buffer.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::{ErrorObject, RequestId, scan};

/// Appends `{"jsonrpc":"2.0","id":…,"method":…,"params":…}`. `params` is JSON text.
pub fn write_request(out: &mut Vec<u8>, id: &RequestId, method: &str, params: Option<&[u8]>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    id.write(out);
    out.extend_from_slice(br#","method":"#);
    json(out, method);
    close_with_params(out, params);
}

/// Appends `{"jsonrpc":"2.0","method":…,"params":…}`. `params` is JSON text.
pub fn write_notification(out: &mut Vec<u8>, method: &str, params: Option<&[u8]>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","method":"#);
    json(out, method);
    close_with_params(out, params);
}

/// Appends `{"jsonrpc":"2.0","id":…,"result":…}`. The function `result` writes the JSON text of the result.
pub fn write_result(out: &mut Vec<u8>, id: &RequestId, result: impl FnOnce(&mut Vec<u8>)) {
    write_result_start(out, id);
    result(out);
    out.push(b'}');
}

/// Appends `{"jsonrpc":"2.0","id":…,"result":`. The caller then appends the result object and the end of the envelope, for
/// example as a [`ResultTail`].
#[inline]
pub fn write_result_start(out: &mut Vec<u8>, id: &RequestId) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    id.write(out);
    out.extend_from_slice(br#","result":"#);
}

/// The common end of many responses: a result object without its opening brace, and the end of the envelope. Cloning shares the
/// text.
///
/// A response with this tail consists of the text from [`write_result_start`], an opening brace, optional members that each end
/// with a comma, and the [bytes](AsRef::as_ref) of the tail. The bytes of the tail need not be copied.
#[derive(Clone)]
pub struct ResultTail(Arc<str>);

impl ResultTail {
    /// Creates the tail from the JSON text of an object on one line.
    ///
    /// # Panics
    /// Panics if the text does not start and end with the braces of the object.
    pub fn new(mut object: String) -> Self {
        assert!(
            object.starts_with('{') && object.ends_with('}'),
            "expected the text of a JSON object from brace to brace, got: {object:.80}"
        );
        object.push('}');
        Self(object.into())
    }

    /// Returns the JSON text of the object.
    pub fn object(&self) -> &str {
        &self.0[..self.0.len() - 1]
    }
}

impl AsRef<[u8]> for ResultTail {
    fn as_ref(&self) -> &[u8] {
        &self.0.as_bytes()[1..]
    }
}

impl fmt::Debug for ResultTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.object())
    }
}

/// Appends `{"jsonrpc":"2.0","id":…,"error":…}`. Omits the id if the id of the request could not be read.
pub fn write_error(out: &mut Vec<u8>, id: Option<&RequestId>, error: &ErrorObject) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0""#);
    if let Some(id) = id {
        out.extend_from_slice(br#","id":"#);
        id.write(out);
    }
    out.extend_from_slice(br#","error":"#);
    json(out, error);
    out.push(b'}');
}

impl RequestId {
    /// Appends the id as JSON.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Number(number) => json(out, number),
            Self::String(text) => json(out, &**text),
        }
    }
}

fn close_with_params(out: &mut Vec<u8>, params: Option<&[u8]>) {
    if let Some(params) = params {
        out.extend_from_slice(br#","params":"#);
        out.extend_from_slice(params);
    }
    out.push(b'}');
}

/// Returns the JSON text of a value on one line. The result is the same as that of `Display`. This function shares its code with
/// all other JSON output; `Display` would add two more copies of the serializer to the binary.
pub fn text_of(value: &Value) -> String {
    // Serialization fails only for keys that are not strings, and a `Value` has none.
    serde_json::to_string(value).unwrap_or_default()
}

/// Appends a JSON string. The result is exactly what serde_json writes, but this function scans eight bytes at a time. Speed
/// matters here, because most bytes that a server sends are text.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let (plain, tail) = rest.split_at(scan::plain_prefix(rest));
        out.extend_from_slice(plain);
        rest = tail;
        if let Some((byte, tail)) = rest.split_first() {
            escape(out, *byte);
            rest = tail;
        }
    }
    out.push(b'"');
}

fn escape(out: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0C => b'f',
        b'\r' => b'r',
        _ => {
            let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
            out.extend_from_slice(b"\\u00");
            return out.extend_from_slice(&digits);
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// Appends a value whose serialization should never fail. Appends `null` if it fails.
fn json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}
