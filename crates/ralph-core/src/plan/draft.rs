//! A plan as a file tells it, before it becomes tasks: what every format is read into.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::json_plan;
use super::outline::DEEPEST;
use crate::model::names;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    pub tasks: Vec<DraftTask>,
    /// What a person should know although the import went on.
    pub notes: Vec<Note>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DraftTask {
    /// What the file calls it; unique in the file and the same at the next reading, however lines move.
    pub name: String,
    /// Whether the name is a key people use (`1.3`), or was made up by the reader (a checklist's item).
    pub named_by_author: bool,
    pub title: String,
    pub description: String,
    /// The number of its phase, as written.
    pub phase: Option<String>,
    /// Name of the task it is a part of.
    pub parent: Option<String>,
    /// Names of the tasks that must be done before it.
    pub after: Vec<String>,
    /// The command that proves it.
    pub verify: Option<String>,
    pub files: Vec<String>,
    /// Patterns of files that its attempts may not change.
    pub protect: Vec<String>,
    /// Patterns of protected files that they may change.
    pub may_change: Vec<String>,
    pub done_when: Option<String>,
    pub commit: Option<String>,
    /// Markers such as `P`, `VERIFY`, `FIX 1.3`.
    pub markers: Vec<String>,
    pub priority: i64,
    pub model: Option<String>,
    pub done: bool,
    /// Whether it calls it left out.
    pub skipped: bool,
    pub fix_of: Option<String>,
    /// Whether its author says that it may be left out.
    pub optional: bool,
    pub for_person: bool,
    /// Lines of the boxes below it that are its steps: they are ticked with it.
    pub steps: Vec<usize>,
    /// Where it begins, counted from 1.
    pub line: usize,
    /// The bytes that say whether it is done, where the format has some.
    pub mark: Option<Range<usize>>,
}

impl Draft {
    /// A task that is done is believed: the open tasks below it are skipped when it is imported, and told.
    pub(crate) fn note_open_parts(&mut self) {
        let done: HashMap<&str, (bool, Option<&str>)> =
            self.tasks.iter().map(|task| (task.name.as_str(), (task.done, task.parent.as_deref()))).collect();
        let is_below_done = |task: &&DraftTask| {
            let mut above = task.parent.as_deref();
            // Nothing is nested deeper than this, except in a circle.
            (0..=DEEPEST).any(|_| {
                let Some((is_done, parent)) = above.and_then(|name| done.get(name)) else {
                    return false;
                };
                above = *parent;
                *is_done
            })
        };
        let open = self.tasks.iter().filter(|task| !task.done && !task.skipped).filter(is_below_done);
        let text = "the task above it is checked, so Ralph skips this one";
        let notes: Vec<Note> = open.map(|task| Note::new(task.line, text)).collect();
        self.notes.extend(notes);
        self.notes.sort_by_key(|note| note.line);
    }

    /// Leaves out the open tasks that are optional, with notes, except those that `is_wanted`.
    pub fn leave_out_optional(&mut self, is_wanted: impl Fn(&str) -> bool) {
        let is_left_out = |task: &DraftTask| task.optional && !task.done && !is_wanted(&task.name);
        let left_out: HashSet<String> =
            self.tasks.iter().filter(|task| is_left_out(task)).map(|task| task.name.clone()).collect();
        for task in self.tasks.extract_if(.., |task| left_out.contains(&task.name)) {
            let text = "this task is optional and was left out; `ralph import --optional` imports it";
            self.notes.extend([task.line].iter().chain(&task.steps).map(|line| Note::new(*line, text)));
        }
        for task in &mut self.tasks {
            task.after.retain(|name| !left_out.contains(name));
            task.parent.take_if(|parent| left_out.contains(parent));
        }
        self.notes.sort_by_key(|note| note.line);
    }
}

/// Something worth telling at a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The file, where a plan has several.
    pub path: Option<String>,
    /// Counted from 1; 0 for the file as a whole.
    pub line: usize,
    pub text: String,
}

impl Note {
    pub(crate) fn new(line: usize, text: impl Into<String>) -> Self {
        Self { path: None, line, text: text.into() }
    }

    pub(crate) fn in_file(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { path: Some(path.to_owned()), line, text: text.into() }
    }
}

/// Why a file is no plan: where, and what was expected there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("line {line}: {expected}")]
pub struct Problem {
    /// Counted from 1.
    pub line: usize,
    /// What was found and what should stand there.
    pub expected: String,
}

impl Problem {
    pub(crate) fn new(line: usize, expected: impl Into<String>) -> Self {
        let expected = expected.into();
        Self { line, expected }
    }

    pub(crate) fn of_json(error: &serde_json::Error, text: impl Fn(&str, usize) -> String) -> Self {
        let words = error.to_string();
        // The place is told in its own words.
        let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words);
        Self::new(error.line().max(1), text(words, error.column()))
    }

    pub(crate) fn in_file(self, path: &str) -> FileProblem {
        FileProblem { path: path.to_owned(), line: self.line, expected: self.expected }
    }
}

