//! Decoding with JSON pointers, and iteration over members.

use mcp_jsonrpc::{MemberPositions, Message, Request, check_unique_members, decode, members};
use serde::Deserialize;

use crate::envelope::single;

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "only decoding is looked at")]
struct Order {
    name: String,
    lines: Vec<OrderLine>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "only decoding is looked at")]
struct OrderLine {
    count: u8,
    #[serde(rename = "a/b")]
    odd: bool,
}

#[test]
fn a_decode_error_has_the_pointer_of_the_invalid_member() {
    for (text, pointer, needle) in [
        (r#"{"name":5,"lines":[]}"#, "/name", "expected a string"),
        (r#"{"lines":[]}"#, "", "missing field `name`"),
        (
            r#"{"name":"n","lines":[{"count":1,"a/b":true},{"count":"x","a/b":true}]}"#,
            "/lines/1/count",
            "expected u8",
        ),
        (
            r#"{"name":"n","lines":[{"count":300,"a/b":true}]}"#,
            "/lines/0/count",
            "300",
        ),
        (
            r#"{"name":"n","lines":[{"count":1,"a/b":0}]}"#,
            "/lines/0/a~1b",
            "boolean",
        ),
        (
            r#"{"name":"n","lines":[{"count":1}]}"#,
            "/lines/0",
            "missing field `a/b`",
        ),
        (r#"[1]"#, "/0", "expected a string"),
    ] {
        let error = decode::<Order>(text).unwrap_err();
        assert_eq!(error.pointer(), pointer, "{text}: {error}");
        assert!(error.message().contains(needle), "{text}: {error}");
        assert!(!error.message().contains(" at line "), "{error}");
    }
}

#[test]
fn member_positions_are_valid_for_a_copy_of_the_text() {
    let cases = [
        r#"{"name":"é","arguments":{"a":[1]},"_meta":{}}"#,
        r#"{"uri":"file:///a"}"#,
        // Positions of other members are not kept; the text is scanned.
        r#"{"name":"a","other":1}"#,
        r#"{"cursor":"x"}"#,
    ];
    let mut positions = MemberPositions::default();
    for params in cases {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
        let Message::Request(parsed) = single(&frame).unwrap() else {
            panic!("{frame} is a request");
        };
        positions.find(&parsed);
        let copy = params.to_owned();
        let mut request = Request::new(1.into(), "m", Some(&copy));
        request.set_positions(&positions);
        let members = |request: &Request<'_>| -> Vec<(String, String)> {
            let all = request.param_members().map(Result::unwrap);
            all.map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect()
        };
        assert_eq!(members(&request), members(&parsed), "{params}");
        assert!(!members(&request).is_empty());
    }
}

#[test]
fn param_members_are_the_same_with_and_without_the_index() {
    for count in [0, 1, 4, 5, 20] {
        let members: Vec<String> = (0..count).map(|n| format!("\"k{n}\":[{n}]")).collect();
        let params = format!("{{{}}}", members.join(", "));
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
        let Message::Request(parsed) = single(&text).unwrap() else {
            panic!()
        };
        let walked: Vec<_> = parsed.param_members().map(Result::unwrap).collect();
        let again: Vec<_> = mcp_jsonrpc::members(&params).map(Result::unwrap).collect();
        assert_eq!(walked, again);
        let by_hand = Request::new(1.into(), "m", Some(&params));
        assert_eq!(by_hand.param_members().map(Result::unwrap).count(), count);
    }
    assert_eq!(Request::new(1.into(), "m", None).param_members().count(), 0);
}

#[test]
fn members_iterates_over_an_object_without_building_it() {
    let text = r#" {"a":1 , "b":{"c":[1,2]},"d":"x"}"#;
    let all: Vec<_> = members(text).map(Result::unwrap).collect();
    assert_eq!(all, [("a", "1"), ("b", r#"{"c":[1,2]}"#), ("d", "\"x\"")]);
    assert_eq!(members("{}").count(), 0);
    assert!(members("[1]").next().unwrap().is_err());
    assert_eq!(members("{\"a\":1,").filter_map(Result::err).count(), 1);
}

#[test]
fn the_pointer_names_an_object_or_array_of_the_wrong_type() {
    for (text, pointer) in [
        (r#"{"name": "a", "lines": {"x": [1]}}"#, "/lines"),
        (r#"{"name":[],"lines":[]}"#, "/name"),
        (
            r#"{"name":"a","lines":[{"count":1,"a/b":true}, {"count":{"a":1}}]}"#,
            "/lines/1/count",
        ),
        (
            r#"{"name":"a","lines":[{"count":1,"a/b": [true]}]}"#,
            "/lines/0/a~1b",
        ),
    ] {
        assert_eq!(
            decode::<Order>(text).unwrap_err().pointer(),
            pointer,
            "{text}"
        );
    }
    assert_eq!(decode::<u8>(" {\"a\":1}").unwrap_err().pointer(), "");
    assert_eq!(decode::<Vec<u8>>("[1, {}]").unwrap_err().pointer(), "/1");
}

#[test]
fn the_pointer_names_a_value_that_its_type_rejects_wherever_it_is() {
    #[derive(Debug, Deserialize)]
    #[serde(try_from = "String")]
    struct Slug;

    impl TryFrom<String> for Slug {
        type Error = &'static str;

        fn try_from(text: String) -> Result<Self, Self::Error> {
            match text.contains(' ') {
                true => Err("a slug has no spaces"),
                false => Ok(Self),
            }
        }
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "the type is only decoded")]
    struct Outer {
        #[serde(default)]
        number: u8,
        word: Slug,
        #[serde(default)]
        words: Vec<Slug>,
        inner: Option<Box<Self>>,
    }

    for (text, pointer) in [
        (r#"{"number":1,"word":"a b"}"#, "/word"),
        (r#"{"word":"a b","number":1}"#, "/word"),
        (r#"{"word":"a b"}"#, "/word"),
        ("{ \"word\" : \"a b\" \n }", "/word"),
        (r#"{"word":"a","inner":{"word":"a b"}}"#, "/inner/word"),
        (r#"{"word":"a","words":["a","b c"]}"#, "/words/1"),
        (r#"{"words":["a","b c"],"word":"a"}"#, "/words/1"),
        (r#"{"number":1}"#, ""),
        (r#"{"word":"a","inner":{"number":1}}"#, "/inner"),
        (r#"{"word":"a","number":"x"}"#, "/number"),
    ] {
        let error = mcp_jsonrpc::decode_owned::<Outer>(text).unwrap_err();
        assert_eq!(error.pointer(), pointer, "{text}: {error}");
    }
}

#[test]
fn a_repeated_member_is_found_at_any_depth_and_with_escapes() {
    check_unique_members(r#"{"a":[{"a":1},{"a":{"b":1}},1.5,null,"a"],"b":true}"#).unwrap();
    for (text, pointer) in [
        (r#"{"a":1,"a":2}"#, ""),
        (r#"{"tools":[{},{"x":{"a":1,"\u0061":2}}]}"#, "/tools/1/x"),
    ] {
        let error = check_unique_members(text).unwrap_err();
        assert!(error.pointer().starts_with(pointer), "{error}");
        assert!(error.message().contains("\"a\" is repeated"), "{error}");
    }
    assert!(check_unique_members("{} {}").is_err());
}
