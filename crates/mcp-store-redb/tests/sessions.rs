//! The sessions through their public interface.

#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};

use mcp_protocol::Revision;
use mcp_protocol::task::{Task, TaskCall, TaskStore as _, Timestamp};
use mcp_store_redb::{RedbOptions, RedbStore};
use mcp_transport_http::testing::session_store_contract;
use mcp_transport_http::{
    EndpointId, SessionId, SessionLease, SessionRecord, SessionStore as _, SessionStoreErrorKind,
};

const NOW: Timestamp = Timestamp::from_millis(1_000);
const LATER: Timestamp = Timestamp::from_millis(2_000);
const BLUE: EndpointId = EndpointId::from_bytes([1; 16]);
const GREEN: EndpointId = EndpointId::from_bytes([2; 16]);

/// A folder that is removed after the test.
struct TempFolder(PathBuf);

impl TempFolder {
    fn new(name: &str) -> Self {
        let name = format!("sessions-{}-{name}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join("store")
    }

    fn open(&self) -> RedbStore {
        RedbStore::open(self.file()).unwrap()
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn record(uri: &str) -> SessionRecord {
    let json = format!(
        r#"{{"format":1,"created":5,"event_tag":7,
        "state":{{"revision":"2025-11-25","subscriptions":["{uri}"],"is_open":true}}}}"#
    );
    SessionRecord::decode(json.as_bytes()).unwrap()
}

fn lease(number: u8) -> SessionLease {
    SessionLease::first(SessionId::from_bytes([number; 32]), BLUE)
}

#[tokio::test]
async fn the_store_fulfils_the_contract_of_session_stores() {
    let folder = TempFolder::new("contract");
    let options = RedbOptions::new()
        .with_max_sessions(20)
        .with_max_session_bytes(1 << 20);
    let store = RedbStore::open_with(folder.file(), options).unwrap();
    session_store_contract(&store.session_store())
        .await
        .unwrap();
}

#[tokio::test]
async fn sessions_survive_a_restart_beside_the_tasks() {
    let folder = TempFolder::new("restart");
    let tasks = folder.open().task_store();
    let call = TaskCall::new("m", "t", mcp_jsonrpc::RawJson::copy("{}"), Revision::LATEST);
    let task = Task::new("task", None, call, NOW, None);
    tasks.create(task.clone()).await.unwrap();
    // The file was used without sessions before.
    drop(tasks);
    let sessions = folder.open().session_store();
    let first = record("a:1");
    let created = sessions.create(lease(1), first.clone(), LATER, NOW).await;
    created.unwrap();
    drop(sessions);

    let store = folder.open();
    let (tasks, sessions) = (store.task_store(), store.session_store());
    assert_eq!(tasks.get("task").await.unwrap(), Some(task));
    let id = lease(1).session;
    assert_eq!(sessions.load(id, NOW).await.unwrap(), Some(first.clone()));
    sessions.renew(lease(1), LATER, NOW).await.unwrap();
    let claimed = sessions.claim(id, GREEN, NOW).await.unwrap();
    assert_eq!(claimed, Some((lease(1).next(GREEN), first)));
    // The file stays open as long as one of the stores exists.
    drop((store, tasks));
    let lost = sessions.renew(lease(1), LATER, NOW).await.unwrap_err();
    assert_eq!(lost.kind(), SessionStoreErrorKind::LeaseLost);
}

#[tokio::test]
async fn sessions_have_separate_limits() {
    let folder = TempFolder::new("limits");
    let size = record("a:1").encode().unwrap().len();
    let options = RedbOptions::new()
        .with_max_tasks(0)
        .with_max_sessions(2)
        .with_max_session_bytes(2 * size + 1);
    let store = RedbStore::open_with(folder.file(), options).unwrap();
    let sessions = store.session_store();
    let full = SessionStoreErrorKind::Full;
    let long = sessions.create(lease(1), record(&"x".repeat(2 * size)), LATER, NOW);
    assert_eq!(long.await.unwrap_err().kind(), full);
    for number in [1, 2] {
        let created = sessions.create(lease(number), record("a:1"), LATER, NOW);
        created.await.unwrap();
    }
    let third = sessions.create(lease(3), record("a:1"), LATER, NOW).await;
    assert_eq!(third.unwrap_err().kind(), full);
    let grown = sessions.update(lease(1), record("a:123"), LATER, NOW).await;
    assert_eq!(grown.unwrap_err().kind(), full);
    let updated = sessions.update(lease(1), record("a:12"), LATER, NOW).await;
    updated.unwrap();
    // Expired sessions make room.
    let third = sessions.create(lease(3), record("a:1"), Timestamp::MAX, LATER);
    third.await.unwrap();
    assert_eq!(sessions.load(lease(1).session, NOW).await.unwrap(), None);
}
