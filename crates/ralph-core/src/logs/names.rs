//! The names of logs. Whatever else lies in their directory is not Ralph's to delete.

use super::PART;
use crate::files::unguessable;

/// Characters of a name that nobody can guess.
const SECRET: usize = 16;

/// The name of a new attempt's log. Nobody can guess it, so that nothing waits under it.
#[must_use]
pub fn attempt_name(task: &str, number: u32, run: &str) -> String {
    format!("{task}-{number:03}-{run}-{}.jsonl", unguessable())
}

/// The name of a log, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogName<'a> {
    /// What a log and the standard error beside it have in common.
    pub stem: &'a str,
    /// The run it is of, where the name tells.
    pub run: Option<&'a str>,
}

impl<'a> LogName<'a> {
    /// Reads the name of an attempt's stream (`TASK-NNN-RUN-SECRET.jsonl`; earlier ones have no `SECRET`), of its standard
    /// error (`….stderr.log`) or of what a run printed (`run-….log`). `None` for anything else.
    #[must_use]
    pub fn parse(name: &'a str) -> Option<Self> {
        // What a run that died while it cut a log left.
        let name = name.strip_suffix(PART).unwrap_or(name);
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
        let (before, rest) = stem.rsplit_once("-r-")?;
        let (hex, secret) = match rest.split_once('-') {
            Some((hex, secret)) => (hex, Some(secret)),
            None => (rest, None),
        };
        let is_hex = |text: &str| text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let is_run = hex.len() == 8 && is_hex(hex);
        let is_secret = secret.is_none_or(|secret| secret.len() == SECRET && is_hex(secret));
        let (task, number) = before.rsplit_once('-')?;
        let is_number = number.len() >= 3 && number.bytes().all(|b| b.is_ascii_digit());
        let run = stem.get(before.len() + 1..before.len() + "-r-".len() + hex.len());
        (is_run && is_secret && is_number && !task.is_empty()).then_some(Self { stem, run })
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
