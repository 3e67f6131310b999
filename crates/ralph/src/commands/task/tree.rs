//! `ralph task tree`.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::ExitCode;

use ralph_core::model::{Task, TaskId};

use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::ui::style;
use crate::workspace::Workspace;

struct Line<'a> {
    task: &'a Task,
    depth: usize,
    /// Whether it is the last child of its parent.
    last: bool,
}

pub fn run(dir: Option<&Path>, root: Option<&str>, json: bool) -> CommandResult {
    let workspace = Workspace::open_to_read(dir)?;
    let tasks = workspace.tasks(None)?;
    let root = workspace.optional_task(root)?;
    let lines = lines(&tasks, root.as_ref().map(|task| &task.id));
    if json {
        let text = nested(&lines).map_err(CommandError::environment)?;
        output::bytes(text.as_bytes());
    } else {
        output::text(draw(&lines));
    }
    Ok(ExitCode::SUCCESS)
}

/// The tree in the order it is read. Walked without recursion and each task once: an old file may contain a cycle of
/// parents, whose members then stand at the top.
fn lines<'a>(tasks: &'a [Task], root: Option<&TaskId>) -> Vec<Line<'a>> {
    let known: HashSet<&TaskId> = tasks.iter().map(|task| &task.id).collect();
    let mut children: HashMap<&TaskId, Vec<&Task>> = HashMap::new();
    for task in tasks {
        if let Some(parent) = &task.parent_id {
            children.entry(parent).or_default().push(task);
        }
    }
    let is_root = |task: &&Task| match root {
        Some(root) => task.id == *root,
        None => task.parent_id.as_ref().is_none_or(|parent| !known.contains(parent)),
    };
    let in_cycles = tasks.iter().filter(|task| root.is_none() && !is_root(task));
    let mut lines = Vec::new();
    let mut seen: HashSet<&TaskId> = HashSet::new();
    for start in tasks.iter().filter(is_root).chain(in_cycles) {
        let mut stack = vec![Line { task: start, depth: 0, last: true }];
        while let Some(line) = stack.pop() {
            if !seen.insert(&line.task.id) {
                continue;
            }
            let below = children.get(&line.task.id).map_or(&[][..], Vec::as_slice);
            for (i, task) in below.iter().enumerate().rev() {
                stack.push(Line { task, depth: line.depth + 1, last: i + 1 == below.len() });
            }
            lines.push(line);
        }
    }
    lines
}

fn draw(lines: &[Line<'_>]) -> String {
    let mut text = String::new();
    // The lines from parents above to siblings below, and how long they are at each depth.
    let mut stems = String::new();
    let mut lengths: Vec<usize> = Vec::new();
    for Line { task, depth, last } in lines {
        lengths.truncate(depth.saturating_sub(1));
        stems.truncate(lengths.last().copied().unwrap_or(0));
        text.push_str(&stems);
        if *depth > 0 {
            text.push_str(if *last { "└─ " } else { "├─ " });
            stems.push_str(if *last { "   " } else { "│  " });
            lengths.push(stems.len());
        }
        text.push_str(&format!("{} {} {}\n", style::Standing::from(*task).mark(), task.name(), task.title));
    }
    text
}

/// Tasks with their children in them, each on a line of its own. Written without recursion and without indentation: a
/// plan may be nested ten thousand deep.
fn nested(lines: &[Line<'_>]) -> serde_json::Result<String> {
    let mut text = String::from("[");
    let mut open = 0;
    let mut first = true;
    for Line { task, depth, .. } in lines {
        while open > *depth {
            text.push_str("]}");
            open -= 1;
            first = false;
        }
        text.push_str(if first { "\n" } else { ",\n" });
        let object = serde_json::to_string(task)?;
        text.push_str(object.strip_suffix('}').unwrap_or(&object));
        text.push_str(",\"children\":[");
        open += 1;
        first = true;
    }
    text.push_str(&"]}".repeat(open));
    text.push_str(if lines.is_empty() { "]\n" } else { "\n]\n" });
    Ok(text)
}
