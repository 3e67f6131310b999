//! Random steps in a work tree.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::Repo;

/// The paths steps are about; some exclude each other.
pub(in crate::git) const PATHS: [&str; 10] =
    ["a", "b", "c.sh", "d", "d/x", "d/y/z", "e\nf", "-g", "h i/j", "k"];

/// Something that happens in a work tree.
#[derive(Clone, Debug)]
pub(in crate::git) enum Step {
    Write(usize, u8),
    Remove(usize),
    Link(usize, u8),
    Permit(usize, u32),
    Move(usize, usize),
    Git(Vec<&'static str>, Option<usize>),
}

fn path() -> impl Strategy<Value = usize> {
    0..PATHS.len()
}

pub(in crate::git) fn step() -> impl Strategy<Value = Step> {
    let git = prop_oneof![
        Just(vec!["add", "--"]),
        Just(vec!["add", "-N", "--"]),
        Just(vec!["rm", "-q", "--cached", "--"]),
        Just(vec!["reset", "-q", "--"]),
        Just(vec!["checkout", "-q", "--"]),
    ];
    prop_oneof![
        6 => (path(), 0..6_u8).prop_map(|(path, text)| Step::Write(path, text)),
        2 => path().prop_map(Step::Remove),
        1 => (path(), 0..3_u8).prop_map(|(path, to)| Step::Link(path, to)),
        1 => (path(), prop_oneof![Just(0o600), Just(0o644), Just(0o755), Just(0o700)])
            .prop_map(|(path, mode)| Step::Permit(path, mode)),
        1 => (path(), path()).prop_map(|(from, to)| Step::Move(from, to)),
        4 => (git, path()).prop_map(|(git, path)| Step::Git(git, Some(path))),
    ]
}

fn on_disk(repo: &Repo, index: usize) -> PathBuf {
    repo.path(PATHS[index])
}

/// Makes room for a file: whatever is there or above it goes.
fn make_room(repo: &Repo, path: &Path) {
    let mut above = path.parent().unwrap();
    while above != repo.root() {
        if fs::symlink_metadata(above).is_ok_and(|meta| !meta.is_dir()) {
            fs::remove_file(above).unwrap();
        }
        above = above.parent().unwrap();
    }
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file())
}

pub(in crate::git) fn apply(repo: &Repo, step: &Step) {
    match step {
        Step::Write(path, text) => {
            let path = on_disk(repo, *path);
            // In place where there is a file, as an editor may do.
            if !is_file(&path) {
                make_room(repo, &path);
            }
            fs::write(path, format!("text {text}\n")).unwrap();
        }
        Step::Remove(path) => {
            let path = on_disk(repo, *path);
            if fs::symlink_metadata(&path).is_ok_and(|meta| !meta.is_dir()) {
                fs::remove_file(path).unwrap();
            }
        }
        Step::Link(path, to) => {
            let path = on_disk(repo, *path);
            make_room(repo, &path);
            let target = ["a", "d", "/nowhere"][usize::from(*to)];
            // No link leads to itself: git sees what was below it as unchanged then.
            let target = if path.ends_with(target) { "b" } else { target };
            symlink(target, path).unwrap();
        }
        Step::Permit(path, mode) => {
            if is_file(&on_disk(repo, *path)) {
                repo.chmod(PATHS[*path], *mode);
            }
        }
        Step::Move(from, to) => {
            let (from, to) = (on_disk(repo, *from), on_disk(repo, *to));
            if is_file(&from) && !to.starts_with(&from) && !from.starts_with(&to) {
                make_room(repo, &to);
                fs::rename(from, to).unwrap();
            }
        }
        Step::Git(args, path) => {
            let path = path.map(|path| PATHS[path]);
            let args: Vec<&str> = args.iter().copied().chain(path).collect();
            // It may well say no.
            let _ = repo.try_git(&args);
        }
    }
}
