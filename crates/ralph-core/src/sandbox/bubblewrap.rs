//! The first backend: bubblewrap. The process gets namespaces of its own, sees the machine's files read-only but for what the
//! policy lets it write, and ends with everything it started.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::backend::{Backend, BackendKind, Means, Problem};
use super::confined_by;
use super::inner::{Forward, Inner};
use super::policy::{FileKind, Files, Policy, TEMPORARY, ThisMachine};
use super::settings::Network;
use crate::agent::Launch;
use crate::text::one_line;

/// Capabilities that a root process keeps: those with which it deals with files and processes of its own box.
const ROOT_KEEPS: [&str; 7] =
    ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID"];
/// Settings of the kernel, which root could change by its name alone.
const KERNEL: [&str; 6] =
    ["/proc/sys", "/proc/sysrq-trigger", "/proc/acpi", "/proc/fs", "/proc/scsi", "/proc/mtrr"];
/// Devices that builds and tests use where there are any, beside those of every process.
const DEVICES: [&str; 8] = [
    "/dev/kvm",
    "/dev/dri",
    "/dev/kfd",
    "/dev/nvidia0",
    "/dev/nvidiactl",
    "/dev/nvidia-modeset",
    "/dev/nvidia-uvm",
    "/dev/nvidia-uvm-tools",
];
/// Where the proxy's socket is in the box.
pub(super) const PROXY_IN_BOX: &str = "/tmp/.ralph-proxy";
/// How much of an error of bubblewrap's is told.
const TOLD: usize = 200;

#[derive(Clone, Debug)]
pub struct Bubblewrap {
    program: PathBuf,
    is_root: bool,
}

/// What is mounted at a path, weaker first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mount {
    Read,
    Write,
    /// This file or directory of the host's.
    Other(PathBuf),
    ReadOnly,
    HideFile,
    HideDir,
}

impl Bubblewrap {
    /// Tries out whether bubblewrap works here. No program below the project is trusted to be it.
    pub(super) fn probe(project_root: &Path) -> Result<Self, Problem> {
        let problem =
            |why: String, fix: &str| Problem { backend: BackendKind::Bubblewrap, why, fix: fix.to_owned() };
        if !cfg!(target_os = "linux") {
            return Err(problem(
                "bubblewrap needs Linux".to_owned(),
                "run Ralph on Linux, or in a container",
            ));
        }
        let root = std::fs::canonicalize(project_root).unwrap_or_else(|_| project_root.to_owned());
        let search = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&search).filter(|dir| dir.is_absolute());
        let found = folders.filter_map(|dir| std::fs::canonicalize(dir.join("bwrap")).ok());
        let Some(program) = found.into_iter().find(|path| path.is_file() && !path.starts_with(&root)) else {
            let fix =
                "install bubblewrap: apt install bubblewrap, dnf install bubblewrap or pacman -S bubblewrap";
            return Err(problem("bubblewrap (bwrap) is not installed".to_owned(), fix));
        };
        let backend = Self { program, is_root: rustix::process::getuid().is_root() };
        let mut probe = Command::new(&backend.program);
        probe.args(backend.namespaces(&Network::None)).args(["--ro-bind", "/", "/", "--dev", "/dev"]);
        probe.args([
            "--proc",
            "/proc",
            "--tmpfs",
            "/tmp",
            "--remount-ro",
            "/tmp",
            "--",
            "/bin/sh",
            "-c",
            ":",
        ]);
        let done = probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).output();
        match done {
            Ok(done) if done.status.success() => Ok(backend),
            Ok(done) => {
                let said = String::from_utf8_lossy(&done.stderr);
                let why = format!("bubblewrap does not work here: {}", one_line(said.trim(), TOLD));
                Err(problem(why, fix_of(&said)))
            }
            Err(error) => Err(problem(format!("cannot start bwrap: {error}"), "reinstall bubblewrap")),
        }
    }

    /// Namespaces and rights, the same for every launch.
    fn namespaces(&self, network: &Network) -> Vec<&'static str> {
        let mut args = vec!["--die-with-parent", "--unshare-pid", "--unshare-ipc"];
        if !network.is_open() {
            args.push("--unshare-net");
        }
        if self.is_root {
            args.extend(["--cap-drop", "ALL"]);
            args.extend(ROOT_KEEPS.iter().flat_map(|capability| ["--cap-add", capability]));
        }
        args
    }
}

