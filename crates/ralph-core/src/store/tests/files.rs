//! A database that is deleted, moved, emptied or replaced while it is open.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{Fixture, NOW};
use crate::model::NewTask;
use crate::store::Store;
use crate::store::{StoreError, newest_copy, rescued, restore_command};

const FILES: [&str; 3] = ["progress.db", "progress.db-wal", "progress.db-shm"];

/// What somebody does to the directory of the database.
type Blow = fn(&Path);

const BLOWS: [(&str, Blow); 6] = [
    ("everything deleted", |dir| {
        fs::remove_dir_all(dir).unwrap();
    }),
    ("only the database deleted", |dir| {
        fs::remove_file(dir.join("progress.db")).unwrap();
    }),
    ("only the log deleted", |dir| {
        fs::remove_file(dir.join("progress.db-wal")).unwrap();
    }),
    ("database moved", |dir| {
        fs::rename(dir.join("progress.db"), dir.join("old.db")).unwrap();
    }),
    ("directory moved", |dir| {
        fs::rename(dir, dir.with_file_name("moved")).unwrap();
    }),
    ("another database in its place", |dir| {
        for file in FILES {
            fs::remove_file(dir.join(file)).unwrap();
        }
        let mut other = Store::create(&dir.join("progress.db")).unwrap();
        let task = NewTask { title: "Of somebody else".into(), ..NewTask::default() };
        other.add_task(&task, NOW, &mut || 7).unwrap();
        // It dies with a log that is not yet part of the file.
        std::mem::forget(other);
    }),
];

fn titles(path: &Path) -> Vec<String> {
    let store = Store::open(path).unwrap();
    assert_eq!(store.integrity().unwrap(), "ok");
    let tasks = store.tasks(None).unwrap();
    tasks.into_iter().map(|task| task.title).collect()
}

#[test]
fn a_vanished_database_is_noticed_saved_and_put_back_by_the_command_given() {
    for (name, blow) in BLOWS {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("it's .ralph");
        fs::create_dir(&dir).unwrap();
        let path = dir.join("progress.db");
        let mut f = Fixture::new();
        f.store = Store::create(&path).unwrap();
        f.task("Before", &[]);
        assert!(f.store.check_all().is_ok(), "{name}");
        blow(&dir);
        assert!(matches!(f.store.check_in_place(), Err(StoreError::Vanished { .. })), "{name}");
        f.task("After", &[]);
        let saved = f.store.rescue(NOW).unwrap();
        let again = f.store.rescue(NOW).unwrap();
        assert_ne!(saved.path, again.path, "{name}: nothing is overwritten");
        assert_eq!(rescued(&path).len(), 2, "{name}");
        drop(f);
        let put_back = Command::new("sh").args(["-c", &saved.restore]).status();
        assert!(put_back.unwrap().success(), "{name}: {}", saved.restore);
        assert_eq!(titles(&path), ["Before", "After"], "{name}");
        let mode = |file: &Path| {
            use std::os::unix::fs::PermissionsExt;
            fs::metadata(file).unwrap().permissions().mode() & 0o777
        };
        assert_eq!((mode(&path), mode(&again.path)), (0o600, 0o600), "{name}");
    }
}

#[test]
fn what_another_database_left_is_moved_aside_and_not_lost() {
    let mut f = Fixture::new();
    let dir = f.dir.path().to_owned();
    f.task("Ours", &[]);
    BLOWS[5].1(&dir);
    let saved = f.store.rescue(NOW).unwrap();
    f.store = Store::create(&dir.join("unrelated.db")).unwrap();
    assert!(Command::new("sh").args(["-c", &saved.restore]).status().unwrap().success());
    let aside = dir.join("replaced-20231114T221320/progress.db");
    assert_eq!(titles(&aside), ["Of somebody else"]);
    assert_eq!(titles(&dir.join("progress.db")), ["Ours"]);
}

#[test]
fn an_emptied_database_is_noticed() {
    let f = Fixture::new();
    fs::write(f.dir.path().join("progress.db"), "").unwrap();
    assert!(f.store.check_in_place().is_err());
}

#[test]
fn other_connections_that_come_and_go_leave_the_files_in_place() {
    let mut f = Fixture::new();
    let path = f.dir.path().join("progress.db");
    for n in 0..3 {
        f.task(&format!("Task {n}"), &[]);
        drop(Store::open(&path).unwrap());
        drop(Store::open_read_only(&path).unwrap());
        let other = rusqlite::Connection::open(&path).unwrap();
        other.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        drop(other);
        f.store.check_all().unwrap();
        // The log begins anew, and what an earlier round wrote still follows.
        f.task(&"long ".repeat(5_000), &[]);
        let other = rusqlite::Connection::open(&path).unwrap();
        other.execute_batch("PRAGMA wal_checkpoint(RESTART)").unwrap();
        f.task("short", &[]);
        f.store.check_all().unwrap();
    }
}

