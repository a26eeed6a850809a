//! URIs of servers and clients whose spelling could evade the rules of a gateway.

use tokio::task::JoinSet;

use super::*;
use crate::traced::Traced;

/// A client of a gateway with rules, in front of a server that lists these URIs and returns the same contents for each.
pub(crate) struct Listing {
    peer: Peer,
    _server: JoinSet<()>,
}

impl Listing {
    pub(crate) async fn of(policy: AccessPolicy, uris: &[String], contents: Value) -> Self {
        let (settings, mut servers) = Scripted::upstream();
        let gateway = Gateway::builder().mount("m", settings).access(policy);
        let building = tokio::spawn(gateway.build());
        let (server, _) = servers.accept_with(json!({ "resources": {} })).await;
        let mut serving = JoinSet::new();
        serving.spawn(serve(server, uris.to_vec(), contents));
        let peer = Peer::new(building.await.unwrap().unwrap());
        Self {
            peer,
            _server: serving,
        }
    }

    /// Returns the URIs that the gateway lists.
    pub(crate) async fn uris(&mut self) -> Vec<String> {
        let list = self.peer.call("resources/list", json!({})).await;
        let resources = list["resources"].as_array().unwrap().iter();
        let uri = |resource: &Value| resource["uri"].as_str().unwrap().to_owned();
        resources.map(uri).collect()
    }

    async fn read(&mut self, uri: &str) -> Value {
        let params = json!({ "uri": uri });
        self.peer.answer("resources/read", params).await
    }
}

async fn serve(mut server: PipeEnd, uris: Vec<String>, contents: Value) {
    let resources: Vec<_> = uris
        .iter()
        .map(|uri| json!({ "name": "r", "uri": uri }))
        .collect();
    loop {
        let request = server.recv().await;
        let result = match request["method"].as_str().unwrap() {
            "resources/list" => json!({ "resources": resources }),
            "resources/templates/list" => json!({ "resourceTemplates": [] }),
            "resources/read" => json!({ "contents": contents }),
            _ => continue,
        };
        server.answer(&request, result).await;
    }
}

fn denying(pattern: &str) -> AccessPolicy {
    AccessPolicy::new().rule(AccessRule::deny(pattern))
}

fn allowing(patterns: &[&str]) -> AccessPolicy {
    let rules = patterns
        .iter()
        .map(|pattern| AccessRule::allow(*pattern))
        .fold(AccessPolicy::new(), AccessPolicy::rule);
    rules.rule(AccessRule::deny("*"))
}

fn lines(uris: &[&str]) -> Vec<String> {
    uris.iter().map(|uri| (*uri).to_owned()).collect()
}

/// Users often choose the names of listed resources, and servers resolve dots, remove tabs, and ignore users and ports.
#[tokio::test]
async fn the_spelling_of_a_listed_uri_evades_no_rule() {
    let notes = [
        "note://internal/x/../secret",
        "note://internal/./secret",
        "note://internal/%2e/secret",
        "note://internal/x/%2e%2e/secret",
        "note://internal/x/%252e%252e/secret",
        "note://internal/se\tcret",
        "note://internal/\nsecret",
        "note://internal/pub/../secret",
        "note://internal/pub/%2E./secret",
        "note://internal/pub/.. /secret",
        "note://internal/pub/..\u{feff}/secret",
        "note://internal\\secret",
        "note://pub:/@internal/secret",
        "note://pub?x@internal/secret",
    ];
    let hosts = [
        "https://intra:443/secret",
        "https://INTRA./secret",
        "https://u@intra/secret",
        "https://intra:0443/secret",
        "https:intra/secret",
        "https://intra\\secret",
    ];
    let files = [
        "file://localhost/etc/passwd",
        "file:etc/passwd",
        "FILE:/etc/passwd",
        "file:///x/../etc/passwd",
        "file:///etc%5Cpasswd",
    ];
    for (policy, uris) in [
        (denying("note://internal/secret"), &notes[..]),
        (denying("note://*/secret*"), &notes[..]),
        (
            allowing(&["note://internal/ok", "note://internal/pub*"]),
            &notes[..],
        ),
        (
            denying("postgres://db.local/*"),
            &["postgres://app@db.local:5432/secrets/schema"][..],
        ),
        (denying("https://intra/secret*"), &hosts[..]),
        (
            denying("http://[::1]/*"),
            &["http://[0:0:0:0:0:0:0:1]/a"][..],
        ),
        (denying("file:///etc/*"), &files[..]),
    ] {
        let mut listing = Listing::of(policy.clone(), &lines(uris), json!([])).await;
        let shown = listing.uris().await;
        assert!(shown.is_empty(), "{policy:?} shows {shown:?}");
        for uri in uris {
            let answer = listing.read(uri).await;
            assert!(answer["error"].is_object(), "{policy:?} {uri:?}: {answer}");
        }
    }
}

