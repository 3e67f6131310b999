//! The database: whether it is intact, of this version, and what is beside it.

use std::path::{Path, PathBuf};

use ralph_core::project::Project;
use ralph_core::store::{Store, StoreError, newest_copy, rescued_since, restore_command, wal_path};

use super::Finding;
use super::permissions::make_writable;
use crate::command_error::{CommandError, shell_path};
use crate::store_place;
use crate::ui::format::bytes;
use crate::workspace::now;

pub fn inspect_store(project: &Project) -> (Vec<Finding>, Option<Store>) {
    let place = match store_place::of(project) {
        // What is wrong with the settings is told by itself.
        Err(_) => return inspect(&project.database()),
        Ok(place) => place,
    };
    if let Some(file) = place.file() {
        return inspect(file);
    }
    match place.open_read_only() {
        Ok(store) => (vec![Finding::ok("database", format!("OK: {place}"))], Some(store)),
        Err(error) => {
            let fix = CommandError::from(error);
            let hint = fix.first_hint().unwrap_or_else(|| "ralph store check".to_owned());
            (vec![Finding::error("database", fix.message(), hint)], None)
        }
    }
}

/// Whether there may be a plan.
pub fn has_store(project: &Project) -> bool {
    store_place::of(project).is_ok_and(|place| place.exists())
}

/// Checks the file without changing it: it is not even migrated. The store is returned if it is of this version.
pub fn inspect(path: &Path) -> (Vec<Finding>, Option<Store>) {
    let notes = copies_beside(path).into_iter().map(|(copy, _)| {
        let size = std::fs::metadata(&copy).map_or(0, |meta| meta.len());
        let what = "is a copy from before a migration; you can delete it if all works";
        format!("{} ({}) {what}", copy.display(), bytes(size))
    });
    if !path.exists() {
        return (vec![missing(path).with(notes)], None);
    }
    let checked = match check_integrity(path) {
        Ok((store, report)) if report == "ok" => Ok((store, report)),
        // A run that begins to write at this moment spoils one look, but not two.
        _ => check_integrity(path),
    };
    let (finding, store) = match checked {
        Err(error) => (broken(&error, path), None),
        Ok((_, report)) if report != "ok" => {
            let message = format!("damaged; SQLite reports: {report}");
            (Finding::error("database", message, restore_fix(path)), None)
        }
        Ok((store, _)) => versioned(path, store),
    };
    let log_size = std::fs::metadata(wal_path(path)).map_or(0, |meta| meta.len());
    let log_note = format!("its write-ahead log has {} to be merged", bytes(log_size));
    let log_note = (log_size > 0).then_some(log_note);
    (vec![finding.with(log_note).with(notes)], store)
}

fn missing(path: &Path) -> Finding {
    match newest_copy(path) {
        None => {
            let fix = "ralph task add TITLE, or ralph import PATH";
            Finding::warning("database", "no database yet", fix)
        }
        Some(copy) => {
            let message = format!("the database is missing; a copy was saved as {}", copy.display());
            Finding::error("database", message, restore_command(&copy, path, now()))
        }
    }
}

fn check_integrity(path: &Path) -> Result<(Store, String), StoreError> {
    let store = Store::open_read_only(path)?;
    let report = store.integrity()?;
    Ok((store, report))
}

fn versioned(path: &Path, store: Store) -> (Finding, Option<Store>) {
    let known = Store::VERSION;
    let version = match store.version() {
        Ok(version) => version,
        Err(error) => return (broken(&error, path), None),
    };
    if let Some(copy) = rescued_since(path) {
        let message =
            format!("not the database that the last run used; that one was saved as {}", copy.display());
        let fix = restore_command(&copy, path, now());
        return (Finding::error("database", message, fix), Some(store));
    }
    if version != known {
        let message = format!(
            "OK: version {version}; the next command migrates it to version {known} and keeps a copy"
        );
        return (Finding::ok("database", message), None);
    }
    let size = std::fs::metadata(path).map_or(0, |meta| meta.len());
    (Finding::ok("database", format!("OK: version {version}, {}", bytes(size))), Some(store))
}

/// A database that cannot be read, or lacks what it should contain.
pub fn broken(error: &StoreError, path: &Path) -> Finding {
    let fix = match error {
        StoreError::NewerSchema { .. } => "update Ralph: a newer version wrote this file".to_owned(),
        StoreError::NotWritable { path, .. } => make_writable(&[path]),
        StoreError::Locked { .. } => format!("find the process that locks it: fuser {}", shell_path(path)),
        _ => restore_fix(path),
    };
    Finding::error("database", error.to_string(), fix)
}

/// A damaged file cannot be repaired; its log must not be applied to another file.
pub fn restore_fix(path: &Path) -> String {
    if let Some(copy) = newest_copy(path) {
        return restore_command(&copy, path, now());
    }
    let file = shell_path(path);
    let away = format!("move {file} away, with its -wal and -shm files");
    match copies_beside(path).into_iter().max_by_key(|(_, version)| *version) {
        Some((copy, _)) => format!(
            "{away}; then restore the copy from before a migration: cp {} {file} (later changes are lost)",
            shell_path(&copy)
        ),
        None => format!(
            "{away}; then restore a backup, or create the plan again with `ralph import` or `ralph task add` (there \
             is no copy here: the history is lost)"
        ),
    }
}

/// The copies that migrations left beside the file, with their versions.
fn copies_beside(path: &Path) -> Vec<(PathBuf, u32)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let entries = path.parent().and_then(|dir| std::fs::read_dir(dir).ok());
    let copy = |entry: std::fs::DirEntry| {
        let file = entry.file_name();
        let version = file.to_str()?.strip_prefix(&*name)?.strip_prefix(".v")?.strip_suffix(".bak")?;
        Some((entry.path(), version.parse().ok()?))
    };
    let mut copies: Vec<_> = entries.into_iter().flatten().flatten().filter_map(copy).collect();
    copies.sort();
    copies
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    #[test]
    fn what_migrations_left_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("progress.db");
        for file in ["progress.db.v9.bak", "progress.db.v10.bak", "progress.db.vx.bak", "STATE.md"] {
            std::fs::write(dir.path().join(file), "1234").unwrap();
        }
        assert_eq!(copies_beside(&path).len(), 2);
        assert!(restore_fix(&path).contains("v10.bak"));
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
