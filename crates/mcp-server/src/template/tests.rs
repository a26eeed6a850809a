//! The examples of the RFC, and matching as the inverse.

mod hostile;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::UriTemplate;

fn parse(template: &str) -> UriTemplate {
    UriTemplate::parse(template).unwrap_or_else(|error| panic!("{template}: {error}"))
}

fn found(template: &str, uri: &str) -> Option<Value> {
    parse(template).matches(uri).map(|found| json!(found))
}

/// The variables of the examples in the RFC.
fn examples() -> Value {
    json!({
        "count": ["one", "two", "three"],
        "dom": ["example", "com"],
        "dub": "me/too",
        "hello": "Hello World!",
        "half": "50%",
        "var": "value",
        "who": "fred",
        "base": "http://example.com/home/",
        "path": "/foo/bar",
        "list": ["red", "green", "blue"],
        "keys": {"comma": ",", "dot": ".", "semi": ";"},
        "v": "6",
        "x": "1024",
        "y": "768",
        "empty": "",
        "empty_keys": {},
        "undef": null,
    })
}

/// The examples of the RFC.
const EXAMPLES: &[(&str, &str)] = &[
    // Level 1 and simple strings.
    ("{var}", "value"),
    ("{hello}", "Hello%20World%21"),
    ("{half}", "50%25"),
    ("O{empty}X", "OX"),
    ("O{undef}X", "OX"),
    ("{x,y}", "1024,768"),
    ("{x,hello,y}", "1024,Hello%20World%21,768"),
    ("?{x,empty}", "?1024,"),
    ("?{x,undef}", "?1024"),
    ("?{undef,y}", "?768"),
    ("{var:3}", "val"),
    ("{var:30}", "value"),
    ("{list}", "red,green,blue"),
    ("{list*}", "red,green,blue"),
    ("{keys}", "comma,%2C,dot,.,semi,%3B"),
    ("{keys*}", "comma=%2C,dot=.,semi=%3B"),
    // Reserved.
    ("{+var}", "value"),
    ("{+hello}", "Hello%20World!"),
    ("{+half}", "50%25"),
    ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
    ("{+base}index", "http://example.com/home/index"),
    ("O{+empty}X", "OX"),
    ("O{+undef}X", "OX"),
    ("{+path}/here", "/foo/bar/here"),
    ("here?ref={+path}", "here?ref=/foo/bar"),
    ("up{+path}{var}/here", "up/foo/barvalue/here"),
    ("{+x,hello,y}", "1024,Hello%20World!,768"),
    ("{+path,x}/here", "/foo/bar,1024/here"),
    ("{+path:6}/here", "/foo/b/here"),
    ("{+list}", "red,green,blue"),
    ("{+keys}", "comma,,,dot,.,semi,;"),
    ("{+keys*}", "comma=,,dot=.,semi=;"),
    // Fragment.
    ("{#var}", "#value"),
    ("{#hello}", "#Hello%20World!"),
    ("{#half}", "#50%25"),
    ("foo{#empty}", "foo#"),
    ("foo{#undef}", "foo"),
    ("{#x,hello,y}", "#1024,Hello%20World!,768"),
    ("{#path:6}/here", "#/foo/b/here"),
    ("{#list*}", "#red,green,blue"),
    ("{#keys*}", "#comma=,,dot=.,semi=;"),
    // Label.
    ("{.who}", ".fred"),
    ("{.half,who}", ".50%25.fred"),
    ("www{.dom*}", "www.example.com"),
    ("X{.var:3}", "X.val"),
    ("X{.empty}", "X."),
    ("X{.undef}", "X"),
    ("X{.list}", "X.red,green,blue"),
    ("X{.list*}", "X.red.green.blue"),
    ("X{.keys*}", "X.comma=%2C.dot=..semi=%3B"),
    ("X{.empty_keys*}", "X"),
    // Path.
    ("{/who,who}", "/fred/fred"),
    ("{/half,who}", "/50%25/fred"),
    ("{/who,dub}", "/fred/me%2Ftoo"),
    ("{/var,empty}", "/value/"),
    ("{/var,undef}", "/value"),
    ("{/var,x}/here", "/value/1024/here"),
    ("{/var:1,var}", "/v/value"),
    ("{/list}", "/red,green,blue"),
    ("{/list*,path:4}", "/red/green/blue/%2Ffoo"),
    ("{/keys*}", "/comma=%2C/dot=./semi=%3B"),
    // Path parameters.
    ("{;who}", ";who=fred"),
    ("{;half}", ";half=50%25"),
    ("{;empty}", ";empty"),
    ("{;v,empty,who}", ";v=6;empty;who=fred"),
    ("{;v,undef,who}", ";v=6;who=fred"),
    ("{;hello:5}", ";hello=Hello"),
    ("{;list}", ";list=red,green,blue"),
    ("{;list*}", ";list=red;list=green;list=blue"),
    ("{;keys}", ";keys=comma,%2C,dot,.,semi,%3B"),
    ("{;keys*}", ";comma=%2C;dot=.;semi=%3B"),
    // Query.
    ("{?who}", "?who=fred"),
    ("{?x,y}", "?x=1024&y=768"),
    ("{?x,y,empty}", "?x=1024&y=768&empty="),
    ("{?x,y,undef}", "?x=1024&y=768"),
    ("{?var:3}", "?var=val"),
    ("{?list}", "?list=red,green,blue"),
    ("{?list*}", "?list=red&list=green&list=blue"),
    ("{?keys*}", "?comma=%2C&dot=.&semi=%3B"),
    ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
    ("{&x,y,empty}", "&x=1024&y=768&empty="),
    ("{&list*}", "&list=red&list=green&list=blue"),
];

