//! What only a server has: many claimers at once, connections that break, and refusals with their reasons.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::on_postgres::{Server, url};
use super::{Engine, FixtureOf, NONE, NOW, Sqlite, request};
use crate::model::{NewTask, Outcome, RunId, Status, Token};
use crate::store::sql::{Changes, Statements};
use crate::store::{Patience, Purpose, ServerAddress, ServerFault, Store, StoreError};

type Fixture = FixtureOf<Server>;

fn fault(error: &StoreError) -> ServerFault {
    match error {
        StoreError::Server { fault, .. } => *fault,
        other => panic!("{other}"),
    }
}

/// Another connection to the same schema, for what no store does.
fn elsewhere(f: &Fixture, sql: &str) {
    f.engine.open().conn().execute_batch(sql).unwrap();
}

#[test]
fn many_claimers_take_each_task_once() {
    let mut f = Fixture::new();
    for n in 0..400 {
        f.add(NewTask { title: format!("task {n}"), ..NewTask::default() }).unwrap();
    }
    let tokens = AtomicU64::new(1);
    let claims = |worker: u64| {
        let mut store = f.engine.open();
        let mut taken = Vec::new();
        let mut misses = 0;
        while misses < 3 {
            let token = Token::from_random(tokens.fetch_add(1, Ordering::Relaxed));
            match store.claim(&request(Purpose::Attempt, &format!("r-{worker}"), token.clone())).unwrap() {
                // Some are given back, and taken again by whoever is next.
                Some(claimed) if taken.len() % 7 == 6 && misses == 0 && claimed.attempts == NONE => {
                    store.release(&claimed.task.id, &token).unwrap();
                    taken.push(None);
                }
                Some(claimed) => taken.push(Some(claimed.task.id)),
                None => misses += 1,
            }
        }
        taken.into_iter().flatten().collect::<Vec<_>>()
    };
    let taken: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..32).map(|worker| scope.spawn(move || claims(worker))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let unique: HashSet<_> = taken.iter().collect();
    assert_eq!((taken.len(), unique.len()), (400, 400));
    assert_eq!(f.store.claims().unwrap().len(), 400);
    assert_eq!(f.store.counts().unwrap().in_progress, 400);
}

#[test]
fn one_claim_gets_the_attempt_of_a_breaker_that_is_half_open() {
    let mut f = Fixture::new();
    for n in 0..20 {
        f.task(&format!("task {n}"), &[]);
    }
    f.store.conn().execute_batch("UPDATE breaker SET state = 'half_open'").unwrap();
    let taken: usize = thread::scope(|scope| {
        let claim = |worker: u64| {
            let mut store = f.engine.open();
            let wish = request(Purpose::Attempt, "r-1", Token::from_random(worker));
            usize::from(store.claim(&wish).unwrap().is_some())
        };
        let claimers: Vec<_> = (0..8).map(|worker| scope.spawn(move || claim(worker))).collect();
        claimers.into_iter().map(|claimer| claimer.join().unwrap()).sum()
    });
    assert_eq!(taken, 1);
}

#[test]
fn a_run_makes_no_more_attempts_than_it_may_however_many_claim_at_once() {
    let mut f = Fixture::new();
    f.start_run("r-1");
    for n in 0..20 {
        f.task(&format!("task {n}"), &[]);
    }
    let taken: usize = thread::scope(|scope| {
        let claim = |worker: u64| {
            let mut store = f.engine.open();
            let mut wish = request(Purpose::Attempt, "r-1", Token::from_random(worker));
            wish.limit = Some(3);
            usize::from(store.claim(&wish).unwrap().is_some())
        };
        let claimers: Vec<_> = (0..8).map(|worker| scope.spawn(move || claim(worker))).collect();
        claimers.into_iter().map(|claimer| claimer.join().unwrap()).sum()
    });
    assert_eq!(taken, 3);
}

