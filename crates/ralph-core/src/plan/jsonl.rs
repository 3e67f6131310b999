//! Ralph's own form of a plan: one JSON object per line, as `ralph export` writes it.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Draft, DraftTask, Problem};
use crate::model::{Status, Task, Timestamp};

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    /// The first one: what the file is.
    Ralph {
        version: u32,
        #[serde(default)]
        exported_at: String,
    },
    /// A task. Boxed, for it is much larger.
    Task(Box<TaskLine>),
}

/// A task, others named by key or id.
///
/// A field that is none would be lost in silence, so it is refused.
#[derive(Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TaskLine {
    id: Option<String>,
    key: Option<String>,
    title: String,
    description: String,
    status: Option<String>,
    phase: Option<f64>,
    parent: Option<String>,
    #[serde(alias = "depends_on")]
    after: Vec<String>,
    priority: i64,
    verify: Option<String>,
    files: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    protect: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    may_change: Vec<String>,
    done_when: Option<String>,
    commit: Option<String>,
    markers: Vec<String>,
    model: Option<String>,
    fix_of: Option<String>,
}

/// The plan as lines, each ended. `fix_of` says which task a task is to fix.
pub fn write(tasks: &[Task], fix_of: &HashMap<String, String>, now: Timestamp) -> serde_json::Result<String> {
    let names: HashMap<&str, &str> = tasks.iter().map(|task| (task.id.as_str(), task.name())).collect();
    let name = |id: &str| names.get(id).copied().unwrap_or(id).to_owned();
    let head = Line::Ralph { version: VERSION, exported_at: now.to_string() };
    let mut text = serde_json::to_string(&head)? + "\n";
    for task in tasks {
        let line = Line::Task(Box::new(TaskLine {
            id: Some(task.id.to_string()),
            // Keys are unique in the file that is written, whichever files the tasks came from.
            key: task.key.as_ref().map(|_| task.name().to_owned()).filter(|name| *name != task.id.as_str()),
            title: task.title.clone(),
            description: task.description.clone(),
            status: Some(task.status.to_string()),
            phase: task.phase.map(|phase| phase.number()),
            parent: task.parent_id.as_ref().map(|id| name(id.as_str())),
            after: task.depends_on.iter().map(|id| name(id.as_str())).collect(),
            priority: task.priority,
            verify: task.verify.clone(),
            files: task.files.clone(),
            protect: task.protect.clone(),
            may_change: task.may_change.clone(),
            done_when: task.done_when.clone(),
            commit: task.commit.clone(),
            markers: task.markers.clone(),
            model: task.model.clone(),
            fix_of: fix_of.get(task.id.as_str()).cloned(),
        }));
        text.push_str(&serde_json::to_string(&line)?);
        text.push('\n');
    }
    Ok(text)
}

/// A line without a `type` is a task.
fn line_of(line: &str) -> serde_json::Result<Line> {
    let mut value: Value = serde_json::from_str(line)?;
    if let Some(object) = value.as_object_mut() {
        object.entry("type").or_insert_with(|| "task".into());
    }
    serde_json::from_value(value)
}

pub fn read(text: &str) -> Result<Draft, Vec<Problem>> {
    let mut draft = Draft::default();
    let mut problems = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        if line.trim().is_empty() {
            continue;
        }
        let mut problem = |expected: String| problems.push(Problem::new(number, expected));
        match line_of(line) {
            Err(error) => match error.to_string() {
                unknown if unknown.starts_with("unknown field ") => problem(unknown),
                twice if twice.starts_with("duplicate field `after`") => {
                    problem("`after` and `depends_on` mean the same: use one of them".to_owned());
                }
                text if text.ends_with(", expected a sequence") => {
                    problem(text.replace("a sequence", "an array"))
                }
                error => problem(format!(
                    "expected an object such as {{\"key\":\"1.1\",\"title\":\"…\"}}: {error}"
                )),
            },
            Ok(Line::Ralph { version, .. }) if version > VERSION => problem(format!(
                "format version {version} is newer than this Ralph, which supports {VERSION}"
            )),
            Ok(Line::Ralph { .. }) => {}
            Ok(Line::Task(task)) => match draft_of(*task, number) {
                Err(expected) => problem(expected),
                Ok(task) => {
                    if let Some(first) = known.insert(task.name.clone(), number) {
                        problem(format!("`{}` is already on line {first}", task.name));
                    }
                    draft.tasks.push(task);
                }
            },
        }
    }
    for task in &draft.tasks {
        let named = task.parent.iter().chain(&task.after).chain(&task.fix_of);
        for name in named.filter(|name| !known.contains_key(*name)) {
            let expected = format!("`{name}` is not a task in this file");
            problems.push(Problem::new(task.line, expected));
        }
    }
    problems.sort_by_key(|problem| problem.line);
    if draft.tasks.is_empty() && problems.is_empty() {
        let expected = "expected at least one task: {\"key\":\"1.1\",\"title\":\"…\"}";
        problems.push(Problem::new(1, expected));
    }
    if problems.is_empty() { Ok(draft) } else { Err(problems) }
}

