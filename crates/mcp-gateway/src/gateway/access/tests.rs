//! Tests of rules, and of the spellings of the items that match the rules.

mod spellings;

use super::*;

/// Returns whether lists of the gateway show clients an item that the server lists.
fn shows(policy: &AccessPolicy, item: &Item<'_>) -> bool {
    let rules = Rules::from(policy.clone());
    rules.decide(item, UriSource::List).is_shown()
}

/// Returns whether the URI is allowed by a policy whose only rule denies the pattern.
fn is_allowed(pattern: &str, uri: &str) -> bool {
    let policy = AccessPolicy::new().rule(AccessRule::deny(pattern));
    policy.allows(ItemKind::Resource, "m", uri)
}

#[test]
fn the_first_matching_rule_decides() {
    let policy = AccessPolicy::new()
        .rule(AccessRule::allow("log").mount("git"))
        .rule(AccessRule::deny("*").mount("g*").kind(ItemKind::Tool))
        .rule(AccessRule::deny("file:///etc/*").kind(ItemKind::Resource));
    for (kind, mount, name, expected) in [
        (ItemKind::Tool, "git", "log", true),
        (ItemKind::Tool, "git", "push", false),
        (ItemKind::Tool, "gitlab", "log", false),
        (ItemKind::Tool, "fs", "push", true),
        (ItemKind::Prompt, "git", "push", true),
        (ItemKind::Resource, "fs", "file:///etc/passwd", false),
        (ItemKind::Resource, "fs", "file:///etcetera", true),
    ] {
        let item = Item { kind, mount, name };
        assert_eq!(shows(&policy, &item), expected, "{mount} {name}");
    }
}

#[test]
fn rules_apply_to_every_spelling_of_a_uri() {
    let policy = AccessPolicy::new()
        .rule(AccessRule::deny("FILE:///etc/*"))
        .rule(AccessRule::allow("file:///my%20docs/*"))
        .rule(AccessRule::deny("file:///my*"));
    for (name, expected) in [
        ("file:///etc/passwd", false),
        ("file:///e%74c/passwd", false),
        ("file:///my%20docs/a", true),
        ("file:///mydocs", false),
        ("file:///etc/{name}", false),
        ("file:///a/{name}", true),
        ("file:///a", true),
    ] {
        let (kind, mount) = (ItemKind::Resource, "fs");
        assert_eq!(
            shows(&policy, &Item { kind, mount, name }),
            expected,
            "{name}"
        );
    }
}

/// Database drivers connect to the same machine for each of these hosts.
#[test]
fn a_rule_for_an_address_applies_to_its_other_forms() {
    for host in [
        "127.1",
        "2130706433",
        "0x7f.1",
        "[::ffff:127.0.0.1]",
        "0",
        "00",
        "0.0.0.0",
        "[::]",
    ] {
        for pattern in [
            "redis://127.0.0.1/*",
            "redis://localhost/*",
            "redis://127.*",
        ] {
            assert!(
                !is_allowed(pattern, &format!("redis://{host}/k")),
                "{pattern} {host}"
            );
        }
    }
    for (pattern, uri) in [
        ("redis://localhost/*", "redis://x.localhost/k"),
        ("redis://127*/*", "redis://0/k"),
        ("redis://*localhost/*", "redis://127.0.0.1/k"),
        ("redis://2130706433/*", "redis://127.0.0.1/k"),
    ] {
        assert!(!is_allowed(pattern, uri), "{pattern} {uri}");
    }
    // The rest of the URI is compared, too.
    for (pattern, uri) in [
        (
            "postgres://localhost/salaries/*",
            "postgres://localhost/users",
        ),
        ("http://localhost:18999/secret/*", "http://localhost:3000/a"),
        (
            "http://localhost:18999/secret/*",
            "redis://127.0.0.1:6379/0",
        ),
        ("http://169.254.169.254/*", "issue://20261126"),
        ("http://169.254.169.254/*", "ticket://4711/comments"),
    ] {
        assert!(is_allowed(pattern, uri), "{pattern} {uri}");
    }
    assert!(!is_allowed("redis://localhost/*", "redis://127.0.0.1/k"));
    assert!(!is_allowed("redis://127.0.0.1/*", "redis://localhost/k"));
    assert!(is_allowed("redis://127.0.0.1/*", "redis://10.0.0.1/k"));
    assert!(is_allowed("redis://localhost/*", "redis://cache/k"));
}

#[test]
fn a_rule_for_a_numeric_host_does_not_apply_to_other_numbers() {
    for (pattern, uri) in [
        ("ticket://4711/*", "ticket://4712/a"),
        ("ticket://4711/*", "ticket://1.2/a"),
        ("issue://42", "issue://43"),
        ("issue://42", "issue://1712345678.123"),
        ("http://10.0.0.1/*", "http://10.0.0.2/a"),
    ] {
        assert!(is_allowed(pattern, uri), "{pattern} {uri}");
    }
    assert!(!is_allowed("ticket://4711/*", "ticket://0.0.18.103/a"));
    assert!(!is_allowed("redis://8.0.0.1/*", "redis://010.0.0.1/k"));
    assert!(!is_allowed("redis://10.0.0.1/*", "redis://010.0.0.1/k"));
    assert!(!is_allowed("redis://10.*", "redis://0xa000001/k"));
    // Ids are not addresses.
    assert!(is_allowed("issue://secret/*", "issue://20261126"));
    assert!(is_allowed("issue://secret/*", "issue://1712345678.123"));
}

