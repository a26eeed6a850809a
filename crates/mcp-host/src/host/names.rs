//! Creates names of tools, prompts and resources that are unique among all servers.

use std::fmt::Write as _;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use crate::text::is_hidden;

/// Maximum length of a name that all model APIs accept.
const MAX_LENGTH: usize = 64;
/// Length of the hash at the end of a name: `_` and eight hexadecimal digits.
const HASH_LENGTH: usize = 9;

/// Returns `server__tool`, at most 64 characters of `A-Z`, `a-z`, `0-9`, `_` and `-`.
///
/// Such a name can be too long, have other characters, or be the same for another pair of server and tool. In these cases, the
/// name is truncated to 55 characters, and `_` and eight hexadecimal digits of a hash of both names are appended. The result
/// depends only on the two names.
pub fn model_name(server: &str, tool: &str) -> String {
    let plain = format!("{}__{}", allowed(server), allowed(tool));
    let is_exact = plain.len() == server.len() + 2 + tool.len()
        && plain.starts_with(server)
        && plain.ends_with(tool);
    // The first `__` of the result must follow the name of the server.
    let is_separable = !server.contains("__") && !server.ends_with('_') && !server.is_empty();
    if is_exact && is_separable && plain.len() <= MAX_LENGTH && !ends_like_hash(&plain) {
        return plain;
    }
    let mut hash = Sha256::new();
    hash.update((server.len() as u64).to_be_bytes());
    hash.update(server);
    hash.update(tool);
    let hash = HEXLOWER.encode(&hash.finalize()[..4]);
    let length = plain.len().min(MAX_LENGTH - HASH_LENGTH);
    format!("{}_{hash}", &plain[..length])
}

/// Returns whether [`model_name`] can return `name` for a tool of this server. Allocates nothing.
pub(super) fn may_belong(name: &str, server: &str) -> bool {
    let server = server.chars().map(replaced).map(|c| c as u8);
    // A name with a hash contains at least this part of the name of the server.
    let mut prefix = server.take(MAX_LENGTH - HASH_LENGTH);
    let mut name = name.bytes();
    prefix.all(|byte| name.next() == Some(byte))
}

/// Returns the name of a prompt for a person: `mcp__server__prompt`, with the rules of [`model_name`].
pub(super) fn prompt_name(server: &str, prompt: &str) -> String {
    format!("mcp__{}", model_name(server, prompt))
}

/// Returns the name of a resource for a person: `server:uri`. In the name of the server, colons, spaces and other characters that
/// are not part of a word are escaped as in a URI. The name of the server therefore ends at the first colon.
pub(crate) fn resource_name(server: &str, uri: &str) -> String {
    let is_part = |c: char| (c.is_alphanumeric() || matches!(c, '_' | '-' | '.')) && !is_hidden(c);
    let mut name = String::with_capacity(server.len() + 1 + uri.len());
    for c in server.chars() {
        if is_part(c) {
            name.push(c);
            continue;
        }
        for byte in c.encode_utf8(&mut [0; 4]).bytes() {
            let _ = write!(name, "%{byte:02X}");
        }
    }
    name.push(':');
    name.push_str(uri);
    name
}

/// Replaces each character that is not allowed with `_`.
pub(super) fn allowed(name: &str) -> String {
    name.chars().map(replaced).collect()
}

/// Returns the character if it is allowed in a name, otherwise `_`. The result is always ASCII.
fn replaced(c: char) -> char {
    match c.is_ascii_alphanumeric() || c == '_' || c == '-' {
        true => c,
        false => '_',
    }
}

/// Returns whether a name looks like a name that ends with a hash.
fn ends_like_hash(name: &str) -> bool {
    let Some(start) = name.len().checked_sub(HASH_LENGTH) else {
        return false;
    };
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let tail = &name.as_bytes()[start..];
    tail[0] == b'_' && tail[1..].iter().all(is_digit)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn model_names_are_unique_and_short() {
        assert_eq!(model_name("git", "status"), "git__status");
        let long = "x".repeat(200);
        let pairs = [
            ("a", "b"),
            ("a_", "b"),
            ("a", "_b"),
            ("a__b", "c"),
            ("a", "b__c"),
            ("a b", "c"),
            ("a.b", "c"),
            ("a_b", "c"),
            ("", "c"),
            ("é", "c"),
            ("e", &long),
            (&long, "e"),
            ("a", "b.c"),
            ("a", "b_c"),
            ("a", "x_01234567"),
        ];
        let names: HashSet<String> = pairs.iter().map(|(a, b)| model_name(a, b)).collect();
        assert_eq!(names.len(), pairs.len());
        for name in &names {
            assert!(name.len() <= MAX_LENGTH && *name == allowed(name), "{name}");
        }
    }

    #[test]
    fn a_tool_name_cannot_imitate_a_tool_of_another_server() {
        let hashed = model_name("a b", "c");
        let tool = hashed.strip_prefix("a_b__").unwrap();
        assert_ne!(model_name("a_b", tool), hashed);
    }

    #[test]
    fn the_first_colon_of_a_resource_name_is_the_end_of_its_server() {
        assert_eq!(resource_name("git", "file:///a b"), "git:file:///a b");
        assert_eq!(resource_name("a:b c%é", "x:1"), "a%3Ab%20c%25é:x:1");
        assert_eq!(resource_name("git\u{3164}", "x"), "git%E3%85%A4:x");
        assert_ne!(resource_name("a", "b:c"), resource_name("a:b", "c"));
        assert_eq!(prompt_name("git", "commit"), "mcp__git__commit");
    }

    #[test]
    fn the_model_name_of_a_tool_stays_the_same_in_each_release() {
        assert_eq!(
            model_name("a b", "c"),
            "a_b__c_b63e2fe4",
            "also in the next release"
        );
    }
}
