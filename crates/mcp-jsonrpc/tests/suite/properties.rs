//! The scanner against serde_json.

use mcp_jsonrpc::{Frame, Limits, Message, parse};
use proptest::prelude::*;

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>()
            .prop_filter("finite", |f| f.is_finite())
            .prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Into::into),
            prop::collection::btree_map(any::<String>(), inner, 0..8)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    /// The scanner accepts what serde_json prints, and the raw slice is the text itself.
    #[test]
    fn json_that_serde_json_writes_is_accepted_and_kept_unchanged(value in json(), pretty: bool) {
        let params = serde_json::json!({ "v": value });
        let params = if pretty {
            serde_json::to_string_pretty(&params).unwrap()
        } else {
            params.to_string()
        };
        let text = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{params},\"id\":1}}");
        let limits = Limits::default();
        let Ok(Frame::Single(Message::Request(request))) = parse(text.as_bytes(), &limits) else {
            panic!("refused {text}");
        };
        prop_assert_eq!(request.params, Some(&*params));
    }

    /// On arbitrary bytes it never panics, and accepts only what serde_json accepts too.
    #[test]
    fn the_scanner_accepts_no_text_that_serde_json_rejects(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if parse(&bytes, &Limits::default()).is_ok() {
            prop_assert!(serde_json::from_slice::<serde_json::Value>(&bytes).is_ok());
        }
    }

    /// The same for text made of JSON's own characters, which is accepted further.
    #[test]
    fn the_scanner_accepts_no_nearly_valid_text_that_serde_json_rejects(
        text in r#"\{"jsonrpc":"2.0","method":"m","params":\{"a":[\[\]{}",:0-9eE+.\\utfnrals -]{0,24}\}\}"#,
    ) {
        let ours = parse(text.as_bytes(), &Limits::default());
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        if ours.is_ok() {
            prop_assert!(theirs.is_ok(), "{} {:?}", text, theirs);
        }
        if theirs.is_err() {
            prop_assert!(ours.is_err(), "{}", text);
        }
    }

    /// Strings are written byte for byte as serde_json writes them.
    #[test]
    fn strings_are_written_as_serde_json_writes_them(text in any::<String>(), odd in "[\\x00-\\x7f\"\\\\é🎉]{0,40}") {
        for text in [text, odd] {
            let mut out = Vec::new();
            mcp_jsonrpc::write_string(&mut out, &text);
            prop_assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&text).unwrap());
        }
    }
}
