//! The store through its public interface.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_jsonrpc::RawJson;
use mcp_protocol::task::{
    Task, TaskCall, TaskOutcome, TaskStore, TaskStoreError, Timestamp, contract,
};
use mcp_protocol::{Principal, Revision};
use mcp_store_redb::{OpenError, RedbOptions, RedbStore, RedbTaskStore};
use tokio::task::JoinSet;

const START: Timestamp = Timestamp::from_millis(1_000_000);
const MINUTE: Duration = Duration::from_secs(60);

/// A separate file for each test, removed on drop.
struct TempFile(PathBuf);

impl TempFile {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{process}-{count}"));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn open(&self) -> RedbStore {
        RedbStore::open(self.file("tasks")).unwrap()
    }

    fn store(&self) -> RedbTaskStore {
        self.open().task_store()
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn task(id: &str, owner: Option<&str>, arguments: &str) -> Task {
    let call = TaskCall::new("any", "target", RawJson::copy(arguments), Revision::LATEST);
    Task::new(id, owner.map(Principal::new), call, START, Some(MINUTE))
}

fn ended(mut task: Task) -> Task {
    let outcome = TaskOutcome::of_result(RawJson::copy(r#"{"content":[]}"#));
    task.end(outcome, START).unwrap();
    task
}

fn ids(tasks: &[Task]) -> Vec<&str> {
    tasks.iter().map(Task::id).collect()
}

#[tokio::test]
async fn the_store_fulfils_the_contract_of_task_stores() {
    let place = TempFile::new();
    let made = AtomicUsize::new(0);
    let fresh = || {
        let name = made.fetch_add(1, Ordering::Relaxed).to_string();
        RedbStore::open(place.file(&name)).unwrap().task_store()
    };
    assert_eq!(contract::check(fresh).await, Ok(()));
}

#[tokio::test]
async fn tasks_persist_after_closing() {
    let place = TempFile::new();
    let store = place.store();
    let ann = Principal::new("ann");
    store.create(task("a", Some("ann"), "{}")).await.unwrap();
    store.create(task("b", None, "{}")).await.unwrap();
    let done = store
        .put(ended(task("a", Some("ann"), "{}")))
        .await
        .unwrap();
    drop(store);
    let store = place.store();
    assert_eq!(store.get("a").await, Ok(Some(done.clone())));
    assert_eq!(ids(&store.unfinished(None, 9).await.unwrap()), ["b"]);
    assert_eq!(ids(&store.list(Some(&ann), None, 9).await.unwrap()), ["a"]);
    assert_eq!(store.put(done).await, Err(TaskStoreError::Conflict));
    assert_eq!(store.sweep(START.after(MINUTE)).await, Ok(2));
    drop(store);
    assert_eq!(place.store().list(None, None, 9).await, Ok(vec![]));
}

#[cfg(unix)]
#[test]
fn a_file_that_is_not_a_store_keeps_its_content_and_its_mode() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let place = TempFile::new();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (text, link, database) = (
        place.file("text"),
        place.file("link"),
        place.file("database"),
    );
    fs::write(&text, "my letters").unwrap();
    symlink(&text, &link).unwrap();
    let foreign = redb::Database::create(&database).unwrap();
    let table = redb::TableDefinition::<u64, u64>::new("mine");
    let transaction = foreign.begin_write().unwrap();
    transaction.open_table(table).unwrap().insert(1, 2).unwrap();
    transaction.commit().unwrap();
    drop(foreign);
    for path in [&text, &database] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    }
    for path in [&text, &link, &database] {
        let before = fs::read(path).unwrap();
        let error = RedbStore::open(path).unwrap_err();
        assert!(matches!(error, OpenError::NotAStore { .. }), "{error}");
        assert!(fs::read(path).unwrap() == before, "{}", path.display());
        assert_eq!(mode(path), 0o644, "{}", path.display());
    }
    assert_eq!(fs::read_to_string(&text).unwrap(), "my letters");
    for special in [Path::new("/dev/null"), &place.0] {
        let error = RedbStore::open(special).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }
    assert_ne!(mode(Path::new("/dev/null")), 0o600);

    // A file that is a store, or becomes one, is made private.
    let (store, empty) = (place.file("store"), place.file("empty"));
    drop(RedbStore::open(&store).unwrap());
    fs::write(&empty, "").unwrap();
    for path in [&store, &empty] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
        drop(RedbStore::open(path).unwrap());
        assert_eq!(mode(path), 0o600, "{}", path.display());
    }
}

#[cfg(unix)]
#[tokio::test]
async fn completed_writes_persist_without_closing() {
    let place = TempFile::new();
    let store = place.store();
    for round in 0..20 {
        let id = format!("{round:02}");
        store.create(task(&id, None, "{}")).await.unwrap();
        if round % 2 == 0 {
            store.put(ended(task(&id, None, "{}"))).await.unwrap();
        }
        // A copy of the file while it is in use.
        let copy = place.file("copy");
        fs::copy(place.file("tasks"), &copy).unwrap();
        let copied = RedbStore::open(&copy).unwrap().task_store();
        let all = copied.list(None, None, 99).await.unwrap();
        assert_eq!(all.len(), round + 1);
        assert_eq!(all, store.list(None, None, 99).await.unwrap());
        let unfinished = copied.unfinished(None, 99).await.unwrap();
        assert_eq!(unfinished.len(), all.len() / 2);
        copied.create(task("more", None, "{}")).await.unwrap();
    }
}

