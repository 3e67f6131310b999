//! The names of logs. Whatever else lies in their directory is not Ralph's to delete.

/// The name of a log, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogName<'a> {
    /// What a log and the standard error beside it have in common.
    pub stem: &'a str,
    /// The run it is of, where the name tells.
    pub run: Option<&'a str>,
}

impl<'a> LogName<'a> {
    /// Reads the name of an attempt's stream (`TASK-NNN-RUN.jsonl`), of its standard error (`….stderr.log`) or of what a
    /// run printed (`run-….log`). `None` for anything else.
    #[must_use]
    pub fn parse(name: &'a str) -> Option<Self> {
        if let Some(stem) = name.strip_suffix(".jsonl") {
            return Self::attempt(stem);
        }
        if let Some(stem) = name.strip_suffix(".stderr.log") {
            return Self::attempt(stem);
        }
        let stem = name.strip_suffix(".log")?;
        let rest = stem.strip_prefix("run-")?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        (!rest.is_empty() && rest.chars().all(plain)).then_some(Self { stem, run: None })
    }

    fn attempt(stem: &'a str) -> Option<Self> {
        let (before, hex) = stem.rsplit_once("-r-")?;
        let is_run = hex.len() == 8 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let (task, number) = before.rsplit_once('-')?;
        let is_number = number.len() >= 3 && number.bytes().all(|b| b.is_ascii_digit());
        (is_run && is_number && !task.is_empty()).then(|| Self {
            stem,
            run: stem.get(stem.len() - hex.len() - 2..),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_names_are_known_and_no_others() {
        let stem = "t-00af12-001-r-0123abcd";
        for end in [".jsonl", ".stderr.log"] {
            let name = format!("{stem}{end}");
            let parsed = LogName::parse(&name).unwrap();
            assert_eq!((parsed.stem, parsed.run), (stem, Some("r-0123abcd")));
        }
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
            "-001-r-0123abcd.jsonl",
            "t-00af12-001-r-0123abcd.log",
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
}
