//! The other end of the proxy, in the box: programs there know proxies only by an address of the network, so a process of
//! Ralph's passes what comes to a port of the box's own loopback on to the proxy's socket.

use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::inner::{COMMAND, Forward};
use super::proxy::pump;

/// Between two tries to accept a connection.
pub(super) const NAP: Duration = Duration::from_millis(50);
/// Instead of an order: the listening socket is on standard input.
const FORWARD: &str = "forward";

/// Starts the process and gives the variables by which programs find it.
pub(super) fn start(forward: &Forward) -> io::Result<Vec<(&'static str, OsString)>> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = format!("http://{}", listener.local_addr()?);
    Command::new(std::env::current_exe()?)
        .args([COMMAND, FORWARD])
        .arg(&forward.socket)
        .stdin(Stdio::from(OwnedFd::from(listener)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    let mut variables: Vec<(&str, OsString)> = names.map(|name| (name, address.clone().into())).into();
    let own = if forward.with_loopback { "" } else { "localhost,127.0.0.1,::1" };
    variables.extend(["NO_PROXY", "no_proxy"].map(|name| (name, own.into())));
    // Node has proxies only where it is told to.
    variables.push(("NODE_USE_ENV_PROXY", "1".into()));
    Ok(variables)
}

/// Whether this process was started by [`start`].
pub(super) fn is_forwarder(order: &str) -> bool {
    order == FORWARD
}

/// Passes connections on until the box ends.
pub(super) fn run(socket: &Path) -> io::Error {
    let listener = match io::stdin().as_fd().try_clone_to_owned() {
        Ok(descriptor) => TcpListener::from(descriptor),
        Err(error) => return error,
    };
    loop {
        match listener.accept() {
            Ok((client, _)) => {
                let proxy = UnixStream::connect(socket);
                let pass = move || proxy.map(|proxy| pump(&proxy, &client));
                // One that cannot be passed on is closed.
                let _ = thread::Builder::new().name("forward".to_owned()).spawn(pass);
            }
            Err(error) if matches!(error.raw_os_error(), Some(libc::EBADF | libc::EINVAL)) => return error,
            // A client that is gone already, or too many files that are open.
            Err(_) => thread::sleep(NAP),
        }
    }
}
