//! URIs: functions for choosing the server of a request, and for applying the access rules.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

use iri_string::components::AuthorityComponents;
use iri_string::types::UriStr;
use mcp_host::{is_hidden_character, matches_pattern};
use percent_encoding::{AsciiSet, percent_decode_str, utf8_percent_encode};

use super::template::example_of;

/// Returns the scheme of a URI.
pub(crate) fn scheme(uri: &str) -> Option<&str> {
    let (scheme, _) = uri.split_once(':')?;
    let mut letters = scheme.bytes();
    let is_first = letters.next()?.is_ascii_alphabetic();
    let is_rest = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    (is_first && letters.all(is_rest)).then_some(scheme)
}

/// Returns the scheme of a URI; `None` if servers may read the text before the colon as a host. Examples are `localhost:80/a`, an
/// HTTP address, and `host.example:a.git`, an SSH address.
pub(crate) fn scheme_without_host(uri: &str) -> Option<&str> {
    let scheme = scheme(uri)?;
    let rest = &uri[scheme.len() + 1..];
    let port = before(rest, &['/', '?', '#']);
    let has_port = port.len() < rest.len() && port.parse::<u16>().is_ok();
    let is_host = scheme.contains('.') || scheme.eq_ignore_ascii_case("localhost") || has_port;
    (rest.starts_with("//") || !is_host).then_some(scheme)
}

/// Schemes whose URIs always have an authority: URI parsers add a missing `//`.
const WITH_AUTHORITY: [&str; 5] = ["http", "https", "ws", "wss", "ftp"];

/// Schemes of archives and caches, whose URIs contain another URI or a path after `::`.
const WITH_CHAINS: [&str; 8] = [
    "blockcache",
    "cached",
    "dir",
    "filecache",
    "libarchive",
    "simplecache",
    "tar",
    "zip",
];

/// Maximum size of a URI to which rules apply, in bytes. The limit is low because rules are compared with several forms of the
/// URI.
pub(crate) const MAX_RULED_BYTES: usize = 2 << 10;

/// Checks that a URI has the one spelling that all URI parsers and servers interpret in the same way. Parsers differ: some remove
/// tabs and line ends, treat `\` as `/`, resolve `..`, or decode escapes before they split the URI. Some servers remove
/// parameters and fragments, or split the URI at escaped delimiters.
///
/// # Errors
/// The error says what is ambiguous, and what to change.
pub(crate) fn check_spelling(uri: &str) -> Result<(), &'static str> {
    if uri.len() > MAX_RULED_BYTES {
        return Err("it has more than 2,048 bytes");
    }
    let parsed = UriStr::new(uri).map_err(|_| {
        "it is not a URI, or has a character or an escape that RFC 3986 does not allow; escape other characters with %"
    })?;
    let scheme = parsed.scheme_str().to_ascii_lowercase();
    if schemes_with_nested_uri(uri).is_some() {
        return Err(
            "it contains another URI, which some servers read instead; use only the inner URI",
        );
    }
    check_escapes(uri, has_fixed_syntax(&scheme))?;
    if parsed.fragment().is_some() || uri.contains([';', '*']) {
        return Err("it has a fragment, a \";\" or a \"*\"; leave it out");
    }
    let path = parsed.path_str();
    match parsed.authority_components() {
        Some(authority) => {
            check_authority(&scheme, authority)?;
            let rest = &uri[authority_end(uri)..];
            if scheme != "file" && (rest.contains('@') || rest.contains("%40")) {
                return Err(
                    "it has an \"@\" after the host, and some servers read the text before the \"@\" as a user",
                );
            }
        }
        None if path.starts_with('/') || has_fixed_syntax(&scheme) => {
            return Err(
                "it has no \"//\" after the scheme; write \"//\", the host if it has one, and the path",
            );
        }
        None => {}
    }
    if path.trim_end_matches('/').len() + 1 < path.len() || path.contains("//") {
        return Err("its path has an empty segment; remove a \"/\"");
    }
    match scheme == "file" && parsed.query().is_some() {
        true => Err("a file has no query; write \"?\" as %3F"),
        false => Ok(()),
    }
}

