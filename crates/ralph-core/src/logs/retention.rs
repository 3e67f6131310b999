//! Which logs go: those that are too old, then the oldest until the rest fit. Whatever does not bear the name of a
//! log is not Ralph's to delete.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use regex::Regex;
use serde::Serialize;

use super::LogDir;
use crate::files::unguessable;
use crate::model::{RunId, Timestamp};

/// The name of a new attempt's log. Nobody can guess it, so that nothing waits under it.
pub fn attempt_name(task: &str, number: u32, run: &str) -> String {
    format!("{task}-{number:03}-{run}-{}.jsonl", unguessable())
}

/// The name of the file beside an attempt's log that has its standard error.
pub fn errors_name(log: &str) -> String {
    format!("{}.stderr.log", stem(log))
}

/// The name of the file beside an attempt's log that has its prompt.
pub fn prompt_name(log: &str) -> String {
    format!("{}.prompt.md", stem(log))
}

/// The name of the file beside an attempt's log that has its result, while that cannot be recorded.
pub fn result_name(log: &str) -> String {
    format!("{}.result.json", stem(log))
}

fn stem(log: &str) -> &str {
    log.strip_suffix(".jsonl").unwrap_or(log)
}

/// The names of logs: an attempt's stream (`TASK-NNN-RUN-SECRET.jsonl`; earlier ones have no `SECRET`), its standard error
/// (`….stderr.log`), its prompt (`….prompt.md`), its result while that is not recorded (`….result.json`), what a run printed (`run-….log`), and what a run that died while it cut one
/// left (`.part`).
static NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let attempt = r"(?<attempt>.+-\d{3,}-(?<run>r-[0-9a-f]{8})(?:-[0-9a-f]{16})?)(?:\.jsonl|\.stderr\.log|\.prompt\.md|\.result\.json)";
    let printed = r"(?<printed>run-[A-Za-z0-9._-]+)\.log";
    Regex::new(&format!(r"^(?:{attempt}|{printed})(?:\.part)?$")).ok()
});

/// The name of a log, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogName<'a> {
    /// What a log and the files beside it have in common.
    pub stem: &'a str,
    /// The run it is of, where the name tells.
    pub run: Option<&'a str>,
}

impl<'a> LogName<'a> {
    /// `None` for anything that is not Ralph's.
    pub fn parse(name: &'a str) -> Option<Self> {
        let found = NAMES.as_ref()?.captures(name)?;
        let stem = found.name("attempt").or_else(|| found.name("printed"))?.as_str();
        Some(Self { stem, run: found.name("run").map(|run| run.as_str()) })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Older ones go; none for never.
    pub max_age: Option<Duration>,
    /// The oldest go above this; none for any amount.
    pub max_bytes: Option<u64>,
}

impl Limits {
    /// From the settings' numbers, where zero is without end.
    pub fn new(keep_days: u32, max_mb: u32) -> Self {
        Self {
            max_age: (keep_days > 0).then(|| Duration::from_secs(u64::from(keep_days) * 86_400)),
            max_bytes: (max_mb > 0).then(|| u64::from(max_mb) * 1024 * 1024),
        }
    }

