//! Tests of the internal parts of the store.

use std::path::{Path, PathBuf};

use mcp_protocol::task::{TaskStoreError, Timestamp};
use redb::{Database, TableDefinition};

use crate::file::StoreFile;
use crate::job::{Query, TaskRow, Write};
use crate::tables::meta::{DatabaseError, META};
use crate::{OpenError, RedbOptions, RedbStore};

/// The path of a file that is removed after the test.
struct TempFile(PathBuf);

impl TempFile {
    fn new(name: &str) -> Self {
        let name = format!("mcp-store-redb-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn open(&self) -> StoreFile {
        StoreFile::open(self.0.clone(), RedbOptions::new()).unwrap()
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn record(id: &str, json: &str) -> TaskRow {
    TaskRow {
        id: id.into(),
        owner: None,
        version: 0,
        expires: 7,
        ended: false,
        json: json.into(),
    }
}

fn create(file: &mut StoreFile, id: &str, json: &str) {
    let (record, now) = (record(id, json), Timestamp::default());
    let done = file.write(&[Write::Create { record, now }]);
    assert_eq!(done, Ok(vec![Ok(0)]));
}

const TASK: &str = r#"{"id":"b","call":{"method":"m","target":"t","arguments":{},"revision":"2026-07-28"},
    "state":"working","created":0,"updated":0,"version":0}"#;

#[test]
fn an_unreadable_record_does_not_hide_other_records() {
    let place = TempFile::new("unreadable");
    let mut file = place.open();
    create(&mut file, "a", r#"{"id":"a","state":"dreaming"}"#);
    create(&mut file, "b", TASK);
    create(&mut file, "c", "no JSON");
    for query in [
        Query::Unfinished {
            after: None,
            limit: 1,
        },
        Query::Owned {
            owner: None,
            after: None,
            limit: 9,
        },
    ] {
        let found = file.read(&query).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].id(), "b");
    }
    let Err(TaskStoreError::Unavailable(why)) = file.read(&Query::One("a".into())) else {
        panic!("it was read");
    };
    assert!(why.starts_with(&*place.0.to_string_lossy()), "{why}");
    assert!(why.contains("task a cannot be read"), "{why}");
    // The unreadable record counts as a task until it expires, and can be removed.
    assert_eq!(file.write(&[Write::Remove("c".into())]), Ok(vec![Ok(1)]));
    let sweep = Write::Sweep(Timestamp::from_millis(7));
    assert_eq!(file.write(&[sweep]), Ok(vec![Ok(2)]));
}

type Failure = fn(&Database) -> Result<(), DatabaseError>;

#[test]
fn after_a_failure_the_file_is_opened_again() {
    let place = TempFile::new("again");
    let mut file = place.open();
    create(&mut file, "b", TASK);
    let failures: [Failure; 2] = [
        |_| Err(DatabaseError::from(redb::StorageError::PreviousIo)),
        |database| {
            let _open = database.begin_write()?;
            panic!("inside of the database")
        },
    ];
    for failure in failures {
        let Err(TaskStoreError::Unavailable(why)) = file.with(failure) else {
            panic!("it did not fail");
        };
        assert!(why.starts_with(&*place.0.to_string_lossy()), "{why}");
        assert_eq!(file.read(&Query::One("b".into())).unwrap().len(), 1);
    }
    create(&mut file, "c", "");
}

fn refused(path: &Path) -> OpenError {
    RedbStore::open(path).unwrap_err()
}

#[test]
fn foreign_and_newer_databases_are_not_modified() {
    let place = TempFile::new("not_a_store");
    const THINGS: TableDefinition<'_, u64, u64> = TableDefinition::new("things");
    let not_a_store = Database::create(&place.0).unwrap();
    let writing = not_a_store.begin_write().unwrap();
    writing.open_table(THINGS).unwrap().insert(1, 2).unwrap();
    writing.commit().unwrap();
    drop(not_a_store);
    let error = refused(&place.0).to_string();
    assert!(
        error.ends_with("a redb database with other contents"),
        "{error}"
    );

    let place = TempFile::new("newer");
    let newer = Database::create(&place.0).unwrap();
    let writing = newer.begin_write().unwrap();
    writing
        .open_table(META)
        .unwrap()
        .insert("format", 2)
        .unwrap();
    writing.commit().unwrap();
    drop(newer);
    let error = refused(&place.0);
    assert!(
        matches!(error, OpenError::Newer { format: 2, .. }),
        "{error}"
    );
}
