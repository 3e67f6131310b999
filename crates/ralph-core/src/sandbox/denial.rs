//! What the sandbox refused, as far as that can be seen from outside: in what programs printed, and in the proxy's list.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::policy::Policy;
use super::settings::Network;
use crate::model::names;
use crate::text::{Pattern, clean, mask_secrets, one_line, shell_word};

/// No line is looked at further.
const LINE: usize = 64 * 1024;
/// No path and no name of a host is longer.
const TARGET: usize = 200;
/// How much around an error is kept.
const AROUND: usize = 400;
/// Errors that are kept of one launch.
const MOST: usize = 100;
/// Denials of one attempt that are recorded.
const RECORDED: usize = 20;

names! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Denied {
        Write => "write",
        Read => "read",
        Connect => "connect",
    }
}

/// Something that was refused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Denial {
    pub what: Denied,
    /// The path or the host.
    pub target: String,
    /// The command that would allow it; none where nothing does.
    pub fix: Option<String>,
}

impl std::fmt::Display for Denial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.what {
            Denied::Write => "writing",
            Denied::Read => "reading",
            Denied::Connect => "connecting to",
        };
        write!(f, "{what} {}", self.target)?;
        match &self.fix {
            Some(fix) => write!(f, " (allow it: {fix})"),
            None if self.what == Denied::Read => {
                f.write_str(" (hidden on purpose; what allow_read does: docs/sandbox.md)")
            }
            None => f.write_str(" (no setting allows it)"),
        }
    }
}

/// Denials as the end of a sentence.
pub fn told(denials: &[Denial]) -> String {
    let shown: Vec<String> = denials.iter().take(3).map(Denial::to_string).collect();
    let more = denials.len().saturating_sub(shown.len());
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{rest}", shown.join("; "))
}

/// What an operation says that was refused, or that found nothing because something is hidden.
static ERRORS: Pattern = Pattern::new(
    r"(?i)permission denied|operation not permitted|read-only file ?system|device or resource busy|\bE(ACCES|PERM|ROFS|BUSY|NOENT|CONNREFUSED|NETUNREACH|NOTFOUND|AI_AGAIN)\b|os error (1|2|13|16|30|101|111)\b|no such file or directory|connection refused|network is unreachable|could ?n.t? resolve|could not resolve|name resolution|name or service not known|failed to lookup address|no address associated|cannot connect to|the sandbox does not allow",
);

/// Keeps what looks like an error from what a process prints.
#[derive(Debug, Default)]
pub struct ErrorLines {
    line: Vec<u8>,
    found: BTreeSet<String>,
}

impl ErrorLines {
    pub fn push(&mut self, chunk: &[u8]) {
        for part in chunk.split_inclusive(|byte| *byte == b'\n') {
            let room = LINE.saturating_sub(self.line.len());
            self.line.extend_from_slice(part.get(..room.min(part.len())).unwrap_or_default());
            if part.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if self.found.len() >= MOST {
            return;
        }
        let text = String::from_utf8_lossy(&line);
        if ERRORS.captures(&text).is_none() {
            return;
        }
        // Before anything is cut: half a key is none that is recognized.
        let text = clean(&text);
        let text = mask_secrets(&text);
        for found in ERRORS.captures_iter(&text).filter_map(|found| found.get(0)).take(MOST) {
            // A stream of events has the lines of an output in one of its own.
            let before = text.get(..found.start()).unwrap_or_default();
            let before = before.rsplit('\n').next().unwrap_or_default();
            let before = before.rsplit("\\n").next().unwrap_or_default();
            let after = text.get(found.start()..).unwrap_or_default();
            let after = after.split('\n').next().unwrap_or_default();
            let after = after.split("\\n").next().unwrap_or_default();
            let from = floor(before, before.len().saturating_sub(AROUND));
            let to = floor(after, after.len().min(AROUND));
            let kept =
                format!("{}{}", before.get(from..).unwrap_or_default(), after.get(..to).unwrap_or_default());
            self.found.insert(kept.trim().to_owned());
        }
    }

    pub fn finish(mut self) -> BTreeSet<String> {
        self.end_line();
        self.found
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Who says that a host was not reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Proxy,
    Program,
}

/// What errors are judged by.
#[derive(Clone, Copy)]
pub(super) struct Judge<'j> {
    pub policy: &'j Policy,
    pub cwd: &'j Path,
    pub home: Option<&'j Path>,
    /// The directories that the settings let be written.
    pub cache: &'j [String],
    /// The setting of the network.
    pub network: &'static str,
    /// Whether a path could be written outside of the sandbox; it, or the directory it would be made in.
    pub could_write: &'j dyn Fn(&Path) -> bool,
}

static PATHS: Pattern = Pattern::new(
    r#"(?:^|[\s'"`:=(<>\[,|\u{2018}])(?<path>(?:~|\.{1,2})?/[^\s'"`:;,()<>\[\]{}|\\\u{2018}\u{2019}]+)"#,
);
static HOSTS: Pattern = Pattern::new(
    r"(?i)(?:resolve host(?:name)?:? |lookup (?:address )?|ENOTFOUND |EAI_AGAIN |ECONNREFUSED |connect(?:ing|ion)? to |connections to |https?://|host )[\x22'(]*((?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]*[a-z0-9]|localhost)(?::(\d+))?",
);

impl Judge<'_> {
    /// The denials among errors, each once.
    pub(super) fn denials(&self, errors: &BTreeSet<String>, refused: &BTreeSet<String>) -> Vec<Denial> {
        let is_name = |host: &&String| host.bytes().all(|byte| byte.is_ascii_graphic());
        let mut denials: BTreeSet<Denial> =
            refused.iter().filter(is_name).map(|host| self.connect(host, By::Proxy)).collect();
        for error in errors {
            denials.extend(self.of_network(error));
            denials.extend(self.of_files(error));
        }
        let is_short = |denial: &Denial| one_line(&denial.target, TARGET) == denial.target;
        denials.into_iter().filter(is_short).take(RECORDED).collect()
    }

