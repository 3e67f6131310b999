//! Deleting what retention says may go.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::{Limits, LogDir, LogFile, LogName, to_delete};
use crate::model::{RunId, Timestamp};

/// A log that a run under way has just written to may be one that it has not told of yet.
const FRESH: Duration = Duration::from_secs(60);
/// Files between two looks at the clock.
const BETWEEN_LOOKS: usize = 64;

/// What must not be deleted.
#[derive(Clone, Debug, Default)]
pub struct Protected {
    /// Names of logs that are needed.
    pub names: HashSet<String>,
    /// Runs under way; what they wrote just now stays.
    pub runs: HashSet<RunId>,
}

impl Protected {
    /// From the paths of logs that are needed and the runs under way.
    #[must_use]
    pub fn new(paths: &[String], runs: impl IntoIterator<Item = RunId>) -> Self {
        let name = |path: &String| {
            let name = Path::new(path).file_name()?;
            Some(name.to_string_lossy().into_owned())
        };
        Self {
            names: paths.iter().filter_map(name).collect(),
            runs: runs.into_iter().collect(),
        }
    }

    fn covers(&self, name: &str, modified: Timestamp, now: Timestamp) -> bool {
        if self.names.contains(name) {
            return true;
        }
        let run = LogName::parse(name).and_then(|name| name.run);
        now.since(modified) < FRESH
            && run.is_some_and(|run| self.runs.contains(&RunId::from_stored(run)))
    }
}

/// What was deleted, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// How many files.
    pub files: u64,
    /// How much room they took.
    pub bytes: u64,
}

/// The files that would be deleted now, oldest first. A directory that is not there has none.
pub fn plan(
    dir: &Path,
    protected: &Protected,
    limits: &Limits,
    now: Timestamp,
) -> io::Result<Vec<LogFile>> {
    if limits.is_endless() {
        return Ok(Vec::new());
    }
    let files = list(dir, protected, now)?;
    Ok(to_delete(&files, limits, now)
        .into_iter()
        .cloned()
        .collect())
}

/// Deletes files of the directory, for so long; the next time goes on where this one ended. One that cannot be deleted
/// keeps no other from it: the first error comes back beside what was done.
pub fn prune(dir: &Path, files: &[LogFile], patience: Duration) -> (Pruned, Option<io::Error>) {
    let started = Instant::now();
    let mut done = Pruned::default();
    let mut failed = None;
    let dir = match LogDir::open(dir) {
        Ok(dir) => dir,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return (done, None),
        Err(error) => return (done, Some(error)),
    };
    for (at, file) in files.iter().enumerate() {
        if at % BETWEEN_LOOKS == 0 && started.elapsed() > patience {
            break;
        }
        match dir.remove(&file.name) {
            Ok(()) => {
                done.files += 1;
                done.bytes += file.bytes;
            }
            // Another run was quicker.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                failed.get_or_insert(error);
            }
        }
    }
    (done, failed)
}

/// Every log in the directory; what is no plain file, or has another name, is left out.
fn list(dir: &Path, protected: &Protected, now: Timestamp) -> io::Result<Vec<LogFile>> {
    let dir = match LogDir::open(dir) {
        Ok(dir) => dir,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let entries = dir.entries(|name| LogName::parse(name).is_some())?;
    let files = entries.into_iter().map(|entry| LogFile {
        protected: protected.covers(&entry.name, entry.modified, now),
        bytes: entry.bytes,
        modified: entry.modified,
        name: entry.name,
    });
    Ok(files.collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const FOREVER: Duration = Duration::MAX;

    fn logs(names: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for name in names {
            fs::write(dir.path().join(name), "12345").unwrap();
        }
        dir
    }

    fn now() -> Timestamp {
        Timestamp::from(std::time::SystemTime::now())
    }

    #[test]
    fn only_logs_that_nobody_needs_are_deleted() {
        let dir = logs(&[
            "t-000001-001-r-00000001.jsonl",
            "t-000001-001-r-00000001.stderr.log",
            "t-000002-001-r-00000001.jsonl",
            "t-000003-001-r-00000002.jsonl",
            "run-1.log",
            "notes.txt",
        ]);
        fs::create_dir(dir.path().join("t-000009-001-r-00000001.jsonl")).unwrap();
        let protected = Protected::new(
            &[".ralph/logs/t-000002-001-r-00000001.jsonl".to_owned()],
            [RunId::from_stored("r-00000002")],
        );
        let limits = Limits {
            max_bytes: Some(1),
            ..Limits::default()
        };
        let gone = plan(dir.path(), &protected, &limits, now()).unwrap();
        let (done, failed) = prune(dir.path(), &gone, FOREVER);
        assert!(failed.is_none());
        assert_eq!(
            done,
            Pruned {
                files: 3,
                bytes: 15
            }
        );
        let mut left: Vec<String> = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(
            left,
            [
                "notes.txt",
                "t-000002-001-r-00000001.jsonl",
                "t-000003-001-r-00000002.jsonl",
                "t-000009-001-r-00000001.jsonl"
            ]
        );
        // The run under way has long told of what it wrote a minute ago.
        let later = now().plus(2 * FRESH);
        let gone = plan(dir.path(), &protected, &limits, later).unwrap();
        assert_eq!(gone.len(), 1);
    }

    #[test]
    fn no_directory_no_logs_and_no_time_no_deletion() {
        let limits = Limits::new(0, 1);
        let nobody = Protected::default();
        let dir = logs(&["run-1.log"]);
        let missing = dir.path().join("missing");
        assert_eq!(plan(&missing, &nobody, &limits, now()).unwrap(), []);
        let all = list(dir.path(), &nobody, now()).unwrap();
        std::thread::sleep(Duration::from_millis(2));
        let (done, _) = prune(dir.path(), &all, Duration::ZERO);
        assert_eq!(done, Pruned::default());
        let (done, _) = prune(dir.path(), &all, FOREVER);
        assert_eq!(done.files, 1);
        // Gone already: no error, and not counted again.
        let (done, failed) = prune(dir.path(), &all, FOREVER);
        assert_eq!((done, failed.is_none()), (Pruned::default(), true));
    }
}
