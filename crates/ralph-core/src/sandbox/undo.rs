//! What a process did where nothing may be written is undone when it has ended: what appeared is moved away, and what a backend
//! cannot protect is put back as it was. Nothing confines this, so nothing here goes through a link that the process made.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::policy::Policy;
use super::run::{MOVED, Undone};
use crate::files::{self, create_anew, open, unguessable};
use crate::project::RALPH_DIR;
use crate::text::code_line;

/// Larger files are not kept.
const KEPT: u64 = 64 * 1024;
/// Git's own directory of hooks, which may be outside of the project.
const HOOKS: &str = ".git/hooks";
/// Files of one directory that are kept.
const MOST_KEPT: usize = 200;

/// Something that a process did where nothing may be written, and that was undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forbidden {
    pub path: PathBuf,
    /// Where what the process made is now.
    pub moved: PathBuf,
    /// Whether it had been there before, and is as it was.
    pub is_restored: bool,
}

impl Forbidden {
    /// As a warning, for those who know the working tree.
    pub fn told(&self, work_tree: &Path) -> String {
        let Self { path, moved, is_restored } = self;
        let path = path.strip_prefix(work_tree).unwrap_or(path).display().to_string();
        let path = code_line(&path, 200);
        let name = moved.file_name().unwrap_or_default().to_string_lossy();
        match is_restored {
            true => format!("{path} may not be changed in an attempt; Ralph restored it"),
            false => {
                let name = code_line(&name, 200);
                format!("{path} may not be made in an attempt; Ralph moved it to {RALPH_DIR}/{MOVED}/{name}")
            }
        }
    }
}

/// Links in places that nothing may be written to, and where they lead: no backend keeps a link from being replaced.
#[derive(Clone, Debug, Default)]
pub(super) struct Links(BTreeMap<PathBuf, PathBuf>);

impl Links {
    pub(super) fn of(policy: &Policy) -> Self {
        let links = policy.links.iter();
        Self(links.filter_map(|link| Some((link.clone(), fs::read_link(link).ok()?))).collect())
    }
}

/// What may not be written and is not protected, as it is before the launch.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    /// Small files.
    files: Vec<(PathBuf, Content)>,
    /// Directories such as that of hooks, with the names of what is in them.
    dirs: Vec<(PathBuf, BTreeSet<OsString>)>,
}

impl Kept {
    pub(super) fn of(policy: &Policy) -> Self {
        let mut kept = Self::default();
        // What cannot be written is a person's to change meanwhile.
        let is_exposed = |path: &&PathBuf| path.ancestors().any(|dir| policy.writable.contains(dir));
        for path in policy.read_only.iter().filter(is_exposed) {
            // Ralph's own changes all the time, and what is in an agent's home may be another session's.
            let is_of_project =
                !path.ends_with(RALPH_DIR) && (path.starts_with(&policy.work_tree) || path.ends_with(HOOKS));
            let Some(entries) = fs::read_dir(path).ok().filter(|_| is_of_project) else {
                kept.files.extend(content_of(path).map(|content| (path.clone(), content)));
                continue;
            };
            let entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            let files = entries.iter().filter_map(|path| Some((path.clone(), content_of(path)?)));
            kept.files.extend(files.take(MOST_KEPT));
            let names = entries.iter().filter_map(|path| Some(path.file_name()?.to_owned()));
            kept.dirs.push((path.clone(), names.collect()));
        }
        kept
    }
}

/// What is in a small regular file, and its rights.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Content {
    bytes: Vec<u8>,
    rights: Permissions,
}

fn content_of(path: &Path) -> Option<Content> {
    let file = open(path, files::Links::Refuse).ok()?;
    let rights = file.metadata().ok()?.permissions();
    let mut bytes = Vec::new();
    file.take(KEPT + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= KEPT).then_some(Content { bytes, rights })
}

