//! Who may write what Ralph writes, and read what is raw.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ralph_core::agent::AgentKind;
use ralph_core::project::Project;
use rustix::fs::{Access, access};

use super::finding::{Check, Finding};
use crate::settings::Settings;

/// Entries of a directory that are looked at.
const MOST_FILES: usize = 10_000;
/// Anybody but the owner.
const OTHERS: u32 = 0o077;

/// Root, `.ralph`, its files, and the logs.
pub fn findings(
    project: &Project,
    settings: Option<&Settings>,
    chosen: Option<&str>,
) -> Vec<Finding> {
    let dir = project.ralph_dir();
    let mut findings = Vec::new();
    for path in [project.root(), &dir] {
        if path.exists() && access(path, Access::WRITE_OK | Access::EXEC_OK).is_err() {
            findings.push(not_writable(path));
        }
    }
    let unwritable = unwritable_files(&dir);
    if let Some(first) = unwritable.first() {
        let message = format!(
            "{} in .ralph may not be written by you, {} among them",
            count(unwritable.len(), "file"),
            first.display()
        );
        let fix = format!("sudo chown -R \"$(id -u)\" {}", dir.display());
        findings.push(Finding::error(Check::Permissions, message, fix));
    }
    findings.extend(open_logs(&project.logs()));
    if findings.is_empty() {
        let message = "the project can be written, and its logs are yours alone";
        findings.push(Finding::ok(Check::Permissions, message));
    }
    let note = settings.and_then(|settings| as_root(settings, chosen?));
    findings.extend(note);
    findings
}

fn not_writable(path: &Path) -> Finding {
    let path = path.display();
    let message = format!("{path} may not be written");
    Finding::error(Check::Permissions, message, format!("chmod u+rwx {path}"))
}

/// Database, locks and pages that a run writes, and somebody else owns.
fn unwritable_files(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    // Of a directory that is read-only as a whole, that is said already.
    if access(dir, Access::WRITE_OK).is_err() {
        return Vec::new();
    }
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .take(MOST_FILES)
        .map(|entry| entry.path())
        .filter(|path| !is_copy(path) && access(path, Access::WRITE_OK).is_err())
        .collect();
    found.sort();
    found
}

/// Nobody writes to a copy from before a migration.
fn is_copy(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "bak")
}

/// Logs are raw: whatever an agent read may be in them.
fn open_logs(logs: &Path) -> Option<Finding> {
    let entries = std::fs::read_dir(logs).ok()?;
    let open = entries
        .flatten()
        .take(MOST_FILES)
        .filter_map(|entry| entry.metadata().ok())
        .filter(|meta| meta.is_file() && meta.permissions().mode() & OTHERS != 0)
        .count();
    if open == 0 {
        return None;
    }
    let message = format!("others may read {} in .ralph/logs", count(open, "log"));
    let fix = format!("find {} -type f -exec chmod 600 {{}} +", logs.display());
    Some(Finding::warning(Check::Permissions, message, fix))
}

fn as_root(settings: &Settings, chosen: &str) -> Option<Finding> {
    let agent = settings.agents.get(chosen)?;
    let minds = agent.kind == AgentKind::Claude && agent.setup.skip_permissions;
    if !minds || !rustix::process::getuid().is_root() {
        return None;
    }
    let message = "you are root: Claude Code works without asking only in a sandbox, and is told that it is in one \
                   (IS_SANDBOX=1)";
    Some(Finding::ok(Check::Permissions, message))
}

fn count(n: usize, thing: &str) -> String {
    crate::ui::format::counted(u64::try_from(n).unwrap_or(u64::MAX), thing)
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    #[test]
    fn logs_that_others_may_read_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::at(dir.path());
        std::fs::create_dir_all(project.logs()).unwrap();
        let log = project.logs().join("a.jsonl");
        std::fs::write(&log, "x").unwrap();
        let mode = |mode| std::fs::set_permissions(&log, std::fs::Permissions::from_mode(mode));
        mode(0o600).unwrap();
        assert_eq!(findings(&project, None, None)[0].level, Level::Ok);
        mode(0o640).unwrap();
        let found = findings(&project, None, None);
        assert_eq!(found[0].level, Level::Warning);
        assert_eq!(found[0].message, "others may read 1 log in .ralph/logs");
    }
}
