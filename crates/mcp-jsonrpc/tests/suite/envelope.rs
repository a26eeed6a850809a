//! The envelope: kinds of messages, ids, codes.

use std::sync::Arc;

use mcp_jsonrpc::{
    ErrorCode, ErrorObject, Frame, Limits, Message, OwnedMessage, ParseError, RequestId, parse,
    write_error, write_notification, write_request, write_result,
};

pub(crate) fn single(text: &str) -> Result<Message<'_>, ParseError> {
    match parse(text.as_bytes(), &Limits::default())? {
        Frame::Single(message) => Ok(message),
        Frame::Batch(_) => panic!("a batch: {text}"),
    }
}

fn code(text: &str) -> (i64, Option<String>) {
    let error = single(text).expect_err(text);
    (
        error.to_error_object().code.0,
        error.id().map(ToString::to_string),
    )
}

// proves: SCHEMA-001, BASE-003
#[test]
fn messages_are_classified_by_their_members() {
    let Message::Request(request) =
        single(r#"{"method":"ping","params":{"a":[1]},"jsonrpc":"2.0","id":"x"}"#).unwrap()
    else {
        panic!()
    };
    assert_eq!(request.params, Some(r#"{"a":[1]}"#));
    assert_eq!(request.id, RequestId::from("x"));
    assert!(matches!(
        single(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).unwrap(),
        Message::Notification(_)
    ));
    let Message::Response(response) =
        single(r#" {"jsonrpc":"2.0","id":1,"result":{"a":1}} "#).unwrap()
    else {
        panic!()
    };
    assert_eq!(response.outcome, Ok(r#"{"a":1}"#));
    for text in [
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        r#"{"id":1,"method":"ping"}"#,
        "7",
        "null",
    ] {
        assert_eq!(code(text).0, -32600, "{text}");
    }
}

// proves: BASE-004, BASE-005, BASE-007, SCHEMA-002, M-BASE-004
#[test]
fn valid_ids_keep_their_value_and_type_and_other_ids_are_rejected() {
    for id in [
        "0",
        "-1",
        "7",
        "\"7\"",
        "\"\"",
        "\"a b\"",
        "9007199254740993",
        "9223372036854775807",
        "-9223372036854775808",
        "\"null\"",
        "\"Ω🎉\"",
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let Message::Request(request) = single(&text).unwrap() else {
            panic!("{text}")
        };
        let mut echo = Vec::new();
        request.id.write(&mut echo);
        assert_eq!(String::from_utf8(echo).unwrap(), id);
    }
    for id in [
        "null",
        "1.0",
        "1e3",
        "1.5",
        "-0",
        "true",
        "false",
        "[]",
        "{}",
        "[1]",
        "1e400",
        "9223372036854775808",
        "123456789012345678901234567890",
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        assert_eq!(code(&text), (-32600, None), "{text}");
    }
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#,
        "x".repeat(1025)
    );
    assert_eq!(code(&long).0, -32600);
}

// proves: SCHEMA-004, SCHEMA-005, BASE-010, BASE-011
#[test]
fn invalid_frames_have_the_right_code_and_the_id_if_it_could_be_read() {
    for text in [
        "",
        "{",
        "garbage",
        "{\"jsonrpc\":\"2.0\",",
        "{}{}",
        "[1,]",
        "{\"a\":01}",
    ] {
        assert_eq!(code_any(text).0, -32700, "{text}");
    }
    let id = Some("3".to_owned());
    for text in [
        r#"{"id":3,"jsonrpc":"2.0","method":5}"#,
        r#"{"jsonrpc":"2.0","method":5,"id":3}"#,
        r#"{"jsonrpc":"2","method":"m","id":3}"#,
        r#"{"jsonrpc":"2.0","method":"m","params":[1],"id":3}"#,
        r#"{"jsonrpc":"2.0","method":"m","params":"x","id":3}"#,
    ] {
        assert_eq!(code(text), (-32600, id.clone()), "{text}");
    }
}

fn code_any(text: &str) -> (i64, Option<RequestId>) {
    let error = parse(text.as_bytes(), &Limits::default()).expect_err(text);
    (error.to_error_object().code.0, error.id().cloned())
}

// proves: BASE-014, SCHEMA-012
#[test]
fn invalid_notifications_and_responses_are_not_answerable() {
    let error = single(r#"{"jsonrpc":"2.0","method":"notifications/x","params":[1]}"#).unwrap_err();
    assert!(!error.is_answerable());
    let error =
        single(r#"{"jsonrpc":"2.0","id":4,"error":{"code":1.5,"message":"m"}}"#).unwrap_err();
    assert!(error.is_response() && !error.is_answerable());
    assert_eq!(error.id(), Some(&RequestId::Number(4)));
}

// proves: BASE-012, BASE-013, SCHEMA-003, SCHEMA-011, M-BASE-019
#[test]
fn error_responses_are_read_and_written() {
    let text = r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"no","data":[1,{"a":null}]}}"#;
    let Message::Response(response) = single(text).unwrap() else {
        panic!()
    };
    assert_eq!(response.id, None);
    let error = response.outcome.unwrap_err();
    assert_eq!(error.code, ErrorCode::PARSE_ERROR);
    let mut out = Vec::new();
    write_error(&mut out, None, &error);
    assert_eq!(String::from_utf8(out).unwrap(), text);

    let tolerated = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#;
    assert!(matches!(single(tolerated).unwrap(), Message::Response(_)));
    for bad in [
        r#"{"code":"x","message":"m"}"#,
        r#"{"code":1.5,"message":"m"}"#,
        "{}",
        "null",
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{bad}}}"#);
        assert!(single(&text).unwrap_err().is_response(), "{text}");
    }
}

// proves: BASE-008
#[test]
fn a_null_result_is_not_an_absent_result() {
    let Message::Response(response) = single(r#"{"jsonrpc":"2.0","id":1,"result":null}"#).unwrap()
    else {
        panic!()
    };
    assert_eq!(response.outcome, Ok("null"));
}

#[test]
fn messages_of_a_batch_are_parsed_separately() {
    let text = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}, 5,
                   {"jsonrpc":"2.0","method":"notifications/x"}]"#;
    let Frame::Batch(batch) = parse(text.as_bytes(), &Limits::default()).unwrap() else {
        panic!()
    };
    assert_eq!(batch.len(), 3);
    let members: Vec<_> = batch.iter().collect();
    assert!(matches!(members[0], Ok(Message::Request(_))));
    assert!(members[1].is_err());
    assert!(matches!(members[2], Ok(Message::Notification(_))));
    assert_eq!(code_any("[]").0, -32600);
}

#[test]
fn written_messages_can_be_parsed() {
    let mut out = Vec::new();
    write_request(&mut out, &RequestId::Number(1), "a/b", Some(br#"{"x":1}"#));
    assert_eq!(
        out,
        br#"{"jsonrpc":"2.0","id":1,"method":"a/b","params":{"x":1}}"#
    );
    out.clear();
    write_notification(&mut out, "n", None);
    assert_eq!(out, br#"{"jsonrpc":"2.0","method":"n"}"#);
    out.clear();
    write_result(&mut out, &"s".into(), |out| out.extend_from_slice(b"{}"));
    assert_eq!(out, br#"{"jsonrpc":"2.0","id":"s","result":{}}"#);
    out.clear();
    write_error(&mut out, Some(&1.into()), &ErrorObject::internal("x"));
    assert_eq!(
        out,
        br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x"}}"#
    );
}

#[test]
fn owned_messages_share_the_buffer() {
    let buffer: Arc<str> = r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"b"}}"#.into();
    let message = OwnedMessage::parse(&buffer, &Limits::default()).unwrap();
    let OwnedMessage::Request(_, _, Some(params)) = &message else {
        panic!()
    };
    assert_eq!(&**params, r#"{"a":"b"}"#);
    let inside = buffer.as_ptr() as usize..buffer.as_ptr() as usize + buffer.len();
    assert!(inside.contains(&(params.as_ptr() as usize)));
}

#[test]
fn null_beside_a_result_or_error_and_an_empty_params_array_count_as_absent() {
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    ] {
        let Message::Response(response) = single(text).unwrap() else {
            panic!("not a response");
        };
        assert_eq!(response.outcome, Ok("{}"));
    }
    let text = r#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-1,"message":"no"}}"#;
    let Message::Response(response) = single(text).unwrap() else {
        panic!("not a response");
    };
    assert_eq!(response.outcome.unwrap_err().message, "no");
    for params in ["[]", "[ ]", "null"] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{params}}}"#);
        let Message::Request(request) = single(&text).unwrap() else {
            panic!("not a request");
        };
        assert_eq!(request.params, None);
    }
}

#[test]
fn the_text_of_a_malformed_error_object_is_kept() {
    for (error, code, message) in [
        (r#"{"code":"-32000","message":"busy"}"#, -32000, "busy"),
        (r#"{"code":-32000.0,"message":"busy"}"#, -32000, "busy"),
        (r#"{"code":-32000}"#, -32000, "an error without a message"),
        (
            r#"{"code":-32000,"message":null}"#,
            -32000,
            "an error without a message",
        ),
        (r#"{"message":"busy"}"#, -32603, "busy"),
        (r#"{"code":1,"message":{"a":1}}"#, 1, r#"{"a":1}"#),
        (r#""busy""#, -32603, "busy"),
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#);
        let Message::Response(response) = single(&text).unwrap() else {
            panic!("not a response");
        };
        let found = response.outcome.unwrap_err();
        assert_eq!((found.code.0, &*found.message), (code, message), "{error}");
    }
    for error in ["{}", "1", "[]", r#"{"code":"x"}"#] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#);
        assert!(single(&text).is_err(), "{error}");
    }
}
