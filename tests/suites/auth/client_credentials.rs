//! Programs that authenticate as themselves, with the client credentials extension.

use mcp_auth::OAuth;
use mcp_auth::client::{CLIENT_CREDENTIALS_EXTENSION, Credentials};
use mcp_tests::auth_server::{ROBOT_ID, ROBOT_SECRET};

use super::support::{ProtectedServer, said};
use crate::prelude::*;

// proves: M-EXT-012
#[tokio::test]
async fn a_program_declares_client_credentials_and_sends_its_token_each_time() {
    let world = ProtectedServer::start().await;
    let declared = Tool::new("declared", |cx: Ctx| {
        cx.require_extension(CLIENT_CREDENTIALS_EXTENSION)
            .map(|settings| settings.len().to_string())
    });
    world.server.tools().add([declared]).unwrap();
    let robot = Credentials::new(ROBOT_ID)
        .secret(ROBOT_SECRET)
        .issuer(world.auth.issuer());
    let auth = OAuth::client(&world.url)
        .credentials(robot)
        .client_credentials()
        .clock(world.auth.clock())
        .build()
        .unwrap();
    let http = HttpTransport::new(&world.url).unwrap().authorize(auth);
    let client = Client::builder("robot", "1")
        .extension(CLIENT_CREDENTIALS_EXTENSION, JsonObject::new())
        .connect(http)
        .await
        .unwrap();
    // The principal is read from the token of each request.
    for _ in 0..2 {
        assert_eq!(called(&client, "whoami", json!({})).await, ROBOT_ID);
    }
    assert_eq!(called(&client, "declared", json!({})).await, "0");
    let asked = world.auth.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0]["grant_type"], "client_credentials");
    assert_eq!(asked[0]["resource"], world.url);
    client.close().await.unwrap();
}

// proves: M-EXT-013
#[tokio::test]
async fn the_token_and_the_scopes_of_a_program_are_verified_for_each_request() {
    let world = ProtectedServer::start().await;
    let ask = async |token: &str, name: &str| world.stateless(token, 1, name).await;
    let mint = |scope: &str, resource: &str| world.auth.token(ROBOT_ID, ROBOT_ID, scope, resource);
    let good = mint("mcp", &world.url);
    assert_eq!(ask(&good, "whoami").await.said(), ROBOT_ID);
    let (signed, _) = good.rsplit_once('.').unwrap();
    let forged = format!("{signed}.{}", "A".repeat(86));
    for bad in [forged, mint("mcp", "https://elsewhere.example/mcp")] {
        assert_eq!(ask(&bad, "whoami").await.status, 401);
    }
    let refused = ask(&good, "write").await;
    assert_eq!(refused.status, 403);
    assert_eq!(said(&refused, "error"), Some("insufficient_scope"));
    assert_eq!(
        said(&ask(&mint("other", &world.url), "whoami").await, "error"),
        Some("insufficient_scope")
    );
    assert_eq!(ask(&good, "whoami").await.said(), ROBOT_ID);
    assert_eq!(world.done.runs(), 2);
}
