//! URIs, as far as the choice of a server and the rules for clients need them.

use std::borrow::Cow;
use std::net::Ipv4Addr;

use iri_string::types::IriStr;
use percent_encoding::percent_decode_str;

use super::template::example_of;

/// Returns the scheme of a URI.
pub(crate) fn scheme(uri: &str) -> Option<&str> {
    let (scheme, _) = uri.split_once(':')?;
    let mut letters = scheme.bytes();
    let is_first = letters.next()?.is_ascii_alphabetic();
    let is_rest = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    (is_first && letters.all(is_rest)).then_some(scheme)
}

/// Schemes whose URIs always have an authority: URI parsers add a missing `//`.
const WITH_AUTHORITY: [&str; 5] = ["http", "https", "ws", "wss", "ftp"];

/// Checks that all URI parsers interpret a URI in the same way. Parsers differ: some remove tabs and line ends, treat `\` as `/`, resolve `..`, or
/// decode escapes before they split the URI.
///
/// # Errors
/// The error says what is ambiguous, and what to change.
pub(crate) fn check_spelling(uri: &str) -> Result<(), &'static str> {
    let iri = IriStr::new(uri).map_err(|_| {
        "it is not a URI, or has a character or an escape that RFC 3986 does not allow; escape other characters with %"
    })?;
    check_decoded(uri)?;
    let scheme = iri.scheme_str().to_ascii_lowercase();
    if let Some(authority) = iri.authority_str()
        && (!authority.is_ascii() || authority.contains(['%', '@']))
    {
        return Err(
            "its authority has a user, an escape or a letter outside of ASCII; name only the host",
        );
    }
    let path = percent_decode_str(iri.path_str()).decode_utf8_lossy();
    if iri.authority_str().is_none() && path.starts_with("//") {
        // A reader that decodes before it splits reads a host.
        return Err("its path begins with an escaped slash; write \"//\" and the host before it");
    }
    if scheme == "file" {
        return check_file(iri);
    }
    let has_host = iri.authority_str().is_some_and(|host| !host.is_empty());
    match WITH_AUTHORITY.contains(&&*scheme) && !(has_host && is_plain_host(iri)) {
        true => Err(
            "its host is missing, or is a number that some servers convert to an address; write the scheme, \"://\" and the host",
        ),
        false => Ok(()),
    }
}

/// Checks that all readers understand the URIs of a template in the same way. A name of an expression must not look like a part of a path.
///
/// # Errors
/// As [`check_spelling`].
pub(crate) fn check_template(template: &str) -> Result<(), &'static str> {
    check_decoded(&template.replace(['{', '}'], ""))?;
    let example = example_of(template).ok_or("an expression of the template has no end")?;
    check_spelling(&example)
}

/// Checks a URI after each of the two times that a reader may decode it.
fn check_decoded(uri: &str) -> Result<(), &'static str> {
    let mut text = Cow::Borrowed(uri);
    for _ in 0..2 {
        let decoded = percent_decode_str(&text).decode_utf8();
        text = Cow::Owned(
            decoded
                .map_err(|_| "its escapes are not UTF-8")?
                .into_owned(),
        );
        if text.chars().any(|c| c.is_control() || c == '\\') {
            return Err("it has an escaped control character or backslash");
        }
        if (text.split(['/', '?', '#'])).any(|segment| matches!(segment, "." | "..")) {
            return Err("it has a segment \".\" or \"..\"; resolve it first");
        }
    }
    Ok(())
}

/// Checks a URI with the scheme `file` (RFC 8089).
fn check_file(uri: &IriStr) -> Result<(), &'static str> {
    let is_local = |host: &str| host.is_empty() || host.eq_ignore_ascii_case("localhost");
    if !uri.authority_str().is_none_or(is_local) {
        return Err("it names a file of another host; write \"file:///\"");
    }
    if uri.query().is_some() || uri.fragment().is_some() {
        return Err("a file has no query and no fragment; write \"?\" as %3F and \"#\" as %23");
    }
    match uri.path_str().starts_with('/') {
        true => Ok(()),
        false => Err("its path does not begin with \"/\"; write \"file:///\""),
    }
}

/// Returns whether the host is a name, an address in brackets, or four decimal numbers. Some URI parsers convert other numbers to addresses.
fn is_plain_host(uri: &IriStr) -> bool {
    let parts = uri.authority_components();
    let host = parts.map_or("", |parts| parts.host());
    let last = host.trim_end_matches('.').rsplit('.').next();
    let is_number = last.is_some_and(|label| label.starts_with(|c: char| c.is_ascii_digit()));
    !is_number || host.parse::<Ipv4Addr>().is_ok()
}

/// Returns the normal form of a URI, which is the same for its other spellings. The scheme and the authority are in lower case, the escapes of the
/// path are decoded, and the path has no empty segments. The authority `localhost` of a file and default ports are removed.
pub(crate) fn normal_form(uri: &str) -> String {
    let Some((scheme, rest)) = scheme(uri).map(|scheme| (scheme, &uri[scheme.len() + 1..])) else {
        return uri.to_owned();
    };
    let scheme = scheme.to_ascii_lowercase();
    let (path, query) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    // Decoded after the split: an escaped slash does not begin an authority.
    let (authority, path) = match path.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => ("", path),
    };
    let has_hierarchy = !authority.is_empty() || path.is_empty() || path.starts_with('/');
    let path = percent_decode_str(path).decode_utf8_lossy();
    if !has_hierarchy {
        // As in `urn:isbn:1`.
        return format!("{scheme}:{path}{query}");
    }
    let authority = normal_authority(&scheme, &authority.to_ascii_lowercase());
    let segments: Vec<_> = path.split('/').filter(|part| !part.is_empty()).collect();
    let end = match path.ends_with('/') && !segments.is_empty() {
        true => "/",
        false => "",
    };
    format!("{scheme}://{authority}/{}{end}{query}", segments.join("/"))
}