// proves: RES-008, M-RES-009
#[test]
fn the_expansion_examples_of_the_rfc_are_correct() {
    let values = examples();
    for (template, expected) in EXAMPLES {
        let values = values.as_object().unwrap();
        assert_eq!(parse(template).expand_json(values), *expected, "{template}");
    }
}

#[test]
fn an_invalid_template_is_rejected_with_its_position_and_reason() {
    for (template, at, hint) in [
        ("a{b", 1, "}"),
        ("a}b", 1, "%7D"),
        ("{}", 1, "no name"),
        ("{a,}", 3, "no name"),
        ("{?}", 2, "no name"),
        ("{=a}", 1, "operator"),
        ("{a b}", 2, "name"),
        ("{a-b}", 2, "name"),
        ("{.a..b}", 3, "dots"),
        ("{a:0}", 3, "9999"),
        ("{a:10000}", 3, "9999"),
        ("{a:+5}", 3, "9999"),
        ("{a{b}}", 2, "name"),
        ("x y{a}", 1, "percent-encode"),
        ("file:///%zz", 8, "percent-encode"),
    ] {
        let error = UriTemplate::parse(template).unwrap_err();
        assert_eq!(error.offset(), at, "{template}: {error}");
        assert!(error.to_string().contains(hint), "{template}: {error}");
    }
    assert!(UriTemplate::parse(&"x".repeat(9_000)).is_err());
    assert!(UriTemplate::parse(&"{a}".repeat(65)).is_err());
}

#[test]
fn variables_are_listed_once_and_in_order() {
    let template = parse("x://{b}/{+a}{?c,b}");
    assert_eq!(template.variables().collect::<Vec<_>>(), ["b", "a", "c"]);
    assert_eq!(template.as_str(), "x://{b}/{+a}{?c,b}");
}

