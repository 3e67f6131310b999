//! The plan's file: whether it is sound, of this version, and what lies beside it.

use std::path::{Path, PathBuf};

use ralph_core::store::{Store, StoreError, has_wal, rescued, rescued_since, restore_command, wal_path};

use super::permissions::make_writable;
use super::{Finding, word};
use crate::ui::format::bytes;
use crate::workspace::now;

/// A log that has grown so large was not folded into the file for long.
const LARGE_LOG: u64 = 512_000_000;
/// What lies beside the file is looked at, but not all of it.
const MOST_FILES: usize = 1000;

/// Looks at the file; nothing is changed, not even an older version of it. The store is there if it is of this version.
pub fn inspect(path: &Path) -> (Vec<Finding>, Option<Store>) {
    let (copies, notes) = copies_beside(path);
    if !path.exists() {
        return (vec![missing(path).with(notes)], None);
    }
    let (finding, store) = match check_integrity(path) {
        Err(error) => (broken(&error, path, &copies), None),
        Ok((_, word)) if word != "ok" => {
            let message = format!("damaged; SQLite reports: {word}");
            (Finding::error("database", message, restore_fix(path, &copies)), None)
        }
        Ok((store, _)) => versioned(path, store),
    };
    // What other processes wrote last waits in a log.
    let log = wal_path(path);
    let log_size = std::fs::metadata(&log).map_or(0, |meta| meta.len());
    let log_note = format!("its write-ahead log has {} to be merged", bytes(log_size));
    let log_note = (log_size > 0).then_some(log_note);
    let mut findings = vec![finding.with(log_note).with(notes)];
    if log_size >= LARGE_LOG {
        let size = bytes(log_size);
        let message = format!("its write-ahead log has grown to {size}: a process keeps it open");
        findings.push(Finding::warning("database", message, format!("fuser {}", word(&log))));
    }
    (findings, store)
}

/// Without a database there is no plan.
fn missing(path: &Path) -> Finding {
    match rescued(path).last() {
        None => {
            let fix = "ralph task add TITLE, or ralph import PATH";
            Finding::warning("database", "no database yet", fix)
        }
        Some(copy) => {
            let message = format!("the database is missing; a copy was saved as {}", copy.display());
            let fix = restore_command(copy, path, now());
            Finding::error("database", message, fix)
        }
    }
}

/// Opens the file and has SQLite check it. Should a run have begun to write meanwhile, it is looked at once more as a file
/// that is shared.
fn check_integrity(path: &Path) -> Result<(Store, String), StoreError> {
    let shared = has_wal(path);
    let look = || {
        let store = Store::open_read_only(path)?;
        let word = store.integrity()?;
        Ok((store, word))
    };
    match look() {
        Ok((store, word)) if word == "ok" => Ok((store, word)),
        _ if !shared && has_wal(path) => look(),
        other => other,
    }
}

fn versioned(path: &Path, store: Store) -> (Finding, Option<Store>) {
    let known = Store::VERSION;
    let size = std::fs::metadata(path).map_or(0, |meta| meta.len());
    match store.version() {
        Ok(_) if rescued_since(path).is_some() => {
            let copy = rescued_since(path).unwrap_or_default();
            let message =
                format!("not the database that the last run used; that one was saved as {}", copy.display());
            let fix = restore_command(&copy, path, now());
            (Finding::error("database", message, fix), Some(store))
        }
        Ok(version) if version == known => {
            let message = format!("OK: version {version}, {}", bytes(size));
            (Finding::ok("database", message), Some(store))
        }
        Ok(version) => {
            let message = format!(
                "OK: version {version}; the next command migrates it to version {known} and keeps a copy"
            );
            (Finding::ok("database", message), None)
        }
        Err(error) => (unusable(&error, path), None),
    }
}

/// A file that can be opened and does not hold what it should.
pub fn unusable(error: &StoreError, path: &Path) -> Finding {
    broken(error, path, &copies_beside(path).0)
}

/// What is left to do with a file that cannot be repaired.
pub fn replace(path: &Path) -> String {
    restore_fix(path, &copies_beside(path).0)
}

fn broken(error: &StoreError, path: &Path, copies: &[Copy]) -> Finding {
    let message = error.to_string();
    let fix = match error {
        StoreError::NewerSchema { .. } => "update Ralph: a newer version wrote this file".to_owned(),
        StoreError::NotWritable { path, .. } => make_writable(&[path]),
        StoreError::Locked { .. } => {
            format!("find the process that locks it: fuser {}", word(path))
        }
        _ => restore_fix(path, copies),
    };
    Finding::error("database", message, fix)
}

/// A damaged file cannot be repaired; its log must not be applied to another file.
fn restore_fix(path: &Path, copies: &[Copy]) -> String {
    let newest = copies.iter().max_by_key(|copy| copy.version);
    let file = word(path);
    let away = format!("move {file} away, with its -wal and -shm files");
    match newest {
        Some(copy) => format!(
            "{away}; then restore the copy from before a migration: cp {} {file} (later changes are lost)",
            word(&copy.path)
        ),
        None => format!(
            "{away}; then restore a backup, or create the plan again with `ralph import` or `ralph task add` (there \
             is no copy here: the history is lost)"
        ),
    }
}

/// The file as it was before a migration.
#[derive(Debug)]
struct Copy {
    path: PathBuf,
    version: u32,
}

/// The copies that migrations left beside the file, and a note for each thing that can be deleted there.
fn copies_beside(path: &Path) -> (Vec<Copy>, Vec<String>) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let version = |file: &str| -> Option<u32> {
        let rest = file.strip_prefix(&*name)?.strip_prefix(".v")?;
        rest.strip_suffix(".bak")?.parse().ok()
    };
    let entries = path.parent().and_then(|dir| std::fs::read_dir(dir).ok());
    let mut entries: Vec<_> = entries.into_iter().flatten().flatten().take(MOST_FILES).collect();
    entries.sort_by_key(std::fs::DirEntry::path);
    let (mut copies, mut notes) = (Vec::new(), Vec::new());
    for entry in entries {
        let file = entry.file_name();
        let file = file.to_string_lossy();
        let what = match version(&file) {
            Some(version) => {
                let path = entry.path();
                copies.push(Copy { path, version });
                "is a copy from before a migration; you can delete it if all works"
            }
            // Half of such a copy.
            None if file.starts_with(".tmp") => "was left by a killed process; you can delete it",
            None => continue,
        };
        let size = entry.metadata().map_or(0, |meta| meta.len());
        notes.push(format!("{} ({}) {what}", entry.path().display(), bytes(size)));
    }
    (copies, notes)
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    #[test]
    fn what_migrations_left_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("progress.db");
        for file in
            ["progress.db.v9.bak", "progress.db.v10.bak", "progress.db.vx.bak", ".tmpAb12", "STATE.md"]
        {
            std::fs::write(dir.path().join(file), "1234").unwrap();
        }
        let (copies, notes) = copies_beside(&path);
        assert_eq!((copies.len(), notes.len()), (2, 3), "{copies:?}");
        assert!(restore_fix(&path, &copies).contains("v10.bak"));
        assert!(notes.iter().any(|note| note.contains("killed process")));
        assert_eq!(inspect(&path).0[0].level, Level::Warning, "no database yet");
        assert!(!path.exists());
    }

    #[test]
    fn a_damaged_file_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("progress.db");
        std::fs::write(&path, "this is no database, and it never was one".repeat(100)).unwrap();
        let (findings, store) = inspect(&path);
        assert_eq!(findings[0].level, Level::Error, "{findings:?}");
        assert!(store.is_none());
    }
}
