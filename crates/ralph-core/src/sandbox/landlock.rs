//! The second backend: rules of the kernel that a process puts on itself and all that it starts. It needs no namespaces. What
//! it cannot take out of a writable directory it cannot protect, so attempts work in a tree of their own.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::backend::{Backend, BackendKind, Means, Problem};
use super::confined_by;
use super::inner::Inner;
use super::policy::Policy;
use super::settings::Network;
use crate::agent::Launch;

/// The version of the kernel's rules that also covers renames between directories and truncation.
const LEAST: i32 = 3;
/// The first version that keeps signals and abstract sockets in.
const SCOPES: i32 = 6;

#[derive(Clone, Debug)]
pub struct Landlock {
    version: i32,
}

/// Rules for files; everything else may be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    pub writable: BTreeSet<PathBuf>,
    pub hidden: BTreeSet<PathBuf>,
    pub shown: BTreeSet<PathBuf>,
    /// What is needed below directories that cannot be listed.
    pub used: BTreeSet<PathBuf>,
}

impl Landlock {
    pub(super) fn probe() -> Result<Self, Problem> {
        let version = version();
        if version >= LEAST {
            return Ok(Self { version });
        }
        let why = match version {
            ..=0 => "this kernel has no Landlock".to_owned(),
            version => format!("this kernel's Landlock is version {version}; {LEAST} is needed"),
        };
        let fix = "use Linux 6.2 or newer with landlock in its list of security modules (lsm=landlock,…)";
        Err(Problem { backend: BackendKind::Landlock, why, fix: fix.to_owned() })
    }
}

impl Backend for Landlock {
    fn kind(&self) -> BackendKind {
        BackendKind::Landlock
    }

    fn confine(&self, policy: &Policy, launch: Launch, means: &Means<'_>) -> io::Result<Launch> {
        let mut writable = policy.writable.clone();
        writable.extend(policy.copied.iter().cloned());
        writable.insert(means.temporary.to_owned());
        let (hidden, shown, used) = (policy.hidden.clone(), policy.shown.clone(), policy.used.clone());
        let rules = Rules { writable, hidden, shown, used };
        let no_sockets = policy.network == Network::None;
        let inner = Inner { limits: policy.limits, rules: Some(rules), no_sockets, ..Inner::default() };
        let mut words = inner.command(means.program, &launch.program, &launch.args)?;
        let program = words.remove(0);
        let mut env = policy.environment.clone();
        env.push(("TMPDIR".to_owned(), means.temporary.into()));
        let confined = Some(confined_by(&launch, &policy.limits));
        env.extend(launch.env);
        Ok(Launch { program, args: words, env, confined, ..launch })
    }

    fn gaps(&self, policy: &Policy, is_isolated: bool) -> Vec<String> {
        let mut gaps = vec![
            "sockets in the file system can be connected to (ssh-agent, D-Bus, docker)".to_owned(),
            "processes that an attempt hides may outlive it until Ralph finds them".to_owned(),
        ];
        if !policy.hidden.is_empty() {
            gaps.push("what deny_read names can be read in the work tree and in caches".to_owned());
        }
        for path in &policy.copied {
            gaps.push(format!("agents can change {}, which names programs that they start", path.display()));
        }
        if !is_isolated {
            gaps.push(
                ".ralph is in the writable work tree, and .ralph.toml, .git/hooks and .git/config are only put back \
                 after each launch; in a git repository with [git] commit = \"on-success\" attempts get a tree of \
                 their own"
                    .to_owned(),
            );
        }
        if self.version < SCOPES {
            gaps.push("signals and abstract sockets are not kept in".to_owned());
        }
        match policy.network {
            Network::Open | Network::None => {}
            Network::Loopback => {
                gaps.push("network = \"loopback\" needs bubblewrap: the network is open".to_owned())
            }
            Network::Hosts(_) => {
                gaps.push("a list of hosts needs bubblewrap: the network is open".to_owned())
            }
        }
        gaps
    }

    fn protects_inside(&self) -> bool {
        false
    }
}

/// The version of Landlock in this kernel; 0 or less where there is none.
#[cfg(target_os = "linux")]
fn version() -> i32 {
    const ASK_VERSION: libc::c_uint = 1;
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: asks for a number; no memory is given.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, ASK_VERSION) };
    i32::try_from(version).unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
fn version() -> i32 {
    0
}

