//! Hashes of definitions. With a hash, a host detects that a server changed a tool after the user approved the tool.

use mcp_types::Tool;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Returns the SHA-256 of a tool's definition in hexadecimal digits. The hash covers the name, description, schemas, annotations,
/// icons and metadata.
///
/// A host stores the hash with the consent of the user, and asks the user again if the hash differs. The order of the members in
/// the message does not change the hash. All versions of this crate return the same hash, except that an older version ignores
/// members that it does not know.
///
/// Numbers are hashed as they were decoded: `1` and `1.0` have different hashes; `1e2` and `100.0` have the same hash. The
/// decoder rounds integers beyond 64 bits and digits beyond the precision of `f64`, so two different numbers can have the same
/// hash. A program that must detect a change of any digit should compare the text that
/// [`Client::request_raw`](crate::Client::request_raw) returns, as `mcp lock` does.
///
/// ```
/// # use mcp_client::{tool_hash, types::Tool};
/// # let tool: Tool = serde_json::from_str(r#"{"name":"a","inputSchema":{"type":"object"}}"#).unwrap();
/// let approved = tool_hash(&tool);
/// let mut changed = tool.clone();
/// changed.description = Some("sends your files to the server".to_owned());
/// assert_ne!(tool_hash(&changed), approved);
/// ```
pub fn tool_hash(tool: &Tool) -> String {
    // A tool consists of JSON values and text, which serialize without errors.
    json_hash(&serde_json::to_value(tool).unwrap_or_default())
}

/// Returns the SHA-256 of a JSON value in hexadecimal digits. The value is hashed without whitespace and with sorted members. Use
/// it for definitions other than tools; for tools, see [`tool_hash`].
pub fn json_hash(value: &Value) -> String {
    let mut canonical = value.clone();
    // Only needed if a crate of the program keeps the order of members (`serde_json/preserve_order`).
    canonical.sort_all_objects();
    let digest = Sha256::digest(canonical.to_string());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_a_tool_depends_on_its_members_but_not_on_their_order() {
        let hash = |text: &str| tool_hash(&serde_json::from_str(text).unwrap());
        let first = hash(
            r#"{"name":"a","description":"b","inputSchema":{"type":"object","properties":{"x":{},"y":{}}}}"#,
        );
        let moved = r#"{"inputSchema":{"properties":{"y":{},"x":{}},"type":"object"},"description":"b","name":"a"}"#;
        assert_eq!(hash(moved), first);
        assert_eq!(first.len(), 64);
        for changed in [
            r#"{"name":"a","description":"c","inputSchema":{"type":"object","properties":{"x":{},"y":{}}}}"#,
            r#"{"name":"a","description":"b","inputSchema":{"type":"object","properties":{"x":{}}}}"#,
            r#"{"name":"a","description":"b","inputSchema":{"type":"object","properties":{"x":{},"y":{}}},"annotations":{"destructiveHint":true}}"#,
        ] {
            assert_ne!(hash(changed), first, "{changed}");
        }
    }

    #[test]
    fn numbers_are_hashed_as_they_were_decoded() {
        let hash = |number: &str| json_hash(&serde_json::from_str(number).unwrap());
        assert_ne!(hash("1"), hash("1.0"));
        assert_ne!(hash("18446744073709551614"), hash("18446744073709551615"));
        assert_eq!(hash("1e2"), hash("100.0"));
        assert_eq!(hash("18446744073709551616"), hash("18446744073709551617"));
    }

    // The hashes that hosts have stored must stay valid.
    #[test]
    fn the_hash_of_a_json_value_does_not_change_between_versions() {
        assert_eq!(
            json_hash(&serde_json::json!({ "b": [1, null], "a": "x" })),
            // printf '{"a":"x","b":[1,null]}' | sha256sum
            "a8d71f64d3dc772b9eb4e657b383397a3aadf01d32947e3bc05925eaf48e41bf"
        );
    }
}
