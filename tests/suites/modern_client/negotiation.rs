//! Each line of the table of probe outcomes, over a pipe.

use mcp_client::KnownVersion;
use tokio::time::Instant;

use super::{REVISION, claims, client, closed, discovered, unsupported, welcome};
use crate::peer::listing;
use crate::prelude::*;
use crate::scripted::started;

type Connecting = JoinHandle<Result<Client, Error>>;

/// A client that has just sent the probe.
async fn probing(builder: ClientBuilder) -> (PipeEnd, Connecting, Value) {
    let (mut wire, transport) = PipeEnd::server();
    let connecting = tokio::spawn(builder.connect(transport));
    let probe = wire.next("server/discover").await;
    (wire, connecting, probe)
}

/// Answers the handshake that must follow, with `revision`.
async fn shakes_hands(
    mut wire: PipeEnd,
    connecting: Connecting,
    revision: &str,
) -> (PipeEnd, Client) {
    let request = wire.next("initialize").await;
    assert_eq!(request["params"]["protocolVersion"], revision);
    assert_eq!(request["params"]["_meta"], Value::Null);
    let server = json!({ "name": "old", "version": "0" });
    let result = json!({ "protocolVersion": revision, "capabilities": {}, "serverInfo": server });
    wire.answer(&request, result).await;
    wire.next("notifications/initialized").await;
    let client = connecting.await.unwrap().unwrap();
    assert!(!client.revision().is_stateless());
    assert_eq!(client.revision().as_str(), revision);
    assert_eq!(client.server_info().name, "old");
    (wire, client)
}

