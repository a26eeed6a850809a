//! Requests of the test client at every revision.

use super::*;
use crate::{Ctx, HandlerError, Server, Tool};

fn server() -> crate::ServerBuilder {
    let greet = Tool::new("greet", async |cx: Ctx| {
        cx.progress(1.0, 2.0);
        let roots = cx.roots().await?;
        Ok::<_, HandlerError>(format!("{} roots", roots.len()))
    });
    Server::builder("s", "1").tool(greet)
}

#[test]
fn a_server_request_is_answered_at_every_revision() {
    for revision in Revision::ALL {
        let client =
            TestClient::at(revision, server()).answer(json!({ "roots": {} }), |method, _| {
                assert_eq!(method, method::ROOTS_LIST);
                Ok(json!({ "roots": [{ "uri": "file:///a" }] }))
            });
        let said = block_on(client.call_tool("greet", json!({}))).unwrap();
        assert_eq!(said.joined_text(), "1 roots", "{revision}");
    }
}

#[test]
fn a_progress_token_is_sent_at_every_revision() {
    for revision in Revision::ALL {
        let client = TestClient::at(
            revision,
            Server::builder("s", "1").tool(Tool::new("pour", |cx: Ctx| {
                cx.progress(1.0, 2.0);
            })),
        );
        let params = json!({ "name": "pour", "_meta": { "progressToken": "p" } });
        block_on(client.request(method::TOOLS_CALL, params)).unwrap();
        let [(name, params)] = client.notifications().try_into().unwrap();
        assert_eq!(name, method::NOTIFICATIONS_PROGRESS, "{revision}");
        assert_eq!(params["progressToken"], "p", "{revision}");
    }
}

#[test]
#[should_panic(expected = "differs from 2026-07-28")]
fn a_test_fails_if_revisions_give_different_results() {
    block_on(on_every_revision(server, async |client| client.revision()));
}
