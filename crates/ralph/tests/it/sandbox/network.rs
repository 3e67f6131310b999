//! What agents and gates reach, as the settings say.

use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::thread;

use super::{agent, commit, confined, made};
use crate::run::DONE;
use crate::support::Project;

/// Connects, sends and looks up by every way there is, and prints what got through. `python3 reach.py PORT`.
const REACH: &str = r#"
import os, socket, sys, urllib.request
port = int(sys.argv[1])
def way(name, reach):
    try:
        reach()
        print("REACHED", name)
    except OSError as error:
        print("refused", name, error)
def connect(family, host):
    s = socket.socket(family)
    s.settimeout(5)
    s.connect((host, port))
def send():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(3)
    s.sendto(b"x", ("127.0.0.1", port))
    s.recv(1)
way("ip", lambda: connect(socket.AF_INET, "127.0.0.1"))
way("ipv6", lambda: connect(socket.AF_INET6, "::1"))
way("udp", send)
way("name", lambda: connect(socket.AF_INET, "localhost"))
way("look-up", lambda: socket.getaddrinfo("example.com", 80))
def through(host):
    proxy = os.environ.get("HTTP_PROXY")
    if proxy is None:
        raise OSError("no proxy")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy}))
    return opener.open(f"http://{host}:{port}/", timeout=5).read()
way("proxy to a listed host", lambda: through("127.0.0.1"))
way("proxy to another host", lambda: through("localhost"))
if len(sys.argv) > 2:
    s = socket.create_server(("127.0.0.1", 0))
    c = socket.create_connection(s.getsockname())
    print("REACHED own loopback")
"#;

/// A server on this machine that answers on TCP and UDP; its port.
pub fn server() -> u16 {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let udp = UdpSocket::bind(("127.0.0.1", port)).unwrap();
    if let Ok(six) = TcpListener::bind(("::1", port)) {
        thread::spawn(move || six.incoming().count());
    }
    thread::spawn(move || {
        let mut byte = [0; 1];
        while let Ok((_, from)) = udp.recv_from(&mut byte) {
            let _ = udp.send_to(b"y", from);
        }
    });
    thread::spawn(move || {
        for mut client in tcp.incoming().flatten() {
            thread::spawn(move || {
                let _ = client.read(&mut [0; 4096]);
                let _ = client.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok");
            });
        }
    });
    port
}

fn reached(project: &Project, of: &str) -> Vec<String> {
    let said = made(project, of);
    said.lines().filter_map(|line| line.strip_prefix("REACHED ")).map(str::to_owned).collect()
}

fn reaches(backend: &str, settings: &str, more: &str) -> (Project, [Vec<String>; 2]) {
    let project = confined(backend);
    let port = server();
    project.write("reach.py", REACH);
    project.agent(&format!("python3 reach.py {port} {more} > agent.txt 2>&1; {DONE}"));
    let text = project.read("agent.sh").replacen(
        "cat > \"$RALPH_PROJECT/.ralph/last-prompt\"",
        "cat > /dev/null",
        1,
    );
    project.write("agent.sh", &text);
    project.write(".gitignore", "/gate.txt\n");
    project.set("sandbox", settings);
    commit(&project);
    project.add(&[
        "A",
        "--verify",
        &format!("test -f agent.txt && python3 reach.py {port} {more} 2>&1 | tee gate.txt"),
    ]);
    project.ok(&["run"]);
    project.write("gate.txt", project.history()[0]["gate_output"].as_str().unwrap());
    let found = [reached(&project, "agent.txt"), reached(&project, "gate.txt")];
    (project, found)
}

#[test]
fn an_open_network_is_the_machines_own() {
    let (_, [agent, gate]) = reaches("bubblewrap", "network = \"open\"", "");
    for found in [agent, gate] {
        assert!(["ip", "udp", "name"].iter().all(|way| found.contains(&(*way).to_owned())), "{found:?}");
    }
}

#[test]
fn without_a_network_nothing_is_reached_but_a_box_of_namespaces_has_its_own_loopback() {
    let settings = "network = \"none\"\ngate_network = \"loopback\"";
    let (_, [agent, gate]) = reaches("bubblewrap", settings, "own");
    assert_eq!((agent, gate), (vec!["own loopback".to_owned()], vec!["own loopback".to_owned()]));
    let (project, [agent, gate]) = reaches("landlock", "network = \"none\"\ngate_network = \"none\"", "");
    assert_eq!((agent, gate), (Vec::<String>::new(), Vec::<String>::new()));
    assert_eq!(project.history()[0]["sandbox"]["network"], "none");
}

#[test]
fn without_a_network_landlock_leaves_only_sockets_of_this_machine() {
    let project = confined("landlock");
    // The packet, RDS, TIPC, Bluetooth, VSOCK and SMC families; most kernels have none of them.
    let script = "import socket\nfor family in [2, 10, 17, 21, 30, 31, 40, 43]:\n    try:\n        \
                  socket.socket(family)\n        print('MADE', family)\n    except OSError as error:\n        \
                  print('errno', error.errno)\nsocket.socketpair()\nsocket.socket(16, socket.SOCK_RAW)\nprint('OWN')\n";
    project.write("families.py", script);
    project.set("sandbox", "network = \"none\"");
    agent(&project, &format!("python3 families.py > said.txt 2>&1; {DONE}"));
    project.add(&["A"]);
    project.ok(&["run"]);
    assert_eq!(made(&project, "said.txt"), format!("{}OWN\n", "errno 1\n".repeat(8)));
}

#[test]
fn a_list_of_hosts_is_all_that_is_reached_and_the_rest_is_named() {
    let settings = "network = [\"127.0.0.1\"]\ngate_network = [\"127.0.0.1\"]";
    let (project, [agent, gate]) = reaches("bubblewrap", settings, "");
    let only = vec!["proxy to a listed host".to_owned()];
    assert_eq!((agent, gate), (only.clone(), only));
    let denials = &project.history()[0]["sandbox"]["denials"];
    assert!(denials.as_array().unwrap().iter().any(|denial| denial["target"] == "localhost"), "{denials}");
}

#[test]
fn what_landlock_cannot_do_for_the_network_is_said() {
    let project = confined("landlock");
    project.agent(DONE);
    project.set("sandbox", "network = [\"api.example.com\"]\ngate_network = \"loopback\"");
    let text = project.read("agent.sh").replacen(
        "cat > \"$RALPH_PROJECT/.ralph/last-prompt\"",
        "cat > /dev/null",
        1,
    );
    project.write("agent.sh", &text);
    project.write(".gitignore", "");
    commit(&project);
    project.add(&["A"]);
    let shown = project.ok(&["run"]).stdout;
    assert!(shown.contains("a list of hosts needs bubblewrap"), "{shown}");
    let gaps = project.history()[0]["sandbox"]["gaps"].to_string();
    assert!(gaps.contains("loopback") && gaps.contains("a list of hosts"), "{gaps}");
}
