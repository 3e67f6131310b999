//! The plan's file: whether it is sound, of this version, and what lies beside it.

use std::path::{Path, PathBuf};

use ralph_core::store::{
    SqliteStore, StoreError, has_log, log_path, rescued, rescued_since, restore_command,
};

use super::finding::{Check, Finding};
use super::mend::{make_writable, word};
use crate::ui::format::bytes;
use crate::workspace::now;

/// A log that has grown so large was not folded into the file for long.
const LARGE_LOG: u64 = 512_000_000;
/// What lies beside the file is looked at, but not all of it.
const MOST_FILES: usize = 1000;

/// What was found, and the store where its tables can be asked.
pub struct Looked {
    /// What there is to say.
    pub findings: Vec<Finding>,
    /// Open to look at, of this version.
    pub store: Option<SqliteStore>,
}

/// Looks at the file; nothing is changed, not even an older version of it.
pub fn look(path: &Path) -> Looked {
    let copies = beside(path);
    if !path.exists() {
        return Looked {
            findings: vec![missing(path).with(notes(&copies))],
            store: None,
        };
    }
    let (finding, store) = match sound(path) {
        Err(error) => (broken(&error, path, &copies), None),
        Ok((store, word)) if word != "ok" => {
            let message = format!("damaged; SQLite reports: {word}");
            drop(store);
            (
                Finding::error(Check::Database, message, bring_back(path, &copies)),
                None,
            )
        }
        Ok((store, _)) => versioned(path, store),
    };
    let mut findings = vec![finding.with(log_note(path)).with(notes(&copies))];
    findings.extend(log(path));
    Looked { findings, store }
}

/// Without a database there is no plan.
fn missing(path: &Path) -> Finding {
    match rescued(path).last() {
        None => {
            let fix = "ralph task add TITLE, or ralph import PATH";
            Finding::warning(Check::Database, "no database yet", fix)
        }
        Some(copy) => {
            let message = format!(
                "the database is missing; a copy was saved as {}",
                copy.display()
            );
            let fix = restore_command(copy, path, now());
            Finding::error(Check::Database, message, fix)
        }
    }
}

/// Opens the file and has SQLite check it. Should a run have begun to write meanwhile, it is looked at once more as a file
/// that is shared.
fn sound(path: &Path) -> Result<(SqliteStore, String), StoreError> {
    let shared = has_log(path);
    let look = || {
        let store = SqliteStore::open_to_look(path)?;
        let word = store.integrity()?;
        Ok((store, word))
    };
    match look() {
        Ok((store, word)) if word == "ok" => Ok((store, word)),
        _ if !shared && has_log(path) => look(),
        other => other,
    }
}

fn versioned(path: &Path, store: SqliteStore) -> (Finding, Option<SqliteStore>) {
    let known = SqliteStore::VERSION;
    let size = std::fs::metadata(path).map_or(0, |meta| meta.len());
    match store.version() {
        Ok(_) if rescued_since(path).is_some() => {
            let copy = rescued_since(path).unwrap_or_default();
            let message = format!(
                "not the database that the last run used; that one was saved as {}",
                copy.display()
            );
            let fix = restore_command(&copy, path, now());
            (Finding::error(Check::Database, message, fix), Some(store))
        }
        Ok(version) if version == known => {
            let message = format!("OK: version {version}, {}", bytes(size));
            (Finding::ok(Check::Database, message), Some(store))
        }
        Ok(version) => {
            let message = format!(
                "OK: version {version}; the next command migrates it to version {known} and keeps a copy"
            );
            (Finding::ok(Check::Database, message), None)
        }
        Err(error) => (unusable(&error, path), None),
    }
}

/// A file that can be opened and does not hold what it should.
pub fn unusable(error: &StoreError, path: &Path) -> Finding {
    broken(error, path, &beside(path))
}

/// What is left to do with a file that cannot be repaired.
pub fn replace(path: &Path) -> String {
    bring_back(path, &beside(path))
}