#[test]
fn captures_and_claims_at_the_same_time_deadlock_nowhere_and_add_up() {
    let mut f = Fixture::new();
    f.start_run("r-1");
    let parent = f.task("parent", &[]);
    let first = f.task("first", &[]);
    for n in 0..40 {
        match n % 2 {
            0 => f.child(&format!("child {n}"), &parent),
            _ => f.task(&format!("task {n}"), &[&first]),
        };
    }
    let numbers = AtomicU64::new(1_000);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let engine = f.engine.clone();
                let store = engine.open();
                let counter = numbers.fetch_add(1_000_000, Ordering::Relaxed);
                let mut own = Fixture { store, engine, dir: tempfile::tempdir().unwrap(), counter };
                let mut misses = 0;
                while misses < 50 {
                    let Some((claimed, token)) = own.claim() else {
                        misses += 1;
                        thread::sleep(std::time::Duration::from_millis(5));
                        continue;
                    };
                    let run = RunId::from_stored("r-1");
                    let later = NOW.plus(std::time::Duration::from_secs(60));
                    // One that finds the plan locked is left out.
                    if let Err(error) = own.store.heartbeat(&run, NOW, later) {
                        assert_eq!(fault(&error), ServerFault::Locked);
                    }
                    let mut done =
                        super::outcome(&claimed, &token, Outcome::Done, crate::store::TaskNext::Done);
                    done.attempt.cost_usd = Some(0.25);
                    own.capture(&done).unwrap();
                }
            });
        }
    });
    let counts = f.store.counts().unwrap();
    assert_eq!((counts.done, counts.total), (42, 42), "{counts:?}");
    // The parent needs no attempt.
    assert_eq!(f.store.totals().unwrap().attempts, 41);
    let run = f.store.run(&RunId::from_stored("r-1")).unwrap().unwrap();
    assert_eq!((run.attempts, run.cost.cost_usd), (41, Some(41.0 * 0.25)));
    assert_eq!(f.status(&parent), Status::Done);
}

#[test]
fn a_broken_connection_is_opened_again() {
    let mut f = Fixture::new();
    let id = f.task("a", &[]);
    let kill =
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'victim'";
    f.store.conn().execute_batch("SET application_name TO 'victim'").unwrap();
    elsewhere(&f, kill);
    assert_eq!(f.store.task(id.as_str()).unwrap().title, "a");
    f.store.conn().execute_batch("SET application_name TO 'victim'").unwrap();
    elsewhere(&f, kill);
    assert!(f.claim().is_some());
    // What a transaction did is lost with its connection, so it is run again: as a whole, once.
    let engine = f.engine.clone();
    let mut runs = 0;
    let written = f.store.write(crate::store::sqlite::Durability::Process, |tx| {
        runs += 1;
        tx.change("UPDATE tasks SET title = title || 'b'", [])?;
        if runs == 1 {
            tx.execute_batch("SET application_name TO 'victim'")?;
            // Changes are sent with the next statement that is waited for.
            tx.has("SELECT 1", [])?;
            engine.open().conn().execute_batch(kill)?;
        }
        tx.change("UPDATE tasks SET title = title || 'c'", [])
    });
    written.unwrap();
    assert_eq!((runs, &*f.store.task(id.as_str()).unwrap().title), (2, "abc"));
    // One that was stored though nobody heard of it is not run again.
    let mut runs = 0;
    let written = f.store.write(crate::store::sqlite::Durability::Process, |tx| {
        runs += 1;
        tx.change("UPDATE tasks SET title = title || 'd'", [])?;
        tx.execute_batch("COMMIT; SET application_name TO 'victim'")?;
        tx.has("SELECT 1", [])?;
        engine.open().conn().execute_batch(kill)
    });
    written.unwrap();
    assert_eq!((runs, &*f.store.task(id.as_str()).unwrap().title), (1, "abcd"));
}

