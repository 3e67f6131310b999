//! `ralph task tree`.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::ExitCode;

use ralph_core::model::{Task, TaskId};
use ralph_core::store::PlanStore;
use serde_json::Value;

use crate::command_error::CommandResult;
use crate::output;
use crate::ui::style;
use crate::workspace::Workspace;

/// Show the plan as a tree.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Id or key of the task to start from.
    task: Option<String>,
    /// Print JSON: tasks with their children in them.
    #[arg(long)]
    json: bool,
}

/// A line of the tree.
struct Line<'a> {
    task: &'a Task,
    depth: usize,
    /// Whether it is the last child of its parent.
    last: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::look(dir)?;
    let tasks = workspace.store.tasks(None)?;
    let root = args
        .task
        .as_deref()
        .map(|name| workspace.task(name))
        .transpose()?;
    let lines = lines(&tasks, root.as_ref().map(|task| &task.id));
    if args.json {
        output::json(&nested(&lines));
    } else {
        output::text(draw(&lines));
    }
    Ok(ExitCode::SUCCESS)
}

/// The tree in the order it is read. Walked without recursion and each task once: an old file may hold a circle of
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
        None => task
            .parent_id
            .as_ref()
            .is_none_or(|parent| !known.contains(parent)),
    };
    let in_circles = tasks.iter().filter(|task| root.is_none() && !is_root(task));
    let mut lines = Vec::new();
    let mut seen: HashSet<&TaskId> = HashSet::new();
    for start in tasks.iter().filter(is_root).chain(in_circles) {
        let mut stack = vec![Line {
            task: start,
            depth: 0,
            last: true,
        }];
        while let Some(line) = stack.pop() {
            if !seen.insert(&line.task.id) {
                continue;
            }
            let below = children.get(&line.task.id).map_or(&[][..], Vec::as_slice);
            for (i, task) in below.iter().enumerate().rev() {
                stack.push(Line {
                    task,
                    depth: line.depth + 1,
                    last: i + 1 == below.len(),
                });
            }
            lines.push(line);
        }
    }
    lines
}

fn draw(lines: &[Line<'_>]) -> String {
    let mut text = String::new();
    // For each depth, whether a further sibling follows below.
    let mut open: Vec<bool> = Vec::new();
    for Line { task, depth, last } in lines {
        open.truncate(depth.saturating_sub(1));
        for more in &open {
            text.push_str(if *more { "│  " } else { "   " });
        }
        if *depth > 0 {
            text.push_str(if *last { "└─ " } else { "├─ " });
            open.push(!last);
        }
        text.push_str(&format!(
            "{} {} {}\n",
            style::mark(task.status),
            task.name(),
            task.title
        ));
    }
    text
}

/// Tasks with their children in them.
fn nested(lines: &[Line<'_>]) -> Vec<Value> {
    // Each entry waits for its children; the first one is the answer itself.
    let mut waiting: Vec<Vec<Value>> = vec![Vec::new()];
    let mut open: Vec<Value> = Vec::new();
    for Line { task, depth, .. } in lines {
        while open.len() > *depth {
            close(&mut open, &mut waiting);
        }
        open.push(serde_json::to_value(task).unwrap_or_default());
        waiting.push(Vec::new());
    }
    while !open.is_empty() {
        close(&mut open, &mut waiting);
    }
    waiting.pop().unwrap_or_default()
}

/// Gives the innermost open task its children, and itself to its parent.
fn close(open: &mut Vec<Value>, waiting: &mut Vec<Vec<Value>>) {
    let children = waiting.pop().unwrap_or_default();
    let Some(mut task) = open.pop() else { return };
    if let Some(object) = task.as_object_mut() {
        object.insert("children".into(), Value::Array(children));
    }
    if let Some(siblings) = waiting.last_mut() {
        siblings.push(task);
    }
}
