//! What an error of the server means to people.

use tokio_postgres::error::SqlState;

use super::ServerAddress;
use crate::store::StoreError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerFault {
    /// Nobody answers, or the server starts or shuts down.
    Unreachable,
    /// The connection broke.
    Lost,
    WrongPassword,
    /// The server's certificate is not trusted here.
    Certificate,
    MissingDatabase,
    /// The schema does not exist: no project was set up there.
    MissingProject,
    /// The schema is of an earlier version.
    OlderSchema,
    Denied,
    /// A standby, or a database that is set to be read only.
    ReadOnly,
    DiskFull,
    Locked,
    /// A row would contradict another.
    Conflict,
    Other,
}

pub fn of(address: &ServerAddress, error: &tokio_postgres::Error) -> StoreError {
    let server = address.to_string();
    let Some(state) = error.code() else {
        let fault = if error.is_closed() { ServerFault::Lost } else { io_fault(error) };
        return StoreError::Server { server, fault, why: cause(error) };
    };
    let fault = match *state {
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            ServerFault::WrongPassword
        }
        SqlState::INVALID_CATALOG_NAME => ServerFault::MissingDatabase,
        SqlState::INVALID_SCHEMA_NAME | SqlState::UNDEFINED_TABLE => ServerFault::MissingProject,
        SqlState::INSUFFICIENT_PRIVILEGE => ServerFault::Denied,
        SqlState::READ_ONLY_SQL_TRANSACTION => ServerFault::ReadOnly,
        SqlState::DISK_FULL => ServerFault::DiskFull,
        SqlState::LOCK_NOT_AVAILABLE | SqlState::T_R_DEADLOCK_DETECTED => ServerFault::Locked,
        SqlState::ADMIN_SHUTDOWN
        | SqlState::CRASH_SHUTDOWN
        | SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT => ServerFault::Lost,
        SqlState::CANNOT_CONNECT_NOW | SqlState::TOO_MANY_CONNECTIONS => ServerFault::Unreachable,
        _ => match state.code().get(..2) {
            Some("23") => ServerFault::Conflict,
            Some("08") => ServerFault::Lost,
            _ => ServerFault::Other,
        },
    };
    let why = error.as_db_error().map_or_else(|| cause(error), |error| error.message().to_owned());
    StoreError::Server { server, fault, why }
}

fn io_fault(error: &tokio_postgres::Error) -> ServerFault {
    let source = std::error::Error::source(error);
    match source.and_then(|source| source.downcast_ref::<std::io::Error>()) {
        Some(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => ServerFault::Lost,
        Some(error) if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) => {
            ServerFault::Certificate
        }
        Some(_) => ServerFault::Unreachable,
        None => ServerFault::Other,
    }
}

/// What lies behind an error; the client's own words only say in which step it happened.
pub(super) fn cause(error: &tokio_postgres::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}