#[test]
fn a_log_that_was_cut_off_is_noticed() {
    let first = Fixture::new();
    let log = first.dir.path().join("progress.db-wal");
    let page = 4096 + 24;
    let frames = (fs::metadata(log).unwrap().len() - 32) / page;
    assert!(frames > 10, "{frames}");
    for length in [0, 31, 32, 4096, 32 + page, 32 + 3 * page + 5, 32 + (frames - 1) * page] {
        let mut f = Fixture::new();
        let log = f.dir.path().join("progress.db-wal");
        fs::File::options().write(true).open(&log).unwrap().set_len(length).unwrap();
        f.task("After", &[]);
        let check = f.store.check_in_place();
        assert!(matches!(check, Err(StoreError::Overwritten { .. })), "{length}: {check:?}");
    }
}

#[test]
fn a_database_that_was_written_over_is_noticed() {
    use std::os::unix::fs::FileExt;
    for at in [0, 4096] {
        let f = Fixture::new();
        let path = f.dir.path().join("progress.db");
        rusqlite::Connection::open(&path).unwrap().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        f.store.check_all().unwrap();
        fs::File::options().write(true).open(&path).unwrap().write_at(&[0xa5; 4096], at).unwrap();
        f.store.check_in_place().unwrap();
        assert!(matches!(f.store.check_all(), Err(StoreError::Overwritten { .. })), "{at}");
    }
}

#[test]
fn an_index_of_the_log_that_was_cut_off_is_made_anew() {
    let mut f = Fixture::new();
    let index = f.dir.path().join("progress.db-shm");
    let other = Store::open(&f.dir.path().join("progress.db")).unwrap();
    for length in [0, 1, 4096, 32_767] {
        f.task(&"long ".repeat(20_000), &[]);
        fs::File::options().write(true).open(&index).unwrap().set_len(length).unwrap();
        f.task("After", &[]);
        f.store.check_all().unwrap();
        assert_eq!(f.store.counts().unwrap(), other.counts().unwrap(), "{length}");
        fs::File::options().write(true).open(&index).unwrap().set_len(length).unwrap();
        assert_eq!(f.store.counts().unwrap(), other.counts().unwrap(), "{length}");
    }
    assert_eq!(f.store.counts().unwrap().total, 8);
}

#[test]
fn a_backup_is_replaced_by_a_newer_one_and_not_by_a_damaged_one() {
    use std::os::unix::fs::FileExt;
    let mut f = Fixture::new();
    let path = f.dir.path().join("progress.db");
    assert_eq!(newest_copy(&path), None);
    f.task("First", &[]);
    f.store.back_up().unwrap();
    f.task("Second", &[]);
    f.store.back_up().unwrap();
    let backup = newest_copy(&path).unwrap();
    assert_eq!(titles(&backup), ["First", "Second"]);
    rusqlite::Connection::open(&path).unwrap().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.write_all_at(&[0xa5; 100 * 4096], 4096).unwrap();
    assert!(Store::open_again(&path).and_then(|damaged| damaged.back_up()).is_err());
    assert_eq!(titles(&backup), ["First", "Second"]);
    assert_eq!(fs::read_dir(f.dir.path()).unwrap().count(), 4, "no part of a copy is left");
}

#[test]
fn a_link_in_place_of_the_directory_is_not_followed() {
    let home = tempfile::tempdir().unwrap();
    let (dir, target) = (home.path().join(".ralph"), home.path().join("target"));
    fs::create_dir(&dir).unwrap();
    fs::create_dir(&target).unwrap();
    let store = Store::create(&dir.join("progress.db")).unwrap();
    fs::remove_dir_all(&dir).unwrap();
    std::os::unix::fs::symlink(&target, &dir).unwrap();
    let saved = store.rescue(NOW).unwrap();
    assert_eq!(saved.path.parent(), Some(home.path()));
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
}

#[test]
fn opening_never_makes_a_database() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("progress.db");
    let refused = |path| matches!(Store::open(path), Err(StoreError::Missing { .. }));
    assert!(refused(&path));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    fs::write(&path, "").unwrap();
    assert!(refused(&path), "an empty file is no database");
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
}

#[test]
fn what_is_no_regular_file_is_not_opened() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("progress.db");
    let refused = || {
        let opened = [Store::open(&path), Store::create(&path), Store::open_read_only(&path)];
        assert!(opened.into_iter().all(|store| matches!(store, Err(StoreError::Damaged { .. }))));
    };
    fs::create_dir(&path).unwrap();
    refused();
    fs::remove_dir(&path).unwrap();
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    refused();
}

#[test]
fn putting_back_into_a_directory_that_is_gone_makes_it() {
    let dir = tempfile::tempdir().unwrap();
    let (copy, path) = (dir.path().join("copy.db"), dir.path().join(".ralph/progress.db"));
    fs::write(&copy, "x").unwrap();
    let command = restore_command(&copy, &path, NOW);
    assert!(Command::new("sh").args(["-c", &command]).status().unwrap().success());
    assert!(path.exists());
}
