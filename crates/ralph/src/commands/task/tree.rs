//! `ralph task tree`.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::ExitCode;

use ralph_core::model::{Task, TaskId};
use ralph_core::store::PlanStore;
use serde::Serialize;

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

#[derive(Serialize)]
struct Node<'a> {
    #[serde(flatten)]
    task: &'a Task,
    children: Vec<Node<'a>>,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::open(dir)?;
    let tasks = workspace.store.tasks(None)?;
    let known: HashSet<&TaskId> = tasks.iter().map(|task| &task.id).collect();
    let mut children: HashMap<&TaskId, Vec<&Task>> = HashMap::new();
    for task in &tasks {
        if let Some(parent) = &task.parent_id {
            children.entry(parent).or_default().push(task);
        }
    }
    let root = args
        .task
        .as_deref()
        .map(|name| workspace.task(name))
        .transpose()?;
    let roots = tasks.iter().filter(|task| match &root {
        Some(root) => task.id == root.id,
        None => task
            .parent_id
            .as_ref()
            .is_none_or(|parent| !known.contains(parent)),
    });
    let nodes: Vec<Node<'_>> = roots.map(|task| node(task, &children)).collect();
    if args.json {
        output::json(&nodes);
    } else {
        let mut text = String::new();
        for root in &nodes {
            draw(root, "", "", &mut text);
        }
        output::text(text);
    }
    Ok(ExitCode::SUCCESS)
}

fn node<'a>(task: &'a Task, children: &HashMap<&TaskId, Vec<&'a Task>>) -> Node<'a> {
    let below = children.get(&task.id).into_iter().flatten();
    Node {
        task,
        children: below.map(|child| node(child, children)).collect(),
    }
}

fn draw(node: &Node<'_>, branch: &str, below: &str, text: &mut String) {
    let task = node.task;
    text.push_str(&format!(
        "{branch}{} {} {}\n",
        style::mark(task.status),
        task.name(),
        task.title
    ));
    for (i, child) in node.children.iter().enumerate() {
        let last = i + 1 == node.children.len();
        let (branch, next) = if last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        draw(
            child,
            &format!("{below}{branch}"),
            &format!("{below}{next}"),
            text,
        );
    }
}
