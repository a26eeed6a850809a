//! Tests that restrictive rules apply to all spellings of a URI.

use super::*;

#[test]
fn a_restrictive_rule_applies_to_every_spelling_of_a_host_without_a_path() {
    for (pattern, uris) in [
        (
            "config://app",
            "config://app:1 config://app:1/ config://app:1?x config:app config:/app config:///app config:app/ config://app:/#x",
        ),
        ("config://app/", "config://app config://app:1 config:app"),
        (
            "config:app",
            "config://app config:///app config:/app config://app:1",
        ),
        (
            "notes://secret/*",
            "notes://secret notes://secret:1 notes://secret:1/ notes:///secret notes:///secret/ notes:secret notes:secret/a",
        ),
        (
            "config://app*",
            "config:app config:///app config://app:1 config:apps",
        ),
        (
            "config://*/key",
            "config://a:1/key config:a/key config:///key config:key",
        ),
        ("a://h:*/x", "a://h/x a:h/x a://h:9/x a://h:9/b/x a:///h/x"),
        ("a://h:8/x", "a://h/x a://h:9/x a:h/x a://h:08/x"),
        ("notes:///secret/*", "notes://x/secret/a notes://x:1/secret"),
        ("a:", "a: a:/ a:// a://:1 a:///"),
        (
            "*://secret/*",
            "notes://secret:1/a notes:secret/a NOTES:///secret",
        ),
        (
            "*/secret/*",
            "notes://secret/a notes:secret/a notes://x/s%65cret/a",
        ),
    ] {
        for uri in uris.split(' ') {
            assert!(!is_allowed(pattern, uri), "{pattern} {uri}");
        }
    }
    for (pattern, uris) in [
        (
            "config://app",
            "config://apps config:apps config://b/app other:app",
        ),
        (
            "notes://secret/*",
            "notes://secrets:1/a notes:secrets notes://a/secret",
        ),
        ("https://h/x", "https://h:8443/x https://x/h"),
        ("urn:isbn:1", "urn:isbn:2"),
    ] {
        for uri in uris.split(' ') {
            assert!(is_allowed(pattern, uri), "{pattern} {uri}");
        }
    }
}

#[test]
fn a_restrictive_rule_ignores_case_repeated_escapes_and_parameters() {
    for (pattern, uris) in [
        (
            "notes://Alice/*",
            "notes://Alice/a notes:///Alice/a notes:Alice/a notes:/ALICE/a notes:%41lice/a",
        ),
        ("notes:Alice/*", "notes://Alice/a notes://alice:1/a"),
        (
            "https://intra/admin*",
            "https://intra:0443/admin https://intra./admin",
        ),
        ("https://h:*/x", "https://h/x https://h:8443/x"),
        (
            "file:///etc/*",
            "file:///%2565tc/passwd file:///ETC/passwd file:///etc",
        ),
        (
            "notes://x/secret/key",
            "notes://x/secret;a/key notes:x;b/secret;a/key;c",
        ),
    ] {
        for uri in uris.split(' ') {
            assert!(!is_allowed(pattern, uri), "{pattern} {uri}");
        }
    }
}