/// Undoes what a process did that has ended, as far as that can be done.
pub(super) fn undo(policy: &Policy, kept: &Kept, links: &Links, aside: &Path) -> Undone {
    let mut undoing = Undoing { policy, aside, undone: Undone::default() };
    for (path, leads) in &links.0 {
        undoing.at(path, |undoing| undoing.restore_link(path, leads));
    }
    let is_there = |path: &&PathBuf| path.symlink_metadata().is_ok();
    for path in policy.missing.iter().filter(is_there) {
        undoing.at(path, |undoing| undoing.remove(path));
    }
    for (dir, names) in kept.dirs.iter().filter(|(dir, _)| is_there(&dir)) {
        undoing.at(dir, |undoing| undoing.remove_new(dir, names));
    }
    for (path, content) in &kept.files {
        undoing.at(path, |undoing| undoing.restore(path, content));
    }
    undoing.undone
}

struct Undoing<'u> {
    policy: &'u Policy,
    aside: &'u Path,
    undone: Undone,
}

impl Undoing<'_> {
    /// One place. The first thing that cannot be undone is remembered.
    fn at(&mut self, path: &Path, undo: impl FnOnce(&mut Self) -> io::Result<()>) {
        let checked = self.remove_links_to(path).and_then(|()| undo(self));
        if let Err(error) = checked
            && self.undone.failed.is_none()
        {
            let error = io::Error::new(error.kind(), format!("{}: {error}", path.display()));
            self.undone.failed = Some(error);
        }
    }

    /// Policies have real paths: a link on the way to one was made since, and what it leads to is somebody else's.
    fn remove_links_to(&mut self, path: &Path) -> io::Result<()> {
        let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
        let above = path.ancestors().skip(1).take_while(|dir| self.policy.is_below_writable(dir));
        let link = above.filter(|dir| is_link(dir)).last().map(Path::to_owned);
        link.map_or(Ok(()), |link| self.remove(&link))
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        if path.symlink_metadata().is_ok() {
            let moved = move_below(path, self.aside)?;
            self.undone.forbidden.push(Forbidden { path: path.to_owned(), moved, is_restored: false });
        }
        Ok(())
    }

    fn remove_new(&mut self, dir: &Path, names: &BTreeSet<OsString>) -> io::Result<()> {
        // In its place may be a link to anything.
        if !dir.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            return self.remove(dir);
        }
        let entries = fs::read_dir(dir)?.flatten();
        let new = entries.filter(|entry| !names.contains(&entry.file_name()));
        new.map(|entry| entry.path()).collect::<Vec<_>>().iter().try_for_each(|path| self.remove(path))
    }

    fn restore(&mut self, path: &Path, content: &Content) -> io::Result<()> {
        if content_of(path).as_ref() == Some(content) {
            return Ok(());
        }
        self.restore_by(path, || {
            let mut file = create_anew(path)?;
            file.write_all(&content.bytes)?;
            file.set_permissions(content.rights.clone())
        })
    }

    fn restore_link(&mut self, path: &Path, leads: &Path) -> io::Result<()> {
        if fs::read_link(path).is_ok_and(|now| now == leads) {
            return Ok(());
        }
        self.restore_by(path, || symlink(leads, path))
    }

    fn restore_by(&mut self, path: &Path, make: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let moved = match path.symlink_metadata() {
            Ok(_) => move_below(path, self.aside)?,
            Err(_) => self.aside.to_owned(),
        };
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        make()?;
        self.undone.forbidden.push(Forbidden { path: path.to_owned(), moved, is_restored: true });
        Ok(())
    }
}

