//! The protected files as they are before an attempt: read, compared afterwards, and put back. What the attempt made of them is
//! moved aside, so nothing is lost, whenever Ralph is killed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use similar::TextDiff;

use super::protect::Protection;
use crate::files::{self, Limit, Links, temporary_in, unguessable};
use crate::text::{clean, code_line, mask_secrets};

/// What is kept of all protected files together. A pattern that matches more must be narrowed.
const MOST_BYTES: usize = 64 * 1024 * 1024;
const MOST_FILES: usize = 20_000;
/// How much of what changed is shown, in lines and in characters of each.
const SHOWN_LINES: usize = 30;
const LINE_CHARS: usize = 160;
/// Texts that are longer are not compared line by line.
const COMPARED_BYTES: usize = 512 * 1024;
/// Directories that no pattern is meant for: the tools' own.
const NEVER_LISTED: [&str; 5] = [".git", ".ralph", "node_modules", "target", "__pycache__"];

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Version {
    Gone,
    File {
        bytes: Vec<u8>,
        mode: u32,
    },
    Link(Vec<u8>),
    /// A directory, a pipe or the like, or a file too large to keep.
    Other,
}

impl Version {
    /// Looks without following links, not even above the path.
    fn read(root: &Path, path: &str) -> io::Result<Self> {
        let is_dir = |dir: &Path| fs::symlink_metadata(dir).is_ok_and(|meta| meta.is_dir());
        if !dirs_above(path).all(|dir| is_dir(&root.join(dir))) {
            return Ok(Self::Gone);
        }
        let full = root.join(path);
        let meta = match fs::symlink_metadata(&full) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::Gone),
            meta => meta?,
        };
        if meta.file_type().is_symlink() {
            return Ok(Self::Link(fs::read_link(&full)?.into_os_string().into_vec()));
        }
        if !meta.is_file() || meta.len() > MOST_BYTES as u64 {
            return Ok(Self::Other);
        }
        let bytes = files::read(&full, Links::Follow, Limit::TEXT)?;
        Ok(Self::File { bytes, mode: meta.permissions().mode() & 0o7777 })
    }

    fn is_same_as(&self, now: &Self) -> bool {
        match (self, now) {
            (Self::File { bytes, mode }, Self::File { bytes: b, mode: m }) => {
                bytes == b && mode & 0o100 == m & 0o100
            }
            _ => self == now,
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::File { bytes, .. } | Self::Link(bytes) => bytes.len(),
            Self::Gone | Self::Other => 0,
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::File { bytes, .. } if bytes.len() <= COMPARED_BYTES => std::str::from_utf8(bytes).ok(),
            Self::Gone => Some(""),
            _ => None,
        }
    }
}

/// Protected files by their paths below the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProtectedFiles(pub BTreeMap<String, Version>);

/// A protected file that an attempt changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tampered {
    pub path: String,
    /// `changed`, `deleted`, `replaced by a link to x`
    pub how: String,
    /// The lines that differ, in the form of a patch; empty where there are none to show.
    pub diff: String,
}

impl std::fmt::Display for Tampered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", code_line(&self.path, 200), self.how)
    }
}

impl ProtectedFiles {
    /// Reads what the rules protect. `listed` are the files that patterns are compared with.
    pub fn read(root: &Path, rules: &Protection, listed: &[String]) -> Result<Self, String> {
        let mut files = BTreeMap::new();
        let mut size = 0;
        for path in Self::paths(root, rules, listed) {
            let version =
                Version::read(root, &path).map_err(|error| format!("cannot read {path}: {error}"))?;
            size += version.size();
            if size > MOST_BYTES || files.len() >= MOST_FILES {
                return Err(format!(
                    "the protected files are more than Ralph keeps ({MOST_FILES} files, {} MiB)",
                    MOST_BYTES / 1024 / 1024
                ));
            }
            if !matches!(version, Version::Gone | Version::Other) {
                files.insert(path, version);
            }
        }
        for path in rules.named() {
            if fs::symlink_metadata(root.join(path)).is_err() {
                files.entry(path.to_owned()).or_insert(Version::Gone);
            }
        }
        Ok(Self(files))
    }

    /// What the rules protect that is there now.
    pub fn paths(root: &Path, rules: &Protection, listed: &[String]) -> BTreeSet<String> {
        let patterns = listed.iter().filter(|path| rules.covers(path)).cloned();
        let scripts = rules.executed().flat_map(|path| parts_of_script(root, path));
        patterns.chain(scripts).filter(|path| fs::symlink_metadata(root.join(path)).is_ok()).collect()
    }

