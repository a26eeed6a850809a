//! Tests of servers without HTTP: a client in memory that is signed in.

use mcp_auth::server::{Auth, Identity};
use mcp_server::testing::{TestClient, block_on};
use mcp_server::{ErrorObject, HandlerError, Revision, Server, tool};
use serde_json::json;

#[tool]
fn whoami(auth: Auth) -> String {
    let identity = auth.identity().expect("a verified caller");
    format!("{} of {}", identity.subject(), identity.issuer())
}

#[tool(scope = "notes:write")]
fn create(auth: Auth) -> Result<&'static str, HandlerError> {
    auth.require("notes:write")?;
    Ok("created")
}

#[test]
fn a_test_client_signs_in_with_an_identity_and_its_scopes() {
    for revision in [Revision::LATEST, Revision::LATEST_WITH_SESSIONS] {
        let server = Server::builder("notes", "1")
            .tools([whoami::tool(), create::tool()])
            .build();
        let server = server.expect("a valid server");
        let call = |scopes: &str, name: &str| -> Result<String, ErrorObject> {
            let identity = Identity::new("https://issuer", "ada").with_scopes(scopes);
            let client = TestClient::at(revision, server.clone()).signed_in(identity);
            block_on(client.call_tool(name, json!({}))).map(|result| result.joined_text())
        };
        assert_eq!(
            call("", "whoami").expect("no scope is needed"),
            "ada of https://issuer"
        );
        assert_eq!(
            call("notes:write", "create").expect("the scope is granted"),
            "created"
        );
        let error = call("notes:read", "create").expect_err("the scope is missing");
        assert!(error.message.contains("notes:write"), "{error}");
        assert_eq!(
            error.data,
            Some(json!({ "requiredScopes": ["notes:write"] }))
        );
    }
}
