//! Tests of the allow lists, value by value (threats T01 and T02).

use http::Request;
use http::header::{HOST, ORIGIN};
use http::request::Parts;

use super::{AllowList, SourceCheck, SourceHeader};
use crate::server::head::McpHeaders;

fn host(hosts: &AllowList, parts: &Parts) -> SourceCheck {
    super::host(hosts, &parts.uri, McpHeaders::of(&parts.headers).host)
}

fn origin(origins: &AllowList, parts: &Parts) -> SourceCheck {
    super::origin(origins, McpHeaders::of(&parts.headers).origin)
}

fn request(uri: &str, headers: &[(http::HeaderName, &[u8])]) -> Parts {
    let mut builder = Request::builder().uri(uri);
    for (name, value) in headers {
        builder = builder.header(name, *value);
    }
    builder.body(()).unwrap().into_parts().0
}

fn with_host(value: &[u8]) -> Parts {
    request("/mcp", &[(HOST, value)])
}

fn with_origin(value: &[u8]) -> Parts {
    request("/mcp", &[(ORIGIN, value)])
}

/// Checks every row of a table: a header value, and whether it is accepted.
#[track_caller]
fn table(check: impl Fn(&[u8]) -> SourceCheck, rows: &[(&[u8], bool)]) {
    for (value, passes) in rows {
        let verdict = check(value);
        let text = value.escape_ascii();
        assert_eq!(
            verdict == SourceCheck::Allowed,
            *passes,
            "{text}: {verdict:?}"
        );
    }
}

#[test]
fn the_default_hosts_are_the_loopback_names() {
    let hosts = AllowList::loopback();
    table(
        |value| host(&hosts, &with_host(value)),
        &[
            (b"localhost", true),
            (b"LocalHost", true),
            (b"localhost:1", true),
            (b"localhost:3000", true),
            (b"localhost:65535", true),
            (b"127.0.0.1", true),
            (b"127.0.0.1:8080", true),
            (b"[::1]", true),
            (b"[::1]:8080", true),
            (b"", false),
            (b"evil.com", false),
            (b"evil.com:80", false),
            (b"127.0.0.1.evil.com", false),
            (b"127.0.0.1.nip.io", false),
            (b"localhost.evil.com", false),
            (b"evil.localhost", false),
            (b"evil-localhost", false),
            (b"localhost.", false),
            (b"localhost.:3000", false),
            (b"localhost.localdomain", false),
            (b"0.0.0.0", false),
            (b"0.0.0.0:3000", false),
            (b"127.0.0.2", false),
            (b"127.1", false),
            (b"127.0.0.01", false),
            (b"2130706433", false),
            (b"0x7f000001", false),
            (b"[::]", false),
            (b"[::2]", false),
            (b"::1", false),
            (b"[::1", false),
            (b"[::1]x", false),
            (b"[::1%25lo]", false),
            (b"[::ffff:127.0.0.1]", false),
            (b"[0:0:0:0:0:0:0:1]", false),
            (b"localhost:", false),
            (b"localhost:0", false),
            (b"localhost:080", false),
            (b"localhost:+80", false),
            (b"localhost:65536", false),
            (b"localhost:80:80", false),
            (b"localhost:http", false),
            (b"localhost, evil.com", false),
            (b"localhost evil.com", false),
            (b"localhost/", false),
            (b"localhost#", false),
            (b"http://localhost", false),
            (b"evil.com@localhost", false),
            (b"localhost@evil.com", false),
            (b"localhost:80@evil.com", false),
            (b"user:pass@localhost", false),
            (b"%6cocalhost", false),
            (b"localhost\xff", false),
            ("l\u{f6}calhost".as_bytes(), false),
            (b"null", false),
            (b"*", false),
        ],
    );
}

#[test]
fn a_request_without_exactly_one_host_is_rejected() {
    let hosts = AllowList::loopback();
    let rows: &[(&str, &[&[u8]], bool)] = &[
        ("/mcp", &[], false),
        ("/mcp", &[b"localhost", b"localhost"], false),
        ("/mcp", &[b"localhost", b"evil.com"], false),
        ("/mcp", &[b"evil.com", b"localhost"], false),
        ("http://localhost/mcp", &[], true),
        ("http://LOCALHOST:80/mcp", &[b"localhost:80"], true),
        ("http://localhost/mcp", &[b"localhost"], true),
        ("http://localhost:81/mcp", &[b"localhost:82"], false),
        ("http://localhost/mcp", &[b"localhost:80"], false),
        ("http://localhost/mcp", &[b"evil.com"], false),
        ("http://evil.com/mcp", &[b"localhost"], false),
        ("http://evil.com/mcp", &[], false),
        ("http://user@localhost/mcp", &[], false),
        ("http://localhost/mcp", &[b"localhost", b"localhost"], false),
    ];
    for (uri, values, passes) in rows {
        let headers: Vec<_> = values.iter().map(|value| (HOST, *value)).collect();
        let verdict = host(&hosts, &request(uri, &headers));
        assert_eq!(verdict == SourceCheck::Allowed, *passes, "{uri} {values:?}");
    }
}