#[test]
fn reads_that_were_asked_for_in_advance_are_answered_once_and_never_after_a_change() {
    let mut f = Fixture::new();
    let id = f.task("a", &[]);
    let rename = |title: &str| format!("UPDATE tasks SET title = '{title}'");
    let title = |f: &Fixture| f.store.task(id.as_str()).unwrap().title;
    let ahead = |f: &Fixture| f.store.read_ahead(|store| drop(store.task(id.as_str())));
    ahead(&f);
    elsewhere(&f, &rename("b"));
    // What was asked for is what it was then; it is not asked for twice.
    assert_eq!((title(&f), title(&f)), ("a".to_owned(), "b".to_owned()));
    ahead(&f);
    f.store.write(crate::store::sqlite::Durability::Process, |tx| tx.change(&rename("c"), [])).unwrap();
    assert_eq!(title(&f), "c");
    // Within a transaction nothing from before it counts.
    ahead(&f);
    elsewhere(&f, &rename("d"));
    f.store
        .write(crate::store::sqlite::Durability::Process, |tx| {
            assert_eq!(tx.one::<String>("SELECT title FROM tasks", [])?, "d");
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_change_that_fails_fails_its_transaction_whenever_it_is_sent() {
    let mut f = Fixture::new();
    f.task("a", &[]);
    for waits in [false, true] {
        let written = f.store.write(crate::store::sqlite::Durability::Process, |tx| {
            tx.change("UPDATE tasks SET title = 'b'", [])?;
            tx.change("UPDATE tasks SET status = 'nonsense'", [])?;
            if waits {
                tx.has("SELECT 1", [])?;
            }
            Ok(())
        });
        assert_eq!(fault(&written.unwrap_err()), ServerFault::Conflict);
        assert!(f.store.has("SELECT 1 FROM tasks WHERE title = 'a'", []).unwrap());
    }
}

#[test]
fn a_change_elsewhere_is_hinted_at() {
    let f = Fixture::new();
    let wait = std::time::Duration::from_millis(1);
    assert_eq!(f.store.wait_for_hint(wait), Some(false));
    let mut other = f.engine.open();
    other
        .write(crate::store::sqlite::Durability::Process, |tx| {
            tx.change("UPDATE breaker SET failures = 1", [])
        })
        .unwrap();
    assert_eq!(f.store.wait_for_hint(std::time::Duration::from_secs(60)), Some(true));
}

#[test]
fn a_server_that_cannot_be_used_says_why_and_shows_no_password() {
    let f = Fixture::new();
    let user = f.engine.0.schema().to_owned();
    elsewhere(&f, &format!("CREATE ROLE {user} LOGIN PASSWORD 'right'"));
    let open = |url: &str| {
        let address = ServerAddress::parse(url, f.engine.0.schema()).unwrap();
        Store::open_server(&address, Patience::default()).unwrap_err()
    };
    let local = url();
    for (url, expected) in [
        (format!("postgres://{user}:wrong-secret@127.0.0.1:54329/postgres"), ServerFault::WrongPassword),
        (format!("{}nowhere", local.trim_end_matches("postgres")), ServerFault::MissingDatabase),
        ("postgres://x:wrong-secret@127.0.0.1:1/postgres".to_owned(), ServerFault::Unreachable),
        (format!("postgres://{user}:right@127.0.0.1:54329/postgres"), ServerFault::Denied),
    ] {
        let error = open(&url);
        assert_eq!(fault(&error), expected, "{error}");
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("secret") && !shown.contains("right@"), "{shown}");
    }
    let nobody = ServerAddress::parse(local, "t_nobody").unwrap();
    assert_eq!(
        fault(&Store::open_server(&nobody, Patience::default()).unwrap_err()),
        ServerFault::MissingProject
    );
}

#[test]
fn schemas_of_other_versions_and_read_only_databases_are_refused() {
    let mut f = Fixture::new();
    elsewhere(&f, "UPDATE schema_version SET version = 27");
    let open = || Store::open_server(&f.engine.0, Patience::default());
    assert_eq!(fault(&open().unwrap_err()), ServerFault::OlderSchema);
    f.store.conn().execute_batch("UPDATE schema_version SET version = 999, works_from = 999").unwrap();
    assert!(matches!(open().unwrap_err(), StoreError::NewerSchema { found: 999, .. }));
    assert!(matches!(Store::migrate_server(&f.engine.0).unwrap_err(), StoreError::NewerSchema { .. }));
    f.store.conn().execute_batch("SET default_transaction_read_only TO on").unwrap();
    let refused = f.add(NewTask { title: "x".into(), ..NewTask::default() }).unwrap_err();
    assert_eq!(fault(&refused), ServerFault::ReadOnly);
}

#[test]
fn what_is_opened_to_read_is_not_written_and_waits_for_nobody() {
    let f = Fixture::new();
    elsewhere(&f, "INSERT INTO learning_changes VALUES ('l-1')");
    let behind = || f.store.one::<i64>("SELECT count(*) FROM learning_changes", []).unwrap();
    let other = f.engine.open();
    assert_eq!(behind(), 0, "opening brings the index up to date");
    elsewhere(&f, "INSERT INTO learning_changes VALUES ('l-1')");
    let lock = format!("BEGIN; SELECT pg_advisory_xact_lock({})", f.engine.0.lock());
    other.conn().execute_batch(&lock).unwrap();
    Store::open_server_to_read(&f.engine.0, None).unwrap();
    assert_eq!(behind(), 1);
}

/// Columns by table, without what only one engine needs.
fn columns(store: &Store, sql: &str) -> Vec<(String, String)> {
    let found: Vec<(String, String)> = store.all(sql, []).unwrap();
    let only_one = |table: &str| {
        table.starts_with("learning_index")
            || table.starts_with("sqlite_")
            || matches!(table, "learning_postings" | "undo_rows" | "schema_version" | "task_deltas")
    };
    found.into_iter().filter(|(table, column)| !only_one(table) && column != "rowid").collect()
}

#[test]
fn both_engines_have_the_same_tables_and_columns() {
    let (file, server) = (FixtureOf::<Sqlite>::new(), Fixture::new());
    let of_file = "SELECT m.name, c.name FROM sqlite_master m, pragma_table_xinfo(m.name) c
         WHERE m.type IN ('table', 'view') ORDER BY 1, 2";
    let of_server = "SELECT table_name::text COLLATE \"C\", column_name::text COLLATE \"C\" FROM information_schema.columns
         WHERE table_schema = current_schema() ORDER BY 1, 2";
    assert_eq!(columns(&file.store, of_file), columns(&server.store, of_server));
}

#[test]
fn recall_finds_the_same_on_both_engines() {
    use crate::engine::recall;
    use crate::memory::recall::{RecallPolicy, RecallQuery};
    use crate::model::{NewLearning, Source};

    let (mut file, mut server) = (FixtureOf::<Sqlite>::new(), Fixture::new());
    let words =
        "socket timeout parser token cache index Größe naïve retry_count build lint 日本語 2fast λ test gate"
            .split(' ');
    let words: Vec<&str> = words.collect();
    let mut state = 7_u64;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        words[(state >> 33) as usize % words.len()]
    };
    for n in 0..60_u64 {
        let content: Vec<&str> = (0..9).map(|_| word()).collect();
        let new = NewLearning {
            category: "pattern".into(),
            title: (n % 3 == 0).then(|| word().to_owned()),
            content: content.join(" "),
            tags: vec![word().to_owned()],
        };
        for store in [&mut file.store, &mut server.store] {
            store.add_learning(&new, Source::Agent, NOW, &mut || n).unwrap();
        }
    }
    for _ in 0..20 {
        let query = RecallQuery { title: [word(), word(), word()].join(" "), ..RecallQuery::default() };
        let [of_file, of_server] = [&file.store, &server.store].map(|store| {
            let found = recall(store, &query, NOW, None, &RecallPolicy::default()).unwrap();
            found.chosen().map(|(score, learning)| format!("{score:?} {learning:?}")).collect::<Vec<_>>()
        });
        assert_eq!(of_file, of_server);
        assert!(!of_file.is_empty(), "{query:?}");
    }
}

#[test]
fn what_is_only_true_in_one_clone_is_not_taken_for_true_in_another() {
    use crate::gate::{ProtectedFiles, Version};
    use crate::store::ConfirmedWrite;

    let f = Fixture::new();
    let open = |host: &str| {
        let address = f.engine.0.clone().in_clone(host, std::path::Path::new("/p"));
        Store::open_server(&address, Patience::default()).unwrap()
    };
    let (mut here, there) = (open("here"), open("there"));
    let mut f = f;
    let id = f.task("a", &[]);
    let files = ProtectedFiles([("x".to_owned(), Version::Gone)].into());
    here.keep_protected(&id, "/p", &files).unwrap();
    here.set_tree_snapshot(&id, "as it is", None).unwrap();
    let write = ConfirmedWrite {
        branch: None,
        digest: "d".into(),
        added: Vec::new(),
        gone: Vec::new(),
        names: vec!["a".into()],
    };
    here.confirm_write("AGENTS.md", &write).unwrap();
    let known = |store: &Store| {
        let (kept, looks) = (store.orphaned_protected().unwrap(), store.tree_snapshots().unwrap());
        let kept: Vec<String> = kept.into_iter().map(|kept| kept.work_dir).collect();
        let looks: Vec<String> = looks.into_iter().map(|look| look.snapshot).collect();
        let names = store.written_names("AGENTS.md").unwrap().len();
        (kept, looks, store.last_write("AGENTS.md", "d").unwrap().0.is_some(), names)
    };
    assert_eq!(known(&here), (vec!["/p".to_owned()], vec!["as it is".to_owned()], true, 1));
    assert_eq!(known(&there), (Vec::new(), Vec::new(), false, 0));
}
