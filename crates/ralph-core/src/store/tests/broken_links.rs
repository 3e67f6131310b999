//! Connections that break: at a statement, at the end of a transaction, with and without a sign to the server.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::on_postgres::{Server, url};
use super::{Engine, FixtureOf};
use crate::store::sql::{Changes, Statements};
use crate::store::sqlite::Durability;
use crate::store::{Patience, ServerAddress, ServerFault, Store, StoreError};

type Fixture = FixtureOf<Server>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Break {
    /// A reset before the server got it.
    Before,
    /// A reset once the server has answered.
    After,
    /// The client's connection is gone; the server never hears of it.
    Silent,
}

/// The next time that a client sends this, so many times.
type Plan = Mutex<Option<(&'static [u8], Break, usize)>>;

/// What lies between a store and the server, and breaks.
struct Proxy {
    port: u16,
    plan: Arc<Plan>,
    /// How many connections there were.
    opened: Arc<AtomicUsize>,
}

impl Proxy {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let proxy = Self { port, plan: Arc::default(), opened: Arc::default() };
        let (plan, opened) = (Arc::clone(&proxy.plan), Arc::clone(&proxy.opened));
        thread::spawn(move || {
            for client in listener.incoming() {
                opened.fetch_add(1, Ordering::Relaxed);
                let (client, plan) = (client.unwrap(), Arc::clone(&plan));
                thread::spawn(move || carry(client, server(), &plan));
            }
        });
        proxy
    }

    fn break_at(&self, words: &'static str, how: Break, times: usize) {
        *self.plan.lock().unwrap() = Some((words.as_bytes(), how, times));
    }

    fn open(&self, schema: &str, patience: Patience) -> Store {
        let url = format!("postgres://postgres@127.0.0.1:{}/postgres?sslmode=disable", self.port);
        Store::open_server(&ServerAddress::parse(&url, schema).unwrap(), patience).unwrap()
    }
}

fn server() -> UnixStream {
    let (_, place) = url().split_once('@').unwrap();
    let (dir, port) = place.split_once(':').unwrap();
    let port = port.split('/').next().unwrap();
    UnixStream::connect(format!("{}/.s.PGSQL.{port}", dir.replace("%2F", "/"))).unwrap()
}

/// What is only peeked at when the client's side is closed makes the system reset it.
fn carry(mut client: TcpStream, mut server: UnixStream, plan: &Plan) {
    client.set_nonblocking(true).unwrap();
    server.set_nonblocking(true).unwrap();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let sent = client.peek(&mut buffer);
        if let Ok(length @ 1..) = sent {
            let chunk = &buffer[..length];
            match due(plan, chunk) {
                None => {
                    server.write_all(chunk).unwrap();
                    client.read_exact(&mut buffer[..length]).unwrap();
                }
                Some(Break::Before) => return,
                Some(Break::After) => {
                    server.set_nonblocking(false).unwrap();
                    server.write_all(chunk).unwrap();
                    assert!(server.read(&mut buffer).unwrap() > 0);
                    return;
                }
                Some(Break::Silent) => {
                    drop(client);
                    // Until the server ends it.
                    server.set_nonblocking(false).unwrap();
                    while server.read(&mut buffer).is_ok_and(|length| length > 0) {}
                    return;
                }
            }
        }
        let answered = server.read(&mut buffer);
        if let Ok(length @ 1..) = answered
            && client.write_all(&buffer[..length]).is_err()
        {
            return;
        }
        let is_idle = |read: &std::io::Result<usize>| {
            read.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
        };
        match (&sent, &answered) {
            (Ok(1..), _) | (_, Ok(1..)) => {}
            _ if is_idle(&sent) && is_idle(&answered) => thread::sleep(Duration::from_millis(1)),
            _ => return,
        }
    }
}

fn due(plan: &Plan, chunk: &[u8]) -> Option<Break> {
    let mut plan = plan.lock().unwrap();
    let (words, how, times) = plan.take()?;
    let is_there = words.is_empty() || chunk.windows(words.len()).any(|window| window == words);
    let left = times - usize::from(is_there);
    *plan = (left > 0).then_some((words, how, left));
    is_there.then_some(how)
}

fn fault(error: &StoreError) -> ServerFault {
    match error {
        StoreError::Server { fault, .. } => *fault,
        other => panic!("{other}"),
    }
}

#[test]
fn a_transaction_whose_connection_breaks_is_stored_once_wherever_it_breaks() {
    let mut f = Fixture::new();
    f.task("a", &[]);
    let proxy = Proxy::start();
    let mut store = proxy.open(f.engine.0.schema(), Patience::default());
    let mut title = "a".to_owned();
    for (words, how, expected) in [
        ("COMMIT\0", Break::Before, 2),
        ("COMMIT\0", Break::After, 1),
        // The server keeps the transaction and its lock, which nobody may wait for.
        ("COMMIT\0", Break::Silent, 2),
        ("BEGIN", Break::Before, 2),
        ("BEGIN", Break::After, 2),
    ] {
        // What nobody needs the answer of is sent with the end; else it was sent before.
        for is_sent_before in [false, true] {
            proxy.break_at(words, how, 1);
            let mut runs = 0;
            let written = store.write(Durability::Process, |tx| {
                runs += 1;
                tx.change("UPDATE tasks SET title = title || 'x'", [])?;
                if is_sent_before {
                    tx.one::<i64>("SELECT count(*) FROM tasks", [])?;
                }
                Ok(())
            });
            written.unwrap();
            title.push('x');
            let stored: String = f.store.one("SELECT title FROM tasks", []).unwrap();
            assert_eq!((runs, &stored), (expected, &title), "{words:?} {how:?} {is_sent_before}");
            // Others can write, too.
            f.store.write(Durability::Process, |tx| tx.change("UPDATE tasks SET title = title", [])).unwrap();
        }
    }
}

