//! Looking up a host's name within a time limit takes a thread; where none can be started, that is an error.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};

use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;
use ureq::unversioned::transport::time::Duration;

use crate::threads;

/// Does what ureq's own resolver does, which panics without a thread.
#[derive(Debug)]
pub struct ThreadedResolver;

impl Resolver for ThreadedResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let (sender, found) = sync_channel(1);
        let (uri, config) = (uri.clone(), config.clone());
        // Without a limit of its own the lookup starts no thread.
        let unlimited = NextTimeout {
            after: Duration::NotHappening,
            ..timeout
        };
        let look_up = move || {
            let answer = DefaultResolver::default().resolve(&uri, &config, unlimited);
            // Nobody waits any more when the time is over.
            let _ = sender.send(answer);
        };
        threads::start("resolver", look_up)?;
        match found.recv_timeout(*timeout.after) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => Err(Error::Timeout(timeout.reason)),
            Err(RecvTimeoutError::Disconnected) => Err(Error::HostNotFound),
        }
    }
}