    pub fn is_endless(&self) -> bool {
        self.max_age.is_none() && self.max_bytes.is_none()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    pub name: String,
    pub bytes: u64,
    pub modified: Timestamp,
    pub protected: bool,
}

/// The files to delete, oldest first. A log and the files beside it stay or go together. What is protected, and
/// what does not bear the name of a log, stays whatever the limits say.
pub fn to_delete<'a>(files: &'a [LogFile], limits: &Limits, now: Timestamp) -> Vec<&'a LogFile> {
    let mut groups: BTreeMap<&str, Vec<&LogFile>> = BTreeMap::new();
    for file in files {
        if let Some(name) = LogName::parse(&file.name) {
            groups.entry(name.stem).or_default().push(file);
        }
    }
    let mut groups: Vec<Vec<&LogFile>> = groups.into_values().collect();
    for group in &mut groups {
        group.sort_by(|a, b| a.name.cmp(&b.name));
    }
    let modified = |group: &[&LogFile]| group.iter().map(|file| file.modified).max();
    let bytes = |group: &[&LogFile]| group.iter().map(|file| file.bytes).fold(0, u64::saturating_add);
    groups.sort_by_key(|group| (modified(group), group.first().map(|file| file.name.as_str())));
    let mut total = groups.iter().map(|group| bytes(group)).fold(0, u64::saturating_add);
    let mut gone = Vec::new();
    for group in groups {
        let age = modified(&group).map_or(Duration::ZERO, |modified| now.since(modified));
        let too_old = limits.max_age.is_some_and(|most| age > most);
        // From the oldest on: what is left over the limit is always made of younger ones.
        let too_much = limits.max_bytes.is_some_and(|most| total > most);
        if !group.iter().any(|file| file.protected) && (too_old || too_much) {
            total = total.saturating_sub(bytes(&group));
            gone.extend(group);
        }
    }
    gone
}

/// A log that a run under way has just written to may be one that it has not told of yet.
const FRESH: Duration = Duration::from_secs(60);
/// Files between two looks at the clock.
const BETWEEN_LOOKS: usize = 64;

#[derive(Clone, Debug, Default)]
pub struct Protected {
    pub names: HashSet<String>,
    /// Runs under way; what they wrote just now stays.
    pub runs: HashSet<RunId>,
}

impl Protected {
    /// From the paths of logs that are needed and the runs under way.
    pub fn new(paths: &[String], runs: impl IntoIterator<Item = RunId>) -> Self {
        let name = |path: &String| Some(Path::new(path).file_name()?.to_string_lossy().into_owned());
        Self { names: paths.iter().filter_map(name).collect(), runs: runs.into_iter().collect() }
    }