/// Restricts this process. Without rules for files only signals and abstract sockets are kept in, where the kernel can do
/// that.
#[cfg(target_os = "linux")]
pub(super) fn restrict(rules: Option<&Rules>) -> io::Result<()> {
    use landlock::{
        ABI, Access, AccessFs, CompatLevel, Compatible, RestrictionStatus, Ruleset, RulesetAttr,
        RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
    };
    let abi = ABI::V6;
    if rules.is_none() && version() < SCOPES {
        return Ok(());
    }
    let all = AccessFs::from_all(abi);
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    if rules.is_some() {
        ruleset = ruleset.handle_access(all).map_err(io::Error::other)?;
    }
    let ruleset = ruleset.scope(Scope::from_all(abi)).map_err(io::Error::other)?;
    let mut ruleset = ruleset.create().map_err(io::Error::other)?;
    if let Some(rules) = rules {
        drop_capabilities();
        let (open, passed) = readable(rules);
        let write = all & !(AccessFs::MakeChar | AccessFs::MakeBlock);
        let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::ReadDir | AccessFs::IoctlDev;
        for (paths, access) in [
            (open, AccessFs::from_read(abi)),
            (passed, AccessFs::ReadDir.into()),
            (rules.shown.iter().cloned().collect(), AccessFs::from_read(abi)),
            (rules.writable.iter().cloned().collect(), write),
            (DEVICES.iter().map(PathBuf::from).collect(), device),
            (vec!["/dev/shm".into()], write),
        ] {
            let beneath = path_beneath_rules(paths, access);
            ruleset = ruleset.add_rules(beneath).map_err(io::Error::other)?;
        }
    }
    let RestrictionStatus { ruleset, .. } = ruleset.restrict_self().map_err(io::Error::other)?;
    match (ruleset, rules) {
        (RulesetStatus::NotEnforced, Some(_)) => Err(io::Error::other("Landlock is not enforced")),
        _ => Ok(()),
    }
}

#[cfg(target_os = "linux")]
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// What may be read: whole directories, and those of which only the names may, because something in them is hidden.
#[cfg(target_os = "linux")]
fn readable(rules: &Rules) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut open, mut passed) = (Vec::new(), Vec::new());
    let mut next = vec![PathBuf::from("/")];
    while let Some(path) = next.pop() {
        if rules.hidden.contains(&path) {
            continue;
        }
        if !holds_hidden(rules, &path) {
            open.push(path);
            continue;
        }
        match std::fs::read_dir(&path) {
            Ok(entries) => {
                let entries = entries.flatten();
                let real = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
                next.extend(real.map(|entry| entry.path()));
            }
            // One may pass through it, to what is known to be there.
            Err(_) => next.extend(known_below(rules, &path)),
        }
        passed.push(path);
    }
    (open, passed)
}

/// The next parts of all paths that are known below a directory.
#[cfg(target_os = "linux")]
fn known_below(rules: &Rules, dir: &Path) -> BTreeSet<PathBuf> {
    let known = rules.writable.iter().chain(&rules.hidden).chain(&rules.shown).chain(&rules.used);
    let next = known.filter_map(|path| Some(dir.join(path.strip_prefix(dir).ok()?.components().next()?)));
    next.collect()
}

#[cfg(target_os = "linux")]
fn holds_hidden(rules: &Rules, dir: &Path) -> bool {
    rules.hidden.range(dir.to_owned()..).next().is_some_and(|first| first.starts_with(dir))
}

/// As root: what is left deals with files and processes only, which the rules cover.
#[cfg(target_os = "linux")]
fn drop_capabilities() {
    // chown, dac_override, fowner, fsetid, kill, setgid, setuid.
    const KEPT: [libc::c_ulong; 7] = [0, 1, 3, 4, 5, 6, 7];
    for capability in (0..64).filter(|capability| !KEPT.contains(capability)) {
        // SAFETY: gives up a right of this process; without the right to do that nothing happens.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn paths(paths: &[&str]) -> BTreeSet<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn what_is_hidden_is_left_out_and_all_beside_it_stays_readable() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["home/.ssh", "home/.config/gh", "home/.config/git", "home/work"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        let hidden = [root.join("home/.ssh"), root.join("home/.config/gh")].into();
        let (open, passed) = readable(&Rules { hidden, ..Rules::default() });
        assert!(open.contains(&root.join("home/work")) && open.contains(&root.join("home/.config/git")));
        assert!(passed.contains(&root.join("home")) && passed.contains(&root.join("home/.config")));
        let is_hidden = |path: &PathBuf| path.starts_with(root.join("home/.ssh")) || root.starts_with(path);
        assert!(!open.iter().any(is_hidden), "{open:?}");
    }

    #[test]
    fn below_a_directory_that_cannot_be_listed_what_is_known_is_readable() {
        let rules = Rules {
            writable: paths(&["/home/u/w"]),
            hidden: paths(&["/home/u/.ssh", "/home/other"]),
            used: paths(&["/home/brew/bin", "/usr/bin"]),
            ..Rules::default()
        };
        let found = known_below(&rules, Path::new("/home"));
        assert_eq!(found, paths(&["/home/brew", "/home/other", "/home/u"]));
    }
}
