//! Hostile input: deep nesting, floods, duplicate keys, invalid text.

use mcp_jsonrpc::{Frame, Limits, Message, ParseErrorKind, RequestId, decode_document, parse};
use serde_json::Value;

use crate::envelope::single;

#[test]
fn deep_nesting_is_rejected_before_anything_is_built() {
    for open in ["[", "{\"a\":"] {
        let mut text = String::from(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"#);
        text.push_str(&open.repeat(4 << 20 >> 2));
        let thread = std::thread::Builder::new().stack_size(256 << 10);
        let error = thread
            .spawn(move || parse(text.as_bytes(), &Limits::default()).unwrap_err())
            .unwrap()
            .join()
            .unwrap();
        assert_eq!(error.kind(), ParseErrorKind::Limit);
        assert_eq!(error.id(), Some(&RequestId::Number(1)));
        assert_eq!(error.to_error_object().code.0, -32600);
    }
}

#[test]
fn a_message_of_the_maximum_depth_is_parsed_on_a_small_stack() {
    let text = format!(
        r#"{{"jsonrpc":"2.0","method":"m","params":{{"a":{}{}}}}}"#,
        "[".repeat(510),
        "]".repeat(510)
    );
    let thread = std::thread::Builder::new().stack_size(256 << 10);
    thread
        .spawn(move || parse(text.as_bytes(), &Limits::default().with_depth(9999)).map(drop))
        .unwrap()
        .join()
        .unwrap()
        .unwrap();
}

#[test]
fn an_id_after_the_position_of_an_exceeded_limit_is_found() {
    let nest = |n: usize| format!("{}1{}", "[".repeat(n), "]".repeat(n));
    let frame = format!(
        r#"{{"method":"m","params":{{"x":{},"id":9,"s":"\"id\":8"}},"jsonrpc":"2.0","id":"me"}}"#,
        nest(100)
    );
    let error = single(&frame).unwrap_err();
    assert_eq!(error.kind(), ParseErrorKind::Limit);
    assert_eq!(error.id(), Some(&RequestId::from("me")));
    let notification = format!(
        r#"{{"jsonrpc":"2.0","method":"m","params":{{"x":{},"id":9}}}}"#,
        nest(100)
    );
    let error = single(&notification).unwrap_err();
    assert_eq!(error.id(), None);
    assert!(!error.is_answerable());
}

#[test]
fn a_message_with_too_many_values_or_containers_is_rejected() {
    let many = vec!["1"; 300_000].join(",");
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"a":[{many}]}}}}"#);
    let error = single(&text).unwrap_err();
    assert_eq!(error.kind(), ParseErrorKind::Limit);
    assert!(error.to_string().contains("250000 JSON values"), "{error}");
    let many = vec!["{}"; 70_000].join(",");
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"a":[{many}]}}}}"#);
    let error = single(&text).unwrap_err();
    assert!(
        error.to_string().contains("65536 arrays and objects"),
        "{error}"
    );
}

#[test]
fn a_batch_with_too_many_messages_is_rejected_at_the_limit() {
    let bomb = format!("[{}]", vec!["1"; 100_000].join(","));
    let error = parse(bomb.as_bytes(), &Limits::default()).unwrap_err();
    assert!(error.to_string().contains("64 messages"), "{error}");
    assert!(error.offset() < 200);
}

#[test]
fn envelope_keys_are_case_sensitive_and_must_not_be_repeated() {
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"a","\u006dethod":"b"}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{},"params":{}}"#,
        r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"a"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"result":{}}"#,
    ] {
        let error = single(text).expect_err(text);
        assert_eq!(error.to_error_object().code.0, -32600, "{text}");
        assert!(error.to_string().contains("duplicate member"), "{error}");
    }
    for key in [
        "Method",
        "metho\u{17f}",
        "method\\u0000",
        "METHOD",
        "method ",
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"{key}":"evil","method":"good"}}"#);
        let Message::Request(request) = single(&text).unwrap() else {
            panic!()
        };
        assert_eq!(request.method, "good");
    }
    let spelled = single(r#"{"jsonrpc":"2.0","id":1,"\u006dethod":"p\u0069ng"}"#).unwrap();
    assert!(matches!(spelled, Message::Request(request) if request.method == "ping"));
}

