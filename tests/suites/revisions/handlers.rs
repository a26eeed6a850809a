//! Every tool of the everything-server that requests input, on every revision, over a pipe and over
//! HTTP.

use mcp_server::ServerBuilder;
use std::collections::BTreeMap;

use mcp_transport_http::serve_with;

use super::client;
use crate::prelude::*;

/// The oldest revisions with sampling and roots, with forms, and with URLs and all fields of forms.
const SAMPLING: Revision = Revision::V2024_11_05;
const FORMS: Revision = Revision::V2025_06_18;
const URLS: Revision = Revision::V2025_11_25;

/// The tools that request input, and the oldest revision with the same requests.
pub(super) const ASKING: &[(&str, Revision)] = &[
    ("test_input_required_result_sampling", SAMPLING),
    ("test_input_required_result_list_roots", SAMPLING),
    ("test_list_roots", SAMPLING),
    ("test_sampling", SAMPLING),
    ("test_missing_capability", SAMPLING),
    ("test_input_required_result_capabilities", SAMPLING),
    ("test_input_required_result_elicitation", FORMS),
    ("test_input_required_result_request_state", FORMS),
    ("test_input_required_result_tampered_state", FORMS),
    ("test_input_required_result_multiple_inputs", FORMS),
    ("test_input_required_result_multi_round", FORMS),
    ("test_streaming_elicitation", FORMS),
    ("test_elicitation", FORMS),
    ("test_elicitation_url", URLS),
    ("test_elicitation_sep1034_defaults", URLS),
    ("test_elicitation_sep1330_enums", URLS),
];

/// Requests input between two side effects.
fn counting(effects: &Arc<AtomicUsize>) -> Tool {
    #[derive(Deserialize, JsonSchema)]
    struct Confirm {
        ok: bool,
    }
    let effects = Arc::clone(effects);
    Tool::new("counting", move |cx: Ctx| {
        let effects = Arc::clone(&effects);
        async move {
            let first = cx
                .memoize("first", async {
                    effects.fetch_add(1, Ordering::SeqCst) + 1
                })
                .await?;
            let answer = cx
                .elicit::<Confirm>(format!("After step {first}, go on?"))
                .await?;
            let ok = answer.accepted().is_some_and(|it| it.ok);
            let second = effects.fetch_add(1, Ordering::SeqCst) + 1;
            Ok::<_, HandlerError>(format!("{first} {ok} {second}"))
        }
    })
}

fn server(effects: &Arc<AtomicUsize>) -> ServerBuilder {
    everything::server().tool(counting(effects))
}

/// Returns the output of each tool.
async fn say(client: &Client, revision: Revision) -> BTreeMap<&'static str, Value> {
    let mut said = BTreeMap::new();
    for &(tool, oldest) in ASKING {
        let arguments = match tool {
            "test_sampling" => json!({ "prompt": "Hi" }),
            "test_elicitation" => json!({ "message": "Who?" }),
            _ => json!({}),
        };
        if revision >= oldest {
            let result = client.call_tool(tool, arguments).await;
            let result = result.unwrap_or_else(|error| panic!("{tool} at {revision}: {error}"));
            let mut result = serde_json::to_value(result).expect("JSON");
            // Every result of the stateless revision contains the identity of the server.
            result
                .as_object_mut()
                .expect("an object")
                .shift_remove("_meta");
            said.insert(tool, result);
        }
    }
    said
}

async fn check(
    client: Client,
    revision: Revision,
    effects: &AtomicUsize,
    said: &mut BTreeMap<&'static str, Value>,
) {
    for (tool, result) in say(&client, revision).await {
        let first = said.entry(tool).or_insert_with(|| result.clone());
        assert_eq!(&result, first, "{tool} at {revision}");
    }
    if revision >= Revision::V2025_06_18 {
        effects.store(0, Ordering::SeqCst);
        assert_eq!(
            called(&client, "counting", json!({})).await,
            "1 true 2",
            "{revision}"
        );
        assert_eq!(
            effects.load(Ordering::SeqCst),
            2,
            "each side effect once, at {revision}"
        );
    }
    client.close().await.expect("the end");
}

// proves: M-MRTR-001
#[tokio::test]
async fn tools_with_input_requests_behave_the_same_on_every_revision_over_a_pipe() {
    let effects = Arc::default();
    let mut said = BTreeMap::new();
    for revision in Revision::ALL.into_iter().rev() {
        let transport = mcp_transport_stdio::in_memory(server(&effects));
        let client = client(revision).connect(transport).await.unwrap();
        check(client, revision, &effects, &mut said).await;
    }
    assert_eq!(said.len(), ASKING.len());
}

// proves: M-MRTR-001, M-VER-020
#[tokio::test]
async fn tools_with_input_requests_behave_the_same_on_every_revision_over_http() {
    let effects = Arc::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let endpoint = Endpoint::new(server(&effects)).expect("an endpoint");
    let serving = tokio::spawn(serve_with(listener, endpoint, std::future::pending::<()>()));
    let mut said = BTreeMap::new();
    for revision in Revision::ALL.into_iter().rev() {
        if revision == Revision::V2024_11_05 {
            // It has another transport with separate suites.
            continue;
        }
        let client = client(revision)
            .connect(HttpTransport::new(&url).expect("a URL"))
            .await
            .unwrap();
        check(client, revision, &effects, &mut said).await;
    }
    assert_eq!(said.len(), ASKING.len());
    serving.abort();
}
