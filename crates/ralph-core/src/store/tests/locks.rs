//! A database that another process has locked.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use rusqlite::Connection;

use super::{Fixture, NOW};
use crate::model::RunId;
use crate::store::Store;
use crate::store::{Absent, LockWait, Patience, StoreError};

const LONG: Duration = Duration::from_secs(600);

/// Another process that holds the lock until the connection is dropped.
fn lock(f: &Fixture) -> Connection {
    let other = Connection::open(f.dir.path().join("progress.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    other
}

fn reopened(f: &mut Fixture, patience: Patience) {
    let path = f.dir.path().join("progress.db");
    f.store = Store::open_with(&path, Absent::Refuse, patience).unwrap();
}

#[test]
fn a_locked_database_is_waited_for_and_the_user_is_told_once_per_wait() {
    static FIRST: AtomicU32 = AtomicU32::new(0);
    static CALLS: AtomicU32 = AtomicU32::new(0);
    fn told(wait: LockWait) -> bool {
        CALLS.fetch_add(1, Ordering::SeqCst);
        FIRST.fetch_add(u32::from(wait.is_first), Ordering::SeqCst);
        true
    }
    let mut f = Fixture::new();
    reopened(&mut f, Patience { tell_after: Duration::from_millis(10), give_up_after: LONG, on_wait: told });
    for wait in 1..=2 {
        CALLS.store(0, Ordering::SeqCst);
        let other = lock(&f);
        let (release, released) = channel();
        let holder = std::thread::spawn(move || {
            released.recv().unwrap();
            drop(other);
        });
        let watcher = std::thread::spawn(move || {
            while CALLS.load(Ordering::SeqCst) < 3 {
                std::thread::sleep(Duration::from_millis(1));
            }
            release.send(()).unwrap();
        });
        f.task("Waited", &[]);
        holder.join().unwrap();
        watcher.join().unwrap();
        assert_eq!(FIRST.load(Ordering::SeqCst), wait);
    }
    assert_eq!(f.store.tasks(None).unwrap().len(), 2);
}

#[test]
fn a_wait_ends_with_an_error_that_names_the_cause() {
    let mut f = Fixture::new();
    reopened(&mut f, Patience { give_up_after: Duration::from_millis(20), ..Patience::default() });
    let _other = lock(&f);
    let error = f.store.reset_breaker().unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
}

#[test]
fn a_wait_ends_when_the_user_wants_it_to() {
    let mut f = Fixture::new();
    reopened(&mut f, Patience { tell_after: Duration::ZERO, give_up_after: LONG, on_wait: |_| false });
    let _other = lock(&f);
    let error = f.store.reset_breaker().unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
}

#[test]
fn a_heartbeat_does_not_wait_and_the_next_write_does() {
    let mut f = Fixture::new();
    reopened(&mut f, Patience { give_up_after: LONG, ..Patience::default() });
    let other = lock(&f);
    let run = RunId::from_stored("r-1");
    // With the patience of other writes this would take ten minutes.
    assert!(f.store.heartbeat(&run, NOW, NOW).is_err());
    drop(other);
    f.store.heartbeat(&run, NOW, NOW).unwrap();
}