/// Returns the outer and inner schemes of a URI that contains another URI; `None` if there is no inner URI. Some servers read the
/// inner URI instead of the whole URI. Examples are `url:file:///a`, `jar:url:file:///a`, `simplecache::a` and
/// `sqlite:///file:a`.
///
/// The inner URI follows the outer scheme or `:///`, and its scheme is `url`, `file` or a scheme such as `http`. After `::`, the
/// inner URI can also have no scheme. Several URIs can form a chain, such as `zip:///a::file:///b`.
pub(super) fn schemes_with_nested_uri(uri: &str) -> Option<Vec<String>> {
    let decoded = percent_decode_str(uri).decode_utf8_lossy().to_lowercase();
    let text = before(&decoded, &['?', '#']);
    let mut segments = text.split('/');
    // The text after the last colon is not a scheme.
    let (first, _) = segments.next()?.rsplit_once(':')?;
    let mut schemes: Vec<_> = first.split(':').map(str::trim).collect();
    // Without a host, some drivers read the path as a URI.
    if segments.next() == Some("") && segments.next() == Some("") {
        schemes.extend(segments.next().and_then(|path| scheme(path.trim())));
    }
    // A chain of URIs: `zip:///a::file:///b`, or a relative path in it.
    let mut chained = text.match_indices("::").map(|(at, _)| &text[at + 2..]);
    let is_chain = |text: &str| WITH_CHAINS.contains(&schemes[0]) || is_uri_or_path(text);
    let is_chained = text.contains("//") && chained.any(is_chain);
    if is_chained {
        schemes.push("");
    }
    let is_inner = |name: &&str| *name == "url" || has_fixed_syntax(name);
    let is_wrapped = is_chained
        || schemes[0] == "url"
        || schemes.get(1) == Some(&"")
        || schemes[1..].iter().any(is_inner);
    is_wrapped.then(|| schemes.into_iter().map(str::to_owned).collect())
}

/// Returns whether a text begins with `/` or with a scheme. The beginning of a name such as `fs::File` is not a scheme.
fn is_uri_or_path(text: &str) -> bool {
    let is_uri = |name: &str| !text[name.len() + 1..].starts_with(':');
    text.starts_with('/') || scheme(text).is_some_and(is_uri)
}

/// Checks that all servers understand the URIs of a template in the same way. The name of an expression must not look like a part
/// of a path.
///
/// # Errors
/// The same as for [`check_spelling`].
pub(crate) fn check_template(template: &str) -> Result<(), &'static str> {
    let names = template.replace(['{', '}'], "");
    if !names.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("it has a space, a control character or a letter outside of ASCII");
    }
    if names
        .split(['/', '?'])
        .any(|part| matches!(part, "." | ".."))
    {
        return Err("it has a segment \".\" or \"..\"; resolve it first");
    }
    let example = example_of(template).ok_or("an expression of the template has no end")?;
    check_spelling(&example)
}

/// Checks that a decoded URI has no segment, such as `..`, that a server could resolve.
fn check_dots(text: &str) -> Result<(), &'static str> {
    // The path of a URI without an authority begins after the scheme.
    let mut segments = text.split(['/', '?', '#', ';', ':']);
    match segments.any(|segment| matches!(segment.trim(), "." | "..")) {
        true => Err("it has a segment \".\" or \"..\"; resolve it first"),
        false => Ok(()),
    }
}

