//! `ralph task tree`.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::model::{Task, TaskId};

use crate::command_error::{CommandError, CommandResult};
use crate::facts::tree_order;
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

/// The tree in the order it is read, or the part of it below a task.
fn lines<'a>(tasks: &'a [Task], root: Option<&TaskId>) -> Vec<Line<'a>> {
    let order = tree_order(tasks.iter().map(|task| (&task.id, task.parent_id.as_ref())));
    let line = |(at, depth): (usize, usize)| Line { task: &tasks[at], depth, last: false };
    let mut lines: Vec<Line<'_>> = order.into_iter().map(line).collect();
    if let Some(top) = root.and_then(|root| lines.iter().position(|line| line.task.id == *root)) {
        let depth = lines[top].depth;
        let below = lines[top + 1..].iter().take_while(|line| line.depth > depth).count();
        lines = lines.drain(top..=top + below).collect();
        lines.iter_mut().for_each(|line| line.depth -= depth);
    }
    // Whether a sibling comes after what is above, at each depth.
    let mut followed: Vec<bool> = Vec::new();
    for line in lines.iter_mut().rev() {
        followed.resize(line.depth + 1, false);
        line.last = !std::mem::replace(&mut followed[line.depth], true);
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
