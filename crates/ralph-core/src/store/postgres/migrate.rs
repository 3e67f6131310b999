//! Bringing a schema to the present version, all steps in one transaction.

use std::path::PathBuf;
use std::time::Duration;

use super::{ServerAddress, ServerFault, Session};
use crate::clock;
use crate::model::Timestamp;
use crate::store::connection::Connection;
use crate::store::sql::{Changes, Statements};
use crate::store::sqlite::{Durability, learning_index};
use crate::store::{Patience, Result, Store, StoreError};

/// Brings a schema to a version, which has the number of SQLite's step.
struct Step {
    version: u32,
    /// The oldest version whose Ralph can work with the schema then. A step that only adds names the version before its
    /// own, so that the machines of a team can be upgraded one after another.
    works_from: u32,
    sql: &'static str,
}

/// Steps are only ever appended.
const STEPS: [Step; 4] = [
    Step { version: 28, works_from: 28, sql: include_str!("../../../migrations/postgres/0028_schema.sql") },
    Step { version: 29, works_from: 29, sql: include_str!("../../../migrations/postgres/0029_sandbox.sql") },
    Step { version: 30, works_from: 30, sql: include_str!("../../../migrations/postgres/0030_kept_by.sql") },
    Step { version: 31, works_from: 31, sql: include_str!("../../../migrations/postgres/0031_outputs.sql") },
];

/// What a schema says of itself.
struct Found {
    version: u32,
    works_from: u32,
}

impl Store {
    /// Opens a project on a server, whose schema must be of the present version.
    pub fn open_server(address: &ServerAddress, patience: Patience) -> Result<Self> {
        let mut store = Self::connect_server(address, patience, None)?;
        if store.read(learning_index::is_behind)? {
            store.write(Durability::Process, learning_index::sync)?;
        }
        Ok(store)
    }

    /// The same without writing anything. Within that time it is opened or given up; without one it is sought as usual.
    pub(in crate::store) fn open_server_to_read(
        address: &ServerAddress,
        within: Option<Duration>,
    ) -> Result<Self> {
        let patience = match within {
            Some(_) => Patience { give_up_after: Duration::ZERO, ..Patience::default() },
            None => Patience::default(),
        };
        Self::connect_server(address, patience, within)
    }

    fn connect_server(address: &ServerAddress, patience: Patience, within: Option<Duration>) -> Result<Self> {
        let session = Session::open(address, within)?;
        session.set_patience(patience);
        let conn = Connection::Postgres(Box::new(session));
        let refused =
            |fault, why: &str| StoreError::Server { server: address.to_string(), fault, why: why.to_owned() };
        match found_version(&conn, address)? {
            None => return Err(refused(ServerFault::MissingProject, "no project was set up there")),
            Some(Found { version, .. }) if version < Self::VERSION => {
                let why =
                    format!("it has schema version {version}; this Ralph needs version {}", Self::VERSION);
                return Err(refused(ServerFault::OlderSchema, &why));
            }
            Some(found) => refuse_newer(address, &found)?,
        }
        follow_clock(&conn)?;
        Ok(Self::over(conn, &PathBuf::from(address.to_string()), patience))
    }

    /// Makes the schema of a project, or brings it to the present version. Returns the version that it had.
    pub fn migrate_server(address: &ServerAddress) -> Result<Option<u32>> {
        let session = Session::open(address, None)?;
        session.begin_write(super::Writes::Plan, Durability::Power, &Patience::default());
        let conn = Connection::Postgres(Box::new(session));
        conn.write(|tx| {
            let found = found_version(tx, address)?;
            if found.is_none() {
                tx.execute_batch(&format!("CREATE SCHEMA IF NOT EXISTS {}", address.quoted_schema()))?;
            }
            if let Some(found) = &found {
                refuse_newer(address, found)?;
            }
            let found = found.map(|found| found.version);
            for step in STEPS.iter().filter(|step| step.version > found.unwrap_or(0)) {
                tx.execute_batch(step.sql)?;
                let now = "UPDATE schema_version SET version = ?1, works_from = ?2";
                tx.change(now, [step.version, step.works_from])?;
            }
            Ok(found)
        })
    }
}

fn refuse_newer(address: &ServerAddress, found: &Found) -> Result<()> {
    let known = Store::VERSION;
    if found.version > known && found.works_from > known {
        let path = PathBuf::from(address.to_string());
        return Err(StoreError::NewerSchema { path, found: found.version, known });
    }
    Ok(())
}

/// None where no project was set up.
fn found_version(conn: &Connection, address: &ServerAddress) -> Result<Option<Found>> {
    let table = format!("{}.schema_version", address.quoted_schema());
    if !conn.one::<bool>("SELECT to_regclass(?1) IS NOT NULL", [&table])? {
        return Ok(None);
    }
    let found: Option<(u32, u32)> = conn.first("SELECT version, works_from FROM schema_version", [])?;
    Ok(found.map(|(version, works_from)| Found { version, works_from }))
}

/// Leases and everything else that several machines compare are told by the server's clock.
fn follow_clock(conn: &Connection) -> Result<()> {
    let now: i64 = conn.one("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint", [])?;
    clock::follow(Timestamp::from_millis(now));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_engines_have_the_same_newest_version() {
        assert_eq!(STEPS.last().map(|step| step.version), Some(Store::VERSION));
    }

    #[test]
    fn a_newer_schema_is_worked_with_where_it_says_so() {
        let address = ServerAddress::parse("postgres://u@localhost/d", "s").unwrap();
        for (version, works_from, works) in [(0, 0, true), (1, 0, true), (1, 1, false), (7, 3, false)] {
            let found = Found { version: Store::VERSION + version, works_from: Store::VERSION + works_from };
            assert_eq!(refuse_newer(&address, &found).is_ok(), works, "{version} {works_from}");
        }
    }
}