    fn of_files(&self, error: &str) -> Vec<Denial> {
        let lower = error.to_ascii_lowercase();
        let is_missing =
            lower.contains("no such file") || lower.contains("enoent") || lower.contains("os error 2)");
        let found = PATHS.captures_iter(error).filter_map(|found| found.name("path"));
        // `http://host/path` has no path of this machine.
        let found = found.map(|found| found.as_str()).filter(|path| !path.starts_with("//"));
        let paths = found.map(|path| path.trim_end_matches(['.', '!', '?']));
        paths.filter_map(|path| self.of_path(&self.whole(path), is_missing)).collect()
    }

    fn of_path(&self, path: &Path, is_missing: bool) -> Option<Denial> {
        let policy = self.policy;
        // Programs name links, and the policy what they lead to.
        let path = &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let shown = |path: &Path| self.shown(path);
        let is_below = |set: &BTreeSet<PathBuf>| path.ancestors().any(|above| set.contains(above));
        if is_below(&policy.hidden) && !is_below(&policy.shown) {
            // Anybody can print this. Ralph does not say how to give away what is hidden.
            return Some(Denial { what: Denied::Read, target: shown(path), fix: None });
        }
        if is_missing {
            return None;
        }
        if is_below(&policy.read_only) || policy.missing.contains(path) {
            return Some(Denial { what: Denied::Write, target: shown(path), fix: None });
        }
        let is_temporary =
            super::policy::TEMPORARY.iter().any(|dir| path.starts_with(dir)) && !is_below(&policy.kept);
        let is_of_system = ["/proc", "/dev", "/sys"].iter().any(|dir| path.starts_with(dir));
        if policy.is_below_writable(path) || is_temporary || is_of_system || !(self.could_write)(path) {
            return None;
        }
        let fix = self.writable_for(path).map(|path| self.set("sandbox.cache", self.cache, &shown(path)));
        Some(Denial { what: Denied::Write, target: shown(path), fix })
    }

