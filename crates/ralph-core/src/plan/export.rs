//! The plan in other programs' formats. Ralph's own, which loses nothing, is in `jsonl`.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::markdown::as_code;
use crate::model::{Status, Task, TaskId};
use crate::text::one_line;

/// The longest title that is written.
const TITLE: usize = 300;

/// A tasks.md: the order of the lines is the order of the work.
pub fn tasks_md(tasks: &[Task]) -> String {
    let mut text = "# Plan\n".to_owned();
    let mut phase = None;
    let children: HashSet<&TaskId> = tasks.iter().filter_map(|task| task.parent_id.as_ref()).collect();
    let leaves = in_order(tasks).into_iter().filter(|task| !children.contains(&task.id));
    for (at, task) in leaves.enumerate() {
        if task.phase != phase || at == 0 {
            phase = task.phase;
            match phase {
                Some(phase) => text.push_str(&format!("\n## Phase {phase}\n\n")),
                None => text.push('\n'),
            }
        }
        let mark = if matches!(task.status, Status::Done | Status::Skipped) { 'x' } else { ' ' };
        let key = task.key.as_ref().map(|key| key.as_str().to_owned());
        let is_spec_key = |key: &String| super::key::spec_key(key).is_some_and(|(whole, _)| whole == key);
        // A key that this format cannot have would become a part of the title.
        let key = key.filter(is_spec_key).unwrap_or_else(|| format!("0.{}", at + 1));
        text.push_str(&format!("- [{mark}] {key} {}\n", one_line(&task.title, TITLE)));
        let mut steps = task.description.lines().filter(|line| !line.trim().is_empty());
        if let Some(first) = steps.next() {
            text.push_str(&format!("  - **Do**: {}\n", first.trim()));
            steps.for_each(|line| text.push_str(&format!("    {}\n", line.trim_end())));
        }
        let fields = [
            ("Files", (!task.files.is_empty()).then(|| task.files.join(", "))),
            ("Protect", (!task.protect.is_empty()).then(|| task.protect.join(", "))),
            ("May change", (!task.may_change.is_empty()).then(|| task.may_change.join(", "))),
            ("Done when", task.done_when.clone()),
            ("Verify", task.verify.as_deref().map(|command| as_code(&command.replace('\n', "; ")))),
            ("Commit", task.commit.as_deref().map(as_code)),
        ];
        for (name, value) in fields.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            text.push_str(&format!("  - **{name}**: {}\n", one_line(&value, 4000)));
        }
    }
    text
}

pub fn task_master(tasks: &[Task]) -> serde_json::Result<String> {
    let top: Vec<&Task> = tasks.iter().filter(|task| task.parent_id.is_none()).collect();
    let parts = parts_of(tasks);
    let below = |task: &Task| parts.get(&task.id).map(Vec::as_slice).unwrap_or_default();
    let mut ids: HashMap<&TaskId, (usize, Option<usize>)> = HashMap::new();
    for (at, task) in top.iter().enumerate() {
        ids.insert(&task.id, (at + 1, None));
        ids.extend(below(task).iter().enumerate().map(|(part, task)| (&task.id, (at + 1, Some(part + 1)))));
    }
    let of = |task: &Task, is_part: bool| {
        let own = ids.get(&task.id).copied().unwrap_or_default();
        let after = task.depends_on.iter().filter_map(|id| ids.get(id)).map(|(whole, part)| match part {
            Some(part) if is_part && *whole == own.0 => json!(part),
            Some(part) => json!(format!("{whole}.{part}")),
            None => json!(whole),
        });
        json!({
            "id": if is_part { own.1.unwrap_or_default() } else { own.0 },
            "title": task.title,
            "description": task.description.lines().next().unwrap_or_default(),
            "details": task.description,
            "testStrategy": task.verify.clone().unwrap_or_default(),
            "priority": "medium",
            "dependencies": after.collect::<Vec<Value>>(),
            "status": match task.status {
                Status::Done => "done",
                Status::Skipped => "cancelled",
                Status::InProgress => "in-progress",
                Status::Blocked | Status::Failed => "blocked",
                Status::Pending => "pending",
            },
        })
    };
    let listed = top.iter().map(|task| {
        let mut listed = of(task, false);
        listed["subtasks"] = below(task).iter().map(|part| of(part, true)).collect();
        listed
    });
    let document = json!({ "master": { "tasks": listed.collect::<Vec<Value>>(), "metadata": {} } });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// The issues.jsonl of beads.
pub fn beads(tasks: &[Task]) -> serde_json::Result<String> {
    let parents: HashSet<&TaskId> = tasks.iter().filter_map(|task| task.parent_id.as_ref()).collect();
    let names: HashMap<&TaskId, &str> = tasks.iter().map(|task| (&task.id, task.name())).collect();
    let mut text = String::new();
    for task in tasks {
        let link = |id: &TaskId, kind: &str| {
            names.get(id).map(|name| json!({ "issue_id": task.name(), "depends_on_id": name, "type": kind }))
        };
        let mut links: Vec<Value> = task.depends_on.iter().filter_map(|id| link(id, "blocks")).collect();
        links.extend(task.parent_id.as_ref().and_then(|id| link(id, "parent-child")));
        let line = json!({
            "id": task.name(),
            "title": task.title,
            "description": task.description,
            "acceptance_criteria": task.done_when.clone().unwrap_or_default(),
            "status": match task.status {
                Status::Done | Status::Skipped => "closed",
                Status::InProgress => "in_progress",
                Status::Blocked | Status::Failed => "blocked",
                Status::Pending => "open",
            },
            "priority": task.priority.clamp(0, 4),
            "issue_type": if parents.contains(&task.id) { "epic" } else { "task" },
            "dependencies": links,
        });
        text.push_str(&serde_json::to_string(&line)?);
        text.push('\n');
    }
    Ok(text)
}

/// For each task of the first level all that is below it, at any depth: Task Master knows one level.
fn parts_of(tasks: &[Task]) -> HashMap<&TaskId, Vec<&Task>> {
    let parents: HashMap<&TaskId, &TaskId> =
        tasks.iter().filter_map(|task| Some((&task.id, task.parent_id.as_ref()?))).collect();
    let mut parts: HashMap<&TaskId, Vec<&Task>> = HashMap::new();
    for task in tasks.iter().filter(|task| task.parent_id.is_some()) {
        let above = std::iter::successors(Some(&task.id), |id| parents.get(id).copied());
        if let Some(top) = above.last() {
            parts.entry(top).or_default().push(task);
        }
    }
    parts
}

/// Each task after those it depends on, else in the plan's order.
fn in_order(tasks: &[Task]) -> Vec<&Task> {
    let mut left: Vec<&Task> = tasks.iter().collect();
    let mut placed: HashSet<&TaskId> = HashSet::new();
    let mut ordered = Vec::with_capacity(tasks.len());
    while !left.is_empty() {
        let waits = |task: &Task| {
            task.depends_on.iter().any(|id| !placed.contains(id) && left.iter().any(|other| other.id == *id))
        };
        let at = left.iter().position(|task| !waits(task)).unwrap_or(0);
        let next = left.remove(at);
        placed.insert(&next.id);
        ordered.push(next);
    }
    ordered
}
