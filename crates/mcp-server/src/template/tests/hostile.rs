//! Hostile URIs.

use std::time::Instant;

use super::super::UriTemplate;
use super::{Numbers, found, parse};

/// Paths that lead out of a directory. Some are whole paths, and some are a segment within a longer path.
const TRAVERSALS: [&str; 30] = [
    "..",
    "../",
    "../../etc/passwd",
    "a/../../b",
    "a/..",
    "%2e%2e",
    "%2E%2E/",
    "%2e.",
    ".%2e",
    "..%2f",
    "..%2F..%2Fetc",
    "%2e%2e%2fetc",
    "%252e%252e",
    "%252e%252e%252f",
    "..%252f..",
    "a%2f..%2fb",
    "..%5c",
    "..%5C..%5Cwindows",
    "a%5c..%5cb",
    "%2e%2e%5c",
    "%252e%252e%255c",
    "..\\",
    "..%20",
    "..%20/x",
    "%00",
    "a%00.txt",
    "..%00/",
    "%2500",
    "%c0%ae%c0%ae",
    "%c0%af",
];

// proves: M-RES-021
#[test]
fn no_variable_of_a_matched_uri_leads_out_of_a_directory() {
    for template in [
        "f:///{x}",
        "f:///{+x}",
        "f:///{+x}/{y}",
        "f:///{y}/{+x}",
        "f:///pre{x}post",
        "f:///d{/x}",
        "f:///d{/x,y}",
        "f:///d{.x}",
        "f:///d{;x}",
        "f:///d{?x}",
        "f:///d{#x}",
    ] {
        let template = parse(template);
        for way in TRAVERSALS {
            for uri in template_uris(&template, way) {
                let Some(found) = template.matches(&uri) else {
                    continue;
                };
                for value in found.values() {
                    let climbs = value.split(['/', '\\']).any(|part| part.trim() == "..");
                    assert!(
                        !climbs && !value.contains('\0'),
                        "{template} {uri} {found:?}"
                    );
                }
            }
        }
    }
    for uri in [
        "f:///..",
        "f:///%2e%2e",
        "f:///%252e%252e",
        "f:///a%2fb",
        "f:///a%5cb",
        "f:///%00",
    ] {
        assert_eq!(found("f:///{x}", uri), None, "{uri}");
    }
    // A literal and a variable that form such a path together.
    assert_eq!(found("f:///.{x}/y", "f:///../y"), None);
    assert_eq!(found("f:///{x}{y}", "f:///.%2e"), None);
}

fn template_uris(template: &UriTemplate, way: &str) -> Vec<String> {
    let mut uris = Vec::new();
    for value in [
        way.to_owned(),
        format!("a/{way}"),
        format!("{way}/b"),
        format!("a{way}"),
    ] {
        let uri = template.as_str();
        let uri = uri
            .replace("{x}", &value)
            .replace("{+x}", &value)
            .replace("{y}", "y");
        let uri = uri
            .replace("{/x}", &format!("/{value}"))
            .replace("{.x}", &format!(".{value}"));
        let uri = uri.replace("{/x,y}", &format!("/{value}/y"));
        let uri = uri.replace("{;x}", &format!(";x={value}"));
        let uri = uri.replace("{?x}", &format!("?x={value}"));
        uris.push(uri.replace("{#x}", &format!("#{value}")));
    }
    uris
}

#[test]
fn a_variable_cannot_begin_with_an_absolute_path() {
    for uri in [
        "f:////etc/passwd",
        "f:///%2Fetc/passwd",
        "f:///%5C%5Cserver/share",
        "f://///server/share",
        "f:///%252Fetc",
    ] {
        assert_eq!(found("f:///{+path}", uri), None, "{uri}");
    }
    for uri in [
        "f:////server/share",
        "f://%2F%2Fserver/share",
        "f://%5C%5Cserver",
    ] {
        assert_eq!(found("f://{+path}", uri), None, "{uri}");
    }
}

#[test]
fn matching_takes_linear_time() {
    let template = parse(&"{+a}-".repeat(32));
    let many = parse(&(0..64).map(|n| format!("{{+v{n}}}a")).collect::<String>());
    let time = |length: usize| {
        let long = "a".repeat(length);
        let start = Instant::now();
        assert!(template.matches(&"-a".repeat(length / 2)).is_none());
        assert!(many.matches(&format!("{long}b")).is_none());
        assert!(many.matches(&long).is_some());
        start.elapsed()
    };
    // Four times the length takes four times as long, or sixteen times if the time is quadratic. The fastest of several runs was not
    // interrupted by other programs.
    let fastest = |length| (0..8).map(|_| time(length)).min().unwrap_or_default();
    assert!(fastest(8_000) < fastest(2_000) * 10);
    assert!(many.matches(&"a".repeat(16_000)).is_none());
}

#[test]
fn no_uri_of_a_peer_makes_the_matcher_panic() {
    let templates = ["f:///{+a}{?b,c}", "{a,b}{.c}{/d}{;e}{#f}", "é{a}%41{b}"].map(parse);
    let pieces = [
        "%", "%2", "%2F", "%C3", "é", "/", "?", "#", "&", "=", "f:///", "..", "b=", "\n", "\0",
        "{", ";e",
    ];
    let mut numbers = Numbers(3);
    for _ in 0..20_000 {
        let uri: String = (0..numbers.below(12))
            .map(|_| numbers.pick(&pieces))
            .collect();
        for template in &templates {
            if let Some(found) = template.matches(&uri) {
                assert!(found.values().all(|value| !value.contains(['\0'])));
            }
        }
    }
}