    /// Those that are no longer as they were.
    pub fn tampered(&self, root: &Path) -> io::Result<Vec<Tampered>> {
        let mut tampered = Vec::new();
        let mut lines = SHOWN_LINES;
        for (path, before) in &self.0 {
            let now = Version::read(root, path)?;
            if before.is_same_as(&now) {
                continue;
            }
            let how = match (before, &now) {
                (_, Version::Link(target)) => {
                    format!("replaced by a link to {}", code_line(&String::from_utf8_lossy(target), 100))
                }
                (Version::Gone, _) => "created".to_owned(),
                (_, Version::Gone) => "deleted or renamed".to_owned(),
                (_, Version::Other) => "replaced by something that is no file".to_owned(),
                (Version::File { bytes, .. }, Version::File { bytes: now, .. }) if bytes == now => {
                    "its permission to be executed changed".to_owned()
                }
                _ => "changed".to_owned(),
            };
            let diff = diff(before, &now, &mut lines);
            tampered.push(Tampered { path: path.clone(), how, diff });
        }
        Ok(tampered)
    }

    /// Makes these files what they were. What is there now is moved below `aside`, one after the other, so that at any moment
    /// each version is somewhere.
    pub fn put_back(&self, root: &Path, aside: &Path, tampered: &[Tampered]) -> io::Result<()> {
        for Tampered { path, .. } in tampered {
            let Some(before) = self.0.get(path) else {
                continue;
            };
            // The topmost first: what is below a link belongs to somebody else.
            let mut above: Vec<&str> = dirs_above(path).collect();
            above.reverse();
            for dir in above {
                if fs::symlink_metadata(root.join(dir)).is_ok_and(|meta| !meta.is_dir()) {
                    move_aside(root, aside, dir)?;
                }
            }
            let full = root.join(path);
            if fs::symlink_metadata(&full).is_ok() {
                move_aside(root, aside, path)?;
            }
            let dir = full.parent().unwrap_or(root);
            match before {
                Version::Gone | Version::Other => {}
                Version::Link(target) => {
                    fs::create_dir_all(dir)?;
                    std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(target), &full)?;
                }
                Version::File { bytes, mode } => {
                    fs::create_dir_all(dir)?;
                    let mut file = temporary_in(dir)?;
                    file.write_all(bytes)?;
                    file.as_file().set_permissions(Permissions::from_mode(*mode))?;
                    file.persist(&full).map_err(|error| error.error)?;
                }
            }
        }
        Ok(())
    }
}

/// Moves a file, a link or a directory below `aside`.
fn move_aside(root: &Path, aside: &Path, path: &str) -> io::Result<()> {
    let mut to = aside.join(path);
    if fs::symlink_metadata(&to).is_ok() {
        to = aside.join(format!("{path}.{}", unguessable()));
    }
    fs::create_dir_all(to.parent().unwrap_or(aside))?;
    fs::rename(root.join(path), to)
}

/// The directories above a path, the nearest first.
fn dirs_above(path: &str) -> impl Iterator<Item = &str> {
    path.rmatch_indices('/').filter_map(|(at, _)| path.get(..at)).filter(|dir| !dir.is_empty())
}

/// A script with every link on the way to it that is in the project, and the file it leads to.
fn parts_of_script(root: &Path, path: &str) -> Vec<String> {
    let mut parts = vec![path.to_owned()];
    let is_link = |path: &str| root.join(path).is_symlink();
    parts.extend(dirs_above(path).filter(|dir| is_link(dir)).map(str::to_owned));
    let real_root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let real: Option<PathBuf> = root.join(path).canonicalize().ok();
    let real = real.as_deref().and_then(|real| real.strip_prefix(&real_root).ok()?.to_str());
    parts.extend(real.map(str::to_owned));
    parts
}

