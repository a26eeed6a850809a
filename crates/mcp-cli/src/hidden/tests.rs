//! Tests that secrets are hidden, with all kinds of characters and in all places.

use super::*;
use crate::target::{shown, shown_text};

#[test]
fn a_value_is_hidden_in_each_spelling() {
    let mut secrets = Secrets(Vec::new());
    secrets.add_value("${PART}", "Ab c\"d/é");
    secrets.add_value(
        "${URL}",
        "https://ada:passw0rd@host.example/s/T0ken?key=k3y9",
    );
    let hide = |text: &str| secrets.hide(text.to_owned());
    for text in [
        "at Ab c\"d/é",
        "Ab c\\\"d/é",
        "https://x/Ab%20c%22d/%C3%A9",
        "https://x/?Ab%20c%22d/%C3%A9",
        "ab+c%22d%2f%c3%a9",
    ] {
        let hidden = hide(text);
        assert!(hidden.contains("${PART}"), "{hidden}");
    }
    let hidden = hide("https://host.example/s/T0ken, passw0rd, key=k3y9");
    assert_eq!(hidden, "https://host.example/${URL}, ${URL}, ${URL}");
    secrets.add_value("${SHORT}", "abc");
    assert_eq!(secrets.hide("abc".to_owned()), "abc");
}

#[test]
fn secrets_that_overlap_are_hidden_together() {
    let mut secrets = Secrets(Vec::new());
    secrets.add_value("${A}", "Abcdefgh");
    secrets.add_value("${B}", "efghij");
    assert_eq!(secrets.hide("x abcdefghij y".to_owned()), "x ${A}${B} y");
}

#[test]
fn common_words_in_secret_values_are_not_hidden() {
    let mut secrets = Secrets(Vec::new());
    secrets.add_value("${A}", "Bearer the server s3cret");
    secrets.add_value("${HOME}", env!("CARGO_MANIFEST_DIR"));
    secrets.add_value("${URL}", "https://host.example/");
    let text = "the server at https://host.example:8/mcp needs Bearer crates";
    assert_eq!(
        secrets.hide(format!("{text} s3cret")),
        format!("{text} ${{A}}")
    );
}

/// Returns an iterator over numbers below a limit. The numbers are the same in each run.
fn numbers(mut state: u64) -> impl FnMut(usize) -> usize {
    move |limit| {
        state = state.wrapping_mul(6_364_136_223_846_793_005);
        state = state.wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % limit
    }
}

/// Returns the texts that the program prints about a server whose configuration contains this secret: errors, log messages, and
/// texts from the server.
fn texts(secret: &str) -> Vec<String> {
    let mut all = vec![
        format!("cannot start \"/none/{secret}\""),
        format!("cannot start {:?}", format!("/none/{secret}")),
        format!(
            "{:?}",
            format!("cannot start {:?}", format!("/none/{secret}"))
        ),
        serde_json::to_string(&format!("--k={secret}")).unwrap(),
        format!("header {}", secret.escape_debug()),
        // `encodeURIComponent`, `quote` and `quote_plus`.
        format!("q={}", encoded(secret, "-_.!~*'()", "%20")),
        format!("q={}", encoded(secret, "-_.~/", "%20")),
        format!("q={}", encoded(secret, "-_.~", "+")),
    ];
    for url in [
        format!("http://{secret}@127.0.0.1:1/mcp"),
        format!("http://ada:{secret}@127.0.0.1:1/mcp"),
        format!("http://{secret}.invalid/mcp"),
        format!("http://127.0.0.1:{secret}/mcp"),
        format!("http://127.0.0.1:1/500/{secret}/mcp"),
        format!("http://127.0.0.1:1/mcp?k={secret}"),
        format!("http://127.0.0.1:1/mcp#{secret}"),
        format!("{secret}://127.0.0.1:1/mcp"),
        format!("127.0.0.1:1/{secret}"),
        secret.to_owned(),
    ] {
        all.push(shown_text(&url));
        all.push(format!("{:?}", shown_text(&url)));
        if let Ok(url) = Url::parse(&url) {
            all.extend([shown(&url), url.to_string(), format!("{:?}", url.as_str())]);
        }
    }
    all
}