/// Test cases: a template, a URI, and the variables that the URI contains.
const COMPONENTS: &[(&str, &str, &str)] = &[
    ("note://{name}", "note://a", r#"{"name": "a"}"#),
    ("note://{name}", "note://a%20b%2B", r#"{"name": "a b+"}"#),
    ("note://{name}", "note://caf%c3%a9", r#"{"name": "café"}"#),
    ("note://{name}", "note://café", r#"{"name": "café"}"#),
    (
        "note://{name}",
        "note://ada@example.com:1",
        r#"{"name": "ada@example.com:1"}"#,
    ),
    ("note://é/{x}", "note://%C3%A9/1", r#"{"x": "1"}"#),
    (
        "f:///{dir}/{name}",
        "f:///a/b",
        r#"{"dir": "a", "name": "b"}"#,
    ),
    (
        "f:///{+dir}/{name}",
        "f:///a/b/c",
        r#"{"dir": "a/b", "name": "c"}"#,
    ),
    (
        "f:///{name}.{ext}",
        "f:///a.tar.gz",
        r#"{"name": "a.tar", "ext": "gz"}"#,
    ),
    (
        "f:///{name}{.ext}",
        "f:///a.tar.gz",
        r#"{"name": "a.tar", "ext": "gz"}"#,
    ),
    ("f:///{name}{.ext}", "f:///make", r#"{"name": "make"}"#),
    ("f://{+path}", "f:///etc/hosts", r#"{"path": "/etc/hosts"}"#),
    ("f:///{x}ab", "f:///aabab", r#"{"x": "aab"}"#),
    ("p:{x,y}", "p:1,2", r#"{"x": "1", "y": "2"}"#),
    ("p:{x,y}", "p:1", r#"{"x": "1"}"#),
    (
        "users{/id,part}",
        "users/7/name",
        r#"{"id": "7", "part": "name"}"#,
    ),
    ("users{/id,part}", "users/7", r#"{"id": "7"}"#),
    ("users{/id,part}", "users", r#"{}"#),
    ("map/{id}{;v,w}", "map/7;v=2", r#"{"id": "7", "v": "2"}"#),
    (
        "map/{id}{;v,w}",
        "map/7;v;w=",
        r#"{"id": "7", "v": "", "w": ""}"#,
    ),
    ("s{?q,n}", "s?q=a%26b&n=5", r#"{"q": "a&b", "n": "5"}"#),
    ("s{?q,n}", "s?n=5&q=a/b?c", r#"{"q": "a/b?c", "n": "5"}"#),
    ("s{?q,n}", "s?n=", r#"{"n": ""}"#),
    ("s{?q,n}", "s", r#"{}"#),
    ("s?k=1{&q}", "s?k=1&q=2", r#"{"q": "2"}"#),
    ("s?k={k}{&q}", "s?k=1&q=2", r#"{"k": "1", "q": "2"}"#),
    (
        "doc/{id}{?rev}{#part}",
        "doc/1?rev=2#p/3",
        r#"{"id": "1", "rev": "2", "part": "p/3"}"#,
    ),
    ("doc/{id}{#part}", "doc/1", r#"{"id": "1"}"#),
    ("{a}/{a}", "x/x", r#"{"a": "x"}"#),
    ("exact://uri", "exact://uri", r#"{}"#),
];

#[test]
fn the_variables_of_a_matching_uri_are_extracted() {
    for (template, uri, expected) in COMPONENTS {
        let expected = serde_json::from_str(expected).unwrap();
        assert_eq!(found(template, uri), Some(expected), "{template} {uri}");
    }
}

#[test]
fn equivalent_spellings_of_a_uri_match_the_same_template() {
    for (template, uri, name) in [
        ("KBInfo://{name}", "kbinfo://7", "7"),
        ("kbinfo://{name}", "KBINFO://7", "7"),
        ("test://static-text/{name}", "TEST://static%2Dtext/%61", "a"),
        ("test://{name}", "test://a b", "a b"),
        ("test://{name}", "test://a%20b", "a b"),
    ] {
        let found = parse(template).matches(uri).unwrap();
        assert_eq!(found["name"], name, "{template} {uri}");
    }
    // Only the scheme is case-insensitive.
    assert_eq!(found("test://Static/{name}", "test://static/a"), None);
    assert_eq!(
        parse("KBInfo://{name}").normal("kbinfo://%37").unwrap(),
        "KBInfo://7"
    );
}

#[test]
fn uris_of_another_shape_do_not_match_the_template() {
    for (template, uri) in [
        ("note://{name}", "note://"),
        // Without the second value of `a`, no values of the variables give this URI.
        ("note://{a,b,a}", "note://1,2"),
        ("note://{name}", "note://a/b"),
        ("note://{name}", "note://a?b"),
        ("note://{name}", "note://a#b"),
        ("note://{name}", "other://a"),
        ("note://{name}", "note://a%zz"),
        ("note://{name}", "note://a\tb"),
        ("note://{name}", "note://%ff"),
        ("note://{name}!", "note://a"),
        ("s{?q}", "s?q=1&q=2"),
        ("s{?q}", "s?q=1&z=2"),
        ("s{?q}", "s&q=1"),
        ("s{?q}", "s?"),
        ("s?k=1{&q}", "s?q=2"),
        ("{a}/{a}", "x/y"),
        ("exact://uri", "exact://uri/more"),
    ] {
        assert_eq!(found(template, uri), None, "{template} {uri}");
    }
    for template in ["{x*}", "{/x*}", "{x:3}"] {
        assert!(!parse(template).is_reversible());
    }
    assert!(parse("{x}{?y}").is_reversible());
}

/// A deterministic sequence of random numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % most
    }

    fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }
}

// Previously, the first value could end within the encoding of a character.
#[test]
fn an_encoded_character_is_not_divided_between_values() {
    for (template, uri, values) in [
        ("{b}{a}", "x%21", [("b", "x"), ("a", "!")]),
        ("{b}{a}", "x%C3%A9", [("b", "x"), ("a", "é")]),
        ("{b}{a}", "é!", [("b", "é"), ("a", "!")]),
        ("{b}{+a}", "x%F0%9F%A6%80", [("b", "x"), ("a", "\u{1F980}")]),
    ] {
        let expected = values.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let found = parse(template).matches(uri);
        assert_eq!(found, Some(BTreeMap::from(expected)), "{template} {uri}");
    }
    assert_eq!(parse("{b}{a}").matches("%C3%A9"), None);
}

#[test]
fn matching_inverts_expansion() {
    let templates = [
        "note://{a}",
        "note://{a}/{b}",
        "note://{a}/x/{+b}",
        "file:///{+a}{?b,c}",
        "x:{a}{/b}{?c}",
        "x:{a}{;b,c}",
        "x:{a}{#b}",
        "s?k=v{&a,b}{#c}",
    ];
    let pieces = [
        "a",
        "Z",
        "7",
        "-",
        "é",
        "日",
        " ",
        "+",
        "%",
        "&",
        "=",
        "?",
        "#",
        ";",
        ",",
        "'",
        "\u{1F980}",
    ];
    let mut numbers = Numbers(7);
    for round in 0..4_000 {
        let template = parse(templates[round % templates.len()]);
        let mut values = BTreeMap::new();
        for name in template.variables() {
            let mut value = String::from("v");
            for _ in 0..numbers.below(6) {
                value.push_str(numbers.pick(&pieces));
            }
            // A reserved expansion keeps these characters, and `%` would be read as an encoding.
            let reserved = template.as_str().contains(&format!("+{name}"));
            if reserved || template.as_str().contains(&format!("#{name}")) {
                value.retain(|c| !"?#&%".contains(c));
            }
            if reserved && numbers.below(2) == 0 {
                value.push_str("/w");
            }
            values.insert(name.to_owned(), value);
        }
        let uri = template.expand(&values);
        assert_eq!(template.matches(&uri), Some(values), "{template} {uri}");
    }
}

/// Text with escapes before a colon is not a scheme, so its case matters.
#[test]
fn text_with_escapes_before_a_colon_keeps_its_case() {
    let template = UriTemplate::parse("{a}é:{b}").unwrap();
    let values = template.matches("x:é:y").unwrap();
    let expanded = template.expand(&values);
    assert_eq!(expanded, "x%3A%C3%A9:y");
    assert_eq!(template.matches(&expanded), Some(values));
}
