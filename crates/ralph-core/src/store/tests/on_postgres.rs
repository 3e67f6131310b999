//! The contract again, on a PostgreSQL server that the tests share; each test has a schema of its own.
#![expect(clippy::duplicate_mod, reason = "the same tests run on both engines")]

#[path = "capture.rs"]
mod capture;
#[path = "claims.rs"]
mod claims;
#[path = "completion.rs"]
mod completion;
#[path = "decisions.rs"]
mod decisions;
#[path = "events.rs"]
mod events;
#[path = "learnings/mod.rs"]
mod learnings;
#[path = "leftovers.rs"]
mod leftovers;
#[path = "plan.rs"]
mod plan;
#[path = "ready.rs"]
mod ready;
#[path = "specs.rs"]
mod specs;

use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::store::{Patience, ServerAddress};

type Fixture = FixtureOf<Server>;

/// Fewer: each needs a schema, and it is SQL that may differ here, not what the stories are about.
const STORIES: u32 = 24;

/// A schema of the server of the tests.
#[derive(Clone)]
pub struct Server(pub ServerAddress);

impl Engine for Server {
    fn make(_: &Path) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let schema = format!("t_{}_{number}", std::process::id());
        let address = ServerAddress::parse(url(), &schema).unwrap();
        assert_eq!(Store::migrate_server(&address).unwrap(), None);
        Self(address)
    }

    fn open(&self) -> Store {
        Store::open_server(&self.0, Patience::default()).unwrap()
    }
}

/// The server of the tests.
pub fn url() -> &'static str {
    static URL: OnceLock<String> = OnceLock::new();
    URL.get_or_init(|| {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/test-postgres");
        let output = Command::new(script).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    })
}