/// Returns the authority of a normal form; the arguments are in lower case.
fn normal_authority(scheme: &str, authority: &str) -> String {
    let (host, port) = split_port(authority);
    let has_authority = WITH_AUTHORITY.contains(&scheme);
    let host = match host {
        "localhost" if scheme == "file" => "",
        host if has_authority => host.trim_end_matches('.'),
        other => other,
    };
    // `0443` is the port 443 for every URI parser.
    let number = port
        .filter(|_| has_authority)
        .and_then(|port| port.parse::<u16>().ok());
    match (scheme, number, port) {
        (_, _, None | Some(""))
        | ("http" | "ws", Some(80), _)
        | ("https" | "wss", Some(443), _)
        | ("ftp", Some(21), _) => host.to_owned(),
        (_, Some(number), _) => format!("{host}:{number}"),
        (_, None, Some(port)) => format!("{host}:{port}"),
    }
}

/// Splits an authority before the colon of its port.
pub(super) fn split_port(authority: &str) -> (&str, Option<&str>) {
    // An address in brackets has colons.
    let host = authority.rfind(']').map_or(0, |end| end + 1);
    match authority[host..].find(':') {
        Some(colon) => (
            &authority[..host + colon],
            Some(&authority[host + colon + 1..]),
        ),
        None => (authority, None),
    }
}

/// Returns whether all servers split URIs of this scheme into host, port and path in the same way.
pub(super) fn has_fixed_syntax(scheme: &str) -> bool {
    scheme == "file" || WITH_AUTHORITY.contains(&scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_uri_have_one_normal_form() {
        for (uri, expected) in [
            ("file:///etc/passwd", "file:///etc/passwd"),
            ("FILE:///etc/passwd", "file:///etc/passwd"),
            ("file:/etc/passwd", "file:///etc/passwd"),
            ("file://LOCALHOST/etc/passwd", "file:///etc/passwd"),
            ("file:////etc//passwd", "file:///etc/passwd"),
            ("file:///%65tc%2Fpasswd", "file:///etc/passwd"),
            ("file:/%2Fetc/passwd", "file:///etc/passwd"),
            ("http://Host.:80/a?b", "http://host/a?b"),
            ("https://host:443", "https://host/"),
            ("file:///a%2520b/", "file:///a%20b/"),
            ("DB://Host/{table}", "db://host/{table}"),
            ("db://Host", "db://host/"),
            ("URN:isbn:1/x", "urn:isbn:1/x"),
            ("no scheme/a", "no scheme/a"),
        ] {
            assert_eq!(normal_form(uri), expected, "{uri}");
        }
    }

    #[test]
    fn a_uri_that_parsers_interpret_differently_is_refused() {
        for uri in [
            "file:///srv/.\t./etc/passwd",
            "file:///srv/.\n./etc/passwd",
            "file:///srv/%2e\t%2e/etc/passwd",
            "file:///srv/%2e%09%2e/etc/passwd",
            "file:///e\ttc/passwd",
            " file:///etc/passwd",
            "fi\tle:///etc/passwd",
            "file:etc/passwd",
            "file://other/etc/passwd",
            "file:///srv/../etc/passwd",
            "file:///srv/%2e%2e/etc/passwd",
            "file:///srv/%252e%252e/etc/passwd",
            "file:///srv%2f..%5cetc",
            "file:///srv/a\\..\\etc",
            "file:///srv/a?/../../etc/passwd",
            "file:///srv/a#b",
            "file:///srv/{/../../etc/passwd",
            "file:///srv/{a}",
            "file:/%2fa/etc",
            "file:///%ff",
            "file:///%zz",
            "file:///a\u{0}",
            "file:///a%00",
            "http:host/a",
            "http:/host/a",
            "http:///host/a",
            "http://user@host/",
            "http://h%6fst/",
            "http://h\u{f6}st/",
            "http://0x7f.1/",
            "http://2130706433/",
            "db://a/../b",
            "nothing",
            "",
        ] {
            assert!(check_spelling(uri).is_err(), "{uri}");
        }
        for uri in [
            "file:///srv/a%20b/C%23.md",
            "file:/srv/\u{e4}",
            "file://localhost/srv",
            "http://host:80/a?path=../b#c",
            "http://127.0.0.1:8000/",
            "http://[::1]/",
            "db://users/rows/7?columns=a",
            "urn:isbn:1",
            "ui://app/.hidden/..b",
        ] {
            assert_eq!(check_spelling(uri), Ok(()), "{uri}");
        }
    }

    #[test]
    fn a_template_has_an_example() {
        for (template, expected) in [
            ("file:///a", Some("file:///a")),
            ("file:///{path}/b{?q}", Some("file:///x/bx")),
            ("{+any}", Some("x")),
            ("file:///{broken", None),
        ] {
            assert_eq!(example_of(template).as_deref(), expected);
        }
        for template in [
            "file:///srv/{/../../etc}",
            "file:///srv/{",
            "{+any}",
            "file:///{\t}",
        ] {
            assert!(check_template(template).is_err(), "{template}");
        }
        assert_eq!(check_template("file:///srv/{+path}"), Ok(()));
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