#[test]
fn only_rules_that_can_match_a_uri_restrict_its_spelling() {
    let unusual = "note:///my note";
    for (rule, expected) in [
        (AccessRule::deny("git_log"), true),
        (AccessRule::deny("*").kind(ItemKind::Tool), true),
        (AccessRule::deny("file:///etc/*"), false),
        (AccessRule::deny("x").kind(ItemKind::Resource), false),
    ] {
        let policy = AccessPolicy::new().rule(rule);
        let is_allowed = policy.allows(ItemKind::Resource, "m", unusual);
        assert_eq!(is_allowed, expected, "{policy:?}");
    }
}

#[test]
fn a_restrictive_rule_applies_to_longer_forms_of_its_uri() {
    let policy = AccessPolicy::new()
        .rule(AccessRule::deny("notes://secret"))
        .rule(AccessRule::allow("notes://public"))
        .rule(AccessRule::deny("*"));
    for (name, expected) in [
        ("notes://secret", false),
        ("notes://SECRET/?x", false),
        ("notes://secret;a=b", false),
        ("notes://public", true),
        ("notes://public?drop=all", false),
    ] {
        let (kind, mount) = (ItemKind::Resource, "notes");
        let item = Item { kind, mount, name };
        assert_eq!(shows(&policy, &item), expected, "{name}");
    }
}

#[test]
fn a_restrictive_rule_applies_to_its_uri_with_a_port_or_without_an_authority() {
    let item = |name| Item {
        kind: ItemKind::Resource,
        mount: "notes",
        name,
    };
    for rule in [
        AccessRule::deny("notes://secret/*"),
        AccessRule::deny("notes:///secret/*"),
    ] {
        let policy = AccessPolicy::new().rule(rule);
        for name in [
            "notes://secret/a",
            "notes://secret:1/a",
            "notes:///secret/a",
            "notes:/secret/a",
            "notes:secret/a",
        ] {
            assert!(!policy.allows(ItemKind::Resource, "notes", name), "{name}");
        }
        assert!(policy.allows(ItemKind::Resource, "notes", "notes://secrets:1/a"));
    }
    let policy = AccessPolicy::new()
        .rule(AccessRule::allow("db://host:5432/*"))
        .rule(AccessRule::deny("db://*"))
        .rule(AccessRule::deny("https://host/*"))
        .rule(AccessRule::deny("urn:isbn:1"));
    for (name, expected) in [
        ("db://host:5432/a", true),
        ("db://host:5433/a", false),
        ("https://host/a", false),
        ("https://host:8443/a", true),
        ("urn:isbn:1", false),
        ("urn:isbn:2", true),
    ] {
        assert_eq!(shows(&policy, &item(name)), expected, "{name}");
    }
}

#[test]
fn usual_patterns_of_rules_are_accepted() {
    for name in [
        "file:///etc/*",
        "file://*",
        "FILE:///etc*",
        "*://secret/*",
        "https://*.example.com/*",
        "https://h:*/x",
        "http://[::1]:8000/*",
        "db://host:5432/*",
        "notes:///a b*",
        "notes://{owner}/*",
        "notes:secret/*",
        "notes://x/C%23.md",
        "*secret*",
        "git_*",
    ] {
        let checked = AccessPolicy::new().rule(AccessRule::deny(name)).check();
        assert_eq!(checked.is_ok(), !name.contains(' '), "{name} {checked:?}");
    }
}