/// Libraries treat some schemes as synonyms, so a URI with another scheme can be a denied resource.
#[tokio::test]
async fn a_scheme_is_usable_if_the_server_lists_it_or_a_rule_contains_it() {
    let uris = lines(&["postgresql://pub/key"]);
    for (policy, uri, is_usable) in [
        (denying("file:///etc/*"), "local:///etc/passwd", false),
        (denying("ssh://secret/*"), "git+ssh://secret/a", false),
        (denying("ssh://secret/*"), "ssh://pub/a", true),
        (denying("ssh://secret/*"), "postgresql://other/key", true),
        (allowing(&["git+ssh://*"]), "git+ssh://pub/a", true),
        (AccessPolicy::new(), "local:///etc/passwd", true),
        (denying("danger*"), "local:///etc/passwd", true),
        (allowing(&["*"]), "local:///etc/passwd", true),
        (allowing(&["local*"]), "local:///etc/passwd", true),
        (denying("fil*:///etc/*"), "local:///etc/passwd", false),
        (denying("http*://localhost:80/*"), "localhost:80/a", false),
        (denying("*://localhost:80/*"), "localhost:80/a", false),
        (denying("*://secret/*"), "job://1", true),
        // The last rule says only what holds without it.
        (
            denying("file:*").rule(AccessRule::allow("*")),
            "local:///etc/passwd",
            false,
        ),
        (
            denying("file:*").rule(AccessRule::allow("local:*")),
            "local:///etc/passwd",
            true,
        ),
    ] {
        let mut listing = Listing::of(policy.clone(), &uris, json!([])).await;
        let answer = listing.read(uri).await;
        assert_eq!(
            answer["result"].is_object(),
            is_usable,
            "{policy:?} {uri}: {answer}"
        );
        assert!(
            is_usable || answer.to_string().contains("scheme"),
            "{answer}"
        );
    }
}

/// The operator decides by rules for other schemes, for other parts of a URI, or for exactly this URI.
#[tokio::test]
async fn a_listed_uri_in_an_unusual_spelling_is_usable_if_no_rule_can_restrict_it() {
    for (policy, uri) in [
        (denying("file:///etc/*"), "note://a/../b#c"),
        (
            denying("postgres://db.local/secrets/*"),
            "postgres://app@db.local:5432/public/schema",
        ),
        (
            allowing(&["postgres://db.local:5432/*"]),
            "postgres://app@db.local:5432/public/schema",
        ),
        (
            allowing(&["postgres://app@db.local:5432/*"]),
            "postgres://app@db.local:5432/public/schema",
        ),
        (allowing(&["note:///my*"]), "note:///my \u{fc}nusual <note>"),
        (denying("note:///secret*"), "note:///my note"),
        (allowing(&["note://a/../b"]), "note://a/../b"),
    ] {
        let mut listing = Listing::of(policy.clone(), &lines(&[uri]), json!([])).await;
        assert_eq!(listing.uris().await, [uri], "{policy:?}");
        let answer = listing.read(uri).await;
        assert!(answer["result"].is_object(), "{policy:?} {uri}: {answer}");
    }
}

