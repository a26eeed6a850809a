//! Compares the rules of a gateway with the paths that URI parsers of three languages read from the same URI.
//!
//! Python and Node are used if they are installed; with `MCP_READER_TESTS=1`, the test fails if they are missing.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use mcp_gateway::{AccessPolicy, AccessRule, ItemKind};
use percent_encoding::percent_decode_str;
use url::Url;

use super::hostile::uris::Listing;
use crate::prelude::*;

/// Number of URIs.
const URIS: usize = 100_000;

/// A generator of pseudorandom numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn pick(&mut self, all: &[&'static str]) -> &'static str {
        all[self.below(all.len())]
    }
}

/// Returns a random URI, each part of which is usually valid.
fn uri(random: &mut Random) -> String {
    let mut uri = String::new();
    let plain = random.below(4) > 0;
    let schemes = [
        "file",
        "FILE",
        "fi\tle",
        " file",
        "\u{b}file",
        "http",
        "f%69le",
        "file\n",
    ];
    uri += if plain { "file" } else { random.pick(&schemes) };
    let starts = [
        ":",
        ":/",
        "://",
        ":///",
        ":////",
        ":\\\\",
        ":/\t/",
        ":/%2f",
        ":%2f/",
        ":///{",
        "://localhost/",
        "://other/",
        "://LOCALHOST/",
        "://localhost:80/",
        "://u@/",
        "://%6c/",
        "://127.1/",
    ];
    uri += if plain { ":///" } else { random.pick(&starts) };
    let names = [
        "srv",
        "etc",
        "passwd",
        "a",
        "%65tc",
        "s%72v",
        "e\ttc",
        "ä",
        "%C3%A4",
        "a%20b",
        "C%23",
        "a%3Fb",
        "C:",
        "c|",
        "...",
        "a;b",
        "%00",
        "%09",
        "%ff",
        "%zz",
        "{",
        "{x}",
        "}",
        "\u{ff0e}\u{ff0e}",
        "\u{202e}",
    ];
    let dots = [
        ".",
        "..",
        "%2e%2e",
        "%2E.",
        ".%2e",
        "%252e%252e",
        ".\t.",
        "%2e%09%2e",
        "..;a",
        "%c0%ae",
        ". .",
        ".. ",
    ];
    let ends = [
        "/", "/", "/", "//", "\\", "%2f", "%5c", "%252f", "/\t", "?", "#", "%3f", "%23", ";", "&",
    ];
    if random.below(3) > 0 {
        uri += random.pick(&["srv/", "srv/", "etc/", "a/"]);
    }
    for _ in 0..random.below(6) {
        uri += match random.below(5) {
            0 => random.pick(&dots),
            1 => random.pick(&names),
            _ => random.pick(&names[..4]),
        };
        uri += if random.below(3) > 0 {
            "/"
        } else {
            random.pick(&ends)
        };
    }
    uri += random.pick(&[
        "",
        "",
        "passwd",
        "?x=/../../etc",
        "#/../etc",
        " ",
        "\n",
        "%20",
    ]);
    uri
}

/// Returns the paths that servers in Rust could read.
fn read_by_rust(uri: &str) -> BTreeSet<String> {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let mut paths = BTreeSet::new();
    for text in [uri.to_owned(), decoded(uri), uri.trim().to_owned()] {
        let Ok(url) = Url::parse(&text) else { continue };
        if url.scheme() == "file" {
            paths.insert(normalized(&decoded(url.path())));
            let path = url.to_file_path().ok();
            paths.extend(path.map(|path| normalized(&path.to_string_lossy())));
        }
    }
    paths
}

/// Resolves `.` and `..`.
fn normalized(path: &str) -> String {
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => _ = segments.pop(),
            name => segments.push(name),
        }
    }
    format!("/{}", segments.join("/"))
}

/// Returns the paths that the servers of a program could read, for each URI; `None` if the program is not installed.
fn read_by(program: &str, arguments: &[&str], uris: &[String]) -> Option<Vec<BTreeSet<String>>> {
    let (script, options) = arguments.split_first().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("suites/gateway/readers")
        .join(script);
    let mut command = Command::new(program);
    command
        .arg(script)
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) if std::env::var_os("MCP_READER_TESTS").is_none() => {
            eprintln!("SKIPPED: {program}: {error}");
            return None;
        }
        Err(error) => panic!("{program}: {error}"),
    };
    let mut input = child.stdin.take().unwrap();
    let lines: String = uris
        .iter()
        .map(|uri| serde_json::to_string(uri).unwrap() + "\n")
        .collect();
    let writing = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = BufReader::new(child.stdout.take().unwrap());
    let paths = output
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    writing.join().unwrap().unwrap();
    assert!(child.wait().unwrap().success());
    Some(paths)
}