#[test]
fn a_rule_that_contradicts_itself_or_has_an_ambiguous_uri_is_an_error() {
    for (text, part) in [
        (
            r#"[{"name":"a"},{"name":"a","effect":"deny","scope":"x"}]"#,
            "access policy /1: the rule for \"a\":",
        ),
        (r#"[{"name":"a","scope":" "}]"#, "scope is empty"),
        (r#"[{"name":""}]"#, "\"*\" matches all"),
        (
            r#"[{"name":"notes://a?b=*","effect":"deny"}]"#,
            "with every query",
        ),
        (r#"[{"name":"notes://a;b","scope":"s"}]"#, "parameter"),
        (
            r#"[{"name":"http://h:080/x","scope":"s"}]"#,
            "leading zeros",
        ),
        (
            r#"[{"name":"http://[0::1]/*","effect":"deny"}]"#,
            "shortest form",
        ),
        (
            r#"[{"name":"https://bücher.example/*","effect":"deny"}]"#,
            "outside of ASCII",
        ),
    ] {
        let policy: AccessPolicy = serde_json::from_str(text).unwrap();
        let error = policy.check().unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

/// A listed URI can have any spelling. A rule for this URI also restricts other URIs that a server may interpret as the same
/// resource.
#[test]
fn a_listed_uri_in_an_unusual_spelling_is_restricted() {
    for (pattern, uris) in [
        (
            "notes://a",
            "notes://a?user=alice#x notes://a?user=alice;x NOTES://A/#f notes://a;b",
        ),
        ("notes://x/C%23.md", "notes://x/C%23.md?q"),
        ("notes://x/*", "notes://x/%252561 notes://X//a"),
        ("notes://pub/%2A", "notes://pub/%2a notes://PUB/*"),
    ] {
        let policy = AccessPolicy::new().rule(AccessRule::deny(pattern));
        for name in uris.split(' ') {
            let (kind, mount) = (ItemKind::Resource, "m");
            assert!(
                !shows(&policy, &Item { kind, mount, name }),
                "{pattern} {name}"
            );
        }
    }
    assert!(is_allowed("notes://pub/%2A", "notes://pub/x"));
}

/// A rule that requires a scope for a URI does not override a later rule that denies parts of the URI.
#[test]
fn a_rule_with_a_scope_does_not_override_later_rules_that_deny() {
    let policy = AccessPolicy::new()
        .rule(AccessRule::require_scope("low", "config://app"))
        .rule(AccessRule::deny("*admin*"));
    for (uri, expected) in [
        ("config://app", true),
        ("config://app?admin=1", false),
        ("CONFIG://app?admin=1", false),
        ("config://APP?Admin=1", false),
        ("config://app/?admin=1", false),
    ] {
        let is_allowed = policy.allows(ItemKind::Resource, "m", uri);
        assert_eq!(is_allowed, expected, "{uri}");
    }
}

#[test]
fn a_rule_that_allows_a_resource_allows_no_other_resource() {
    let policy = AccessPolicy::new()
        .rule(AccessRule::allow("notes://pub/%2A"))
        .rule(AccessRule::allow("notes://docs/C%23.md"))
        .rule(AccessRule::allow("notes://x/a%2Fb"))
        .rule(AccessRule::deny("notes://pub/*"))
        .rule(AccessRule::deny("notes://docs/*"))
        .rule(AccessRule::deny("notes://x/*"));
    for uri in [
        "NOTES://pub/x",
        "notes://PUB/private/x",
        "NOTES://docs/C#.md",
        "notes://DOCS/C#.md",
        "NOTES://x/a/b",
        "NOTES://x/a//b",
    ] {
        assert!(!policy.allows(ItemKind::Resource, "m", uri), "{uri}");
    }
}

/// The gateway compares each rule with several forms of a URI. This takes a long time for a long URI, so long URIs
/// are denied.
#[test]
fn a_long_uri_is_denied_where_rules_apply() {
    let (kind, mount) = (ItemKind::Resource, "m");
    for (pattern, bytes, is_shown) in [
        ("notes:y", 2_048, true),
        ("notes:y", 2_049, false),
        ("*y", 2_049, false),
        ("x:y", 2_049, true),
        ("x", 2_049, true),
    ] {
        let name = &*format!("{:a<bytes$}", "notes://pub/");
        let item = Item { kind, mount, name };
        let policy = AccessPolicy::new().rule(AccessRule::deny(pattern));
        assert_eq!(shows(&policy, &item), is_shown, "{pattern} {bytes} bytes");
        let is_free = bytes == 2_048 || pattern == "x";
        assert_eq!(policy.allows(kind, mount, name), is_free, "{pattern}");
    }
}

/// A rule that applies to other spellings must not override the rule for the spelling in the request.
#[test]
fn a_scope_rule_does_not_allow_another_spelling_of_its_uri() {
    let policy = AccessPolicy::new()
        .rule(AccessRule::require_scope("s", "notes://a/b"))
        .rule(AccessRule::deny("notes:///a/*"));
    assert!(policy.allows(ItemKind::Resource, "m", "notes://a/b"));
    assert!(!policy.allows(ItemKind::Resource, "m", "notes:a/b"));
}

#[test]
fn a_rule_that_allows_does_not_apply_to_other_spellings() {
    let policy = AccessPolicy::new()
        .rule(AccessRule::allow("notes://pub/*"))
        .rule(AccessRule::allow("notes://Alice"))
        .rule(AccessRule::deny("*"));
    for (uri, expected) in [
        ("notes://pub/a", true),
        ("notes://pub:1/a", false),
        ("notes:pub/a", false),
        ("notes:///pub/a", false),
        ("notes://pub/%2561", false),
        ("notes://pub/%C3%A4", true),
        ("notes://PUB/a", false),
        ("notes:Alice", false),
        ("notes://pub?x", false),
    ] {
        assert_eq!(
            policy.allows(ItemKind::Resource, "m", uri),
            expected,
            "{uri}"
        );
    }
}
