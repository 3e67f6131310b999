//! Which files an attempt may not change: those that `protect` names and those that the gate executes, unless the task names
//! them as its work.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use regex::{Regex, RegexSet};

use super::executed::executed;

/// Paths below the project's root, as people write them: `tests/**`, `ci/*.sh`, `Makefile`. A directory stands for all that is
/// in it.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    texts: Vec<String>,
    set: RegexSet,
}

impl Patterns {
    /// Those that cannot be read are left out; [`Self::refusal`] says which.
    pub fn new<'p>(patterns: impl IntoIterator<Item = &'p String>) -> Self {
        let readable = patterns.into_iter().filter(|pattern| Self::refusal(pattern).is_none());
        let texts: Vec<String> = readable.map(|pattern| tidy(pattern).to_owned()).collect();
        let set = RegexSet::new(texts.iter().map(|text| regex_of(text))).unwrap_or_default();
        Self { texts, set }
    }

    /// Why a pattern cannot be used.
    pub fn refusal(pattern: &str) -> Option<String> {
        let leaves = Path::new(pattern).components().any(|part| part == Component::ParentDir);
        let why = match tidy(pattern) {
            "" => "is empty",
            tidied if tidied.starts_with(['/', '~']) || leaves => "is outside the project",
            tidied if Regex::new(&regex_of(tidied)).is_err() => "is too long",
            _ => return None,
        };
        Some(format!("the pattern `{pattern}` {why}; give paths below the project's root, such as tests/**"))
    }

    pub fn is_match(&self, path: &str) -> bool {
        self.set.is_match(path)
    }

    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The patterns that name one path.
    fn literal(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str).filter(|text| !text.contains(['*', '?']))
    }

    /// The directories that hold everything they can match.
    pub fn roots(&self) -> Vec<&str> {
        let roots = self.texts.iter().map(|text| match text.find(['*', '?']) {
            Some(at) => text.get(..at).and_then(|fixed| fixed.rsplit_once('/')).map_or("", |(dir, _)| dir),
            None => text,
        });
        roots.collect()
    }
}

fn tidy(pattern: &str) -> &str {
    let mut pattern = pattern.trim();
    while let Some(rest) = pattern.strip_prefix("./") {
        pattern = rest;
    }
    pattern.trim_end_matches('/')
}

fn regex_of(pattern: &str) -> String {
    let mut regex = String::from("^");
    let mut rest = pattern;
    while let Some(next) = rest.chars().next() {
        let (length, part) = match next {
            '*' if rest.starts_with("**/") => (3, "(?s:.*/)?".to_owned()),
            '*' if rest.starts_with("**") => (2, "(?s:.*)".to_owned()),
            '*' => (1, "[^/]*".to_owned()),
            '?' => (1, "[^/]".to_owned()),
            other => (other.len_utf8(), regex::escape(other.encode_utf8(&mut [0; 4]))),
        };
        regex.push_str(&part);
        rest = rest.get(length..).unwrap_or_default();
    }
    regex + "(?s:/.*)?$"
}

/// The rules of one attempt.
#[derive(Clone, Debug, Default)]
pub struct Protection {
    protect: Patterns,
    /// What the gates execute, below the project's root.
    executed: BTreeSet<String>,
    /// What is the task's to change.
    may_change: Patterns,
    /// What it works on: scripts among them are its to change, files that a pattern protects are not.
    files: Patterns,
}