fn broken(error: &StoreError, path: &Path, copies: &[Beside]) -> Finding {
    let message = error.to_string();
    let fix = match error {
        StoreError::NewerSchema { .. } => {
            "update Ralph: a newer version wrote this file".to_owned()
        }
        StoreError::NotWritable { path, .. } => make_writable(&[path]),
        StoreError::Locked { .. } => {
            format!("find the process that locks it: fuser {}", word(path))
        }
        _ => bring_back(path, copies),
    };
    Finding::error(Check::Database, message, fix)
}

/// A damaged file cannot be repaired; its log must not be applied to another file.
fn bring_back(path: &Path, copies: &[Beside]) -> String {
    let newest = copies
        .iter()
        .filter(|copy| copy.kind == Kind::Copy)
        .max_by_key(|copy| copy.version);
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

/// What other processes wrote last waits in a log.
fn log_note(path: &Path) -> Option<String> {
    let size = std::fs::metadata(log_path(path)).ok()?.len();
    (size > 0).then(|| format!("its write-ahead log has {} to be merged", bytes(size)))
}

fn log(path: &Path) -> Option<Finding> {
    let log = log_path(path);
    let size = std::fs::metadata(&log).ok()?.len();
    if size < LARGE_LOG {
        return None;
    }
    let message = format!(
        "its write-ahead log has grown to {}: a process keeps it open",
        bytes(size)
    );
    Some(Finding::warning(
        Check::Database,
        message,
        format!("fuser {}", word(&log)),
    ))
}

/// A file that a migration left.
#[derive(Debug, PartialEq, Eq)]
struct Beside {
    path: PathBuf,
    kind: Kind,
    version: u32,
    size: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The file as it was before.
    Copy,
    /// Half of such a copy, from a process that was killed.
    Half,
}

/// What migrations left beside the file.
fn beside(path: &Path) -> Vec<Beside> {
    let (Some(dir), Some(name)) = (
        path.parent(),
        path.file_name().and_then(|name| name.to_str()),
    ) else {
        return Vec::new();
    };
    let Ok(entries) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    let version = |file: &str| -> Option<u32> {
        let rest = file.strip_prefix(name)?.strip_prefix(".v")?;
        rest.strip_suffix(".bak")?.parse().ok()
    };
    let mut found: Vec<Beside> = entries
        .flatten()
        .take(MOST_FILES)
        .filter_map(|entry| {
            let file = entry.file_name();
            let file = file.to_str()?;
            let (kind, version) = match version(file) {
                Some(version) => (Kind::Copy, version),
                None if file.starts_with(".tmp") => (Kind::Half, 0),
                None => return None,
            };
            let size = entry.metadata().ok()?.len();
            let path = entry.path();
            Some(Beside {
                path,
                kind,
                version,
                size,
            })
        })
        .collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn notes(copies: &[Beside]) -> Vec<String> {
    copies
        .iter()
        .map(|copy| {
            let (path, size) = (copy.path.display(), bytes(copy.size));
            match copy.kind {
                Kind::Copy => format!(
                    "{path} ({size}) is a copy from before a migration; you can delete it if all works"
                ),
                Kind::Half => format!("{path} ({size}) was left by a killed process; you can delete it"),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    #[test]
    fn what_migrations_left_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("progress.db");
        for file in [
            "progress.db.v9.bak",
            "progress.db.v10.bak",
            "progress.db.vx.bak",
            ".tmpAb12",
            "STATE.md",
        ] {
            std::fs::write(dir.path().join(file), "1234").unwrap();
        }
        let found = beside(&path);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(bring_back(&path, &found).contains("v10.bak"));
        assert!(
            notes(&found)
                .iter()
                .any(|note| note.contains("killed process"))
        );
        assert_eq!(
            look(&path).findings[0].level,
            Level::Warning,
            "no database yet"
        );
        assert!(!path.exists());
    }

    #[test]
    fn a_damaged_file_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("progress.db");
        std::fs::write(
            &path,
            "this is no database, and it never was one".repeat(100),
        )
        .unwrap();
        let looked = look(&path);
        assert_eq!(
            looked.findings[0].level,
            Level::Error,
            "{:?}",
            looked.findings
        );
        assert!(looked.store.is_none());
    }
}
