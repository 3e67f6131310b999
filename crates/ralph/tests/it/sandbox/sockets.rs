//! Sockets of services that do for a process what it may not do itself.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use super::{BACKENDS, agent, confined};
use crate::run::DONE;

/// Connects to each socket and says which ones it reached.
const REACH: &str = "import os, socket, sys\n\
    for name in os.environ['RALPH_SOCKETS'].split(':'):\n\
    \x20   s = socket.socket(socket.AF_UNIX)\n\
    \x20   try:\n\
    \x20       s.connect(name)\n\
    \x20       print('REACHED', name)\n\
    \x20   except OSError as error:\n\
    \x20       print('refused', name, error)\n";

/// A socket at a place of the machine, removed with what was made for it.
struct OfMachine {
    socket: PathBuf,
    made: PathBuf,
    _listener: UnixListener,
}

impl OfMachine {
    /// None where this user may make nothing there.
    fn at(dir: &str, name: &str) -> Option<Self> {
        let dir = Path::new(dir);
        let made = dir.ancestors().take_while(|dir| !dir.exists()).last().map(Path::to_owned);
        fs::create_dir_all(dir).ok()?;
        let socket = dir.join(name);
        let listener = UnixListener::bind(&socket).ok()?;
        Some(Self { made: made.unwrap_or_else(|| socket.clone()), socket, _listener: listener })
    }
}

impl Drop for OfMachine {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.socket);
        let _ = fs::remove_dir_all(&self.made);
    }
}

#[test]
fn sockets_of_services_cannot_be_reached_where_docs_say_so() {
    let own = std::process::id();
    let of_machine: Vec<OfMachine> = [
        ("/run/docker", format!("test-{own}.sock")),
        ("/run/dbus", format!("test-{own}")),
        (&*format!("/run/user/{}", 700_000 + own), "bus".to_owned()),
        ("/tmp/.X11-unix", format!("X{own}")),
    ]
    .iter()
    .filter_map(|(dir, name)| OfMachine::at(dir, name))
    .collect();
    for backend in BACKENDS {
        let mut project = confined(backend);
        let home = project.path("../home").canonicalize().unwrap();
        // Variables of a person's name these.
        let named = ["agent.sock", "docker.sock", "bus"].map(|name| home.join(name));
        let listeners = named.each_ref().map(|path| UnixListener::bind(path).unwrap());
        let [agent_of_keys, docker, bus] = named.each_ref().map(|path| path.display().to_string());
        project.set_env("SSH_AUTH_SOCK", &agent_of_keys);
        project.set_env("DOCKER_HOST", &format!("unix://{docker}"));
        project.set_env("DBUS_SESSION_BUS_ADDRESS", &format!("unix:path={bus},guid=1"));
        let machine = of_machine.iter().map(|one| one.socket.display().to_string());
        let all: Vec<String> = machine.chain([agent_of_keys, docker, bus]).collect();
        project.set_env("RALPH_SOCKETS", &all.join(":"));
        project.write("reach.py", REACH);
        agent(&project, &format!("python3 reach.py > agent.txt; {DONE}"));
        project.add(&["A", "--verify", "python3 reach.py; cat agent.txt"]);
        project.ok(&["run"]);
        drop(listeners);
        let said = project.history()[0]["gate_output"].as_str().unwrap().to_owned();
        let count = |word: &str| said.lines().filter(|line| line.starts_with(word)).count();
        let expected = if backend == "bubblewrap" { (0, 2 * all.len()) } else { (2 * all.len(), 0) };
        // Landlock stops none, which docs/sandbox.md says and each run tells as a gap.
        assert_eq!((count("REACHED"), count("refused")), expected, "{backend}: {said}");
        let gaps = project.history()[0]["sandbox"]["gaps"].to_string();
        assert_eq!(gaps.contains("sockets in the file system"), backend == "landlock", "{gaps}");
    }
}
