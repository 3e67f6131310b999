//! Which logs go: those that are too old, then the oldest until the rest fit. A pure decision over names and numbers.

use std::collections::BTreeMap;
use std::time::Duration;

use super::LogName;
use crate::model::Timestamp;

/// How long logs are kept, and how much room they may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Older ones go; none for never.
    pub max_age: Option<Duration>,
    /// The oldest go above this; none for any amount.
    pub max_bytes: Option<u64>,
}

impl Limits {
    /// From the settings' numbers, where zero is without end.
    #[must_use]
    pub fn new(keep_days: u32, max_mb: u32) -> Self {
        Self {
            max_age: (keep_days > 0).then(|| Duration::from_secs(u64::from(keep_days) * 86_400)),
            max_bytes: (max_mb > 0).then(|| u64::from(max_mb) * 1024 * 1024),
        }
    }

    /// Whether there is any.
    #[must_use]
    pub fn is_endless(&self) -> bool {
        self.max_age.is_none() && self.max_bytes.is_none()
    }
}

/// A file in the directory of logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// When it was last written to.
    pub modified: Timestamp,
    /// Somebody still needs it.
    pub protected: bool,
}

/// A log with the standard error beside it: they stay or go together.
#[derive(Debug, Default)]
struct Group<'a> {
    files: Vec<&'a LogFile>,
    bytes: u64,
    modified: Option<Timestamp>,
    protected: bool,
}

/// The files to delete, oldest first. What is protected, and what does not bear the name of a log, stays whatever the
/// limits say.
#[must_use]
pub fn to_delete<'a>(files: &'a [LogFile], limits: &Limits, now: Timestamp) -> Vec<&'a LogFile> {
    let mut groups: Vec<Group<'a>> = grouped(files).into_values().collect();
    groups.sort_by(|a, b| (a.modified, name_of(a)).cmp(&(b.modified, name_of(b))));
    let sizes = groups.iter().map(|group| group.bytes);
    let mut total = sizes.fold(0, u64::saturating_add);
    let mut gone = Vec::new();
    for group in groups {
        let age = group
            .modified
            .map_or(Duration::ZERO, |modified| now.since(modified));
        let too_old = limits.max_age.is_some_and(|most| age > most);
        // From the oldest on: what is left over the limit is always made of younger ones.
        let too_much = limits.max_bytes.is_some_and(|most| total > most);
        if !group.protected && (too_old || too_much) {
            total = total.saturating_sub(group.bytes);
            gone.extend(group.files);
        }
    }
    gone
}

fn grouped(files: &[LogFile]) -> BTreeMap<&str, Group<'_>> {
    let mut groups: BTreeMap<&str, Group<'_>> = BTreeMap::new();
    for file in files {
        let Some(name) = LogName::parse(&file.name) else {
            continue;
        };
        let group = groups.entry(name.stem).or_default();
        group.files.push(file);
        group.bytes = group.bytes.saturating_add(file.bytes);
        group.modified = group.modified.max(Some(file.modified));
        group.protected |= file.protected;
    }
    for group in groups.values_mut() {
        group.files.sort_by(|a, b| a.name.cmp(&b.name));
    }
    groups
}

fn name_of<'a>(group: &Group<'a>) -> Option<&'a str> {
    group.files.first().map(|file| file.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        let files = [
            attempt(1, 10, 5),
            attempt(2, 10, 40),
            attempt(3, 10, 1),
            attempt(4, 10, 3),
            attempt(5, 10, 30),
        ];
        let by_age = Limits::new(30, 0);
        assert_eq!(gone(&files, &by_age), [files[1].name.as_str()]);
        let both = Limits {
            max_bytes: Some(25),
            ..by_age
        };
        let order = [1, 4, 0].map(|n: usize| files[n].name.as_str());
        assert_eq!(gone(&files, &both), order);
    }

    #[test]
    fn a_stream_and_its_standard_error_go_together_or_stay_together() {
        let mut files = vec![
            file("t-000001-001-r-00000001.jsonl", 10, 40),
            file("t-000001-001-r-00000001.stderr.log", 1, 10),
            file("run-r-00000001.log", 10, 31),
            file("notes.txt", 1000, 1000),
        ];
        let limits = Limits::new(30, 0);
        assert_eq!(gone(&files, &limits), ["run-r-00000001.log"]);
        files[1].modified = files[0].modified;
        assert_eq!(gone(&files, &limits).len(), 3);
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
                LogFile {
                    protected,
                    ..file(&name, bytes, days)
                }
            },
        );
        proptest::collection::vec(one, 0..30).prop_map(|files| {
            let by_name: BTreeMap<String, LogFile> = files
                .into_iter()
                .map(|file| (file.name.clone(), file))
                .collect();
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
            let groups = grouped(&files);
            let group = |file: &LogFile| {
                LogName::parse(&file.name).map(|name| &groups[name.stem])
            };
            for file in &gone {
                prop_assert!(group(file).is_some_and(|group| !group.protected));
            }
            // Oldest first, each once.
            let times: Vec<_> = gone.iter().map(|file| group(file).unwrap().modified).collect();
            prop_assert!(times.is_sorted());
            let names: std::collections::BTreeSet<_> = gone.iter().map(|file| &file.name).collect();
            prop_assert_eq!(names.len(), gone.len());
            // Within the limits, unless what is left is needed.
            let left: Vec<&LogFile> = files
                .iter()
                .filter(|file| group(file).is_some() && !names.contains(&file.name))
                .collect();
            let free: Vec<&&LogFile> = left.iter().filter(|file| !group(file).unwrap().protected).collect();
            let room: u64 = left.iter().map(|file| file.bytes).sum();
            if let Some(most) = limits.max_bytes {
                prop_assert!(room <= most || free.is_empty());
            }
            if let Some(most) = limits.max_age {
                for file in &free {
                    prop_assert!(NOW.since(group(file).unwrap().modified.unwrap()) <= most);
                }
            }
            // Nothing goes for its size that is younger than something that stays and is not needed.
            let newest_gone = times.last().copied().flatten();
            for file in &free {
                prop_assert!(group(file).unwrap().modified >= newest_gone);
            }
            // And not more than has to: the last one that went was too old, or its going was needed.
            if let Some(last) = gone.last() {
                let last = group(last).unwrap();
                let too_old = limits.max_age.is_some_and(|most| NOW.since(last.modified.unwrap()) > most);
                let was_needed = limits.max_bytes.is_some_and(|most| room + last.bytes > most);
                prop_assert!(too_old || was_needed);
            }
        }
    }
}
