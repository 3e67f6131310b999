//! `ralph learnings show`.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::model::{Learning, LearningId, LearningState};
use ralph_core::recall::record::withheld;
use ralph_core::recall::{Candidate, Weights};
use ralph_core::store::{LearningFilter, LearningStore};
use ralph_core::text::{clean, one_line};
use serde::Serialize;

use super::cell;
use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::ui::format::{counted, time};
use crate::ui::table;
use crate::workspace::Workspace;

/// Show one learning with all its details.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The learning's id.
    id: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    learning: Learning,
    /// Those whose place it took.
    supersedes: Vec<LearningId>,
    /// Its record is so bad that no prompt shows it.
    withheld: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::look(dir)?;
    let learning = workspace.store.learning(args.id.trim())?;
    let shown = Shown {
        supersedes: supersedes(&workspace, &learning.id)?,
        withheld: is_withheld(&learning),
        learning,
    };
    if args.json {
        output::json(&shown);
    } else {
        print(&shown);
    }
    Ok(ExitCode::SUCCESS)
}

fn supersedes(workspace: &Workspace, id: &LearningId) -> Result<Vec<LearningId>, CommandError> {
    let found = workspace.store.learnings(&LearningFilter {
        superseded_by: Some(id.clone()),
        ..LearningFilter::default()
    })?;
    Ok(found.into_iter().map(|learning| learning.id).collect())
}

fn is_withheld(learning: &Learning) -> bool {
    let candidate = Candidate {
        record: learning.record,
        pinned: learning.pinned,
        ..Candidate::default()
    };
    learning.state == LearningState::Active && withheld(&candidate, &Weights::TUNED)
}

fn print(shown: &Shown) {
    let learning = &shown.learning;
    let field = |label: &str, value: String| output::line(format_args!("{label:<10} {value}"));
    field("id", cell(learning.id.as_str()));
    field("category", cell(&learning.category));
    if let Some(title) = &learning.title {
        field("title", cell(title));
    }
    if !learning.tags.is_empty() {
        field("tags", one_line(&learning.tags.join(", "), usize::MAX));
    }
    field("state", state(learning));
    if shown.withheld {
        let why = "not shown to agents: it hurt more often than it helped";
        let how = "`ralph learnings pin` shows it anyway";
        output::text(table::wrap_all(&format!("{:<10} {why}; {how}", "")));
    }
    for id in &shown.supersedes {
        field("supersedes", cell(id.as_str()));
    }
    field("source", learning.source.to_string());
    if let Some(task) = &learning.task_id {
        let key = learning.task_key.as_ref().map(|key| cell(key.as_str()));
        let key = key.map(|key| format!(" ({key})")).unwrap_or_default();
        field("task", format!("{}{key}", cell(task.as_str())));
    }
    field("created", time(learning.created_at));
    if let Some(restored) = learning.restored_at {
        field("restored", time(restored));
    }
    let last = learning
        .last_used_at
        .map(|last| format!(", last {}", time(last)))
        .unwrap_or_default();
    field(
        "shown",
        format!("{}{last}", counted(learning.shown, "time")),
    );
    field("helped", counted(learning.record.helpful, "task"));
    field("hurt", counted(learning.record.harmful, "task"));
    output::line(format_args!("\n{}", clean(&learning.content)));
}

fn state(learning: &Learning) -> String {
    let pinned = if learning.pinned { ", pinned" } else { "" };
    let since = match (&learning.superseded_by, learning.pruned_at) {
        (Some(successor), _) => format!(" by {}", cell(successor.as_str())),
        (None, Some(pruned)) => format!(" {}", time(pruned)),
        (None, None) => String::new(),
    };
    format!("{}{since}{pinned}", learning.state)
}