/// Moves a file, a link or a directory below another directory; where that is on another disk, a directory only gets another
/// name.
fn move_below(path: &Path, aside: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(aside)?;
    if fs::canonicalize(aside)? != aside {
        return Err(io::Error::other(format!("{} leads elsewhere", aside.display())));
    }
    let name = format!("{}-{}", path.file_name().unwrap_or_default().to_string_lossy(), unguessable());
    let to = aside.join(&name);
    match fs::rename(path, &to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
        moved => return moved.map(|()| to),
    }
    let meta = path.symlink_metadata()?;
    if meta.is_symlink() {
        symlink(fs::read_link(path)?, &to)?;
    } else if meta.is_file() {
        io::copy(&mut open(path, files::Links::Refuse)?, &mut create_anew(&to)?)?;
    } else {
        let to = path.with_file_name(format!("ralph-moved-{name}"));
        return fs::rename(path, &to).map(|()| to);
    }
    fs::remove_file(path).map(|()| to)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What there is in a directory: files with their text, and links.
    fn seen(dir: &Path) -> Vec<String> {
        let mut found = Vec::new();
        let mut next = vec![dir.to_owned()];
        while let Some(path) = next.pop() {
            let shown = path.strip_prefix(dir).unwrap().display();
            match (fs::read_link(&path), fs::read_dir(&path)) {
                (Ok(leads), _) => {
                    found.push(format!("{shown} -> {}", leads.strip_prefix(dir).unwrap_or(&leads).display()));
                }
                (_, Ok(entries)) => next.extend(entries.map(|entry| entry.unwrap().path())),
                _ => found.push(format!("{shown}: {}", fs::read_to_string(&path).unwrap().trim())),
            }
        }
        found.sort();
        found
    }

    #[test]
    fn what_is_undone_is_the_projects_and_nothing_that_a_link_leads_to() {
        // What a process does in the working tree, and what of that is there afterwards.
        let usual = ["claude/settings: kept", "git/hooks/old: kept", "mcp -> real", "real: kept"];
        for (script, more) in [
            ("echo evil > w/codex; mkdir w/gemini; echo evil > w/gemini/env", vec![]),
            ("ln -s ../home w/gemini; echo mine > w/other", vec!["other: mine"]),
            ("ln -s nowhere w/gemini", vec!["gemini -> nowhere"]),
            ("ln -sf other w/mcp; echo x > w/other", vec!["other: x"]),
            ("rm w/mcp; echo evil > w/mcp", vec![]),
            ("rm w/mcp", vec![]),
            ("echo evil > w/claude/settings", vec![]),
            ("rm -r w/claude; ln -s ../home w/claude", vec![]),
            ("rm -r w/claude; ln -s ../empty w/claude", vec![]),
            ("rm w/git/hooks/old; echo evil > w/git/hooks/new", vec![]),
            ("rm -r w/git/hooks; ln -s ../../home w/git/hooks", vec![]),
            ("rm -r w/git; ln -s ../git2 w/git; mkdir -p git2/hooks; cp home/* git2/hooks", vec![]),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path().canonicalize().unwrap();
            let run = |script: &str| {
                let done = std::process::Command::new("sh").args(["-ec", script]).current_dir(&top).output();
                assert!(done.as_ref().unwrap().status.success(), "{script}: {done:?}");
            };
            run(
                "mkdir -p w/claude w/git/hooks home empty w/.ralph; ln -s real w/mcp; echo persons > home/env; \
                 echo persons > home/settings; for f in claude/settings git/hooks/old real; do echo kept > w/$f; done",
            );
            let paths = |paths: &[&str]| paths.iter().map(|path| top.join("w").join(path)).collect();
            let policy = Policy {
                work_tree: top.join("w"),
                writable: [top.join("w")].into(),
                read_only: paths(&["claude/settings", "git/hooks", "real"]),
                missing: paths(&["codex", "gemini/env"]),
                links: paths(&["mcp"]),
                ..Policy::default()
            };
            let kept = Kept::of(&policy);
            let links = Links::of(&policy);
            let aside = top.join("w/.ralph/sandbox");
            run(script);
            let undone = undo(&policy, &kept, &links, &aside);
            assert!(undone.failed.is_none(), "{script}: {undone:?}");
            let mut now = seen(&top.join("w"));
            now.retain(|line| !line.starts_with(".ralph/"));
            let mut expected: Vec<&str> = usual.iter().chain(&more).copied().collect();
            expected.sort_unstable();
            assert_eq!(now, expected, "{script}");
            assert_eq!(seen(&top.join("home")), ["env: persons", "settings: persons"], "{script}");
            assert!(seen(&top.join("empty")).is_empty(), "{script}");
            assert!(undo(&policy, &kept, &links, &aside).forbidden.is_empty(), "{script}");
        }
    }
}