/// The files below the root that patterns can match, for projects without git.
pub fn list_files(root: &Path, dirs: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Vec<String> = dirs.iter().map(|dir| (*dir).to_owned()).collect();
    while let Some(path) = open.pop() {
        let Ok(entries) = fs::read_dir(root.join(&path)) else {
            if !path.is_empty() {
                found.push(path);
            }
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| !NEVER_LISTED.contains(name)) else {
                continue;
            };
            let below = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => open.push(below),
                false => found.push(below),
            }
        }
        if found.len() > 10 * MOST_FILES {
            break;
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The lines that differ, without secrets. `lines` is how many may still be shown.
fn diff(before: &Version, now: &Version, lines: &mut usize) -> String {
    let (Some(before), Some(now)) = (before.text(), now.text()) else {
        return String::new();
    };
    let compared =
        TextDiff::configure().timeout(std::time::Duration::from_millis(500)).diff_lines(before, now);
    let patch = compared.unified_diff().context_radius(0).to_string();
    let mut shown = String::new();
    for line in patch.lines() {
        if *lines == 0 {
            shown.push_str("…\n");
            break;
        }
        *lines -= 1;
        shown.extend(line.chars().take(LINE_CHARS));
        shown.push('\n');
    }
    mask_secrets(&clean(&shown)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(protect: &[&str], gate: &str, root: &Path) -> Protection {
        let protect: Vec<String> = protect.iter().map(|text| (*text).to_owned()).collect();
        Protection::new(&protect, &[], &[], &[gate], root)
    }

    fn write(root: &Path, path: &str, text: &str) {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    }

    #[test]
    fn whatever_was_done_to_a_protected_file_is_undone_and_nothing_is_lost() {
        type Change = fn(&Path);
        let changes: [(&str, Change, &str); 8] = [
            ("changed", |root| write(root, "tests/a.sh", "exit 0\n"), "tests/a.sh"),
            ("deleted or renamed", |root| fs::remove_file(root.join("tests/a.sh")).unwrap(), ""),
            ("deleted or renamed", |root| fs::rename(root.join("tests"), root.join("old")).unwrap(), ""),
            (
                "replaced by a link to ../ok.sh",
                |root| {
                    fs::remove_file(root.join("tests/a.sh")).unwrap();
                    std::os::unix::fs::symlink("../ok.sh", root.join("tests/a.sh")).unwrap();
                },
                "tests/a.sh",
            ),
            (
                "deleted or renamed",
                |root| {
                    fs::rename(root.join("tests"), root.join("old")).unwrap();
                    std::os::unix::fs::symlink("old", root.join("tests")).unwrap();
                },
                "tests",
            ),
            (
                "replaced by something that is no file",
                |root| {
                    fs::remove_file(root.join("tests/a.sh")).unwrap();
                    write(root, "tests/a.sh/x", "x");
                },
                "tests/a.sh/x",
            ),
            (
                "its permission to be executed changed",
                |root| fs::set_permissions(root.join("tests/a.sh"), Permissions::from_mode(0o755)).unwrap(),
                "tests/a.sh",
            ),
            ("created", |root| write(root, "conftest.py", "x"), "conftest.py"),
        ];
        for (how, change, moved) in changes {
            let dir = tempfile::tempdir().unwrap();
            let (root, aside) = (dir.path(), dir.path().join(".ralph/tampered/x"));
            write(root, "tests/a.sh", "set -e\nexit 1\n");
            fs::set_permissions(root.join("tests/a.sh"), Permissions::from_mode(0o644)).unwrap();
            let rules = rules(&["tests/**", "conftest.py"], "true", root);
            let kept =
                ProtectedFiles::read(root, &rules, &list_files(root, &rules.patterns().roots())).unwrap();
            assert_eq!(kept.tampered(root).unwrap(), []);
            change(root);
            let tampered = kept.tampered(root).unwrap();
            assert_eq!(tampered.iter().map(|one| one.how.as_str()).collect::<Vec<_>>(), [how]);
            kept.put_back(root, &aside, &tampered).unwrap();
            assert_eq!(kept.tampered(root).unwrap(), [], "{how}");
            assert_eq!(fs::read_to_string(root.join("tests/a.sh")).unwrap(), "set -e\nexit 1\n");
            assert!(moved.is_empty() || aside.join(moved).symlink_metadata().is_ok(), "{how}");
        }
    }

    #[test]
    fn a_script_is_protected_through_links() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        write(root, "scripts/ci/check.sh", "exit 1\n");
        std::os::unix::fs::symlink("scripts/ci", root.join("ci")).unwrap();
        let kept = ProtectedFiles::read(root, &rules(&[], "./ci/check.sh", root), &[]).unwrap();
        assert_eq!(kept.0.keys().collect::<Vec<_>>(), ["ci", "scripts/ci/check.sh"]);
        write(root, "scripts/ci/check.sh", "exit 0\n");
        let tampered = kept.tampered(root).unwrap();
        assert!(tampered[0].diff.contains("-exit 1\n+exit 0\n"), "{tampered:?}");
    }

    #[test]
    fn what_is_shown_is_bounded_and_without_secrets() {
        let file = |text: &str| Version::File { bytes: text.into(), mode: 0o644 };
        let mut left = SHOWN_LINES;
        let long = "x".repeat(1000) + "\n";
        let shown = diff(&file(""), &file(&(long.repeat(100) + "password=hunter2secret\n")), &mut left);
        assert!(shown.len() < 40 * (LINE_CHARS + 2), "{}", shown.len());
        let shown = diff(&file("a\n"), &file("password=hunter2secret\n"), &mut SHOWN_LINES.clone());
        assert!(!shown.contains("hunter2secret") && shown.contains("-a"), "{shown}");
        assert_eq!(diff(&file("a"), &Version::File { bytes: vec![0xff], mode: 0 }, &mut 9), "");
    }
}