#[test]
fn a_restrictive_rule_applies_to_every_spelling_of_an_integer() {
    for (pattern, uris) in [
        (
            "note:///7",
            "note:///007 note:///+7 note:///7.0 note:///0_7 note:7 note:///007?x note:/+07",
        ),
        ("note:///007", "note:///7 note:///07 note:///007"),
        ("note:///00*", "note:///007 note:///00"),
        ("note:///-7/a", "note:///-07/a note:///-7.00/a"),
        ("note:///0", "note:///00 note:///-0 note:///+0"),
        ("note://*/7/text", "note://alice/07/text"),
        ("note:///7?page=1", "note:///07?page=01"),
        (
            "note:///7",
            "note:///7e0 note:///70e-1 note:///0x7 note:///0o7 note:///0b111 note:///%D9%A7 note:///%EF%BC%97",
        ),
        (
            "note:///7.json",
            "note:///07.json note:///+7.json note:///%2B07.json",
        ),
        ("note:///note-7", "note:///note-07"),
        ("note:///1-2", "note:///01-2 note:///1-02"),
        ("repo:///7/1e*", "repo:///07/1e5"),
        ("note:///7.5", "note:///07.5 note:///7.50 note:///75e-1"),
        (
            "note:///99999999999999999999999999999999999999999",
            "note:///099999999999999999999999999999999999999999",
        ),
    ] {
        for uri in uris.split(' ') {
            assert!(!is_allowed(pattern, uri), "{pattern} {uri}");
        }
    }
    for (pattern, uri) in [
        ("note:///7", "note:///70"),
        ("note:///7", "note:///7.5"),
        ("note:///7", "note:///-7"),
        ("note:///7", "note:///a007"),
        ("note:///007", "note:///a"),
        ("logs:///*_001", "logs:///21"),
        ("lib:///*1.0", "lib:///31"),
        ("lib:///*00", "lib:///10"),
        ("lib:///1.0", "lib:///1.0.0"),
        ("note:///7", "note:///10"),
    ] {
        assert!(is_allowed(pattern, uri), "{pattern} {uri}");
    }
}

/// Every URI that a server could read as the denied resource is denied.
#[test]
fn a_restrictive_rule_applies_to_generated_spellings() {
    let (starts, ports) = (["", "/", "//", "///", "////"], ["", ":", ":1", ":0443"]);
    let names = ["app", "APP", "%61pp", "a%70P", "%2561pp"];
    let ends = [
        "", "/", "//", "?", "?x=1", "#f", "/?x", ";a=1", "/;a", "%2f", "%252F",
    ];
    let patterns = [
        "config://app",
        "config://app/",
        "config://app*",
        "config://app/*",
        "CONFIG:app",
        "config:///app",
        "config://app:*",
        "config:*",
        "*:app",
        "*app*",
    ];
    let mut count = 0;
    for start in starts {
        for port in ports.iter().filter(|port| start == "//" || port.is_empty()) {
            for name in names {
                for end in ends {
                    let uri = format!("Config:{start}{name}{port}{end}");
                    count += 1;
                    for pattern in patterns {
                        assert!(!is_allowed(pattern, &uri), "{pattern} {uri}");
                        let policy =
                            AccessPolicy::new().rule(AccessRule::require_scope("s", pattern));
                        let item = Item {
                            kind: ItemKind::Resource,
                            mount: "m",
                            name: &uri,
                        };
                        let decision = Rules::from(policy).decide(&item, UriSource::Client);
                        assert!(!decision.is_for_all(), "{pattern} {uri}");
                    }
                }
            }
        }
    }
    assert!(count > 400, "{count}");
}

/// The gateway accepts a URI only if it names the same resource at servers that decode or split URIs in different ways.
#[test]
fn a_uri_that_servers_split_differently_is_refused() {
    for (pattern, uris) in [
        (
            "notes://x/C%23.md",
            "notes://x/C%23.md notes://x/C%23.md?q notes://x/C%23.md#q notes://x/C%23.md;q",
        ),
        ("notes://x/a%3Fb", "notes://x/a%3Fb?q"),
        (
            "notes://x/secret/*",
            "notes://x/pub/..;a/secret/key notes://x/.;a/secret/key notes://x/..%3Ba/secret/key",
        ),
        (
            "notes://x/pub/key",
            "notes://x/pub;a%2Fb/key notes://x/pub;%2Fsecret/key",
        ),
        (
            "http://[::1]/*",
            "http://[::1]/a http://[0:0:0:0:0:0:0:1]/a http://[0::1]/a",
        ),
        (
            "https://xn--bcher-kva.example/*",
            "https://b\u{fc}cher.example/a https://xn--bcher-kva.example/a",
        ),
    ] {
        for uri in uris.split(' ') {
            assert!(!is_allowed(pattern, uri), "{pattern} {uri}");
        }
    }
}
