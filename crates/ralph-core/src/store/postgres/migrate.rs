//! Bringing a schema to the present version, all steps in one transaction.

use std::path::PathBuf;

use super::{ServerAddress, ServerFault, Session};
use crate::clock;
use crate::model::Timestamp;
use crate::store::connection::Connection;
use crate::store::sql::{Changes, Statements};
use crate::store::sqlite::{Durability, learning_index};
use crate::store::{Patience, Result, Store, StoreError};

/// Each step brings a schema to the version of its number, the same as that of SQLite's step. Steps are only ever appended.
const STEPS: [(u32, &str); 3] = [
    (28, include_str!("../../../migrations/postgres/0028_schema.sql")),
    (29, include_str!("../../../migrations/postgres/0029_sandbox.sql")),
    (30, include_str!("../../../migrations/postgres/0030_outputs.sql")),
];

impl Store {
    /// Opens a project on a server, whose schema must be of the present version.
    pub fn open_server(address: &ServerAddress, patience: Patience) -> Result<Self> {
        let session = Session::open(address)?;
        session.set_patience(patience);
        let conn = Connection::Postgres(Box::new(session));
        let refused =
            |fault, why: &str| StoreError::Server { server: address.to_string(), fault, why: why.to_owned() };
        match found_version(&conn, address)? {
            None => return Err(refused(ServerFault::MissingProject, "no project was set up there")),
            Some(version) if version < Self::VERSION => {
                let why =
                    format!("it has schema version {version}; this Ralph needs version {}", Self::VERSION);
                return Err(refused(ServerFault::OlderSchema, &why));
            }
            Some(version) => refuse_newer(address, version)?,
        }
        follow_clock(&conn)?;
        let mut store = Self::over(conn, &PathBuf::from(address.to_string()), patience);
        if store.read(learning_index::is_behind)? {
            store.write(Durability::Process, learning_index::sync)?;
        }
        Ok(store)
    }

    /// Makes the schema of a project, or brings it to the present version. Returns the version that it had.
    pub fn migrate_server(address: &ServerAddress) -> Result<Option<u32>> {
        let session = Session::open(address)?;
        session.begin_write(super::Writes::Plan, Durability::Power, &Patience::default());
        let conn = Connection::Postgres(Box::new(session));
        conn.write(|tx| {
            let found = found_version(tx, address)?;
            if found.is_none() {
                tx.execute_batch(&format!("CREATE SCHEMA IF NOT EXISTS {}", address.quoted_schema()))?;
            }
            if let Some(version) = found {
                refuse_newer(address, version)?;
            }
            for (version, step) in STEPS.iter().filter(|(version, _)| *version > found.unwrap_or(0)) {
                tx.execute_batch(step)?;
                tx.change("UPDATE schema_version SET version = ?1", [version])?;
            }
            Ok(found)
        })
    }
}

fn refuse_newer(address: &ServerAddress, found: u32) -> Result<()> {
    let known = Store::VERSION;
    if found > known {
        return Err(StoreError::NewerSchema { path: PathBuf::from(address.to_string()), found, known });
    }
    Ok(())
}

/// None where no project was set up.
fn found_version(conn: &Connection, address: &ServerAddress) -> Result<Option<u32>> {
    let table = format!("{}.schema_version", address.quoted_schema());
    if !conn.one::<bool>("SELECT to_regclass(?1) IS NOT NULL", [&table])? {
        return Ok(None);
    }
    conn.first("SELECT version FROM schema_version", [])
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
        assert_eq!(STEPS.last().map(|(version, _)| *version), Some(Store::VERSION));
    }
}