// proves: BASE-019, M-XPORT-001
#[test]
fn text_that_is_not_utf8_or_has_lone_surrogates_is_rejected() {
    let mut bytes = br#"{"jsonrpc":"2.0","id":1,"method":"a"#.to_vec();
    bytes.extend_from_slice(b"\xff\xfe\"}");
    let error = parse(&bytes, &Limits::default()).unwrap_err();
    assert_eq!(error.kind(), ParseErrorKind::Syntax);
    for bad in [
        r"\ud800",
        r"\udc00",
        r"\ud800\u0041",
        r"\ud83dx",
        r"\u12g4",
        r"\x",
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"a":"{bad}"}}}}"#);
        assert_eq!(
            single(&text).unwrap_err().kind(),
            ParseErrorKind::Syntax,
            "{bad}"
        );
    }
    let good = r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\ud83c\udf89🎉漢字"}}"#;
    assert!(single(good).is_ok());
    let mut bom = vec![0xEF, 0xBB, 0xBF];
    bom.extend_from_slice(good.as_bytes());
    assert!(parse(&bom, &Limits::default()).is_err());
}

#[test]
fn control_characters_in_strings_are_rejected() {
    for at in 0..20 {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"a":"{}{}tail"}}}}"#,
            "x".repeat(at),
            '\u{1}'
        );
        assert!(parse(text.as_bytes(), &Limits::default()).is_err());
    }
    let frame = parse(
        b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}]",
        &Limits::default(),
    );
    assert!(matches!(frame, Ok(Frame::Batch(_))));
}