#[test]
fn a_reset_between_transactions_is_nothing_that_a_caller_notices() {
    let mut f = Fixture::new();
    let id = f.task("a", &[]);
    let proxy = Proxy::start();
    f.store = proxy.open(f.engine.0.schema(), Patience::default());
    for how in [Break::Before, Break::After, Break::Silent] {
        proxy.break_at("", how, 1);
        assert_eq!(f.store.task(id.as_str()).unwrap().title, "a");
        proxy.break_at("", how, 1);
        let (claimed, token) = f.claim().unwrap();
        proxy.break_at("", how, 1);
        f.store.release(&claimed.task.id, &token).unwrap();
    }
}

#[test]
fn a_server_that_accepts_connections_and_breaks_them_is_left_alone_in_between() {
    let f = Fixture::new();
    let proxy = Proxy::start();
    let patience = Patience {
        tell_after: Duration::ZERO,
        on_wait: |wait| wait.waited < Duration::from_secs(1),
        ..Patience::default()
    };
    let mut store = proxy.open(f.engine.0.schema(), patience);
    proxy.break_at("BEGIN", Break::Before, usize::MAX);
    let error = store.write(Durability::Process, |tx| tx.change("DELETE FROM tasks", [])).unwrap_err();
    assert_eq!(fault(&error), ServerFault::Lost);
    // The pauses grow.
    let opened = proxy.opened.load(Ordering::Relaxed);
    assert!((3..20).contains(&opened), "{opened}");
}

#[test]
fn a_copy_ends_when_its_source_is_lost() {
    let f = Fixture::new();
    let proxy = Proxy::start();
    let source = proxy.open(f.engine.0.schema(), Patience::default());
    let mut target = Fixture::new();
    proxy.break_at("FROM task_logs", Break::Before, 1);
    let error = target.store.copy_from(&source).unwrap_err();
    assert_eq!(fault(&error), ServerFault::Unreachable, "{error}");
}

#[test]
fn writes_see_what_was_written_before_them_whatever_a_server_does_by_default() {
    let mut f = Fixture::new();
    f.task("a", &[]);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut store = f.engine.open();
                store.conn().execute_batch("SET default_transaction_isolation TO 'repeatable read'").unwrap();
                for _ in 0..25 {
                    let add = |tx: &crate::store::sql::Connection| {
                        let title: String = tx.one("SELECT title FROM tasks", [])?;
                        tx.change("UPDATE tasks SET title = ?1", [format!("{title}x")])
                    };
                    store.write(Durability::Process, add).unwrap();
                }
            });
        }
    });
    assert_eq!(f.store.one::<String>("SELECT title FROM tasks", []).unwrap().len(), 101);
}

#[test]
fn a_row_that_another_transaction_keeps_is_waited_for_as_a_lock_is() {
    let mut f = Fixture::new();
    f.task("a", &[]);
    let patience = Patience { tell_after: Duration::from_millis(50), ..Patience::default() };
    let mut store = Store::open_server(&f.engine.0, patience).unwrap();
    let other = f.engine.open();
    other.conn().execute_batch("BEGIN; UPDATE tasks SET title = title").unwrap();
    let mut runs = 0;
    let written = store.write(Durability::Process, |tx| {
        runs += 1;
        if runs == 2 {
            other.conn().execute_batch("COMMIT")?;
        }
        tx.change("UPDATE tasks SET title = 'b'", [])
    });
    written.unwrap();
    assert_eq!((runs, &*f.store.one::<String>("SELECT title FROM tasks", []).unwrap()), (2, "b"));
}

#[test]
fn a_connection_over_the_network_is_encrypted_though_nobody_vouches_for_the_server() {
    let f = Fixture::new();
    let role = f.engine.0.schema();
    let grant = format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'right'; GRANT USAGE ON SCHEMA {role} TO {role};
         GRANT SELECT ON ALL TABLES IN SCHEMA {role} TO {role}"
    );
    f.store.conn().execute_batch(&grant).unwrap();
    let (_, port) = url().rsplit_once(':').unwrap();
    let is_encrypted = |mode: &str| -> bool {
        let url = format!("postgres://{role}:right@127.0.0.1:{port}?sslmode={mode}");
        let address = ServerAddress::parse(&url, role).unwrap();
        let store = Store::open_server(&address, Patience::default()).unwrap();
        store.one("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()", []).unwrap()
    };
    assert!(is_encrypted("prefer"));
    assert!(!is_encrypted("disable"));
}
