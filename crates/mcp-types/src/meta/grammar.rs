//! The grammar of `_meta` keys.

use std::fmt;

/// Checks `_meta` keys against the grammar of the specification.
#[derive(Debug)]
#[non_exhaustive]
pub enum MetaKey {}

/// Who may define a `_meta` key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetaKeyKind {
    /// A name without a prefix.
    Plain,
    /// A key with a custom prefix.
    Prefixed,
    /// A key with a prefix that is reserved for the protocol.
    Reserved,
}

/// The reason why a `_meta` key is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetaKeyError {
    /// The key is empty.
    Empty,
    /// A label of the prefix does not begin with a letter, does not end with a letter or digit, or has an invalid character.
    Label,
    /// The name does not begin and end with a letter or digit, or has an invalid character.
    Name,
}

impl MetaKey {
    /// Checks one key and returns its kind.
    ///
    /// A prefix consists of labels, which are separated by dots, and a slash. A prefix is reserved if its second label is `mcp`
    /// or `modelcontextprotocol`. The name may be empty after a prefix.
    pub fn check(key: &str) -> Result<MetaKeyKind, MetaKeyError> {
        let Some((prefix, name)) = key.split_once('/') else {
            return match key {
                "" => Err(MetaKeyError::Empty),
                name => check_name(name).map(|()| MetaKeyKind::Plain),
            };
        };
        if !prefix.split('.').all(is_label) {
            return Err(MetaKeyError::Label);
        }
        if !name.is_empty() {
            check_name(name)?;
        }
        let reserved = matches!(
            prefix.split('.').nth(1),
            Some("mcp" | "modelcontextprotocol")
        );
        Ok(if reserved {
            MetaKeyKind::Reserved
        } else {
            MetaKeyKind::Prefixed
        })
    }
}

fn is_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    first.is_ascii_alphabetic()
        && last.is_ascii_alphanumeric()
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

fn check_name(name: &str) -> Result<(), MetaKeyError> {
    let bytes = name.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    let framed = ends
        .iter()
        .all(|end| end.is_some_and(u8::is_ascii_alphanumeric));
    let inside = bytes
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    if framed && inside {
        Ok(())
    } else {
        Err(MetaKeyError::Name)
    }
}

impl fmt::Display for MetaKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "empty _meta key",
            Self::Label => "malformed label in the prefix of a _meta key",
            Self::Name => "malformed name in a _meta key",
        })
    }
}

impl std::error::Error for MetaKeyError {}