/// A [`Problem`] and the file it is in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{path}:{line}: {expected}")]
pub struct FileProblem {
    pub path: String,
    /// Counted from 1.
    pub line: usize,
    pub expected: String,
}

names! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Format {
        /// Task lines with keys, and fields below them.
        TasksMd => "tasks_md",
        Checklist => "checklist",
        Prd => "prd",
        TaskMaster => "taskmaster",
        Beads => "beads",
        /// What `gh issue list --json` prints.
        Github => "github",
        Gsd => "gsd",
        /// Ralph's own export: JSON lines.
        Lines => "jsonl",
    }
}

impl Format {
    /// Tells the format of a file by its name and text. `is_tasks_md` says whether the text has a task line of a tasks.md.
    pub(crate) fn of(path_name: &str, text: &str, is_tasks_md: impl FnOnce() -> bool) -> Self {
        let name = path_name.rsplit(['/', '\\']).next().unwrap_or(path_name);
        let name = name.to_ascii_lowercase();
        let text = text.trim_start_matches('\u{feff}');
        let is_markdown = name.ends_with(".md") || name.ends_with(".markdown");
        let json = if is_markdown { None } else { json_plan::format_of(text) };
        let is_lines = name.ends_with(".jsonl") && json == Some(Format::Prd);
        if let Some(format) = json.filter(|_| !is_lines) {
            format
        } else if name.ends_with(".jsonl") {
            Self::Lines
        } else if name.ends_with(".json") {
            Self::Prd
        } else if is_gsd_plan(&name, text) {
            Self::Gsd
        } else if is_tasks_md() {
            Self::TasksMd
        } else {
            Self::Checklist
        }
    }
}

fn is_gsd_plan(name: &str, text: &str) -> bool {
    let first = text.trim_start().lines().next().unwrap_or_default();
    let has_frontmatter = first.trim_end() == "---";
    let has_tasks = text.contains("<task ") || text.contains("<task>");
    match name {
        "plan.md" => has_frontmatter && has_tasks,
        name => name.ends_with("-plan.md") && (has_frontmatter || has_tasks),
    }
}

#[cfg(test)]
mod tests {
    use super::Format;
    use proptest::prelude::*;

    #[test]
    fn files_are_told_by_name_and_text() {
        let line = "{\"type\":\"task\"}\n{\"type\":\"task\"}\n";
        for (name, text, format) in [
            ("plan.jsonl", "", Format::Lines),
            ("export.json", line, Format::Lines),
            ("-", line, Format::Lines),
            ("a.jsonl", "{\"title\":\"A\"}", Format::Lines),
            ("a.jsonl", "{\"title\":\"A\"}\n{\"title\":\"B\"}\n", Format::Lines),
            ("-", "{\"key\":\"a\",\"title\":\"A\"}\n{\"title\":\"B\"}\n", Format::Lines),
            (
                "a.jsonl",
                "{\"id\":\"t-00000a\",\"key\":\"a\",\"title\":\"A\",\"status\":\"done\"}\n",
                Format::Lines,
            ),
            ("a.jsonl", "{\"id\":\"b-1\",\"title\":\"A\",\"status\":\"open\"}\n", Format::Beads),
            ("prd.json", "{\n \"userStories\": []}", Format::Prd),
            ("prd.json", "{\"type\":\"prd\",\"userStories\":[]}", Format::Prd),
            ("prd.json", "not json", Format::Prd),
            ("-", "\u{feff} [\n {\"id\": \"a\"}]", Format::Prd),
            ("-", "[ ] a", Format::Checklist),
            ("TODO.md", "[![badge](a)](b)\n- [ ] a", Format::Checklist),
            ("TODO.md", "{\"type\": 1}\n- [ ] a", Format::Checklist),
            ("a/01-02-PLAN.md", "---\nphase: 1\n---\n", Format::Gsd),
            ("01-02-PLAN.md", "# Plan\n<task type=\"auto\">", Format::Gsd),
            ("MY-PLAN.md", "- [ ] a", Format::Checklist),
            ("PLAN.md", "- [ ] a", Format::Checklist),
            ("PLAN.md", "---\nplan: 1\n---\n<task>", Format::Gsd),
            ("", "", Format::Checklist),
        ] {
            assert_eq!(Format::of(name, text, || false), format, "{name}: {text}");
        }
    }

    #[test]
    fn tasks_md_is_told_by_its_reader() {
        assert_eq!(Format::of("a.md", "- [ ] 1.1 a", || true), Format::TasksMd);
        assert_eq!(Format::of("01-01-PLAN.md", "---\n---\n- [ ] 1.1 a", || true), Format::Gsd);
        assert_eq!(Format::of("a.json", "{}", || true), Format::Prd);
    }

    proptest! {
        #[test]
        fn never_panics(name in any::<String>(), text in any::<String>(), is_tasks_md: bool) {
            let _ = Format::of(&name, &text, || is_tasks_md);
        }
    }
}
