//! Whose files a project consists of. Settings and templates run commands and speak to agents, so files that another user
//! made or may change are not obeyed without consent.

use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::project::Project;

/// Files of one directory that are checked.
const MOST_FILES: usize = 1000;
const WORLD_WRITABLE: u32 = 0o002;

/// The users whose files are obeyed, besides root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    uid: u32,
    behind_sudo: Option<u32>,
}

impl User {
    /// The user of this process. `sudo_uid` is the variable by which sudo names the user who called it; it is believed only
    /// when root asks.
    #[must_use]
    pub fn of_process(sudo_uid: Option<&str>) -> Self {
        Self::new(rustix::process::geteuid().as_raw(), sudo_uid)
    }

    fn new(uid: u32, sudo_uid: Option<&str>) -> Self {
        let behind_sudo = sudo_uid.filter(|_| uid == 0);
        Self { uid, behind_sudo: behind_sudo.and_then(|uid| uid.parse().ok()) }
    }

    fn is_obeyed(self, owner: u32) -> bool {
        owner == 0 || owner == self.uid || Some(owner) == self.behind_sudo
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Distrust {
    Foreign { path: PathBuf, owner: u32 },
    WorldWritable { path: PathBuf },
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign { path, owner } => {
                write!(f, "{} belongs to another user (uid {owner})", path.display())
            }
            Self::WorldWritable { path } => {
                write!(f, "{} is world-writable", path.display())
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Facts {
    owner: u32,
    mode: u32,
}

impl From<Metadata> for Facts {
    fn from(meta: Metadata) -> Self {
        Self { owner: meta.uid(), mode: meta.mode() }
    }
}

/// The first file of a project that is not to be obeyed.
#[must_use]
pub fn distrust(project: &Project, user: User) -> Option<Distrust> {
    obeyed(project).into_iter().find_map(|path| {
        let own = path.symlink_metadata().ok()?.into();
        let target = path.metadata().ok().map(Facts::from);
        distrust_of(path, own, target, user)
    })
}

/// `own` is the file at the path itself; `target` what it leads to, if it is a link.
fn distrust_of(path: PathBuf, own: Facts, target: Option<Facts>, user: User) -> Option<Distrust> {
    let owners = [Some(own.owner), target.map(|target| target.owner)];
    if let Some(owner) = owners.into_iter().flatten().find(|owner| !user.is_obeyed(*owner)) {
        return Some(Distrust::Foreign { path, owner });
    }
    // The mode of a link itself means nothing.
    let is_open = target.is_some_and(|target| target.mode & WORLD_WRITABLE != 0);
    is_open.then_some(Distrust::WorldWritable { path })
}

/// Every file whose content Ralph acts on. Directories come before what is in them.
fn obeyed(project: &Project) -> Vec<PathBuf> {
    let dir = project.ralph_dir();
    let mut paths = vec![project.config(), dir.clone()];
    let names = ["progress.db", "progress.db-wal", "progress.db-shm", "logs"];
    paths.extend(names.map(|name| dir.join(name)));
    for below in [project.templates(), dir.join("specs")] {
        paths.push(below.clone());
        paths.extend(entries(&below));
    }
    paths
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.take(MOST_FILES).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(own: (u32, u32), target: Option<(u32, u32)>, user: User) -> Option<Distrust> {
        let facts = |(owner, mode)| Facts { owner, mode };
        distrust_of("f".into(), facts(own), target.map(facts), user)
    }

    #[test]
    fn own_files_and_those_of_root_are_obeyed() {
        let user = User::new(1000, None);
        let file = |owner, mode| judged((owner, mode), Some((owner, mode)), user);
        assert_eq!(file(1000, 0o644), None);
        assert_eq!(file(1000, 0o664), None, "a group may write");
        assert_eq!(file(0, 0o644), None);
        assert!(matches!(file(1001, 0o600), Some(Distrust::Foreign { .. })));
        assert!(matches!(file(1000, 0o646), Some(Distrust::WorldWritable { .. })));
        assert!(matches!(file(0, 0o666), Some(Distrust::WorldWritable { .. })));
    }

    #[test]
    fn a_link_is_judged_by_both_of_its_ends() {
        let user = User::new(1000, None);
        let foreign = |found| matches!(found, Some(Distrust::Foreign { owner: 1001, .. }));
        assert!(foreign(judged((1001, 0o777), Some((1000, 0o644)), user)));
        assert!(foreign(judged((1000, 0o777), Some((1001, 0o644)), user)));
        assert!(foreign(judged((1001, 0o777), None, user)), "a dead link");
        assert_eq!(judged((1000, 0o777), Some((1000, 0o644)), user), None);
    }

    #[test]
    fn root_obeys_the_user_who_called_sudo_and_no_other() {
        let file = |user| judged((1000, 0o644), Some((1000, 0o644)), user);
        assert_eq!(file(User::new(0, Some("1000"))), None);
        assert!(file(User::new(0, None)).is_some());
        assert!(file(User::new(0, Some("1001"))).is_some());
        assert!(file(User::new(0, Some("x"))).is_some());
        assert!(file(User::new(1002, Some("1000"))).is_some(), "anybody can set the variable");
    }
}
