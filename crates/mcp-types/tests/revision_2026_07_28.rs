//! Properties of the types of 2026-07-28 beyond the round trip.

use mcp_types::v2026_07_28::{
    self as modern, CacheScope, CallToolOutcome, CallToolRequestParams, CallToolResult,
    ClientCapabilities, DiscoverResult, InputRequest, InputRequests, InputRequiredResult,
    InputResponse, ListToolsResult, RequestMeta, ResultType, SubscriptionFilter,
    SubscriptionsListenRequest, SubscriptionsListenResult,
};
use mcp_types::{
    CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, Direction, Implementation, LOG_LEVEL_KEY,
    LoggingLevel, Meta, PROGRESS_TOKEN_KEY, PROTOCOL_VERSION_KEY, Request, RequestId,
    SERVER_INFO_KEY, SUBSCRIPTION_ID_KEY, TextContent, method,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::support::{error_of, survives};

/// Returns where decoding fails, and why.
#[track_caller]
fn refusal<T: DeserializeOwned>(text: &str) -> (String, String) {
    match mcp_jsonrpc::decode::<T>(text) {
        Ok(_) => panic!("decoded: {text}"),
        Err(error) => (error.pointer().to_owned(), error.message().to_owned()),
    }
}

fn meta() -> RequestMeta {
    RequestMeta::new("2026-07-28", ClientCapabilities::new())
}

#[test]
fn a_result_of_an_unknown_kind_is_kept_unchanged() {
    for text in [
        r#"{"resultType":"task","taskId":"7","ttlMs":null}"#,
        r#"{"taskId":"7","resultType":"task"}"#,
    ] {
        let outcome: CallToolOutcome = serde_json::from_str(text).unwrap();
        let raw: Value = serde_json::from_str(text).unwrap();
        assert_eq!(outcome, CallToolOutcome::Unknown(raw));
        survives::<CallToolOutcome>(text);
    }
    let kind: ResultType = serde_json::from_str("\"task\"").unwrap();
    assert_eq!(kind, ResultType::Unknown("task".into()));
}

#[test]
fn the_result_type_selects_the_variant_at_any_position() {
    let complete = CallToolOutcome::from(CallToolResult::new(vec![TextContent::new("x").into()]));
    let content = r#""content":[{"type":"text","text":"x"}]"#;
    for text in [
        format!(r#"{{"resultType":"complete",{content}}}"#),
        format!(r#"{{{content},"resultType":"complete"}}"#),
        // Servers of older revisions do not send it.
        format!(r#"{{{content}}}"#),
    ] {
        let outcome: CallToolOutcome = serde_json::from_str(&text).unwrap();
        assert_eq!(outcome, complete, "{text}");
    }
    let asks: CallToolOutcome =
        serde_json::from_str(r#"{"requestState":"s","resultType":"input_required"}"#).unwrap();
    let expected = InputRequiredResult::new().with_request_state("s");
    assert_eq!(asks, CallToolOutcome::InputRequired(expected));
}

#[test]
fn a_result_type_that_the_method_does_not_allow_is_rejected() {
    let text = r#"{"tools":[],"ttlMs":0,"cacheScope":"public","resultType":"banana"}"#;
    let (pointer, message) = refusal::<ListToolsResult>(text);
    assert_eq!(pointer, "/resultType");
    assert_eq!(
        message,
        "invalid value: string \"banana\", expected `complete`"
    );
    let (pointer, message) = refusal::<CallToolOutcome>(r#"{"resultType":7,"content":[]}"#);
    assert_eq!(pointer, "/resultType");
    assert!(
        message.contains("`input_required`, `complete`"),
        "{message}"
    );
}

#[test]
fn every_result_has_its_type_first() {
    let complete = serde_json::to_string(&CallToolResult::new(vec![])).unwrap();
    assert_eq!(complete, r#"{"resultType":"complete","content":[]}"#);
    let empty = serde_json::to_string(&modern::EmptyResult::new()).unwrap();
    assert_eq!(empty, r#"{"resultType":"complete"}"#);
    let asks = serde_json::to_string(&InputRequiredResult::new()).unwrap();
    assert_eq!(asks, r#"{"resultType":"input_required"}"#);
}

#[test]
fn absent_null_and_empty_are_distinguished() {
    let absent = r#"{"resultType":"input_required"}"#;
    let empty = r#"{"resultType":"input_required","inputRequests":{}}"#;
    let [absent, empty] = [absent, empty].map(|text| {
        survives::<InputRequiredResult>(text);
        serde_json::from_str::<InputRequiredResult>(text).unwrap()
    });
    assert_eq!(absent.input_requests, None);
    assert_eq!(empty.input_requests, Some(InputRequests::new()));

    let null: CallToolResult =
        serde_json::from_str(r#"{"content":[],"structuredContent":null}"#).unwrap();
    assert_eq!(null.structured_content, Some(Value::Null));
    survives::<CallToolResult>(
        r#"{"resultType":"complete","content":[],"structuredContent":null}"#,
    );
    survives::<CallToolResult>(r#"{"resultType":"complete","content":[]}"#);

    let bare = InputRequest::ListRoots(None);
    assert_eq!(
        serde_json::to_string(&bare).unwrap(),
        r#"{"method":"roots/list"}"#
    );
    survives::<InputRequest>(r#"{"method":"roots/list","params":{}}"#);
}

#[test]
fn cache_hints_are_read_leniently_and_always_written() {
    let read = |hints: &str| -> ListToolsResult {
        serde_json::from_str(&format!(r#"{{"resultType":"complete","tools":[]{hints}}}"#)).unwrap()
    };
    let silent = read("");
    assert_eq!(silent.ttl_ms, 0);
    assert_eq!(silent.cache_scope, CacheScope::Private);
    assert_eq!(read(r#","ttlMs":-5"#).ttl_ms, 0);
    let foreign = read(r#","ttlMs":9,"cacheScope":"tenant""#);
    assert_eq!(foreign.cache_scope, CacheScope::Unknown("tenant".into()));
    let hinted = ListToolsResult::new(vec![], 0, CacheScope::Public);
    assert_eq!(
        serde_json::to_string(&hinted).unwrap(),
        r#"{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"public"}"#
    );
    let (pointer, message) = refusal::<ListToolsResult>(r#"{"tools":[],"ttlMs":"5"}"#);
    assert_eq!(
        (&*pointer, &*message),
        ("/ttlMs", "invalid type: string \"5\", expected an integer")
    );
}

#[test]
fn an_input_request_is_distinguished_by_its_method_at_any_position() {
    let text = r#"{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://a"}}"#;
    survives::<InputRequest>(text);
    let swapped = r#"{"params":{"mode":"url","message":"m","url":"https://a"},"method":"elicitation/create"}"#;
    let [first, second]: [InputRequest; 2] =
        [text, swapped].map(|text| serde_json::from_str(text).unwrap());
    assert_eq!(first, second);
    assert!(matches!(first, InputRequest::Elicit(_)));
    for unknown in [
        r#"{"method":"roots/grow","params":[1]}"#,
        r#"{"params":[1],"method":"roots/grow","x":null}"#,
    ] {
        survives::<InputRequest>(unknown);
        let question: InputRequest = serde_json::from_str(unknown).unwrap();
        assert!(matches!(question, InputRequest::Unknown(_)), "{unknown}");
    }
}

#[test]
fn an_input_request_without_required_members_is_rejected() {
    let missing = error_of::<InputRequest>(r#"{"method":"elicitation/create"}"#);
    assert!(missing.contains("missing field `params`"), "{missing}");
    let nameless = error_of::<InputRequest>(r#"{"params":{}}"#);
    assert!(nameless.contains("missing field `method`"), "{nameless}");
    let null = error_of::<InputRequest>(r#"{"method":"roots/list","params":null}"#);
    assert!(null.contains("invalid type: null"), "{null}");
    let text =
        r#"{"a":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":7}}}"#;
    let (pointer, _) = refusal::<InputRequests>(text);
    assert_eq!(pointer, "/a/params/url");
}

#[test]
fn an_input_response_is_distinguished_by_its_members() {
    let read = |text: &str| serde_json::from_str::<InputResponse>(text).unwrap();
    assert!(matches!(
        read(r#"{"action":"decline"}"#),
        InputResponse::Elicit(_)
    ));
    assert!(matches!(
        read(r#"{"roots":[]}"#),
        InputResponse::ListRoots(_)
    ));
    let said = r#"{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}"#;
    assert!(matches!(read(said), InputResponse::CreateMessage(_)));
    let other = r#"{"weather":"fine"}"#;
    assert_eq!(
        read(other),
        InputResponse::Unknown(json!({"weather": "fine"}))
    );
    let wrong = error_of::<InputResponse>(r#"{"action":5}"#);
    assert!(wrong.contains("expected a ElicitAction string"), "{wrong}");
}

#[test]
fn a_request_without_client_metadata_is_rejected_with_the_missing_key() {
    let (pointer, message) = refusal::<CallToolRequestParams>(r#"{"name":"t"}"#);
    assert_eq!((&*pointer, &*message), ("", "missing field `_meta`"));
    let (pointer, message) =
        refusal::<CallToolRequestParams>(r#"{"_meta":{"progressToken":1},"name":"t"}"#);
    assert_eq!(pointer, "/_meta");
    assert_eq!(message, format!("missing field `{PROTOCOL_VERSION_KEY}`"));
    let wrong = format!(r#"{{"_meta":{{"{PROTOCOL_VERSION_KEY}":20260728}},"name":"t"}}"#);
    let (pointer, _) = refusal::<CallToolRequestParams>(&wrong);
    assert_eq!(pointer, "/_meta/io.modelcontextprotocol~1protocolVersion");
}

#[test]
fn the_key_constants_match_the_serialized_request_metadata() {
    let meta = meta()
        .with_client_info(Implementation::new("c", "1"))
        .with_log_level(LoggingLevel::Info)
        .with_progress_token(7);
    let value = serde_json::to_value(meta).unwrap();
    let mut keys: Vec<&str> = value
        .as_object()
        .unwrap()
        .keys()
        .map(|key| &**key)
        .collect();
    let mut expected = [
        CLIENT_CAPABILITIES_KEY,
        CLIENT_INFO_KEY,
        LOG_LEVEL_KEY,
        PROGRESS_TOKEN_KEY,
        PROTOCOL_VERSION_KEY,
    ];
    keys.sort_unstable();
    expected.sort_unstable();
    assert_eq!(keys, expected);

    let end = format!(
        r#"{{"_meta":{{"{SUBSCRIPTION_ID_KEY}":"s","{SERVER_INFO_KEY}":{{"name":"n","version":"1"}},"x":1}},"resultType":"complete"}}"#
    );
    survives::<SubscriptionsListenResult>(&end);
    let end: SubscriptionsListenResult = serde_json::from_str(&end).unwrap();
    assert_eq!(end.meta.subscription_id, RequestId::from("s"));
    assert_eq!(end.meta.server_info, Some(Implementation::new("n", "1")));
    assert_eq!(end.meta.extra["x"], 1);
}

#[test]
fn the_subscription_and_server_in_untyped_metadata_are_read_by_their_keys() {
    let mut meta = Meta::new();
    assert_eq!((meta.subscription_id(), meta.server_info()), (None, None));
    meta.set_subscription_id(7);
    meta.set_server_info(&Implementation::new("n", "1"));
    assert_eq!(meta.subscription_id(), Some(RequestId::Number(7)));
    assert_eq!(meta.server_info(), Some(Implementation::new("n", "1")));
    assert_eq!(
        serde_json::to_value(&meta).unwrap(),
        json!({SUBSCRIPTION_ID_KEY: 7, SERVER_INFO_KEY: {"name": "n", "version": "1"}})
    );
    let odd = Meta::new().with(SUBSCRIPTION_ID_KEY, 1.5);
    assert_eq!(odd.subscription_id(), None);
}

#[test]
fn unknown_kinds_of_notification_stay_in_the_filter() {
    let text = r#"{"toolsListChanged":true,"taskIds":["7"]}"#;
    survives::<SubscriptionFilter>(text);
    let filter: SubscriptionFilter = serde_json::from_str(text).unwrap();
    assert_eq!(filter.tools_list_changed, Some(true));
    assert_eq!(filter.extra["taskIds"], json!(["7"]));
}

#[test]
fn members_that_a_revision_does_not_have_are_omitted() {
    let schema = json!({"type": "object"});
    let tool: mcp_types::Tool = serde_json::from_value(
        json!({"name": "t", "inputSchema": schema, "execution": {"taskSupport": "optional"}}),
    )
    .unwrap();
    let modern = modern::Tool::from(tool.clone());
    assert_eq!(
        serde_json::to_value(&modern).unwrap(),
        json!({"name": "t", "inputSchema": schema})
    );
    let back = mcp_types::Tool::from(modern);
    assert_eq!((back.execution, back.name), (None, tool.name));

    let result = mcp_types::CallToolResult::text("x").with_is_error(true);
    let modern = CallToolResult::from(result.clone());
    assert_eq!(mcp_types::CallToolResult::from(modern), result);

    let capabilities: mcp_types::ClientCapabilities = serde_json::from_value(
        json!({"roots": {"listChanged": true, "x": 1}, "tasks": {}, "extensions": {"a/b": {}}, "y": {}}),
    )
    .unwrap();
    assert_eq!(
        serde_json::to_value(ClientCapabilities::from(capabilities)).unwrap(),
        json!({"roots": {"x": 1}, "extensions": {"a/b": {}}, "y": {}})
    );
}

#[test]
fn methods_have_one_name_and_fixed_directions() {
    assert_eq!(
        SubscriptionsListenRequest::METHOD,
        method::SUBSCRIPTIONS_LISTEN
    );
    assert_eq!(method::SERVER_DISCOVER, "server/discover");
    let modern = modern::request_direction;
    assert_eq!(
        modern(method::SERVER_DISCOVER),
        Some(Direction::ClientToServer)
    );
    for gone in [
        method::INITIALIZE,
        method::PING,
        method::ELICITATION_CREATE,
        method::LOGGING_SET_LEVEL,
    ] {
        assert_eq!(modern(gone), None, "{gone}");
    }
    assert_eq!(mcp_types::request_direction(method::SERVER_DISCOVER), None);
    let modern = modern::notification_direction;
    assert_eq!(
        modern(method::NOTIFICATIONS_CANCELLED),
        Some(Direction::Both)
    );
    assert_eq!(
        modern(method::NOTIFICATIONS_PROGRESS),
        Some(Direction::ServerToClient)
    );
    assert_eq!(modern(method::NOTIFICATIONS_INITIALIZED), None);
}

#[test]
fn discovery_names_revisions_and_capabilities() {
    let text = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":60000,"cacheScope":"public"}"#;
    survives::<DiscoverResult>(text);
    let params = CallToolRequestParams::new("t", meta());
    assert_eq!(
        serde_json::to_value(params).unwrap(),
        json!({"name": "t", "_meta": {PROTOCOL_VERSION_KEY: "2026-07-28", CLIENT_CAPABILITIES_KEY: {}}})
    );
}