    /// What the settings would have to name for a path to be written: its directory, but never one that holds nearly
    /// everything, and nothing of Ralph's or git's.
    fn writable_for<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let is_own = |part: Component<'_>| [".git", ".ralph"].iter().any(|own| part.as_os_str() == *own);
        if path.components().any(is_own) {
            return None;
        }
        let holds_much = |dir: &Path| {
            let is_above = |all: &Path| all.starts_with(dir);
            dir.components().count() <= 2
                || self.home.is_some_and(is_above)
                || is_above(&self.policy.work_tree)
        };
        let dir = if path.is_dir() { path } else { path.parent()? };
        match holds_much(dir) {
            false => Some(dir),
            true => Some(path).filter(|path| path.is_file()),
        }
    }

    fn of_network(&self, error: &str) -> Vec<Denial> {
        if self.policy.network.is_open() {
            return Vec::new();
        }
        let lower = error.to_ascii_lowercase();
        let of_network =
            ["resol", "refused", "unreach", "notfound", "eai_again", "lookup", "not known", "address"];
        if !of_network.iter().any(|word| lower.contains(word)) {
            return Vec::new();
        }
        let hosts = HOSTS.captures_iter(error);
        hosts.filter_map(|found| found.get(1)).map(|host| self.connect(host.as_str(), By::Program)).collect()
    }

    fn connect(&self, host: &str, by: By) -> Denial {
        let setting = format!("sandbox.{}", self.network);
        let is_of_machine =
            host == "localhost" || host.starts_with("127.") || host.parse::<std::net::IpAddr>().is_ok();
        // What asked the proxy for this machine gets through where that is listed; what did not ask it needs more.
        let can_be_listed = !is_of_machine || by == By::Proxy && !host.contains(':');
        let fix = match &self.policy.network {
            Network::Hosts(hosts) if can_be_listed => self.set(&setting, hosts, host),
            _ if is_of_machine => format!("ralph config set {setting} open"),
            _ => self.set(&setting, &[], host),
        };
        Denial { what: Denied::Connect, target: host.to_owned(), fix: Some(fix) }
    }

    /// The command that adds to a list.
    fn set(&self, setting: &str, list: &[String], more: &str) -> String {
        let all: Vec<&str> = list.iter().map(String::as_str).chain([more]).collect();
        format!("ralph config set {setting} {}", shell_word(&all.join(",")))
    }

    /// An absolute path without `.` and `..`, by its words alone.
    fn whole(&self, path: &str) -> PathBuf {
        let path = match (path.strip_prefix("~/"), self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.cwd.join(path),
        };
        let mut whole = PathBuf::new();
        for part in path.components() {
            match part {
                Component::ParentDir => _ = whole.pop(),
                Component::CurDir => {}
                part => whole.push(part),
            }
        }
        whole
    }

    fn shown(&self, path: &Path) -> String {
        let below =
            self.home.and_then(|home| path.strip_prefix(home).ok()).filter(|rest| *rest != Path::new(""));
        below.map_or_else(|| path.display().to_string(), |rest| format!("~/{}", rest.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(network: Network) -> Policy {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect();
        Policy {
            writable: paths(&["/home/u/w", "/home/u/.npm"]),
            read_only: paths(&["/home/u/w/.git/config"]),
            hidden: paths(&["/home/u/.ssh"]),
            network,
            ..Policy::default()
        }
    }

    fn denials(network: Network, output: &str) -> Vec<String> {
        let mut lines = ErrorLines::default();
        for chunk in output.as_bytes().chunks(7) {
            lines.push(chunk);
        }
        let policy = policy(network);
        let judge = Judge {
            policy: &policy,
            cwd: Path::new("/home/u/w"),
            home: Some(Path::new("/home/u")),
            cache: &["/opt/c".to_owned()],
            network: "gate_network",
            could_write: &|path| path.starts_with("/home/u") || path.starts_with("/opt"),
        };
        judge.denials(&lines.finish(), &BTreeSet::new()).iter().map(Denial::to_string).collect()
    }

    #[test]
    fn files_that_were_refused_are_found_in_what_programs_say() {
        let cache = |dir: &str| format!("(allow it: ralph config set sandbox.cache '/opt/c,{dir}')");
        for (output, expected) in [
            (
                "touch: cannot touch '/home/u/notes.txt': Read-only file system",
                "writing ~/notes.txt (no setting allows it)".to_owned(),
            ),
            (
                "PermissionError: [Errno 13] Permission denied: '/home/u/.local/lib/x.py'",
                format!("writing ~/.local/lib/x.py {}", cache("~/.local/lib")),
            ),
            (
                r#"{"type":"user","content":"ok\nsh: 1: cannot create ../other/x: Read-only file system\nmore"}"#,
                format!("writing ~/other/x {}", cache("~/other")),
            ),
            (
                "error: could not lock config file /home/u/w/.git/config: Device or resource busy",
                "writing ~/w/.git/config (no setting allows it)".to_owned(),
            ),
            (
                "cat: /home/u/.ssh/id_rsa: No such file or directory",
                "reading ~/.ssh/id_rsa (hidden on purpose; what allow_read does: docs/sandbox.md)".to_owned(),
            ),
            (
                "touch: \x1b]0;title\x07/opt/a/\x1b[31mx\x1b[0m: Permission denied",
                "writing /opt/a/x (allow it: ralph config set sandbox.cache /opt/c,/opt/a)".to_owned(),
            ),
            (
                "touch: /opt/a/password=hunter2-secret/y: Permission denied",
                "writing /opt/a/password= (allow it: ralph config set sandbox.cache /opt/c,/opt/a)"
                    .to_owned(),
            ),
        ] {
            assert_eq!(denials(Network::Open, output), [expected], "{output}");
        }
        for harmless in [
            "cat: /home/u/w/missing.txt: No such file or directory",
            "cat: /etc/shadow: Permission denied",
            "/home/u/w/run.sh: Permission denied",
            "wrote /home/u/notes.txt",
            "error: cannot update refs/heads/x: Permission denied",
            "/proc/1/mem: Permission denied",
            "curl: (6) Could not resolve host: api.example.com",
            &format!("touch: /opt/{}: Permission denied", "long/".repeat(60)),
            "Connection refused: http://opt/c",
        ] {
            assert!(denials(Network::Open, harmless).is_empty(), "{harmless}");
        }
    }

    #[test]
    fn hosts_that_could_not_be_reached_are_found_where_the_network_is_not_open() {
        let listed = Network::Hosts(vec!["a.example.com".to_owned()]);
        for (network, output, expected) in [
            (
                Network::None,
                "curl: (6) Could not resolve host: api.example.com",
                "connecting to api.example.com (allow it: ralph config set sandbox.gate_network api.example.com)",
            ),
            (
                listed,
                "Error: getaddrinfo EAI_AGAIN registry.npmjs.org",
                "connecting to registry.npmjs.org (allow it: ralph config set sandbox.gate_network \
                 a.example.com,registry.npmjs.org)",
            ),
            (
                Network::Loopback,
                "Error: connect ECONNREFUSED 127.0.0.1:5432",
                "connecting to 127.0.0.1 (allow it: ralph config set sandbox.gate_network open)",
            ),
        ] {
            assert_eq!(denials(network, output), [expected], "{output}");
        }
    }
}
