//! Where a project is on a server.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, NoTls, Socket};

use super::link::drive;
use super::tls::Tls;
use super::{ServerFault, fault};
use crate::store::{Result, StoreError, is_server, without_password};

/// How long a server has to answer a connection.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// How long a server may give no sign that it received anything.
const UNHEARD: Duration = Duration::from_secs(30);

/// A database and the schema of one project in it. It is shown without its password.
#[derive(Clone)]
pub struct ServerAddress {
    config: Config,
    schema: String,
    /// The clone that this process works in, by its host and its root.
    clone: String,
}

impl ServerAddress {
    /// Reads `postgres://user@host:port/database?sslmode=require`.
    pub fn parse(url: &str, schema: &str) -> Result<Self> {
        let wrong = |why: String| StoreError::Server {
            server: without_password(url),
            fault: ServerFault::Other,
            why: format!("the URL cannot be read: {why}"),
        };
        if !is_server(url) {
            return Err(wrong("it does not begin with postgres://".to_owned()));
        }
        let mut config = Config::from_str(url).map_err(|error| wrong(super::fault::cause(&error)))?;
        if config.get_application_name().is_none() {
            config.application_name("ralph");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(ANSWER_WITHIN);
        }
        // A server that vanished without a word is noticed while something is asked of it, and while nothing is.
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(UNHEARD);
        }
        if !url.contains("keepalives_idle") {
            config.keepalives_idle(UNHEARD);
        }
        Ok(Self { config, schema: schema.to_owned(), clone: String::new() })
    }

    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// Says in which clone this process works: what is only true there is kept under its name.
    pub fn in_clone(mut self, host: &str, root: &Path) -> Self {
        self.clone = format!("{host}:{}", root.display());
        self
    }

    pub(in crate::store) fn clone_name(&self) -> &str {
        &self.clone
    }

    pub fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }

    /// Sets the password, which the URL need not have.
    pub fn with_password(mut self, password: &str) -> Self {
        self.config.password(password);
        self
    }

    /// What a line of a password file is compared with: host, port, database and user.
    pub fn identity(&self) -> [String; 4] {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(host)) => host.clone(),
            Some(Host::Unix(_)) | None => "localhost".to_owned(),
        };
        let port = self.config.get_ports().first().copied().unwrap_or(5432).to_string();
        let user = self.config.get_user().unwrap_or_default().to_owned();
        let database = self.config.get_dbname().unwrap_or(&user).to_owned();
        [host, port, database, user]
    }

    pub(super) fn quoted_schema(&self) -> String {
        format!("\"{}\"", self.schema.replace('"', "\"\""))
    }

    /// The number of the lock that all writes to the project take.
    pub(super) fn lock(&self) -> i64 {
        let digest: [u8; 32] = Sha256::digest(format!("ralph {}", self.schema)).into();
        digest.first_chunk().map_or(0, |bytes| i64::from_be_bytes(*bytes))
    }

    pub(super) fn connect(
        &self,
        runtime: &Runtime,
        hint: &Arc<Notify>,
        within: Option<Duration>,
    ) -> Result<(Client, JoinHandle<()>)> {
        let mode = self.config.get_ssl_mode();
        let mut config = self.config.clone();
        if let Some(within) = within {
            config.connect_timeout(within);
        }
        let mut plain = config.clone();
        let plain = plain.ssl_mode(SslMode::Disable);
        let is_local = self.config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
        if mode == SslMode::Disable || is_local {
            return self.connect_with(plain, NoTls, runtime, hint);
        }
        let tls = Tls::new().map_err(|error| self.failed(ServerFault::Other, error.to_string()))?;
        match self.connect_with(&config, tls, runtime, hint) {
            // `prefer` asks for no proof of who answers, so a certificate that proves nothing is no obstacle.
            Err(StoreError::Server { fault: ServerFault::Certificate, .. }) if mode == SslMode::Prefer => {
                self.connect_with(plain, NoTls, runtime, hint)
            }
            encrypted => encrypted,
        }
    }

    fn connect_with<T>(
        &self,
        config: &Config,
        tls: T,
        runtime: &Runtime,
        hint: &Arc<Notify>,
    ) -> Result<(Client, JoinHandle<()>)>
    where
        T: MakeTlsConnect<Socket>,
        T::Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let within = config.get_connect_timeout().copied().unwrap_or(ANSWER_WITHIN);
        let connected = runtime.block_on(async { timeout(within, config.connect(tls)).await });
        let connected =
            connected.map_err(|_| self.failed(ServerFault::Unreachable, "it does not answer".to_owned()))?;
        let (client, connection) = connected.map_err(|error| fault::of(self, &error))?;
        Ok((client, runtime.spawn(drive(connection, Arc::clone(hint)))))
    }

    fn failed(&self, fault: ServerFault, why: String) -> StoreError {
        StoreError::Server { server: self.to_string(), fault, why }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(host)) => host.clone(),
            Some(Host::Unix(path)) => path.display().to_string(),
            None => String::new(),
        };
        let port = match self.config.get_ports().first() {
            Some(port) => format!(":{port}"),
            None => String::new(),
        };
        let database = self.config.get_dbname().unwrap_or_default();
        write!(out, "postgres://{host}{port}/{database} (schema {})", self.schema)
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_shown() {
        for (url, shown) in [
            ("postgres://u:secret@h/d", "postgres://u:***@h/d"),
            ("postgres://u:se/cr@et@h/d", "postgres://u:***@h/d"),
            (
                "postgres://u@h/d?password=secret&sslmode=require",
                "postgres://u@h/d?password=***&sslmode=require",
            ),
            ("postgres://u@h/d", "postgres://u@h/d"),
        ] {
            assert_eq!(without_password(url), shown);
            if let Ok(address) = ServerAddress::parse(url, "s") {
                assert!(!format!("{address} {address:?}").contains("secret"), "{address}");
            }
        }
    }
}