fn encoded(text: &str, unchanged: &str, space: &str) -> String {
    let byte = |byte: u8| match char::from(byte) {
        ' ' => space.to_owned(),
        c if c.is_ascii_alphanumeric() || unchanged.contains(c) => c.to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[test]
fn no_part_of_a_secret_with_random_special_characters_is_shown() {
    let mut number = numbers(7);
    let others: Vec<char> = "?#;/@'\"\\:&=+% !*()[]<>{}|^`~,$\n\té\u{200b}ж"
        .chars()
        .collect();
    let words = [
        "Zq7X",
        "kWz9Qx",
        "q0j",
        "X4",
        "Hunter2",
        "vbq8w-_Zx",
        "9jqz",
        "jqxz",
        "T0ken.Part",
    ];
    for _ in 0..1_500 {
        let mut secret = String::new();
        for _ in 0..2 + number(3) {
            secret += words[number(words.len())];
            for _ in 0..number(3) {
                secret.push(others[number(others.len())]);
            }
        }
        let mut secrets = Secrets(Vec::new());
        secrets.add_value("${env:K}", &secret);
        let parts = secret.split(|c: char| !c.is_ascii_alphanumeric());
        let parts: Vec<String> = parts
            .filter(|part| part.len() >= MIN_BYTES)
            .map(str::to_ascii_lowercase)
            .collect();
        for text in texts(&secret) {
            let hidden = secrets.hide(text);
            assert!(!hidden.contains(&secret), "{secret:?}: {hidden}");
            let lower = hidden.to_ascii_lowercase();
            for part in &parts {
                assert!(!lower.contains(&**part), "{secret:?}: {part}: {hidden}");
            }
        }
    }
}

#[test]
fn the_beginning_of_a_secret_at_the_end_of_a_truncated_text_is_hidden() {
    let mut secrets = Secrets(Vec::new());
    secrets.add_value("${API_KEY}", "Zq7Kp2Wv9Xn4Lm8Rt3Bc");
    for (text, expected) in [
        ("xx Zq7Kp2Wv9Xn4Lm…", "xx ${API_KEY}…"),
        ("xx ZQ7K…", "xx ${API_KEY}…"),
        ("xx Zq7…", "xx Zq7…"),
        ("xx Zq7Kp2 y…", "xx Zq7Kp2 y…"),
        ("Zq7Kp… and Zq7Kp2…", "${API_KEY}… and ${API_KEY}…"),
    ] {
        assert_eq!(secrets.hide(text.to_owned()), expected);
    }
    let many = "Loading…".repeat(100);
    assert_eq!(
        secrets.hide(format!("{many} Zq7Kp2…")),
        format!("{many} ${{API_KEY}}…")
    );
}

/// The program cannot know which part of the command line is a password. It therefore hides each part that may be a password.
#[test]
fn a_text_that_is_not_a_url_shows_no_part_that_could_be_a_password() {
    for (text, expected) in [
        ("http://ada:Canary2?x@127.0.0.1:1/mcp", "http://[hidden]"),
        ("http://ada:Canary2#x@127.0.0.1/mcp", "http://[hidden]"),
        ("https://ada:Canary2/x@127.0.0.1/mcp", "https://[hidden]"),
        ("http://ada:Canary2@127.0.0.1/", "http://[hidden]"),
        ("mongodb://ada:Canary2@h/x", "mongodb://[hidden]"),
        ("http:\\\\ada:Canary2@127.0.0.1:1/", "[hidden]"),
        ("ada:Canary2?x@127.0.0.1", "[hidden]"),
        ("127.0.0.1/mcp?k=Canary2", "127.0.0.1/mcp"),
        ("htp://127.0.0.1/a?k=Canary2", "htp://127.0.0.1/a"),
        ("@scope/name@latest", "@scope/name@latest"),
    ] {
        assert_eq!(shown_text(text), expected);
    }
}
