//! Methods, markers and directions.

use mcp_types::{
    CallToolRequest, CallToolResult, CancelledNotification, Direction, GetTaskPayloadRequest,
    ListToolsRequest, Notification, PingRequest, Request, method, notification_direction,
    request_direction,
};

fn answer<R: Request>(params: &R::Params, answer: &str) -> (String, R::Result) {
    (
        serde_json::to_string(params).unwrap(),
        serde_json::from_str(answer).unwrap(),
    )
}

#[test]
fn a_method_marker_has_the_name_the_params_and_the_result_of_its_method() {
    let params = mcp_types::CallToolRequestParams::new("t");
    let (sent, result): (_, CallToolResult) =
        answer::<CallToolRequest>(&params, r#"{"content":[]}"#);
    assert_eq!(sent, r#"{"name":"t"}"#);
    assert_eq!(result, CallToolResult::new(vec![]));
    assert_eq!(CallToolRequest::METHOD, "tools/call");
    assert_eq!(
        CancelledNotification::METHOD,
        method::NOTIFICATIONS_CANCELLED
    );
}

#[test]
fn params_are_optional_only_where_the_schema_allows_their_absence() {
    let optional = [
        PingRequest::PARAMS_OPTIONAL,
        ListToolsRequest::PARAMS_OPTIONAL,
    ];
    let required = [
        CallToolRequest::PARAMS_OPTIONAL,
        GetTaskPayloadRequest::PARAMS_OPTIONAL,
        CancelledNotification::PARAMS_OPTIONAL,
    ];
    assert_eq!((optional, required), ([true; 2], [false; 3]));
}

#[test]
fn directions_follow_the_unions_of_the_schema() {
    assert_eq!(
        request_direction(method::TOOLS_CALL),
        Some(Direction::ClientToServer)
    );
    assert_eq!(
        request_direction(method::SAMPLING_CREATE_MESSAGE),
        Some(Direction::ServerToClient)
    );
    assert_eq!(request_direction(method::PING), Some(Direction::Both));
    assert_eq!(request_direction(method::NOTIFICATIONS_PROGRESS), None);
    assert_eq!(
        notification_direction(method::NOTIFICATIONS_PROGRESS),
        Some(Direction::Both)
    );
    assert_eq!(
        notification_direction(method::NOTIFICATIONS_INITIALIZED),
        Some(Direction::ClientToServer)
    );
    assert_eq!(
        notification_direction(method::NOTIFICATIONS_MESSAGE),
        Some(Direction::ServerToClient)
    );
    assert_eq!(request_direction("Tools/Call"), None);
}
