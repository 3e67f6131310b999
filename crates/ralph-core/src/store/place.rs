//! Where the plan of a project is: in a file, or on a server that a team shares.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

#[cfg(feature = "postgres")]
use super::ServerAddress;
use super::{Absent, Patience, Result, Store};

#[derive(Clone, Debug)]
pub enum StorePlace {
    File(PathBuf),
    #[cfg(feature = "postgres")]
    Server(Box<ServerAddress>),
}

impl StorePlace {
    /// The file; none of a server.
    pub fn file(&self) -> Option<&PathBuf> {
        match self {
            Self::File(path) => Some(path),
            #[cfg(feature = "postgres")]
            Self::Server(_) => None,
        }
    }

    /// Whether there may be a plan: what a server has is only known when it is asked.
    pub fn exists(&self) -> bool {
        self.file().is_none_or(|path| path.exists())
    }

    /// Opens it. A project on a server is made by a command of its own.
    pub fn open(&self, absent: Absent, patience: Patience) -> Result<Store> {
        match self {
            Self::File(path) => Store::open_with(path, absent, patience),
            #[cfg(feature = "postgres")]
            Self::Server(address) => Store::open_server(address, patience),
        }
    }

    pub fn open_read_only(&self) -> Result<Store> {
        match self {
            Self::File(path) => Store::open_read_only(path),
            #[cfg(feature = "postgres")]
            Self::Server(address) => Store::open_server_to_read(address, None),
        }
    }

    /// The same for what is not worth a wait: a server that does not answer within that time is left alone.
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "a file answers at once"))]
    pub fn open_read_only_within(&self, within: Duration) -> Result<Store> {
        match self {
            Self::File(path) => Store::open_read_only(path),
            #[cfg(feature = "postgres")]
            Self::Server(address) => Store::open_server_to_read(address, Some(within)),
        }
    }

    /// A second connection to what this process has open.
    pub fn open_again(&self) -> Result<Store> {
        match self {
            Self::File(path) => Store::open_again(path),
            #[cfg(feature = "postgres")]
            Self::Server(address) => Store::open_server(address, Patience::default()),
        }
    }
}

impl fmt::Display for StorePlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(out, "{}", path.display()),
            #[cfg(feature = "postgres")]
            Self::Server(address) => write!(out, "{address}"),
        }
    }
}

pub fn is_server(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

/// A URL with `***` in the place of a password, also of one that cannot be read.
pub fn without_password(url: &str) -> String {
    // That in the query first: it may hold an `@`.
    let shown = match url.find("password=") {
        Some(at) => {
            let (before, from) = url.split_at(at + "password=".len());
            let end = from.find('&').unwrap_or(from.len());
            format!("{before}***{}", &from[end..])
        }
        None => url.to_owned(),
    };
    let start = shown.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = shown.split_at(start);
    // A password may hold a slash, a question mark or an `@` that was not escaped; the query may hold one, too.
    let query = rest.find('?').unwrap_or(rest.len());
    let end = rest[..query].rfind('@').or_else(|| rest.rfind('@'));
    match end.map(|at| rest.split_at(at)) {
        Some((who, place)) => match who.split_once(':') {
            Some((user, _)) => format!("{scheme}{user}:***{place}"),
            None => shown,
        },
        None => shown,
    }
}