#[test]
fn an_allowed_host_is_matched_exactly() {
    let hosts = AllowList::loopback()
        .allow("mcp.Example.com")
        .allow("fixed.example:8443")
        .allow("[2001:DB8:0::1]")
        .allow("[fe80::2]:80");
    assert_eq!(hosts.problem_as(SourceHeader::Host), None);
    table(
        |value| host(&hosts, &with_host(value)),
        &[
            (b"mcp.example.com", true),
            (b"MCP.EXAMPLE.COM:99", true),
            (b"localhost", true),
            (b"fixed.example:8443", true),
            (b"[2001:db8::1]:7", true),
            (b"[2001:DB8::1]", true),
            (b"[fe80::2]:80", true),
            (b"example.com", false),
            (b"a.mcp.example.com", false),
            (b"mcp.example.com.", false),
            (b"xmcp.example.com", false),
            (b"fixed.example", false),
            (b"fixed.example:443", false),
            (b"[fe80::2]", false),
            (b"[fe80::2]:81", false),
        ],
    );
}

#[test]
fn the_default_origins_are_pages_from_this_machine() {
    let origins = AllowList::loopback();
    table(
        |value| origin(&origins, &with_origin(value)),
        &[
            (b"http://localhost", true),
            (b"http://localhost:3000", true),
            (b"https://localhost:8443", true),
            (b"HTTP://LOCALHOST", true),
            (b"http://127.0.0.1:6274", true),
            (b"http://[::1]:6274", true),
            (b"", false),
            (b"null", false),
            (b"NULL", false),
            (b"https://evil.example", false),
            (b"http://localhost.evil.example", false),
            (b"http://127.0.0.1.evil.example", false),
            (b"http://localhost.", false),
            (b"http://0.0.0.0:3000", false),
            (b"http://[::ffff:127.0.0.1]", false),
            (b"http://localhost@evil.example", false),
            (b"http://user@localhost", false),
            (b"http://localhost/", false),
            (b"http://localhost:3000/path", false),
            (b"http://localhost?", false),
            (b"http://localhost:", false),
            (b"http://localhost http://evil.example", false),
            (b"http://localhost, http://evil.example", false),
            (b"localhost", false),
            (b"//localhost", false),
            (b"://localhost", false),
            (b"file://", false),
            (b"file://localhost", false),
            (b"ws://localhost", false),
            (b"chrome-extension://localhost", false),
            (b"http:/localhost", false),
            (b"*", false),
            (b"http://localhost\xfe", false),
        ],
    );
}

#[test]
fn a_request_without_an_origin_is_accepted_and_a_repeated_origin_is_rejected() {
    let origins = AllowList::loopback();
    assert_eq!(origin(&origins, &request("/", &[])), SourceCheck::Allowed);
    let twice = [(); 2].map(|()| (ORIGIN, b"http://localhost".as_slice()));
    assert!(matches!(
        origin(&origins, &request("/", &twice)),
        SourceCheck::Refused(_)
    ));
}

#[test]
fn an_allowed_origin_is_matched_exactly() {
    let origins = AllowList::loopback()
        .allow("https://App.example.com")
        .allow("http://plain.example:80")
        .allow("https://ports.example:8443")
        .allow("vscode-webview://1a2b")
        .allow("null");
    assert_eq!(origins.problem_as(SourceHeader::Origin), None);
    table(
        |value| origin(&origins, &with_origin(value)),
        &[
            (b"https://app.example.com", true),
            (b"HTTPS://APP.EXAMPLE.COM:443", true),
            (b"http://plain.example", true),
            (b"http://plain.example:80", true),
            (b"https://ports.example:8443", true),
            (b"vscode-webview://1a2b", true),
            (b"null", true),
            (b"http://localhost:1", true),
            (b"http://app.example.com", false),
            (b"https://app.example.com:444", false),
            (b"https://example.com", false),
            (b"https://x.app.example.com", false),
            (b"https://plain.example:80", false),
            (b"http://plain.example:443", false),
            (b"https://ports.example", false),
            (b"vscode-webview://1a2b:1", false),
            (b"vscode-webview://1a2c", false),
            (b"Null", false),
        ],
    );
}