#[test]
fn the_id_and_kind_of_a_too_long_message_are_read_from_its_head() {
    use mcp_jsonrpc::ParseError;
    let long = "x".repeat(500);
    for (head, id, response) in [
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":""#,
            Some(7.into()),
            false,
        ),
        (
            r#"{"jsonrpc":"2.0","id":8,"result":{"a":""#,
            Some(8.into()),
            true,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"s","error":{"code":1,"message":""#,
            Some("s".into()),
            true,
        ),
        (r#"{"method":"m","params":{"id":9,"a":""#, None, false),
        (r#"{"result":{"id":9,"a":""#, None, true),
        ("", None, false),
        ("garbage", None, false),
        ("[[[[", None, false),
    ] {
        let error = ParseError::too_long(format!("{head}{long}").as_bytes(), 100, "a setting");
        assert_eq!(
            error.to_string(),
            "a message is longer than 100 bytes, the limit of a setting"
        );
        assert_eq!(error.id(), id.as_ref(), "{head}");
        assert_eq!(error.is_response(), response, "{head}");
        assert_eq!(error.to_error_object().code.0, -32700);
    }
    let cut = ParseError::too_long("{\"id\":1,\"method\":\"é".as_bytes(), 10, "");
    assert_eq!(cut.id(), Some(&RequestId::Number(1)));
}

#[test]
fn a_response_above_a_limit_is_still_a_response() {
    let limits = Limits::default().with_depth(8).with_nodes(64);
    let deep = format!("{}{}", "[".repeat(9), "]".repeat(9));
    let wide = format!("[{}0]", "0,".repeat(64));
    for value in [&deep, &wide] {
        for (text, id, response) in [
            (
                format!(r#"{{"id":1,"result":{{"a":{value}}}}}"#),
                Some(1),
                true,
            ),
            (
                format!(r#"{{"result":{{"a":{value}}},"id":2}}"#),
                Some(2),
                true,
            ),
            (format!(r#"{{"id":3,"error":{value}}}"#), Some(3), true),
            (
                format!(r#"{{"id":4,"method":"m","params":{{"a":{value}}}}}"#),
                Some(4),
                false,
            ),
            (format!(r#"{{"id":5,"other":{value}}}"#), Some(5), false),
        ] {
            let error = parse(text.as_bytes(), &limits).unwrap_err();
            assert_eq!(error.kind(), ParseErrorKind::Limit, "{text}");
            assert_eq!(error.id(), id.map(RequestId::Number).as_ref(), "{text}");
            assert_eq!(error.is_response(), response, "{text}");
            assert_eq!(error.is_answerable(), !response, "{text}");
        }
    }
}

#[test]
fn a_response_that_is_not_json_is_still_a_response() {
    for (text, id, response) in [
        (r#"{"id":1,"result":{"a":NaN}}"#, Some(1), true),
        (r#"{"result":{"a":"\x"},"id":2}"#, Some(2), true),
        (r#"{"error":{"message":"a"b"},"id":3}"#, None, true),
        (
            r#"{"result":{"id":9,"a":nul},"x":[{"id":8}],"id" : 4.0 }"#,
            Some(4),
            true,
        ),
        (r#"{"result":{},"id":4.5}"#, None, true),
        (r#"{"result":01,"id":5,"id":6}"#, None, true),
        (r#"{"id":7,"result":{}}{"id":8,"result":{}}"#, Some(7), true),
        // Truncated: more digits may follow.
        (r#"{"result":{},"id":1"#, None, true),
        (
            r#"{"id":1,"method":"m","params":{"a":NaN}}"#,
            Some(1),
            false,
        ),
        (r#"{"method":"m","params":{"a":NaN},"id":1}"#, None, false),
        (r#"{"id":1,"result":NaN,"method":"m"}"#, Some(1), false),
        (r#"{"id":1,"x":NaN}"#, Some(1), false),
        ("\"result\": 1", None, false),
    ] {
        let error = parse(text.as_bytes(), &Limits::default()).unwrap_err();
        assert_eq!(error.id(), id.map(RequestId::Number).as_ref(), "{text}");
        assert_eq!(error.is_response(), response, "{text}");
    }
    let bytes = b"{\"result\":\"\xff\",\"id\":1}";
    let error = parse(bytes, &Limits::default()).unwrap_err();
    assert!(error.is_response());
    assert_eq!(error.id(), Some(&RequestId::Number(1)));
}

#[test]
fn each_additional_message_on_a_line_is_reported_with_its_id() {
    let line = r#"{"id":1,"result":{}} {"id":2,"result":{}}{"id":"a","error":{}} x"#;
    let error = parse(line.as_bytes(), &Limits::default()).unwrap_err();
    let following = error.following(line.as_bytes(), &Limits::default());
    let ids: Vec<_> = following
        .iter()
        .filter_map(|error| error.id().cloned())
        .collect();
    assert_eq!(ids, [RequestId::Number(2), "a".into()]);
    let many = r#"{"id":1,"result":{}}"#.repeat(100);
    let error = parse(many.as_bytes(), &Limits::default()).unwrap_err();
    let following = error.following(many.as_bytes(), &Limits::default());
    assert_eq!(following.len(), 16);
}

/// serde_json reads `{"$serde_json::private::RawValue":"TEXT"}` as the value in TEXT.
fn nested(levels: usize) -> String {
    let mut text = "1".to_owned();
    for _ in 0..levels {
        let inner = format!("{}{text}{}", "[".repeat(100), "]".repeat(100));
        let inner = serde_json::to_string(&inner).unwrap();
        text = format!(r#"{{"$serde_json::private::RawValue":{inner}}}"#);
    }
    text
}

#[test]
fn members_with_names_that_serde_json_treats_specially_are_rejected() {
    for name in [
        "$serde_json::private::RawValue",
        r"\u0024serde_json::private::RawValue",
        r"$serde_json\u003a:private::Number",
    ] {
        let frame = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"a":[{{"{name}":"[[1]]"}}]}}}}"#
        );
        let error = single(&frame).unwrap_err();
        assert_eq!(error.id(), Some(&RequestId::Number(7)), "{name}");
        assert!(error.to_string().contains("reserved"), "{error}");
    }
    let frame = r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"$ref":1,"$serde_json":2,"a":"$serde_json::private::RawValue"}}"#;
    assert!(single(frame).is_ok());
}

#[test]
fn a_document_above_a_limit_is_rejected() {
    let error = |text: &str| decode_document::<Value>(text).unwrap_err().to_string();
    // Without the check, a text of this size ends the process with a stack overflow.
    assert!(error(&nested(8)).contains("reserved"));
    assert!(
        error(&format!("{}{}", "[".repeat(121), "]".repeat(121))).contains("120 nested levels")
    );
    assert!(error(&format!("[{}1]", "1,".repeat(250_000))).contains("250000 JSON values"));
    assert_eq!(error("{\n \"a\":}"), "expected value at line 2 column 6");
    assert_eq!(error("{} x"), "trailing characters at line 1 column 4");
    let deepest = format!("{}{}", "[".repeat(120), "]".repeat(120));
    assert!(decode_document::<Value>(&deepest).is_ok());
    let text = "\n{\"a\":[1,{}]}\n";
    assert_eq!(decode_document::<Value>(text).unwrap()["a"][0], 1);
}
