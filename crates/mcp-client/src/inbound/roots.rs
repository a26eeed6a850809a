//! The roots: directories and files that a server may use.

use std::fmt;

use mcp_types::Root;

/// The error of an invalid root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidRoot {
    uri: String,
    problem: &'static str,
}

impl fmt::Display for InvalidRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "root {:?}: {}", self.uri, self.problem)
    }
}

impl std::error::Error for InvalidRoot {}

/// Checks that a root is a `file://` URI without `..`.
pub(crate) fn check(root: &Root) -> Result<(), InvalidRoot> {
    let fail = |problem| {
        Err(InvalidRoot {
            uri: root.uri.chars().take(256).collect(),
            problem,
        })
    };
    let Some(path) = root.uri.strip_prefix("file://") else {
        return fail("a root must be a file:// URI");
    };
    let decoded = path
        .to_ascii_lowercase()
        .replace("%2e", ".")
        .replace("%2f", "/");
    let decoded = decoded.replace("%5c", "/").replace('\\', "/");
    if decoded.split('/').any(|segment| segment == "..") {
        return fail("a root must not contain \"..\" in its path");
    }
    if decoded.contains("%00") || root.uri.contains('\0') {
        return fail("a root must not contain NUL in its path");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: ROOT-005, ROOT-010, M-ROOT-004, M-ROOT-005
    #[test]
    fn a_root_must_be_a_file_uri_without_dot_dot_segments() {
        for good in ["file:///", "file:///home/user/a..b", "file:///C:/x"] {
            assert_eq!(check(&Root::new(good)), Ok(()));
        }
        for bad in [
            "/home",
            "https://x/y",
            "file:/x",
            "file:///a/../../etc",
            "file:///a/%2e%2E/etc",
            "file:///a/..%2fetc",
            "file:///a/..\\etc",
            "file:///a%00b",
        ] {
            assert!(check(&Root::new(bad)).is_err(), "{bad}");
        }
    }
}