/// Checks that each escape is necessary, and that no server interprets the escaped character as a delimiter. `is_fixed` says
/// whether all servers split URIs of this scheme in the same way.
fn check_escapes(uri: &str, is_fixed: bool) -> Result<(), &'static str> {
    let decoded = percent_decode_str(uri).decode_utf8();
    let decoded = decoded.map_err(|_| "its escapes are not UTF-8")?;
    if decoded.chars().any(|c| is_hidden_character(c) || c == '\\') {
        return Err("it has an escaped control character, invisible character or backslash");
    }
    if decoded.chars().any(|c| !c.is_ascii() && c.is_numeric()) {
        return Err("it has a digit that is not ASCII, which some servers read as another number");
    }
    check_dots(&decoded)?;
    for escape in uri.split('%').skip(1) {
        let byte = escape
            .get(..2)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match byte.unwrap_or(b'%') {
            b'-' | b'.' | b'_' | b'~' => {
                return Err("it has an escape that is not needed; write the character itself");
            }
            byte if byte.is_ascii_alphanumeric() => {
                return Err("it has an escape that is not needed; write the character itself");
            }
            b'/' | b'%' => return Err("it has an escaped \"/\" or \"%\""),
            b'?' | b'#' | b';' | b'*' if !is_fixed => {
                return Err("it has an escaped \"?\", \"#\", \";\" or \"*\"");
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks the user, host and port of a URI; `scheme` is in lower case.
fn check_authority(scheme: &str, authority: AuthorityComponents<'_>) -> Result<(), &'static str> {
    let (host, port) = (authority.host(), authority.port());
    if authority.userinfo().is_some() || host.contains('%') {
        return Err("its authority has a user or an escape; name only the host");
    }
    if host.contains(['!', '$', '&', '\'', '(', ')', '*', '+', ',', ';', '=']) {
        return Err("its host has a \",\" or another delimiter; name one host");
    }
    if !host.is_empty() && host.split('.').any(str::is_empty) {
        return Err("its host begins or ends with \".\", or has \"..\"; remove the dot");
    }
    if let Some(address) = host.strip_prefix('[')
        && !(address.strip_suffix(']')).is_some_and(|address| {
            let parsed = address.parse::<Ipv6Addr>();
            parsed.is_ok_and(|parsed| parsed.to_string().eq_ignore_ascii_case(address))
        })
    {
        return Err("its address is not in the shortest form (RFC 5952)");
    }
    if port == Some("") {
        return Err("its port is empty; remove the \":\"");
    }
    if scheme == "file" {
        return match host.is_empty() && port.is_none() {
            true => Ok(()),
            false => {
                Err("it has a host, but the URI of a file must not have one; write \"file:///\"")
            }
        };
    }
    if !has_fixed_syntax(scheme) {
        return Ok(());
    }
    if host.is_empty() || !is_plain_host(host) {
        return Err("its host is missing, or is a number that some servers convert to an address");
    }
    let default = match scheme {
        "http" | "ws" => "80",
        "ftp" => "21",
        _ => "443",
    };
    let is_shortest = |port: &str| {
        port.parse::<u16>()
            .is_ok_and(|number| number.to_string() == port)
    };
    match port.is_none_or(|port| port != default && is_shortest(port)) {
        true => Ok(()),
        false => {
            Err("its port is the default port or has leading zeros; remove the port or the zeros")
        }
    }
}

/// Returns whether the host is a name, an address in brackets, or four decimal numbers. Some URI parsers convert other numbers to
/// addresses.
fn is_plain_host(host: &str) -> bool {
    let last = host.rsplit('.').next();
    let is_number = last.is_some_and(|label| label.starts_with(|c: char| c.is_ascii_digit()));
    !is_number || host.parse::<Ipv4Addr>().is_ok()
}

/// Returns the IPv4 addresses that servers may read from a host. The host can be in any form, such as `127.1`, `0x7f.1`,
/// `2130706433`, `010.0.0.1` or `[::ffff:127.0.0.1]`. Returns 127.0.0.1 for all names and loopback addresses of this machine, and
/// for the unspecified address.
fn addresses_of(host: &str) -> [Option<Ipv4Addr>; 2] {
    let machine = |address: Ipv4Addr| match address.is_loopback() || address.is_unspecified() {
        true => Ipv4Addr::LOCALHOST,
        false => address,
    };
    let lower = host.to_ascii_lowercase();
    if lower == "localhost" || lower.ends_with(".localhost") {
        return [Some(Ipv4Addr::LOCALHOST), None];
    }
    if let Some(address) = host.strip_prefix('[') {
        let address = address.trim_end_matches(']').parse::<Ipv6Addr>().ok();
        let address =
            address.and_then(
                |address| match address.is_loopback() || address.is_unspecified() {
                    true => Some(Ipv4Addr::LOCALHOST),
                    false => address.to_ipv4_mapped(),
                },
            );
        return [address.map(machine), None];
    }
    // Some parsers read a number that begins with 0 as octal.
    [true, false].map(|is_octal| numeric_address(&lower, is_octal).map(machine))
}

/// Returns the address that is written as one to four numbers. The last number contains all remaining bytes.
fn numeric_address(host: &str, is_octal: bool) -> Option<Ipv4Addr> {
    let number = |label: &str| {
        let is_plain = label.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_plain.then(|| match label.strip_prefix("0x") {
            Some("") => Some(0),
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None if is_octal && label.starts_with('0') => u32::from_str_radix(label, 8).ok(),
            None => label.parse().ok(),
        })?
    };
    let mut labels = host.rsplit('.');
    let last = number(labels.next()?)?;
    let mut address = 0_u32;
    let before: Vec<_> = labels.map(number).collect();
    for (position, label) in before.iter().rev().enumerate() {
        let byte = u8::try_from((*label)?).ok()?;
        address |= u32::from(byte)
            << 24_usize
                .checked_sub(8 * position)
                .filter(|shift| *shift > 0)?;
    }
    let rest = u32::MAX.checked_shr(8 * u32::try_from(before.len()).ok()?)?;
    (last <= rest).then(|| Ipv4Addr::from_bits(address | last))
}

/// Returns whether the host of a pattern is an IPv4 address or a name of this machine. Also returns `true` if the host has a `*`
/// and can match such a host. Returns `false` for `*` alone, which matches every host.
pub(super) fn is_address_pattern(host: &str) -> bool {
    let is_number = |c: char| c.is_ascii_hexdigit() || ".*xX".contains(c);
    let has_digit = host.contains(|c: char| c.is_ascii_digit());
    !host.bytes().all(|byte| byte == b'*')
        && (addresses_of(host).iter().any(Option::is_some)
            || host.contains('*')
                && (has_digit && host.chars().all(is_number)
                    || MACHINE.iter().any(|machine| matches_pattern(host, machine))))
}

/// The usual names and addresses of this machine.
const MACHINE: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Returns whether the host of a URI can be an address that the host of a pattern matches in another spelling.
pub(super) fn can_be_same_address(pattern: &str, host: &str) -> bool {
    if pattern.eq_ignore_ascii_case(host) {
        return false;
    }
    let of_pattern = addresses_of(pattern);
    let mut addresses = addresses_of(host).into_iter().flatten();
    addresses.any(|address| {
        of_pattern.contains(&Some(address))
            || matches_pattern(pattern, &address.to_string())
            || address.is_loopback()
                && MACHINE
                    .iter()
                    .any(|machine| matches_pattern(pattern, machine))
    })
}

/// The characters that are escaped in a listed URI, because RFC 3986 does not allow them. Control characters and `\` are not
/// included, because some parsers remove them or read `\` as `/`. `%`, `[` and `]` are not included either.
const UNESCAPED: &AsciiSet = &AsciiSet::EMPTY
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Returns a URI with the escapes that RFC 3986 requires.
pub(super) fn escaped(uri: &str) -> Cow<'_, str> {
    utf8_percent_encode(uri, UNESCAPED).into()
}

/// Returns a URI without its user. A URI without a user, or with a user that parsers could interpret in different ways, is
/// returned unchanged.
pub(super) fn without_user(uri: Cow<'_, str>) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte);
    let Some((start, authority)) = authority(&uri) else {
        return uri;
    };
    match authority.split_once('@') {
        Some((user, host)) if user.bytes().all(is_plain) && !host.contains('@') => {
            let rest = &uri[start + authority.len()..];
            Cow::Owned(format!("{}{host}{rest}", &uri[..start]))
        }
        _ => uri,
    }
}

/// Returns the position at which the authority of a URI or pattern ends; `0` if there is no authority.
pub(crate) fn authority_end(uri: &str) -> usize {
    authority(uri).map_or(0, |(start, authority)| start + authority.len())
}

/// Returns the position and the text of the authority of a URI or pattern.
fn authority(uri: &str) -> Option<(usize, &str)> {
    let start = uri.find("://")? + 3;
    let has_scheme = !uri[..start - 3].contains(['/', '?', '#']);
    has_scheme.then(|| (start, before(&uri[start..], &['/', '?', '#'])))
}

/// Returns the text before the first character of `ends`.
pub(super) fn before<'a>(text: &'a str, ends: &[char]) -> &'a str {
    text.split(ends).next().unwrap_or_default()
}

/// Splits an authority into the host and the port, which follows a colon.
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
    fn the_port_follows_the_host_or_its_brackets() {
        for (authority, parts) in [
            ("a:1", ("a", Some("1"))),
            ("[::1]:80", ("[::1]", Some("80"))),
            ("[::1]", ("[::1]", None)),
            ("[::1]x:", ("[::1]x", Some(""))),
        ] {
            assert_eq!(split_port(authority), parts, "{authority}");
        }
    }

    #[test]
    fn a_uri_that_servers_interpret_differently_is_refused() {
        for uri in [
            "file:///srv/.\t./etc/passwd",
            "file:///srv/%2e%09%2e/etc/passwd",
            " file:///etc/passwd",
            "file:etc/passwd",
            "file:/etc/passwd",
            "file:////etc/passwd",
            "file://other/etc/passwd",
            "file://localhost/etc/passwd",
            "file:///srv/../etc/passwd",
            "file:///srv/..",
            "file:///srv/%2e%2e/etc/passwd",
            "file:///srv/%252e%252e/etc/passwd",
            "file:///srv%2f..%5cetc",
            "file:///%65tc",
            "file:///a%2Fb",
            "file:///a%25b",
            "file:///a//b",
            "file:///a?b",
            "file:///a#b",
            "file:///srv/{a}",
            "file:///%ff",
            "file:///%zz",
            "file:///a%00",
            "file:///\u{e4}",
            "http:host/a",
            "http:/host/a",
            "http:///host/a",
            "http://user@host/",
            "http://h%6fst/",
            "http://h\u{f6}st/",
            "http://host./",
            "mongodb://secret,pub/key",
            "postgres://pub,secret/key",
            "notes://secret./k",
            "notes://.secret/k",
            "http://.localhost/",
            "http://a..b/",
            "http://host:80/",
            "http://host:080/",
            "http://host:/",
            "http://0x7f.1/",
            "http://2130706433/",
            "http://[0:0:0:0:0:0:0:1]/",
            "http://[::ffff:7f00:1]/",
            "nothing",
            "",
        ] {
            assert!(check_spelling(uri).is_err(), "{uri}");
        }
    }

    /// Some libraries for files, archives and databases read the inner URI instead of the outer URI.
    #[test]
    fn a_uri_that_contains_another_uri_is_refused() {
        for uri in [
            "URL:file:/etc/passwd",
            "url:https://host/",
            "x:FILE:///etc/passwd",
            "jar:url:file:/srv/a.jar!/b",
            "simplecache::/etc/passwd",
            "simplecache::file:/etc/passwd",
            "zip:///a.txt::file:/etc/passwd",
            "zip:///a.txt::/etc/passwd",
            "zip://a.txt::local:/etc/passwd",
            "zip:///a.txt::data/b.zip",
            "tar://a.txt::~/b.tar",
            "sqlite:///file:a.db",
            "sqlite:///FILE%3Aa.db",
        ] {
            assert!(check_spelling(uri).is_err(), "{uri}");
            assert!(schemes_with_nested_uri(uri).is_some(), "{uri}");
        }
    }

    #[test]
    fn a_uri_with_a_custom_scheme_has_one_accepted_spelling() {
        let long = format!("db://{}", "x".repeat(MAX_RULED_BYTES));
        for uri in [
            "db://a/../b",
            "db://a/..;x/b",
            "db://a;x/b",
            "db://a/b#c",
            "db://a/C%23",
            "db://a/C%3Fb",
            "db://a/C%3bb",
            "db://a/*",
            "db://a/%2A",
            "db:/a",
            "db:./a",
            "db:..",
            "db://a//b",
            "db://a@b/c",
            "db://a/b@c",
            "db://a?b%40c",
            "db://a:/b",
            "db://a/..%EF%BB%BF/b",
            &long,
        ] {
            assert!(check_spelling(uri).is_err(), "{uri}");
        }
        for uri in [
            "file:///srv/a%20b/C%23.md",
            "file:///srv/%C3%A4/",
            "http://host/a?path=a/b",
            "http://host:8000",
            "http://127.0.0.1:8000/",
            "http://[::1]/",
            "db://Users/rows/7?columns=a&b=c",
            "db://host:5432/a",
            "db:///a",
            "db://",
            "urn:isbn:1",
            "ui://app/.hidden/..b",
            "urn:nbn:de:1",
            "notes://a/b:c",
            "arn:aws:s3:::bucket",
            "rust:std::fs",
            "notes://docs/std::fs::File",
            "wiki://en/File:Example.jpg",
            "https://wiki.example/File:Example.jpg",
            "fetch://page?url=https%3A",
            "issue://20261126",
            "issue://1.2.3",
        ] {
            assert_eq!(check_spelling(uri), Ok(()), "{uri}");
        }
    }

    #[test]
    fn an_example_uri_is_created_for_a_template() {
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
            "file:///a%2Fb/{c}",
        ] {
            assert!(check_template(template).is_err(), "{template}");
        }
        assert_eq!(check_template("file:///srv/{+path}"), Ok(()));
    }

    #[test]
    fn a_uri_to_which_rules_apply_has_a_limited_size() {
        let with = |bytes: usize| format!("file:///{}", "x".repeat(bytes - "file:///".len()));
        assert_eq!(check_spelling(&with(MAX_RULED_BYTES)), Ok(()));
        let refused = check_spelling(&with(MAX_RULED_BYTES + 1));
        assert_eq!(refused, Err("it has more than 2,048 bytes"));
    }

    /// Without this rule, one listed address would allow all addresses of its host.
    #[test]
    fn a_host_before_a_port_or_path_is_not_read_as_a_scheme() {
        for uri in [
            "localhost:8080/a",
            "localhost:a",
            "host:80/a",
            "host:80?a",
            "github.com:o/r.git",
        ] {
            assert_eq!(scheme_without_host(uri), None, "{uri}");
        }
        for (uri, expected) in [
            ("a.b://c", "a.b"),
            ("urn:isbn:1", "urn"),
            ("tel:123", "tel"),
            ("localhost://a", "localhost"),
            ("job:70000/a", "job"),
        ] {
            assert_eq!(scheme_without_host(uri), Some(expected), "{uri}");
        }
    }

    #[test]
    fn the_scheme_of_a_uri_is_the_valid_name_before_its_first_colon() {
        assert_eq!(scheme("file:///a"), Some("file"));
        assert_eq!(scheme("ui+x.y-1:a"), Some("ui+x.y-1"));
        for none in ["", ":", "1a:b", "a b:c", "{+x}:a", "nothing"] {
            assert_eq!(scheme(none), None, "{none}");
        }
    }
}