#[test]
fn an_allow_list_of_any_accepts_every_value() {
    let any = AllowList::any();
    assert_eq!(host(&any, &request("/", &[])), SourceCheck::Allowed);
    assert_eq!(host(&any, &with_host(b"evil.com")), SourceCheck::Allowed);
    assert_eq!(origin(&any, &with_origin(b"null")), SourceCheck::Allowed);
    assert!(!any.is_loopback_only());
}

#[test]
fn an_invalid_allow_list_entry_is_reported() {
    let problem = |value: &str| AllowList::loopback().allow(value).problem();
    for (value, shown) in [
        ("", ""),
        ("*", "*"),
        ("*.example.com", "*.example.com"),
        ("https://*.example.com", "https://*.example.com"),
        ("a b", "a b"),
        ("a\n", "a\\n"),
        ("::1", "::1"),
        ("2001:db8::1", "2001:db8::1"),
        ("a:b", "a:b"),
        ("a:0", "a:0"),
        ("a:", "a:"),
        ("user@host", "user@host"),
        ("https://a/", "https://a/"),
        ("https://a/path", "https://a/path"),
        ("https://", "https://"),
        ("://a", "://a"),
        ("1http://a", "1http://a"),
        ("b\u{fc}cher.example", "b\\xc3\\xbccher.example"),
    ] {
        let problem = problem(value).unwrap_or_else(|| panic!("{value} is allowed"));
        let start = format!("`{shown}` cannot be allowed: ");
        assert!(problem.starts_with(&start), "{problem}");
    }
    assert!(
        problem("*")
            .unwrap()
            .contains("ServerOptions::allow_any_host")
    );
    let first = AllowList::loopback().allow("a b").allow("c d").allow("ok");
    assert!(first.problem().unwrap().contains("`a b`"));
}

#[test]
fn a_host_is_rejected_as_origin_and_an_origin_as_host() {
    let mixed = |value: &str, header| AllowList::loopback().allow(value).problem_as(header);
    for (value, header) in [
        ("example.com", SourceHeader::Origin),
        ("https://example.com", SourceHeader::Host),
        ("null", SourceHeader::Host),
    ] {
        let problem = mixed(value, header).unwrap();
        assert!(problem.starts_with(header.setting()), "{problem}");
        assert!(problem.contains(value), "{problem}");
    }
    assert_eq!(mixed("example.com", SourceHeader::Host), None);
    assert_eq!(mixed("https://example.com", SourceHeader::Origin), None);
}

#[test]
fn the_default_allow_list_is_recognised_as_loopback_only() {
    assert!(AllowList::loopback().is_loopback_only());
    assert!(
        AllowList::loopback()
            .allow("LOCALHOST:3000")
            .is_loopback_only()
    );
    assert!(!AllowList::loopback().allow("a.example").is_loopback_only());
    assert!(!AllowList::loopback().allow("null").is_loopback_only());
}

#[test]
fn a_rejection_names_header_value_and_setting() {
    let refusal = |check| match check {
        SourceCheck::Refused(message) => message,
        SourceCheck::Allowed => panic!("allowed"),
    };
    let hosts = AllowList::loopback();
    let message = refusal(host(&hosts, &with_host(b"evil.com")));
    for part in ["Host", "`evil.com`", "ServerOptions::allow_host"] {
        assert!(message.contains(part), "{message}");
    }
    let message = refusal(origin(&hosts, &with_origin(b"https://evil.example")));
    for part in [
        "Origin",
        "`https://evil.example`",
        "ServerOptions::allow_origin",
    ] {
        assert!(message.contains(part), "{message}");
    }
    for byte in [b'a', b'\t', 0xff] {
        let message = refusal(host(&hosts, &with_host(&[byte; 4_000])));
        assert!(!message.contains(char::is_control), "{message}");
        let shown = message.split('`').nth(1).unwrap();
        assert_eq!(shown.chars().count(), 257);
        assert!(shown.ends_with('…'));
    }
    let exact = refusal(host(&hosts, &with_host(&[b'a'; 256])));
    assert!(!exact.contains('…'), "{exact}");
}

#[test]
fn a_refused_origin_is_said_to_be_foreign_or_not_an_origin() {
    let origins = AllowList::loopback();
    for (value, reason) in [
        ("https://evil.example", "is not served here"),
        ("null", "is not served here"),
        ("evil", "is not an origin"),
    ] {
        let check = origin(&origins, &with_origin(value.as_bytes()));
        let SourceCheck::Refused(message) = check else {
            panic!("{value} is allowed");
        };
        assert!(message.contains(reason), "{message}");
    }
}