/// What can be done about what bubblewrap said.
fn fix_of(said: &str) -> &'static str {
    if Path::new("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").exists()
        && said.contains("uid map")
    {
        "AppArmor forbids it: install a profile that lets /usr/bin/bwrap use user namespaces (`userns,`), see docs/sandbox.md"
    } else if said.contains("proc") {
        "this container masks /proc: run it with --security-opt systempaths=unconfined, or run Ralph outside"
    } else if said.contains("Unknown option") {
        "update bubblewrap to 0.4 or newer"
    } else {
        "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1 and user.max_user_namespaces above 0; in a \
         container: --security-opt seccomp=unconfined"
    }
}

impl Backend for Bubblewrap {
    fn kind(&self) -> BackendKind {
        BackendKind::Bubblewrap
    }

    fn confine(&self, policy: &Policy, launch: Launch, means: &Means<'_>) -> io::Result<Launch> {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<String>>();
        let mut args = words(&self.namespaces(&policy.network));
        args.extend(words(&["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]));
        args.extend(DEVICES.iter().flat_map(|path| words(&["--dev-bind-try", path, path])));
        args.extend(KERNEL.iter().flat_map(|path| words(&["--ro-bind-try", path, path])));
        args.extend(arguments(&mounts(policy, means, &ThisMachine::default())));
        args.extend(["--chdir".to_owned(), text(&launch.cwd), "--".to_owned()]);
        let inner = Inner {
            limits: policy.limits,
            forward: means.proxy.map(|_| Forward {
                socket: PROXY_IN_BOX.into(),
                with_loopback: policy.network.names_this_machine(),
            }),
            ..Inner::default()
        };
        args.extend(inner.command(means.program, &launch.program, &launch.args)?);
        let mut env = policy.environment.clone();
        env.push(("TMPDIR".to_owned(), TEMPORARY[0].into()));
        let confined = Some(confined_by(&launch, &policy.limits));
        env.extend(launch.env);
        Ok(Launch { program: text(&self.program), args, env, confined, ..launch })
    }

    fn gaps(&self, _policy: &Policy, _is_isolated: bool) -> Vec<String> {
        Vec::new()
    }

    fn protects_inside(&self) -> bool {
        true
    }
}

/// Bubblewrap fails on a path that is not what it says, so one that is no text confines nothing by mistake.
fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// What is mounted where, directories before what is in them.
fn mounts(policy: &Policy, means: &Means<'_>, files: &dyn Files) -> BTreeMap<PathBuf, Mount> {
    let mut mounts: BTreeMap<PathBuf, Mount> = BTreeMap::new();
    let mut add = |path: &Path, mount: Mount| {
        let strongest = mounts.get(path).is_none_or(|known| *known < mount);
        if strongest {
            mounts.insert(path.to_owned(), mount);
        }
    };
    for path in TEMPORARY.iter().filter_map(|dir| files.real(Path::new(dir))) {
        add(&path, Mount::Other(means.temporary.to_owned()));
    }
    for path in policy.shown.iter().chain(&policy.kept) {
        add(path, Mount::Read);
    }
    for path in policy.writable.iter().chain(&policy.partly) {
        add(path, Mount::Write);
    }
    for (n, path) in policy.copied.iter().enumerate() {
        add(path, Mount::Other(means.copies.join(n.to_string())));
    }
    for path in &policy.read_only {
        add(path, Mount::ReadOnly);
    }
    for path in &policy.hidden {
        let is_dir = files.kind(path) == Some(FileKind::Directory);
        add(path, if is_dir { Mount::HideDir } else { Mount::HideFile });
    }
    if let Some(proxy) = means.proxy {
        add(Path::new(PROXY_IN_BOX), Mount::Other(proxy.to_owned()));
    }
    // A directory that holds what is protected could else be renamed, and another one put in its place.
    let inside = policy.read_only.iter().chain(&policy.hidden).chain(&policy.copied);
    let anchors = inside.flat_map(|path| {
        let above = path.ancestors().skip(1);
        let writable = path
            .ancestors()
            .skip(1)
            .find(|dir| policy.writable.contains(*dir) || policy.partly.contains(*dir));
        above.take_while(move |dir| {
            writable.is_some_and(|writable| dir.starts_with(writable) && *dir != writable)
        })
    });
    for dir in anchors {
        add(dir, Mount::Write);
    }
    mounts
}

fn arguments(mounts: &BTreeMap<PathBuf, Mount>) -> Vec<String> {
    let mut args = Vec::new();
    let mut add = |words: &[&str]| args.extend(words.iter().map(|&word| word.to_owned()));
    for (path, mount) in mounts {
        let path = text(path);
        match mount {
            Mount::Read | Mount::ReadOnly => add(&["--ro-bind", &path, &path]),
            // What is gone meanwhile is missed by nobody.
            Mount::Write => add(&["--bind-try", &path, &path]),
            Mount::Other(from) => add(&["--bind", &text(from), &path]),
            // A device on a mount without devices: opening it is denied.
            Mount::HideFile => add(&["--ro-bind", "/dev/null", &path]),
            Mount::HideDir => add(&["--tmpfs", &path]),
        }
    }
    for (path, mount) in mounts {
        if *mount == Mount::HideDir {
            add(&["--remount-ro", &text(path)]);
        }
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fake(Vec<&'static str>);

    impl Files for Fake {
        fn real(&self, path: &Path) -> Option<PathBuf> {
            Some(path.to_owned())
        }

        fn kind(&self, path: &Path) -> Option<FileKind> {
            let is_dir = self.0.iter().any(|dir| Path::new(dir) == path);
            Some(if is_dir { FileKind::Directory } else { FileKind::File })
        }

        fn entries(&self, _dir: &Path) -> Vec<PathBuf> {
            Vec::new()
        }

        fn is_installed(&self, _program: &str) -> bool {
            false
        }
    }

    fn paths(paths: &[&str]) -> std::collections::BTreeSet<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn what_is_protected_is_mounted_after_what_it_is_in_and_nothing_above_it_can_be_renamed() {
        let policy = Policy {
            writable: paths(&["/tmp/w", "/tmp/w/.git", "/home/u/.claude"]),
            read_only: paths(&["/tmp/w/.git/hooks", "/tmp/w/a/b/c.json", "/home/u/.claude/settings.json"]),
            hidden: paths(&["/home/u/.ssh", "/home/u/.netrc"]),
            shown: paths(&["/home/u/.ssh/known_hosts"]),
            copied: paths(&["/home/u/.claude.json"]),
            ..Policy::default()
        };
        let means = Means {
            program: Path::new("/usr/bin/ralph"),
            temporary: Path::new("/var/t"),
            copies: Path::new("/var/c"),
            proxy: None,
        };
        let found = arguments(&mounts(&policy, &means, &Fake(vec!["/home/u/.ssh"]))).join(" ");
        let expected = "--bind /var/c/0 /home/u/.claude.json --bind-try /home/u/.claude /home/u/.claude \
            --ro-bind /home/u/.claude/settings.json /home/u/.claude/settings.json \
            --ro-bind /dev/null /home/u/.netrc --tmpfs /home/u/.ssh \
            --ro-bind /home/u/.ssh/known_hosts /home/u/.ssh/known_hosts --bind /var/t /tmp --bind-try /tmp/w /tmp/w \
            --bind-try /tmp/w/.git /tmp/w/.git --ro-bind /tmp/w/.git/hooks /tmp/w/.git/hooks --bind-try /tmp/w/a /tmp/w/a \
            --bind-try /tmp/w/a/b /tmp/w/a/b --ro-bind /tmp/w/a/b/c.json /tmp/w/a/b/c.json --bind /var/t /var/tmp \
            --remount-ro /home/u/.ssh";
        let sorted = |text: &str| {
            let text = format!(" {text}");
            let mut words: Vec<String> = text.split(" --").map(str::to_owned).collect();
            words.sort_unstable();
            words.join("\n")
        };
        assert_eq!(sorted(&found), sorted(expected));
        let at = |text: &str| found.find(text).unwrap();
        assert!(
            at("--bind-try /tmp/w ") < at("--bind-try /tmp/w/.git ")
                && at("--bind /var/t /tmp") < at("--bind-try /tmp/w ")
        );
        assert!(at("--bind-try /tmp/w/a/b ") < at("c.json"));
        assert!(at("--tmpfs /home/u/.ssh") < at("known_hosts") && at("known_hosts") < at("--remount-ro"));
    }
}