fn full<T: std::fmt::Debug>(result: Result<T, TaskStoreError>) -> String {
    match result {
        Err(TaskStoreError::Full { limit }) => limit,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn tasks_beyond_a_limit_are_rejected_and_the_limit_is_named() {
    let place = TempFile::new();
    let options = RedbOptions::new()
        .with_max_tasks(3)
        .with_max_tasks_per_owner(2);
    let store = RedbStore::open_with(place.file("count"), options);
    let store = store.unwrap().task_store();
    for id in ["a", "b"] {
        store.create(task(id, Some("ann"), "{}")).await.unwrap();
    }
    let third = store.create(task("c", Some("ann"), "{}")).await;
    assert_eq!(full(third), "2 tasks of one owner");
    store.create(task("c", None, "{}")).await.unwrap();
    let fourth = store.create(task("d", Some("bob"), "{}")).await;
    assert_eq!(full(fourth), "3 tasks");
    // Removed tasks, and tasks that expire before the next one is created, release their capacity.
    assert_eq!(store.remove("a").await, Ok(true));
    store.create(task("a", Some("ann"), "{}")).await.unwrap();
    let call = TaskCall::clone(task("", None, "{}").call());
    let later = Task::new("late", None, call, START.after(MINUTE), None);
    store.create(later).await.unwrap();
    assert_eq!(store.get("a").await, Ok(None));
    assert_eq!(ids(&store.unfinished(None, 9).await.unwrap()), ["late"]);

    let options = RedbOptions::new().with_max_task_bytes(2_000);
    let store = RedbStore::open_with(place.file("bytes"), options);
    let store = store.unwrap().task_store();
    let long = format!(r#"{{"x":"{}"}}"#, "x".repeat(1_200));
    store.create(task("a", None, &long)).await.unwrap();
    let second = store.create(task("b", None, &long)).await;
    assert_eq!(full(second), "2000 bytes of tasks");
    let mut grown = task("a", None, &long);
    let outcome = TaskOutcome::of_result(RawJson::copy(&long));
    grown.end(outcome, START).unwrap();
    assert_eq!(full(store.put(grown).await), "2000 bytes of tasks");
    // A change that does not enlarge a task is always stored.
    store.put(ended(task("a", None, "{}"))).await.unwrap();
    store.create(task("b", None, &long)).await.unwrap();
}

#[tokio::test]
async fn ten_thousand_tasks_fit_and_are_found() {
    let place = TempFile::new();
    let store = Arc::new(place.store());
    let mut creating = JoinSet::new();
    for number in 0..10_000_u32 {
        let store = Arc::clone(&store);
        let owner = format!("owner {}", number % 10);
        let task = task(&format!("{number:05}"), Some(&owner), r#"{"n":1}"#);
        creating.spawn(async move { store.create(task).await });
    }
    while let Some(created) = creating.join_next().await {
        created.unwrap().unwrap();
    }
    let more = store.create(task("more", None, "{}")).await;
    assert_eq!(full(more), "10000 tasks");
    let mut after: Option<String> = None;
    let mut seen = 0;
    loop {
        let page = store.unfinished(after.as_deref(), 100).await.unwrap();
        let Some(last) = page.last() else { break };
        seen += page.len();
        after = Some(last.id().to_owned());
    }
    assert_eq!(seen, 10_000);
    let owner = Principal::new("owner 7");
    let page = store.list(Some(&owner), Some("00500"), 2).await.unwrap();
    assert_eq!(ids(&page), ["00507", "00517"]);
    assert_eq!(store.sweep(START.after(MINUTE)).await, Ok(10_000));
    assert_eq!(store.list(Some(&owner), None, 9).await, Ok(vec![]));
}

#[tokio::test]
async fn one_of_two_concurrent_changes_is_stored() {
    let place = TempFile::new();
    let store = Arc::new(place.store());
    store.create(task("a", None, "{}")).await.unwrap();
    let mut changing = JoinSet::new();
    for number in 0..32 {
        let store = Arc::clone(&store);
        let mut next = task("a", None, "{}");
        next.set_message(&number.to_string(), START).unwrap();
        changing.spawn(async move { store.put(next).await });
    }
    let results = changing.join_all().await;
    let kept: Vec<&Task> = results.iter().filter_map(|it| it.as_ref().ok()).collect();
    let [kept] = kept[..] else { panic!("{kept:?}") };
    assert_eq!(store.get("a").await, Ok(Some(kept.clone())));
    let refused = results.iter().flat_map(|it| it.as_ref().err());
    assert!(
        refused
            .clone()
            .all(|error| *error == TaskStoreError::Conflict)
    );
    assert_eq!(refused.count(), 31);
}

#[tokio::test]
async fn a_file_that_is_not_a_store_is_refused_and_its_path_is_named() {
    let place = TempFile::new();
    let store = place.open();
    let refused = |path: &Path| {
        let error = RedbStore::open(path).unwrap_err();
        let (text, path) = (error.to_string(), path.display().to_string());
        assert!(text.starts_with(&path), "{text}");
        error
    };
    assert!(matches!(refused(store.path()), OpenError::InUse { .. }));
    let created = store.task_store().create(task("a", None, "{}")).await;
    created.unwrap();
    let path = store.path().to_owned();
    drop(store);

    let text = place.file("text");
    fs::write(&text, "not a database\n".repeat(500)).unwrap();
    assert!(matches!(refused(&text), OpenError::NotAStore { .. }));
    assert!(fs::read_to_string(&text).unwrap().starts_with("not a data"));

    let half = place.file("half");
    let bytes = fs::read(&path).unwrap();
    fs::write(&half, &bytes[..bytes.len() / 2]).unwrap();
    assert!(matches!(refused(&half), OpenError::NotAStore { .. }));

    let nowhere = place.file("nowhere").join("tasks");
    assert!(matches!(refused(&nowhere), OpenError::Io { .. }));
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = TempFile::new();
    let path = place.open().path().to_owned();
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    // A file that was copied there, for example.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    drop(place.store());
    assert_eq!(mode(), 0o600);
}