/// If a rule allows a URI, no server reads a path from the URI that the rule does not allow.
#[test]
fn rules_apply_to_every_path_that_servers_read_from_a_uri() {
    let seed = 0x2026_1125_9e37_79b9;
    let mut random = Random(seed);
    let uris: Vec<_> = (0..URIS).map(|_| uri(&mut random)).collect();
    let allow = AccessPolicy::new()
        .rule(AccessRule::allow("file:///srv/*"))
        .rule(AccessRule::deny("*"));
    let deny = AccessPolicy::new().rule(AccessRule::deny("file:///etc*"));
    for (policy, is_wrong) in [
        (
            allow,
            (|path: &str| !path.starts_with("/srv")) as fn(&str) -> bool,
        ),
        (deny, |path| path == "/etc" || path.starts_with("/etc/")),
    ] {
        let is_allowed = |uri: &&String| policy.allows(ItemKind::Resource, "files", uri);
        let allowed: Vec<_> = uris.iter().filter(is_allowed).cloned().collect();
        assert!(allowed.len() > URIS / 50, "{} are allowed", allowed.len());
        let rust = allowed.iter().map(|uri| read_by_rust(uri)).collect();
        let languages = [
            ("Rust", Some(rust)),
            ("Python", read_by("python3", &["readers.py"], &allowed)),
            ("JavaScript", read_by("node", &["readers.mjs"], &allowed)),
        ];
        for (language, read) in languages {
            let Some(read) = read else { continue };
            assert_eq!(read.len(), allowed.len(), "{language}");
            for (uri, paths) in allowed.iter().zip(&read) {
                let wrong: Vec<_> = paths.iter().filter(|path| is_wrong(path)).collect();
                assert!(
                    wrong.is_empty(),
                    "{language} reads {wrong:?} for {uri:?}, which {policy:?} allows"
                );
            }
        }
    }
}

/// Returns a random URI of a scheme whose syntax is not fixed; the gateway accepts about one in ten.
fn note(random: &mut Random) -> String {
    let mut uri = random.pick(&["notes", "notes", "NOTES"]).to_owned();
    let start = random.pick(&["://", "://", "://", ":///", ":////", ":/", ":"]);
    uri += start;
    let names = [
        "secret",
        "SECRET",
        "%73ecret",
        "%2573ecret",
        "secret;a",
        "secret%20",
        "%C5%BFecret",
        "secret+",
        "..",
        ".",
        "%2e%2E",
        "..%EF%BB%BF",
        "..\u{feff}",
        ".. ",
        "se\tcret",
        "\nsecret",
        "@secret",
        "x%40secret",
        "\\secret",
        "secrets",
        "public",
        "x",
    ];
    let plain = names.len() - 3;
    // A host has no escapes.
    let is_escaped = |name: &str| start == "://" && !name.bytes().all(|b| b.is_ascii_alphabetic());
    uri += [random.pick(&names), random.pick(&names[plain..])]
        .into_iter()
        .find(|name| !is_escaped(name))
        .unwrap();
    if start == "://" {
        uri += random.pick(&["", "", "", ":", ":1", ":0443", ":80", "@secret"]);
    }
    for _ in 0..random.below(4) {
        uri += random.pick(&["/", "/", "/", "//", "%2F", "%252f", ";"]);
        uri += match random.below(2) {
            0 => random.pick(&names),
            _ => random.pick(&names[plain..]),
        };
    }
    uri += random.pick(&["", "", "", "/", "//", "?", "?x=1", "#f", "/?x", "?x@secret"]);
    uri
}

/// Patterns for the resource `secret` and, if they end with `*`, its parts.
const SECRETS: [&str; 7] = [
    "notes://secret",
    "notes://secret/",
    "notes://secret*",
    "notes://secret/*",
    "notes:secret/*",
    "notes:///secret/*",
    "notes://secret:*/*",
];

/// Checks that no server reads the name of a resource that a pattern denies from one of these URIs.
fn check_names(pattern: &str, allowed: &[String]) {
    assert!(allowed.len() > 100, "{} are allowed", allowed.len());
    let covers_parts = pattern.ends_with('*');
    let is_wrong = |name: &str| {
        let name = name.split(['?', '#']).next().unwrap();
        let name = normalized(&name.to_lowercase());
        name == "/secret" || covers_parts && name.starts_with("/secret/")
    };
    let mode = match pattern.starts_with("notes://s") {
        true => "names",
        false => "paths",
    };
    for (language, read) in [
        ("Python", read_by("python3", &["readers.py", mode], allowed)),
        (
            "JavaScript",
            read_by("node", &["readers.mjs", mode], allowed),
        ),
    ] {
        for (uri, names) in allowed.iter().zip(read.unwrap_or_default()) {
            let wrong: Vec<_> = names.iter().filter(|name| is_wrong(name)).collect();
            assert!(
                wrong.is_empty(),
                "{language} reads {wrong:?} for {uri:?}, which a rule for {pattern:?} allows"
            );
        }
    }
}

/// If no rule denies a URI, no server reads the name of a denied resource from it.
#[test]
fn a_deny_rule_applies_to_every_name_that_servers_read_from_a_uri() {
    let mut random = Random(0x2026_1126_9e37_79b9);
    let uris: Vec<_> = (0..URIS / 10).map(|_| note(&mut random)).collect();
    for pattern in SECRETS {
        let policy = AccessPolicy::new().rule(AccessRule::deny(pattern));
        let is_allowed = |uri: &&String| policy.allows(ItemKind::Resource, "notes", uri);
        let allowed: Vec<_> = uris.iter().filter(is_allowed).cloned().collect();
        check_names(pattern, &allowed);
    }
}

/// The same for URIs that a server lists: users often choose their names.
#[tokio::test]
async fn a_deny_rule_holds_for_every_way_that_servers_parse_a_listed_uri() {
    let mut random = Random(0x2026_1127_9e37_79b9);
    let uris: BTreeSet<_> = (0..URIS / 20).map(|_| note(&mut random)).collect();
    let uris: Vec<_> = uris.into_iter().collect();
    for pattern in SECRETS {
        let policy = AccessPolicy::new().rule(AccessRule::deny(pattern));
        let mut listing = Listing::of(policy, &uris, json!([])).await;
        check_names(pattern, &listing.uris().await);
    }
}
