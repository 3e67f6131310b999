//! One connection to the server: sends statements one after another without waiting in between, and waits for all answers.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Connection, Error, Row, SimpleQueryMessage, Statement};

use super::values::Bound;
use super::{ServerAddress, ServerFault, fault};
use crate::store::{Result, StoreError};

/// How long the server has to take note of the end of a connection.
const GOODBYE: Duration = Duration::from_millis(500);
/// A process that was stopped within a transaction keeps its locks no longer than this.
const STOPPED_FOR: &str = "30s";
/// A connection that was not used for so long may be lost without a sign.
const IDLE: Duration = Duration::from_secs(1);

/// What is sent.
pub enum Item {
    /// Statements that begin a transaction; the answer is the last value.
    Begin(String),
    /// Statements without values and answers.
    Batch(String),
    Rows(Statement, Vec<Bound>),
    Change(Statement, Vec<Bound>),
}

pub enum Answer {
    Text(Option<String>),
    Rows(Vec<Row>),
    Changed(u64),
}

pub struct Link {
    /// None only while it is dropped.
    client: Option<Arc<Client>>,
    driver: JoinHandle<()>,
    runtime: Runtime,
    hint: Arc<Notify>,
    used: Cell<Instant>,
}

impl Link {
    /// `within` is how long the server has to answer, where that is less than usual.
    pub fn open(address: &ServerAddress, within: Option<Duration>) -> Result<Self> {
        let failed = |error: std::io::Error| StoreError::Server {
            server: address.to_string(),
            fault: ServerFault::Other,
            why: error.to_string(),
        };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let hint = Arc::new(Notify::new());
        let (client, driver) = address.connect(&runtime, &hint, within)?;
        let set = format!(
            "SET search_path TO {}; SET client_min_messages TO warning; SET jit TO off;
             SET idle_in_transaction_session_timeout TO '{STOPPED_FOR}'",
            address.quoted_schema()
        );
        runtime.block_on(client.batch_execute(&set)).map_err(|error| fault::of(address, &error))?;
        let used = Cell::new(Instant::now());
        Ok(Self { client: Some(Arc::new(client)), driver, runtime, hint, used })
    }

    /// Whether it is known to be lost. One that was not used for a moment is tried.
    pub fn is_lost(&self) -> bool {
        let Some(client) = &self.client else { return true };
        self.runtime.block_on(async {
            yield_now().await;
            yield_now().await;
            let is_idle = self.used.replace(Instant::now()).elapsed() > IDLE;
            client.is_closed() || is_idle && client.batch_execute("").await.is_err()
        })
    }

    /// Sends all at once; the answers come in the same order.
    pub fn send(&self, items: &[Item]) -> Vec<std::result::Result<Answer, Error>> {
        let Some(client) = &self.client else { return Vec::new() };
        self.used.set(Instant::now());
        self.runtime.block_on(all(items.iter().map(|item| ask(client, item))))
    }

    pub fn prepare(&self, statements: &[&str]) -> Vec<std::result::Result<Statement, Error>> {
        let Some(client) = &self.client else { return Vec::new() };
        self.runtime.block_on(all(statements.iter().map(|sql| client.prepare(sql))))
    }

    /// What fails is met by the next statement.
    pub fn send_without_waiting(&self, sql: &'static str) {
        let Some(client) = self.client.clone() else { return };
        self.runtime.block_on(async {
            self.runtime.spawn(async move { client.batch_execute(sql).await });
            // The task hands the statement to the connection, and the connection to the system.
            for _ in 0..3 {
                yield_now().await;
            }
        });
    }

    /// Whether a hint came within that time, or since the last call.
    pub fn wait_for_hint(&self, at_most: Duration) -> bool {
        self.runtime.block_on(async { timeout(at_most, self.hint.notified()).await.is_ok() })
    }
}

impl Drop for Link {
    /// Lets the server know, so that it does not log a broken connection.
    fn drop(&mut self) {
        self.client = None;
        self.runtime.block_on(async {
            let _ = timeout(GOODBYE, &mut self.driver).await;
        });
    }
}

/// Carries what is sent and received, for as long as the connection lasts.
pub async fn drive<S, T>(mut connection: Connection<S, T>, hint: Arc<Notify>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if matches!(message, AsyncMessage::Notification(_)) {
            hint.notify_one();
        }
    }
}

async fn ask(client: &Client, item: &Item) -> std::result::Result<Answer, Error> {
    fn params(values: &[Bound]) -> Vec<&(dyn ToSql + Sync)> {
        values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
    }
    match item {
        Item::Begin(sql) => {
            let answers = client.simple_query(sql).await?;
            let last = answers.iter().rev().find_map(|answer| match answer {
                SimpleQueryMessage::Row(row) => row.get(0),
                _ => None,
            });
            Ok(Answer::Text(last.map(str::to_owned)))
        }
        Item::Batch(sql) => client.batch_execute(sql).await.map(|()| Answer::Text(None)),
        Item::Rows(statement, values) => client.query(statement, &params(values)).await.map(Answer::Rows),
        Item::Change(statement, values) => {
            client.execute(statement, &params(values)).await.map(Answer::Changed)
        }
    }
}

/// Runs all futures side by side, each begun in turn.
async fn all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    type Pending<F> = (Pin<Box<F>>, Option<<F as Future>::Output>);
    let mut pending: Vec<Pending<F>> = futures.map(|future| (Box::pin(future), None)).collect();
    poll_fn(|context| {
        let mut is_ready = true;
        for (future, output) in &mut pending {
            if output.is_none() {
                match future.as_mut().poll(context) {
                    Poll::Ready(value) => *output = Some(value),
                    Poll::Pending => is_ready = false,
                }
            }
        }
        if is_ready { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    pending.into_iter().filter_map(|(_, output)| output).collect()
}
