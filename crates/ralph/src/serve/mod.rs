//! The dashboard: one page, served from here, that shows a project and carries out what the person who opened it asks for.
//!
//! A thread has the connections ([`connections`]), one looks for what is new ([`watcher`]), two read views and act ([`api`]). None of
//! them is part of a run: a dashboard may come and go.

mod access;
mod api;
mod changes;
mod connections;
mod dag;
mod groups;
mod http;
mod now;
mod routes;
mod task;
mod watcher;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ralph_core::agent::Interrupt;

use access::Access;
pub use access::Changes;
use api::Api;
use connections::Connections;
use watcher::Watcher;

use crate::command_error::CommandError;

/// Where to listen.
#[derive(Clone, Debug)]
pub struct Place {
    pub address: IpAddr,
    /// The name that stands for the address, if that was given.
    pub name: Option<String>,
    /// 0: any that is free.
    pub port: u16,
}

impl Place {
    /// A number or a name of this machine.
    pub fn of(host: &str, port: u16) -> Result<Self, CommandError> {
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if let Ok(address) = bare.parse() {
            return Ok(Self { address, name: None, port });
        }
        let found = (host, port).to_socket_addrs().ok().and_then(|mut found| found.next());
        let found = found.ok_or_else(|| {
            CommandError::usage(format_args!("`{host}` is no address of this machine"))
                .hint("give an address such as 192.168.1.10, or 0.0.0.0 for all of them")
        })?;
        Ok(Self { address: found.ip(), name: Some(host.to_owned()), port })
    }

    pub fn is_loopback(&self) -> bool {
        self.address.is_loopback()
    }
}

/// A dashboard that has its address, and answers once it runs.
pub struct Dashboard {
    listener: TcpListener,
    access: Access,
}

impl Dashboard {
    pub fn bind(place: &Place, changes: Changes) -> Result<Self, CommandError> {
        let address = SocketAddr::new(place.address, place.port);
        let failed = |error: io::Error| {
            let message = format!("cannot listen on {address}: {error}");
            match error.kind() {
                io::ErrorKind::AddrInUse => CommandError::environment(message)
                    .hint("another program uses this port; leave --port out to take a free one"),
                io::ErrorKind::PermissionDenied => {
                    CommandError::environment(message).hint("take a port above 1023")
                }
                _ => CommandError::environment(message).hint("give an address of this machine with --host"),
            }
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, access: Access::new(address, place.name.clone(), changes)? })
    }

    /// What a browser opens.
    pub fn link(&self) -> String {
        self.access.link()
    }

    /// Answers until the interrupt.
    pub fn serve(self, root: &Path, interrupt: &Interrupt) -> Result<(), CommandError> {
        let failed =
            |error: io::Error| CommandError::environment(format_args!("the dashboard stopped: {error}"));
        let (mut connections, messages) = Connections::new(self.listener).map_err(failed)?;
        let access = self.access;
        let api = Api::open(root, &messages, interrupt, access.changes)?;
        let pages = Arc::new(AtomicUsize::new(0));
        let watcher = Watcher {
            root: root.to_owned(),
            messages,
            pages: pages.clone(),
            interrupt: interrupt.clone(),
            changes: access.changes,
        };
        let watcher = thread::Builder::new().name("watcher".to_owned()).spawn(move || watcher.run());
        let watcher = watcher.map_err(failed)?;
        let handle = |id, request| routes::handle(&access, &api, id, request);
        let told = |open| {
            pages.store(open, Ordering::Relaxed);
            watcher.thread().unpark();
        };
        connections.serve(interrupt, handle, told).map_err(failed)
    }
}
