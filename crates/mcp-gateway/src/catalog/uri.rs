//! URIs and URI templates, as far as the choice of a server and the rules for clients need them.

use percent_encoding::percent_decode_str;

/// Returns the scheme of a URI.
pub(crate) fn scheme(uri: &str) -> Option<&str> {
    let (scheme, _) = uri.split_once(':')?;
    let mut letters = scheme.bytes();
    let is_first = letters.next()?.is_ascii_alphabetic();
    let is_rest = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    (is_first && letters.all(is_rest)).then_some(scheme)
}

/// Returns the normal form of a URI. Servers may read its other spellings as the same resource. The scheme and the authority are in lower
/// case, escapes are decoded, `\` is `/`, and the path has no `.`, no `..` and no empty segments. A file has no authority `localhost`.
pub(crate) fn normal_form(uri: &str) -> String {
    let Some((scheme, rest)) = scheme(uri).map(|scheme| (scheme, &uri[scheme.len() + 1..])) else {
        return uri.to_owned();
    };
    let scheme = scheme.to_ascii_lowercase();
    let (path, query) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    let path = percent_decode_str(path).decode_utf8_lossy();
    let path = path.replace('\\', "/");
    let (authority, path) = match path.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None if path.starts_with('/') => ("", &*path),
        // Without a hierarchy, as in `urn:isbn:1`.
        None => return format!("{scheme}:{path}{query}"),
    };
    let authority = authority.to_ascii_lowercase();
    let authority = match &*authority {
        "localhost" if scheme == "file" => "",
        other => other,
    };
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => _ = segments.pop(),
            other => segments.push(other),
        }
    }
    let end = match path.ends_with('/') && !segments.is_empty() {
        true => "/",
        false => "",
    };
    format!("{scheme}://{authority}/{}{end}{query}", segments.join("/"))
}

/// Returns the length of the literal parts of a template, if they occur in the URI in this order. An expression
/// matches any text. A template whose scheme is an expression never matches: it would take the URIs of all servers.
pub(super) fn match_template(template: &str, uri: &str) -> Option<usize> {
    let (prefix, mut rest) = template.split_once('{')?;
    scheme(prefix)?;
    let mut uri = uri.strip_prefix(prefix)?;
    let mut length = prefix.len();
    loop {
        let (_, after) = rest.split_once('}')?;
        let Some((literal, next)) = after.split_once('{') else {
            return uri.ends_with(after).then_some(length + after.len());
        };
        let at = uri.find(literal)?;
        uri = &uri[at + literal.len()..];
        length += literal.len();
        rest = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_match_by_their_literal_parts() {
        assert_eq!(match_template("file:///{path}", "file:///a/b"), Some(8));
        assert_eq!(
            match_template("db://{table}/rows/{id}", "db://users/rows/7"),
            Some(11)
        );
        assert_eq!(
            match_template("db://{table}/rows/{id}/raw", "db://users/rows/7"),
            None
        );
        assert_eq!(match_template("db://{table}", "file:///a"), None);
        assert_eq!(match_template("{+any}", "file:///a"), None);
        assert_eq!(match_template("file://{broken", "file:///a"), None);
        assert_eq!(match_template("file:///a", "file:///a"), None);
    }

    #[test]
    fn spellings_of_a_uri_have_one_normal_form() {
        for (uri, expected) in [
            ("file:///etc/passwd", "file:///etc/passwd"),
            ("FILE:///etc/passwd", "file:///etc/passwd"),
            ("file:/etc/passwd", "file:///etc/passwd"),
            ("file://LOCALHOST/etc/passwd", "file:///etc/passwd"),
            ("file:////etc//passwd", "file:///etc/passwd"),
            ("file:///%65tc%2Fpasswd", "file:///etc/passwd"),
            ("file:///a/../etc/./passwd", "file:///etc/passwd"),
            ("file:///a%2f%2E%2e%5cetc/passwd", "file:///etc/passwd"),
            ("file:///../etc/passwd", "file:///etc/passwd"),
            ("file:///etc/passwd?/../../a", "file:///etc/passwd?/../../a"),
            ("file:///a%2520b/", "file:///a%20b/"),
            ("DB://Host/{table}", "db://host/{table}"),
            ("db://Host", "db://host/"),
            ("URN:isbn:1/..", "urn:isbn:1/.."),
            ("no scheme/../a", "no scheme/../a"),
        ] {
            assert_eq!(normal_form(uri), expected, "{uri}");
        }
    }

    #[test]
    fn schemes() {
        assert_eq!(scheme("file:///a"), Some("file"));
        assert_eq!(scheme("ui+x.y-1:a"), Some("ui+x.y-1"));
        for none in ["", ":", "1a:b", "a b:c", "{+x}:a", "nothing"] {
            assert_eq!(scheme(none), None, "{none}");
        }
    }
}