impl Protection {
    /// `protect`, `may_change` and `files` are patterns; the gates are the commands that judge the attempt.
    pub fn new<'p>(
        protect: impl IntoIterator<Item = &'p String>,
        may_change: impl IntoIterator<Item = &'p String>,
        files: impl IntoIterator<Item = &'p String>,
        gates: &[&str],
        root: &Path,
    ) -> Self {
        let paths = gates.iter().flat_map(|gate| executed(gate));
        let executed = paths.filter_map(|path| below(&path, root)).collect();
        Self {
            protect: Patterns::new(protect),
            may_change: Patterns::new(may_change),
            files: Patterns::new(files),
            executed,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.protect.is_empty() && self.executed.is_empty()
    }

    /// Whether files must be listed to find those that are protected.
    pub fn patterns(&self) -> &Patterns {
        &self.protect
    }

    /// Whether an attempt may not change this file, which a pattern may match.
    pub fn covers(&self, path: &str) -> bool {
        self.protect.is_match(path) && !self.may_change.is_match(path)
    }

    /// What the gates execute and the task may not change.
    pub fn executed(&self) -> impl Iterator<Item = &String> {
        let is_its_own = |path: &&String| self.may_change.is_match(path) || self.files.is_match(path);
        self.executed.iter().filter(move |path| !is_its_own(path))
    }

    /// Paths that patterns name one by one: where nothing is there, nothing may be put there.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        self.protect.literal().filter(|path| !self.may_change.is_match(path))
    }

    /// What agents are told to leave alone; `exists` tells files that are there.
    pub fn told(&self, exists: impl Fn(&str) -> bool) -> Vec<String> {
        let patterns = self.protect.texts.iter().filter(|text| !self.may_change.is_match(text)).cloned();
        let scripts = self.executed().filter(|path| exists(path) && !self.protect.is_match(path)).cloned();
        patterns.chain(scripts).collect()
    }
}

/// A path as it is below the root, without `.` and `..`; none outside it.
fn below(path: &str, root: &Path) -> Option<String> {
    let path = if path.starts_with('/') { Path::new(path).strip_prefix(root).ok()? } else { Path::new(path) };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::ParentDir => _ = parts.pop()?,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn patterns_match_paths_as_people_expect() {
        for (pattern, path, expected) in [
            ("tests/**", "tests/a.py", true),
            ("tests/**", "tests/a/b.py", true),
            ("tests/**", "src/tests/a.py", false),
            ("tests", "tests/a.py", true),
            ("./tests/", "tests/a.py", true),
            ("tests", "tests.py", false),
            ("**/test_*.py", "test_a.py", true),
            ("**/test_*.py", "a/b/test_a.py", true),
            ("**/test_*.py", "a/best_a.py", false),
            ("ci/*.sh", "ci/a.sh", true),
            ("ci/*.sh", "ci/b/a.sh", false),
            ("a?.txt", "ab.txt", true),
            ("a.txt", "aXtxt", false),
            ("Makefile", "Makefile", true),
            ("(x", "(x", true),
        ] {
            let patterns = list(&[pattern]);
            assert_eq!(Patterns::new(&patterns).is_match(path), expected, "{pattern} {path}");
        }
        for refused in ["", "/etc/**", "../x", "a/../../x", "~/x"] {
            assert!(Patterns::refusal(refused).is_some(), "{refused}");
        }
    }

    #[test]
    fn the_roots_of_patterns_hold_all_they_match() {
        let patterns = list(&["tests/**", "ci/*.sh", "**/x", "a/b?/c", "Makefile"]);
        assert_eq!(Patterns::new(&patterns).roots(), ["tests", "ci", "", "a", "Makefile"]);
    }

    #[test]
    fn what_the_task_names_as_its_work_is_not_protected() {
        let (protect, may) = (list(&["tests/**", "lock"]), list(&["tests/test_a.py", "run.sh"]));
        let gates = ["sh run.sh && sh own.sh", "./ci/../check.sh && /root/x/all.sh && sh /etc/y.sh"];
        let files = list(&["own.sh", "tests/test_b.py"]);
        let rules = Protection::new(&protect, &may, &files, &gates, Path::new("/root"));
        assert!(rules.covers("tests/test_b.py") && !rules.covers("tests/test_a.py"));
        assert_eq!(rules.executed().collect::<Vec<_>>(), ["check.sh", "x/all.sh"]);
        assert_eq!(rules.named().collect::<Vec<_>>(), ["lock"]);
        assert_eq!(rules.told(|path| path == "check.sh"), ["tests/**", "lock", "check.sh"]);
    }
}