/// The reason why connecting failed.
async fn error(connecting: Connecting) -> Error {
    match connecting.await.unwrap().unwrap_err() {
        Error::Connect { cause, .. } => *cause,
        other => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_sends_no_message_fails_the_connection_with_its_output() {
    let (mut wire, transport) = PipeEnd::server();
    let limit = Duration::from_secs(7);
    let connecting = tokio::spawn(client().connect_timeout(limit).connect(transport));
    let started = Instant::now();
    wire.next("server/discover").await;
    wire.raw("hello").await;
    let error = connecting.await.unwrap().unwrap_err();
    assert_eq!(started.elapsed(), limit);
    assert!(error.is_timeout());
    assert_eq!(
        error.to_string(),
        "cannot connect: no response to connect within 7 s (ClientBuilder::connect_timeout); 1 line(s) on \
         the server's stdout were not messages, the first: hello; server/discover failed before: no \
         response to server/discover within 5 s (ClientBuilder::probe_timeout)"
    );
}

// proves: M-META-001, M-META-002, M-META-003, M-META-006, M-VER-001, M-DISC-002, M-DISC-008
// proves: M-DISC-011, M-STDIO-021, M-STDIO-022, M-EXT-003
#[tokio::test(start_paused = true)]
async fn a_stateless_server_is_probed_first_and_never_initialized() {
    let (mut wire, connecting, probe) = probing(client()).await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientInfo": { "name": "host", "version": "0.1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    assert_eq!(probe["params"], json!({ "_meta": meta }));
    let versions = ["2099-01-01", REVISION, "2025-11-25"];
    let result = discovered(&versions, json!({ "tools": {} }));
    wire.answer(&probe, result).await;
    let client = connecting.await.unwrap().unwrap();
    assert_eq!(client.server_info().name, "scripted");
    assert_eq!(client.instructions(), Some("Be kind."));
    assert!(client.capabilities().tools.is_some());
    assert_eq!(
        client.known_version(),
        KnownVersion::of(Revision::V2026_07_28)
    );

    let listing = listing(&client);
    let request = wire.next("tools/list").await;
    claims(&request);
    wire.answer(&request, json!({ "tools": [] })).await;
    assert_eq!(listing.await.unwrap().unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn a_server_without_identity_is_unknown() {
    let (mut wire, connecting, probe) = probing(client()).await;
    let result = json!({ "supportedVersions": [REVISION], "capabilities": {} });
    wire.answer(&probe, result).await;
    let client = connecting.await.unwrap().unwrap();
    assert_eq!(client.server_info().name, "unknown");
}

// proves: M-VER-011, M-VER-016, M-STDIO-024, M-STDIO-025
#[tokio::test(start_paused = true)]
async fn an_error_that_does_not_prove_the_stateless_revision_leads_to_a_handshake() {
    for code in [-32601, -32602, -32600, -32000, -32001, -32603, -1] {
        let (mut wire, connecting, probe) = probing(client()).await;
        wire.refuse(&probe, code, "not that").await;
        shakes_hands(wire, connecting, "2025-11-25").await;
    }
    // This is not a valid response either.
    let (mut wire, connecting, probe) = probing(client()).await;
    wire.answer(&probe, json!({ "ok": true })).await;
    shakes_hands(wire, connecting, "2025-11-25").await;
}

#[tokio::test(start_paused = true)]
async fn a_server_with_only_older_revisions_is_used_at_its_newest_revision() {
    let (mut wire, connecting, probe) = probing(client()).await;
    let versions = ["2024-11-05", "2025-06-18"];
    wire.answer(&probe, discovered(&versions, json!({}))).await;
    shakes_hands(wire, connecting, "2025-06-18").await;
}

// proves: M-VER-004, M-VER-010, M-STDIO-023
#[tokio::test(start_paused = true)]
async fn a_rejected_revision_that_the_server_lists_is_tried_once_more() {
    let (mut wire, connecting, probe) = probing(client()).await;
    unsupported(&mut wire, &probe, &["2099-01-01", REVISION]).await;
    assert_ne!(welcome(&mut wire, json!({})).await["id"], probe["id"]);
    connecting.await.unwrap().unwrap();

    let (mut wire, connecting, probe) = probing(client()).await;
    unsupported(&mut wire, &probe, &[REVISION]).await;
    let again = wire.recv_patiently().await;
    unsupported(&mut wire, &again, &[REVISION]).await;
    assert!(matches!(error(connecting).await, Error::Rejected(_)));
    wire.ended().await;
}

// proves: M-VER-023
#[tokio::test(start_paused = true)]
async fn an_error_that_lists_only_old_versions_leads_to_a_handshake() {
    let (mut wire, connecting, probe) = probing(client()).await;
    unsupported(&mut wire, &probe, &["2025-06-18"]).await;
    shakes_hands(wire, connecting, "2025-06-18").await;

    for (builder, versions) in [
        (client().negotiation(Negotiation::Stateless), ["2025-06-18"]),
        (client(), ["2099-01-01"]),
    ] {
        let (mut wire, connecting, probe) = probing(builder).await;
        unsupported(&mut wire, &probe, &versions).await;
        let error = error(connecting).await;
        assert!(matches!(error, Error::Revision { .. }), "{error}");
        assert!(error.to_string().contains(versions[0]), "{error}");
        wire.ended().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_rejection_by_a_stateless_server_is_final() {
    for code in [-32020, -32021] {
        let (mut wire, connecting, probe) = probing(client()).await;
        wire.refuse(&probe, code, "stateless").await;
        assert_eq!(error(connecting).await.rejection().unwrap().code.0, code);
        wire.ended().await;
    }
}

// proves: M-STDIO-024
#[tokio::test(start_paused = true)]
async fn a_probe_without_response_leads_to_a_handshake_after_its_timeout() {
    let began = Instant::now();
    let (wire, connecting, _probe) = probing(client()).await;
    shakes_hands(wire, connecting, "2025-11-25").await;
    assert_eq!(began.elapsed().as_secs(), 5);

    let began = Instant::now();
    let patient = client().probe_timeout(Duration::from_secs(8));
    let (mut wire, connecting, probe) = probing(patient).await;
    let (request, _) = tokio::join!(wire.recv_patiently(), async {});
    assert_eq!(request["method"], "initialize");
    assert_eq!(began.elapsed().as_secs(), 8);
    // The response arrives too late.
    wire.answer(&probe, discovered(&[REVISION], json!({})))
        .await;
    wire.refuse(&request, -32000, "busy").await;
    assert!(matches!(error(connecting).await, Error::Rejected(_)));
}

// proves: M-VER-015, M-STDIO-026
#[tokio::test(start_paused = true)]
async fn a_stateless_only_client_reports_an_older_server() {
    let stateless = || client().negotiation(Negotiation::Stateless);
    let (mut wire, connecting, probe) = probing(stateless()).await;
    wire.refuse(&probe, -32601, "method not found").await;
    let refused = error(connecting).await;
    assert!(matches!(refused, Error::Revision { .. }), "{refused}");
    wire.ended().await;

    let (mut wire, connecting, _probe) = probing(stateless()).await;
    let silent = error(connecting).await;
    assert!(silent.to_string().contains("connect_timeout"), "{silent}");
    wire.ended().await;

    // A server that is installed first responds late, and there is no handshake to try instead.
    let began = Instant::now();
    let (mut wire, connecting, probe) = probing(stateless()).await;
    tokio::time::advance(Duration::from_secs(20)).await;
    wire.answer(&probe, discovered(&[REVISION], json!({})))
        .await;
    let client = connecting.await.unwrap().unwrap();
    assert_eq!(client.revision().as_str(), REVISION);
    assert_eq!(began.elapsed().as_secs(), 20);

    let none = stateless().revision(Revision::V2025_11_25);
    let (_wire, transport) = PipeEnd::server();
    assert_fails!(none.connect(transport).await, Error::Invalid { .. });
}

// proves: M-STDIO-027
#[tokio::test(start_paused = true)]
async fn a_server_that_exits_after_the_probe_is_reconnected() {
    let (transport, mut starts) = started();
    let connecting = tokio::spawn(client().connect(transport));
    let mut first = starts.next().await;
    first.next("server/discover").await;
    drop(first);
    let second = starts.next().await;
    let (_wire, client) = shakes_hands(second, connecting, "2025-11-25").await;
    drop(client);

    // A transport that cannot reconnect reports what to do.
    let (wire, connecting, _probe) = probing(super::client()).await;
    drop(wire);
    let error = error(connecting).await;
    assert!(error.is_closed(), "{error}");
    assert!(
        error.to_string().contains("Negotiation::SessionBased"),
        "{error}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_that_exits_after_the_probe_is_started_again() {
    let info = r#"{"name":"sh","version":"0"}"#;
    let script = format!(
        r#"read -r line; case "$line" in *server/discover*) exit 3;; esac
        printf '{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"2025-11-25",%s}}}}\n' \
            '"capabilities":{{}},"serverInfo":{info}'
        cat > /dev/null"#
    );
    let child = mcp_transport_stdio::ChildProcess::new("sh").args(["-c", &script]);
    let client = client().connect(child).await.unwrap();
    assert_eq!(client.server_info().name, "sh");
    assert!(!client.revision().is_stateless());
    client.close().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_exits_at_the_handshake_after_a_probe_is_started_again() {
    for answers_probe in [true, false] {
        let (transport, mut starts) = started();
        let connecting = tokio::spawn(client().connect(transport));
        let mut wire = starts.next().await;
        let probe = wire.next("server/discover").await;
        if answers_probe {
            wire.refuse(&probe, -32602, "invalid request").await;
        }
        wire.next("initialize").await;
        drop(wire);
        // The handshake is the first message of the new process.
        shakes_hands(starts.next().await, connecting, "2025-11-25").await;
    }
    // Once.
    let (transport, mut starts) = started();
    let connecting = tokio::spawn(client().connect(transport));
    let mut wire = starts.next().await;
    wire.next("server/discover").await;
    wire.next("initialize").await;
    drop(wire);
    let mut wire = starts.next().await;
    wire.next("initialize").await;
    drop(wire);
    let error = connecting.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("server/discover failed before"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn malformed_optional_members_do_not_hide_a_stateless_server() {
    for (name, value) in [
        ("ttlMs", json!(null)),
        ("ttlMs", json!("5")),
        ("ttlMs", json!(1.5)),
        ("cacheScope", json!(null)),
        ("resultType", json!(null)),
        ("instructions", json!(null)),
    ] {
        let mut result = discovered(&[REVISION], json!({}));
        result[name] = value;
        let (mut wire, connecting, probe) = probing(client()).await;
        wire.answer(&probe, result).await;
        let client = connecting.await.unwrap().unwrap();
        assert!(client.revision().is_stateless(), "{name}");
    }
    let mut result = discovered(&[REVISION], json!({}));
    result["supportedVersions"] = json!([3]);
    let (mut wire, connecting, probe) = probing(client()).await;
    wire.answer(&probe, result).await;
    let error = error(connecting).await.to_string();
    assert!(error.contains("server/discover"), "{error}");
    assert!(error.contains("supportedVersions"), "{error}");
}

// proves: M-VER-010
#[tokio::test(start_paused = true)]
async fn a_slow_stateless_server_that_rejects_the_handshake_is_probed_again() {
    let (mut wire, connecting, _probe) = probing(client()).await;
    let request = wire.next("initialize").await;
    unsupported(&mut wire, &request, &[REVISION]).await;
    welcome(&mut wire, json!({})).await;
    let client = connecting.await.unwrap().unwrap();
    assert!(client.revision().is_stateless());

    // The wait is limited.
    let (mut wire, connecting, _probe) = probing(super::client()).await;
    for method in ["initialize", "server/discover", "initialize"] {
        let request = wire.next(method).await;
        if method == "initialize" {
            unsupported(&mut wire, &request, &[REVISION]).await;
        }
    }
    assert!(matches!(error(connecting).await, Error::Rejected(_)));
}

// proves: M-VER-012, M-VER-013
#[tokio::test(start_paused = true)]
async fn a_known_version_is_used_without_a_probe_until_it_is_outdated() {
    let prior = |revision| client().negotiation(Negotiation::Prior(KnownVersion::of(revision)));
    let session_based = || prior(Revision::V2025_06_18);
    let (wire, transport) = PipeEnd::server();
    let connecting = tokio::spawn(session_based().connect(transport));
    shakes_hands(wire, connecting, "2025-06-18").await;

    // The server was replaced by a stateless one.
    let (mut wire, transport) = PipeEnd::server();
    let connecting = tokio::spawn(session_based().connect(transport));
    let request = wire.recv_patiently().await;
    wire.refuse(&request, -32601, "method not found").await;
    welcome(&mut wire, json!({})).await;
    let client = connecting.await.unwrap().unwrap();
    assert!(client.revision().is_stateless());

    // A slow stateless server is not a session-based server.
    let stateless = || prior(Revision::V2026_07_28);
    let (mut wire, connecting, _probe) = probing(stateless()).await;
    assert!(error(connecting).await.is_timeout());
    wire.ended().await;
    // A server that does not know the probe is.
    let (mut wire, connecting, probe) = probing(stateless()).await;
    wire.refuse(&probe, -32601, "method not found").await;
    shakes_hands(wire, connecting, "2025-11-25").await;
}

#[tokio::test(start_paused = true)]
async fn an_old_revision_or_a_setting_skips_the_probe() {
    for (builder, offer) in [
        (
            client().negotiation(Negotiation::SessionBased),
            "2025-11-25",
        ),
        (client().revision(Revision::V2025_03_26), "2025-03-26"),
    ] {
        let (wire, transport) = PipeEnd::server();
        let connecting = tokio::spawn(builder.connect(transport));
        shakes_hands(wire, connecting, offer).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_stateless_connection_never_becomes_session_based() {
    let (mut wire, client) = super::connected(client(), json!({ "tools": {} })).await;
    for code in [-32601, -32602, -32000] {
        let client = client.clone();
        let listing = listing(&client);
        let request = wire.recv_patiently().await;
        wire.refuse(&request, code, "no").await;
        assert_eq!(refused(listing.await.unwrap()).code.0, code);
    }
    let listing = listing(&client);
    let request = wire.recv_patiently().await;
    unsupported(&mut wire, &request, &["2025-11-25"]).await;
    assert!(listing.await.unwrap().is_err());
    assert!(client.revision().is_stateless());
    closed(client, wire).await;
}

#[tokio::test]
async fn a_server_of_all_revisions_is_used_on_the_stateless_revision() {
    let server = || Server::builder("both", "1.2.3").tool(Tool::new("hello", || "hello"));
    for (builder, is_stateless) in [
        (client(), true),
        (client().negotiation(Negotiation::Stateless), true),
        (client().negotiation(Negotiation::SessionBased), false),
    ] {
        let client = connect(builder, server()).await.unwrap();
        assert_eq!(client.revision().is_stateless(), is_stateless);
        assert_eq!(client.server_info().version, "1.2.3");
        assert_eq!(client.list_tools().await.unwrap().len(), 1);
        assert_eq!(called(&client, "hello", json!({})).await, "hello");
        client.ping().await.unwrap();
        client.close().await.unwrap();
    }
}