    fn covers(&self, name: &str, modified: Timestamp, now: Timestamp) -> bool {
        if self.names.contains(name) {
            return true;
        }
        let run = LogName::parse(name).and_then(|name| name.run);
        now.since(modified) < FRESH && run.is_some_and(|run| self.runs.contains(&RunId::from_stored(run)))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    pub files: u64,
    pub bytes: u64,
}

/// The files that would be deleted now, oldest first. A directory that is not there has none.
pub fn plan(dir: &Path, protected: &Protected, limits: &Limits, now: Timestamp) -> io::Result<Vec<LogFile>> {
    if limits.is_endless() {
        return Ok(Vec::new());
    }
    let files = list(dir, protected, now)?;
    Ok(to_delete(&files, limits, now).into_iter().cloned().collect())
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
    let mut files = dir.files(|name| LogName::parse(name).is_some())?;
    for file in &mut files {
        file.protected = protected.covers(&file.name, file.modified, now);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logs::PART;
    use proptest::prelude::*;
    use std::fs;

    #[test]
    fn own_names_are_known_and_no_others() {
        let stem = "t-00af12-001-r-0123abcd";
        for end in [".jsonl", ".stderr.log", ".prompt.md"] {
            let name = format!("{stem}{end}");
            let parsed = LogName::parse(&name).unwrap();
            assert_eq!((parsed.stem, parsed.run), (stem, Some("r-0123abcd")));
        }
        let new = attempt_name("t-00af12", 1, "r-0123abcd");
        let parsed = LogName::parse(&new).unwrap();
        assert_eq!(parsed.run, Some("r-0123abcd"));
        assert_eq!(new, format!("{}.jsonl", parsed.stem));
        assert_ne!(new, attempt_name("t-00af12", 1, "r-0123abcd"));
        let part = format!("{new}{PART}");
        assert_eq!(LogName::parse(&part), Some(parsed));
        let other = LogName::parse("my-task-1234-r-0123abcd.jsonl").unwrap();
        assert_eq!(other.run, Some("r-0123abcd"));
        for run in ["run-r-0123abcd.log", "run-20260102T030405Z-77.log"] {
            let parsed = LogName::parse(run).unwrap();
            assert_eq!(parsed.stem, run.strip_suffix(".log").unwrap());
            assert_eq!(parsed.run, None);
        }
        for no in [
            "",
            "notes.txt",
            "t-00af12.jsonl",
            "t-00af12-1-r-0123abcd.jsonl",
            "t-00af12-001-r-0123abcd.json",
            "t-00af12-001-r-0123ABCD.jsonl",
            "t-00af12-001-r-0123abcd-.jsonl",
            "t-00af12-001-r-0123abcd-0123456789abcde.jsonl",
            "t-00af12-001-r-0123abcd-0123456789abcdeG.jsonl",
            "-001-r-0123abcd.jsonl",
            "t-00af12-001-r-0123abcd.log",
            "t-00af12-001-r-0123abcd.md",
            "run-.log",
            "run-../x.log",
            "runner.log",
            "backup of run-1.log",
            "run-1.log.gz",
            "日本-r-.jsonl",
        ] {
            assert_eq!(LogName::parse(no), None, "{no}");
        }
    }

    const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);
    const DAY: Duration = Duration::from_secs(86_400);

    fn file(name: &str, bytes: u64, days: u64) -> LogFile {
        let ago = i64::try_from(DAY.as_millis()).unwrap() * i64::try_from(days).unwrap();
        LogFile {
            name: name.into(),
            bytes,
            modified: Timestamp::from_millis(NOW.as_millis() - ago),
            protected: false,
        }
    }

    fn attempt(n: usize, bytes: u64, days: u64) -> LogFile {
        file(&format!("t-{n:06x}-001-r-00000001.jsonl"), bytes, days)
    }

    fn gone(files: &[LogFile], limits: &Limits) -> Vec<String> {
        let gone = to_delete(files, limits, NOW);
        gone.iter().map(|file| file.name.clone()).collect()
    }

    #[test]
    fn zero_is_without_end() {
        assert!(Limits::new(0, 0).is_endless());
        let files = [attempt(1, u64::MAX / 2, 10_000)];
        assert_eq!(gone(&files, &Limits::new(0, 0)), [""; 0]);
        assert_eq!(Limits::new(2, 3).max_age, Some(2 * DAY));
        assert_eq!(Limits::new(2, 3).max_bytes, Some(3 << 20));
    }

    #[test]
    fn the_old_go_and_then_the_oldest_until_the_rest_fits() {
        let files =
            [attempt(1, 10, 5), attempt(2, 10, 40), attempt(3, 10, 1), attempt(4, 10, 3), attempt(5, 10, 30)];
        let by_age = Limits::new(30, 0);
        assert_eq!(gone(&files, &by_age), [files[1].name.as_str()]);
        let both = Limits { max_bytes: Some(25), ..by_age };
        let order = [1, 4, 0].map(|n: usize| files[n].name.as_str());
        assert_eq!(gone(&files, &both), order);
    }

    #[test]
    fn a_stream_and_what_stands_beside_it_go_together_or_stay_together() {
        let mut files = vec![
            file("t-000001-001-r-00000001.jsonl", 10, 40),
            file("t-000001-001-r-00000001.stderr.log", 1, 10),
            file("t-000001-001-r-00000001.prompt.md", 1, 40),
            file("run-r-00000001.log", 10, 31),
            file("notes.txt", 1000, 1000),
        ];
        let limits = Limits::new(30, 0);
        assert_eq!(gone(&files, &limits), ["run-r-00000001.log"]);
        files[1].modified = files[0].modified;
        assert_eq!(gone(&files, &limits).len(), 4);
        files[1].protected = true;
        assert_eq!(gone(&files, &limits), ["run-r-00000001.log"]);
    }

    #[test]
    fn what_was_written_in_the_future_is_not_old() {
        let mut late = attempt(1, 10, 0);
        late.modified = NOW.plus(100 * DAY);
        assert_eq!(gone(&[late], &Limits::new(1, 0)), [""; 0]);
    }

    fn any_files() -> impl Strategy<Value = Vec<LogFile>> {
        let one = (0_usize..12, 0_u8..4, 0_u64..100, 0_u64..60, any::<bool>()).prop_map(
            |(n, kind, bytes, days, protected)| {
                let stem = format!("t-{n:06x}-001-r-00000001");
                let name = match kind {
                    0 => format!("{stem}.jsonl"),
                    1 => format!("{stem}.stderr.log"),
                    2 => format!("run-{n}.log"),
                    _ => format!("{n}.txt"),
                };
                LogFile { protected, ..file(&name, bytes, days) }
            },
        );
        proptest::collection::vec(one, 0..30).prop_map(|files| {
            let by_name: BTreeMap<String, LogFile> =
                files.into_iter().map(|file| (file.name.clone(), file)).collect();
            by_name.into_values().collect()
        })
    }

    proptest! {
        #[test]
        fn the_needed_stay_the_limits_hold_and_the_newest_are_kept(
            files in any_files(),
            days in 0_u32..40,
            bytes in 0_u64..400,
        ) {
            let limits = Limits {
                max_bytes: Some(bytes).filter(|bytes| *bytes > 0),
                ..Limits::new(days, 0)
            };
            let gone = to_delete(&files, &limits, NOW);
            // Whether it or what stands beside it is needed, and when the newer of them was written.
            let group = |file: &LogFile| {
                let stem = LogName::parse(&file.name)?.stem;
                let beside = files.iter().filter(|file| LogName::parse(&file.name).is_some_and(|name| name.stem == stem));
                let beside: Vec<&LogFile> = beside.collect();
                let bytes: u64 = beside.iter().map(|file| file.bytes).sum();
                Some((beside.iter().any(|file| file.protected), beside.iter().map(|file| file.modified).max(), bytes))
            };
            for file in &gone {
                prop_assert!(group(file).is_some_and(|(protected, ..)| !protected));
            }
            // Oldest first, each once.
            let times: Vec<_> = gone.iter().map(|file| group(file).unwrap().1).collect();
            prop_assert!(times.is_sorted());
            let names: std::collections::BTreeSet<_> = gone.iter().map(|file| &file.name).collect();
            prop_assert_eq!(names.len(), gone.len());
            // Within the limits, unless what is left is needed.
            let left: Vec<&LogFile> = files
                .iter()
                .filter(|file| group(file).is_some() && !names.contains(&file.name))
                .collect();
            let free: Vec<&&LogFile> = left.iter().filter(|file| !group(file).unwrap().0).collect();
            let room: u64 = left.iter().map(|file| file.bytes).sum();
            if let Some(most) = limits.max_bytes {
                prop_assert!(room <= most || free.is_empty());
            }
            if let Some(most) = limits.max_age {
                for file in &free {
                    prop_assert!(NOW.since(group(file).unwrap().1.unwrap()) <= most);
                }
            }
            // Nothing goes for its size that is younger than something that stays and is not needed.
            let newest_gone = times.last().copied().flatten();
            for file in &free {
                prop_assert!(group(file).unwrap().1 >= newest_gone);
            }
            // And not more than has to: the last one that went was too old, or its going was needed.
            if let Some(last) = gone.last() {
                let (_, modified, bytes) = group(last).unwrap();
                let too_old = limits.max_age.is_some_and(|most| NOW.since(modified.unwrap()) > most);
                let was_needed = limits.max_bytes.is_some_and(|most| room + bytes > most);
                prop_assert!(too_old || was_needed);
            }
        }
    }

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
        let limits = Limits { max_bytes: Some(1), ..Limits::default() };
        let gone = plan(dir.path(), &protected, &limits, now()).unwrap();
        let (done, failed) = prune(dir.path(), &gone, FOREVER);
        assert!(failed.is_none());
        assert_eq!(done, Pruned { files: 3, bytes: 15 });
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
