//! Looking changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::Fixture;
use crate::store::{Store, StoreError, wal_path};

/// Every file of a directory with what is in it.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(dir)
        .unwrap()
        .flatten()
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect()
}

#[test]
fn a_file_is_looked_at_and_nothing_is_made_beside_it() {
    let mut fixture = Fixture::new();
    fixture.task("A", &[]);
    let Fixture { dir, store, .. } = fixture;
    let path = dir.path().join("progress.db");
    drop(store);
    assert!(!wal_path(&path).exists(), "the log was folded in");
    let before = files(dir.path());
    let looking = Store::open_read_only(&path).unwrap();
    assert_eq!(looking.counts().unwrap().total, 1);
    assert_eq!(looking.version().unwrap(), Store::VERSION);
    assert_eq!(looking.integrity().unwrap(), "ok");
    assert_eq!(files(dir.path()), before);
    drop(looking);
    assert_eq!(files(dir.path()), before);
}

#[test]
fn what_another_process_just_wrote_is_seen() {
    let mut fixture = Fixture::new();
    fixture.task("A", &[]);
    let path = fixture.dir.path().join("progress.db");
    assert!(wal_path(&path).exists());
    let looking = Store::open_read_only(&path).unwrap();
    assert_eq!(looking.task_names("", 9).unwrap().len(), 1);
    fixture.task("B", &[]);
    assert_eq!(looking.task_names("", 9).unwrap().len(), 2);
}

#[test]
fn nothing_is_made_and_no_other_version_is_touched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("odd ?#%41 näme.db");
    assert!(Store::open_read_only(&path).is_err());
    assert!(!path.exists());
    for (version, refused) in [(1, false), (999, true)] {
        let conn = rusqlite::Connection::open(&path).unwrap();
        conn.pragma_update(None, "user_version", version).unwrap();
        drop(conn);
        let before = files(dir.path());
        match Store::open_read_only(&path) {
            Ok(store) => assert_eq!(store.version().unwrap(), version),
            Err(error) => {
                assert!(refused && matches!(error, StoreError::NewerSchema { found: 999, .. }), "{error}")
            }
        }
        assert_eq!(files(dir.path()), before);
    }
}