fn draft_of(task: TaskLine, line: usize) -> Result<DraftTask, String> {
    let status: Status = match &task.status {
        Some(status) => status.parse().map_err(|error| format!("{error}"))?,
        None => Status::Pending,
    };
    if task.title.trim().is_empty() {
        return Err("a task needs a title".into());
    }
    let named_by_author = task.key.is_some();
    let name = task.key.or(task.id);
    Ok(DraftTask {
        name: name.ok_or("a task needs a key or an id")?,
        named_by_author,
        title: task.title,
        description: task.description,
        phase: task.phase.map(|phase| phase.to_string()),
        parent: task.parent,
        after: task.after,
        verify: task.verify,
        files: task.files,
        protect: task.protect,
        may_change: task.may_change,
        done_when: task.done_when,
        commit: task.commit,
        markers: task.markers,
        priority: task.priority,
        model: task.model,
        done: status == Status::Done,
        skipped: status == Status::Skipped,
        fix_of: task.fix_of,
        line,
        mark: None,
        ..DraftTask::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imp_07_unknown_fields_are_refused_and_depends_on_is_another_name_for_after() {
        let task = |more: &str| {
            format!(
                "{{\"type\":\"task\",\"key\":\"a\",\"title\":\"A\"}}\n{{\"type\":\"task\",\"key\":\"b\",\"title\":\"B\",{more}}}\n"
            )
        };
        let draft = read(&task("\"depends_on\":[\"a\"]")).unwrap();
        assert_eq!(draft.tasks[1].after, ["a"]);
        // The type may be left out.
        let draft = read(&task("\"depends_on\":[\"a\"]").replace("\"type\":\"task\",", "")).unwrap();
        assert_eq!((draft.tasks.len(), &draft.tasks[1].after[..]), (2, &["a".to_owned()][..]));
        let problems = read(&task("\"gate\":\"make\"")).unwrap_err();
        assert_eq!(problems[0].line, 2);
        let why = &problems[0].expected;
        assert!(why.starts_with("unknown field `gate`") && why.contains("`verify`"), "{why}");
    }

    #[test]
    fn imp_07_bad_lines_are_named() {
        let text = "{\"type\":\"ralph\",\"version\":1}\n\n{\"type\":\"task\",\"key\":\"a\",\"title\":\"A\",\"after\":[\"z\"]}\n\
                    nonsense\n{\"type\":\"task\",\"key\":\"a\",\"title\":\"B\"}\n{\"type\":\"task\",\"title\":\"C\"}\n\
                    {\"type\":\"task\",\"key\":\"d\",\"title\":\" \"}\n{\"type\":\"task\",\"key\":\"e\",\"title\":\"E\",\"status\":\"odd\"}\n";
        let problems = read(text).unwrap_err();
        let lines: Vec<usize> = problems.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [3, 4, 5, 6, 7, 8], "{problems:?}");
        assert_eq!(read("").unwrap_err().len(), 1);
        let newer = read("{\"type\":\"ralph\",\"version\":9}").unwrap_err();
        assert!(newer[0].expected.contains("newer"), "{newer:?}");
    }

    #[test]
    fn a_task_is_read_with_all_it_has() {
        let text = "{\"type\":\"task\",\"id\":\"t-000001\",\"title\":\"A\",\"status\":\"done\",\"phase\":2.1}\n\
                    {\"type\":\"task\",\"key\":\"b\",\"title\":\"B\",\"after\":[\"t-000001\"],\"status\":\"skipped\"}\n";
        let draft = read(text).unwrap();
        let [a, b] = &draft.tasks[..] else { panic!() };
        assert_eq!((a.name.as_str(), a.named_by_author, a.done), ("t-000001", false, true));
        assert_eq!(a.phase.as_deref(), Some("2.1"));
        assert!(b.named_by_author && b.skipped && !b.done);
        assert_eq!(b.after, ["t-000001"]);
    }
}