#[tokio::test]
async fn a_listed_uri_to_which_rules_cannot_be_applied_is_logged_once() {
    let (traced, _guard) = Traced::start();
    let uris = lines(&["note://a/../b", "note://a/./c"]);
    let mut listing = Listing::of(denying("note://a/b"), &uris, json!([])).await;
    listing.uris().await;
    listing.uris().await;
    let line = traced.line("the rules cannot be applied").unwrap();
    for part in ["note://a/../b", "mount=m", "segment"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert_eq!(
        traced.text().matches("the rules cannot be applied").count(),
        1
    );
}

/// A server may return the contents of the resources of a folder.
#[tokio::test]
async fn contents_of_denied_resources_are_left_out() {
    let contents = json!([
        { "uri": "file:///srv/pub/a", "text": "public" },
        { "uri": "file:///srv/secret/key", "text": "TOP SECRET" },
        { "uri": "file:///srv/x/../secret/key", "text": "TOP SECRET" },
        { "uri": "file:///srv/odd/../name", "text": "requested" },
        { "text": "TOP SECRET" },
    ]);
    let policy = AccessPolicy::new()
        .rule(AccessRule::allow("file:///srv/odd/../name"))
        .rule(AccessRule::deny("file:///srv/secret/*"));
    let uris = lines(&["file:///srv", "file:///srv/odd/../name"]);
    let mut listing = Listing::of(policy, &uris, contents).await;
    let answer = listing.read("file:///srv").await;
    let result = &answer["result"]["contents"];
    let texts: Vec<_> = result.as_array().unwrap().iter().collect();
    assert!(!answer.to_string().contains("TOP SECRET"), "{answer}");
    assert_eq!(texts.len(), 2, "{answer}");
}

/// Each of the contents is compared with all rules.
#[tokio::test]
async fn a_result_with_too_many_contents_for_the_rules_is_an_error() {
    let contents = vec![json!({ "uri": "notes://a", "text": "" }); 10_001];
    let uris = lines(&["notes://folder"]);
    let policy = denying("notes://secret/*");
    let mut listing = Listing::of(policy, &uris, contents.into()).await;
    let error = listing.read("notes://folder").await["error"].to_string();
    for part in ["notes://folder", "10001 contents", "at most 10000"] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

/// Checks which URIs a client can use.
fn check(policy: &AccessPolicy, uris: &[(&str, bool)]) {
    for (uri, expected) in uris {
        let is_allowed = policy.allows(ItemKind::Resource, "m", uri);
        assert_eq!(is_allowed, *expected, "{uri} {policy:?}");
    }
}

/// The `trim` of JavaScript removes U+FEFF, and some servers take the text before the last `@` for a user.
#[test]
fn a_uri_with_hidden_dots_or_another_host_is_refused() {
    let public = [
        ("notes://x/pub/..%EF%BB%BF/secret/key", false),
        ("notes://x/pub/%E2%80%8B../secret/key", false),
        ("notes://x/pub/a%20b/%C3%A4", true),
    ];
    check(&allowing(&["notes://x/pub/*"]), &public);
    let hosts = [
        ("db://pub:1/x@secret/key", false),
        ("db://pub:/@secret/key", false),
        ("db://pub?x@secret/key", false),
        ("db://pub/x%40secret/key", false),
        ("db://pub:/x", false),
        ("db:pub@x", true),
    ];
    check(&denying("db://secret/*"), &hosts);
    let files = [("file:///srv/node_modules/@types/a", true)];
    check(&denying("file:///etc/*"), &files);
    let relative = [("notes:./secret", false), ("notes:../secret", false)];
    check(&denying("notes://secret"), &relative);
}

/// Previously, a `*` in a host also matched the delimiter after the host.
#[test]
fn a_rule_that_allows_compares_the_parts_of_a_uri() {
    let hosts = [
        ("https://evil.test/x.example.com/", false),
        ("https://evil.test/?.example.com/", false),
        ("https://evil.test?.example.com/", false),
        ("https://a.example.com/b?c=d/e", true),
    ];
    check(&allowing(&["https://*.example.com/*"]), &hosts);
    let ends = [
        ("notes://alice/secret?/public", false),
        ("notes://alice/public?x", false),
        ("notes://alice/x/public", false),
        ("notes://alice/public", true),
        ("notes://alice/secret?://pub/", false),
        ("db://pub/x?y", true),
        ("notes://alice/secret?/shown", false),
        ("db://x/y/shown", true),
    ];
    let patterns = ["notes://*/public", "*://pub/*", "*/shown"];
    check(&allowing(&patterns), &ends);
    let queries = [
        ("notes://a?x=1", true),
        ("notes://a", false),
        ("notes://bc/d?e", true),
        ("notes:c/d?e", true),
        ("notes:c?e", false),
    ];
    let patterns = ["notes://a?x=*", "notes://b*", "notes:c/*"];
    check(&allowing(&patterns), &queries);
    // A rule that needs a scope must not replace those after it, either.
    let scoped = AccessPolicy::new()
        .rule(AccessRule::require_scope("s", "notes://*/public"))
        .rule(AccessRule::deny("*"));
    let ends = [
        ("notes://a/public", true),
        ("notes://a/secret?/public", false),
    ];
    check(&scoped, &ends);
}

/// Some servers fold case, remove spaces, and decode `+`.
#[test]
fn a_restrictive_rule_ignores_case_and_spaces() {
    for (pattern, uris) in [
        (
            "notes://x/secret*",
            &[("notes://x/%C5%BFecret", false), ("notes://x/pub", true)][..],
        ),
        ("notes://x/Stra%C3%9Fe", &[("notes://x/STRASSE", false)]),
        ("notes://x/STRASSE", &[("notes://x/stra%E1%BA%9Ee", false)]),
        ("notes://x/staff", &[("notes://x/sta%EF%AC%80", false)]),
        (
            "notes://x/secret/key",
            &[
                ("notes://x/secret/key%20", false),
                ("notes://x/%20secret/key%C2%A0", false),
                ("notes://x/secret/key+", false),
            ],
        ),
        (
            "notes://x/my%20docs/*",
            &[("notes://x/my+docs/a", false), ("notes://x/mydocs/a", true)],
        ),
        ("notes://x/my+docs/*", &[("notes://x/my%20docs/a", false)]),
        (
            "notes://x/c++",
            &[("notes://x/c++", false), ("notes://x/c", true)],
        ),
    ] {
        check(&denying(pattern), uris);
    }
}

/// Previously, all other clients waited while rules were applied to a long list.
#[tokio::test]
async fn other_requests_are_served_while_rules_are_applied_to_a_long_list() {
    let uri = |number| format!("notes://pub/{}{number}", "a/b".repeat(300));
    let uris: Vec<_> = (0..400).map(uri).collect();
    let mut listing = Listing::of(denying("notes://secret/*"), &uris, json!([])).await;
    let turns = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&turns);
    // The runtime has one thread, so this task runs only when others yield.
    let counting = tokio::spawn(async move {
        loop {
            counter.fetch_add(1, Ordering::AcqRel);
            tokio::task::yield_now().await;
        }
    });
    let shown = listing.uris().await;
    counting.abort();
    assert_eq!(shown.len(), uris.len());
    let turns = turns.load(Ordering::Acquire);
    assert!(turns > uris.len() / 8, "{turns}");
}
